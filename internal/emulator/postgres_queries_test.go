package emulator_test

import (
	"fmt"
	"strings"
	"testing"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc/codes"
)

const itemsDDL = `CREATE TABLE items (k bigint PRIMARY KEY, "Name" text, n numeric, f double precision, b boolean, y bytea, j jsonb, d date, at timestamptz, tags text[], u uuid, r real)`

// items fills the table that queries are tried on.
func items(t *testing.T, f *fixture) {
	t.Helper()
	f.commit(t, &spannerpb.Mutation{Operation: &spannerpb.Mutation_Insert{Insert: write("items", "k,Name,n,f,b,y,j,d,at,tags",
		[]any{"1", "one", "1.50", 1.5, true, "AQI=", `{"a":1,"b":[1,"x"]}`, "2024-02-29", "2024-02-29T12:34:56.789Z", []any{"x", "y"}},
		[]any{"2", "Two", "-3", "NaN", false, nil, `[]`, nil, nil, []any{}},
		[]any{"3", nil, "NaN", "-Infinity", nil, "", nil, "1999-12-31", "1999-12-31T23:59:59Z", nil},
		[]any{"4", "four", nil, nil, true, "eA==", `"text"`, nil, nil, []any{nil}},
		[]any{"5", "", "1.5", 2.0, false, nil, nil, nil, nil, nil},
	)}})
}

// fields are the columns of a query's result.
func (f *fixture) fields(t *testing.T, sql string) []*spannerpb.StructType_Field {
	t.Helper()
	resp, err := f.api().ExecuteSql(t.Context(), &spannerpb.ExecuteSqlRequest{Session: f.session, Sql: sql})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return resp.GetMetadata().GetRowType().GetFields()
}

