package cdc

import (
	"cmp"
	"math"
	"slices"
	"unsafe"
)

// hold keeps records until the watermark has passed them, so that those of all
// partitions can be written in the order of their commits.
type hold struct {
	limit int
	bytes int
	parts map[string]*heldPartition
	order []*heldPartition // by discovery
	// blocked are the outboxes that are not taken from while too much is held.
	blocked []*outbox
}

// heldPartition is what is held of one partition, in its order.
type heldPartition struct {
	token   string
	records []heldRecord
	steps   []Advance // what is true of it once its records are written
}

// heldRecord is one record with its lines.
type heldRecord struct {
	token    string
	at       Timestamp
	bytes    []byte
	id       Identity
	lines    int
	isChange bool
}

func newHold(limit int) *hold { return &hold{limit: limit, parts: map[string]*heldPartition{}} }

func (h *hold) part(token string) *heldPartition {
	p := h.parts[token]
	if p == nil {
		p = &heldPartition{token: token}
		h.parts[token] = p
		h.order = append(h.order, p)
	}
	return p
}

// add keeps a batch, whose memory stays its owner's.
func (h *hold) add(token string, b *batch, step Advance) {
	p := h.part(token)
	content := slices.Clone(b.bytes)
	start := 0
	for i := range b.items {
		it := &b.items[i]
		if it.end > start {
			rec := heldRecord{token: token, at: it.at, bytes: content[start:it.end:it.end], id: b.identity(it), lines: it.lines, isChange: it.isChange}
			p.records = append(p.records, rec)
			h.bytes += rec.size()
		}
		start = it.end
	}
	// A child's records can be written before the rest of the batch is.
	for _, c := range step.Children {
		p.steps = append(p.steps, Advance{Position: c.Start, Children: []Child{c}})
		h.part(c.Token)
	}
	// Whatever is at a step's position is written with it.
	step.Boundary, step.Children = nil, nil
	p.steps = append(p.steps, step)
}

func (r *heldRecord) size() int {
	return len(r.bytes) + len(r.id.Transaction) + len(r.id.Sequence) + int(unsafe.Sizeof(*r))
}

