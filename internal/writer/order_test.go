package writer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/randtest"
	"spanbulk/internal/schema"
	"spanbulk/internal/wire"
	"spanbulk/internal/writer"
)

// watch is a server that fails the test when two mutations that must keep their
// order are under way at the same time, or in one call.
type watch struct {
	t *testing.T
	// rowsOf gives the rows that a mutation touches; a "*" is all of them.
	rowsOf func(*spannerpb.Mutation) []string

	mu   sync.Mutex
	busy map[string]int
	most int // most mutations under way
	now  int
}

func (w *watch) enter(req *spannerpb.BatchWriteRequest) (leave func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var rows []string
	for _, g := range req.MutationGroups {
		rows = append(rows, w.rowsOf(g.Mutations[0])...)
	}
	for _, row := range rows {
		if row == "*" && w.now > 0 || row != "*" && w.busy["*"] > 0 || w.busy[row] > 0 {
			w.t.Errorf("row %s is written twice at once", row)
		}
		w.busy[row]++
		w.now++
	}
	w.most = max(w.most, w.now)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, row := range rows {
			w.busy[row]--
			w.now--
		}
	}
}

// TestKeyOrder writes few keys often, to a server that answers for them in
// random parts.
func TestKeyOrder(t *testing.T) {
	r := randtest.New(t)
	var mu sync.Mutex
	random := func(n int) int { mu.Lock(); defer mu.Unlock(); return r.IntN(n) }
	most := 0
	for range randtest.Rounds(4) {
		w := &watch{t: t, busy: map[string]int{}, rowsOf: func(m *spannerpb.Mutation) []string { return []string{idOf(m)} }}
		last := map[string]string{}
		f := serve(t, &fake{})
		f.batchWrite = func(call int, req *spannerpb.BatchWriteRequest, s spannerpb.Spanner_BatchWriteServer) error {
			leave := w.enter(req)
			time.Sleep(time.Duration(random(500)) * time.Microsecond)
			var done []int32
			mu.Lock()
			for i, g := range req.MutationGroups {
				if r.IntN(10) > 0 {
					done = append(done, int32(i))
					row := g.Mutations[0].GetInsertOrUpdate().Values[0].Values
					last[row[0].GetStringValue()] = row[1].GetStringValue()
				}
			}
			mu.Unlock()
			leave()
			if err := answer(s, codes.OK, "", done...); err != nil {
				return err
			}
			if random(2) == 0 {
				return status.Error(codes.Unavailable, "gone")
			}
			return nil
		}
		table := plainTable(t, 1)
		records := make([]writer.Record, 700)
		want := map[string]string{}
		for i := range records {
			// Some keys come again and again, most hardly.
			id := strconv.Itoa(int(math.Exp(r.Float64() * 6)))
			want[id] = strconv.Itoa(i)
			records[i] = writer.Record{Table: table, Operation: wire.InsertOrUpdate, Values: texts(id, want[id])}
		}
		opt := quick(writer.Options{Parallelism: 8, MaxBatchMutations: 1 + r.IntN(50), MaxAttempts: 100, Linger: time.Nanosecond})
		if _, err := write(t, connect(t, f.target), opt, records, 1+r.IntN(300)); err != nil {
			t.Fatal(err)
		}
		for id, v := range want {
			if last[id] != v {
				t.Errorf("row %s ends as %s, want %s", id, last[id], v)
			}
		}
		most = max(most, w.most)
		checkBalance(t, opt.Progress, 700, 0)
	}
	if most < 2 {
		t.Error("no two mutations were ever under way at once")
	}
}

// TestNoKeyOrder shows that the test above can fail: without key order, one
// batch has the same row twice.
func TestNoKeyOrder(t *testing.T) {
	f := serve(t, &fake{})
	table := plainTable(t, 1)
	records := append(numbered(table, 1), numbered(table, 1)...)
	if _, err := write(t, connect(t, f.target), quick(writer.Options{KeyOrder: writer.NoKeyOrder}), records, 2); err != nil {
		t.Fatal(err)
	}
	if len(f.batches) != 1 || len(f.batches[0].MutationGroups) != 2 {
		t.Errorf("batches of %v", sizes(f))
	}
}

