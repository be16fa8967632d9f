package writer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"spanbulk/internal/fault"
	"spanbulk/internal/wire"
	"spanbulk/internal/writer"
)

const outcomeDDL = `CREATE TABLE T (
  Id INT64 NOT NULL,
  Name STRING(5) NOT NULL,
  Mail STRING(MAX),
  Parent INT64,
  Age INT64,
  CONSTRAINT Grown CHECK (Age >= 18),
  CONSTRAINT Known FOREIGN KEY (Parent) REFERENCES P (Id),
) PRIMARY KEY (Id)`

// TestRefusalTable writes one record that Spanner refuses among good ones, under
// each policy and with both methods.
func TestRefusalTable(t *testing.T) {
	f := start(t, "CREATE TABLE P (Id INT64) PRIMARY KEY (Id)", outcomeDDL, "CREATE UNIQUE INDEX ByMail ON T (Mail)")
	table := f.table("T", nil)
	const (
		toHandler = iota
		byPolicy
		always
		never
	)
	tests := []struct {
		name   string
		op     wire.Operation
		values []wire.Value
		code   codes.Code
		fails  int
	}{
		{"insert of an existing key", wire.Insert, texts("1", "there"), codes.AlreadyExists, toHandler},
		{"UNIQUE index", wire.Insert, texts("5", "u", "one@x"), codes.AlreadyExists, toHandler},
		{"value of the wrong shape", wire.Insert, []wire.Value{text("5"), text("w"), nil, nil, wire.AppendBool(nil, true)}, codes.FailedPrecondition, byPolicy},
		{"INT64 out of range", wire.Insert, texts("99999999999999999999", "big"), codes.FailedPrecondition, byPolicy},
		{"bytes that are not UTF-8", wire.Insert, texts("5", "\xff"), codes.InvalidArgument, toHandler},
		{"NULL in NOT NULL", wire.Insert, []wire.Value{text("5"), null}, codes.FailedPrecondition, byPolicy},
		{"NOT NULL column missing", wire.InsertOrUpdate, texts("5"), codes.FailedPrecondition, byPolicy},
		{"too long", wire.Insert, texts("5", "longer"), codes.FailedPrecondition, byPolicy},
		{"FOREIGN KEY", wire.Insert, []wire.Value{text("5"), text("fk"), nil, text("77")}, codes.FailedPrecondition, byPolicy},
		{"CHECK", wire.Insert, []wire.Value{text("5"), text("ck"), nil, nil, text("3")}, codes.OutOfRange, byPolicy},
		{"update of a missing row", wire.Update, texts("5", "gone"), codes.NotFound, always},
		{"delete of a missing row", wire.Delete, texts("5"), codes.OK, never},
	}
	c := connect(t, f.target)
	for _, tt := range tests {
		for _, method := range []writer.Method{writer.BatchWrite, writer.Commit} {
			for _, policy := range []writer.ConstraintPolicy{writer.FailJob, writer.RouteToFailureHandler} {
				for _, handled := range []bool{false, true} {
					name := fmt.Sprintf("%s, method %d, policy %d, handled %v", tt.name, method, policy, handled)
					t.Run(name, func(t *testing.T) {
						if _, err := write(t, c, quick(writer.Options{}), []writer.Record{
							{Table: table, Operation: wire.InsertOrUpdate, Values: texts("1", "one", "one@x")},
							{Table: table, Operation: wire.Delete, Values: texts("2")},
							{Table: table, Operation: wire.Delete, Values: texts("5")},
						}, 10); err != nil {
							t.Fatal(err)
						}
						var handler refusals
						opt := quick(writer.Options{Method: method, Constraint: policy})
						if handled {
							opt.Refuser = &handler
						}
						records := []writer.Record{
							{Table: table, Operation: wire.Insert, Values: texts("2", "two")},
							{Table: table, Operation: tt.op, Values: tt.values},
							{Table: table, Operation: wire.Update, Values: texts("1", "again")},
						}
						w, err := write(t, c, opt, records, 3)
						wantFail := tt.fails == always || tt.fails == toHandler && !handled || tt.fails == byPolicy && !(handled && policy == writer.RouteToFailureHandler)
						if (err != nil) != wantFail {
							t.Fatalf("Run returned %v", err)
						}
						undecided, _ := w.Undecided()
						if err == nil && undecided > 0 {
							t.Errorf("%d undecided", undecided)
						}
						checkBalance(t, opt.Progress, 3, undecided)
						if tt.code != codes.OK && opt.Progress.Refused.Load() != 1 {
							t.Errorf("refused %d, want 1", opt.Progress.Refused.Load())
						}
						if wantFail {
							checkFault(t, err, tt.code, "write in.ndjson:2 to table T: ")
							return
						}
						if tt.code == codes.OK {
							return
						}
						if len(handler.list) != 1 || handler.flushed != 1 {
							t.Fatalf("%d refusals, %d flushes", len(handler.list), handler.flushed)
						}
						got := handler.list[0]
						if got.Code != tt.code || got.Position.Line != 2 || !got.Sent || got.Table != "T" || got.Operation != tt.op || got.UnknownOutcome {
							t.Errorf("refusal %+v", got)
						}
						if rows := f.rows("SELECT Id, Name FROM T"); rows["1"] != "again" || rows["2"] != "two" || len(rows) != 2 {
							t.Errorf("rows %v", rows)
						}
					})
				}
			}
		}
	}
}

