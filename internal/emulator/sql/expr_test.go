package sql_test

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/emulator/sql"
)

// exprCase is an expression, its type and value, or the error's code and text.
type exprCase struct {
	expr, typ, want string
	code            codes.Code
}

func runExprs(t *testing.T, cases []exprCase) {
	t.Helper()
	m := newMemory(t)
	for _, c := range cases {
		t.Run(c.expr, func(t *testing.T) {
			q, err := sql.Prepare(m, "SELECT "+c.expr, nil)
			got := ""
			if err == nil {
				if typ := q.Columns()[0].Type.String(); c.typ != "" && typ != c.typ {
					t.Errorf("type %s, want %s", typ, c.typ)
				}
				for row, rerr := range q.Rows(context.Background()) {
					if err = rerr; err == nil {
						got = render(q.Columns(), row)
					}
				}
			}
			switch {
			case status.Code(err) != c.code:
				t.Fatalf("error %v, want code %s", err, c.code)
			case err != nil && !strings.Contains(status.Convert(err).Message(), c.want):
				t.Errorf("error %v, want %q", err, c.want)
			case err == nil && got != c.want:
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

const bad, data = codes.InvalidArgument, codes.OutOfRange

func TestOperators(t *testing.T) {
	runExprs(t, []exprCase{
		{"1 + 2 * 3", "INT64", "7", 0},
		{"7 / 2", "FLOAT64", "3.5", 0},
		{"1 + 1.5", "FLOAT64", "2.5", 0},
		{"NUMERIC '0.1' + 2", "NUMERIC", "2.1", 0},
		{"NUMERIC '1' / 3", "NUMERIC", "0.333333333", 0},
		{"1 / 0", "", "division by zero", data},
		{"9223372036854775807 + 1", "", "int64 overflow", data},
		{"-9223372036854775808", "INT64", "-9223372036854775808", 0},
		{"-(-9223372036854775808)", "", "overflow", data},
		{"-9223372036854775808 * -1", "", "overflow", data},
		{"9223372036854775808", "", "Invalid integer literal", bad},
		{"0x1F", "INT64", "31", 0},
		{"5 & 3 | 8", "INT64", "9", 0},
		{"1 << 62 >> 61", "INT64", "2", 0},
		{"~0", "INT64", "-1", 0},
		{"'a' || 'b'", "STRING", `"ab"`, 0},
		{"[1] || [2, NULL]", "ARRAY<INT64>", "[1 2 NULL]", 0},
		{"1 + 'a'", "", "No matching signature for operator +", bad},
		{"1 = 1.0", "BOOL", "true", 0},
		{"NULL = NULL", "BOOL", "NULL", 0},
		{"1 < NULL", "BOOL", "NULL", 0},
		{"CAST('nan' AS FLOAT64) = CAST('nan' AS FLOAT64)", "BOOL", "false", 0},
		{"CAST('nan' AS FLOAT64) != 1", "BOOL", "true", 0},
		{"TRUE AND NULL", "BOOL", "NULL", 0},
		{"FALSE AND NULL", "BOOL", "false", 0},
		{"TRUE OR NULL", "BOOL", "true", 0},
		{"NULL OR FALSE", "BOOL", "NULL", 0},
		{"FALSE AND 1/0 > 1", "BOOL", "false", 0},
		{"NOT NULL", "BOOL", "NULL", 0},
		{"1 AND TRUE", "", "should return type BOOL", bad},
		{"2 BETWEEN 1 AND 3", "BOOL", "true", 0},
		{"2 NOT BETWEEN 3 AND NULL", "BOOL", "true", 0},
		{"2 BETWEEN NULL AND 3", "BOOL", "NULL", 0},
		{"1 IN (1, NULL)", "BOOL", "true", 0},
		{"2 IN (1, NULL)", "BOOL", "NULL", 0},
		{"2 NOT IN (1, 3)", "BOOL", "true", 0},
		{"2 IN UNNEST([1, 2])", "BOOL", "true", 0},
		{"2 IN UNNEST(CAST(NULL AS ARRAY<INT64>))", "BOOL", "false", 0},
		{"(1, 'a') IN ((1, 'a'), (2, 'b'))", "BOOL", "true", 0},
		{"NULL IS NULL", "BOOL", "true", 0},
		{"1 IS NOT NULL", "BOOL", "true", 0},
		{"NULL IS TRUE", "BOOL", "false", 0},
		{"FALSE IS NOT TRUE", "BOOL", "true", 0},
		{"[1, 2] = [1, 2]", "BOOL", "true", 0},
		{"[1] < [2]", "", "not defined", bad},
		{"JSON '1' = JSON '1'", "", "not defined", bad},
		{"DATE '2024-01-31' + 1", "DATE", "2024-02-01", 0},
		{"DATE '2024-01-31' - 31", "DATE", "2023-12-31", 0},
		{"DATE '2024-01-01' < '2024-01-02'", "BOOL", "true", 0},
		{"DATE '2024-01-01' < 'x'", "", "Could not cast literal", bad},
	})
}

func TestLike(t *testing.T) {
	runExprs(t, []exprCase{
		{"'spanner' LIKE 'span%'", "", "true", 0},
		{"'spanner' LIKE '%n_r'", "", "true", 0},
		{"'spanner' LIKE 'n%'", "", "false", 0},
		{"'aXbXc' LIKE 'a%X_'", "", "true", 0},
		{"'50%' LIKE r'50\\%'", "", "true", 0},
		{"'50x' LIKE r'50\\%'", "", "false", 0},
		{"'日本' LIKE '__'", "", "true", 0},
		{"b'\\xe6\\x97' LIKE b'__'", "", "true", 0},
		{"'' LIKE ''", "", "true", 0},
		{"'' LIKE '%'", "", "true", 0},
		{"'abc' LIKE '%%c'", "", "true", 0},
		{"'a' LIKE NULL", "", "NULL", 0},
		{"'a' NOT LIKE 'b'", "", "true", 0},
		{"'a' LIKE 'a\\\\'", "", "backslash", data},
		{"1 LIKE 2", "", "No matching signature", bad},
	})
}

func TestConditionals(t *testing.T) {
	runExprs(t, []exprCase{
		{"CASE WHEN 1 > 2 THEN 'a' WHEN NULL THEN 'b' ELSE 'c' END", "STRING", `"c"`, 0},
		{"CASE 2 WHEN 1 THEN 1 WHEN 2 THEN 2.5 END", "FLOAT64", "2.5", 0},
		{"CASE NULL WHEN NULL THEN 1 END", "INT64", "NULL", 0},
		{"IF(FALSE, 1/0, 2)", "FLOAT64", "2", 0},
		{"IF(TRUE, 'a', 1)", "", "no common type", bad},
		{"COALESCE(NULL, 3, 1/0)", "FLOAT64", "3", 0},
		{"IFNULL(NULL, 'x')", "STRING", `"x"`, 0},
		{"NULLIF(1, 1)", "INT64", "NULL", 0},
		{"GREATEST(1, 3, 2)", "INT64", "3", 0},
		{"LEAST(1, NULL)", "INT64", "NULL", 0},
	})
}

func TestCasts(t *testing.T) {
	runExprs(t, []exprCase{
		{"CAST('12' AS INT64)", "INT64", "12", 0},
		{"CAST('0x10' AS INT64)", "INT64", "16", 0},
		{"CAST('abc' AS INT64)", "", `Bad int64 value: "abc"`, data},
		{"SAFE_CAST('abc' AS INT64)", "INT64", "NULL", 0},
		{"CAST(2.5 AS INT64)", "INT64", "3", 0},
		{"CAST(-2.5 AS INT64)", "INT64", "-3", 0},
		{"CAST(1e30 AS INT64)", "", "too large", data},
		{"CAST(1.0 AS STRING)", "STRING", `"1"`, 0},
		{"CAST(0.1 AS STRING)", "STRING", `"0.1"`, 0},
		{"CAST(TRUE AS STRING)", "STRING", `"true"`, 0},
		{"CAST('TRUE' AS BOOL)", "BOOL", "true", 0},
		{"CAST(1.25 AS NUMERIC)", "NUMERIC", "1.25", 0},
		{"CAST('1.0000000005' AS NUMERIC)", "NUMERIC", "1.000000001", 0},
		{"CAST('1e1000000' AS NUMERIC)", "", "Bad numeric value", data},
		{"CAST(b'abc' AS STRING)", "STRING", `"abc"`, 0},
		{"CAST(b'\\xff' AS STRING)", "", "UTF8", data},
		{"CAST('2024-2-3' AS DATE)", "DATE", "2024-02-03", 0},
		{"CAST('2023-02-29' AS DATE)", "", "Invalid date", data},
		{"CAST('2024-01-02 03:04:05.678+00' AS TIMESTAMP)", "TIMESTAMP", "2024-01-02T03:04:05.678Z", 0},
		{"CAST('2024-01-02 03:04:05' AS TIMESTAMP)", "TIMESTAMP", "2024-01-02T11:04:05Z", 0},
		{"TIMESTAMP '2024-07-01 00:00:00 Europe/Berlin'", "TIMESTAMP", "2024-06-30T22:00:00Z", 0},
		{"CAST(TIMESTAMP '2024-01-02T03:04:05.5Z' AS STRING)", "STRING", `"2024-01-01 19:04:05.500-08"`, 0},
		{"CAST(TIMESTAMP '2024-01-02T03:04:05Z' AS DATE)", "DATE", "2024-01-01", 0},
		{"CAST([1] AS ARRAY<FLOAT64>)", "ARRAY<FLOAT64>", "[1]", 0},
		{"CAST(1 AS DATE)", "", "Invalid cast", bad},
		{"CAST('P1Y14MT36H0.5S' AS INTERVAL)", "INTERVAL", "P2Y2MT36H0.5S", 0},
		{"CAST(CAST('P-1D' AS INTERVAL) AS STRING)", "STRING", `"P-1D"`, 0},
		{"CAST('a day' AS INTERVAL)", "", "Bad interval value", data},
		{"CAST(1 AS INTERVAL)", "", "Invalid cast", bad},
		{"CAST(1 AS NOPE)", "", "Type not found", bad},
		{"CAST('F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6' AS UUID)", "UUID", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", 0},
		{"CAST(NULL AS STRING)", "STRING", "NULL", 0},
	})
}

func TestArraysAndStructs(t *testing.T) {
	runExprs(t, []exprCase{
		{"[1, 2.5]", "ARRAY<FLOAT64>", "[1 2.5]", 0},
		{"[]", "ARRAY<INT64>", "[]", 0},
		{"ARRAY<STRING>[]", "ARRAY<STRING>", "[]", 0},
		{"[[1]]", "", "nested arrays", bad},
		{"[10, 20][OFFSET(1)]", "INT64", "20", 0},
		{"[10, 20][ORDINAL(1)]", "INT64", "10", 0},
		{"[10, 20][2]", "", "out of bounds", data},
		{"[10, 20][SAFE_OFFSET(2)]", "INT64", "NULL", 0},
		{"ARRAY_LENGTH(['a', NULL])", "INT64", "2", 0},
		{"ARRAY_TO_STRING(['a', NULL, 'c'], '-', '?')", "STRING", `"a-?-c"`, 0},
		{"ARRAY_CONCAT([1], [2, 3])", "ARRAY<INT64>", "[1 2 3]", 0},
		{"ARRAY_REVERSE([1, 2])", "ARRAY<INT64>", "[2 1]", 0},
		{"ARRAY_INCLUDES([1, 2], 2)", "BOOL", "true", 0},
		{"ARRAY_MAX([1, 3, NULL])", "INT64", "3", 0},
		{"GENERATE_ARRAY(1, 10, 4)", "ARRAY<INT64>", "[1 5 9]", 0},
		{"GENERATE_ARRAY(1, 2, 0)", "", "step", data},
		{"STRUCT(1 AS a, 'x' AS b).b", "STRING", `"x"`, 0},
		{"STRUCT<a INT64, b FLOAT64>(1, 2).b", "FLOAT64", "2", 0},
		{"STRUCT(1 AS a).c", "", "does not exist", bad},
		{"ARRAY(SELECT AS STRUCT 1 AS a, 'x' AS b)", "ARRAY<STRUCT<a INT64, b STRING>>", `[{1 "x"}]`, 0},
		{"ARRAY(SELECT x * 2 FROM UNNEST([3, 1, 2]) AS x ORDER BY x)", "ARRAY<INT64>", "[2 4 6]", 0},
	})
}

func TestStringFunctions(t *testing.T) {
	runExprs(t, []exprCase{
		{"UPPER('àb')", "STRING", `"ÀB"`, 0},
		{"LOWER('ÀB')", "STRING", `"àb"`, 0},
		{"LENGTH('日本')", "INT64", "2", 0},
		{"BYTE_LENGTH('日本')", "INT64", "6", 0},
		{"LENGTH(b'ab')", "INT64", "2", 0},
		{"CONCAT('a', 'b', 'c')", "STRING", `"abc"`, 0},
		{"CONCAT('a', NULL)", "STRING", "NULL", 0},
		{"LEFT('apple', 2)", "STRING", `"ap"`, 0},
		{"CONCAT(right ('apple', 2), 'LEFT(', SAFE.LEFT('a', -1))", "STRING", "NULL", 0},
		{"SUBSTR('apple', 2)", "STRING", `"pple"`, 0},
		{"SUBSTR('apple', 2, 2)", "STRING", `"pp"`, 0},
		{"SUBSTR('apple', -2)", "STRING", `"le"`, 0},
		{"SUBSTR('apple', -9, 2)", "STRING", `"ap"`, 0},
		{"SUBSTR('apple', 9)", "STRING", `""`, 0},
		{"SUBSTR('apple', 1, -1)", "", "negative", data},
		{"SUBSTR('apple', -9223372036854775808, 9223372036854775807)", "STRING", `"apple"`, 0},
		{"TRIM('  a ')", "STRING", `"a"`, 0},
		{"LTRIM('xxa', 'x')", "STRING", `"a"`, 0},
		{"STARTS_WITH('spanner', 'span')", "BOOL", "true", 0},
		{"STRPOS('日本', '本')", "INT64", "2", 0},
		{"REPLACE('aba', 'a', 'c')", "STRING", `"cbc"`, 0},
		{"REPEAT('ab', 2)", "STRING", `"abab"`, 0},
		{"REPEAT('ab', 9223372036854775807)", "", "larger", data},
		{"SPLIT('a,b', ',')", "ARRAY<STRING>", `["a" "b"]`, 0},
		{"LPAD('a', 3, 'xy')", "STRING", `"xya"`, 0},
		{"RPAD('abc', 2)", "STRING", `"ab"`, 0},
		{"REVERSE('日本')", "STRING", `"本日"`, 0},
		{"REGEXP_CONTAINS('abc', r'b.')", "BOOL", "true", 0},
		{"REGEXP_EXTRACT('abc', r'a(.)')", "STRING", `"b"`, 0},
		{"REGEXP_REPLACE('abc', r'(b)', r'<\\1>')", "STRING", `"a<b>c"`, 0},
		{"REGEXP_CONTAINS('abc', '(')", "", "regular expression", data},
		{"SAFE.REGEXP_CONTAINS('abc', '(')", "BOOL", "NULL", 0},
		{"TO_HEX(MD5('a'))", "STRING", `"0cc175b9c0f1b6a831c399e269772661"`, 0},
		{"TO_BASE64(b'abc')", "STRING", `"YWJj"`, 0},
		{"FROM_HEX('ff')", "BYTES", "b\"\\xff\"", 0},
		{"UPPER(1)", "", "No matching signature for function UPPER for argument types: INT64", bad},
		{"UPPER()", "", "No matching signature", bad},
	})
}

func TestMathFunctions(t *testing.T) {
	runExprs(t, []exprCase{
		{"ABS(-3)", "INT64", "3", 0},
		{"ABS(NUMERIC '-1.5')", "NUMERIC", "1.5", 0},
		{"MOD(-7, 3)", "INT64", "-1", 0},
		{"MOD(1, 0)", "", "division by zero", data},
		{"DIV(7, 2)", "INT64", "3", 0},
		{"ROUND(2.5)", "FLOAT64", "3", 0},
		{"ROUND(1.005, 2)", "FLOAT64", "1", 0},
		{"ROUND(NUMERIC '1.005', 2)", "NUMERIC", "1.01", 0},
		{"TRUNC(-1.7)", "FLOAT64", "-1", 0},
		{"CEIL(NUMERIC '1.1')", "NUMERIC", "2", 0},
		{"FLOOR(-1.1)", "FLOAT64", "-2", 0},
		{"SQRT(-1)", "", "Floating point error", data},
		{"POW(2, 10)", "FLOAT64", "1024", 0},
		{"SIGN(-2)", "INT64", "-1", 0},
		{"SAFE_DIVIDE(1, 0)", "FLOAT64", "NULL", 0},
		{"SAFE_ADD(9223372036854775807, 1)", "INT64", "NULL", 0},
		{"IS_NAN(IEEE_DIVIDE(0, 0))", "BOOL", "true", 0},
	})
}

func TestDateFunctions(t *testing.T) {
	runExprs(t, []exprCase{
		{"DATE(2024, 2, 29)", "DATE", "2024-02-29", 0},
		{"DATE(2023, 2, 29)", "", "invalid date", data},
		{"DATE_ADD(DATE '2024-01-31', INTERVAL 1 MONTH)", "DATE", "2024-02-29", 0},
		{"DATE_SUB(DATE '2024-03-31', INTERVAL 1 YEAR)", "DATE", "2023-03-31", 0},
		{"DATE_ADD(DATE '9999-12-31', INTERVAL 1 DAY)", "", "out of range", data},
		{"DATE_ADD(DATE '2024-01-01', INTERVAL 1 HOUR)", "", "does not support", bad},
		{"DATE_DIFF(DATE '2024-03-01', DATE '2024-02-01', DAY)", "INT64", "29", 0},
		{"DATE_DIFF(DATE '2024-01-01', DATE '2023-12-31', YEAR)", "INT64", "1", 0},
		{"DATE_DIFF(DATE '2017-10-15', DATE '2017-10-14', WEEK)", "INT64", "1", 0},
		{"DATE_DIFF(DATE '2017-10-15', DATE '2017-10-14', ISOWEEK)", "INT64", "0", 0},
		{"DATE_TRUNC(DATE '2024-05-17', QUARTER)", "DATE", "2024-04-01", 0},
		{"DATE_TRUNC(DATE '2024-05-17', ISOWEEK)", "DATE", "2024-05-13", 0},
		{"EXTRACT(YEAR FROM DATE '2024-05-17')", "INT64", "2024", 0},
		{"EXTRACT(HOUR FROM TIMESTAMP '2024-05-17T01:02:03Z' AT TIME ZONE 'UTC')", "INT64", "1", 0},
		{"EXTRACT(DATE FROM TIMESTAMP '2024-05-17T01:02:03Z')", "DATE", "2024-05-16", 0},
		{"EXTRACT(ISOWEEK FROM DATE '2021-01-03')", "INT64", "53", 0},
		{"TIMESTAMP_ADD(TIMESTAMP '2024-01-01T00:00:00Z', INTERVAL 90 MINUTE)", "TIMESTAMP", "2024-01-01T01:30:00Z", 0},
		{"TIMESTAMP_SUB(TIMESTAMP '0001-01-01T00:00:00Z', INTERVAL 1 NANOSECOND)", "", "overflow", data},
		{"TIMESTAMP_DIFF(TIMESTAMP '2024-01-02T00:00:00Z', TIMESTAMP '2024-01-01T12:00:00Z', HOUR)", "INT64", "12", 0},
		{"TIMESTAMP_TRUNC(TIMESTAMP '2024-01-02T03:04:05Z', HOUR, 'UTC')", "TIMESTAMP", "2024-01-02T03:00:00Z", 0},
		{"TIMESTAMP_TRUNC(TIMESTAMP '2024-01-02T03:04:05Z', DAY)", "TIMESTAMP", "2024-01-01T08:00:00Z", 0},
		{"TIMESTAMP_SECONDS(0)", "TIMESTAMP", "1970-01-01T00:00:00Z", 0},
		{"UNIX_MILLIS(TIMESTAMP '1969-12-31T23:59:59.9995Z')", "INT64", "-1", 0},
		{"UNIX_DATE(DATE '1970-01-02')", "INT64", "1", 0},
		{"FORMAT_DATE('%Y/%m/%d', DATE '2024-05-07')", "STRING", `"2024/05/07"`, 0},
		{"FORMAT_TIMESTAMP('%F %T', TIMESTAMP '2024-01-02T03:04:05Z', 'UTC')", "STRING", `"2024-01-02 03:04:05"`, 0},
		{"PARSE_DATE('%Y-%m-%d', '2024-05-07')", "DATE", "2024-05-07", 0},
		{"PARSE_TIMESTAMP('%Y-%m-%d %H:%M:%S', '2024-05-07 01:02:03', 'UTC')", "TIMESTAMP", "2024-05-07T01:02:03Z", 0},
		{"PARSE_DATE('%Y', 'x')", "", "Failed to parse", data},
		{"TIMESTAMP('2024-05-07', 'Nowhere/City')", "", "Invalid time zone", data},
		{"CURRENT_TIMESTAMP() > TIMESTAMP '2020-01-01T00:00:00Z'", "BOOL", "true", 0},
		{"GENERATE_DATE_ARRAY(DATE '2024-01-31', DATE '2024-03-31', INTERVAL 1 MONTH)", "ARRAY<DATE>", "[2024-01-31 2024-02-29 2024-03-31]", 0},
		{"PENDING_COMMIT_TIMESTAMP()", "", "PENDING_COMMIT_TIMESTAMP", bad},
	})
}

func TestJSONFunctions(t *testing.T) {
	runExprs(t, []exprCase{
		{`JSON_VALUE(JSON '{"a": {"b": [1, "x"]}}', '$.a.b[1]')`, "STRING", `"x"`, 0},
		{`JSON_VALUE(JSON '{"a": 1}', '$.a')`, "STRING", `"1"`, 0},
		{`JSON_VALUE(JSON '{"a": {}}', '$.a')`, "STRING", "NULL", 0},
		{`JSON_VALUE('{"a": 1}', '$.b')`, "STRING", "NULL", 0},
		{`JSON_QUERY(JSON '{"a": [1]}', '$.a')`, "JSON", "[1]", 0},
		{`JSON_QUERY('{"a": [1]}', '$.a')`, "STRING", `"[1]"`, 0},
		{`JSON_VALUE_ARRAY(JSON '["a", 1]')`, "ARRAY<STRING>", `["a" "1"]`, 0},
		{`JSON_QUERY_ARRAY(JSON '[{"a":1}]')`, "ARRAY<JSON>", `[{"a":1}]`, 0},
		{`JSON '{"a": {"b": 2}}'.a.b`, "JSON", "2", 0},
		{`JSON '{"a": [5]}'['a'][0]`, "JSON", "5", 0},
		{`JSON '{"a": [5]}'['x']`, "JSON", "NULL", 0},
		{`INT64(JSON '10')`, "INT64", "10", 0},
		{`INT64(JSON '"x"')`, "", "not a", data},
		{`STRING(JSON '"x"')`, "STRING", `"x"`, 0},
		{`BOOL(JSON 'true')`, "BOOL", "true", 0},
		{`FLOAT64(JSON '1.5')`, "FLOAT64", "1.5", 0},
		{`JSON_TYPE(JSON '[]')`, "STRING", `"array"`, 0},
		{`PARSE_JSON('{"b":1, "a":2}')`, "JSON", `{"a":2,"b":1}`, 0},
		{`PARSE_JSON('{')`, "", "JSON", data},
		{`TO_JSON_STRING([1, NULL])`, "STRING", `"[1,null]"`, 0},
		{`TO_JSON(STRUCT(1 AS a, 'x' AS b))`, "JSON", `{"a":1,"b":"x"}`, 0},
		{`JSON_VALUE(JSON '1', 'x')`, "", "JSONPath", data},
	})
}
