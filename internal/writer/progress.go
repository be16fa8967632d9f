package writer

import (
	"iter"
	"sync/atomic"

	"google.golang.org/grpc/codes"

	"spanbulk/internal/fault"
)

// Progress counts what a Writer has done. Any goroutine may read it at any time.
// The counts move by the chunk and by the call. Names in brackets are those of a
// summary.
type Progress struct {
	// RecordsIn is how many records Run has taken, those skipped included.
	RecordsIn atomic.Int64
	// Applied is how many of them Spanner said it applied (numRecordsSend), and
	// BytesSent the bytes of their mutations, each counted once (numBytesSend).
	Applied   atomic.Int64
	BytesSent atomic.Int64
	// Refused is how many will not be applied, by Spanner's answer or because
	// they could not be sent at all (numRecordsSendErrors).
	Refused atomic.Int64
	// Skipped is how many were passed over (recordsSkipped).
	Skipped atomic.Int64
	// Retried counts the mutations that were to be sent again, each time anew
	// (mutationsRetried).
	Retried atomic.Int64
	// Batches is how many calls were made, repeated ones too (batchesSent).
	Batches atomic.Int64
	// InFlight is how many calls are under way.
	InFlight atomic.Int64
	// Cells is how many cells the encoded mutations cost.
	Cells atomic.Int64
	// MaxMutations, MaxCells and MaxBytes are the most that were undecided at
	// once (bufferedMutations, bufferedCells, bufferedBytes).
	MaxMutations atomic.Int64
	MaxCells     atomic.Int64
	MaxBytes     atomic.Int64

	errors [codes.Unauthenticated + 1]atomic.Int64
}

// Undecided is how many records have no outcome: they wait, are under way, or
// were when the run failed. It is exact when Run has returned.
func (p *Progress) Undecided() int64 {
	decided := p.Applied.Load() + p.Refused.Load() + p.Skipped.Load()
	return max(p.RecordsIn.Load()-decided, 0)
}

// Errors returns how often each status code other than OK was the answer for a
// record or the failure of a call (errorClass.CODE.errors), in order of code.
func (p *Progress) Errors() iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		for c := range p.errors {
			if n := p.errors[c].Load(); n > 0 && !yield(fault.CodeName(codes.Code(c)), n) {
				return
			}
		}
	}
}

func (p *Progress) countError(c codes.Code) {
	if int(c) >= len(p.errors) {
		c = codes.Unknown
	}
	p.errors[c].Add(1)
}

// buffered is what is undecided now.
type buffered struct{ mutations, cells, bytes int64 }

func (b *buffered) add(e *entry) {
	b.mutations++
	b.cells += int64(e.cells)
	b.bytes += int64(e.size())
}

func (b *buffered) remove(e *entry) {
	b.mutations--
	b.cells -= int64(e.cells)
	b.bytes -= int64(e.size())
}

// note raises the maxima. Only Run's goroutine writes them.
func (p *Progress) note(b buffered) {
	raise(&p.MaxMutations, b.mutations)
	raise(&p.MaxCells, b.cells)
	raise(&p.MaxBytes, b.bytes)
}

func raise(a *atomic.Int64, n int64) {
	if n > a.Load() {
		a.Store(n)
	}
}
