package cdc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"

	"spanbulk/internal/fault"
	"spanbulk/internal/format"
)

// Output is where the lines or rows go. One goroutine calls its methods.
type Output interface {
	// Begin is called once, before anything is written, with what a file of the
	// format begins with, which may be nothing.
	Begin(header []byte) error
	// Write takes a chunk that stands by itself and holds that many lines or
	// rows. It must be done with it when it returns.
	Write(chunk []byte, records int) error
	// Flush makes safe what was written, if only nothing before Begin: only then
	// is it noted as done. What it returns is kept in the state, for whoever opens
	// the output again.
	Flush() (json.RawMessage, error)
}

// Tail reads one change stream.
type Tail struct {
	source Source
	opt    Options
	format *outputFormat
}

// New returns a Tail over source, which must stay open as long as it is used.
func New(source Source, opt Options) (*Tail, error) {
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	opt.setDefaults()
	f, err := opt.outputFormat()
	if err != nil {
		return nil, err
	}
	return &Tail{source: source, opt: opt, format: f}, nil
}

// Run reads the stream and hands it to out until the end position, the record
// limit or the time limit, which are no errors, or until ctx ends or something
// fails. The state is saved in any case, unless that is what failed. It returns
// when all goroutines it started have ended.
func (t *Tail) Run(ctx context.Context, out Output) error {
	if err := t.checkCapture(); err != nil {
		return err
	}
	ledger, err := t.begin(ctx)
	if err != nil {
		return err
	}
	r := newRun(t, ledger, out)
	// A run that is killed before it has saved anything else must not begin at a
	// later "latest" the next time, nor find an output that no state covers.
	if err := r.save(); err != nil {
		return err
	}
	if err := out.Begin(t.format.lines.Header()); err != nil {
		return err
	}
	err = r.run(ctx)
	if _, expired := errors.AsType[*expiredError](err); !expired || t.opt.State == nil || t.opt.ResumeFallback == nil {
		return err
	}
	// Spanner has less than its retention: the stream is younger than the state.
	if ledger, err = t.fallBack(ctx); err != nil {
		return err
	}
	again := newRun(t, ledger, out)
	again.written = r.written
	return again.run(ctx)
}

// checkCapture refuses rows from a stream that does not capture what they need.
// Each record is checked again, as the stream can be altered.
func (t *Tail) checkCapture() error {
	s := t.source.Stream()
	switch capture := s.CaptureType(); {
	case t.opt.Mode == Records, capture == captureNewRowAndOldValues, t.opt.Mode == Upsert && capture == captureNewRow:
		return nil
	default:
		return fault.New(codes.FailedPrecondition, "tail", "change stream "+s.Name, "it captures "+capture).WithHint(captureHint(t.opt.Mode))
	}
}

// begin works out where to begin: what an earlier run has left, or the start
// position by the server's clock.
func (t *Tail) begin(ctx context.Context) (*Ledger, error) {
	w, err := t.window(ctx)
	if err != nil {
		return nil, err
	}
	end := TimestampOf(t.opt.End)
	// The earliest records move on with time: where none was read, these begin later.
	if s := t.opt.State; s != nil && !(t.opt.Start.kind == positionEarliest && s.isUntouched()) {
		ledger, err := t.restore(s, w)
		if ledger != nil || err != nil {
			return ledger, err
		}
		return t.fallBack(ctx)
	}
	start, err := t.opt.Start.resolve(w, "start position")
	switch {
	case err != nil:
		return nil, err
	case end != 0 && end < start:
		return nil, fault.New(codes.InvalidArgument, "tail until", end.String(), fmt.Sprintf("the end position is before the start, %v", start))
	}
	t.opt.moveStart = t.opt.Start.kind == positionEarliest
	t.opt.Log.Info("beginning", "position", start)
	return NewLedger(start), nil
}

// fallBack throws the state away and begins at the resume fallback.
func (t *Tail) fallBack(ctx context.Context) (*Ledger, error) {
	w, err := t.window(ctx)
	if err != nil {
		return nil, err
	}
	start, err := t.opt.ResumeFallback.resolve(w, "resume fallback")
	if err != nil {
		return nil, err
	}
	t.warnOfGap(t.opt.State, start, w)
	t.opt.State = nil
	t.opt.moveStart = t.opt.ResumeFallback.kind == positionEarliest
	return NewLedger(start), nil
}

