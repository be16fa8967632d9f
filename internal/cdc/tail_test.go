package cdc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/cdc"
	"spanbulk/internal/fault"
	"spanbulk/internal/randtest"
)

// manyChanges are n changes of about 1 KiB.
func manyChanges(n int) []rawChange {
	changes := make([]rawChange, n)
	for i := range changes {
		changes[i] = insert(fmt.Sprint(i), `"`+strings.Repeat("x", 1000)+`"`, `"30"`)
	}
	return changes
}

// TestStoppedConsumer stops the output and wants the query to stop, too, with
// little in memory; then it goes on and everything comes.
func TestStoppedConsumer(t *testing.T) {
	for _, order := range []cdc.Order{cdc.ByPartition, cdc.ByCommit} {
		synctest.Test(t, func(t *testing.T) {
			s := newScript(manyChanges(1500)...)
			var sent atomic.Int64
			s.before = func(context.Context, cdc.Query, int) { sent.Add(1) }
			opt := s.options()
			opt.ChunkBytes, opt.Order, opt.OrderBytes = 20_000, order, 50_000
			hold := make(chan struct{})
			out := &collector{fail: func([]byte) error { <-hold; return nil }}
			done := make(chan error)
			go func() { done <- newTail(t, s, opt).Run(t.Context(), out) }()
			synctest.Wait()
			if n := sent.Load(); n > 300 {
				t.Errorf("%d messages were taken for an output that takes nothing", n)
			}
			close(hold)
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if n := len(out.lines()); n != 1500 {
				t.Errorf("%d lines, want 1500", n)
			}
		})
	}
}

// TestTransientErrors has queries break off with errors that are worth a retry.
func TestTransientErrors(t *testing.T) {
	for _, code := range []codes.Code{codes.Unavailable, codes.Aborted, codes.DeadlineExceeded, codes.Canceled} {
		synctest.Test(t, func(t *testing.T) {
			s := newScript(manyChanges(3)...)
			breaks := 0
			s.end = func(cdc.Query) error {
				if breaks++; breaks <= 20 {
					return status.Error(code, "try again")
				}
				return io.EOF
			}
			opt := s.options()
			opt.Retry = cdc.Backoff{Initial: time.Second, Max: time.Minute}
			opt.Progress = new(cdc.Progress)
			var last cdc.Retry
			opt.OnRetry = func(r cdc.Retry) { last = r }
			if n := len(runTail(t, s, opt)); n != 3 {
				t.Errorf("%d lines, want 3: none lost, none twice", n)
			}
			p := opt.Progress
			if p.Retries.Load() != 20 || p.QueriesStarted.Load() != 22 || p.ActiveQueries.Load() != 0 {
				t.Errorf("%d retries, %d queries started, %d active", p.Retries.Load(), p.QueriesStarted.Load(), p.ActiveQueries.Load())
			}
			// The last record comes again each time, which is no progress.
			if last.Partition != "p" || fault.Code(last.Err) != code || last.Attempt != 20 {
				t.Errorf("told of %+v", last)
			}
			for _, q := range s.asked()[2:] {
				if q.Start != epoch.Add(3*time.Millisecond) {
					t.Errorf("a query was opened again at %v, want the last record's time", q.Start)
				}
			}
		})
	}
}

// TestPermanentError wants what came before it in the output and the state.
func TestPermanentError(t *testing.T) {
	s := newScript(manyChanges(3)...)
	s.end = func(cdc.Query) error { return status.Error(codes.NotFound, "Change Stream not found: S") }
	opt := s.options()
	var saved *cdc.SavedState
	opt.Save = func(s *cdc.SavedState) error { saved = s; return nil }
	out := &collector{}
	err := newTail(t, s, opt).Run(t.Context(), out)
	if err == nil || fault.Text(err, false) != "read change stream S, partition p: Change Stream not found: S" {
		t.Errorf("got %v", err)
	}
	if len(out.lines()) != 3 || saved.Watermark != epoch.Add(3*time.Millisecond) {
		t.Errorf("%d lines, state at %v", len(out.lines()), saved.Watermark)
	}
}

// TestStateAtOnce wants the start in the state before anything is read: a run
// that is killed at once must not begin later the next time.
func TestStateAtOnce(t *testing.T) {
	s := newScript(manyChanges(1)...)
	opt := s.options()
	saved := 0
	opt.Save = func(state *cdc.SavedState) error {
		if saved++; saved == 1 && (state.Watermark != epoch || len(s.asked()) > 0) {
			t.Errorf("the first state is of %v, after %d queries", state.Watermark, len(s.asked()))
		}
		return nil
	}
	runTail(t, s, opt)
	if saved < 2 {
		t.Errorf("saved %d times, want one at the start and one at the end", saved)
	}
}

