package reader_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/spanner/admin/database/apiv1/databasepb"
	"google.golang.org/grpc/codes"

	"spanbulk/internal/emulator"
	"spanbulk/internal/randtest"
	"spanbulk/internal/reader"
)

// TestReadsEachRowOnce reads random tables with random options from a server
// that cuts its messages anywhere and breaks its streams anywhere, in the two
// dialects by turns, with the table in a named schema or the default one.
func TestReadsEachRowOnce(t *testing.T) {
	r := randtest.New(t)
	dialects := []databasepb.DatabaseDialect{databasepb.DatabaseDialect_GOOGLE_STANDARD_SQL, databasepb.DatabaseDialect_POSTGRESQL}
	for round := range randtest.Rounds(30) {
		dialect, schema := dialects[round%2], pick(r, "", "shop")
		messages := emulator.Messages{
			MaxBytes:   pick(r, 1, 7, 100, 0),
			MaxRows:    pick(r, 1, 3, 0),
			NoLast:     r.IntN(2) == 0,
			TokenEvery: pick(r, 1, 3),
			Tokens:     pick(r, emulator.TokensOnRows, emulator.NoTokens),
		}
		opt := reader.Options{
			Parallelism:      1 + r.IntN(10),
			MaxRowsPerFetch:  pick(r, 1, 10, 1000),
			MaxBytesPerFetch: pick(r, 1, 300, 0),
			HoldBytes:        pick(r, 1, 1000, 0),
		}
		rows := make([]thing, r.IntN(300))
		for i := range rows {
			rows[i] = randomThing(r, int64(i))
		}
		ok := t.Run(fmt.Sprintf("%d/%v/%s", round, dialect, schema), func(t *testing.T) {
			f := startIn(t, dialect, schema, emulator.Options{Partitions: 1 + r.IntN(12), NoEmptyPartitions: r.IntN(2) == 0, Messages: messages})
			f.write(rows)
			f.db.Trouble(func(s *emulator.Server) { s.Faults().SetFunc(breaks(r, pick(r, 0, 3, 30))) })
			red := f.reader(opt)
			plan := f.plan(red, f.things())
			out := newCollector(t, fields())
			if err := red.Run(t.Context(), plan, out); err != nil {
				t.Fatalf("%v (messages %+v, options %+v)", err, messages, opt)
			}
			if !checkThings(t, out.rows(t), rows) {
				t.Logf("messages %+v, options %+v", messages, opt)
			}
			checkPartitions(t, out, plan)
		})
		if !ok {
			return
		}
	}
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// breaks fails at random so many StreamingRead calls in a row of each 10, after
// some messages, and every tenth call of the others.
func breaks(r *rand.Rand, most int) func(string, int) *emulator.Fault {
	var mu sync.Mutex
	left := most
	return func(method string, call int) *emulator.Fault {
		mu.Lock()
		defer mu.Unlock()
		if method != "StreamingRead" {
			if call%10 == 0 {
				return &emulator.Fault{Code: codes.Unavailable, Message: "try again"}
			}
			return nil
		}
		if left == 0 {
			return nil
		}
		left--
		delay := time.Nanosecond
		switch r.IntN(4) {
		case 0:
			return &emulator.Fault{Code: codes.Internal, Message: "stream terminated by RST_STREAM", AfterMessages: r.IntN(20)}
		case 1:
			return &emulator.Fault{Code: codes.ResourceExhausted, Message: "slow down", RetryDelay: &delay, AfterMessages: r.IntN(20)}
		case 2:
			return &emulator.Fault{Code: codes.Unavailable, Message: "connection lost", AfterWork: true}
		default:
			return &emulator.Fault{Code: codes.Unavailable, Message: "connection lost", AfterMessages: r.IntN(20)}
		}
	}
}

// checkPartitions wants every partition opened and closed once, empty ones too.
func checkPartitions(t *testing.T, out *collector, plan *reader.Plan) {
	t.Helper()
	for i := range plan.Reads[0].Partitions {
		if out.opened[i] != 1 || out.closed[i] != 1 {
			t.Errorf("partition %d was opened %d and closed %d times", i, out.opened[i], out.closed[i])
		}
	}
}

// TestBreakAtEveryMessage breaks the one stream of a read after each number of
// messages in turn, with tokens and without.
func TestBreakAtEveryMessage(t *testing.T) {
	r := randtest.New(t)
	rows := make([]thing, 12)
	for i := range rows {
		rows[i] = randomThing(r, int64(i))
	}
	f := start(t, emulator.Options{Partitions: 1, NoEmptyPartitions: true})
	f.write(rows)
	for _, tokens := range []emulator.Tokens{emulator.TokensOnRows, emulator.NoTokens} {
		for _, hold := range []int{1, 0} {
			f.db.Embedded(t, "sizes of messages").SetMessages(emulator.Messages{MaxBytes: 8, Tokens: tokens})
			for after := 1; ; after++ {
				f.db.Faults(t).SetFunc(func(method string, call int) *emulator.Fault {
					if method != "StreamingRead" || call > 3 {
						return nil
					}
					return &emulator.Fault{Code: codes.Unavailable, Message: "connection lost", AfterMessages: after}
				})
				var progress reader.Progress
				red := f.reader(reader.Options{Parallelism: 1, HoldBytes: hold, Progress: &progress})
				out := newCollector(t, fields())
				plan := f.plan(red, things())
				if err := red.Run(t.Context(), plan, out); err != nil {
					t.Fatalf("tokens %v, hold %d, break after %d messages: %v", tokens, hold, after, err)
				}
				if !checkThings(t, out.rows(t), rows) {
					t.Fatalf("tokens %v, hold %d, break after %d messages", tokens, hold, after)
				}
				if progress.Retries.Load() == 0 { // the stream ended before it could break
					break
				}
			}
		}
	}
}

// TestManyRows reads a table of real size, 1,000,000 rows in the long run (a tenth
// of it under the race detector otherwise), with
// every tenth call failing and streams breaking.
func TestManyRows(t *testing.T) {
	n := min(randtest.Rounds(randtest.Size(100_000)), 1_000_000)
	r := randtest.New(t)
	f := start(t, emulator.Options{Partitions: 20})
	rows := make([]thing, n)
	for i := range rows {
		rows[i] = randomThing(r, int64(i))
	}
	f.write(rows)
	f.db.Faults(t).SetFunc(func(method string, call int) *emulator.Fault {
		switch {
		case call%10 == 0:
			return &emulator.Fault{Code: codes.Unavailable, Message: "try again"}
		case method == "StreamingRead" && call%3 == 0:
			return &emulator.Fault{Code: codes.Unavailable, Message: "connection lost", AfterMessages: call % 17}
		default:
			return nil
		}
	})
	red := f.reader(reader.Options{Parallelism: 8})
	out := newCollector(t, fields())
	plan := f.plan(red, things())
	if err := red.Run(t.Context(), plan, out); err != nil {
		t.Fatal(err)
	}
	checkThings(t, out.rows(t), rows)
	checkPartitions(t, out, plan)
}
