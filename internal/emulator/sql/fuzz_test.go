package sql_test

import (
	"context"
	"math"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/relation"
	"spanbulk/internal/emulator/sql"
	"spanbulk/internal/emulator/value"
)

// FuzzPrepare feeds statements through analysis and evaluation: they must
// neither panic nor fail with anything but a status Spanner has for queries,
// and rows must be what the columns promise.
func FuzzPrepare(f *testing.F) {
	for _, seed := range []string{
		"SELECT 1",
		"SELECT u.*, o.OrderId FROM Users u LEFT JOIN Orders o ON u.Id = o.Id AND o.Amount > @n WHERE u.Name LIKE 'A%' ORDER BY 1 DESC LIMIT 3",
		"SELECT Age, COUNT(*), STRING_AGG(Name, ',' ORDER BY Id) FROM Users GROUP BY Age HAVING COUNT(*) > 0",
		"WITH w AS (SELECT Id FROM Users) SELECT ARRAY(SELECT AS STRUCT Id, Tags FROM Users x WHERE x.Id = w.Id) FROM w",
		"SELECT CASE WHEN Ok THEN CAST(F AS STRING) ELSE SAFE_CAST(@s AS STRING) END, D + 1, B || b'x' FROM Kinds WHERE K IN UNNEST(@a)",
		"SELECT x, pos FROM UNNEST([STRUCT(1 AS a), (2)]) x WITH OFFSET pos WHERE EXISTS(SELECT 1 FROM Orders WHERE Id = x.a)",
		"SELECT EXTRACT(WEEK FROM DATE '2024-01-01'), DATE_DIFF(D, DATE '2020-02-29', MONTH), TIMESTAMP_TRUNC(Placed, DAY) FROM Orders, Kinds",
		"SELECT JSON_VALUE(Doc, '$.a[0]'), Doc.b, Doc['a'][1] FROM Orders@{FORCE_INDEX=_BASE_TABLE} WHERE Id BETWEEN 1 AND 2 AND OrderId >= 10",
		"SELECT SUBSTR(Name, -2, 1), [1,2][OFFSET(0)], COALESCE(Age, 0) / 0 FROM Users USING",
		"@{a.b=1} SELECT DISTINCT t.TABLE_NAME FROM INFORMATION_SCHEMA.TABLES t JOIN INFORMATION_SCHEMA.COLUMNS c USING (TABLE_NAME);",
		"SELECT (SELECT COUNT(*) FROM Users WHERE Id > k.F) FROM Kinds k GROUP BY k.F, k.K",
		"((((((SELECT 1))))))", "SELECT ((((((1))))))", "SELECT - - -1", "SELECT 'a", "SELECT `a`", "SELECT @", "SELECT (1,(2,3)) IN ((1,(2,3)))",
	} {
		f.Add(seed)
	}
	m := shop(f)
	params := map[string]relation.Param{
		"n": untyped(value.Int64(1)), "s": typed(value.String("x")), "a": untyped(value.Null(nil)),
	}
	f.Fuzz(func(t *testing.T, text string) { prepareAndRun(t, m, text, params) })
}