func (t *Tail) window(ctx context.Context) (window, error) {
	before := time.Now()
	now, err := t.source.Now(ctx)
	if err != nil {
		return window{}, err
	}
	t.opt.Progress.clockOffset.Store(int64(now.Sub(before)))
	retention, explicit, err := t.source.Stream().Retention(t.opt.AbsentRetention)
	if err != nil {
		t.opt.Log.Warn("assuming the fallback retention", "retention", t.opt.AbsentRetention, "error", err.Error())
		retention, explicit = t.opt.AbsentRetention, false
	}
	return window{now: TimestampOf(now), retention: retention, explicit: explicit}, nil
}

// restore takes up the ledger of an earlier run; nil without an error if it is
// too old and there is a fallback.
func (t *Tail) restore(s *SavedState, w window) (*Ledger, error) {
	partitions := s.Partitions
	if t.opt.NoDeduplicate {
		for i := range partitions {
			partitions[i].Boundary = nil
		}
	}
	ledger, err := RestoreLedger(partitions)
	if err != nil {
		return nil, fmt.Errorf("state of change stream %s: %w", s.Stream, err)
	}
	if mark := ledger.Watermark(); mark < w.earliest() {
		if t.opt.ResumeFallback != nil {
			return nil, nil
		}
		return nil, t.expired(mark, w.earliest(), nil)
	}
	t.opt.Log.Info("going on from the state", "watermark", ledger.Watermark(), "saved", s.Saved)
	t.opt.Graph.restore(partitions)
	return ledger, nil
}

// expired makes the error of a position that Spanner has no records for.
func (t *Tail) expired(position, from Timestamp, cause error) error {
	s := t.source.Stream()
	retention, explicit, _ := s.Retention(t.opt.AbsentRetention)
	reason := fmt.Sprintf("Spanner has no records of that time: the stream's retention is %v", retention)
	if !explicit {
		reason = fmt.Sprintf("Spanner has no records of that time: the stream's retention is not set, and %v is assumed", retention)
	}
	e := &fault.Error{
		Code: codes.OutOfRange, Op: "read on", Object: fmt.Sprintf("change stream %s at %v", s.Name, position), Reason: reason, Err: cause,
		Hint: "--resume-fallback earliest goes on with what there is, without what is lost in between; a longer retention_period prevents it",
	}
	if t.opt.State == nil {
		e.Op, e.Hint = "begin", "begin later, or with --start-position earliest"
	}
	if from != 0 {
		e.Reason += fmt.Sprintf(", and what it has begins at %v", from)
	}
	return e
}

func (t *Tail) warnOfGap(s *SavedState, start Timestamp, w window) {
	t.opt.Log.Warn("the state is too old for Spanner; everything in it is thrown away, and the changes between are lost or come again",
		"lostFrom", s.Watermark, "lostUntil", start, "retention", w.retention, "resumeFallback", t.opt.ResumeFallback.String())
}

// run is one Run of a Tail: the consumer of what the readers bring.
type run struct {
	*Tail
	out  Output
	end  Timestamp
	seal format.Encoder
	sum  []byte // scratch of sealed chunks

	// read says what has been read, and what may be read next; acked what the
	// output has. They are one and the same but where records are held back.
	read, acked *Ledger
	hold        *hold // nil unless records are held back

	inbox   *inbox
	readers map[string]*reader
	group   *errgroup.Group
	ctx     context.Context // of the readers
	stop    context.CancelCauseFunc

	written int64     // data change records
	full    bool      // MaxRecords have been written
	printed Timestamp // the last watermark line
	dirty   bool      // something is to be saved
}

func newRun(t *Tail, ledger *Ledger, out Output) *run {
	r := &run{
		Tail: t, out: out, end: TimestampOf(t.opt.End), seal: t.format.lines.NewEncoder(),
		read: ledger, acked: ledger, inbox: newInbox(), readers: map[string]*reader{}, dirty: true,
	}
	if t.opt.Order == ByCommit {
		r.acked = ledger.clone()
		r.hold = newHold(t.opt.OrderBytes)
	}
	return r
}

var (
	// errDone ends the readers when the run has all it wants.
	errDone = errors.New("done")
	// errFor is the end of Options.For.
	errFor = errors.New("the time is over")
)