func checkFault(t *testing.T, err error, code codes.Code, prefix string) {
	t.Helper()
	if fault.Code(err) != code || !strings.HasPrefix(fault.Text(err, false), prefix) {
		t.Errorf("got %v %q, want %v %q", fault.Code(err), fault.Text(err, false), code, prefix)
	}
	if strings.Contains(fault.Text(err, false), "77") {
		t.Errorf("the error shows a value: %v", err)
	}
}

// TestUndecidedAreSentAgain answers a call of four groups in all the ways that
// leave some undecided, and wants exactly those in the next call.
func TestUndecidedAreSentAgain(t *testing.T) {
	stall := func(stream spannerpb.Spanner_BatchWriteServer) error {
		<-stream.Context().Done()
		return stream.Context().Err()
	}
	delay := durationpb.New(30 * time.Millisecond)
	exhausted, _ := status.New(codes.ResourceExhausted, "slow down").WithDetails(&errdetails.RetryInfo{RetryDelay: delay})
	type server = func(stream spannerpb.Spanner_BatchWriteServer) error
	tests := []struct {
		name    string
		first   server
		again   []string // ids in the second call
		unknown []string // ids whose outcome was unknown
		pause   time.Duration
	}{
		{"group statuses", func(s spannerpb.Spanner_BatchWriteServer) error {
			return errors.Join(answer(s, codes.OK, "", 0), answer(s, codes.Aborted, "conflict", 1, 2), answer(s, codes.OK, "", 3))
		}, []string{"1", "2"}, nil, 0},
		{"a group may have been applied", func(s spannerpb.Spanner_BatchWriteServer) error {
			return errors.Join(answer(s, codes.Unavailable, "", 0), answer(s, codes.DeadlineExceeded, "", 1), answer(s, codes.ResourceExhausted, "", 2), answer(s, codes.OK, "", 3))
		}, []string{"0", "1", "2"}, []string{"0", "1"}, 0},
		{"stream breaks", func(s spannerpb.Spanner_BatchWriteServer) error {
			return errors.Join(answer(s, codes.OK, "", 2), status.Error(codes.Unavailable, "gone"))
		}, []string{"0", "1", "3"}, []string{"0", "1", "3"}, 0},
		{"stream ends early", func(s spannerpb.Spanner_BatchWriteServer) error { return answer(s, codes.OK, "", 3, 0) }, []string{"1", "2"}, []string{"1", "2"}, 0},
		{"nothing at all", func(s spannerpb.Spanner_BatchWriteServer) error { return nil }, []string{"0", "1", "2", "3"}, []string{"0", "1", "2", "3"}, 0},
		{"broken connection", func(s spannerpb.Spanner_BatchWriteServer) error {
			return status.Error(codes.Internal, "stream terminated by RST_STREAM with error code: 2")
		}, []string{"0", "1", "2", "3"}, []string{"0", "1", "2", "3"}, 0},
		{"stream stalls", func(s spannerpb.Spanner_BatchWriteServer) error {
			return errors.Join(answer(s, codes.OK, "", 1), stall(s))
		}, []string{"0", "2", "3"}, []string{"0", "2", "3"}, 0},
		{"server names a pause", func(s spannerpb.Spanner_BatchWriteServer) error { return exhausted.Err() }, []string{"0", "1", "2", "3"}, []string{"0", "1", "2", "3"}, delay.AsDuration()},
		{"group names a pause", func(s spannerpb.Spanner_BatchWriteServer) error {
			return errors.Join(answer(s, codes.OK, "", 0, 1, 2), s.Send(&spannerpb.BatchWriteResponse{Indexes: []int32{3}, Status: exhausted.Proto()}))
		}, []string{"3"}, nil, delay.AsDuration()},
		{"answered twice", func(s spannerpb.Spanner_BatchWriteServer) error {
			return errors.Join(answer(s, codes.OK, "", 0, 1, 2), answer(s, codes.Aborted, "", 2, 3, 3))
		}, []string{"3"}, nil, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var retries []writer.Retry
			f := serve(t, &fake{batchWrite: func(call int, req *spannerpb.BatchWriteRequest, s spannerpb.Spanner_BatchWriteServer) error {
				if call == 1 {
					return tt.first(s)
				}
				for i := range req.MutationGroups { // their outcomes show what the writer knows
					if err := answer(s, codes.AlreadyExists, "there", int32(i)); err != nil {
						return err
					}
				}
				return nil
			}})
			var refused refusals
			opt := quick(writer.Options{BatchWriteTimeout: 100 * time.Millisecond, Refuser: &refused, OnRetry: func(r writer.Retry) { retries = append(retries, r) }})
			if _, err := write(t, connect(t, f.target), opt, numbered(plainTable(t, 1), 4), 4); err != nil {
				t.Fatal(err)
			}
			if len(f.batches) != 2 || !slices.Equal(ids(f.batches[1]), tt.again) {
				t.Fatalf("%d calls, the second with %v, want %v", len(f.batches), ids(f.batches[1]), tt.again)
			}
			var unknown []string
			for _, r := range refused.list {
				if r.UnknownOutcome {
					unknown = append(unknown, string(r.Raw))
				}
			}
			if !slices.Equal(unknown, tt.unknown) {
				t.Errorf("unknown outcomes %v, want %v", unknown, tt.unknown)
			}
			if len(retries) != 1 || retries[0].Records != len(tt.again) || retries[0].Pause < tt.pause || retries[0].Attempt != 1 {
				t.Errorf("retries %+v", retries)
			}
			if opt.Progress.Retried.Load() != int64(len(tt.again)) || opt.Progress.Batches.Load() != 2 {
				t.Errorf("%d retried, %d batches", opt.Progress.Retried.Load(), opt.Progress.Batches.Load())
			}
			checkBalance(t, opt.Progress, 4, 0)
		})
	}
}

