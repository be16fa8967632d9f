package writer_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/fault"
	"spanbulk/internal/writer"
)

// refuseIDs refuses a commit that has one of the ids.
func refuseIDs(code codes.Code, refused ...string) func(int, *spannerpb.CommitRequest) error {
	return func(_ int, req *spannerpb.CommitRequest) error {
		for _, m := range req.Mutations {
			if slices.Contains(refused, idOf(m)) {
				return status.Error(code, "refused: "+idOf(m))
			}
		}
		return nil
	}
}

// TestCommitHalves wants the refused records found in few calls, and all others
// applied once.
func TestCommitHalves(t *testing.T) {
	tests := []struct {
		name    string
		code    codes.Code
		refused []string
		calls   int
	}{
		{"none", codes.OK, nil, 1},
		// 64, then one half refused and one taken, down to the record alone.
		{"one", codes.AlreadyExists, []string{"17"}, 1 + 2*6},
		{"two far apart", codes.InvalidArgument, []string{"0", "63"}, 1 + 2 + 4*5},
		{"by the constraint policy", codes.FailedPrecondition, []string{"40"}, 1 + 2*6},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := serve(t, &fake{commit: refuseIDs(tt.code, tt.refused...)})
			var refused refusals
			opt := quick(writer.Options{Method: writer.Commit, Refuser: &refused, Constraint: writer.RouteToFailureHandler, MaxAttempts: 1})
			if _, err := write(t, connect(t, f.target), opt, numbered(plainTable(t, 1), 64), 64); err != nil {
				t.Fatal(err)
			}
			if len(f.commits) != tt.calls {
				t.Errorf("%d calls, want %d", len(f.commits), tt.calls)
			}
			applied := map[string]int{}
			for _, c := range f.commits {
				if refuseIDs(codes.Internal, tt.refused...)(0, c) == nil {
					for _, m := range c.Mutations {
						applied[idOf(m)]++
					}
				}
			}
			for id, n := range applied {
				if n != 1 {
					t.Errorf("record %s was applied %d times", id, n)
				}
			}
			var got []string
			for _, r := range refused.list {
				got = append(got, string(r.Raw))
				if r.Code != tt.code || r.Message != "refused: "+string(r.Raw) || r.UnknownOutcome {
					t.Errorf("refusal %+v", r)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, tt.refused) || len(applied) != 64-len(tt.refused) {
				t.Errorf("%d applied, refused %v", len(applied), got)
			}
			checkBalance(t, opt.Progress, 64, 0)
			for code, n := range opt.Progress.Errors() {
				if n != int64(len(tt.refused)) {
					t.Errorf("%s is counted %d times for %d records", code, n, len(tt.refused))
				}
			}
		})
	}
}

func TestCommitFailsNamingTheRecord(t *testing.T) {
	f := serve(t, &fake{commit: refuseIDs(codes.NotFound, "5")})
	opt := quick(writer.Options{Method: writer.Commit})
	w, err := write(t, connect(t, f.target), opt, numbered(plainTable(t, 1), 9), 9)
	checkFault(t, err, codes.NotFound, "write in.ndjson:6 to table T: ")
	n, _ := w.Undecided()
	checkBalance(t, opt.Progress, 9, n)
}

// TestCommitSessionMissing wants no halving where the request itself is wrong.
func TestCommitSessionMissing(t *testing.T) {
	missing, err := status.New(codes.NotFound, "Session not found").WithDetails(
		&errdetails.ResourceInfo{ResourceType: "type.googleapis.com/google.spanner.v1.Session", ResourceName: "s"})
	if err != nil {
		t.Fatal(err)
	}
	f := serve(t, &fake{commit: func(int, *spannerpb.CommitRequest) error { return missing.Err() }})
	_, err = write(t, connect(t, f.target), quick(writer.Options{Method: writer.Commit}), numbered(plainTable(t, 1), 9), 9)
	if fault.Code(err) != codes.NotFound || !strings.HasPrefix(err.Error(), "write 9 records from in.ndjson:1 on: ") || len(f.commits) != 1 {
		t.Errorf("got %v in %d calls", err, len(f.commits))
	}
}

// TestCommitTriesAgain wants transient failures counted here, not retried by the
// generated client, and an unknown outcome kept in mind.
func TestCommitTriesAgain(t *testing.T) {
	for _, tt := range []struct {
		code    codes.Code
		unknown bool
	}{{codes.Unavailable, true}, {codes.Aborted, false}, {codes.ResourceExhausted, true}, {codes.DeadlineExceeded, true}} {
		f := serve(t, &fake{commit: func(call int, _ *spannerpb.CommitRequest) error {
			if call < 3 {
				return status.Error(tt.code, "again")
			}
			return status.Error(codes.AlreadyExists, "there")
		}})
		var refused refusals
		delay := 100 * time.Millisecond
		opt := quick(writer.Options{Method: writer.Commit, Refuser: &refused, MaxCommitDelay: &delay})
		if _, err := write(t, connect(t, f.target), opt, numbered(plainTable(t, 1), 1), 1); err != nil {
			t.Fatal(err)
		}
		if len(f.commits) != 3 || opt.Progress.Retried.Load() != 2 || refused.list[0].UnknownOutcome != tt.unknown {
			t.Errorf("%v: %d calls, %d retried, %+v", tt.code, len(f.commits), opt.Progress.Retried.Load(), refused.list)
		}
		if got := f.commits[2].MaxCommitDelay.AsDuration(); got != delay {
			t.Errorf("max commit delay %v", got)
		}
	}
}

func TestOptionsValidate(t *testing.T) {
	d := func(v time.Duration) *time.Duration { return &v }
	tests := []struct {
		opt  writer.Options
		want string
	}{
		{writer.Options{}, ""},
		{writer.Options{MaxBatchCells: 80_000, MaxBatchMutations: 80_000, MaxBatchBytes: 100 << 20}, ""},
		{writer.Options{MaxBatchCells: 80_001}, "max batch cells is 80001"},
		{writer.Options{MaxBatchMutations: -1}, "max batch mutations is -1"},
		{writer.Options{MaxBatchBytes: 100<<20 + 1}, "max batch bytes is 104857601"},
		{writer.Options{BatchWriteTimeout: time.Microsecond}, "batch write timeout is 1µs"},
		{writer.Options{InitialBackoff: 20 * time.Second, MaxBackoff: 10 * time.Second}, "recovery max backoff is 10s"},
		{writer.Options{MaxBackoff: 100 * time.Millisecond}, "recovery max backoff is 100ms"},
		{writer.Options{InitialBackoff: 20 * time.Second}, ""},
		{writer.Options{Method: writer.Commit, MaxCommitDelay: d(0)}, ""},
		{writer.Options{Method: writer.Commit, MaxCommitDelay: d(501 * time.Millisecond)}, "max commit delay is 501ms"},
		{writer.Options{MaxCommitDelay: d(0)}, "max commit delay needs the write method commit"},
		{writer.Options{RateLimit: -1}, "rate limit is -1"},
	}
	for _, tt := range tests {
		got := ""
		if err := tt.opt.Validate(); err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, tt.want) || (tt.want == "") != (got == "") {
			t.Errorf("%+v: got %q, want %q", tt.opt, got, tt.want)
		}
	}
}