// TestEndWithoutChildren wants an error where a query ends and nothing says what
// became of the partition's keys.
func TestEndWithoutChildren(t *testing.T) {
	for name, change := range map[string]func(*script, *cdc.Options){
		"no end position":        func(_ *script, o *cdc.Options) { o.End = time.Time{} },
		"end position in future": func(s *script, o *cdc.Options) { o.End = s.now.Add(time.Hour).Time() },
		"initial query":          func(s *script, _ *cdc.Options) { s.rows[cdc.RootToken] = []*structpb.Value{beatRow(epoch)} },
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(manyChanges(1)...)
			opt := s.options()
			change(s, &opt)
			err := newTail(t, s, opt).Run(t.Context(), &collector{})
			if fault.Code(err) != codes.Internal {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestInterrupt(t *testing.T) {
	s := newScript(manyChanges(3)...)
	s.end = hanging
	opt := s.options()
	opt.End = time.Time{}
	var saved *cdc.SavedState
	opt.Save = func(s *cdc.SavedState) error { saved = s; return nil }
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("interrupted")
	out := &collector{}
	out.fail = func(chunk []byte) error {
		if bytes.Contains(chunk, []byte("txn3")) {
			cancel(cause)
		}
		return nil
	}
	if err := newTail(t, s, opt).Run(ctx, out); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
	if saved == nil || saved.Watermark != epoch.Add(3*time.Millisecond) {
		t.Errorf("state at %v", saved.Watermark)
	}
}

func TestTimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(manyChanges(3)...)
		s.end = hanging
		opt := s.options()
		opt.End, opt.For, opt.Progress = time.Time{}, time.Hour, new(cdc.Progress)
		begun := time.Now()
		if n := len(runTail(t, s, opt)); n != 3 || time.Since(begun) != time.Hour {
			t.Errorf("%d lines in %v", n, time.Since(begun))
		}
		if n := opt.Progress.MissedHeartbeats.Load(); n < 100 {
			t.Errorf("%d heartbeats missed in an hour of silence", n)
		}
		if n := opt.Progress.QueriesStarted.Load(); n < 10 {
			t.Errorf("%d queries started: a silent one is to be opened again", n)
		}
	})
}

// TestBacklog reads faster than the output takes: the state is saved and the
// time limit holds all the same.
func TestBacklog(t *testing.T) {
	for _, order := range []cdc.Order{cdc.ByPartition, cdc.ByCommit} {
		synctest.Test(t, func(t *testing.T) {
			s := newScript(manyChanges(500)...)
			s.end = hanging
			opt := s.options()
			opt.End, opt.For, opt.ChunkBytes, opt.SaveEvery, opt.Order = time.Time{}, 30*time.Second, 2000, 5*time.Second, order
			saved := 0
			opt.Save = func(*cdc.SavedState) error { saved++; return nil }
			out := &collector{fail: func([]byte) error { time.Sleep(time.Second); return nil }}
			begun := time.Now()
			if err := newTail(t, s, opt).Run(t.Context(), out); err != nil {
				t.Fatal(err)
			}
			if d := time.Since(begun); d > 40*time.Second || saved < 6 {
				t.Errorf("order %v: %d states saved in %v, want one every 5s for 30s", order, saved, d)
			}
		})
	}
}

// TestMaxRecords stops after every number of records and goes on from the state:
// each record comes once.
func TestMaxRecords(t *testing.T) {
	for _, order := range []cdc.Order{cdc.ByPartition, cdc.ByCommit} {
		w := newWorld(randtest.New(t), googleSQL, 60)
		w.chunk = 7
		var saved *cdc.SavedState
		var all []string
		for range len(w.changes) + 1 {
			opt := cdc.Options{Start: cdc.At(w.begin.Time()), End: w.now.Time(), MaxRecords: 3, Order: order, State: saved, Metadata: []string{"all", "partition-token"}}
			opt.Save = func(s *cdc.SavedState) error { saved = s; return nil }
			lines := runTail(t, w, opt)
			if all = append(all, lines...); len(lines) == 0 {
				break
			}
			if len(lines) > 3 {
				t.Fatalf("%d records, want at most 3", len(lines))
			}
		}
		parsed := parseLines(t, all)
		checkHistory(t, w, parsed, false)
		if order == cdc.ByCommit {
			checkCommitOrder(t, parsed)
		}
	}
}