func TestPostgreSQLQueries(t *testing.T) {
	f := startPostgreSQL(t, itemsDDL, `CREATE INDEX items_by_n ON items (b NULLS FIRST, k DESC)`, `CREATE INDEX by_name ON items ("Name")`)
	items(t, f)
	for _, c := range []struct{ sql, want string }{
		// NULL is the greatest value, NaN the greatest number.
		{`SELECT k FROM items ORDER BY "Name"`, "5|2|4|1|3"},
		{`SELECT k FROM items ORDER BY "Name" DESC`, "3|1|4|2|5"},
		{`SELECT k FROM items ORDER BY "Name" NULLS FIRST`, "3|5|2|4|1"},
		{`SELECT k FROM items ORDER BY "Name" DESC NULLS LAST`, "1|4|2|5|3"},
		{`SELECT k FROM items ORDER BY f, k`, "3|1|5|2|4"},
		{`SELECT k FROM items ORDER BY f DESC NULLS LAST`, "2|5|1|3|4"},
		{`SELECT k FROM items ORDER BY n, k`, "2|1|5|3|4"},
		{`SELECT k FROM items /*@ FORCE_INDEX = by_name */ WHERE "Name" >= '' ORDER BY "Name"`, "5|2|4|1"},
		{`SELECT k FROM items /*@ FORCE_INDEX = items_by_n */ ORDER BY b NULLS FIRST, k DESC`, "3|5|2|4|1"},
		{`SELECT k FROM items /*@ FORCE_INDEX = items_by_n */ ORDER BY b, k`, "2|5|1|4|3"},
		{`SELECT k FROM items WHERE f > 1 ORDER BY k`, "1|2|5"},
		{`SELECT k FROM items WHERE f = 'NaN' OR n = 'NaN' ORDER BY k`, "2|3"},
		{`SELECT k FROM items WHERE n = 1.5 ORDER BY k`, "1|5"},
		{`SELECT max(f), min(f), max(n), min(n) FROM items`, "NaN,-Infinity,NaN,-3"},
		{`SELECT n, count(*) FROM items GROUP BY n ORDER BY n`, "-3,1|1.50,2|NaN,1|-,1"},
		{`SELECT count(DISTINCT n) FROM items`, "3"},
		// Arithmetic.
		{`SELECT 7 / 2, -7 / 2, 7 % 3, 7 / 2.0, 7::double precision / 2`, "3,-3,1,3.5000000000000000,3.5"},
		{`SELECT 1.5 + 1, 1.50 * 2.0, 0.1 + 0.2, 1 / 3.0`, "2.5,3.000,0.3,0.33333333333333333333"},
		{`SELECT sum(n), avg(k), sum(k) FROM items WHERE k < 3`, "-1.50,1.5000000000000000,3"},
		{`SELECT round(2.5), round(-2.567, 2), trunc(2.99), ceil(1.2), floor(-1.2), abs(-1.50), mod(7.5, 2)`, "3,-2.57,2,2,-2,1.50,1.5"},
		{`SELECT round(2.5::float8), 2.5::bigint, 2.5::float8::bigint`, "2,3,2"},
		{`SELECT 123456789012345678901234567890 + 1`, "123456789012345678901234567891"},
		// Text.
		{`SELECT 'it''s' || ' ' || 1 || true, E'a\tb\u00e9', $$do'llar$$`, "it's 1true,a\tbé,do'llar"},
		{`SELECT substr('hello', 2, 3), substr('hello', -1, 4), substring('hello' from 2 for 2), left('hello', -2), right('hello', 2)`, "ell,he,el,hel,lo"},
		{`SELECT trim('  x '), trim(both 'xy' from 'xyzyx'), ltrim('xxa', 'x'), position('l' in 'hello'), strpos('hello', 'lo')`, "x,z,a,3,4"},
		{`SELECT concat('a', NULL, 1), length('é'), upper('é'), lower('ABC'), coalesce(NULL, 'x'), nullif(1, 1), greatest(1, NULL, 3), least(2, 1)`, "a1,1,É,abc,x,-,3,1"},
		{`SELECT k FROM items WHERE "Name" LIKE '_o%' AND "Name" NOT LIKE 'x%' ORDER BY k`, "4"},
		// Casts.
		{`SELECT '12'::bigint, CAST('1.50' AS numeric), 't'::boolean, '\x0aff'::bytea, '2024-02-29'::date, 1::text, 1.0::double precision::text, 'abc'::varchar(2)`,
			"12,1.50,true,Cv8=,2024-02-29,1,1,ab"},
		{`SELECT '{"b":1,"a":2}'::jsonb, '2024-01-01 00:00:00+01'::timestamptz, date '2024-01-02', TIMESTAMP WITH TIME ZONE '2024-01-01T00:00:00Z'`,
			`{"a": 2, "b": 1},2023-12-31T23:00:00Z,2024-01-02,2024-01-01T00:00:00Z`},
		{`SELECT ARRAY[1, 2]::bigint[], (ARRAY['a','b'])[1], array_length(ARRAY[1,2], 1), ARRAY(SELECT k FROM items WHERE k < 3 ORDER BY k DESC)`, "[1 2],a,2,[2 1]"},
		// Members of jsonb.
		{`SELECT j -> 'b', j ->> 'a', j -> 'b' -> -1, j -> 'b' ->> 1, j -> 'none', jsonb_typeof(j) FROM items WHERE k = 1`, `[1, "x"],1,"x",x,-,object`},
		// Conditions and joins.
		{`SELECT k FROM items WHERE k IN (1, 3) OR k BETWEEN 4 AND 4 ORDER BY k LIMIT 2 OFFSET 1`, "3|4"},
		{`SELECT k FROM items WHERE k = ANY(ARRAY[2, 4]) ORDER BY k`, "2|4"},
		{`SELECT k FROM items WHERE k <> ALL(ARRAY[2, 4]) ORDER BY 1 DESC FETCH FIRST 2 ROWS ONLY`, "5|3"},
		{`SELECT k FROM items WHERE b IS NOT TRUE AND "Name" IS DISTINCT FROM 'Two' ORDER BY k`, "3|5"},
		{`SELECT k FROM items WHERE "Name" IS NOT DISTINCT FROM NULL`, "3"},
		{`SELECT a.k, b."Name" FROM items a LEFT JOIN public.items AS b ON b.k = a.k + 3 WHERE a.k < 3 ORDER BY a.k`, "1,four|2,"},
		{`SELECT x.k FROM (SELECT k FROM items WHERE k > 3) x WHERE EXISTS (SELECT 1 FROM items y WHERE y.k = x.k AND y.b) `, "4"},
		{`WITH big AS (SELECT k FROM items WHERE k > 3) SELECT count(*) FROM big`, "2"},
		{`SELECT t FROM unnest(ARRAY['a', 'b']) AS t ORDER BY t DESC`, "b|a"},
		{`SELECT CASE k WHEN 1 THEN 'one' ELSE 'other' END, CASE WHEN k > 1 THEN 1 END FROM items WHERE k < 3 ORDER BY k`, "one,-|other,1"},
		{`SELECT b, string_agg("Name", '+' ORDER BY "Name"), array_agg(k ORDER BY k DESC) FROM items GROUP BY b HAVING count(*) > 1 ORDER BY b`, "false,+Two,[5 2]|true,four+one,[4 1]"},
		{`SELECT bool_and(b), bool_or(b), count(b) FROM items`, "false,true,4"},
		{`SELECT extract(year from d), extract(doy from d) FROM items WHERE k = 1`, "2024,60"},
		{`SELECT date_trunc('month', at) FROM items WHERE k = 1`, "2024-02-01T08:00:00Z"},
		{`/*@ USE_ADDITIONAL_PARALLELISM = true */ SELECT /* a /* nested */ comment */ 1 -- and another`, "1"},
		{`SELECT "Name" FROM "public"."items" WHERE k = 1;`, "one"},
	} {
		if got := f.rows(t, c.sql, nil); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.sql, got, c.want)
		}
	}
}

