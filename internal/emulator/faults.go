package emulator

import (
	"context"
	"errors"
	"path"
	"sync"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Fault is something that goes wrong with one call.
type Fault struct {
	// Code and Message are the status the call ends with; a Code of OK delays
	// the call without failing it.
	Code    codes.Code
	Message string
	// RetryDelay, if not nil, is attached as google.rpc.RetryInfo.
	RetryDelay *time.Duration
	// AfterMessages lets a stream send so many messages before it breaks. One
	// that has fewer does not break.
	AfterMessages int
	// EndEarly ends a stream with OK after AfterMessages, as if it had nothing
	// more to say. Code has to be OK.
	EndEarly bool
	// AfterWork lets the call do all its work; only its answer, or the end of
	// its stream, is lost.
	AfterWork bool
	// Stall holds the call, or the stream after AfterMessages, for so long.
	Stall time.Duration
	// CloseConnection closes the call's connection in place of a status: every
	// other call on it breaks off, too.
	CloseConnection bool
	// MessageDelay holds every message of a stream for so long.
	MessageDelay time.Duration
}

// Rule gives a fault to some calls of one method.
type Rule struct {
	// Method is the RPC's name without its service, "StreamingRead"; "" is
	// every method.
	Method string
	// From is the number of the first call that has the fault, from 1; 0 is 1.
	From int
	// Every gives it to every n-th call from then on; 0 is that one call alone.
	Every int
	Fault Fault
}

func (r Rule) applies(method string, call int) bool {
	from := max(r.From, 1)
	if r.Method != "" && r.Method != method || call < from {
		return false
	}
	return call == from || r.Every > 0 && (call-from)%r.Every == 0
}

// Faults decides what goes wrong. It can be changed while calls are running.
type Faults struct {
	conns *connections

	mu    sync.Mutex
	hook  func(method string, call int) *Fault
	calls map[string]int
}

// Set replaces all faults by rules, the first that applies counting, and
// counts calls from 1 again.
func (f *Faults) Set(rules ...Rule) {
	f.SetFunc(func(method string, call int) *Fault {
		for _, r := range rules {
			if r.applies(method, call) {
				return &r.Fault
			}
		}
		return nil
	})
}

// SetFunc replaces all faults by a function that is asked at every call, and
// counts calls from 1 again. call counts those of the method. The function may
// be called by several goroutines at once.
func (f *Faults) SetFunc(hook func(method string, call int) *Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hook, f.calls = hook, make(map[string]int)
}

// Clear takes all faults away and counts calls from 1 again.
func (f *Faults) Clear() { f.SetFunc(nil) }

// Calls is how many calls of a method there were since faults were last set.
func (f *Faults) Calls(method string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[method]
}

func (f *Faults) next(fullMethod string) *Fault {
	method := path.Base(fullMethod)
	f.mu.Lock()
	f.calls[method]++
	call, hook := f.calls[method], f.hook
	f.mu.Unlock()
	if hook == nil {
		return nil
	}
	return hook(method, call)
}

// fails tells that the call has no good end.
func (f *Fault) fails() bool { return f.Code != codes.OK || f.CloseConnection }

// strike ends a call as its fault says; nil if that only delays it.
func (f *Faults) strike(ctx context.Context, fault *Fault) error {
	if fault.CloseConnection {
		f.conns.closeOf(ctx)
		return status.Error(codes.Unavailable, "the connection is closed")
	}
	return fault.err()
}

func (f *Fault) err() error {
	if f.Code == codes.OK {
		return nil
	}
	st := status.New(f.Code, f.Message)
	if f.RetryDelay != nil {
		if d, err := st.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(*f.RetryDelay)}); err == nil {
			st = d
		}
	}
	return st.Err()
}

func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

func (f *Faults) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	fault := f.next(info.FullMethod)
	if fault == nil {
		return handler(ctx, req)
	}
	if err := pause(ctx, fault.Stall); err != nil {
		return nil, err
	}
	if !fault.AfterWork && fault.fails() {
		return nil, f.strike(ctx, fault)
	}
	resp, err := handler(ctx, req)
	if err == nil && fault.fails() {
		return nil, f.strike(ctx, fault)
	}
	return resp, err
}

func (f *Faults) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	fault := f.next(info.FullMethod)
	if fault == nil {
		return handler(srv, stream)
	}
	s := &faultyStream{ServerStream: stream, faults: f, fault: fault}
	if fault.AfterMessages == 0 && !fault.AfterWork {
		if err := s.strike(); err != nil {
			return err
		}
	}
	if err := handler(srv, s); err != nil {
		if s.endedEarly {
			return nil
		}
		return err
	}
	if s.sent < fault.AfterMessages && !fault.AfterWork {
		return nil
	}
	return f.strike(stream.Context(), fault)
}

// faultyStream breaks after some messages.
type faultyStream struct {
	grpc.ServerStream
	faults *Faults
	fault  *Fault
	sent   int
	// endedEarly tells that the handler was stopped so that the stream ends.
	endedEarly bool
}

// errEndEarly stops the handler of a stream that is to end early.
var errEndEarly = errors.New("the stream ends early")

func (s *faultyStream) strike() error {
	if err := pause(s.Context(), s.fault.Stall); err != nil {
		return err
	}
	return s.faults.strike(s.Context(), s.fault)
}

// SendMsg sends, or fails as planned.
func (s *faultyStream) SendMsg(m any) error {
	if err := pause(s.Context(), s.fault.MessageDelay); err != nil {
		return err
	}
	if s.fault.EndEarly && s.sent == s.fault.AfterMessages {
		s.endedEarly = true
		return errEndEarly
	}
	if !s.fault.AfterWork && s.sent == s.fault.AfterMessages && s.sent > 0 {
		if err := s.strike(); err != nil {
			return err
		}
	}
	s.sent++
	if s.fault.AfterWork && s.sent > s.fault.AfterMessages && s.fault.fails() {
		return nil // lost
	}
	return s.ServerStream.SendMsg(m)
}
