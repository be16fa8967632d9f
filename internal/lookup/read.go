package lookup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	gax "github.com/googleapis/gax-go/v2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/fault"
	"spanbulk/internal/wire"
)

// retried reads keys until a read succeeds, fails for good, or has been tried
// often enough, and returns its timestamp, zero if that was not asked for. Every
// attempt begins anew, so that all rows of a batch are from one timestamp: start
// is called before each.
func (l *Lookup) retried(ctx context.Context, keys []byte, start func(), each func(row []wire.Value) error) (at time.Time, err error) {
	backoff := gax.Backoff{Initial: l.opt.Backoff, Max: l.opt.MaxBackoff, Multiplier: 2}
	for attempt := 1; ; attempt++ {
		start()
		at, err := l.attempt(ctx, keys, each)
		if err == nil {
			return at, nil
		}
		if cause := context.Cause(ctx); cause != nil {
			return at, cause
		}
		asked, again := retryable(err)
		switch {
		case !again:
			return at, err
		case attempt > l.opt.MaxRetries && attempt > 1:
			return at, &exhaustedError{err, attempt}
		case attempt > l.opt.MaxRetries:
			return at, err
		}
		pause := max(backoff.Pause(), asked)
		l.opt.Progress.Retries.Add(1)
		if l.opt.OnRetry != nil {
			l.opt.OnRetry(err, attempt, pause)
		}
		if gax.Sleep(ctx, pause) != nil {
			return at, context.Cause(ctx)
		}
	}
}

// exhaustedError is a failure that was tried again in vain.
type exhaustedError struct {
	err      error
	attempts int
}

func (e *exhaustedError) Error() string { return fmt.Sprintf("%d attempts: %v", e.attempts, e.err) }
func (e *exhaustedError) Unwrap() error { return e.err }

// retryable reports whether a read that failed with err may succeed when it is
// tried again, and the pause that the server asked for.
func retryable(err error) (pause time.Duration, ok bool) {
	s, isStatus := status.FromError(err)
	if !isStatus {
		return 0, false
	}
	switch s.Code() {
	case codes.Aborted, codes.DeadlineExceeded, codes.Unavailable:
		pause, _ = wire.RetryDelay(s)
		return pause, true
	default:
		return 0, false
	}
}

// attempt makes one read and hands its rows to each, which must not keep them.
func (l *Lookup) attempt(ctx context.Context, keys []byte, each func(row []wire.Value) error) (at time.Time, err error) {
	read, err := l.current()
	if err != nil {
		return at, err
	}
	raw := gax.WithGRPCOptions(read.CallOption(keys))
	stream := wire.NewStream(ctx, func(ctx context.Context, _ []byte) (wire.Receiver, error) {
		recv, err := l.conn.Client().StreamingRead(ctx, read.routing, raw)
		if err != nil {
			return nil, &lastError{err}
		}
		return onceReceiver{recv}, nil
	}, wire.StreamOptions{})
	defer stream.Close()
	meta, err := stream.Metadata()
	if err != nil {
		return at, withoutMark(err)
	}
	if err := l.checkColumns(meta.GetRowType().GetFields()); err != nil {
		return at, err
	}
	if t := meta.GetTransaction().GetReadTimestamp(); t != nil {
		at = t.AsTime()
	}
	for {
		row, err := stream.Next()
		if errors.Is(err, io.EOF) {
			return at, nil
		}
		if err != nil {
			return at, withoutMark(err)
		}
		if err := each(row); err != nil {
			return at, err
		}
	}
}

// onceReceiver keeps wire.Stream from opening a broken read again: what is
// retried, and how often, is decided here, by other rules.
type onceReceiver struct{ wire.Receiver }

func (r onceReceiver) RecvMsg(m any) error {
	err := r.Receiver.RecvMsg(m)
	if err == nil || err == io.EOF {
		return err
	}
	return &lastError{err}
}

// lastError hides the status that err carries.
type lastError struct{ err error }

func (e *lastError) Error() string { return e.err.Error() }

func withoutMark(err error) error {
	if e, ok := errors.AsType[*lastError](err); ok {
		return e.err
	}
	return err
}

// fault explains a read that failed. Of reads with keys, Spanner's text can
// quote these.
func (l *Lookup) fault(err error, op string, explain func(err error, op, object string) error) error {
	object := "table " + l.opt.Table
	if l.opt.Index != "" {
		object = fmt.Sprintf("index %s of table %s", l.opt.Index, l.opt.Table)
	}
	exhausted, _ := errors.AsType[*exhaustedError](err)
	if exhausted != nil {
		err = exhausted.err
	}
	err = explain(err, op, object)
	e, ok := errors.AsType[*fault.Error](err)
	switch {
	case !ok:
		return err
	case exhausted != nil:
		return e.WithHint(fmt.Sprintf("it failed %d times; --max-retries sets how often it is tried again", exhausted.attempts))
	case e.Code == codes.ResourceExhausted:
		return e.WithHint("try again when the instance has less to do, or ask for less at once with a smaller --parallelism or --batch-keys")
	default:
		return e
	}
}
