package cdc

import (
	"context"
	"sync"
	"unsafe"
)

// item is one record of a batch that has something for the output.
type item struct {
	at       Timestamp
	end      int // of its bytes in the batch
	idStart  int // of its identity in the batch
	idSplit  int // between transaction and sequence
	idEnd    int
	lines    int
	isChange bool // a data change record
}

// batch is what a partition has ready for the output: bytes, and what they are.
type batch struct {
	bytes []byte
	ids   []byte // transactions and sequences
	items []item

	// What follows holds when everything above is in the output.
	position Timestamp
	movedOut []string
	children []Child
	outcome  Outcome
	awaits   []Await
}

func (b *batch) reset() {
	*b = batch{bytes: b.bytes[:0], ids: b.ids[:0], items: b.items[:0]}
}

func (b *batch) isEmpty() bool {
	return len(b.items) == 0 && b.position == 0 && len(b.children) == 0 && b.outcome == Ongoing
}

// size is about what the batch takes in memory.
func (b *batch) size() int {
	return len(b.bytes) + len(b.ids) + len(b.items)*int(unsafe.Sizeof(item{})) + len(b.children)*childSize
}

// childSize is about what a child takes: two tokens and its place.
const childSize = 512

// add notes that everything behind the last item is a record at that time with
// that identity.
func (b *batch) add(at Timestamp, transaction, sequence []byte, lines int, isChange bool) {
	it := item{at: at, end: len(b.bytes), idStart: len(b.ids), lines: lines, isChange: isChange}
	b.ids = append(b.ids, transaction...)
	it.idSplit = len(b.ids)
	b.ids = append(b.ids, sequence...)
	it.idEnd = len(b.ids)
	b.items = append(b.items, it)
}

func (b *batch) identity(it *item) Identity {
	return Identity{Transaction: string(b.ids[it.idStart:it.idSplit]), Sequence: string(b.ids[it.idSplit:it.idEnd])}
}

// advance returns the progress that n items of the batch are, and with all of
// them what the batch says besides.
func (b *batch) advance(n int) Advance {
	var a Advance
	if n == len(b.items) {
		a = Advance{Position: b.position, MovedOut: b.movedOut, Children: b.children, Outcome: b.outcome, Awaits: b.awaits}
	}
	if n > 0 {
		a.Position = max(a.Position, b.items[n-1].at)
	}
	for i := n - 1; i >= 0 && b.items[i].at == a.Position; i-- {
		if it := &b.items[i]; it.idEnd > it.idStart {
			a.Boundary = append(a.Boundary, b.identity(it))
		}
	}
	return a
}

// merge appends what later has to b.
func (b *batch) merge(later *batch) {
	bytes, ids := len(b.bytes), len(b.ids)
	b.bytes = append(b.bytes, later.bytes...)
	b.ids = append(b.ids, later.ids...)
	for _, it := range later.items {
		it.end += bytes
		it.idStart, it.idSplit, it.idEnd = it.idStart+ids, it.idSplit+ids, it.idEnd+ids
		b.items = append(b.items, it)
	}
	if later.position > b.position {
		b.movedOut = nil
	}
	b.position = max(b.position, later.position)
	b.movedOut = append(b.movedOut, later.movedOut...)
	b.children = append(b.children, later.children...)
	b.outcome, b.awaits = later.outcome, later.awaits
}

// inbox tells the consumer which outboxes have something for it.
type inbox struct {
	mu    sync.Mutex
	boxes []*outbox
	wake  chan struct{} // of one
}

func newInbox() *inbox { return &inbox{wake: make(chan struct{}, 1)} }

func (in *inbox) add(o *outbox) {
	in.mu.Lock()
	in.boxes = append(in.boxes, o)
	in.mu.Unlock()
	in.rouse()
}

func (in *inbox) len() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.boxes)
}

// rouse wakes the consumer if there is something for it.
func (in *inbox) rouse() {
	if in.len() == 0 {
		return
	}
	select {
	case in.wake <- struct{}{}:
	default:
	}
}

// next returns the outbox that has waited longest, nil if none does.
func (in *inbox) next() *outbox {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.boxes) == 0 {
		return nil
	}
	o := in.boxes[0]
	in.boxes = append(in.boxes[:0], in.boxes[1:]...)
	return o
}

// outbox is where a partition's goroutine leaves what it has read for the
// consumer. It holds one batch, which grows while the consumer is busy and
// whose size is what stops the query of a slow output.
type outbox struct {
	token string
	limit int
	in    *inbox

	mu     sync.Mutex
	full   batch
	queued bool          // in the inbox, or taken out of it and not yet emptied
	room   chan struct{} // of one; a token when the consumer has taken a batch
	spare  batch         // the consumer's
}

func newOutbox(token string, limit int, in *inbox) *outbox {
	return &outbox{token: token, limit: limit, in: in, room: make(chan struct{}, 1)}
}

// put leaves b, which is empty afterwards, and waits for room first if there is
// too much already.
func (o *outbox) put(ctx context.Context, b *batch) error {
	if b.isEmpty() {
		return nil
	}
	for !o.tryPut(b) {
		select {
		case <-o.room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (o *outbox) tryPut(b *batch) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	waiting := o.full.size()
	if waiting > 0 && waiting+b.size() > o.limit {
		return false
	}
	if o.full.isEmpty() {
		o.full, *b = *b, o.full
	} else {
		o.full.merge(b)
	}
	b.reset()
	if !o.queued {
		o.queued = true
		o.in.add(o)
	}
	return true
}

// take returns what there is, for the consumer, until its next call.
func (o *outbox) take() *batch {
	o.mu.Lock()
	o.spare.reset()
	o.full, o.spare = o.spare, o.full
	o.queued = false
	o.mu.Unlock()
	select {
	case o.room <- struct{}{}:
	default:
	}
	return &o.spare
}