func (r *run) run(parent context.Context) error {
	ctx, stop := context.WithCancelCause(parent)
	defer stop(nil)
	r.stop = stop
	r.group, r.ctx = errgroup.WithContext(ctx)
	r.count()
	err := r.loop()
	stop(errDone)
	rerr := r.group.Wait()
	switch {
	case err == nil, errors.Is(err, errFor):
		err = nil
	case errors.Is(err, errReaders):
		err = rerr
		if cause := context.Cause(parent); cause != nil {
			err = cause
		}
	}
	if !r.full && !errors.Is(err, errOutput) {
		err = errors.Join(err, r.drain())
	}
	if expired, ok := errors.AsType[*expiredError](err); ok {
		err = r.expired(expired.position, expired.from, expired)
	}
	return r.finish(err)
}

// errReaders stands for the error of the readers, which Wait returns; errOutput
// is wrapped by those of the output, after which nothing is written to it.
var (
	errReaders = errors.New("a reader has failed")
	errOutput  = errors.New("output failed")
)

// outputError marks an error of the output, whose text it keeps.
type outputError struct{ error }

func (e outputError) Unwrap() []error { return []error{e.error, errOutput} }

// loop takes what the readers bring until nothing is left to read.
func (r *run) loop() error {
	save := time.NewTicker(r.opt.SaveEvery)
	defer save.Stop()
	pulse := time.NewTicker(r.opt.Heartbeat)
	defer pulse.Stop()
	var over <-chan time.Time
	if r.opt.For > 0 {
		timer := time.NewTimer(r.opt.For)
		defer timer.Stop()
		over = timer.C
	}
	for {
		if err := r.startReaders(); err != nil {
			return err
		}
		switch {
		case r.full:
			return nil
		case r.read.Done():
			return r.releaseAll()
		case r.read.Stuck():
			return r.stuck()
		}
		select {
		case <-r.inbox.wake:
			if err := r.takeAll(); err != nil {
				return err
			}
		case <-save.C:
			if err := r.save(); err != nil {
				return err
			}
		case <-pulse.C:
			r.listen()
			if err := r.printWatermark(); err != nil {
				return err
			}
		case <-over:
			return errFor
		case <-r.ctx.Done():
			return errReaders
		}
	}
}

func (r *run) stuck() error {
	for _, p := range r.read.Partitions() {
		if p.State == Created {
			return fault.New(codes.Internal, "read", fmt.Sprintf("change stream %s, partition %s", r.source.Stream().Name, short(p.Token)),
				"it waits for a parent that Spanner has not told of")
		}
	}
	return errors.New("no partition can be read")
}