// ids are the first values of all groups.
func ids(req *spannerpb.BatchWriteRequest) []string {
	var out []string
	for _, g := range req.GetMutationGroups() {
		out = append(out, idOf(g.Mutations[0]))
	}
	return out
}

func idOf(m *spannerpb.Mutation) string {
	if d := m.GetDelete(); d != nil {
		if keys := d.GetKeySet().GetKeys(); len(keys) > 0 {
			return keys[0].Values[0].GetStringValue()
		}
		return "range"
	}
	for _, w := range []*spannerpb.Mutation_Write{m.GetInsert(), m.GetUpdate(), m.GetInsertOrUpdate(), m.GetReplace()} {
		if w != nil {
			return w.Values[0].Values[0].GetStringValue()
		}
	}
	return ""
}

func TestRunFails(t *testing.T) {
	tests := []struct {
		name  string
		fail  error
		calls int
		code  codes.Code
		text  string
		hint  string
	}{
		{"attempts run out", status.Error(codes.Unavailable, "down"), 3, codes.Unavailable,
			"write in.ndjson:1 to table T: undecided after 3 attempts, the last: down", "--recovery-max-attempts"},
		{"no permission", status.Error(codes.PermissionDenied, "no"), 1, codes.PermissionDenied,
			"write 2 records from in.ndjson:1 on: no", "roles/spanner.databaseUser"},
		{"old emulator", status.Error(codes.Unimplemented, ""), 1, codes.Unimplemented,
			"write 2 records from in.ndjson:1 on: the server does not serve BatchWrite", "1.5.31"},
		{"session", status.Error(codes.NotFound, "Session not found"), 1, codes.NotFound, "write 2 records from in.ndjson:1 on: NOT_FOUND: the message is hidden", ""},
		{"bug of the server", status.Error(codes.Internal, "oops"), 1, codes.Internal, "write 2 records from in.ndjson:1 on: INTERNAL: the message is hidden", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := serve(t, &fake{batchWrite: func(int, *spannerpb.BatchWriteRequest, spannerpb.Spanner_BatchWriteServer) error { return tt.fail }})
			opt := quick(writer.Options{MaxAttempts: 3})
			w, err := write(t, connect(t, f.target), opt, numbered(plainTable(t, 1), 2), 2)
			if err == nil || !strings.HasPrefix(fault.Text(err, false), tt.text) || fault.Code(err) != tt.code || !strings.Contains(fault.Hint(err), tt.hint) {
				t.Errorf("got %v %v (%s)", fault.Code(err), err, fault.Hint(err))
			}
			if len(f.batches) != tt.calls {
				t.Errorf("%d calls, want %d", len(f.batches), tt.calls)
			}
			n, first := w.Undecided()
			if n != 2 || first.String() != "in.ndjson:1" {
				t.Errorf("%d undecided from %v", n, first)
			}
			checkBalance(t, opt.Progress, 2, 2)
		})
	}
}