// before takes the records before a time out of the hold, in the order of their
// commits. Those of a transaction come in its order; records about partitions
// come behind the changes of the same time.
func (h *hold) before(mark Timestamp) []heldRecord {
	var all []heldRecord
	for _, p := range h.order {
		n := 0
		for n < len(p.records) && p.records[n].at < mark {
			h.bytes -= p.records[n].size()
			n++
		}
		all = append(all, p.records[:n]...)
		clear(p.records[:n])
		if p.records = p.records[n:]; len(p.records) == 0 {
			p.records = nil // lets go of the memory
		}
	}
	slices.SortStableFunc(all, func(a, b heldRecord) int {
		return cmp.Or(cmp.Compare(a.at, b.at), -compareBools(a.isChange, b.isChange),
			cmp.Compare(a.id.Transaction, b.id.Transaction), cmp.Compare(a.id.Sequence, b.id.Sequence))
	})
	return all
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

// settled takes the steps before a time out of the hold.
func (p *heldPartition) settled(mark Timestamp) []Advance {
	n := 0
	for n < len(p.steps) && p.steps[n].Position < mark {
		n++
	}
	steps := slices.Clone(p.steps[:n])
	p.steps = append(p.steps[:0], p.steps[n:]...)
	return steps
}

// takeHeld takes a batch into the hold, unless too much is held and the
// partition is ahead of others: then it must wait for them. Those that others
// wait for are always taken from, so that the watermark can move.
func (r *run) takeHeld(box *outbox) error {
	h := r.hold
	position, _ := r.read.Position(box.token)
	if h.bytes >= h.limit && position > r.read.Watermark() {
		h.blocked = append(h.blocked, box)
		return r.makeWay()
	}
	b := box.take()
	step := b.advance(len(b.items))
	before := r.read.Watermark()
	h.add(box.token, b, step)
	if err := r.apply(box.token, &step); err != nil {
		return err
	}
	if mark := r.read.Watermark(); mark > before {
		return r.release(mark)
	}
	return nil
}

// makeWay parks a partition that is ahead and must wait, if one that all wait
// for has no turn because of it.
func (r *run) makeWay() error {
	h := r.hold
	if r.read.Queued() == 0 || r.read.Running() < r.opt.MaxQueries || len(h.blocked) == 0 {
		return nil
	}
	box := h.blocked[0]
	h.blocked = slices.Delete(h.blocked, 0, 1)
	rd := r.readers[box.token]
	rd.cancel(errParked)
	<-rd.done
	// What it had ready is thrown away; the ledger knows from where to read it
	// again. Its turn comes behind those that wait now.
	return r.apply(box.token, &Advance{Outcome: Parked})
}

// release writes what is before the mark, and notes it as written.
func (r *run) release(mark Timestamp) error {
	boundary, cut, err := r.writeHeld(r.hold.before(mark))
	if err != nil {
		return err
	}
	if cut != 0 {
		mark = cut
	}
	if err := r.settle(mark, boundary); err != nil {
		return err
	}
	// The others may have room again, or are not ahead any more.
	blocked := r.hold.blocked
	r.hold.blocked = nil
	for _, box := range blocked {
		r.inbox.add(box)
	}
	return nil
}

// writeHeld writes records, as far as MaxRecords goes. If they end before all
// are written, cut is the time of the last one, and boundary has what is written
// of that time by partition.
func (r *run) writeHeld(records []heldRecord) (boundary map[string][]Identity, cut Timestamp, err error) {
	var chunk []byte
	lines, changes := 0, int64(0)
	flush := func() error {
		err := r.put(chunk, lines, changes)
		chunk, lines, changes = chunk[:0], 0, 0
		return err
	}
	for i := range records {
		rec := &records[i]
		if rec.isChange && r.opt.MaxRecords > 0 && r.written+changes >= r.opt.MaxRecords {
			cut = records[i-1].at
			return sameTime(records[:i], cut), cut, flush()
		}
		chunk = append(chunk, rec.bytes...)
		lines += rec.lines
		if rec.isChange {
			changes++
		}
		if len(chunk) >= r.opt.ChunkBytes {
			if err := flush(); err != nil {
				return nil, 0, err
			}
		}
	}
	return nil, 0, flush()
}

func sameTime(records []heldRecord, at Timestamp) map[string][]Identity {
	all := map[string][]Identity{}
	for i := len(records) - 1; i >= 0 && records[i].at == at; i-- {
		all[records[i].token] = append(all[records[i].token], records[i].id)
	}
	return all
}

// settle notes in the ledger of what is written that everything before the mark
// is, and what of the mark's own time.
func (r *run) settle(mark Timestamp, boundary map[string][]Identity) error {
	for _, p := range r.hold.order {
		for _, step := range p.settled(mark) {
			if err := r.acked.follow(p.token, step); err != nil {
				return err
			}
		}
		q := r.acked.partitions[p.token]
		if q == nil || q.State == Finished || mark == math.MaxInt64 || q.Position > mark {
			continue
		}
		if q.Position < mark || len(boundary[p.token]) > 0 {
			if err := r.acked.follow(p.token, Advance{Position: mark, Boundary: boundary[p.token]}); err != nil {
				return err
			}
		}
	}
	r.hold.order = slices.DeleteFunc(r.hold.order, func(p *heldPartition) bool {
		if _, read := r.read.Position(p.token); read || len(p.records) > 0 || len(p.steps) > 0 {
			return false
		}
		delete(r.hold.parts, p.token)
		return true
	})
	return nil
}

// releaseAll writes everything that is held back: nothing is still to come.
func (r *run) releaseAll() error {
	if r.hold == nil {
		return nil
	}
	return r.release(math.MaxInt64)
}

// clone returns a Ledger of its own with the same partitions.
func (l *Ledger) clone() *Ledger {
	c := &Ledger{partitions: map[string]*Partition{}, minStale: true}
	*c = *l
	c.partitions = map[string]*Partition{}
	for _, p := range l.Partitions() {
		c.partitions[p.Token] = &p
	}
	return c
}

// follow is Apply for a ledger that comes after another one, which decides what
// is read: here no partition needs a turn.
func (l *Ledger) follow(token string, step Advance) error {
	if p := l.partitions[token]; p != nil && p.State < Running {
		switch {
		case p.State == Scheduled && !p.atEnd:
			l.queued--
		case len(p.Awaits) > 0:
			l.awaiting--
			p.Awaits = nil
		}
		p.State = Running
		l.started++
	}
	return l.Apply(token, step)
}
