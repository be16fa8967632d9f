package store_test

import (
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

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/relation"
	"spanbulk/internal/emulator/store"
	"spanbulk/internal/emulator/value"
	"spanbulk/internal/randtest"
)

// modelRow is what a row holds; the empty string stands for NULL.
type modelRow struct{ name, age string }

// model is the store as a plain map, with the rules written out plainly.
type model map[int]modelRow

type mutation struct {
	op   string // insert, update, upsert, replace, delete, range
	id   int
	to   int // end of a range, excluded
	cols string
	row  modelRow
}

func (m model) apply(x mutation) codes.Code {
	old, exists := m[x.id]
	row := modelRow{}
	if x.op == "update" || x.op == "upsert" {
		row = old
	}
	if strings.Contains(x.cols, "N") {
		row.name = x.row.name
	}
	if strings.Contains(x.cols, "A") {
		row.age = x.row.age
	}
	switch {
	case x.op == "delete":
		delete(m, x.id)
		return codes.OK
	case x.op == "range":
		maps.DeleteFunc(m, func(id int, _ modelRow) bool { return id >= x.id && id < x.to })
		return codes.OK
	case x.op == "insert" && exists:
		return codes.AlreadyExists
	case x.op == "update" && !exists:
		return codes.NotFound
	}
	m[x.id] = row
	return codes.OK
}

// unique tells whether no two rows share a name, a NULL not being one: the
// index is UNIQUE NULL_FILTERED.
func (m model) unique() bool {
	seen := make(map[string]bool)
	for _, r := range m {
		if r.name != "" && seen[r.name] {
			return false
		}
		seen[r.name] = true
	}
	return true
}

// text spells the rows in the order of ids.
func (m model) text() string {
	var out []string
	for _, id := range slices.Sorted(maps.Keys(m)) {
		out = append(out, fmt.Sprintf("%d/%s/%s", id, m[id].name, m[id].age))
	}
	return strings.Join(out, " ")
}

// byAge spells the index on age, descending, NULL last, then id.
func (m model) byAge() string {
	ids := slices.SortedFunc(maps.Keys(m), func(a, b int) int {
		if c := strings.Compare(m[b].age, m[a].age); c != 0 {
			return c
		}
		return a - b
	})
	var out []string
	for _, id := range ids {
		out = append(out, fmt.Sprintf("%s/%d/%s", m[id].age, id, m[id].name))
	}
	return strings.Join(out, " ")
}

func (x mutation) encode(t testing.TB) store.Mutation {
	t.Helper()
	text := func(s string) *structpb.Value {
		if s == "" {
			return structpb.NewNullValue()
		}
		return structpb.NewStringValue(s)
	}
	id := func(n int) *structpb.ListValue {
		return &structpb.ListValue{Values: []*structpb.Value{text(fmt.Sprint(n))}}
	}
	w := &spannerpb.Mutation_Write{Table: "T", Columns: []string{"Id"}, Values: []*structpb.ListValue{id(x.id)}}
	if strings.Contains(x.cols, "N") {
		w.Columns, w.Values[0].Values = append(w.Columns, "Name"), append(w.Values[0].Values, text(x.row.name))
	}
	if strings.Contains(x.cols, "A") {
		w.Columns, w.Values[0].Values = append(w.Columns, "Age"), append(w.Values[0].Values, text(x.row.age))
	}
	m := &spannerpb.Mutation{}
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
		m.Operation = &spannerpb.Mutation_Delete_{Delete: &spannerpb.Mutation_Delete{Table: "T", KeySet: &spannerpb.KeySet{Keys: []*structpb.ListValue{id(x.id)}}}}
	case "range":
		m.Operation = &spannerpb.Mutation_Delete_{Delete: &spannerpb.Mutation_Delete{Table: "T", KeySet: &spannerpb.KeySet{Ranges: []*spannerpb.KeyRange{{
			StartKeyType: &spannerpb.KeyRange_StartClosed{StartClosed: id(x.id)}, EndKeyType: &spannerpb.KeyRange_EndOpen{EndOpen: id(x.to)}}}}}}
	}
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func randomMutation(r *rand.Rand) mutation {
	ops := []string{"insert", "update", "upsert", "upsert", "replace", "delete", "range"}
	x := mutation{op: ops[r.IntN(len(ops))], id: r.IntN(30), cols: []string{"", "N", "A", "NA"}[r.IntN(4)]}
	x.to = x.id + r.IntN(4)
	if r.IntN(4) > 0 {
		x.row.name = fmt.Sprintf("n%d", r.IntN(40))
	}
	if r.IntN(4) > 0 {
		x.row.age = fmt.Sprint(1 + r.IntN(5))
	}
	return x
}

func spell(t testing.TB, s *store.Store, at time.Time, index string, order []int) string {
	t.Helper()
	snap, err := s.Snapshot(context.Background(), at)
	if err != nil {
		t.Fatal(err)
	}
	table, _ := snap.Schema().Table("T")
	scan := relation.Scan{Table: table}
	if index != "" {
		scan.Index, _ = table.Index(index)
	}
	var out []string
	for row, err := range snap.Scan(context.Background(), scan) {
		if err != nil {
			t.Fatal(err)
		}
		var parts []string
		for _, cell := range order {
			typ := value.Int64Type
			if index == "" && cell == 1 || index != "" && cell == 2 {
				typ = value.StringType
			}
			v, err := value.FromWire(typ, row.Cell(cell))
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, string(v.AppendText(nil)))
		}
		out = append(out, strings.Join(parts, "/"))
	}
	return strings.Join(out, " ")
}

// past is what the store held at a timestamp.
type past struct {
	at          time.Time
	rows, byAge string
}

