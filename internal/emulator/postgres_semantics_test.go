package emulator_test

import (
	"strings"
	"testing"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
)

// What PostgreSQL 15 says of these, but for what Spanner calls otherwise.
func TestPostgreSQLSemantics(t *testing.T) {
	f := startPostgreSQL(t, itemsDDL)
	items(t, f)
	for _, c := range []struct{ sql, want string }{
		// How operators bind and where they end.
		{`SELECT ~1 + 2, ~1 * 2, ~ 1 | 2, 1 + ~ 2 + 3, - ~1`, "-4,-3,-2,-5,2"},
		{`SELECT 1 | 2 # 7 & 3 << 1, 2 + 3 * 4 % 5 - -1, 10 - 2 - 3, 8 / 2 / 2`, "0,5,5,2"},
		{`SELECT 1 = 1 IS NULL, NOT 1 = 2, true OR false AND false, 1 + 1 IN (2), 'a' || 'b' = 'ab', 'abc' LIKE 'a%' IS TRUE, 1 IS NULL IS NULL`, "false,true,true,true,true,true,false"},
		{`SELECT k FROM items WHERE k<-1 OR k=-1 OR k>-5 AND k<=1`, "1"},
		{`SELECT 2*-1, 1-- comment`, "-2,1"},
		{`SELECT E'\uD83D\uDE00\U0001F600\x41\101\q', $X$a$x$b$X$, $é$x$é$`, "😀😀AAq,a$x$b,x"},
		// Names: of the tables in expressions and GROUP BY, of the result in ORDER BY.
		{`SELECT -k AS k FROM items ORDER BY k LIMIT 1`, "-5"},
		{`SELECT -k AS k FROM items ORDER BY k + 0 LIMIT 1`, "-1"},
		{`SELECT k AS "Name", "Name" AS k FROM items ORDER BY k, "Name"`, "5,|2,Two|4,four|1,one|3,-"},
		{`SELECT upper("Name") AS x, count(*) FROM items GROUP BY x ORDER BY x LIMIT 2`, ",1|FOUR,1"},
		{`SELECT b AS x, count(*) AS c FROM items GROUP BY b HAVING count(*) > 1 ORDER BY c DESC, b`, "false,2|true,2"},
		{`SELECT "Name" || 'A' FROM items GROUP BY "Name" || 'A' ORDER BY 1 LIMIT 2`, "A|TwoA"},
		{`SELECT DISTINCT k % 2 AS m FROM items ORDER BY k % 2 DESC`, "1|0"},
		// Operators on jsonb and arrays.
		{`SELECT k FROM items WHERE j @> '{"a":1.0}' OR j @> '"text"' OR j ? 'nosuch'`, "1|4"},
		{`SELECT '[1,{"a":[2,3]},"x"]'::jsonb @> '[{"a":[3]}]', '[1,2]'::jsonb @> '1', '1'::jsonb @> '[1]', '[[1]]'::jsonb @> '1', '{"a":[1]}'::jsonb @> '{"a":1}', '{}'::jsonb <@ '{"a":1}'`,
			"true,true,false,false,false,true"},
		{`SELECT '{"a":1}'::jsonb ? 'a', '["a"]'::jsonb ? 'a', '"a"'::jsonb ? 'a', '{"b":1}'::jsonb ?| ARRAY['a','b'], '{"b":1}'::jsonb ?& ARRAY['a','b']`, "true,true,true,true,false"},
		{`SELECT ARRAY[1,2] @> ARRAY[2], ARRAY[2] <@ '{1,2}', ARRAY[1] && ARRAY[2,3], ARRAY[1,NULL] @> ARRAY[NULL]::bigint[]`, "true,true,false,false"},
		{`SELECT k FROM items WHERE tags = '{x,y}' OR tags @> '{}' AND k = 2 ORDER BY k`, "1|2"},
		{`SELECT k FROM items WHERE k = ANY('{1, 3}') AND k <> ALL('{3}')`, "1"},
		{`SELECT '{1,NULL}'::bigint[], ' { a ,"b \"c,}", "NULL" } '::text[], '{}'::numeric[], '{1.50}'::numeric[], '{t,f}'::boolean[]`, `[1 <nil>],[a b "c,} NULL],[],[1.50],[true false]`},
		{`SELECT k FROM items WHERE "Name" ~ '^[A-Z]' OR "Name" !~ 'o|^$'`, "2"},
		// Numbers.
		{`SELECT sum(k), avg(k), sum(f), sum(r), avg(n) FROM items WHERE k IN (1, 5)`, "6,3.0000000000000000,3.5,-,1.5000000000000000"},
		{`SELECT ceil(1), ceil(1.2), floor(-1.5::float8), sign(-2), sign(-2.5), div(7, 2), div(-7.5, 2), round(7), trunc(-1.7::float8), abs(-1), mod(7, 4), log(100)`, "1,2,-2,-1,-1,3,-3,7,-1,1,3,2"},
		{`SELECT 1e7::real::text, 123456.7::real::text, 1e15::float8::text, 0.00001::float8::text`, "1e+07,123456.7,1e+15,1e-05"},
		// Times.
		{`SELECT date '2024-03-01' - date '2024-02-01', '2024-01-31'::date + 1`, "29,2024-02-01"},
		{`SELECT '2024-01-01 00:00:00.120+00'::timestamptz::text, '2024-01-01'::timestamptz::text`, "2023-12-31 16:00:00.12-08,2024-01-01 00:00:00-08"},
		{`SELECT extract(year from at), extract(second from at), extract(dow from at), extract(isodow from at), extract(milliseconds from at), extract(century from at), extract('week' from at), extract(epoch from at) FROM items WHERE k = 1`,
			"2024,56.789000,4,4,56789.000,21,9,1709210096.789000"},
		{`SELECT extract(epoch from d), extract(decade from d) FROM items WHERE k = 1`, "1709164800,202"},
		{`SELECT make_date(2024, 2, 29), to_timestamp(0), spanner.timestamp_from_unix_micros(1), array_upper(ARRAY[1,2], 1)`, "2024-02-29,1970-01-01T00:00:00Z,1970-01-01T00:00:00.000001Z,2"},
		{`SELECT interval '1 day', 'P1Y2M3DT4H'::interval, (interval '1 day')::text, interval '1 year 2 mons -3 days 04:05:06.7'::text, ('36 hours ago'::interval)::text, ('1.5 months'::interval)::text, ('1.5 days'::interval)::text`,
			"P1D,P1Y2M3DT4H,1 day,1 year 2 mons -3 days +04:05:06.7,-36:00:00,1 mon 15 days,1 day 12:00:00"},
		{`SELECT ('-1 year 2 days'::interval)::text, ('0'::interval)::text, ('5'::interval)::text, ('2h30m'::interval)::text, ('@ 1 week'::interval)::text, ('3 4:05'::interval)::text, ('-4:05:06.5'::interval)::text`,
			"-1 years +2 days,00:00:00,00:00:05,02:30:00,7 days,3 days 04:05:00,-04:05:06.5"},
		{`SELECT ('2024-01-31 10:00:00-08'::timestamptz + interval '1 month')::text, ('2024-03-31 10:00:00-07'::timestamptz - interval '1 month 1 day')::text`, "2024-02-29 10:00:00-08,2024-02-28 10:00:00-08"},
		{`SELECT ('2024-03-09 12:00:00-08'::timestamptz + interval '1 day')::text, ('2024-03-09 12:00:00-08'::timestamptz + '24 hours')::text`, "2024-03-10 12:00:00-07,2024-03-10 13:00:00-07"},
		{`SELECT ('2024-02-28 12:00:00+00'::timestamptz - '2024-03-01 00:00:00+00'::timestamptz)::text, (interval '1 day' + interval '25 hours')::text, (interval '1 mon' - interval '1 day')::text`, "-1 days -12:00:00,1 day 25:00:00,1 mon -1 days"},
		{`SELECT interval '1 day' = interval '24 hours', interval '1 mon' > interval '29 days', interval '1 year' < '11 months'`, "true,true,false"},
		{`SELECT k FROM items WHERE at > '2024-03-01'::timestamptz - interval '7 days' AND at < now() - interval '1 day'`, "1"},
		{`SELECT NULL, coalesce(NULL, NULL)`, "-,-"},
		// A query in parentheses is an operand, a list's item, a table or a query.
		{`SELECT ((SELECT 1) + 1), 1 + ((SELECT 2)), (((SELECT 1)) + ((SELECT 2))), 2 IN ((SELECT 1), 2), 1 IN ((SELECT 1)), ARRAY((SELECT 1)), EXISTS ((SELECT 1) LIMIT 1)`, "2,3,3,true,true,[1],true"},
		{`SELECT x, y FROM ((SELECT 1 AS x) AS a JOIN (SELECT 1 AS y) AS b ON x = y), ((SELECT 2 AS z) LIMIT 1) c`, "1,1"},
	} {
		if got := f.rows(t, c.sql, nil); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.sql, got, c.want)
		}
	}
}

