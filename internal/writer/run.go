package writer

import (
	"context"
	"slices"
	"time"

	"google.golang.org/grpc/codes"

	"spanbulk/internal/fault"
)

// run is the state of one Run. It belongs to the goroutine of loop, but for the
// channels to and from the senders.
type run struct {
	w        *Writer
	opt      *Options
	progress *Progress
	cancel   context.CancelFunc // breaks calls off

	work    chan *batch
	done    chan *batch
	stopped chan struct{} // closed when err is set
	err     error

	locks    *lockTable // nil without key order
	building *batch
	ready    []*batch // full, in order
	delayed  []*batch // to be sent again
	free     []*batch

	inFlight int // batches at the senders
	parked   int // slots kept for delayed batches
	ended    bool

	live     []*Chunk // undecided, in order
	held     int      // their bytes
	buffered buffered
	now      time.Time
}

func newRun(w *Writer, cancel context.CancelFunc) *run {
	r := &run{
		w: w, opt: &w.opt, progress: w.opt.Progress, cancel: cancel,
		work: make(chan *batch, w.opt.Parallelism), done: make(chan *batch, w.opt.Parallelism), stopped: make(chan struct{}),
		now: time.Now(),
	}
	if w.opt.KeyOrder == PreserveKeyOrder && !w.opt.DryRun {
		r.locks = newLockTable()
	}
	r.building = r.newBatch()
	return r
}

// loop takes chunks, sends batches and settles them until all is decided or the
// run has failed and nothing is in flight.
func (r *run) loop(ctx context.Context, chunks <-chan *Chunk) error {
	interrupted := ctx.Done()
	var drained <-chan time.Time
	timer := time.NewTimer(maxPause)
	defer timer.Stop()
	for {
		r.now = time.Now()
		timer.Reset(r.dispatch())
		if r.finished() {
			return r.conclude()
		}
		if r.err != nil && drained == nil {
			drained = time.After(r.opt.DrainTimeout)
		}
		in := chunks
		if !r.accepts() {
			in = nil
		}
		select {
		case <-interrupted:
			interrupted = nil
			r.fail(interruptedFault(ctx))
		case c, ok := <-in:
			if ok {
				r.take(c)
			} else {
				r.ended = true
			}
		case b := <-r.done:
			r.settle(b)
		case <-timer.C:
		case <-drained:
			r.cancel()
		}
	}
}

func (r *run) fail(err error) {
	if r.err == nil && err != nil {
		r.err = err
		close(r.stopped)
	}
}

// accepts reports whether another chunk may be taken: not while as many batches
// wait as there are slots, and not while too much is held.
func (r *run) accepts() bool {
	return r.err == nil && !r.ended && len(r.ready) < r.opt.Parallelism && (r.held < r.opt.HoldBytes || len(r.live) == 0)
}

func (r *run) finished() bool {
	if r.inFlight > 0 {
		return false
	}
	return r.err != nil || r.ended && len(r.ready) == 0 && len(r.delayed) == 0 && len(r.building.entries) == 0
}

// conclude checks the run's end.
func (r *run) conclude() error {
	if r.err != nil {
		return r.err
	}
	if err := r.opt.MaxRefused.check(r.progress.Refused.Load(), r.progress.RecordsIn.Load(), true); err != nil {
		return err
	}
	if n, first := r.remaining(); n > 0 && !r.opt.DryRun {
		return fault.New(codes.Internal, "write", first.String(), "the record was never sent, which is a bug of spanbulk")
	}
	return nil
}

// remaining counts the records without outcome and finds the first.
func (r *run) remaining() (count int64, first Position) {
	if r.opt.DryRun {
		return r.progress.Undecided(), first
	}
	for _, c := range r.live {
		if count == 0 && c.undecided > 0 {
			first = c.firstUndecided()
		}
		count += int64(c.undecided)
	}
	return count, first
}

// take accepts the records of a chunk.
func (r *run) take(c *Chunk) {
	r.progress.RecordsIn.Add(int64(len(c.entries) + c.skipped))
	r.progress.Skipped.Add(int64(c.skipped))
	r.w.usual.note(c)
	c.undecided = len(c.entries)
	c.heldBytes = c.Size()
	r.held += c.heldBytes
	r.live = append(r.live, c)
	var cells int64
	for i := range c.entries {
		e := &c.entries[i]
		cells += int64(e.cells)
		if e.err == nil {
			r.buffered.add(e)
		}
	}
	r.progress.Cells.Add(cells)
	r.progress.note(r.buffered)
	for i := range c.entries {
		if r.err != nil {
			return
		}
		r.admit(&c.entries[i])
	}
	r.retire(c)
}

// admit refuses a record that cannot be sent, and batches it as soon as its
// locks are free otherwise.
func (r *run) admit(e *entry) {
	switch {
	case e.err != nil:
		refusal := refusalOf(e, nil)
		r.progress.countError(refusal.Code)
		r.refuse(e, refusal)
	case r.opt.DryRun:
		r.buffered.remove(e)
		e.chunk.undecided--
	case r.locks == nil || r.locks.acquire(e):
		r.push(e)
	}
}

// push puts a record into the batch being built.
func (r *run) push(e *entry) {
	if !r.building.fits(e, r.opt) {
		r.seal()
	}
	if len(r.building.entries) == 0 {
		r.building.started = r.now
	}
	r.building.add(e)
	if r.building.full(r.opt) {
		r.seal()
	}
}

func (r *run) seal() {
	r.ready = append(r.ready, r.building)
	r.building = r.newBatch()
}

func (r *run) newBatch() *batch {
	b := new(batch)
	if n := len(r.free); n > 0 {
		b, r.free = r.free[n-1], r.free[:n-1]
	}
	b.reset(len(r.w.header))
	return b
}

// dispatch sends what may be sent: batches that are due again, then full ones,
// then the one being built if no more is to be waited for. It returns the time
// until it may have more to send.
func (r *run) dispatch() time.Duration {
	if r.err != nil {
		return maxPause
	}
	wait := r.dispatchDelayed()
	for r.slots() > 0 && len(r.ready) > 0 {
		r.hand(r.ready[0])
		r.ready = slices.Delete(r.ready, 0, 1)
	}
	if r.slots() == 0 || len(r.building.entries) == 0 {
		return wait
	}
	if linger := r.building.started.Add(r.opt.Linger).Sub(r.now); !r.ended && r.accepts() && linger > 0 {
		return min(wait, linger)
	}
	b := r.building
	r.building = r.newBatch()
	r.hand(b)
	return wait
}

func (r *run) slots() int { return r.opt.Parallelism - r.inFlight - r.parked }

func (r *run) hand(b *batch) {
	r.inFlight++
	r.work <- b // never blocks: there is room for a batch in each slot
}

// retire lets go of a chunk once it is decided.
func (r *run) retire(c *Chunk) {
	if c.undecided > 0 {
		return
	}
	r.held -= c.heldBytes
	if i := slices.Index(r.live, c); i >= 0 {
		r.live = slices.Delete(r.live, i, i+1)
	}
	done := c.done
	c.free()
	if done != nil {
		done()
	}
}