// TestAnswersStand lets the stream break, end badly or stall behind answers for
// all groups.
func TestAnswersStand(t *testing.T) {
	for name, end := range map[string]func(spannerpb.Spanner_BatchWriteServer) error{
		"status": func(spannerpb.Spanner_BatchWriteServer) error { return status.Error(codes.PermissionDenied, "late") },
		"stall": func(s spannerpb.Spanner_BatchWriteServer) error {
			<-s.Context().Done()
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := serve(t, &fake{batchWrite: func(_ int, req *spannerpb.BatchWriteRequest, s spannerpb.Spanner_BatchWriteServer) error {
				return errors.Join(answerAll(len(req.MutationGroups), s), end(s))
			}})
			opt := quick(writer.Options{BatchWriteTimeout: time.Minute})
			begun := time.Now()
			if _, err := write(t, connect(t, f.target), opt, numbered(plainTable(t, 1), 3), 3); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(begun); len(f.batches) != 1 || took > 20*time.Second {
				t.Errorf("%d calls in %v", len(f.batches), took)
			}
			checkBalance(t, opt.Progress, 3, 0)
		})
	}
}

// TestEveryRefusedRecordIsNamed ends a run with several records at once: one is
// the error, the others are told of.
func TestEveryRefusedRecordIsNamed(t *testing.T) {
	f := serve(t, &fake{batchWrite: func(_ int, _ *spannerpb.BatchWriteRequest, s spannerpb.Spanner_BatchWriteServer) error {
		return errors.Join(answer(s, codes.OK, "", 0), answer(s, codes.NotFound, "gone", 1, 2), answer(s, codes.InvalidArgument, "bad", 3), answer(s, codes.AlreadyExists, "there", 4))
	}})
	for name, refuser := range map[string]writer.Refuser{"fail": writer.Fail(), "handler": &refusals{}} {
		var further []string
		opt := quick(writer.Options{Refuser: refuser, OnFurther: func(r *writer.Refusal) {
			further = append(further, r.Position.String()+" "+r.Code.String()+" "+fault.Text(r.Err, false))
		}})
		_, err := write(t, connect(t, f.target), opt, numbered(plainTable(t, 1), 5), 5)
		if err == nil || !strings.HasPrefix(err.Error(), "write in.ndjson:2 to table T: NOT_FOUND") {
			t.Errorf("%s: got %v", name, err)
		}
		want := 1 // the rest is with the handler
		if name == "fail" {
			want = 3
		}
		if len(further) != want || !strings.HasPrefix(further[0], "in.ndjson:3 NotFound write in.ndjson:3 to table T: NOT_FOUND") {
			t.Errorf("%s: told of %q", name, further)
		}
		if handled, ok := refuser.(*refusals); ok && len(handled.list) != 2 {
			t.Errorf("%d records were handled", len(handled.list))
		}
		checkBalance(t, opt.Progress, 5, 0)
	}
}