// Random transactions against the model: outcome, content, index content, and
// content at every timestamp within retention, while old versions are dropped.
func TestModel(t *testing.T) {
	r := randtest.New(t)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := store.New(nil, func() time.Time { return now })
	_, err := s.ApplyDDL([]string{
		"CREATE TABLE T (Id INT64 NOT NULL, Name STRING(MAX), Age INT64) PRIMARY KEY (Id)",
		"CREATE UNIQUE NULL_FILTERED INDEX ByName ON T(Name)",
		"CREATE INDEX ByAge ON T(Age DESC) STORING (Name)",
	})
	if err != nil {
		t.Fatal(err)
	}
	m := model{}
	var history []past
	for round := range randtest.Rounds(1500) {
		now = now.Add(time.Duration(r.IntN(int(10 * time.Second))))
		next, code := maps.Clone(m), codes.OK
		var batch []store.Mutation
		written, inserted, deleted := map[int]bool{}, map[int]bool{}, map[int]bool{}
		for range 1 + r.IntN(4) {
			x := randomMutation(r)
			if written[x.id] && x.op != "upsert" || deleted[x.id] || x.op == "range" && len(written) > 0 {
				continue // what one commit says of one key has its own tests
			}
			written[x.id] = true
			inserted[x.id] = x.op == "insert"
			deleted[x.id] = x.op == "delete" || x.op == "range"
			batch = append(batch, x.encode(t))
			if c := next.apply(x); c != codes.OK && code == codes.OK {
				code = c
			}
			if x.op == "range" {
				break
			}
		}
		if code == codes.OK && !next.unique() {
			code = codes.AlreadyExists
		}
		done, err := s.Commit(batch, nil)
		if status.Code(err) != code {
			t.Fatalf("round %d: %v, want %v", round, err, code)
		}
		if err == nil {
			m = next
			history = append(history, past{done.Timestamp, m.text(), m.byAge()})
		}
		if round%10 != 0 || len(history) == 0 {
			continue
		}
		strong := s.StrongTimestamp()
		if got := spell(t, s, strong, "", []int{0, 1, 2}); got != m.text() {
			t.Fatalf("round %d:\n got %s\nwant %s", round, got, m.text())
		}
		for len(history) > 0 && now.Sub(history[0].at) >= catalog.DefaultVersionRetention {
			if _, err := s.Snapshot(t.Context(), history[0].at); status.Code(err) != codes.FailedPrecondition {
				t.Fatalf("read beyond retention: %v", err)
			}
			history = history[1:]
		}
		if len(history) == 0 {
			continue
		}
		for _, h := range []past{history[0], history[r.IntN(len(history))], history[len(history)-1]} {
			if got := spell(t, s, h.at, "", []int{0, 1, 2}); got != h.rows {
				t.Fatalf("round %d, at %v:\n got %s\nwant %s", round, h.at, got, h.rows)
			}
			if got := spell(t, s, h.at, "ByAge", []int{0, 1, 2}); got != h.byAge {
				t.Fatalf("round %d, index at %v:\n got %s\nwant %s", round, h.at, got, h.byAge)
			}
		}
	}
}

func TestCommitTimestampsIncrease(t *testing.T) {
	frozen := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := store.New(nil, func() time.Time { return frozen })
	if _, err := s.ApplyDDL([]string{"CREATE TABLE T (Id INT64 NOT NULL, Name STRING(MAX), Age INT64) PRIMARY KEY (Id)"}); err != nil {
		t.Fatal(err)
	}
	var last time.Time
	for i := range 10 {
		done, err := s.Commit([]store.Mutation{mutation{op: "upsert", id: i}.encode(t)}, nil)
		if err != nil || !done.Timestamp.After(last) {
			t.Fatalf("commit at %v after %v, error %v", done.Timestamp, last, err)
		}
		if last = s.StrongTimestamp(); last.Before(done.Timestamp) {
			t.Fatalf("strong read at %v before commit at %v", last, done.Timestamp)
		}
	}
}

func TestAlterTable(t *testing.T) {
	s := store.New(nil, time.Now)
	ddl := func(code codes.Code, statements ...string) {
		t.Helper()
		if _, err := s.ApplyDDL(statements); status.Code(err) != code {
			t.Fatalf("%q: %v, want %v", statements, err, code)
		}
	}
	ddl(codes.OK, "CREATE TABLE T (Id INT64 NOT NULL, Name STRING(MAX), Age INT64) PRIMARY KEY (Id)")
	if _, err := s.Commit([]store.Mutation{mutation{op: "insert", id: 1, cols: "NA", row: modelRow{"abc", "7"}}.encode(t)}, nil); err != nil {
		t.Fatal(err)
	}
	ddl(codes.FailedPrecondition, "ALTER TABLE T ALTER COLUMN Name STRING(2)")
	ddl(codes.OK, "ALTER TABLE T ADD COLUMN Extra STRING(10)", "ALTER TABLE T DROP COLUMN Name")
	ddl(codes.FailedPrecondition, "ALTER TABLE T ALTER COLUMN Extra STRING(10) NOT NULL")
	ddl(codes.OK, "CREATE INDEX ByAge ON T(Age) STORING (Extra)")
	if got := spell(t, s, s.StrongTimestamp(), "ByAge", []int{0, 1, 2}); got != "7/1/" {
		t.Errorf("index holds %s", got)
	}
	ddl(codes.FailedPrecondition, "ALTER TABLE T DROP COLUMN Age", "DROP TABLE T")
	ddl(codes.OK, "DROP INDEX ByAge", "ALTER TABLE T DROP COLUMN Age", "DROP TABLE T")
}
