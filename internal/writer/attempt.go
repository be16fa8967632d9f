package writer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	gax "github.com/googleapis/gax-go/v2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/database"
	"spanbulk/internal/wire"
)

// sender makes the calls of one slot.
type sender struct {
	writer *Writer
	answer wire.BatchWriteAnswer

	session string // the connection's, which changes every few days
	header  []byte // that names it
}

// useSession has the requests name the session that there is now.
func (s *sender) useSession() (err error) {
	session := s.writer.conn.Session()
	if session == s.session {
		return nil
	}
	if s.header, err = s.writer.headerFor(session); err == nil {
		s.session = session
	}
	return err
}

// attempt sends a batch once and notes the outcome in it. It ends within
// Options.BatchWriteTimeout, whatever the server does.
func (s *sender) attempt(ctx context.Context, b *batch) {
	o := &s.writer.opt
	headerErr := s.useSession()
	b.prepare(s.header)
	defer b.request.Drop() // a batch may lie idle for long
	o.Progress.Batches.Add(1)
	o.Progress.InFlight.Add(1)
	defer o.Progress.InFlight.Add(-1)
	ctx, cancel := context.WithTimeout(database.RouteToLeader(ctx), o.BatchWriteTimeout)
	defer cancel()
	switch {
	case headerErr != nil:
		b.err = headerErr
	case o.Method == Commit:
		b.err = s.commit(ctx, b)
	default:
		b.err = s.batchWrite(ctx, b)
	}
	if b.err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		b.err = status.Errorf(codes.DeadlineExceeded, "no answer in %v", o.BatchWriteTimeout)
	}
}

// trailerPatience is how long the end of a stream is waited for that has answered
// for every group.
const trailerPatience = time.Second

// batchWrite reads the stream to its end, also when all groups are answered: the
// end costs nothing, while leaving before it resets the stream of every call.
// But the answers stand as they are, each commit having been made, so that a
// stream which then stalls or breaks is left alone: no status behind them takes
// one back.
func (s *sender) batchWrite(ctx context.Context, b *batch) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := s.writer.conn.Client().BatchWrite(ctx, &spannerpb.BatchWriteRequest{Session: s.session},
		gax.WithGRPCOptions(b.request.CallOption()))
	if err != nil {
		return err
	}
	for {
		err := stream.RecvMsg(&s.answer)
		switch {
		case b.answers == len(b.entries) && err != nil:
			return nil
		case errors.Is(err, io.EOF):
			return errShort
		case err != nil:
			return err
		}
		for _, i := range s.answer.Indexes {
			if i < 0 || int(i) >= len(b.entries) {
				return status.Error(codes.Internal, fmt.Sprintf("the server answered for group %d of %d", i, len(b.entries)))
			}
			b.answer(int(i), s.answer.Status)
		}
		if b.answers == len(b.entries) {
			defer time.AfterFunc(trailerPatience, cancel).Stop()
		}
	}
}

// commit answers for all records alike: they are one transaction.
func (s *sender) commit(ctx context.Context, b *batch) error {
	// The generated client would try again by itself, without counting.
	once := gax.WithRetry(func() gax.Retryer { return nil })
	_, err := s.writer.conn.Client().Commit(ctx, &spannerpb.CommitRequest{Session: s.session},
		gax.WithGRPCOptions(b.request.CallOption()), once)
	if err == nil {
		for i := range b.entries {
			b.answer(i, nil)
		}
	}
	return err
}