func TestAnswerForNoGroup(t *testing.T) {
	f := serve(t, &fake{batchWrite: func(_ int, _ *spannerpb.BatchWriteRequest, s spannerpb.Spanner_BatchWriteServer) error {
		return answer(s, codes.OK, "", 7)
	}})
	_, err := write(t, connect(t, f.target), quick(writer.Options{}), numbered(plainTable(t, 1), 2), 2)
	if fault.Code(err) != codes.Internal {
		t.Errorf("got %v", err)
	}
}

// TestFailureLetsCallsFinish fails one call while another is under way, whose
// outcome must count.
func TestFailureLetsCallsFinish(t *testing.T) {
	var both sync.WaitGroup
	both.Add(2)
	failed := make(chan struct{})
	f := serve(t, &fake{batchWrite: func(call int, req *spannerpb.BatchWriteRequest, s spannerpb.Spanner_BatchWriteServer) error {
		both.Done()
		both.Wait()
		if call == 1 {
			defer close(failed)
			return status.Error(codes.PermissionDenied, "no")
		}
		<-failed
		time.Sleep(20 * time.Millisecond) // the writer has heard of the failure by then, mostly
		return answerAll(len(req.MutationGroups), s)
	}})
	opt := quick(writer.Options{MaxBatchMutations: 5, Parallelism: 2})
	w, err := write(t, connect(t, f.target), opt, numbered(plainTable(t, 1), 30), 30)
	if fault.Code(err) != codes.PermissionDenied {
		t.Fatalf("got %v", err)
	}
	if n, _ := w.Undecided(); n != 25 || opt.Progress.Applied.Load() != 5 {
		t.Errorf("%d undecided, %d applied", n, opt.Progress.Applied.Load())
	}
	checkBalance(t, opt.Progress, 30, 25)
}

func TestInterrupted(t *testing.T) {
	for name, answers := range map[string]bool{"calls finish": true, "calls hang": false} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			f := serve(t, &fake{batchWrite: func(_ int, req *spannerpb.BatchWriteRequest, s spannerpb.Spanner_BatchWriteServer) error {
				cancel()
				if !answers {
					<-s.Context().Done()
					return s.Context().Err()
				}
				return answerAll(len(req.MutationGroups), s)
			}})
			opt := quick(writer.Options{Parallelism: 1, MaxBatchMutations: 10, DrainTimeout: time.Minute})
			if !answers {
				opt.DrainTimeout = 20 * time.Millisecond
			}
			w, err := writer.New(connect(t, f.target), opt)
			if err != nil {
				t.Fatal(err)
			}
			err = run(t, ctx, w, numbered(plainTable(t, 1), 100), 100, nil)
			if !errors.Is(err, context.Canceled) || err.Error() != "write records: interrupted" {
				t.Errorf("got %v", err)
			}
			n, first := w.Undecided()
			want := int64(100)
			if answers {
				want = 90
			}
			if n != want || first.Line != 101-want {
				t.Errorf("%d undecided from %v, want %d", n, first, want)
			}
			checkBalance(t, opt.Progress, 100, want)
		})
	}
}

