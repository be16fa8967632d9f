package writer

import (
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/wire"
)

// batch is the mutations of one call and, after it, what became of them. It
// belongs to Run's goroutine, or to a sender while it is in flight.
type batch struct {
	entries []*entry
	bytes   int // of the whole request
	cells   int

	// started is when the first record came, due when a batch that is sent again
	// may be; parked says that its slot is kept free for it meanwhile.
	started, due time.Time
	parked       bool

	request wire.Request

	// The outcome: a code for each entry, the statuses that are not OK, and the
	// error of the call.
	outcome []outcome
	refused []groupStatus
	answers int // entries answered for
	err     error
	unsent  bool // the run ended before
}

// outcome is the status code that a record was answered with.
type outcome uint8

const unanswered outcome = 255

type groupStatus struct {
	index  int
	status *status.Status
}

// reset empties the batch, whose request begins with header bytes.
func (b *batch) reset(header int) {
	clear(b.entries)
	clear(b.refused)
	*b = batch{entries: b.entries[:0], outcome: b.outcome[:0], refused: b.refused[:0], request: b.request, bytes: header}
}

func (b *batch) add(e *entry) {
	b.entries = append(b.entries, e)
	b.bytes += e.size()
	b.cells += int(e.cells)
}

// fits reports whether e may be added: a record that alone is over a limit only
// to an empty batch.
func (b *batch) fits(e *entry, o *Options) bool {
	return len(b.entries) == 0 ||
		len(b.entries) < o.MaxBatchMutations &&
			b.cells+int(e.cells) <= o.MaxBatchCells &&
			b.bytes+e.size() <= o.MaxBatchBytes
}

// takes reports whether all records of another batch may be added.
func (b *batch) takes(other *batch, o *Options) bool {
	return len(b.entries)+len(other.entries) <= o.MaxBatchMutations &&
		b.cells+other.cells <= o.MaxBatchCells &&
		b.bytes+other.bytes <= o.MaxBatchBytes // the header counted twice
}

// full reports whether no record can be added any more.
func (b *batch) full(o *Options) bool {
	return len(b.entries) >= o.MaxBatchMutations || b.cells >= o.MaxBatchCells || b.bytes >= o.MaxBatchBytes
}

// prepare puts the request together, which aliases the chunks' memory.
func (b *batch) prepare(header []byte) {
	b.request.Reset(header)
	b.outcome = b.outcome[:0]
	b.refused, b.answers, b.err = b.refused[:0], 0, nil
	for _, e := range b.entries {
		b.request.Add(e.bytes())
		b.outcome = append(b.outcome, unanswered)
	}
}

// answer notes what became of a record. The first answer counts.
func (b *batch) answer(i int, s *status.Status) {
	if b.outcome[i] != unanswered {
		return
	}
	b.outcome[i] = outcome(min(s.Code(), codes.Code(unanswered-1)))
	b.answers++
	if s.Code() != codes.OK {
		b.refused = append(b.refused, groupStatus{i, s})
	}
}
