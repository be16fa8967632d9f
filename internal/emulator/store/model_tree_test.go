package store_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/emulator/relation"
	"spanbulk/internal/emulator/store"
	"spanbulk/internal/emulator/value"
	"spanbulk/internal/randtest"
)

// node is a key in the hierarchy Root > Kid (CASCADE) > Leaf (NO ACTION):
// unused parts are -1.
type node [3]int

func (n node) table() string {
	switch {
	case n[1] < 0:
		return "Root"
	case n[2] < 0:
		return "Kid"
	}
	return "Leaf"
}

// parent is the row that n hangs under; ok is false for a root.
func (n node) parent() (p node, ok bool) {
	switch n.table() {
	case "Leaf":
		return node{n[0], n[1], -1}, true
	case "Kid":
		return node{n[0], -1, -1}, true
	}
	return n, false
}

func (n node) key() *structpb.ListValue {
	l := &structpb.ListValue{}
	for _, part := range n {
		if part >= 0 {
			l.Values = append(l.Values, structpb.NewStringValue(fmt.Sprint(part)))
		}
	}
	return l
}

func compareNodes(a, b node) int {
	return cmp.Or(a[0]-b[0], a[1]-b[1], a[2]-b[2])
}

// forest is the store as a plain map from keys to values.
type forest map[node]int

type treeMutation struct {
	op  string // insert, update, upsert, replace, delete, range
	at  node
	to  int // end of a range over the last part of at, excluded
	val int
}

// apply makes one change with the checks that Spanner makes at once, and notes
// the keys it touched. later are the mutations that follow in the commit.
func (f forest) apply(x treeMutation, touched map[node]bool, later []treeMutation) codes.Code {
	_, exists := f[x.at]
	switch {
	case x.op == "range":
		for k := range maps.Clone(f) {
			last := strings.Index("RKL", x.at.table()[:1])
			if k.table() == x.at.table() && slices.Equal(k[:last], x.at[:last]) && k[last] >= x.at[last] && k[last] < x.to {
				if code := f.remove(k, touched); code != codes.OK {
					return code
				}
			}
		}
		return codes.OK
	case x.op == "delete" && !exists:
		return codes.OK
	case x.op == "delete":
		return f.remove(x.at, touched)
	case x.op == "insert" && exists:
		return codes.AlreadyExists
	case x.op == "update" && !exists:
		return codes.NotFound
	case x.op == "replace" && exists:
		if code := f.removeUnder(x.at, touched); code != codes.OK {
			return code
		}
	}
	if p, ok := x.at.parent(); ok && !exists {
		if _, has := f[p]; !has {
			if slices.ContainsFunc(later, func(l treeMutation) bool { return l.at == p && l.op != "delete" && l.op != "range" }) {
				return codes.InvalidArgument
			}
			return codes.NotFound
		}
	}
	f[x.at] = x.val
	touched[x.at] = true
	return codes.OK
}

func (f forest) remove(n node, touched map[node]bool) codes.Code {
	if code := f.removeUnder(n, touched); code != codes.OK {
		return code
	}
	delete(f, n)
	touched[n] = true
	return codes.OK
}

// removeUnder deletes the rows under n; leaves keep their kid from going.
func (f forest) removeUnder(n node, touched map[node]bool) codes.Code {
	for k := range maps.Clone(f) {
		if p, ok := k.parent(); !ok || p != n {
			continue
		}
		if k.table() == "Leaf" {
			return codes.FailedPrecondition
		}
		if code := f.remove(k, touched); code != codes.OK {
			return code
		}
	}
	return codes.OK
}

// rows spells the rows of a table with a first part in [from, to).
func (f forest) rows(table string, from, to int) string {
	var out []string
	for _, k := range slices.SortedFunc(maps.Keys(f), compareNodes) {
		if k.table() == table && k[0] >= from && k[0] < to {
			out = append(out, fmt.Sprint(k, f[k]))
		}
	}
	return strings.Join(out, " ")
}

// byVal spells the index of Kid: value descending, then key.
func (f forest) byVal() string {
	kids := slices.SortedFunc(maps.Keys(f), func(a, b node) int { return cmp.Or(f[b]-f[a], compareNodes(a, b)) })
	var out []string
	for _, k := range kids {
		if k.table() == "Kid" {
			out = append(out, fmt.Sprint(k, f[k]))
		}
	}
	return strings.Join(out, " ")
}

