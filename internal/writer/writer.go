package writer

import (
	"context"
	"hash/maphash"
	"math"
	"sync"
	"time"

	apiv1 "cloud.google.com/go/spanner/apiv1"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"spanbulk/internal/wire"
)

// Conn is the connection a Writer writes through; *database.Conn is one.
type Conn interface {
	Client() *apiv1.Client
	// Session is the name of the session that the requests name.
	Session() string
}

// Writer writes records over one connection, in one Run.
type Writer struct {
	conn     Conn
	opt      Options
	envelope wire.Envelope
	// header begins requests in the session that New found. Sizes count it: those
	// of later sessions, whose names are made alike, are as long.
	header  []byte
	limiter *rate.Limiter
	chunks  sync.Pool
	usual   usual

	undecided struct {
		count int64
		first Position
	}
}

// New returns a Writer over conn, which must stay open until Run has returned.
func New(conn Conn, opt Options) (*Writer, error) {
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	opt.setDefaults()
	w := &Writer{conn: conn, opt: opt}
	if opt.Method == Commit {
		w.envelope = wire.CommitEnvelope
	}
	var err error
	if w.header, err = w.headerFor(conn.Session()); err != nil {
		return nil, err
	}
	if opt.RateLimit > 0 {
		w.limiter = rate.NewLimiter(rate.Limit(opt.RateLimit), w.opt.MaxBatchMutations)
	}
	seed := maphash.MakeSeed()
	w.chunks.New = func() any { return newChunk(w, seed) }
	return w, nil
}

// headerFor is what requests begin with that name a session.
func (w *Writer) headerFor(session string) ([]byte, error) {
	o := &w.opt
	if o.Method == Commit {
		return wire.CommitHeader(session, o.requestOptions(), o.ExcludeFromChangeStreams, o.MaxCommitDelay)
	}
	return wire.BatchWriteHeader(session, o.requestOptions(), o.ExcludeFromChangeStreams)
}

// Run writes the records of chunks, in their order, until the channel is closed,
// and returns when all goroutines it started have ended. It is called once.
//
// The first error ends the run: nothing more is taken or sent, calls in flight
// get Options.DrainTimeout to finish and their outcomes count. The same goes for
// the end of ctx. Whoever sends chunks must stop then by itself.
func (w *Writer) Run(ctx context.Context, chunks <-chan *Chunk) error {
	// Calls outlive ctx: their outcome is worth waiting for.
	calls, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	r := newRun(w, cancel)
	var senders errgroup.Group
	for range w.opt.Parallelism {
		senders.Go(func() error {
			r.send(calls)
			return nil
		})
	}
	err := r.loop(ctx, chunks)
	close(r.work)
	if waitErr := senders.Wait(); err == nil {
		err = waitErr
	}
	if flushErr := w.opt.Refuser.Flush(); err == nil {
		err = flushErr
	}
	w.undecided.count, w.undecided.first = r.remaining()
	return err
}

// Undecided tells, once Run has returned, how many of the records it took have
// no outcome, and where the first of them came from. Whether Spanner has applied
// them is not known for those that were under way.
func (w *Writer) Undecided() (count int64, first Position) {
	return w.undecided.count, w.undecided.first
}

// send is the goroutine of one slot.
func (r *run) send(ctx context.Context) {
	s := &sender{writer: r.w}
	for b := range r.work {
		if r.w.limiter == nil || r.awaitRate(ctx, b) {
			s.attempt(ctx, b)
		}
		r.done <- b
	}
}

// awaitRate waits until the batch may be sent. It returns false where the run
// ends before; the batch is marked then.
func (r *run) awaitRate(ctx context.Context, b *batch) bool {
	now := time.Now()
	pause := r.w.limiter.ReserveN(now, len(b.entries)).DelayFrom(now)
	if pause == 0 {
		return true
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.stopped:
	case <-ctx.Done():
	}
	b.unsent = true
	return false
}

// maxPause stands for no time that is waited for.
const maxPause = time.Duration(math.MaxInt64)
