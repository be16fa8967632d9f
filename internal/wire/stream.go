package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Receiver is the receiving side of a streaming call made with CallOption.
// Every server-streaming client that gRPC generates is one.
type Receiver interface {
	RecvMsg(m any) error
}

// Opener starts the streaming call, from the beginning if resumeToken is empty
// and behind the last row that the token covers otherwise. The request must be
// the same each time but for the token. The call must end when ctx does.
type Opener func(ctx context.Context, resumeToken []byte) (Receiver, error)

// StreamOptions are the knobs of a Stream; the zero value is ready for use.
type StreamOptions struct {
	Retry Retry
	// HoldBytes bounds the messages kept back while the server sends no resume
	// token; 8 MiB by default. See Stream.
	HoldBytes int
	// OnRetry, if set, is told of every break that will be retried, before the
	// pause. It must not block.
	OnRetry func(err error, attempt int, pause time.Duration)
}

const defaultHoldBytes = 8 << 20

// Stream reads the rows of one StreamingRead or ExecuteStreamingSql call, each
// exactly once, across broken connections.
//
// Spanner may send rows again after a break unless a resume token covers them,
// and does not promise the order of the rows it sends again. So a Stream holds
// messages back until a token comes, or the end of the stream. Where tokens do
// not come (some servers send none), it hands rows on after HoldBytes
// unconfirmed, counting and hashing them; after a break it reads them again and
// goes on only if they are the same rows in the same order.
//
// A Stream is for one goroutine, needs no Close once Next has returned an error
// and is otherwise ended by Close.
type Stream struct {
	ctx   context.Context
	open  Opener
	opt   StreamOptions
	pacer pacer
	meta  *spannerpb.ResultSetMetadata

	recv       Receiver
	cancel     context.CancelFunc
	firstOfTry bool

	assembler Assembler
	current   *Message   // its rows are being handed out
	ready     []*Message // may be handed out
	held      []*Message // since the last token
	heldBytes int
	free      []*Message
	token     []byte
	ended     bool
	unproven  replay
	err       error
}

// NewStream returns a Stream over the call that open makes. Nothing is sent
// before the first Next.
func NewStream(ctx context.Context, open Opener, opt StreamOptions) *Stream {
	if opt.HoldBytes <= 0 {
		opt.HoldBytes = defaultHoldBytes
	}
	return &Stream{ctx: ctx, open: open, opt: opt, pacer: newPacer(opt.Retry)}
}

// Next returns the next row, one value per column; io.EOF after the last. The
// row and its values are valid until the next call. Any other error is final.
func (s *Stream) Next() ([]Value, error) {
	if s.err != nil {
		return nil, s.err
	}
	for {
		if row, ok := s.assembler.Next(); ok {
			if s.unproven.active {
				s.unproven.handOut(row)
			}
			return row, nil
		}
		if err := s.advance(); err != nil {
			s.fail(err)
			return nil, err
		}
	}
}

// Metadata returns the metadata of the first message, waiting for it if need
// be: the columns, and the read timestamp where the request asked for it. A
// result without rows has metadata too. The caller must not modify it.
func (s *Stream) Metadata() (*spannerpb.ResultSetMetadata, error) {
	for s.meta == nil {
		if s.err != nil {
			return nil, s.err
		}
		if err := s.receive(); err != nil {
			s.fail(err)
			return nil, err
		}
	}
	return s.meta, nil
}

// Close ends the call if it is still running. Next returns an error afterwards.
func (s *Stream) Close() {
	if s.err == nil {
		s.fail(errors.New("stream closed"))
	}
}

func (s *Stream) fail(err error) {
	s.err = err
	s.hangUp()
	s.release(s.current)
	s.current = nil
	for _, m := range append(s.ready, s.held...) {
		s.release(m)
	}
	s.ready, s.held, s.free = nil, nil, nil
}

func (s *Stream) hangUp() {
	if s.cancel != nil {
		s.cancel()
	}
	s.recv, s.cancel = nil, nil
}

func (s *Stream) release(m *Message) {
	if m != nil {
		m.Free()
		s.free = append(s.free, m)
	}
}

// advance makes the next message the current one, and its rows the Assembler's.
func (s *Stream) advance() error {
	s.release(s.current)
	s.current = nil
	for len(s.ready) == 0 && s.current == nil {
		if s.ended {
			if err := s.assembler.End(); err != nil {
				return err
			}
			return io.EOF
		}
		if err := s.receive(); err != nil {
			return err
		}
	}
	if s.current != nil { // a replay stopped inside it
		return nil
	}
	s.current, s.ready = s.ready[0], s.ready[1:]
	if err := s.assembler.Add(s.current); err != nil {
		return fmt.Errorf("read result: %w", err)
	}
	return nil
}