// Columns are called as PostgreSQL calls them.
func TestPostgreSQLColumnNames(t *testing.T) {
	f := startPostgreSQL(t, itemsDDL)
	for _, c := range []struct{ sql, want string }{
		{`SELECT K, "Name", i.k AS "K", 1, k::text, '1'::bigint, CAST(1 AS float8), (k), (SELECT 2 AS two), CASE WHEN true THEN k END, EXISTS (SELECT 1), ARRAY[1], lower("Name"), tags[1], -k, spanner.generate_uuid() FROM items i`,
			"k Name K ?column? k int8 float8 k two case exists array lower tags ?column? generate_uuid"},
		{`SELECT count(*), sum(k), now(), coalesce(max(k), 0) FROM items`, "count sum now coalesce"},
		{`SELECT * FROM items`, "k Name n f b y j d at tags u r"},
	} {
		var names []string
		for _, field := range f.fields(t, c.sql) {
			names = append(names, field.GetName())
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.sql, got, c.want)
		}
	}
}

// Types come with PostgreSQL's annotations.
func TestPostgreSQLTypes(t *testing.T) {
	f := startPostgreSQL(t, itemsDDL)
	want := []string{"code:NUMERIC type_annotation:PG_NUMERIC", "code:JSON type_annotation:PG_JSONB", "code:ARRAY array_element_type:{code:NUMERIC type_annotation:PG_NUMERIC}",
		"code:NUMERIC type_annotation:PG_NUMERIC", "code:INT64 type_annotation:PG_OID", "code:STRING", "code:FLOAT64", "code:FLOAT32", "code:UUID"}
	for i, field := range f.fields(t, `SELECT n, j, ARRAY[n], 1.5, k::oid, "Name", f, r, u FROM items`) {
		if got := strings.ReplaceAll(fmt.Sprint(field.GetType()), "  ", " "); got != want[i] {
			t.Errorf("column %d: %s, want %s", i, got, want[i])
		}
	}
}

func TestPostgreSQLErrors(t *testing.T) {
	f := startPostgreSQL(t, itemsDDL)
	for _, c := range []struct {
		sql  string
		code codes.Code
	}{
		{`SELECT`, codes.InvalidArgument},
		{`SELECT 'a`, codes.InvalidArgument},
		{`SELECT "a`, codes.InvalidArgument},
		{`SELECT ""`, codes.InvalidArgument},
		{`SELECT 1 /* `, codes.InvalidArgument},
		{`SELECT 1; SELECT 2`, codes.InvalidArgument},
		{`SELECT @p`, codes.InvalidArgument},
		{`SELECT $1`, codes.InvalidArgument},
		{"SELECT `k` FROM items", codes.InvalidArgument},
		{`SELECT name FROM items`, codes.InvalidArgument},
		{`SELECT k FROM "Items"`, codes.InvalidArgument},
		{`SELECT k FROM items WHERE k = 'x'`, codes.InvalidArgument},
		{`SELECT k FROM items WHERE k`, codes.InvalidArgument},
		{`SELECT order FROM items`, codes.InvalidArgument},
		{`SELECT nosuch(1)`, codes.InvalidArgument},
		{`SELECT 1::money`, codes.InvalidArgument},
		{`SELECT "Name" + 1 FROM items`, codes.InvalidArgument},
		{`SELECT 1 / 0`, codes.OutOfRange},
		{`SELECT 1.0 / 0`, codes.OutOfRange},
		{`SELECT 9223372036854775807 + 1`, codes.OutOfRange},
		{`SELECT row_number() OVER () FROM items`, codes.Unimplemented},
		{`SELECT DISTINCT ON (k) k FROM items`, codes.Unimplemented},
		{`SELECT k FROM items FOR UPDATE`, codes.Unimplemented},
		{`VALUES (1)`, codes.InvalidArgument},
		{`INSERT INTO items (k) VALUES (1)`, codes.InvalidArgument},
	} {
		err := f.query(t, &receiver{t: t}, &spannerpb.ExecuteSqlRequest{Sql: c.sql})
		if statusCode(err) != c.code {
			t.Errorf("%s: %v, want %v", c.sql, err, c.code)
		}
	}
	deep := ""
	for range 2000 {
		deep += "("
	}
	if err := f.query(t, &receiver{t: t}, &spannerpb.ExecuteSqlRequest{Sql: "SELECT 1" + strings.Repeat(" IS DISTINCT FROM true", 200)}); statusCode(err) != codes.InvalidArgument {
		t.Error(err)
	}
	for _, sql := range []string{"SELECT " + deep, "SELECT " + deep[:400] + "1", "SELECT NOT " + fmt.Sprint(deep), "SELECT - - - - 1"} {
		_ = f.query(t, &receiver{t: t}, &spannerpb.ExecuteSqlRequest{Sql: sql})
	}
}