// FuzzPreparePostgreSQL is FuzzPrepare in the other dialect.
func FuzzPreparePostgreSQL(f *testing.F) {
	for _, seed := range []string{
		`SELECT k, "Name" || n, n / 3 + f, j -> 'a' ->> 1 FROM items /*@ FORCE_INDEX = by_n */ WHERE k = ANY($1) OR "Name" LIKE 'a%' ORDER BY f DESC NULLS LAST, n LIMIT 3`,
		`SELECT b, count(*), sum(n), avg(n), max(f), string_agg("Name", ',' ORDER BY k), bool_or(b) FROM items GROUP BY b HAVING count(*) > 0 ORDER BY b NULLS FIRST`,
		`SELECT k::numeric, n::bigint, f::text, '\x00'::bytea, date '2024-02-29', CAST($2 AS varchar(2)), '{"b":1}'::jsonb, round(n, 2), trunc(f), abs(n), mod(n, 2)`,
		`SELECT substr("Name", -1, 2), left("Name", -1), greatest(n, 1), concat(k, n, NULL), coalesce(n, 0), date_trunc('week', at), extract(doy from d), array_length(tags, 1), tags[1] FROM items`,
		`SELECT a.k IS DISTINCT FROM b.k, EXISTS (SELECT 1 FROM items c WHERE c.k = a.k), ARRAY(SELECT k FROM items) FROM items a LEFT JOIN items b USING (n)`,
		`SELECT t.table_name, c.spanner_type FROM information_schema.tables t JOIN information_schema.columns c ON c.table_name = t.table_name WHERE t.table_schema = 'public'`,
		`SELECT at - interval '1 mon 2 days 03:04', now() - at, '1.5 weeks ago'::interval::text, d - d, extract(epoch from at), ('{1,NULL,"2"}'::bigint[])[1] FROM items WHERE at > now() - interval '7 days'`,
		`SELECT j @> '{"a":[1]}', j <@ '[]', j ? 'a', j ?| '{a,b}', tags && ARRAY['x'], "Name" !~ '^o', ~k + 1, n # 2 FROM items ORDER BY "Name" || 'x'`,
		`WITH w AS (SELECT n FROM items WHERE n IS NOT NULL) SELECT x, w.n * w.n FROM w, unnest(ARRAY[1,2]) AS x WHERE x <> ALL (ARRAY[2])`,
	} {
		f.Add(seed)
	}
	m := memoryOf(f, catalog.EmptyPostgreSQL("d"), []string{
		`CREATE TABLE items (k bigint PRIMARY KEY, "Name" text, n numeric, f float8, b boolean, j jsonb, d date, at timestamptz, tags text[])`,
		`CREATE INDEX by_n ON items ("Name" DESC NULLS LAST, b) INCLUDE (n)`,
	})
	m.insert(f, "items", 1, "one", "1.50", math.NaN(), true, `{"a":[1,"x"]}`, "2024-02-29", "2024-02-29T12:34:56Z", nil)
	m.insert(f, "items", 2, nil, "NaN", -1.5, nil, `[]`, nil, nil, nil)
	m.insert(f, "items", 3, "", nil, nil, false, nil, nil, nil, nil)
	params := map[string]relation.Param{"p1": untyped(value.Null(nil)), "p2": typed(value.String("x"))}
	f.Fuzz(func(t *testing.T, text string) { prepareAndRun(t, m, text, params) })
}

func prepareAndRun(t *testing.T, m *memory, text string, params map[string]relation.Param) {
	q, err := sql.Prepare(m, text, params)
	if err != nil {
		checkCode(t, err)
		return
	}
	_, err = q.Partition()
	checkCode(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	n := 0
	for row, err := range q.Rows(ctx) {
		if err != nil {
			if ctx.Err() == nil {
				checkCode(t, err)
			}
			return
		}
		if row.Len() != len(q.Columns()) {
			t.Fatalf("row of %d cells for %d columns", row.Len(), len(q.Columns()))
		}
		for i, c := range q.Columns() {
			if _, err := value.FromWire(c.Type, row.Cell(i)); err != nil {
				t.Fatalf("column %d: %v", i, err)
			}
		}
		if n++; n > 1000 {
			return
		}
	}
}

func checkCode(t *testing.T, err error) {
	t.Helper()
	switch status.Code(err) {
	case codes.OK, codes.InvalidArgument, codes.OutOfRange, codes.Unimplemented:
	default:
		t.Fatalf("unexpected status: %v", err)
	}
}

// FuzzReadFunctionCall feeds statements to those who look for the call of a
// change stream's read function, in both dialects.
func FuzzReadFunctionCall(f *testing.F) {
	for _, seed := range []string{
		"SELECT ChangeRecord FROM READ_S('2024-01-01T00:00:00Z', NULL, @t, 1000)",
		"SELECT * FROM READ_S(heartbeat_milliseconds => -1, start_timestamp => TIMESTAMP '2024-01-01', read_options => ['a'])",
		`SELECT * FROM "spanner"."read_json_s"($1::timestamptz, $2, 'it''s', - 5, null);`,
		"select read_json_s from spanner.read_json_s ( ", `"`, "$",
	} {
		f.Add(seed, false)
		f.Add(seed, true)
	}
	google, err := catalog.Empty().Apply("CREATE CHANGE STREAM S FOR ALL")
	if err != nil {
		f.Fatal(err)
	}
	postgreSQL, err := catalog.EmptyPostgreSQL("d").Apply("CREATE CHANGE STREAM s FOR ALL")
	if err != nil {
		f.Fatal(err)
	}
	params := map[string]relation.Param{"t": untyped(value.Null(nil)), "p1": untyped(value.String("2024-01-01T00:00:00Z")), "p2": {Wire: []byte{8, 0}}}
	f.Fuzz(func(t *testing.T, text string, pg bool) {
		schema := google
		if pg {
			schema = postgreSQL
		}
		call, err := sql.FindReadFunctionCall(schema, text)
		checkCode(t, err)
		if call == nil || err != nil {
			return
		}
		_, err = call.Arguments(params)
		checkCode(t, err)
	})
}
