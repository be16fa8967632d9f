package writer

import (
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// settle takes a batch back from its sender: decides what was answered for, and
// has the rest sent again.
func (r *run) settle(b *batch) {
	r.inFlight--
	if b.unsent {
		return
	}
	if r.halves(b) {
		return
	}
	if b.err != nil {
		r.progress.countError(statusOf(b.err).Code())
	}
	if left := r.decideAnswered(b); len(left) > 0 {
		r.again(b, left)
	}
	r.free = append(r.free, b)
}

// decideAnswered ends the records whose outcome is known and returns the others.
func (r *run) decideAnswered(b *batch) (left []*entry) {
	var appliedCount, appliedBytes int64
	statuses := b.refused
	slices.SortFunc(statuses, func(x, y groupStatus) int { return x.index - y.index })
	for i, e := range b.entries {
		if b.outcome[i] == outcome(codes.OK) {
			appliedCount++
			appliedBytes += int64(e.size())
			r.decide(e)
			continue
		}
		var s *status.Status
		if b.outcome[i] != unanswered {
			s, statuses = statuses[0].status, statuses[1:]
		}
		if r.isLeft(b, e, s) {
			left = append(left, e)
		}
	}
	r.progress.Applied.Add(appliedCount)
	r.progress.BytesSent.Add(appliedBytes)
	return left
}

// isLeft deals with a record that was not applied, s being its status or nil,
// and reports whether it is undecided.
func (r *run) isLeft(b *batch, e *entry, s *status.Status) bool {
	if s == nil {
		e.unknown = e.unknown || r.mayBeApplied(b)
		e.chunk.tainted = e.chunk.tainted || b.answers == 0
		return true
	}
	r.progress.countError(s.Code())
	switch fateOf(s.Code(), r.opt.Constraint) {
	case undecided:
		e.unknown = e.unknown || ambiguous(s.Code())
		return true
	case refused:
		r.refuse(e, refusalOf(e, s))
	default:
		r.progress.Refused.Add(1)
		refusal := refusalOf(e, s)
		r.failFor(refusal, refusal.Err)
		r.decide(e)
	}
	return false
}

// mayBeApplied reports whether records without an answer may have been applied.
// A Commit that was ABORTED was not.
func (r *run) mayBeApplied(b *batch) bool {
	return r.opt.Method == BatchWrite || statusOf(b.err).Code() != codes.Aborted
}

// refuse hands a record to the Refuser.
func (r *run) refuse(e *entry, refusal *Refusal) {
	r.progress.Refused.Add(1)
	r.failFor(refusal, r.opt.Refuser.Refuse(refusal))
	r.fail(r.opt.MaxRefused.check(r.progress.Refused.Load(), r.progress.RecordsIn.Load(), false))
	if refusal.Sent {
		r.decide(e)
	} else {
		e.chunk.undecided--
		e.decided = true
	}
}

// failFor fails the run for a record, and where it has failed already tells of
// the record.
func (r *run) failFor(refusal *Refusal, err error) {
	if err != nil && r.err != nil && r.opt.OnFurther != nil {
		r.opt.OnFurther(refusal)
	}
	r.fail(err)
}

// decide ends a record that was sent: those that waited for it may follow.
func (r *run) decide(e *entry) {
	e.decided = true
	r.buffered.remove(e)
	if r.locks != nil {
		r.locks.release(e, r.push)
	}
	c := e.chunk
	c.undecided--
	if c.undecided == 0 {
		r.retire(c)
	}
}

// again has the undecided records of a batch sent again after a pause, unless
// one of them was tried often enough or the call failed for good.
func (r *run) again(b *batch, left []*entry) {
	cause := b.cause()
	spent := r.countAttempts(left)
	switch {
	case r.err != nil:
	case b.err != nil && !transientCall(b.err):
		r.fail(callFault(left, r.opt.Method, b.err))
	case spent != nil:
		r.fail(exhaustedFault(spent, cause))
	default:
		pause := r.pause(b, left)
		r.delay(left, pause, b.err != nil)
		r.progress.Retried.Add(int64(len(left)))
		if r.opt.OnRetry != nil {
			r.opt.OnRetry(Retry{
				Records: len(left), Sent: len(b.entries), First: left[0].position(),
				Err: cause, Attempt: int(left[0].attempts), Pause: pause,
			})
		}
	}
}

// countAttempts counts one for each record and returns the first that must not
// be tried again.
func (r *run) countAttempts(left []*entry) (spent *entry) {
	for _, e := range left {
		e.attempts++
		if spent == nil && int(e.attempts) >= r.opt.MaxAttempts {
			spent = e
		}
	}
	return spent
}

// delay makes a batch that is due after a pause. A call that failed shows that
// the server is in trouble: its slot rests, so that no other call takes its
// place. Groups that were merely aborted do not keep others from being sent.
func (r *run) delay(entries []*entry, pause time.Duration, callFailed bool) {
	next := r.newBatch()
	for _, e := range entries {
		next.add(e)
	}
	next.due = r.now.Add(pause)
	if callFailed {
		next.parked = true
		r.parked++
	}
	r.delayed = append(r.delayed, next)
}

// cause is why records of the batch are undecided.
func (b *batch) cause() error {
	if b.err != nil {
		return b.err
	}
	for _, g := range b.refused {
		if fateOf(g.status.Code(), FailJob) == undecided {
			return g.status.Err()
		}
	}
	return errShort
}

// pause is the backoff of the record tried most often, or longer if the server
// asks for it.
func (r *run) pause(b *batch, left []*entry) time.Duration {
	var attempts int32
	for _, e := range left {
		attempts = max(attempts, e.attempts)
	}
	pause := r.opt.backoff(attempts)
	if b.err != nil {
		pause = max(pause, retryDelay(statusOf(b.err)))
	}
	for _, g := range b.refused {
		if fateOf(g.status.Code(), r.opt.Constraint) == undecided {
			pause = max(pause, retryDelay(g.status))
		}
	}
	return pause
}

// halves deals with a Commit that was refused as a whole for its data: the
// halves are sent by themselves, or the record that stands alone is answered
// for.
func (r *run) halves(b *batch) bool {
	if r.opt.Method != Commit || b.err == nil || !aboutData(b.err) {
		return false
	}
	if len(b.entries) == 1 {
		s := statusOf(b.err)
		b.err = nil
		b.answer(0, s)
		return false
	}
	if r.err != nil {
		return true
	}
	// Not counted: it is the answer for a record that its half will give.
	middle := len(b.entries) / 2
	r.delay(b.entries[:middle], 0, false)
	r.delay(b.entries[middle:], 0, false)
	r.free = append(r.free, b)
	return true
}

// dispatchDelayed sends the batches that are due again, as far as there are
// slots, and returns the time until the next is.
func (r *run) dispatchDelayed() time.Duration {
	for {
		i := slices.IndexFunc(r.delayed, func(b *batch) bool {
			return !b.due.After(r.now) && (b.parked || r.slots() > 0)
		})
		if i < 0 {
			break
		}
		b := r.delayed[i]
		r.delayed = slices.Delete(r.delayed, i, i+1)
		if b.parked {
			b.parked = false
			r.parked--
		}
		r.merge(b)
		r.hand(b)
	}
	wait := maxPause
	for _, b := range r.delayed {
		if left := b.due.Sub(r.now); left > 0 {
			wait = min(wait, left)
		}
	}
	return wait
}

// merge adds the records of other batches that are due to b while they fit. A
// Commit keeps what was halved apart.
func (r *run) merge(b *batch) {
	if r.opt.Method == Commit {
		return
	}
	r.delayed = slices.DeleteFunc(r.delayed, func(other *batch) bool {
		if other.parked || other.due.After(r.now) || !b.takes(other, r.opt) {
			return false
		}
		for _, e := range other.entries {
			b.add(e)
		}
		r.free = append(r.free, other)
		return true
	})
}
