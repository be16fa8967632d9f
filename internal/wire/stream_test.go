package wire_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/randtest"
	"spanbulk/internal/wire"
)

var (
	errUnavailable = status.Error(codes.Unavailable, "connection lost")
	quick          = wire.Retry{Initial: time.Nanosecond, Max: time.Nanosecond}
)

func newFake(t *testing.T, rows, columns int) *fakeServer {
	r := randtest.New(t)
	return &fakeServer{t: t, r: r, columns: columns, rows: randomRows(r, rows, columns), maxValues: 2 * columns}
}

// TestStreamAnyCut reads results cut into messages and chunks anywhere, with
// breaks anywhere, with tokens, without and with useless ones.
func TestStreamAnyCut(t *testing.T) {
	r := randtest.New(t)
	for i := range randtest.Rounds(400) {
		columns := 1 + r.IntN(4)
		s := &fakeServer{
			t: t, r: r, columns: columns,
			rows:       randomRows(r, r.IntN(30), columns),
			maxValues:  1 + r.IntN(3*columns),
			chunk:      0.98 * r.Float64(), // near 1 a value would hardly ever end
			token:      []float64{0, 0.1, 1}[r.IntN(3)],
			tokenInRow: r.IntN(4) == 0,
			last:       r.IntN(2) == 0,
		}
		breaks := r.IntN(20)
		if r.IntN(8) == 0 { // a constant token names no point to resume at
			s.sameToken, breaks = true, 0
		}
		s.fault = func(attempt int) (int, error) {
			if attempt >= breaks {
				return 0, nil
			}
			return r.IntN(6), errUnavailable
		}
		hold := []int{1, 200, 1 << 20}[r.IntN(3)]
		name := fmt.Sprintf("round %d: %d rows, %d columns, chunk %.2f, token %.2f, in row %v, hold %d, breaks %d",
			i, len(s.rows), columns, s.chunk, s.token, s.tokenInRow, hold, breaks)
		stream := wire.NewStream(t.Context(), s.open, wire.StreamOptions{Retry: quick, HoldBytes: hold})
		got, err := drain(stream)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !checkRows(t, got, s.rows) {
			t.Fatal(name)
		}
	}
}

// TestStreamBreakAtEveryMessage lets every attempt end after each possible
// number of messages in turn.
func TestStreamBreakAtEveryMessage(t *testing.T) {
	for _, token := range []float64{0, 0.3, 1} {
		for _, hold := range []int{1, 1 << 20} {
			t.Run(fmt.Sprintf("token %v hold %d", token, hold), func(t *testing.T) {
				for at := range 40 {
					s := newFake(t, 12, 3)
					s.maxValues, s.chunk, s.token = 1, 0.5, token
					s.fault = func(attempt int) (int, error) {
						if attempt > 3 {
							return 0, nil
						}
						return at, errUnavailable
					}
					got, err := drain(wire.NewStream(t.Context(), s.open, wire.StreamOptions{Retry: quick, HoldBytes: hold}))
					if err != nil {
						t.Fatalf("break after %d messages: %v", at, err)
					}
					if !checkRows(t, got, s.rows) {
						t.Fatalf("break after %d messages", at)
					}
				}
			})
		}
	}
}

// breakOnce ends the first attempt after so many messages.
func breakOnce(after int) func(int) (int, error) {
	return func(attempt int) (int, error) {
		if attempt == 0 {
			return after, errUnavailable
		}
		return 0, nil
	}
}

func TestStreamHoldsBackWhatNoTokenCovers(t *testing.T) {
	s := newFake(t, 10, 1)
	s.maxValues, s.fault = 1, breakOnce(7)
	s.before = func(int) { s.rows = randomRows(s.r, 10, 1) }
	got, err := drain(wire.NewStream(t.Context(), s.open, wire.StreamOptions{Retry: quick}))
	if err != nil {
		t.Fatal(err)
	}
	checkRows(t, got, s.rows) // all of them from the second attempt
}

