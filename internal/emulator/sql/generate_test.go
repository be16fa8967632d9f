package sql_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/emulator/relation"
	"spanbulk/internal/emulator/sql"
	"spanbulk/internal/emulator/value"
)

// templates are ways to write a query (Q), a FROM item (T) or an expression by
// type: i INT64, f FLOAT64, n NUMERIC, s STRING, y BYTES, b BOOL, d DATE,
// t TIMESTAMP, a ARRAY<INT64>, j JSON, and x of any. The first of each list
// ends a branch; {x} is replaced by another choice.
var templates = map[string][]string{
	"Q": {
		"SELECT {x}, {x} AS c", "SELECT {x}, {x} FROM {T} WHERE {b} ORDER BY {i}, {s} DESC LIMIT 5", "SELECT DISTINCT {x} FROM {T}", "SELECT * FROM {T} WHERE {b}",
		"SELECT Age, COUNT(*), {g} FROM {T} WHERE {b} GROUP BY Age HAVING COUNT(*) > {i} ORDER BY Age", "SELECT {g}, {g} FROM {T}", "SELECT {x} AS k, {g} FROM {T} GROUP BY k",
		"WITH w AS (SELECT Id, Name, Age, Tags FROM {T} WHERE {b}) SELECT {x}, {x} FROM w WHERE {b}", "SELECT ARRAY(SELECT AS STRUCT {x} AS p, {x} AS q FROM Users WHERE {b}) FROM {T}",
	},
	"T": {
		"Users", "Users@{FORCE_INDEX=UsersByName}", "(SELECT * FROM {T} WHERE {b})", "(SELECT Id, Name, Age, Tags FROM Users ORDER BY {i} LIMIT 3)",
		"Users LEFT JOIN (SELECT OrderId, Amount, Placed, Doc, Id AS oid FROM Orders) AS o ON {b}", "Users JOIN UNNEST({a}) AS e ON {b}", "Users, Kinds",
		"(SELECT 7 AS Id, {s} AS Name, {i} AS Age, ['q'] AS Tags)",
	},
	"g": {"COUNT({x})", "SUM({i})", "AVG({f})", "MIN({s})", "MAX({d})", "ANY_VALUE({x})", "ARRAY_AGG({i})", "STRING_AGG({s}, ',' ORDER BY {i})", "COUNTIF({b})", "COUNT(DISTINCT {s})", "SUM({n})", "LOGICAL_OR({b})"},
	"x": {"{i}", "{f}", "{n}", "{s}", "{y}", "{b}", "{d}", "{t}", "{a}", "{j}"},
	"i": {
		"1", "NULL", "Id", "Age", "@n", "({i} + {i})", "({i} * {i})", "MOD({i}, {i})", "ABS({i})", "LENGTH({s})", "CAST({s} AS INT64)", "SAFE_CAST({s} AS INT64)", "CAST({f} AS INT64)", "IF({b}, {i}, {i})",
		"CASE {i} WHEN {i} THEN {i} ELSE {i} END", "COALESCE({i}, {i})", "(SELECT MAX(Id) FROM Users WHERE {b})", "(SELECT COUNT(*) FROM Orders o WHERE o.Id = {i})", "{a}[SAFE_OFFSET({i})]", "{a}[OFFSET({i})]", "ARRAY_LENGTH({a})",
		"EXTRACT(DAYOFWEEK FROM {d})", "EXTRACT(NANOSECOND FROM {t})", "DATE_DIFF({d}, {d}, WEEK)", "TIMESTAMP_DIFF({t}, {t}, MICROSECOND)", "UNIX_SECONDS({t})", "STRPOS({s}, {s})", "({i} << {i})", "~{i}", "-{i}", "INT64({j})", "9223372036854775807", "DIV({i}, {i})", "BIT_COUNT({i})",
	},
	"f": {"1.5", "{i} / {i}", "CAST({i} AS FLOAT64)", "CAST('inf' AS FLOAT64)", "CAST('nan' AS FLOAT64)", "SQRT({f})", "ROUND({f}, {i})", "POW({f}, {f})", "({f} - {f})", "IEEE_DIVIDE({f}, {f})", "GREATEST({f}, {f})", "FLOOR({f})", "SAFE_DIVIDE({f}, {f})"},
	"n": {"NUMERIC '0.1'", "CAST({i} AS NUMERIC)", "({n} * {n})", "({n} / {n})", "ROUND({n}, {i})", "CEIL({n})", "CAST({s} AS NUMERIC)", "MOD({n}, {n})", "-{n}"},
	"s": {
		"'a'", "Name", "''", "'日本'", "@s", "{s} || {s}", "UPPER({s})", "SUBSTR({s}, {i}, {i})", "SUBSTR({s}, {i})", "REPLACE({s}, {s}, {s})", "CAST({i} AS STRING)", "CAST({f} AS STRING)", "CAST({t} AS STRING)", "CAST({d} AS STRING)", "TRIM({s}, {s})",
		"LPAD({s}, MOD({i}, 20), {s})", "REPEAT({s}, MOD({i}, 5))", "JSON_VALUE({j}, '$.b')", "TO_JSON_STRING({x})", "FORMAT_TIMESTAMP('%c %E4Y %Ez', {t})", "REGEXP_EXTRACT({s}, {s})", "REGEXP_REPLACE({s}, {s}, {s})", "TO_HEX({y})", "ARRAY_TO_STRING(SPLIT({s}, {s}), {s})", "REVERSE({s})", "RIGHT({s}, {i})", "IFNULL({s}, {s})", "Tags[SAFE_ORDINAL({i})]",
	},
	"y": {"b'\\xff'", "CAST({s} AS BYTES)", "SHA256({s})", "FROM_HEX({s})", "{y} || {y}", "SUBSTR({y}, {i})"},
	"b": {
		"TRUE", "NULL", "FALSE", "{i} < {i}", "{s} = {s}", "{s} LIKE {s}", "{i} IN ({i}, {i})", "{i} IN UNNEST({a})", "{i} BETWEEN {i} AND {i}", "{x} IS NULL", "{b} AND {b}", "{b} OR {b}", "NOT {b}", "({b}) IS TRUE", "EXISTS(SELECT 1 FROM Orders o WHERE o.Id = {i} AND {b})",
		"{i} IN (SELECT Id FROM Orders WHERE {b})", "{d} >= {d}", "{f} != {f}", "STARTS_WITH({s}, {s})", "Id = {i}", "Id > {i}", "Name LIKE 'A%'", "Id IN ({i}, {i}, 3)", "{a} = {a}", "({i}, {s}) = ({i}, {s})", "BOOL({j})",
	},
	"d": {"DATE '2024-02-29'", "DATE({i}, {i}, {i})", "DATE_ADD({d}, INTERVAL 3 MONTH)", "DATE_SUB({d}, INTERVAL 9223372036854775807 YEAR)", "DATE_TRUNC({d}, ISOWEEK)", "{d} + {i}", "CAST({t} AS DATE)", "SAFE_CAST({s} AS DATE)", "DATE_FROM_UNIX_DATE({i})", "DATE '0001-01-01'", "DATE '9999-12-31'"},
	"t": {"TIMESTAMP '2024-01-02T03:04:05.6Z'", "TIMESTAMP_ADD({t}, INTERVAL 9 HOUR)", "TIMESTAMP_SECONDS({i})", "TIMESTAMP({d})", "TIMESTAMP_TRUNC({t}, QUARTER, 'Asia/Kolkata')", "TIMESTAMP '0001-01-01T00:00:00Z'", "TIMESTAMP '9999-12-31T23:59:59.999999999Z'", "CURRENT_TIMESTAMP()", "SAFE_CAST({s} AS TIMESTAMP)"},
	"a": {"[1, NULL]", "[]", "[{i}, {i}]", "ARRAY(SELECT Id FROM Users WHERE {b})", "{a} || {a}", "GENERATE_ARRAY({i}, 5)", "ARRAY_REVERSE({a})", "ARRAY(SELECT e FROM UNNEST({a}) AS e WITH OFFSET p WHERE {b} ORDER BY p DESC)"},
	"j": {`JSON '{"a": [1, {"b": "x"}], "b": null}'`, "PARSE_JSON({s})", "TO_JSON({x})", "{j}.a", "{j}['a'][0]", "JSON_QUERY({j}, '$.a[1]')"},
}

