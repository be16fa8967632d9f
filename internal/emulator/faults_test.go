package emulator_test

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"cloud.google.com/go/spanner"
	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"spanbulk/internal/emulator"
)

// oneCall sets a fault for the next call of a method.
func (f *fixture) oneCall(method string, fault emulator.Fault) {
	f.srv.Faults().Set(emulator.Rule{Method: method, Fault: fault})
}

// messages reads a stream to its end or first error and counts.
func messages(t testing.TB, f *fixture) (int, error) {
	t.Helper()
	req := allChunks()
	req.Session = f.session
	stream, err := f.api().StreamingRead(t.Context(), req)
	for n := 0; ; n++ {
		if err == nil {
			_, err = stream.Recv()
		}
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

func TestFaultKinds(t *testing.T) {
	f, _ := chunkFixture(t, 10)
	f.srv.SetMessages(emulator.Messages{MaxRows: 1})
	for _, c := range []struct {
		name  string
		fault emulator.Fault
		sent  int
		code  codes.Code
		least time.Duration
	}{
		{"fails", emulator.Fault{Code: codes.Unavailable}, 0, codes.Unavailable, 0},
		{"cut", emulator.Fault{Code: codes.Internal, AfterMessages: 4}, 4, codes.Internal, 0},
		{"cut behind the last", emulator.Fault{Code: codes.Internal, AfterMessages: 10}, 10, codes.Internal, 0},
		{"cut never", emulator.Fault{Code: codes.Internal, AfterMessages: 11}, 10, codes.OK, 0},
		{"ends early", emulator.Fault{EndEarly: true, AfterMessages: 3}, 3, codes.OK, 0},
		{"ends at once", emulator.Fault{EndEarly: true}, 0, codes.OK, 0},
		{"lost", emulator.Fault{Code: codes.Unavailable, AfterWork: true}, 0, codes.Unavailable, 0},
		{"stall", emulator.Fault{Stall: 30 * time.Millisecond}, 10, codes.OK, 30 * time.Millisecond},
		{"stall within", emulator.Fault{Stall: 30 * time.Millisecond, AfterMessages: 3}, 10, codes.OK, 30 * time.Millisecond},
		{"drip", emulator.Fault{MessageDelay: 5 * time.Millisecond}, 10, codes.OK, 50 * time.Millisecond},
		{"connection closed", emulator.Fault{CloseConnection: true}, 0, codes.Unavailable, 0},
		// Messages sent just before may be lost with the connection.
		{"connection closed within", emulator.Fault{CloseConnection: true, AfterMessages: 3}, -1, codes.Unavailable, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			f.oneCall("StreamingRead", c.fault)
			begun := time.Now()
			n, err := messages(t, f)
			if status.Code(err) != c.code || c.sent >= 0 && n != c.sent || n > 10 {
				t.Errorf("%d messages, error %v; want %d, %v", n, err, c.sent, c.code)
			}
			if d := time.Since(begun); d < c.least {
				t.Errorf("over after %v, want %v at least", d, c.least)
			}
			// The next call is well, over a new connection if need be.
			wantCode(t, f.waitReady(t), codes.OK)
		})
	}
}

// waitReady makes a call that waits for a connection.
func (f *fixture) waitReady(t testing.TB) error {
	_, err := f.api().GetSession(t.Context(), &spannerpb.GetSessionRequest{Name: f.session}, grpc.WaitForReady(true))
	return err
}

// A closed connection takes the calls with it that share it.
func TestClosedConnectionBreaksOtherCalls(t *testing.T) {
	f, _ := chunkFixture(t, 1)
	f.srv.Faults().Set(
		emulator.Rule{Method: "StreamingRead", Fault: emulator.Fault{Stall: time.Hour}},
		emulator.Rule{Method: "Commit", Fault: emulator.Fault{CloseConnection: true}})
	stalled := make(chan error, 1)
	go func() {
		_, err := messages(t, f)
		stalled <- err
	}()
	for f.srv.Faults().Calls("StreamingRead") == 0 {
		wantCode(t, f.waitReady(t), codes.OK)
	}
	_, err := f.tryCommit(t, deleteFrom(0))
	wantCode(t, err, codes.Unavailable)
	wantCode(t, <-stalled, codes.Unavailable)
}

func TestErrorDetailsStandInTrailers(t *testing.T) {
	f, _ := chunkFixture(t, 1)
	delay := 7 * time.Millisecond
	f.oneCall("Commit", emulator.Fault{Code: codes.Aborted, RetryDelay: &delay})
	_, err := f.tryCommit(t, deleteFrom(0))
	wantCode(t, err, codes.Aborted)
	if got := status.Convert(err).Details(); len(got) != 1 || got[0].(*errdetails.RetryInfo).GetRetryDelay().AsDuration() != delay {
		t.Errorf("details %v", got)
	}
	var trailer metadata.MD
	_, err = f.api().GetSession(t.Context(), &spannerpb.GetSessionRequest{Name: f.session + "0"}, grpc.Trailer(&trailer))
	wantCode(t, err, codes.NotFound)
	if len(trailer.Get("google.rpc.resourceinfo-bin")) != 1 {
		t.Errorf("trailer %v", trailer)
	}
}

// The official client comes through random faults, and the same seed gives the
// same ones.
func TestChaos(t *testing.T) {
	f := start(t, emulator.Options{}, usersDDL)
	c := f.client()
	f.srv.Faults().SetChaos(0.3, 7)
	for i := range 8 {
		_, err := c.Apply(t.Context(), []*spanner.Mutation{spanner.InsertOrUpdate("Users", []string{"ID", "Name"}, []any{i, "x"})})
		if err != nil {
			t.Fatal(err)
		}
		if got := ids(t, c.Single().Read(t.Context(), "Users", spanner.AllKeys(), []string{"ID"})); len(got) != i+1 {
			t.Fatalf("read %v after %d rows", got, i+1)
		}
	}
	outcome := func(seed uint64) string {
		f.srv.Faults().SetChaos(0.5, seed)
		out := ""
		for range 20 {
			_, err := f.api().GetSession(t.Context(), &spannerpb.GetSessionRequest{Name: f.session}, grpc.WaitForReady(true))
			out += fmt.Sprint(status.Code(err), " ")
		}
		return out
	}
	if a, b := outcome(1), outcome(1); a != b {
		t.Errorf("the same seed gave\n%s\n%s", a, b)
	}
	if outcome(1) == outcome(2) {
		t.Error("two seeds gave the same faults")
	}
}