func TestConcurrentQueries(t *testing.T) {
	w := newWorld(randtest.New(t), googleSQL, 200)
	opt := cdc.Options{Start: cdc.At(w.begin.Time()), End: w.now.Time(), MaxQueries: 2, Progress: new(cdc.Progress)}
	var most atomic.Int64
	w.fault = func(cdc.Query) (int, error) {
		most.Store(max(most.Load(), opt.Progress.ActiveQueries.Load()))
		return 0, nil
	}
	runTail(t, w, opt)
	if most.Load() > 2 {
		t.Errorf("%d queries at once, want at most 2", most.Load())
	}
	if n := opt.Progress.PartitionsDiscovered.Load(); n != int64(len(w.order)) {
		t.Errorf("%d partitions discovered, there were %d", n, len(w.order))
	}
}

func TestStartPositions(t *testing.T) {
	past := func(d time.Duration) time.Time { return epoch.Add(time.Hour).Add(-d).Time() }
	for name, tt := range map[string]struct {
		start cdc.StartPosition
		want  time.Time
		err   string
	}{
		"latest":   {cdc.Latest(), past(0), ""},
		"earliest": {cdc.Earliest(), past(7*24*time.Hour - time.Minute), ""},
		"ago":      {cdc.Ago(time.Hour), past(time.Hour), ""},
		"a time":   {cdc.At(past(time.Minute)), past(time.Minute), ""},
		"future":   {cdc.At(past(-time.Second)), time.Time{}, "is in the future; it must be within 2025-12-25T01:00:00Z to 2026-01-01T01:00:00Z"},
		"too old":  {cdc.Ago(8 * 24 * time.Hour), time.Time{}, "is before what Spanner still has; it must be within 2025-12-25T01:00:00Z to"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript()
			s.rows[cdc.RootToken] = []*structpb.Value{childRow(epoch.Add(time.Hour), "p")}
			opt := s.options()
			opt.Start = tt.start
			err := newTail(t, s, opt).Run(t.Context(), &collector{})
			switch {
			case tt.err != "":
				if err == nil || !strings.Contains(err.Error(), tt.err) || fault.Code(err) != codes.OutOfRange {
					t.Errorf("got %v, want %q", err, tt.err)
				}
			case err != nil:
				t.Error(err)
			case s.asked()[0].Start.Time() != tt.want:
				t.Errorf("began at %v, want %v", s.asked()[0].Start, tt.want)
			}
		})
	}
}

// TestYoungStream begins with the earliest records of a stream that is younger
// than its retention.
func TestYoungStream(t *testing.T) {
	w := newWorld(randtest.New(t), googleSQL, 30)
	lines := runTail(t, w, cdc.Options{Start: cdc.Earliest(), End: w.now.Time(), Metadata: []string{"all", "partition-token"}})
	checkHistory(t, w, parseLines(t, lines), false)
	err := newTail(t, w, cdc.Options{Start: cdc.Ago(time.Hour), End: w.now.Time()}).Run(t.Context(), &collector{})
	if err == nil || !strings.Contains(err.Error(), "what it has begins at 2026-01-01T00:00:00Z") {
		t.Errorf("got %v", err)
	}
}

func TestExpiredState(t *testing.T) {
	old := func() *cdc.SavedState {
		return &cdc.SavedState{Watermark: epoch.Add(-30 * 24 * time.Hour), Partitions: []cdc.Partition{
			{Token: "old", Start: epoch.Add(-40 * 24 * time.Hour), Position: epoch.Add(-30 * 24 * time.Hour), State: cdc.Running},
		}}
	}
	s := newScript(manyChanges(2)...)
	opt := s.options()
	opt.State = old()
	err := newTail(t, s, opt).Run(t.Context(), &collector{})
	if err == nil || !strings.Contains(err.Error(), "the stream's retention is 168h0m0s") || !strings.Contains(fault.Hint(err), "--resume-fallback") || len(s.asked()) > 0 {
		t.Errorf("got %v, hint %q", err, fault.Hint(err))
	}

	var log bytes.Buffer
	opt = s.options()
	fallback := cdc.At(epoch.Time())
	opt.State, opt.ResumeFallback, opt.Log = old(), &fallback, slog.New(slog.NewTextHandler(&log, nil))
	if n := len(runTail(t, s, opt)); n != 2 {
		t.Errorf("%d lines, want 2", n)
	}
	if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "lostFrom=2025-12-02T00:00:00Z lostUntil=2026-01-01T00:00:00Z") {
		t.Errorf("the warning does not name what is lost: %s", log.String())
	}
}

