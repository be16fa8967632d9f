package emulator_test

import (
	"strings"
	"testing"

	"cloud.google.com/go/spanner/admin/database/apiv1/databasepb"
	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/emulator"
)

// alter applies statements and gives the error of the call or the operation.
func (f *fixture) alter(t testing.TB, statements ...string) error {
	op, err := databasepb.NewDatabaseAdminClient(f.conn).UpdateDatabaseDdl(t.Context(), &databasepb.UpdateDatabaseDdlRequest{Database: databaseName, Statements: statements})
	if err != nil {
		return err
	}
	return status.ErrorProto(op.GetError())
}

// Schema changes with the rows that are there: what is filled in, what is
// refused for the data, and what holds for writes afterwards.
func TestAlterWithData(t *testing.T) {
	schema := []string{
		`CREATE TABLE P (K INT64 NOT NULL) PRIMARY KEY (K)`,
		`CREATE TABLE T (K INT64 NOT NULL, S STRING(10), B BYTES(10), V INT64, Ts TIMESTAMP, A ARRAY<STRING(4)>) PRIMARY KEY (K), INTERLEAVE IN PARENT P ON DELETE CASCADE`,
		`CREATE INDEX ByV ON T(V) STORING (S)`,
		`CREATE TABLE R (X INT64 NOT NULL, V INT64) PRIMARY KEY (X)`,
	}
	for _, c := range []struct {
		name    string
		ddl     []string
		code    codes.Code
		text    string
		table   string
		index   string
		columns string
		want    string
		after   *spannerpb.Mutation
		refused codes.Code
	}{
		{name: "add column", ddl: []string{"ALTER TABLE T ADD COLUMN N STRING(5)"}, columns: "K,N", want: "1,-|2,-"},
		{name: "add if not exists", ddl: []string{"ALTER TABLE T ADD COLUMN IF NOT EXISTS S STRING(5)"}, columns: "K,S", want: "1,text|2,-"},
		{name: "add default", ddl: []string{"ALTER TABLE T ADD COLUMN N INT64 NOT NULL DEFAULT (7)"}, columns: "K,N", want: "1,7|2,7"},
		{name: "add stored", ddl: []string{"ALTER TABLE T ADD COLUMN G INT64 AS (V * 2) STORED"}, columns: "K,G", want: "1,20|2,40"},
		{name: "add virtual", ddl: []string{"ALTER TABLE T ADD COLUMN G STRING(MAX) AS (UPPER(S))", "CREATE INDEX ByG ON T(G)"}, index: "ByG", columns: "G,K", want: "-,2|TEXT,1"},
		{name: "add stored that fails", ddl: []string{"ALTER TABLE T ADD COLUMN G INT64 AS (DIV(1, V - 10)) STORED"}, code: codes.OutOfRange},
		{name: "add stored NOT NULL that is NULL", ddl: []string{"ALTER TABLE T ADD COLUMN G STRING(MAX) NOT NULL AS (S) STORED"}, code: codes.FailedPrecondition},
		{name: "drop column", ddl: []string{"ALTER TABLE T DROP COLUMN B", "ALTER TABLE T ADD COLUMN B INT64"}, columns: "K,B,V", want: "1,-,10|2,-,20"},
		{name: "drop indexed column", ddl: []string{"ALTER TABLE T DROP COLUMN V"}, code: codes.FailedPrecondition, text: "ByV"},
		{name: "longer", ddl: []string{"ALTER TABLE T ALTER COLUMN S STRING(MAX)"}, columns: "S", want: "text|-|longer than before", after: upsert("T", "K,S", row(3, "longer than before"))},
		{name: "shorter", ddl: []string{"ALTER TABLE T ALTER COLUMN S STRING(4)"}, after: upsert("T", "K,S", row(1, "five5")), refused: codes.FailedPrecondition},
		{name: "too short", ddl: []string{"ALTER TABLE T ALTER COLUMN S STRING(3)"}, code: codes.FailedPrecondition, text: "existing data"},
		{name: "array too short", ddl: []string{"ALTER TABLE T ALTER COLUMN A ARRAY<STRING(1)>"}, code: codes.FailedPrecondition},
		{name: "to bytes", ddl: []string{"ALTER TABLE T ALTER COLUMN S BYTES(10)"}, columns: "S", want: "dGV4dA==|-"},
		{name: "to bytes in index", ddl: []string{"ALTER TABLE T ALTER COLUMN S BYTES(10)"}, index: "ByV", columns: "V,S", want: "10,dGV4dA==|20,-"},
		{name: "to text", ddl: []string{"ALTER TABLE T ALTER COLUMN B STRING(10)"}, code: codes.FailedPrecondition, text: "UTF-8"},
		{name: "to another type", ddl: []string{"ALTER TABLE T ALTER COLUMN V FLOAT64"}, code: codes.FailedPrecondition, text: "Cannot change type"},
		{name: "not null", ddl: []string{"ALTER TABLE T ALTER COLUMN V INT64 NOT NULL"}, after: upsert("T", "K,V", row(1, nil)), refused: codes.FailedPrecondition},
		{name: "not null on NULL", ddl: []string{"ALTER TABLE T ALTER COLUMN S STRING(10) NOT NULL"}, code: codes.FailedPrecondition},
		{name: "null again", ddl: []string{"ALTER TABLE T ALTER COLUMN V INT64 NOT NULL", "ALTER TABLE T ALTER COLUMN V INT64"}, after: upsert("T", "K,V", row(1, nil))},
		{name: "set default", ddl: []string{"ALTER TABLE T ALTER COLUMN V SET DEFAULT (3)"}, after: replace("T", "K", row(1)), columns: "K,V", want: "1,3|2,20"},
		{name: "drop default", ddl: []string{"ALTER TABLE T ALTER COLUMN V SET DEFAULT (3)", "ALTER TABLE T ALTER COLUMN V DROP DEFAULT"}, after: replace("T", "K", row(1)), columns: "K,V", want: "1,-|2,20"},
		{name: "commit timestamps", ddl: []string{"ALTER TABLE T ALTER COLUMN Ts SET OPTIONS (allow_commit_timestamp = true)"}, code: codes.FailedPrecondition, text: "future"},
		{name: "no commit timestamps", ddl: []string{"ALTER TABLE T ALTER COLUMN Ts SET OPTIONS (allow_commit_timestamp = null)"}, after: upsert("T", "K,Ts", row(1, "spanner.commit_timestamp()")), refused: codes.FailedPrecondition},
		{name: "check", ddl: []string{"ALTER TABLE T ADD CONSTRAINT c CHECK (V > 15)"}, code: codes.OutOfRange, text: "Check constraint `T`.`c` is violated"},
		{name: "check that holds", ddl: []string{"ALTER TABLE T ADD CONSTRAINT c CHECK (V > 5)"}, after: upsert("T", "K,V", row(1, 1)), refused: codes.OutOfRange},
		{name: "check dropped", ddl: []string{"ALTER TABLE T ADD CONSTRAINT c CHECK (V > 5)", "ALTER TABLE T DROP CONSTRAINT c"}, after: upsert("T", "K,V", row(1, 1))},
		{name: "foreign key", ddl: []string{"ALTER TABLE R ADD CONSTRAINT f FOREIGN KEY (V) REFERENCES T (V)"}, code: codes.FailedPrecondition, text: "`f`"},
		{name: "foreign key that holds", ddl: []string{"ALTER TABLE R ADD CONSTRAINT f FOREIGN KEY (X) REFERENCES T (K)"}, after: insert("R", "X", row(77)), refused: codes.FailedPrecondition},
		{name: "foreign key not enforced", ddl: []string{"ALTER TABLE R ADD CONSTRAINT f FOREIGN KEY (V) REFERENCES T (V) NOT ENFORCED"}},
		{name: "referenced values twice", ddl: []string{"ALTER TABLE T ADD COLUMN D INT64 DEFAULT (1)", "ALTER TABLE R ADD CONSTRAINT f FOREIGN KEY (V) REFERENCES T (D)"}, code: codes.FailedPrecondition, text: "uniqueness violation"},
		{name: "unique index", ddl: []string{"CREATE UNIQUE INDEX U ON T(V)"}, after: insert("T", "K,V", row(3, 10)), refused: codes.AlreadyExists},
		{name: "unique index violated", ddl: []string{"ALTER TABLE T ADD COLUMN D INT64 DEFAULT (1)", "CREATE UNIQUE INDEX U ON T(D)"}, code: codes.FailedPrecondition, text: "Found uniqueness violation on index U"},
		{name: "null-filtered index", ddl: []string{"CREATE UNIQUE NULL_FILTERED INDEX U ON T(S DESC) STORING (V)"}, index: "U", columns: "S,V,K", want: "text,10,1"},
		{name: "store in index", ddl: []string{"ALTER INDEX ByV ADD STORED COLUMN B"}, index: "ByV", columns: "V,S,B", want: "10,text,/w==|20,-,-"},
		{name: "store no more", ddl: []string{"ALTER INDEX ByV DROP STORED COLUMN S", "ALTER TABLE T DROP COLUMN S"}, index: "ByV", columns: "V", want: "10|20"},
		{name: "on delete", ddl: []string{"ALTER TABLE T SET ON DELETE NO ACTION"}, after: deleteKeys("P", key(1)), refused: codes.FailedPrecondition},
		{name: "interleave in", ddl: []string{"ALTER TABLE T SET INTERLEAVE IN P"}, after: insert("T", "K", row(9))},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, emulator.Options{}, schema...)
			f.commit(t, insert("P", "K", row(1), row(2), row(3)), insert("T", "K,S,B,V,Ts,A", row(1, "text", "/w==", 10, "2999-01-01T00:00:00Z", []any{"ab"}), row(2, nil, nil, 20, nil, nil)), insert("R", "X,V", row(1, 99)))
			err := f.alter(t, c.ddl...)
			if status.Code(err) != c.code || err != nil && !strings.Contains(err.Error(), c.text) {
				t.Fatalf("error %v, want %v %q", err, c.code, c.text)
			}
			if c.after != nil {
				_, err := f.tryCommit(t, c.after)
				wantCode(t, err, c.refused)
			}
			if c.columns == "" {
				return
			}
			if got := f.cells(t, "T", c.index, c.columns, all()); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// Commit timestamps in keys need the option in the whole interleave hierarchy.
func TestCommitTimestampsInSharedKeys(t *testing.T) {
	const on = " OPTIONS (allow_commit_timestamp = true)"
	parent := func(option string) string {
		return "CREATE TABLE P (Ts TIMESTAMP NOT NULL" + option + ") PRIMARY KEY (Ts)"
	}
	child := func(option string) string {
		return "CREATE TABLE C (Ts TIMESTAMP NOT NULL" + option + ", X INT64 NOT NULL) PRIMARY KEY (Ts, X), INTERLEAVE IN PARENT P"
	}
	stamp := ms(insert("P", "Ts", row("spanner.commit_timestamp()")), insert("C", "Ts,X", row("spanner.commit_timestamp()", 1)))
	for _, c := range []struct {
		parent, child string
		p, both       codes.Code
	}{
		{on, on, codes.OK, codes.OK},
		{on, "", codes.FailedPrecondition, codes.FailedPrecondition},
		{"", on, codes.FailedPrecondition, codes.FailedPrecondition},
	} {
		f := start(t, emulator.Options{}, parent(c.parent), child(c.child))
		_, err := f.tryCommit(t, stamp[0])
		wantCode(t, err, c.p)
		_, err = f.tryCommit(t, stamp...)
		wantCode(t, err, c.both)
	}
}

func TestPartitionHints(t *testing.T) {
	f := start(t, emulator.Options{HonourPartitionHints: true, NoEmptyPartitions: true}, schemaU...)
	var rows [][]any
	for i := range 1000 {
		rows = append(rows, row(i, strings.Repeat("x", 80)))
	}
	f.commit(t, insert("Users", "ID,Name", rows...))
	tx := byID(f.begin(t, readOnly(&spannerpb.TransactionOptions_ReadOnly{})).GetId())
	for _, c := range []struct {
		opts        *spannerpb.PartitionOptions
		least, most int
	}{
		{nil, emulator.DefaultPartitions, emulator.DefaultPartitions},
		{&spannerpb.PartitionOptions{MaxPartitions: 3}, 3, 3},
		{&spannerpb.PartitionOptions{MaxPartitions: 100_000}, 1000, 1000},
		{&spannerpb.PartitionOptions{PartitionSizeBytes: 10_000}, 8, 13},
		{&spannerpb.PartitionOptions{PartitionSizeBytes: 10_000, MaxPartitions: 5}, 5, 5},
		{&spannerpb.PartitionOptions{PartitionSizeBytes: 1 << 40}, 1, 1},
	} {
		resp, err := f.api().PartitionRead(t.Context(), &spannerpb.PartitionReadRequest{Session: f.session, Transaction: tx, Table: "Users", Columns: []string{"ID"}, KeySet: all(), PartitionOptions: c.opts})
		if n := len(resp.GetPartitions()); err != nil || n < c.least || n > c.most {
			t.Errorf("%v: %d partitions, error %v, want %d to %d", c.opts, n, err, c.least, c.most)
		}
	}
}