func TestStreamFailsWhenUnconfirmedRowsComeDifferently(t *testing.T) {
	changes := map[string]func(rows [][]*structpb.Value) [][]*structpb.Value{
		"another order": func(rows [][]*structpb.Value) [][]*structpb.Value {
			rows[3], rows[4] = rows[4], rows[3]
			return rows
		},
		"another value": func(rows [][]*structpb.Value) [][]*structpb.Value {
			rows[6][0] = str("changed")
			return rows
		},
		"fewer rows": func(rows [][]*structpb.Value) [][]*structpb.Value { return rows[:5] },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			s := newFake(t, 10, 1)
			for i := range s.rows {
				s.rows[i][0] = str(fmt.Sprint(i))
			}
			s.maxValues, s.fault = 1, breakOnce(7)
			s.before = func(attempt int) {
				if attempt == 1 {
					s.rows = change(s.rows)
				}
			}
			got, err := drain(wire.NewStream(t.Context(), s.open, wire.StreamOptions{Retry: quick, HoldBytes: 1}))
			if err == nil || !strings.Contains(err.Error(), "in another order") || len(got) != 7 {
				t.Fatalf("got %d rows and error %v; want 7 and a complaint", len(got), err)
			}
		})
	}
}

func TestStreamEnds(t *testing.T) {
	tests := []struct {
		name   string
		change func(*fakeServer)
		want   string
	}{
		{"permanent error at once", func(s *fakeServer) {
			s.fault = func(int) (int, error) { return 0, status.Error(codes.NotFound, "no table") }
		}, "no table"},
		{"permanent error after rows", func(s *fakeServer) {
			s.fault = func(int) (int, error) { return 3, status.Error(codes.FailedPrecondition, "too old") }
		}, "too old"},
		{"INTERNAL of another kind", func(s *fakeServer) {
			s.fault = func(int) (int, error) { return 3, status.Error(codes.Internal, "bug") }
		}, "bug"},
		{"RESOURCE_EXHAUSTED without RetryInfo", func(s *fakeServer) {
			s.fault = func(int) (int, error) { return 3, status.Error(codes.ResourceExhausted, "quota") }
		}, "quota"},
		{"always unavailable", func(s *fakeServer) {
			s.fault = func(int) (int, error) { return 0, errUnavailable }
		}, "no progress"},
		{"inside a row", func(s *fakeServer) {
			s.rows[9] = s.rows[9][:2]
		}, "inside a row"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newFake(t, 10, 3)
			s.maxValues = 1
			tt.change(s)
			retry := quick
			retry.GiveUpAfter = time.Microsecond
			stream := wire.NewStream(t.Context(), s.open, wire.StreamOptions{Retry: retry})
			_, err := drain(stream)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got error %v, want one with %q", err, tt.want)
			}
			if _, again := stream.Next(); again != err {
				t.Errorf("the next call returned %v, not the same error", again)
			}
		})
	}
}

// TestStreamIsPatientWithAServerThatAnswers breaks a stream without tokens again
// and again, longer than a server that is silent would be waited for, but not
// for ever.
func TestStreamIsPatientWithAServerThatAnswers(t *testing.T) {
	for _, tt := range []struct {
		breaks int
		want   string
	}{{50, ""}, {1000, "no progress in"}} {
		s := newFake(t, 10, 1)
		s.maxValues = 1
		s.fault = func(attempt int) (int, error) {
			if attempt < tt.breaks {
				return 3, errUnavailable
			}
			return 0, nil
		}
		retry := wire.Retry{Initial: time.Microsecond, Max: time.Microsecond, GiveUpAfter: 2 * time.Microsecond}
		got, err := drain(wire.NewStream(t.Context(), s.open, wire.StreamOptions{Retry: retry}))
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%d breaks: %v", tt.breaks, err)
		case tt.want == "":
			checkRows(t, got, s.rows)
		case err == nil || !strings.Contains(err.Error(), tt.want):
			t.Errorf("%d breaks: got %v, want an error with %q", tt.breaks, err, tt.want)
		}
	}
}