func (x treeMutation) encode(t testing.TB) store.Mutation {
	t.Helper()
	cols := []string{"A", "B", "C"}[:len(x.at.key().GetValues())]
	w := &spannerpb.Mutation_Write{Table: x.at.table(), Columns: append(cols[:len(cols):len(cols)], "V"), Values: []*structpb.ListValue{x.at.key()}}
	w.Values[0].Values = append(w.Values[0].Values, structpb.NewStringValue(fmt.Sprint(x.val)))
	del := &spannerpb.Mutation_Delete{Table: x.at.table(), KeySet: &spannerpb.KeySet{}}
	m := &spannerpb.Mutation{Operation: &spannerpb.Mutation_Delete_{Delete: del}}
	switch x.op {
	case "insert":
		m.Operation = &spannerpb.Mutation_Insert{Insert: w}
	case "update":
		m.Operation = &spannerpb.Mutation_Update{Update: w}
	case "upsert":
		m.Operation = &spannerpb.Mutation_InsertOrUpdate{InsertOrUpdate: w}
	case "replace":
		m.Operation = &spannerpb.Mutation_Replace{Replace: w}
	case "delete":
		del.KeySet.Keys = []*structpb.ListValue{x.at.key()}
	case "range":
		end := x.at.key()
		end.Values[len(end.Values)-1] = structpb.NewStringValue(fmt.Sprint(x.to))
		del.KeySet.Ranges = []*spannerpb.KeyRange{{StartKeyType: &spannerpb.KeyRange_StartClosed{StartClosed: x.at.key()}, EndKeyType: &spannerpb.KeyRange_EndOpen{EndOpen: end}}}
	}
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func randomNode(r *rand.Rand) node {
	n := node{r.IntN(6), r.IntN(4), r.IntN(3)}
	for i := 1 + r.IntN(3); i < 3; i++ {
		n[i] = -1
	}
	return n
}

func randomTreeMutation(r *rand.Rand) treeMutation {
	ops := []string{"insert", "insert", "update", "upsert", "upsert", "upsert", "replace", "delete", "range"}
	x := treeMutation{op: ops[r.IntN(len(ops))], at: randomNode(r), val: r.IntN(5)}
	x.to = x.at[len(x.at.key().GetValues())-1] + r.IntN(3)
	return x
}

// treeRows reads a table, or its index, in the form that the model spells.
func treeRows(t testing.TB, snap *store.Snapshot, table, index string, ranges []relation.KeyRange) string {
	t.Helper()
	tab, _ := snap.Schema().Table(table)
	scan := relation.Scan{Table: tab, Ranges: ranges}
	parts := len(tab.PrimaryKey)
	order := []int{0, 1, 2, 3}[:parts+1]
	if index != "" {
		scan.Index, _ = tab.Index(index)
		order = []int{1, 2, 0}
	}
	var out []string
	for row, err := range snap.Scan(context.Background(), scan) {
		if err != nil {
			t.Fatal(err)
		}
		var cells []int
		for _, cell := range order {
			v, err := value.FromWire(value.Int64Type, row.Cell(cell))
			if err != nil {
				t.Fatal(err)
			}
			cells = append(cells, int(v.AsInt64()))
		}
		n := node{-1, -1, -1}
		copy(n[:], cells[:parts])
		out = append(out, fmt.Sprint(n, cells[parts]))
	}
	return strings.Join(out, " ")
}

// openTransaction is a read-write transaction that has read Kid rows.
type openTransaction struct {
	footprint store.Footprint
	from, to  int // of the first key part
	// stale is set once a commit touched what it read.
	stale bool
}

// Random transactions over interleaved tables against the model: what a commit
// ends with, what the tables and the index hold, what open transactions read
// at their timestamp and whether they can still commit.
func TestInterleavedModel(t *testing.T) {
	r := randtest.New(t)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := store.New(nil, func() time.Time { return now })
	_, err := s.ApplyDDL([]string{
		"CREATE TABLE Root (A INT64 NOT NULL, V INT64) PRIMARY KEY (A)",
		"CREATE TABLE Kid (A INT64 NOT NULL, B INT64 NOT NULL, V INT64) PRIMARY KEY (A, B), INTERLEAVE IN PARENT Root ON DELETE CASCADE",
		"CREATE TABLE Leaf (A INT64 NOT NULL, B INT64 NOT NULL, C INT64 NOT NULL, V INT64) PRIMARY KEY (A, B, C), INTERLEAVE IN PARENT Kid",
		"CREATE INDEX ByVal ON Kid(V DESC)",
	})
	if err != nil {
		t.Fatal(err)
	}
	m := forest{}
	var open []*openTransaction
	begin := func() {
		tx := &openTransaction{from: r.IntN(6)}
		tx.to = tx.from + 1 + r.IntN(3)
		tx.footprint.Since = s.StrongTimestamp()
		snap, err := s.Snapshot(t.Context(), tx.footprint.Since)
		if err != nil {
			t.Fatal(err)
		}
		tab, _ := snap.Schema().Table("Kid")
		ranges, err := store.KeyRanges(tab, nil, &spannerpb.KeySet{Ranges: []*spannerpb.KeyRange{{
			StartKeyType: &spannerpb.KeyRange_StartClosed{StartClosed: node{tx.from, -1, -1}.key()}, EndKeyType: &spannerpb.KeyRange_EndOpen{EndOpen: node{tx.to, -1, -1}.key()}}}})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := treeRows(t, snap, "Kid", "", ranges), m.rows("Kid", tx.from, tx.to); got != want {
			t.Fatalf("transaction reads %s\nwant %s", got, want)
		}
		tx.footprint.Reads = []relation.Scan{{Table: tab, Ranges: ranges}}
		open = append(open, tx)
	}
	seen := make(map[codes.Code]int)
	for round := range randtest.Rounds(1000) {
		now = now.Add(time.Duration(r.IntN(int(time.Second))))
		if len(open) < 3 && r.IntN(3) == 0 {
			begin()
		}
		var list []treeMutation
		used := make(map[node]bool)
		for range 1 + r.IntN(4) {
			// What one commit says of one key has tests of its own.
			if x := randomTreeMutation(r); !used[x.at] && x.op != "range" || len(list) == 0 {
				list = append(list, x)
				used[x.at] = true
			}
		}
		if list[0].op == "range" {
			list = list[:1]
		}
		var tx *openTransaction
		if len(open) > 0 && r.IntN(2) == 0 {
			i := r.IntN(len(open))
			tx = open[i]
			open = slices.Delete(open, i, i+1)
		}
		next, touched, code := maps.Clone(m), make(map[node]bool), codes.OK
		if tx != nil && tx.stale {
			code = codes.Aborted
		}
		var batch []store.Mutation
		for i, x := range list {
			batch = append(batch, x.encode(t))
			if code == codes.OK {
				code = next.apply(x, touched, list[i+1:])
			}
			if code == codes.OK && (x.op == "delete" || x.op == "range") {
				// A write to a row that the same commit deleted, by cascade too, is
				// another of those tests.
				batch, list = batch[:i+1], list[:i+1]
				break
			}
		}
		var footprint *store.Footprint
		if tx != nil {
			footprint = &tx.footprint
		}
		_, err := s.Commit(batch, footprint)
		seen[status.Code(err)]++
		if status.Code(err) != code {
			t.Fatalf("round %d: %v, want %v, for %+v", round, err, code, list)
		}
		if err == nil {
			m = next
			for _, o := range open {
				for n := range touched {
					o.stale = o.stale || n.table() == "Kid" && n[0] >= o.from && n[0] < o.to
				}
			}
		}
		if round%7 == 0 {
			checkForest(t, s, m)
		}
	}
	for _, code := range []codes.Code{codes.OK, codes.AlreadyExists, codes.NotFound, codes.FailedPrecondition, codes.Aborted} {
		if seen[code] == 0 {
			t.Errorf("no commit ended with %v: %v", code, seen)
		}
	}
}

func checkForest(t *testing.T, s *store.Store, m forest) {
	t.Helper()
	snap, err := s.Snapshot(t.Context(), s.StrongTimestamp())
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"Root", "Kid", "Leaf"} {
		if got, want := treeRows(t, snap, table, "", nil), m.rows(table, 0, 100); got != want {
			t.Fatalf("%s holds %s\nwant %s", table, got, want)
		}
	}
	if got, want := treeRows(t, snap, "Kid", "ByVal", nil), m.byVal(); got != want {
		t.Fatalf("index holds %s\nwant %s", got, want)
	}
}
