package pipe

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"sync"
	"time"
)

// ErrGivenUp is the error of a write that nothing took in time.
var ErrGivenUp = errors.New("nobody reads what is written to it")

// copied is the length up to which a write is copied first.
const copied = 64 << 10

// Writer writes to another Writer, for as long as that takes until Hurry is
// called. It is safe for concurrent use; writes go one after another.
type Writer struct {
	w        io.Writer
	patience time.Duration
	turn     chan struct{} // has an element while no write is under way
	hurry    chan struct{} // closed by Hurry
	given    chan struct{} // closed when a write is given up

	hurryOnce, givenOnce sync.Once
}

// NewWriter returns a Writer to w. From Hurry on, a write is given up after
// patience, and with it all that follow.
func NewWriter(w io.Writer, patience time.Duration) *Writer {
	out := &Writer{w: w, patience: patience, turn: make(chan struct{}, 1), hurry: make(chan struct{}), given: make(chan struct{})}
	out.turn <- struct{}{}
	return out
}

// Hurry says that the run is to end: a write has only so much time from now on.
func (w *Writer) Hurry() { w.hurryOnce.Do(func() { close(w.hurry) }) }

// Write implements io.Writer. After ErrGivenUp a p of more than 64 KiB must not
// be changed any more: a write of it is still under way.
func (w *Writer) Write(p []byte) (int, error) {
	if !w.await(w.turn) {
		return 0, ErrGivenUp
	}
	if len(p) <= copied {
		p = bytes.Clone(p)
	}
	var n int
	var err error
	done := make(chan struct{})
	go func() {
		n, err = w.w.Write(p)
		close(done)
	}()
	if !w.await(done) {
		return 0, ErrGivenUp // and the turn is this write's for ever
	}
	w.turn <- struct{}{}
	return n, err
}

// await reports whether something comes through or closes c in time.
func (w *Writer) await(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	case <-w.hurry:
	}
	late := time.NewTimer(w.patience)
	defer late.Stop()
	select {
	case <-c:
		return true
	case <-w.given:
	case <-late.C:
		w.givenOnce.Do(func() { close(w.given) })
	}
	return false
}

// Stat describes the file that is written to, if it is one.
func (w *Writer) Stat() (fs.FileInfo, error) {
	if f, ok := w.w.(interface{ Stat() (fs.FileInfo, error) }); ok {
		return f.Stat()
	}
	return nil, errors.ErrUnsupported
}