// receive takes one message off the connection, or deals with its end or its
// break. It is called only when everything that may be handed out has been.
func (s *Stream) receive() error {
	if err := s.ctx.Err(); err != nil {
		return context.Cause(s.ctx)
	}
	if s.recv == nil {
		if err := s.connect(); err != nil {
			return s.broken(err)
		}
	}
	m := s.newMessage()
	switch err := s.recv.RecvMsg(m); {
	case errors.Is(err, io.EOF):
		s.release(m)
		return s.end()
	case err != nil:
		s.release(m)
		return s.broken(err)
	}
	return s.accept(m)
}

func (s *Stream) connect() error {
	ctx, cancel := context.WithCancel(s.ctx)
	recv, err := s.open(ctx, s.token)
	if err != nil {
		cancel()
		return err
	}
	s.recv, s.cancel, s.firstOfTry = recv, cancel, true
	return nil
}

func (s *Stream) newMessage() *Message {
	if n := len(s.free); n > 0 {
		m := s.free[n-1]
		s.free = s.free[:n-1]
		return m
	}
	return new(Message)
}

func (s *Stream) accept(m *Message) error {
	s.pacer.answered()
	if s.firstOfTry {
		if err := s.checkMetadata(m); err != nil {
			return err
		}
		s.firstOfTry = false
	}
	if s.unproven.replaying() {
		return s.replay(m)
	}
	s.held = append(s.held, m)
	s.heldBytes += m.footprint()
	switch {
	case m.Last:
		return s.end()
	case s.isNewToken(m):
		s.confirm(m.ResumeToken)
		s.handOn()
	case s.unproven.active:
		s.handOn()
	case s.heldBytes > s.opt.HoldBytes:
		s.unproven.begin(s.assembler.snapshot())
		s.handOn()
	}
	return nil
}

// isNewToken tells a token that moves the point to resume at from one that some
// servers repeat on every message, which marks no point at all.
func (s *Stream) isNewToken(m *Message) bool {
	return len(m.ResumeToken) > 0 && !bytes.Equal(m.ResumeToken, s.token)
}

// confirm notes that everything received so far will not be sent again.
func (s *Stream) confirm(token []byte) {
	s.token = append(s.token[:0:0], token...)
	s.pacer.progress()
	s.unproven.end()
}

func (s *Stream) handOn() {
	s.ready = append(s.ready[:0], s.held...)
	s.held, s.heldBytes = s.held[:0], 0
}

// end takes the end of the stream: what was held back needs no token any more.
func (s *Stream) end() error {
	if s.meta == nil {
		return status.Error(codes.Internal, "the stream ended before its first message")
	}
	if s.unproven.replaying() {
		return errReplayDiffers
	}
	s.ended = true
	s.unproven.end()
	s.hangUp()
	s.handOn()
	return nil
}

// broken decides what follows an error of the connection: a pause and another
// attempt (nil), or the end.
func (s *Stream) broken(err error) error {
	s.hangUp()
	if cause := context.Cause(s.ctx); cause != nil {
		return cause
	}
	asked, transient := Transient(err)
	if !transient {
		return err
	}
	pause, patient := s.pacer.next(asked)
	if !patient {
		return fmt.Errorf("no progress in %d attempts: %w", s.pacer.attempts, err)
	}
	if s.opt.OnRetry != nil {
		s.opt.OnRetry(err, s.pacer.attempts, pause)
	}
	for _, m := range s.held {
		s.release(m)
	}
	s.held, s.heldBytes = s.held[:0], 0
	if s.unproven.active {
		s.assembler = s.unproven.rewind()
	}
	if err := gax.Sleep(s.ctx, pause); err != nil {
		return context.Cause(s.ctx)
	}
	return nil
}

// checkMetadata wants the metadata that opens every attempt, and the same
// columns each time.
func (s *Stream) checkMetadata(m *Message) error {
	if m.Metadata == nil {
		return status.Error(codes.Internal, "the first message of the stream has no metadata")
	}
	meta := new(spannerpb.ResultSetMetadata)
	if err := proto.Unmarshal(m.Metadata, meta); err != nil {
		return fmt.Errorf("read ResultSetMetadata: %w", err)
	}
	if s.meta == nil {
		s.meta = meta
		s.assembler = NewAssembler(len(meta.GetRowType().GetFields()))
		return nil
	}
	if !proto.Equal(meta.GetRowType(), s.meta.GetRowType()) {
		return status.Error(codes.Internal, "the resumed stream has other columns than before")
	}
	return nil
}