// generate expands {kind} by choices from next, which gives a number below n.
func generate(next func(n int) int, kind string, depth int) string {
	list := templates[kind]
	choice := list[0]
	if depth > 0 {
		choice = list[next(len(list))]
	} else if kind == "x" {
		kind, choice = "i", "Id"
	}
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(choice, "{")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		hole, after, closed := strings.Cut(rest, "}")
		if _, ok := templates[hole]; closed && ok {
			out.WriteString(generate(next, hole, depth-1))
			choice = after
		} else {
			out.WriteString("{")
			choice = rest
		}
	}
}

// TestGeneratedQueries runs queries that are correct by their types: they give
// rows that fit their columns, or fail over data, and say the same twice.
func TestGeneratedQueries(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	m := shop(t)
	outcome := make(map[codes.Code]int)
	for range 2000 {
		text := generate(rnd.IntN, "Q", 1+rnd.IntN(5))
		outcome[runGenerated(t, m, text)]++
	}
	t.Logf("outcomes: %v", outcome)
	if outcome[codes.OK] < 500 {
		t.Errorf("only %d of 2000 queries ran", outcome[codes.OK])
	}
}

func runGenerated(t *testing.T, m *memory, text string) codes.Code {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			t.Fatalf("panic %v\nin %s", r, text)
		}
	}()
	q, err := sql.Prepare(m, text, map[string]relation.Param{"n": untyped(value.Int64(3)), "s": untyped(value.String("b"))})
	if err != nil {
		checkCode(t, err)
		return status.Code(err)
	}
	if _, err := q.Partition(); err != nil {
		checkCode(t, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	n := 0
	for row, err := range q.Rows(ctx) {
		if err != nil {
			if ctx.Err() == nil {
				checkCode(t, err)
			}
			return status.Code(err)
		}
		for i, c := range q.Columns() {
			if _, err := value.FromWire(c.Type, row.Cell(i)); err != nil {
				t.Fatalf("column %d: %v\nin %s", i, err, text)
			}
		}
		if n++; n > 200 {
			break
		}
	}
	return codes.OK
}

// FuzzGenerated is TestGeneratedQueries driven by the fuzzer's bytes.
func FuzzGenerated(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	m := shop(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		next := func(n int) int {
			if len(data) == 0 {
				return 0
			}
			b := data[0]
			data = data[1:]
			return int(b) % n
		}
		runGenerated(t, m, generate(next, "Q", 4))
	})
}
