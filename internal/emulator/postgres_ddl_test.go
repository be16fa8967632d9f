package emulator_test

import (
	"strings"
	"testing"

	"cloud.google.com/go/spanner/admin/database/apiv1/databasepb"
	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc/codes"

	"spanbulk/internal/emulator"
)

// postgreSQLDDL makes a database of a script and gives what it prints.
func postgreSQLDDL(t *testing.T, script string) (string, error) {
	t.Helper()
	f := start(t, emulator.Options{})
	err := f.srv.CreateDatabase(t.Context(), postgreSQLDatabase, databasepb.DatabaseDialect_POSTGRESQL, strings.Split(script, ";")...)
	if err != nil {
		return "", err
	}
	resp, err := databasepb.NewDatabaseAdminClient(f.conn).GetDatabaseDdl(t.Context(), &databasepb.GetDatabaseDdlRequest{Database: postgreSQLDatabase})
	return strings.Join(strings.Fields(strings.Join(resp.GetStatements(), ";")), " "), err
}

// What Spanner takes of DDL, and how it prints it.
func TestPostgreSQLDDLForms(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{"CREATE TABLE public.T (k bigint PRIMARY KEY NOT DEFERRABLE, f float, g float8, h decimal NULL)", "CREATE TABLE t ( k bigint NOT NULL, f double precision, g double precision, h numeric, PRIMARY KEY(k) )"},
		{"CREATE TABLE t (PRIMARY KEY (b, a) INITIALLY IMMEDIATE, a bigint, b text)", "CREATE TABLE t ( a bigint NOT NULL, b character varying NOT NULL, PRIMARY KEY(b, a) )"},
		{"CREATE TABLE parent (k bigint PRIMARY KEY);CREATE TABLE c (k bigint, n bigint, PRIMARY KEY (k, n)) INTERLEAVE IN parent;CREATE TABLE d (k bigint, n bigint, PRIMARY KEY (k, n)) INTERLEAVE IN PARENT parent ON DELETE CASCADE",
			"CREATE TABLE parent ( k bigint NOT NULL, PRIMARY KEY(k) );CREATE TABLE c ( k bigint NOT NULL, n bigint NOT NULL, PRIMARY KEY(k, n) ) INTERLEAVE IN parent;CREATE TABLE d ( k bigint NOT NULL, n bigint NOT NULL, PRIMARY KEY(k, n) ) INTERLEAVE IN PARENT parent ON DELETE CASCADE"},
		{"CREATE TABLE parent (k bigint PRIMARY KEY);CREATE TABLE c (k bigint, n bigint, PRIMARY KEY (k, n)) INTERLEAVE IN PARENT parent;ALTER TABLE c SET ON DELETE CASCADE;CREATE INDEX i ON c * (k, n DESC) INTERLEAVE IN parent",
			"CREATE TABLE parent ( k bigint NOT NULL, PRIMARY KEY(k) );CREATE TABLE c ( k bigint NOT NULL, n bigint NOT NULL, PRIMARY KEY(k, n) ) INTERLEAVE IN PARENT parent ON DELETE CASCADE;CREATE INDEX i ON c (k, n DESC) INTERLEAVE IN parent"},
		{"CREATE TABLE r (k bigint PRIMARY KEY);CREATE TABLE t (k bigint PRIMARY KEY, a bigint REFERENCES r (k) MATCH SIMPLE ON UPDATE NO ACTION ON DELETE CASCADE, b bigint CONSTRAINT fb REFERENCES r(k) ON DELETE NO ACTION ON UPDATE NO ACTION NOT DEFERRABLE)",
			"CREATE TABLE r ( k bigint NOT NULL, PRIMARY KEY(k) );CREATE TABLE t ( k bigint NOT NULL, a bigint, b bigint, PRIMARY KEY(k), FOREIGN KEY (a) REFERENCES r(k) ON DELETE CASCADE, CONSTRAINT fb FOREIGN KEY (b) REFERENCES r(k) )"},
		{"CREATE TABLE t (k bigint PRIMARY KEY, c bytea);ALTER TABLE t ALTER COLUMN c TYPE varchar, ALTER COLUMN c SET NOT NULL", "CREATE TABLE t ( k bigint NOT NULL, c character varying NOT NULL, PRIMARY KEY(k) )"},
		{"CREATE TABLE t (k bigint PRIMARY KEY, c bytea NOT NULL);ALTER TABLE t ALTER c TYPE text, ALTER c DROP NOT NULL;ALTER TABLE t ADD COLUMN d date;ALTER TABLE t DROP COLUMN d RESTRICT", "CREATE TABLE t ( k bigint NOT NULL, c character varying, PRIMARY KEY(k) )"},
		{"CREATE TABLE t (k bigint PRIMARY KEY, at timestamptz) TTL INTERVAL '3 WEEKS 2 days' ON at", "CREATE TABLE t ( k bigint NOT NULL, at timestamp with time zone, PRIMARY KEY(k) ) TTL INTERVAL '23 DAYS' ON at"},
		{"CREATE TABLE t (k bigint PRIMARY KEY, a text, b text, c text);CREATE INDEX i ON t USING btree (b, a NULLS FIRST) INCLUDE (c) WHERE (b IS NOT NULL AND (a IS NOT NULL))",
			"CREATE TABLE t ( k bigint NOT NULL, a character varying, b character varying, c character varying, PRIMARY KEY(k) );CREATE INDEX i ON t (b, a NULLS FIRST) INCLUDE (c) WHERE (a IS NOT NULL AND b IS NOT NULL)"},
		{`CREATE TABLE "left" (k bigint PRIMARY KEY, "like" text, "between" text, "values" text, "order" text, "time" text, year text);CREATE VIEW v SECURITY INVOKER AS SELECT "like" FROM "left"`,
			`CREATE TABLE "left" ( k bigint NOT NULL, "like" character varying, "between" character varying, "values" character varying, "order" character varying, "time" character varying, year character varying, PRIMARY KEY(k) );CREATE VIEW v SQL SECURITY INVOKER AS SELECT "like" FROM "left"`},
		{"CREATE TABLE t (k bigint PRIMARY KEY, a boolean DEFAULT (1 > 0) NOT NULL, b boolean DEFAULT (NOT true), c text DEFAULT (('z')), d bigint DEFAULT (1 + 2) * 3)",
			"CREATE TABLE t ( k bigint NOT NULL, a boolean DEFAULT (1 > 0) NOT NULL, b boolean DEFAULT (NOT true), c character varying DEFAULT 'z'::character varying, d bigint DEFAULT (1 + 2) * 3, PRIMARY KEY(k) )"},
		{"CREATE SEQUENCE s BIT_REVERSED_POSITIVE START COUNTER 50 SKIP RANGE 5, 10", "CREATE SEQUENCE s BIT_REVERSED_POSITIVE SKIP RANGE 5 10 START COUNTER WITH 50"},
	} {
		got, err := postgreSQLDDL(t, c.script)
		if got != c.want {
			t.Errorf("%s\ngot  %s, %v\nwant %s", c.script, got, err, c.want)
			continue
		}
		if again, err := postgreSQLDDL(t, got); err != nil || again != got {
			t.Errorf("%s\nbecomes %s, %v", got, again, err)
		}
	}
}

