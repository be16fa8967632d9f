package pipe

import (
	"context"
	"io"
)

// Reader reads from another Reader until a context ends, and leaves a read behind
// that is under way then. It is for one goroutine.
type Reader struct {
	ctx  context.Context
	r    io.Reader
	buf  []byte
	rest []byte // of buf, not handed on yet
	err  error  // behind rest
}

// readSize is how much is read at once.
const readSize = 64 << 10

// NewReader returns a Reader of r, whose reads end with the cause of ctx's end.
func NewReader(ctx context.Context, r io.Reader) *Reader {
	return &Reader{ctx: ctx, r: r, buf: make([]byte, readSize)}
}

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 && r.err == nil {
		r.fill()
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	if len(r.rest) > 0 {
		return n, nil
	}
	return n, r.err
}

func (r *Reader) fill() {
	var n int
	var err error
	done := make(chan struct{})
	go func() {
		n, err = r.r.Read(r.buf)
		close(done)
	}()
	select {
	case <-done:
		r.rest, r.err = r.buf[:n], err
	case <-r.ctx.Done():
		r.err = context.Cause(r.ctx)
	}
}