// TestUnsentRefusals refuses records that could not be decoded, and such as have
// no complete key, table or operation.
func TestUnsentRefusals(t *testing.T) {
	f := serve(t, &fake{})
	table := plainTable(t, 1)
	records := []writer.Record{
		{Err: errors.New("malformed JSON")},
		{Table: table, Operation: wire.Insert, Err: &fault.Error{Code: codes.OutOfRange, Op: "read", Object: "in.ndjson:2, column Id", Reason: "the number is too large", Detail: "99999"}},
		{TableName: "Nowhere", Err: fault.New(codes.NotFound, "read", "in.ndjson:3", "no such table")},
		{Table: table, Values: texts("1")},
		{Operation: wire.Insert},
		{Table: table, Operation: wire.Delete},
		{Table: table, Operation: wire.Insert, Values: texts("1")},
	}
	want := []string{
		"INVALID_ARGUMENT read in.ndjson:1: malformed JSON",
		"OUT_OF_RANGE read in.ndjson:2, column Id: the number is too large: 99999",
		"NOT_FOUND read in.ndjson:3: no such table",
		"INVALID_ARGUMENT write in.ndjson:4 to table T: the record names no operation",
		"INVALID_ARGUMENT write in.ndjson:5: the record names no table",
		"INVALID_ARGUMENT write in.ndjson:6 to table T: a delete needs the whole key; missing: Id",
	}
	var refused refusals
	opt := quick(writer.Options{Refuser: &refused})
	if _, err := write(t, connect(t, f.target), opt, records, 10); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range refused.list {
		got = append(got, fault.CodeName(r.Code)+" "+fault.Text(r.Err, true))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	checkBalance(t, opt.Progress, 7, 0)
	_, err := write(t, connect(t, f.target), quick(writer.Options{}), records[1:2], 1)
	if err == nil || err.Error() != "read in.ndjson:2, column Id: the number is too large: the message is hidden as it can hold record values (--show-values=true shows it)" {
		t.Errorf("got %v", err)
	}
}

func TestMaxRefused(t *testing.T) {
	f := serve(t, &fake{batchWrite: func(_ int, req *spannerpb.BatchWriteRequest, s spannerpb.Spanner_BatchWriteServer) error {
		for i, id := range ids(req) {
			code := codes.OK
			if strings.HasSuffix(id, "7") {
				code = codes.AlreadyExists
			}
			if err := answer(s, code, "", int32(i)); err != nil {
				return err
			}
		}
		return nil
	}})
	tests := []struct {
		limit   string
		records int
		fails   bool
	}{
		{"", 100, false}, {"10", 100, false}, {"9", 100, true}, {"0", 5, false}, {"0", 100, true},
		{"10%", 100, false}, {"9.9%", 100, true}, {"10%", 5000, false}, {"5%", 5000, true}, {"100%", 100, false},
	}
	for _, tt := range tests {
		limit, err := writer.ParseRefusalLimit(tt.limit)
		if err != nil {
			t.Fatal(err)
		}
		_, err = write(t, connect(t, f.target), quick(writer.Options{Refuser: new(refusals), MaxRefused: limit}), numbered(plainTable(t, 1), tt.records), 500)
		if (err != nil) != tt.fails {
			t.Errorf("limit %q, %d records: %v", tt.limit, tt.records, err)
		}
		if limit.String() != tt.limit {
			t.Errorf("limit %q is printed %q", tt.limit, limit)
		}
	}
	for _, bad := range []string{"-1", "1.5", "x", "101%", "-1%", "%", "NaN%"} {
		if _, err := writer.ParseRefusalLimit(bad); err == nil {
			t.Errorf("limit %q was taken", bad)
		}
	}
}

func TestProgressNamesErrors(t *testing.T) {
	f := serve(t, &fake{batchWrite: func(call int, req *spannerpb.BatchWriteRequest, s spannerpb.Spanner_BatchWriteServer) error {
		switch call {
		case 1:
			return status.Error(codes.Unavailable, "")
		case 2:
			return errors.Join(answer(s, codes.Aborted, "", 0), answer(s, codes.AlreadyExists, "", 1), answer(s, codes.OK, "", 2))
		}
		return answerAll(len(req.MutationGroups), s)
	}})
	opt := quick(writer.Options{Refuser: new(refusals)})
	if _, err := write(t, connect(t, f.target), opt, numbered(plainTable(t, 1), 3), 3); err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for code, n := range opt.Progress.Errors() {
		got[code] = n
	}
	if len(got) != 3 || got["UNAVAILABLE"] != 1 || got["ABORTED"] != 1 || got["ALREADY_EXISTS"] != 1 {
		t.Errorf("errors %v", got)
	}
	p := opt.Progress
	if p.MaxMutations.Load() != 3 || p.MaxCells.Load() != 6 || p.MaxBytes.Load() == 0 || p.BytesSent.Load() >= p.MaxBytes.Load() || p.Retried.Load() != 4 {
		t.Errorf("maxima %d, %d, %d; %d bytes sent, %d retried", p.MaxMutations.Load(), p.MaxCells.Load(), p.MaxBytes.Load(), p.BytesSent.Load(), p.Retried.Load())
	}
}
