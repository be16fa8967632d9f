package fault_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/fault"
)

func TestReadingAndWriting(t *testing.T) {
	const secret = "Row [alice@example.com] in table Users already exists"
	tests := []struct {
		name             string
		turn             func(error, string, string) error
		err              error
		code             codes.Code
		safe, withValues string
		hint             string
	}{
		{
			name: "refused query reaches the user word for word",
			turn: fault.Reading,
			err:  status.Error(codes.InvalidArgument, "Query is not root partitionable since it does not have a DistributedUnion at the root."),
			code: codes.InvalidArgument,
			safe: "plan query: Query is not root partitionable since it does not have a DistributedUnion at the root.",
		},
		{
			name: "a value in SQL's message is hidden",
			turn: fault.Reading,
			err:  status.Error(codes.OutOfRange, "Bad int64 value: 12a"),
			code: codes.OutOfRange,
			safe: "plan query: OUT_OF_RANGE: the message is hidden as it can hold record values (--show-values=true shows it)", withValues: "plan query: OUT_OF_RANGE: Bad int64 value: 12a",
		},
		{
			name: "a key in a write's message is hidden",
			turn: fault.Writing,
			err:  status.Error(codes.AlreadyExists, secret),
			code: codes.AlreadyExists,
			safe: "plan query: ALREADY_EXISTS: the message is hidden as it can hold record values (--show-values=true shows it)", withValues: "plan query: ALREADY_EXISTS: " + secret,
		},
		{
			name: "gRPC's wrapping comes off",
			turn: fault.Reading,
			err:  status.Error(codes.Unavailable, `connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:1: connect: connection refused"`),
			code: codes.Unavailable,
			safe: "plan query: dial tcp 127.0.0.1:1: connect: connection refused",
		},
		{
			name: "lines and escapes do not reach the terminal",
			turn: fault.Reading,
			err:  status.Error(codes.Internal, "one\r\n\ttwo \x1b[31mred"),
			code: codes.Internal,
			safe: "plan query: one two \uFFFD[31mred",
		},
		{
			name: "permission comes with a hint",
			turn: fault.Reading,
			err:  status.Error(codes.PermissionDenied, "Caller is missing IAM permission"),
			code: codes.PermissionDenied,
			safe: "plan query: Caller is missing IAM permission",
			hint: "grant the account a role such as roles/spanner.databaseReader, or check --database-role",
		},
		{
			name: "Ctrl-C",
			turn: fault.Reading,
			err:  fmt.Errorf("stream: %w", context.Canceled),
			code: codes.Canceled,
			safe: "plan query: interrupted",
		},
		{
			name: "no answer",
			turn: fault.Reading,
			err:  context.DeadlineExceeded,
			code: codes.DeadlineExceeded,
			safe: "plan query: no answer in time",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := fmt.Errorf("export: %w", tt.turn(tt.err, "plan", "query"))
			if got := fault.Code(err); got != tt.code {
				t.Errorf("Code = %v, want %v", got, tt.code)
			}
			if got, want := fault.Text(err, false), "export: "+tt.safe; got != want {
				t.Errorf("safe text = %q, want %q", got, want)
			}
			withValues := tt.withValues
			if withValues == "" {
				withValues = tt.safe
			}
			if got, want := fault.Text(err, true), "export: "+withValues; got != want {
				t.Errorf("text with values = %q, want %q", got, want)
			}
			if got := fault.Hint(err); got != tt.hint {
				t.Errorf("Hint = %q, want %q", got, tt.hint)
			}
			if !errors.Is(err, tt.err) {
				t.Error("the cause is not in the chain")
			}
		})
	}
}

func TestFaultIsNotWrappedTwice(t *testing.T) {
	inner := fault.New(codes.NotFound, "read", "table Singerz", "no such table").WithHint("did you mean Singers?")
	got := fault.Reading(fmt.Errorf("load schema: %w", inner), "export", "everything")
	if want := "load schema: read table Singerz: no such table"; fault.Text(got, false) != want {
		t.Errorf("got %q, want %q", fault.Text(got, false), want)
	}
	if fault.Hint(got) != inner.Hint {
		t.Errorf("hint lost: %q", fault.Hint(got))
	}
	if fault.Reading(nil, "read", "") != nil || fault.Writing(nil, "write", "") != nil {
		t.Error("nil must stay nil")
	}
}

func TestOneLineBoundsText(t *testing.T) {
	got := fault.OneLine(strings.Repeat("é", 5000))
	if len(got) > 2010 || !strings.HasSuffix(got, "…") {
		t.Errorf("got %d bytes ending %q", len(got), got[len(got)-5:])
	}
}

func TestNearest(t *testing.T) {
	tables := []string{"Albums", "Singers", "Concerts", "Venues", "a"}
	tests := map[string]string{
		"Singer": "Singers", "singesr": "Singers", "Albmus": "Albums", "VENUE": "Venues",
		"Orders": "", "xx": "", "": "", "Concert": "Concerts", "Singers": "Singers",
	}
	for name, want := range tests {
		if got := fault.Nearest(name, tables); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
		}
	}
}

func FuzzOneLine(f *testing.F) {
	f.Add("plain")
	f.Add("a\x00b\xff\u2028c\n")
	f.Fuzz(func(t *testing.T, s string) {
		got := fault.OneLine(s)
		if strings.ContainsAny(got, "\n\r\t\x1b\x00") {
			t.Errorf("OneLine(%q) = %q", s, got)
		}
		if again := fault.OneLine(got); again != got && len(got) < 1990 {
			t.Errorf("not stable: %q then %q", got, again)
		}
	})
}