// What Spanner does not take, and why.
func TestPostgreSQLDDLRefused(t *testing.T) {
	const users = "CREATE TABLE users (id bigint PRIMARY KEY, name text, at timestamptz, n numeric);"
	for _, c := range []struct {
		script, message string
		code            codes.Code
	}{
		{"CREATE TABLE t (k bigint PRIMARY KEY, name text UNIQUE)", "<UNIQUE> constraint is not supported, create a unique index instead.", codes.FailedPrecondition},
		{"CREATE TABLE t (k bigint PRIMARY KEY, name text, UNIQUE (name))", "<UNIQUE> constraint is not supported, create a unique index instead.", codes.FailedPrecondition},
		{"CREATE TABLE t (k bigint PRIMARY KEY, name text, CONSTRAINT u UNIQUE (name))", "<UNIQUE> constraint is not supported, create a unique index instead.", codes.FailedPrecondition},
		{"CREATE TABLE t (k bigint PRIMARY KEY, b bigint PRIMARY KEY)", "Primary key can be only defined once.", codes.FailedPrecondition},
		{"CREATE TABLE t (k bigint PRIMARY KEY, b bigint, PRIMARY KEY (b))", "Primary key can be only defined once.", codes.FailedPrecondition},
		{"CREATE TABLE t (k bigint, PRIMARY KEY (k), PRIMARY KEY (k))", "Primary key can be only defined once.", codes.FailedPrecondition},
		{"CREATE TABLE t (k bigint PRIMARY KEY NULL)", "Nullable <PRIMARY KEY> columns are not supported.", codes.FailedPrecondition},
		{"CREATE TABLE t (k bigint NULL PRIMARY KEY)", "Nullable <PRIMARY KEY> columns are not supported.", codes.FailedPrecondition},
		{"CREATE TABLE t (k bigint PRIMARY KEY, a bigint NOT NULL NULL)", `conflicting NULL/NOT NULL declarations for column "a"`, codes.InvalidArgument},
		{"CREATE TABLE t (k bigint PRIMARY KEY, a bigint NULL DEFAULT 1 NOT NULL)", `conflicting NULL/NOT NULL declarations for column "a"`, codes.InvalidArgument},
		{users + "ALTER TABLE users ADD COLUMN a bigint NOT NULL DEFAULT 1 NULL", `conflicting NULL/NOT NULL declarations for column "a"`, codes.InvalidArgument},
		{"CREATE TABLE t (k bigint, CONSTRAINT pk PRIMARY KEY (k))", "Setting a name of a <PRIMARY KEY> constraint is not supported.", codes.FailedPrecondition},
		{"CREATE TABLE t (k bigint PRIMARY KEY, a bigint CONSTRAINT c NOT NULL)", "Setting a name of a <NOT NULL> constraint is not supported.", codes.FailedPrecondition},
		{"CREATE TABLE t (k bigint PRIMARY KEY DEFERRABLE)", "<DEFERRABLE> constraints are not supported.", codes.FailedPrecondition},
		{"CREATE TABLE t (k bigint, PRIMARY KEY (k) INITIALLY DEFERRED)", "<DEFERRABLE> constraints are not supported.", codes.FailedPrecondition},
		{"CREATE TABLE pg_t (k bigint PRIMARY KEY)", "'pg_' is not supported as a prefix for a table name.", codes.FailedPrecondition},
		{"CREATE TABLE t (k bigint PRIMARY KEY, v varchar(2621441))", "Maximum length for <varchar> fields is 2621440.", codes.FailedPrecondition},
		{"CREATE TABLE t (k bigint PRIMARY KEY, LIKE u)", "<LIKE> clause is not supported in <CREATE TABLE> statement.", codes.FailedPrecondition},
		{`CREATE TABLE t (k text COLLATE "C" PRIMARY KEY)`, "<COLLATE> clause is not supported in column definition.", codes.FailedPrecondition},
		{"CREATE TABLE t (k bigint PRIMARY KEY, at timestamptz) TTL INTERVAL '-1 day' ON at", "TTL interval must be greater than or equal to zero", codes.InvalidArgument},
		{"CREATE TABLE t (k bigint PRIMARY KEY, at timestamptz) TTL INTERVAL 'filbert' ON at", `invalid input syntax for type interval: "filbert"`, codes.InvalidArgument},
		{"CREATE TABLE t (k bigint PRIMARY KEY, v text DEFAULT 5)", "Expression 5 does not have type character varying", codes.InvalidArgument},
		{"CREATE TABLE t (k numeric PRIMARY KEY)", "k has type numeric, but is part of the key of Table t.", codes.InvalidArgument},
		{"CREATE TABLE t (k bigint PRIMARY KEY, j jsonb[], PRIMARY KEY (j))", "Primary key can be only defined once.", codes.FailedPrecondition},
		{users + "ALTER TABLE users ADD UNIQUE (name)", "Constraint type is not supported.", codes.FailedPrecondition},
		{users + "ALTER TABLE users ADD COLUMN a bigint PRIMARY KEY", "Primary keys cannot be added via <ALTER TABLE> statement.", codes.FailedPrecondition},
		{users + "ALTER TABLE users ADD COLUMN a bigint REFERENCES users (id)", "Foreign key creation is not supported in <ALTER TABLE ADD COLUMN> statement.", codes.FailedPrecondition},
		{users + "ALTER TABLE users ADD COLUMN a bigint CHECK (a > 0)", "Check constraint creation is not supported in <ALTER TABLE ADD COLUMN> statement.", codes.FailedPrecondition},
		{users + "ALTER TABLE users DROP COLUMN IF EXISTS name", "<IF [NOT] EXISTS> is not supported in <ALTER> statement operations.", codes.FailedPrecondition},
		{users + "ALTER TABLE users DROP COLUMN name CASCADE", "Only <RESTRICT> behavior is supported by <ALTER> statement.", codes.FailedPrecondition},
		{users + "ALTER TABLE users ALTER name TYPE bigint USING 1", "<USING> clause is not supported in <ALTER TABLE ALTER COLUMN TYPE> statement", codes.FailedPrecondition},
		{users + "ALTER TABLE users ALTER name TYPE bytea, ALTER id SET NOT NULL", "should be applied to the same column.", codes.FailedPrecondition},
		{users + "ALTER TABLE users ALTER name TYPE bigint", "Cannot change type of column `users.name` from `character varying` to `bigint`.", codes.FailedPrecondition},
		{users + "CREATE INDEX ON users (name)", "Index name is mandatory in <CREATE INDEX> statement.", codes.FailedPrecondition},
		{users + "CREATE INDEX CONCURRENTLY i ON users (name)", "Concurrent index creation is not supported in <CREATE INDEX> statement.", codes.FailedPrecondition},
		{users + "CREATE INDEX i ON users USING gin (name)", "Setting access method is not supported in <CREATE INDEX> statement.", codes.FailedPrecondition},
		{users + "CREATE INDEX i ON users (lower(name))", "Expressions and collations are not supported in <CREATE INDEX> statement.", codes.FailedPrecondition},
		{users + "CREATE INDEX i ON users (name) WHERE (id > 10)", "IS NOT NULL", codes.InvalidArgument},
		{users + "CREATE INDEX i ON users (name) WHERE name IS NOT NULL INTERLEAVE IN users", `syntax error at or near "INTERLEAVE"`, codes.InvalidArgument},
		{users + "DROP TABLE users CASCADE", "Only <RESTRICT> behavior is supported by <DROP> statement.", codes.FailedPrecondition},
	} {
		_, err := postgreSQLDDL(t, c.script)
		if err == nil || !strings.Contains(err.Error(), c.message) || statusCode(err) != c.code {
			t.Errorf("%s\ngot  %v\nwant %v %s", c.script, err, c.code, c.message)
		}
	}
}

// To PostgreSQL no NULL equals another: a unique index takes many.
func TestPostgreSQLUniqueNulls(t *testing.T) {
	f := startPostgreSQL(t, "CREATE TABLE t (k bigint PRIMARY KEY, a bigint, b bigint)", "CREATE UNIQUE INDEX u ON t (a, b)")
	f.commit(t, &spannerpb.Mutation{Operation: &spannerpb.Mutation_Insert{Insert: write("t", "k,a,b", []any{"1", nil, nil}, []any{"2", nil, nil}, []any{"3", "1", nil}, []any{"4", "1", nil}, []any{"5", "1", "1"})}})
	if got := f.rows(t, "SELECT k FROM t /*@ FORCE_INDEX = u */ WHERE a IS NOT NULL AND b IS NOT NULL", nil); got != "5" {
		t.Error(got)
	}
	_, err := f.tryCommit(t, &spannerpb.Mutation{Operation: &spannerpb.Mutation_Insert{Insert: write("t", "k,a,b", []any{"6", "1", "1"})}})
	if statusCode(err) != codes.AlreadyExists {
		t.Error(err)
	}
}
