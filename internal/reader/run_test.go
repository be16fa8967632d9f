package reader_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/emulator"
	"spanbulk/internal/fault"
	"spanbulk/internal/format"
	"spanbulk/internal/reader"
)

func numbered(n int) []thing {
	rows := make([]thing, n)
	for i := range rows {
		name := strings.Repeat("x", i%7)
		rows[i] = thing{Id: int64(i), Name: &name}
	}
	return rows
}

// TestChunkBounds wants chunks of at most so many rows and bytes, and a row
// that is larger alone in its own.
func TestChunkBounds(t *testing.T) {
	f := start(t, emulator.Options{Partitions: 1, NoEmptyPartitions: true})
	rows := numbered(50)
	huge := strings.Repeat("huge", 1000)
	rows[20].Name = &huge
	f.write(rows)
	tests := []struct {
		name              string
		maxRows, maxBytes int
	}{
		{"one row", 1, 0}, {"seven rows", 7, 0}, {"bytes", 1000, 500}, {"every row is larger", 1000, 1}, {"all in one", 1000, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := newCollector(t, fields())
			red := f.reader(reader.Options{MaxRowsPerFetch: tt.maxRows, MaxBytesPerFetch: tt.maxBytes})
			if err := red.Run(t.Context(), f.plan(red, things()), out); err != nil {
				t.Fatal(err)
			}
			for _, c := range out.chunks {
				if c.records > tt.maxRows {
					t.Errorf("a chunk of %d records", c.records)
				}
				if tt.maxBytes > 0 && len(c.bytes) > tt.maxBytes && c.records > 1 {
					t.Errorf("a chunk of %d bytes with %d records", len(c.bytes), c.records)
				}
			}
			checkThings(t, out.rows(t), rows)
		})
	}
}

func TestRunCounts(t *testing.T) {
	f := start(t, emulator.Options{})
	f.write(numbered(2500))
	var progress reader.Progress
	red := f.reader(reader.Options{Progress: &progress})
	out := newCollector(t, fields())
	plan := f.plan(red, things())
	if err := red.Run(t.Context(), plan, out); err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, c := range out.chunks {
		total += len(c.bytes)
	}
	got := []int64{progress.Rows.Load(), progress.Records.Load(), progress.Bytes.Load(), progress.Partitions.Load(), progress.PartitionsDone.Load(), progress.PartitionsActive.Load(), progress.Retries.Load()}
	want := []int64{2500, 2500, int64(total), int64(plan.Partitions()), int64(plan.Partitions()), 0, 0}
	if !slices.Equal(got, want) {
		t.Errorf("progress is %v, want %v", got, want)
	}
}

func TestRunEndsWithTheFirstError(t *testing.T) {
	f := start(t, emulator.Options{Partitions: 8})
	f.write(numbered(4000))
	full := errors.New("disk full")
	tests := []struct {
		name  string
		setUp func(*collector)
		check func(error) bool
	}{
		{"output", func(c *collector) {
			c.fail = func(b []byte) error { return full }
		}, func(err error) bool { return errors.Is(err, full) }},
		{"spanner", func(*collector) {
			f.db.Faults(t).Set(emulator.Rule{Method: "StreamingRead", From: 3, Fault: emulator.Fault{Code: codes.PermissionDenied, Message: "not yours"}})
		}, func(err error) bool {
			return fault.Code(err) == codes.PermissionDenied && strings.Contains(err.Error(), "read table Things, partition")
		}},
		{"no patience left", func(*collector) {
			f.db.Faults(t).Set(emulator.Rule{Method: "StreamingRead", Every: 1, Fault: emulator.Fault{Code: codes.Unavailable, Message: "down"}})
		}, func(err error) bool { return fault.Code(err) == codes.Unavailable }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			faults := f.db.Faults(t)
			defer faults.Clear()
			retry := quick()
			retry.GiveUpAfter = 10 * time.Millisecond
			red := f.reader(reader.Options{Parallelism: 4, Retry: retry})
			out := newCollector(t, fields())
			plan := f.plan(red, things())
			tt.setUp(out)
			if err := red.Run(t.Context(), plan, out); err == nil || !tt.check(err) {
				t.Fatalf("got %v", err)
			}
		})
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	f := start(t, emulator.Options{Partitions: 8})
	f.write(numbered(4000))
	stop := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	out := newCollector(t, fields())
	out.fail = func([]byte) error { cancel(stop); return nil }
	red := f.reader(reader.Options{MaxRowsPerFetch: 10})
	if err := red.Run(ctx, f.plan(red, things()), out); err == nil || context.Cause(ctx) != stop {
		t.Fatalf("Run returned %v with the cause %v", err, context.Cause(ctx))
	}
}

func TestRunRefusesOtherColumns(t *testing.T) {
	f := start(t, emulator.Options{})
	f.write(numbered(10))
	for name, change := range map[string]func(*reader.Source){
		"other type":  func(s *reader.Source) { s.Fields[1].Type.Code = spannerpb.TypeCode_BYTES },
		"fewer":       func(s *reader.Source) { s.Fields = s.Fields[:4] },
		"other order": func(s *reader.Source) { s.Columns = []string{"Name", "Id", "Score", "Active", "Tags"} },
	} {
		t.Run(name, func(t *testing.T) {
			red := f.reader(reader.Options{})
			src := things()
			change(&src)
			err := red.Run(t.Context(), f.plan(red, src), newCollector(t, src.Fields))
			if err == nil || !strings.Contains(err.Error(), "expected") {
				t.Fatalf("got %v, want a complaint about the columns", err)
			}
		})
	}
}