// startReaders starts as many of the partitions whose turn it is as may be read
// at once.
func (r *run) startReaders() error {
	defer r.count()
	for r.read.Running() < r.opt.MaxQueries {
		p, ok := r.read.Next()
		if !ok {
			return nil
		}
		if r.end != 0 && p.Position > r.end {
			if err := r.apply(p.Token, &Advance{Outcome: AtEnd}); err != nil {
				return err
			}
			continue
		}
		if err := r.startReader(p); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) startReader(p Partition) error {
	rd, err := newReader(r.source, &r.opt, r.format, p, r.end, r.inbox)
	if err != nil {
		return err
	}
	r.readers[p.Token] = rd
	ctx, cancel := context.WithCancelCause(r.ctx)
	rd.cancel = cancel
	r.group.Go(func() error {
		defer close(rd.done)
		defer cancel(nil)
		return rd.run(ctx)
	})
	return nil
}

// takeAll takes what all readers have ready. What they bring meanwhile is for the
// next time: if reading is faster than writing, there is always something.
func (r *run) takeAll() error {
	defer r.inbox.rouse()
	for n := r.inbox.len(); n > 0 && !r.full; n-- {
		box := r.inbox.next()
		if box == nil {
			break
		}
		if rd := r.readers[box.token]; rd == nil || rd.box != box {
			continue // parked meanwhile; it will be read again
		}
		if err := r.take(box); err != nil {
			return err
		}
		if err := r.startReaders(); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) take(box *outbox) error {
	if r.hold != nil {
		return r.takeHeld(box)
	}
	return r.write(box.token, box.take())
}

// write hands a batch to the output and notes what that is of the partition.
func (r *run) write(token string, b *batch) error {
	n := r.within(b.items)
	lines, changes, end := 0, int64(0), 0
	for i := range b.items[:n] {
		lines += b.items[i].lines
		end = b.items[i].end
		if b.items[i].isChange {
			changes++
		}
	}
	if err := r.put(b.bytes[:end], lines, changes); err != nil {
		return err
	}
	step := b.advance(n)
	return r.apply(token, &step)
}

// within returns how many of the items there is still room for under MaxRecords.
func (r *run) within(items []item) int {
	if r.opt.MaxRecords == 0 {
		return len(items)
	}
	left := r.opt.MaxRecords - r.written
	for i := range items {
		if !items[i].isChange {
			continue
		}
		if left == 0 {
			return i
		}
		left--
	}
	return len(items)
}

// put writes lines, of which so many are of data change records.
func (r *run) put(b []byte, lines int, changes int64) error {
	if len(b) > 0 {
		chunk, err := r.seal.Seal(r.sum[:0], b, lines)
		if err != nil {
			return err
		}
		if len(chunk) > 0 && &chunk[0] != &b[0] {
			r.sum = chunk
		}
		if err := r.out.Write(chunk, lines); err != nil {
			return outputError{err}
		}
		r.opt.Progress.Bytes.Add(int64(len(chunk)))
		r.opt.Progress.Lines.Add(int64(lines))
	}
	r.written += changes
	r.opt.Progress.RecordsWritten.Add(changes)
	r.full = r.opt.MaxRecords > 0 && r.written >= r.opt.MaxRecords
	return nil
}

// apply notes progress in the ledger that rules what is read next.
func (r *run) apply(token string, step *Advance) error {
	if err := r.read.Apply(token, *step); err != nil {
		return fmt.Errorf("read change stream %s: %w", r.source.Stream().Name, err)
	}
	if step.Outcome != Ongoing {
		delete(r.readers, token)
	}
	r.opt.Graph.note(token, step)
	r.dirty = true
	return nil
}

// count takes the ledgers' numbers into the progress.
func (r *run) count() {
	p := r.opt.Progress
	p.QueuedPartitions.Store(int64(r.read.Queued()))
	p.PartitionsDiscovered.Store(int64(r.read.Discovered()))
	p.watermark.Store(int64(r.acked.Watermark()))
}

// listen looks for queries that bring nothing, not even heartbeats. One that is
// silent for long is broken off: the connection may be dead without anybody
// having noticed.
func (r *run) listen() {
	interval := r.opt.Heartbeat
	patience := max(10*interval, time.Minute)
	for _, rd := range r.readers {
		since := rd.waiting.Load()
		if since == 0 {
			rd.missed = 0
			continue
		}
		silence := time.Since(time.Unix(0, since))
		missed := int64(silence / (2 * interval))
		if missed > rd.missed {
			r.opt.Progress.MissedHeartbeats.Add(missed - rd.missed)
		}
		rd.missed = missed
		if silence > patience {
			if breakOff := rd.breaker.Load(); breakOff != nil {
				(*breakOff)(errSilent)
			}
		}
	}
}

// printWatermark writes a line if the watermark has moved since the last one.
func (r *run) printWatermark() error {
	mark := r.acked.Watermark()
	if !r.opt.Watermarks || mark <= r.printed || r.full {
		return nil
	}
	line := appendWatermark
	if r.opt.Text {
		line = appendWatermarkText
	}
	r.printed = mark
	return r.put(line(nil, mark), 1, 0)
}

// drain takes what the readers had ready when they ended.
func (r *run) drain() error {
	if r.hold != nil {
		return nil // what is held back stays behind, and is read again
	}
	for box := r.inbox.next(); box != nil && !r.full; box = r.inbox.next() {
		if rd := r.readers[box.token]; rd == nil || rd.box != box {
			continue
		}
		if err := r.write(box.token, box.take()); err != nil {
			return err
		}
	}
	return nil
}

// finish ends the output and saves the state, whatever the outcome was.
func (r *run) finish(err error) error {
	defer r.count()
	if errors.Is(err, errOutput) {
		// What the output holds is not known any more; the last state is true.
		return err
	}
	if err == nil {
		err = r.printWatermark()
	}
	r.dirty = true
	if serr := r.save(); serr != nil {
		return errors.Join(err, serr)
	}
	return err
}

// save flushes the output, and then saves what it holds.
func (r *run) save() error {
	if !r.dirty {
		return nil
	}
	mark, err := r.out.Flush()
	if err != nil {
		return outputError{err}
	}
	r.dirty = false
	if r.opt.Save == nil {
		return nil
	}
	s := r.source.Stream()
	return r.opt.Save(&SavedState{
		Database: s.Database, Stream: s.Name, Saved: time.Now().UTC(), Watermark: r.acked.Watermark(),
		Output: mark, Partitions: r.acked.Partitions(),
	})
}