// TestSameKey wants keys that Spanner takes for one to be kept apart, and others
// not: two records of one key make two calls, of two keys one.
func TestSameKey(t *testing.T) {
	number := func(f float64) wire.Value { return wire.AppendNumber(nil, f) }
	tests := []struct {
		code spannerpb.TypeCode
		a, b wire.Value
		same bool
	}{
		{spannerpb.TypeCode_INT64, text("1"), text("1"), true},
		{spannerpb.TypeCode_INT64, text("1"), text("+01"), true},
		{spannerpb.TypeCode_INT64, text("-0"), text("0"), true},
		{spannerpb.TypeCode_INT64, text("1"), text("-1"), false},
		{spannerpb.TypeCode_INT64, text("1"), text("10"), false},
		{spannerpb.TypeCode_INT64, null, text("0"), false},
		{spannerpb.TypeCode_INT64, null, null, true},
		{spannerpb.TypeCode_INT64, null, nil, true},
		{spannerpb.TypeCode_STRING, text("1"), text("01"), false},
		{spannerpb.TypeCode_STRING, text(""), null, false},
		{spannerpb.TypeCode_NUMERIC, text("1.50"), text("1.5"), true},
		{spannerpb.TypeCode_NUMERIC, text("1.0"), text("1"), true},
		{spannerpb.TypeCode_NUMERIC, text("15e-1"), text("1.5"), true},
		{spannerpb.TypeCode_NUMERIC, text(".5"), text("0.5"), true},
		{spannerpb.TypeCode_NUMERIC, text("-.5"), text("-0.5"), true},
		{spannerpb.TypeCode_NUMERIC, text("-0.5"), text("0.5"), false},
		{spannerpb.TypeCode_NUMERIC, text("-0"), text("0.0"), true},
		{spannerpb.TypeCode_NUMERIC, text("1e999999999"), text("1"), false},
		{spannerpb.TypeCode_NUMERIC, text("100"), text("1"), false},
		{spannerpb.TypeCode_FLOAT64, number(0), number(math.Copysign(0, -1)), true},
		{spannerpb.TypeCode_FLOAT64, number(math.NaN()), text("NaN"), true},
		{spannerpb.TypeCode_FLOAT64, number(math.Inf(1)), text("Infinity"), true},
		{spannerpb.TypeCode_FLOAT64, number(math.Inf(-1)), text("Infinity"), false},
		{spannerpb.TypeCode_FLOAT32, number(0.1), number(float64(float32(0.1))), true},
		{spannerpb.TypeCode_FLOAT64, number(0.1), number(float64(float32(0.1))), false},
		{spannerpb.TypeCode_BOOL, wire.AppendBool(nil, true), wire.AppendBool(nil, false), false},
		{spannerpb.TypeCode_TIMESTAMP, text("2026-01-01T00:00:00Z"), text("2026-01-01T00:00:00.000Z"), true},
		{spannerpb.TypeCode_TIMESTAMP, text("2026-01-01T00:00:00.5Z"), text("2026-01-01T00:00:00.500000000Z"), true},
		{spannerpb.TypeCode_TIMESTAMP, text("2026-01-01T00:00:10Z"), text("2026-01-01T00:00:1Z"), false},
		{spannerpb.TypeCode_TIMESTAMP, text("spanner.commit_timestamp()"), text("spanner.commit_timestamp()"), false},
		{spannerpb.TypeCode_DATE, text("2026-01-02"), text("2026-1-2"), true},
		{spannerpb.TypeCode_DATE, text("2026-01-02"), text("2026-01-20"), false},
		{spannerpb.TypeCode_BYTES, text("aGk="), text("aGk"), true},
		{spannerpb.TypeCode_BYTES, text("a+/="), text("a-_="), true},
		{spannerpb.TypeCode_UUID, text("0F9A8B7C-0000-1111-2222-333344445555"), text("0f9a8b7c-0000-1111-2222-333344445555"), true},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%v %q %q", tt.code, tt.a, tt.b), func(t *testing.T) {
			table := keyTable(t, schema.Column{Name: "K", Type: &spannerpb.Type{Code: tt.code}})
			if got := calls(t, table, []wire.Value{tt.a}, []wire.Value{tt.b}); (got == 2) != tt.same {
				t.Errorf("%d calls", got)
			}
		})
	}
}