// Errors name types, functions and columns as PostgreSQL does.
func TestPostgreSQLMessages(t *testing.T) {
	f := startPostgreSQL(t, itemsDDL)
	items(t, f)
	for _, c := range []struct{ sql, message string }{
		{`SELECT k + "Name" FROM items`, "InvalidArgument desc = operator does not exist: bigint + character varying"},
		{`SELECT k = "Name" FROM items`, "InvalidArgument desc = operator does not exist: bigint = character varying"},
		{`SELECT k -> 'a' FROM items`, "InvalidArgument desc = operator does not exist: bigint -> character varying"},
		{`SELECT -"Name" FROM items`, "InvalidArgument desc = operator does not exist: - character varying"},
		{`SELECT 1 ?? 2`, "InvalidArgument desc = operator does not exist: ??"},
		{`SELECT k FROM items WHERE k!=-1`, "InvalidArgument desc = operator does not exist: !=-"},
		{`SELECT nosuch(k, at, tags) FROM items`, "InvalidArgument desc = function nosuch(bigint, timestamp with time zone, character varying[]) does not exist"},
		{`SELECT "left"(n) FROM items`, "InvalidArgument desc = function left(numeric) does not exist"},
		{`SELECT safe_divide(1, 2)`, "InvalidArgument desc = function safe_divide(bigint, bigint) does not exist"},
		{`SELECT pg.distinct(1, 2)`, "InvalidArgument desc = function pg.distinct(bigint, bigint) does not exist"},
		{`SELECT contains(j, j) FROM items`, "InvalidArgument desc = function contains(jsonb, jsonb) does not exist"},
		{`SELECT "GREATEST"(1, 2)`, "InvalidArgument desc = function greatest(bigint, bigint) does not exist"},
		{`SELECT to_jsonb(k) FROM items`, "Unimplemented desc = Unsupported: function to_jsonb"},
		{`SELECT interval '1' day`, "Unimplemented desc = Unsupported: INTERVAL with the field DAY"},
		{`SELECT '1'::interval second`, "Unimplemented desc = Unsupported: INTERVAL with the field SECOND"},
		{`SELECT (SELECT DISTINCT ON (k) k FROM items)`, "Unimplemented desc = DISTINCT ON"},
		{`SELECT to_char(k, '9') FROM items`, "Unimplemented desc = Unsupported: function to_char"},
		{`SELECT f::uuid FROM items`, "InvalidArgument desc = Invalid cast from double precision to uuid"},
		{`SELECT k FROM items WHERE k`, "boolean, but returns bigint"},
		{`SELECT k FROM items WHERE k = 'x'`, `InvalidArgument desc = invalid input syntax for type bigint: "x"`},
		{`SELECT k FROM items WHERE k = '0x10'`, `InvalidArgument desc = invalid input syntax for type bigint: "0x10"`},
		{`SELECT k FROM items WHERE at > 'x'`, `InvalidArgument desc = invalid input syntax for type timestamp with time zone: "x"`},
		{`SELECT "Name"::double precision FROM items`, `OutOfRange desc = invalid input syntax for type double precision: "one"`},
		{`SELECT '{1'::bigint[]`, "OutOfRange desc = malformed array literal"},
		{`SELECT '{{1}}'::bigint[]`, "OutOfRange desc = malformed array literal"},
		{`SELECT '{1,}'::bigint[]`, "OutOfRange desc = malformed array literal"},
		{`SELECT '{x}'::bigint[]`, `OutOfRange desc = invalid input syntax for type bigint: "x"`},
		{`SELECT '1 fortnight'::interval`, `OutOfRange desc = invalid input syntax for type interval: "1 fortnight"`},
		{`SELECT at + interval '9999 years' FROM items`, "OutOfRange desc = Timestamp is out of range"},
		{`SELECT interval '999999999 years'`, "OutOfRange desc = interval out of range"},
		{`SELECT interval '999999999:00'`, "OutOfRange desc = interval out of range"},
		{`SELECT d + interval '1 day' FROM items`, "InvalidArgument desc = operator does not exist: date + interval"},
		{`SELECT ARRAY[]`, "InvalidArgument desc = cannot determine type of empty array"},
		{`SELECT ARRAY[1, 'a'::text]`, "bigint, character varying"},
		{`SELECT 9223372036854775807 + 1`, "OutOfRange desc = bigint out of range"},
		{`SELECT 1e308::float8 * 10`, "OutOfRange desc = value out of range: overflow"},
		{`SELECT 1 < 2 = true`, `InvalidArgument desc = syntax error at or near "="`},
		{`SELECT k AS x FROM items WHERE x = 1`, `InvalidArgument desc = column "x" does not exist`},
		{`SELECT count(*) AS c FROM items HAVING c > 1`, `InvalidArgument desc = column "c" does not exist`},
		{`SELECT i.nosuch FROM items i`, `InvalidArgument desc = column i.nosuch does not exist`},
		{`SELECT j.a FROM items`, `InvalidArgument desc = missing FROM-clause entry for table "j"`},
		{`SELECT i FROM items i`, `InvalidArgument desc = column "i" does not exist`},
		{`SELECT a.k, b.k FROM items a JOIN items b ON a.k = b.k ORDER BY k`, `InvalidArgument desc = ORDER BY "k" is ambiguous`},
		{`SELECT DISTINCT b FROM items ORDER BY k`, "InvalidArgument desc = for SELECT DISTINCT, ORDER BY expressions must appear in select list"},
		{`SELECT b AS k, count(*) FROM items GROUP BY k`, "InvalidArgument desc = Expression references column b"},
		{`SELECT upper("Name") || 'A' FROM items GROUP BY upper("Name") || 'a'`, "InvalidArgument desc = Expression references column Name"},
		{`SELECT extract(hour from d) FROM items`, `InvalidArgument desc = unit "hour" not recognized or not supported for type date`},
		// What Spanner itself does not take of PostgreSQL.
		{`SELECT k FROM items WHERE "Name" NOT ILIKE 'T%'`, "Unimplemented desc = operator ILIKE is not supported in Spanner's PostgreSQL dialect"},
		{`SELECT k FROM items WHERE "Name" ~* 'T%'`, "Unimplemented desc = operator ~* is not supported in Spanner's PostgreSQL dialect"},
		{`SELECT at AT TIME ZONE 'UTC' FROM items`, "Unimplemented desc = AT TIME ZONE is not supported in Spanner's PostgreSQL dialect"},
		{`SELECT k FROM items WHERE "Name" LIKE 'a' ESCAPE '!'`, "Unimplemented desc = LIKE with ESCAPE is not supported in Spanner's PostgreSQL dialect"},
		{`SELECT * FROM (VALUES (1)) v`, "Unimplemented desc = VALUES is not supported in Spanner's PostgreSQL dialect"},
		{`SELECT DISTINCT ON (k) k FROM items`, "Unimplemented desc = DISTINCT ON is not supported in Spanner's PostgreSQL dialect"},
		{`SELECT row_number() OVER () FROM items`, "Unimplemented desc = a window function (OVER) is not supported in Spanner's PostgreSQL dialect"},
		{`WITH RECURSIVE x AS (SELECT 1) SELECT * FROM x`, "Unimplemented desc = WITH RECURSIVE is not supported in Spanner's PostgreSQL dialect"},
		{`SELECT * FROM items, LATERAL (SELECT 1) x`, "Unimplemented desc = LATERAL is not supported in Spanner's PostgreSQL dialect"},
	} {
		err := f.query(t, &receiver{t: t}, &spannerpb.ExecuteSqlRequest{Sql: c.sql})
		if err == nil || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s\ngot  %v\nwant %s", c.sql, err, c.message)
		}
	}
}