func TestStreamEndsWithItsContext(t *testing.T) {
	s := newFake(t, 10, 1)
	s.maxValues = 1
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("interrupted")
	s.fault = func(attempt int) (int, error) {
		if attempt == 2 {
			cancel(stop)
		}
		return 1, errUnavailable
	}
	if _, err := drain(wire.NewStream(ctx, s.open, wire.StreamOptions{Retry: quick})); !errors.Is(err, stop) {
		t.Fatalf("got %v, want the context's cause", err)
	}
}

func TestStreamMetadata(t *testing.T) {
	s := newFake(t, 0, 2)
	stream := wire.NewStream(t.Context(), s.open, wire.StreamOptions{})
	meta, err := stream.Metadata()
	if err != nil || len(meta.GetRowType().GetFields()) != 2 {
		t.Fatalf("Metadata() = %v, %v", meta, err)
	}
	if got, err := drain(stream); err != nil || len(got) != 0 {
		t.Fatalf("an empty result gave %d rows, %v", len(got), err)
	}
}

func TestStreamRefusesOtherColumnsAfterABreak(t *testing.T) {
	s := newFake(t, 4, 2)
	s.maxValues, s.fault = 2, breakOnce(1)
	s.before = func(attempt int) {
		if attempt == 1 {
			s.columns, s.rows = 1, randomRows(s.r, 4, 1)
		}
	}
	_, err := drain(wire.NewStream(t.Context(), s.open, wire.StreamOptions{Retry: quick}))
	if err == nil || !strings.Contains(err.Error(), "other columns") {
		t.Fatalf("got %v, want a complaint about the columns", err)
	}
}

func TestStreamCloseEndsTheCall(t *testing.T) {
	s := newFake(t, 10, 1)
	var call context.Context
	stream := wire.NewStream(t.Context(), func(ctx context.Context, token []byte) (wire.Receiver, error) {
		call = ctx
		return s.open(ctx, token)
	}, wire.StreamOptions{})
	if _, err := stream.Metadata(); err != nil {
		t.Fatal(err)
	}
	stream.Close()
	if call.Err() == nil {
		t.Error("the call's context lives on")
	}
	if _, err := stream.Next(); err == nil {
		t.Error("Next after Close returned a row")
	}
}

func TestTransient(t *testing.T) {
	withDelay := func(code codes.Code) error {
		s, err := status.New(code, "later").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(3 * time.Second)})
		if err != nil {
			t.Fatal(err)
		}
		return s.Err()
	}
	tests := []struct {
		err   error
		pause time.Duration
		want  bool
	}{
		{errUnavailable, 0, true},
		{withDelay(codes.Unavailable), 3 * time.Second, true},
		{withDelay(codes.ResourceExhausted), 3 * time.Second, true},
		{status.Error(codes.ResourceExhausted, "quota"), 0, false},
		{status.Error(codes.Internal, "stream terminated by RST_STREAM with code 2"), 0, true},
		{status.Error(codes.Internal, "Received unexpected EOS on DATA frame from server"), 0, true},
		{status.Error(codes.Internal, "bug"), 0, false},
		{status.Error(codes.Aborted, "conflict"), 0, false},
		{status.Error(codes.DeadlineExceeded, "late"), 0, false},
		{context.Canceled, 0, false},
		{fmt.Errorf("read: %w", errUnavailable), 0, true},
		{errors.New("something else"), 0, false},
		{nil, 0, false},
	}
	for _, tt := range tests {
		if pause, ok := wire.Transient(tt.err); pause != tt.pause || ok != tt.want {
			t.Errorf("Transient(%v) = %v, %v; want %v, %v", tt.err, pause, ok, tt.pause, tt.want)
		}
	}
}
