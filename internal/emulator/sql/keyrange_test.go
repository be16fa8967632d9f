package sql_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"spanbulk/internal/emulator/relation"
	"spanbulk/internal/emulator/sql"
	"spanbulk/internal/emulator/value"
)

// collect runs a query and renders its rows.
func collect(tb testing.TB, m *memory, text string, params map[string]relation.Param) []string {
	tb.Helper()
	q, err := sql.Prepare(m, text, params)
	if err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	out := []string{}
	for row, err := range q.Rows(context.Background()) {
		if err != nil {
			tb.Fatalf("%s: %v", text, err)
		}
		out = append(out, render(q.Columns(), row))
	}
	return out
}

func TestScansReadOnlyWhatKeysAllow(t *testing.T) {
	m := shop(t)
	for _, c := range []struct {
		sql     string
		scanned int
	}{
		{"SELECT Name FROM Users WHERE Id = 2", 1},
		{"SELECT Name FROM Users WHERE 2 = Id AND Age = 5", 1},
		{"SELECT Name FROM Users WHERE Id IN (1, 3, 99)", 2},
		{"SELECT Name FROM Users WHERE Id IN UNNEST([1, 1, 4])", 2},
		{"SELECT Name FROM Users WHERE Id > 1 AND Id <= 3", 2},
		{"SELECT Name FROM Users WHERE Id BETWEEN 2 AND 3", 2},
		{"SELECT Name FROM Users WHERE Id = NULL", 0},
		{"SELECT Name FROM Users WHERE Id < 2 OR Id > 3", 4},
		{"SELECT 1 FROM Orders WHERE Id = 1 AND OrderId > 10", 1},
		{"SELECT 1 FROM Orders WHERE Id = 1 AND OrderId < 11", 1},
		{"SELECT 1 FROM Orders WHERE OrderId = 10", 4},
		{"SELECT Id FROM Users@{FORCE_INDEX=UsersByName} WHERE Name LIKE 'Da%'", 1},
		{"SELECT Id FROM Users@{FORCE_INDEX=UsersByName} WHERE Name IS NULL", 1},
		{"SELECT Id FROM Users@{FORCE_INDEX=UsersByName} WHERE Name > 'B'", 2},
		{"SELECT Id FROM Users ORDER BY Id LIMIT 2", 2},
		{"SELECT 1 FROM Users u JOIN Orders o ON o.Id = u.Id WHERE u.Id = 1", 3},
		{"SELECT 1 FROM Users u WHERE u.Id = 1 AND EXISTS (SELECT 1 FROM Orders o WHERE o.Id = u.Id)", 2},
		{"SELECT 1 FROM Users a, Users b WHERE a.Age = b.Age", 8},
	} {
		m.scanned = 0
		collect(t, m, c.sql, nil)
		if m.scanned != c.scanned {
			t.Errorf("%s: scanned %d rows, want %d", c.sql, m.scanned, c.scanned)
		}
	}
}

// Lists of values that are too many to be multiplied out are left to the
// filters, and so are bounds on the key column behind them.
func TestLongListsBeforeABound(t *testing.T) {
	m := newMemory(t, "CREATE TABLE T (A INT64, B INT64, C INT64) PRIMARY KEY (A, B, C)")
	for i := range 20 {
		m.insert(t, "T", i%2, i%3, i)
	}
	const text = "SELECT C FROM T WHERE A IN UNNEST(GENERATE_ARRAY(0, 200)) AND B IN UNNEST(GENERATE_ARRAY(0, 200)) AND C >= 5"
	if got := collect(t, m, text, nil); len(got) != 15 {
		t.Errorf("got %d rows %v, want 15", len(got), got)
	}
}

// TestKeyRangesAgreeWithFilters compares queries whose predicates become key
// ranges with the same predicates on copies of the columns that are no keys.
func TestKeyRangesAgreeWithFilters(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	m := newMemory(t, `CREATE TABLE T (A INT64, B STRING(MAX), C FLOAT64, A2 INT64, B2 STRING(MAX), C2 FLOAT64, Id INT64) PRIMARY KEY (A, B DESC, C, Id)`)
	ints, texts := []any{nil, -1, 0, 1, 2}, []any{nil, "", "a", "ab", "b"}
	floats := []any{nil, value.Float64(nan()), value.Float64(-1), value.Float64(0), value.Float64(1.5)}
	pick := func(from []any) any { return from[rnd.IntN(len(from))] }
	for i := range 300 {
		a, b, c := pick(ints), pick(texts), pick(floats)
		m.insert(t, "T", a, b, c, a, b, c, i)
	}
	literal := map[string][]string{
		"A": {"-1", "0", "1", "2", "NULL"}, "B": {"''", "'a'", "'ab'", "'b'", "NULL"}, "C": {"-1.0", "0.0", "1.5", "CAST('nan' AS FLOAT64)", "NULL"},
	}
	predicate := func(col string) string {
		lit := func() string { return literal[col][rnd.IntN(len(literal[col]))] }
		switch rnd.IntN(9) {
		case 0:
			return "$ = " + lit()
		case 1:
			return fmt.Sprintf("$ IN (%s, %s)", lit(), lit())
		case 2:
			return "$ IS NULL"
		case 3:
			return fmt.Sprintf("$ BETWEEN %s AND %s", lit(), lit())
		case 4:
			if col == "B" {
				return "$ LIKE 'a%'"
			}
			return lit() + " <= $"
		default:
			return "$ " + []string{"<", "<=", ">", ">=", "!="}[rnd.IntN(5)] + " " + lit()
		}
	}
	for range 500 {
		var keyed, plain []string
		for _, col := range []string{"A", "B", "C"}[:1+rnd.IntN(3)] {
			p := predicate(col)
			keyed = append(keyed, strings.ReplaceAll(p, "$", col))
			plain = append(plain, strings.ReplaceAll(p, "$", col+"2"))
		}
		got := collect(t, m, "SELECT Id FROM T WHERE "+strings.Join(keyed, " AND "), nil)
		want := collect(t, m, "SELECT Id FROM T WHERE "+strings.Join(plain, " AND "), nil)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("%v: %d rows by key, %d by filter", keyed, len(got), len(want))
		}
	}
}

func nan() float64 {
	var zero float64
	return zero / zero
}
