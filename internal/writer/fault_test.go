package writer_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"spanbulk/internal/emulator"
	"spanbulk/internal/randtest"
	"spanbulk/internal/wire"
	"spanbulk/internal/writer"
)

// schedule breaks calls of the embedded server at random, and streams on the
// client's side too. It ends after some faults, so that no record runs out of
// attempts.
type schedule struct {
	mu    sync.Mutex
	r     *rand.Rand
	left  int
	stall time.Duration // 0 for no stalls
}

func (s *schedule) draw(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.r.IntN(n)
}

func (s *schedule) use() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == 0 || s.r.IntN(3) == 0 {
		return false
	}
	s.left--
	return true
}

var transientCodes = []codes.Code{codes.Unavailable, codes.Aborted, codes.ResourceExhausted, codes.DeadlineExceeded}

// fault is what goes wrong with a call at the server.
func (s *schedule) fault(method string, _ int) *emulator.Fault {
	if method != "BatchWrite" && method != "Commit" || !s.use() {
		return nil
	}
	f := &emulator.Fault{Code: transientCodes[s.draw(len(transientCodes))], Message: "try again"}
	switch n := s.draw(10); {
	case n < 3: // before any work
	case n < 7:
		f.AfterMessages = 1 + s.draw(30)
	case n < 9 || s.stall == 0:
		// Not ABORTED, which would be a lie.
		f.Code, f.AfterWork, f.AfterMessages = codes.Unavailable, true, s.draw(3)
	default:
		f.Stall, f.AfterMessages = s.stall, s.draw(10)
	}
	if s.draw(5) == 0 {
		delay := time.Millisecond
		f.RetryDelay = &delay
	}
	return f
}

// short is after how many answers the client's stream ends, seemingly well.
func (s *schedule) short() int {
	if s.draw(4) > 0 || !s.use() {
		return -1
	}
	return s.draw(20)
}

// things makes the table that the tests write to, and returns the query of its
// rows.
func (p place) things(t *testing.T) (f *fixture, table *writer.Table, selectThings string) {
	t.Helper()
	f = p.start(t, p.create("Things", "", "Id"))
	return f, f.table("Things", nil), p.rows("Things", "Id")
}

func randomOptions(r *rand.Rand) writer.Options {
	return quick(writer.Options{
		Parallelism:       1 + r.IntN(8),
		MaxBatchMutations: 1 + r.IntN(60),
		MaxBatchCells:     4 + r.IntN(200),
		MaxBatchBytes:     200 + r.IntN(5000),
		BatchWriteTimeout: 300 * time.Millisecond,
		MaxAttempts:       1000,
		Method:            writer.Method(r.IntN(2)),
		Linger:            time.Microsecond,
	})
}

// TestLastValuesWin runs imports of upserts, replaces and deletes under faults
// and wants the table to end as a plain map does.
func TestLastValuesWin(t *testing.T) {
	r := randtest.New(t)
	inPlaces(t, func(t *testing.T, p place) { lastValuesWin(t, p, r) })
}

func lastValuesWin(t *testing.T, p place, r *rand.Rand) {
	f, table, selectThings := p.things(t)
	for round := range randtest.Rounds(4) {
		s := &schedule{r: rand.New(rand.NewPCG(r.Uint64(), 0)), left: r.IntN(40)}
		if r.IntN(8) == 0 {
			s.stall = time.Minute
		}
		c := connect(t, f.target, shortStreams{s.short}.intercept)
		want := f.rows(selectThings)
		records := randomChanges(r, table, want)
		opt := randomOptions(r)
		if s.stall > 0 {
			s.left = min(s.left, 6)
		}
		f.spanner.Faults(t).SetFunc(s.fault)
		_, err := write(t, c, opt, records, 1+r.IntN(200))
		f.spanner.Faults(t).Clear()
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		checkRows(t, f.rows(selectThings), want)
		checkBalance(t, opt.Progress, int64(len(records)), 0)
		if t.Failed() {
			t.Fatalf("round %d: options %+v", round, opt)
		}
	}
}

// randomChanges makes records of few keys and applies them to model.
func randomChanges(r *rand.Rand, table *writer.Table, model map[string]string) []writer.Record {
	keys := 1 + r.IntN(300)
	records := make([]writer.Record, r.IntN(1500))
	for i := range records {
		id, v := strconv.Itoa(r.IntN(keys)), fmt.Sprintf("%d-%d", i, r.Uint32())
		switch n := r.IntN(50); {
		case n == 0:
			end := r.IntN(keys)
			records[i] = writer.Record{Table: table, Operation: wire.Delete, Range: &wire.KeyRange{Start: texts(id), End: texts(strconv.Itoa(end)), EndOpen: true}}
			from, _ := strconv.Atoi(id)
			for k := from; k < end; k++ {
				delete(model, strconv.Itoa(k))
			}
		case n < 8:
			records[i] = writer.Record{Table: table, Operation: wire.Delete, Values: texts(id)}
			delete(model, id)
		case n < 15:
			records[i] = writer.Record{Table: table, Operation: wire.Replace, Values: texts(id, v)}
			model[id] = v
		default:
			records[i] = writer.Record{Table: table, Operation: wire.InsertOrUpdate, Values: texts(id, v)}
			model[id] = v
		}
	}
	return records
}