// TestPlanSurvivesJSON runs a plan that went through a file, over another
// connection.
func TestPlanSurvivesJSON(t *testing.T) {
	f := start(t, emulator.Options{})
	rows := numbered(1000)
	f.write(rows)
	src := things()
	src.Keys = &spannerpb.KeySet{Ranges: []*spannerpb.KeyRange{{
		StartKeyType: &spannerpb.KeyRange_StartClosed{StartClosed: &structpb.ListValue{Values: []*structpb.Value{structpb.NewStringValue("100")}}},
		EndKeyType:   &spannerpb.KeyRange_EndOpen{EndOpen: &structpb.ListValue{Values: []*structpb.Value{structpb.NewStringValue("600")}}},
	}}}
	plan := f.plan(f.reader(reader.Options{}), src)
	plan.Reads = append(plan.Reads, reader.Read{Source: reader.Source{
		SQL:        "SELECT 1",
		Params:     &structpb.Struct{Fields: map[string]*structpb.Value{"p": structpb.NewStringValue("x")}},
		ParamTypes: map[string]*spannerpb.Type{"p": {Code: spannerpb.TypeCode_STRING}},
	}})
	b, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	f.write([]thing{{Id: 5000}}) // after the snapshot
	var copied reader.Plan
	if err := json.Unmarshal(b, &copied); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(plan, &copied, protocmp.Transform()); diff != "" {
		t.Fatalf("the plan changed (-before +after):\n%s", diff)
	}
	again, err := json.Marshal(&copied)
	if err != nil {
		t.Fatal(err)
	}
	// protojson varies its spacing on purpose.
	if squeeze(b) != squeeze(again) {
		t.Errorf("written again the plan is %s, was %s", again, b)
	}
	copied.Reads = copied.Reads[:1]
	out := newCollector(t, fields())
	if err := f.reader(reader.Options{}).Run(t.Context(), &copied, out); err != nil {
		t.Fatal(err)
	}
	checkThings(t, out.rows(t), rows[100:600])
}

func squeeze(b []byte) string { return string(bytes.ReplaceAll(b, []byte(" "), nil)) }

func TestPlanErrors(t *testing.T) {
	f := start(t, emulator.Options{})
	red := f.reader(reader.Options{})
	snapshot, err := red.Begin(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		src  reader.Source
		code codes.Code
		want string
	}{
		{"nothing", reader.Source{}, codes.Unknown, "neither a table nor a query"},
		{"both", reader.Source{Table: "Things", SQL: "SELECT 1"}, codes.Unknown, "both a table and a query"},
		{"no columns", reader.Source{Table: "Things"}, codes.Unknown, "no columns"},
		{"query with columns", reader.Source{SQL: "SELECT 1", Columns: columns}, codes.Unknown, "a query takes no"},
		{"unknown table", reader.Source{Table: "Thongs", Columns: columns}, codes.NotFound, "partition table Thongs"},
		{"unknown column", reader.Source{Table: "Things", Columns: []string{"Nome"}}, codes.NotFound, "Nome"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := red.Partition(t.Context(), snapshot, tt.src)
			if err == nil || fault.Code(err) != tt.code || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %v with %q", err, tt.code, tt.want)
			}
		})
	}
}

func TestOptionsValidate(t *testing.T) {
	for _, opt := range []reader.Options{
		{Parallelism: -1}, {Parallelism: reader.MaxParallelism + 1}, {MaxRowsPerFetch: -1},
		{MaxBytesPerFetch: -1}, {MaxPartitions: -1}, {PartitionSizeBytes: -1},
	} {
		if _, err := reader.New(nil, opt); err == nil {
			t.Errorf("%+v was taken", opt)
		}
	}
}

// TestSealsAtOnce lets no chunk be sealed before as many partitions as are read
// at once are about to seal one: it ends only if compression, which is in Seal,
// runs in the partitions and not behind one another.
func TestSealsAtOnce(t *testing.T) {
	f := start(t, emulator.Options{Partitions: 4, NoEmptyPartitions: true})
	rows := numbered(400)
	f.write(rows)
	out := newCollector(t, fields())
	meeting := &meetingFormat{Format: out.form, all: make(chan struct{})}
	meeting.missing.Store(4)
	out.form = meeting
	red := f.reader(reader.Options{Parallelism: 4})
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("partitions wait for each other"))
	defer cancel()
	meeting.ctx = ctx
	if err := red.Run(ctx, f.plan(red, things()), out); err != nil {
		t.Fatal(err, context.Cause(ctx))
	}
	checkThings(t, out.rows(t), rows)
}

// meetingFormat holds every Seal until so many have begun.
type meetingFormat struct {
	format.Format
	ctx     context.Context
	missing atomic.Int64
	all     chan struct{} // closed when none is missing
}

func (m *meetingFormat) NewEncoder() format.Encoder {
	return &meetingEncoder{m.Format.NewEncoder(), m}
}

type meetingEncoder struct {
	format.Encoder
	meeting *meetingFormat
}

func (e *meetingEncoder) Seal(dst, rows []byte, count int) ([]byte, error) {
	if e.meeting.missing.Add(-1) == 0 {
		close(e.meeting.all)
	}
	select {
	case <-e.meeting.all:
		return e.Encoder.Seal(dst, rows, count)
	case <-e.meeting.ctx.Done():
		return dst, context.Cause(e.meeting.ctx)
	}
}