// TestStateOlderThanStream goes on from a state within the retention period, of
// which Spanner has no records all the same: the stream was created anew.
func TestStateOlderThanStream(t *testing.T) {
	w := newWorld(randtest.New(t), googleSQL, 30)
	before := w.begin.Add(-time.Hour)
	opt := cdc.Options{End: w.now.Time(), Metadata: []string{"all", "partition-token"}}
	opt.State = &cdc.SavedState{Watermark: before, Partitions: []cdc.Partition{{Token: "old", Start: before, Position: before, State: cdc.Running}}}
	err := newTail(t, w, opt).Run(t.Context(), &collector{})
	if err == nil || !strings.Contains(fault.Hint(err), "--resume-fallback") {
		t.Errorf("got %v, hint %q", err, fault.Hint(err))
	}
	fallback := cdc.Earliest()
	opt.ResumeFallback = &fallback
	checkHistory(t, w, parseLines(t, runTail(t, w, opt)), false)
}

// TestAbsentRetention has the fallback stand in for a retention that the
// stream's DDL does not say.
func TestAbsentRetention(t *testing.T) {
	s := newScript()
	delete(s.stream.Options, "retention_period")
	opt := s.options()
	opt.Start, opt.AbsentRetention = cdc.Ago(3*time.Hour), 2*time.Hour
	err := newTail(t, s, opt).Run(t.Context(), &collector{})
	if err == nil || !strings.Contains(err.Error(), "assumed retention 2h0m0s") {
		t.Errorf("got %v", err)
	}
}

func TestDeduplicate(t *testing.T) {
	s := newScript(manyChanges(3)...)
	var saved *cdc.SavedState
	opt := s.options()
	opt.MaxRecords = 2
	opt.Save = func(s *cdc.SavedState) error { saved = s; return nil }
	runTail(t, s, opt)
	for _, again := range []bool{false, true} {
		opt := s.options()
		opt.State, opt.NoDeduplicate, opt.Progress = saved, again, new(cdc.Progress)
		want := 1
		if again {
			want = 2
		}
		if n := len(runTail(t, s, opt)); n != want || int(opt.Progress.RecordsRepeated.Load()) != 2-want {
			t.Errorf("NoDeduplicate %v: %d lines, %d repeated", again, n, opt.Progress.RecordsRepeated.Load())
		}
	}
}

func TestOutputError(t *testing.T) {
	s := newScript(manyChanges(2)...)
	opt := s.options()
	opt.Save = func(state *cdc.SavedState) error {
		if state.Watermark != epoch {
			t.Error("a state was saved that the output may not hold")
		}
		return nil
	}
	full := errors.New("disk full")
	refuse := func(chunk []byte) error {
		if len(chunk) == 0 {
			return nil // the header, which has nothing
		}
		return full
	}
	if err := newTail(t, s, opt).Run(t.Context(), &collector{fail: refuse}); !errors.Is(err, full) || err.Error() != "disk full" {
		t.Errorf("got %v", err)
	}
}

func TestGraph(t *testing.T) {
	w := newWorld(randtest.New(t), googleSQL, 60)
	graph := new(cdc.Graph)
	runTail(t, w, cdc.Options{Start: cdc.At(w.begin.Time()), End: w.now.Time(), Graph: graph})
	var b strings.Builder
	if err := graph.WriteDOT(&b); err != nil {
		t.Fatal(err)
	}
	arrows := 0
	for _, p := range w.order {
		arrows += len(p.parents)
	}
	if n := strings.Count(b.String(), "->"); n != arrows || !strings.HasPrefix(b.String(), "digraph") || strings.Count(b.String(), "label=") != len(w.order) {
		t.Errorf("%d arrows, want %d:\n%s", n, arrows, b.String())
	}
}

func TestOptionsValidate(t *testing.T) {
	for name, opt := range map[string]cdc.Options{
		"heartbeat":        {Heartbeat: time.Second / 2},
		"long heartbeat":   {Heartbeat: 6 * time.Minute},
		"retention":        {AbsentRetention: time.Minute},
		"queries":          {MaxQueries: -1},
		"max records":      {MaxRecords: -1},
		"for":              {For: -1},
		"both table lists": {Filters: cdc.Filters{TableInclude: []string{"a"}, TableExclude: []string{"b"}}},
		"both columns":     {Filters: cdc.Filters{ColumnInclude: []string{"a"}, ColumnExclude: []string{"b"}}},
		"expression":       {Filters: cdc.Filters{TableInclude: []string{"a("}}},
		"metadata":         {Metadata: []string{"commit-timestmap"}},
		"table in records": {Filters: cdc.Filters{Table: "T"}},
		"columns":          {Columns: columnFields("Id INT64"), Mode: cdc.Upsert},
		"CSV watermarks":   {Columns: columnFields("Id INT64"), Mode: cdc.Full, Filters: cdc.Filters{Table: "T"}, Watermarks: true},
		"values":           {Mode: cdc.Full, Values: formatValues("digits")},
	} {
		if _, err := cdc.New(newScript(), opt); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