// TestInsertsUnderFaults wants every row there, and every ALREADY_EXISTS either
// of a row that was there before or marked as one that may be its own success.
func TestInsertsUnderFaults(t *testing.T) {
	r := randtest.New(t)
	inPlaces(t, func(t *testing.T, p place) { insertsUnderFaults(t, p, r) })
}

func insertsUnderFaults(t *testing.T, p place, r *rand.Rand) {
	f, table, selectThings := p.things(t)
	for round := range randtest.Rounds(4) {
		s := &schedule{r: rand.New(rand.NewPCG(r.Uint64(), 0)), left: r.IntN(30)}
		c := connect(t, f.target, shortStreams{s.short}.intercept)
		if _, err := write(t, c, quick(writer.Options{}), []writer.Record{
			{Table: table, Operation: wire.Delete, Range: &wire.KeyRange{Start: []wire.Value{}, End: []wire.Value{}}},
		}, 1); err != nil {
			t.Fatal(err)
		}
		records := numbered(table, 1+r.IntN(800))
		before := map[string]bool{}
		var old []writer.Record
		for i := range records {
			records[i].Operation = wire.Insert
			if r.IntN(20) == 0 {
				before[strconv.Itoa(i)] = true
				old = append(old, writer.Record{Table: table, Operation: wire.Insert, Values: texts(strconv.Itoa(i), "old")})
			}
		}
		if _, err := write(t, c, quick(writer.Options{MaxAttempts: 1000, Refuser: new(refusals)}), old, 100); err != nil {
			t.Fatal(err)
		}
		var refused refusals
		opt := randomOptions(r)
		opt.Refuser = &refused
		f.spanner.Faults(t).SetFunc(s.fault)
		_, err := write(t, c, opt, records, 1+r.IntN(200))
		f.spanner.Faults(t).Clear()
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		checkInserts(t, f.rows(selectThings), records, before, refused.list)
		checkBalance(t, opt.Progress, int64(len(records)), 0)
		if t.Failed() {
			t.Fatalf("round %d: options %+v", round, opt)
		}
	}
}

func checkInserts(t *testing.T, rows map[string]string, records []writer.Record, before map[string]bool, refused []writer.Refusal) {
	t.Helper()
	isRefused := map[string]bool{}
	for _, r := range refused {
		id := string(r.Raw)
		isRefused[id] = true
		if r.Code != codes.AlreadyExists || !before[id] && !r.UnknownOutcome {
			t.Errorf("record %s was refused with %v and not marked", id, r.Code)
		}
	}
	for i := range records {
		id := strconv.Itoa(i)
		want := "v" + id
		if before[id] {
			want = "old"
			if !isRefused[id] {
				t.Errorf("record %s is said to be applied and was there before", id)
			}
		}
		if rows[id] != want {
			t.Errorf("row %s is %q, want %q", id, rows[id], want)
		}
	}
	if len(rows) != len(records) {
		t.Errorf("%d rows, want %d", len(rows), len(records))
	}
}

// TestFailedRunsTellTheTruth lets runs fail at random and wants every record
// that was reported applied to be there, whatever became of the others.
func TestFailedRunsTellTheTruth(t *testing.T) {
	r := randtest.New(t)
	inPlaces(t, func(t *testing.T, p place) { failedRunsTellTheTruth(t, p, r) })
}

func failedRunsTellTheTruth(t *testing.T, p place, r *rand.Rand) {
	f, table, selectThings := p.things(t)
	failed := 0
	for round := range randtest.Rounds(3) {
		s := &schedule{r: rand.New(rand.NewPCG(r.Uint64(), 0)), left: 1000}
		permanent := 1 + r.IntN(12)
		f.spanner.Faults(t).SetFunc(func(method string, call int) *emulator.Fault {
			if method == "BatchWrite" && call == permanent {
				return &emulator.Fault{Code: codes.PermissionDenied, AfterMessages: s.draw(20), AfterWork: s.draw(2) == 0}
			}
			return s.fault(method, call)
		})
		records := numbered(table, 600)
		for i := range records {
			records[i].Values[1] = text(fmt.Sprintf("%d-%d", round, i))
		}
		opt := randomOptions(r)
		opt.Method = writer.BatchWrite
		opt.MaxAttempts = 1 + r.IntN(4)
		opt.Refuser = new(refusals)
		w, err := writer.New(connect(t, f.target, shortStreams{s.short}.intercept), opt)
		if err != nil {
			t.Fatal(err)
		}
		var decided []int
		err = run(t, t.Context(), w, records, 1, func(from, _ int) { decided = append(decided, from) })
		f.spanner.Faults(t).Clear()
		// A status behind the answers for all groups fails nothing.
		if err != nil {
			failed++
		} else if len(decided) != len(records) {
			t.Fatalf("round %d: the run did not fail, and %d of %d records are decided", round, len(decided), len(records))
		}
		rows := f.rows(selectThings)
		for _, i := range decided {
			if want := fmt.Sprintf("%d-%d", round, i); rows[strconv.Itoa(i)] != want {
				t.Errorf("round %d: record %d was reported applied, and the row is %q", round, i, rows[strconv.Itoa(i)])
			}
		}
		undecided, _ := w.Undecided()
		if opt.Progress.Applied.Load() != int64(len(decided)) {
			t.Errorf("%d applied, %d decided", opt.Progress.Applied.Load(), len(decided))
		}
		checkBalance(t, opt.Progress, opt.Progress.RecordsIn.Load(), undecided)
	}
	if failed == 0 {
		t.Error("no run failed")
	}
}