// keyTable is a table whose columns are all key columns.
func keyTable(t *testing.T, columns ...schema.Column) *writer.Table {
	t.Helper()
	s := &schema.Table{Name: schema.Name{Name: "K"}, Columns: columns}
	for _, c := range columns {
		s.PrimaryKey = append(s.PrimaryKey, schema.KeyPart{Column: c.Name})
	}
	table, err := writer.NewTable(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// calls is how many calls it takes to write the rows.
func calls(t *testing.T, table *writer.Table, rows ...[]wire.Value) int {
	t.Helper()
	f := serve(t, &fake{})
	var records []writer.Record
	for _, row := range rows {
		records = append(records, writer.Record{Table: table, Operation: wire.InsertOrUpdate, Values: row})
	}
	if _, err := write(t, connect(t, f.target), quick(writer.Options{}), records, len(records)); err != nil {
		t.Fatal(err)
	}
	return len(f.batches)
}

// TestKeysOfSeveralParts wants the parts kept apart, and those that Spanner makes
// up known.
func TestKeysOfSeveralParts(t *testing.T) {
	str := &spannerpb.Type{Code: spannerpb.TypeCode_STRING}
	col := func(name string, change func(*schema.Column)) schema.Column {
		c := schema.Column{Name: name, Type: str}
		if change != nil {
			change(&c)
		}
		return c
	}
	generated := func(c *schema.Column) { c.Generated = true }
	defaults := func(expr string) func(*schema.Column) {
		return func(c *schema.Column) { c.HasDefault, c.Default = true, expr }
	}
	tests := []struct {
		name    string
		columns []schema.Column
		a, b    []wire.Value
		want    int
	}{
		{"borders of parts", []schema.Column{col("A", nil), col("B", nil)}, texts("x", "yz"), texts("xy", "z"), 1},
		{"same", []schema.Column{col("A", nil), col("B", nil)}, texts("x", "yz"), texts("x", "yz"), 2},
		{"generated part", []schema.Column{col("A", generated), col("B", nil)}, []wire.Value{nil, text("x")}, []wire.Value{nil, text("x")}, 2},
		{"generated part, other rest", []schema.Column{col("A", generated), col("B", nil)}, []wire.Value{nil, text("x")}, []wire.Value{nil, text("y")}, 1},
		{"identity", []schema.Column{col("A", defaults(""))}, nil, nil, 1},
		{"UUID", []schema.Column{col("A", defaults("GENERATE_UUID()"))}, nil, nil, 1},
		{"UUID given", []schema.Column{col("A", defaults("GENERATE_UUID()"))}, texts("u"), texts("u"), 2},
		{"constant default", []schema.Column{col("A", defaults("'x'"))}, nil, texts("x"), 2},
		{"no key", nil, nil, nil, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := calls(t, keyTable(t, tt.columns...), tt.a, tt.b); got != tt.want {
				t.Errorf("%d calls, want %d", got, tt.want)
			}
		})
	}
}

// TestFamilies writes parents, children and grandchildren through each other:
// inserts that fail with NOT_FOUND if they overtake their parent's, and deletes
// that take children along. A plain map says how it must end.
func TestFamilies(t *testing.T) {
	r := randtest.New(t)
	inPlaces(t, func(t *testing.T, p place) { families(t, p, r) })
}

func families(t *testing.T, p place, r *rand.Rand) {
	for range randtest.Rounds(1) {
		f := p.start(t, p.create("Parents", "", "P"), p.create("Children", "Parents", "P", "C"), p.create("Grandchildren", "Children", "P", "C", "G"))
		parents := f.table("Parents", nil)
		children := f.table("Children", parents)
		grandchildren := f.table("Grandchildren", children)
		model := newFamily()
		var records []writer.Record
		for i := range 3000 {
			v := strconv.Itoa(i)
			p, c, g := strconv.Itoa(r.IntN(20)), strconv.Itoa(r.IntN(5)), strconv.Itoa(r.IntN(3))
			put := func(table *writer.Table, key ...string) {
				records = append(records, writer.Record{Table: table, Operation: wire.InsertOrUpdate, Values: texts(append(key, v)...)})
				model.put(v, key...)
			}
			switch n := r.IntN(100); {
			case n < 10:
				put(parents, p)
			case n < 40 && model.has(p):
				put(children, p, c)
			case n < 80 && model.has(p, c):
				put(grandchildren, p, c, g)
			case n < 84:
				records = append(records, writer.Record{Table: parents, Operation: wire.Delete, Values: texts(p)})
				model.remove(p)
			case n < 90:
				records = append(records, writer.Record{Table: children, Operation: wire.Delete, Values: texts(p, c)})
				model.remove(p, c)
			case n < 92:
				records = append(records, writer.Record{Table: children, Operation: wire.Delete, Range: &wire.KeyRange{Start: texts(p), End: texts(p)}})
				model.removeChildren(p)
			}
		}
		opt := quick(writer.Options{Parallelism: 6, MaxBatchMutations: 1 + r.IntN(30), Linger: time.Nanosecond})
		if _, err := write(t, connect(t, f.target), opt, records, 1+r.IntN(500)); err != nil {
			t.Fatal(err)
		}
		for table, want := range map[string]map[string]string{
			p.rows("Parents", "P"):                 model.rows[0],
			p.rows("Children", "P", "C"):           model.rows[1],
			p.rows("Grandchildren", "P", "C", "G"): model.rows[2],
		} {
			checkRows(t, f.rows(table), want)
		}
		checkBalance(t, opt.Progress, int64(len(records)), 0)
	}
}

func checkRows(t *testing.T, got, want map[string]string) {
	t.Helper()
	for k, v := range want {
		if got[k] != v {
			t.Errorf("row %s is %q, want %q", k, got[k], v)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
}
