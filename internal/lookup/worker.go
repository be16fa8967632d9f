package lookup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"spanbulk/internal/fault"
	"spanbulk/internal/format"
	"spanbulk/internal/wire"
)

// errUnknownRow would mean that a key came back in another form than it went
// out, or that an index is not unique.
var errUnknownRow = errors.New("a row came back that was not asked for, or came twice")

// errTooLarge is the end of a read whose rows are too large to be held together.
var errTooLarge = errors.New("the rows of the batch are too large to be held together")

// worker reads batches and joins their records, one batch after another.
type worker struct {
	*Lookup
	budget   *budget
	encoders map[format.Format]format.Encoder
	key      []byte       // scratch
	row      []wire.Value // scratch: a record and its row
}

func newWorker(l *Lookup, u *budget) *worker {
	return &worker{Lookup: l, budget: u, encoders: map[format.Format]format.Encoder{}}
}

// work does with a batch what can be done before its turn, which is everything
// but writing it unless it is too large.
func (w *worker) work(ctx context.Context, b *batch) {
	err := w.fetch(ctx, b)
	b.tooLarge = errors.Is(err, errTooLarge)
	switch {
	case b.tooLarge:
	case err != nil:
		b.err = err
	default:
		b.err = w.join(b, w.budget.maxOut())
	}
	w.budget.settle(b)
	switch {
	case b.tooLarge:
		b.dropRows()
		b.rows = keep(b.rows)
	case b.err != nil || b.isJoined():
		b.release()
	}
}

// fetch reads the rows of the keys.
func (w *worker) fetch(ctx context.Context, b *batch) error {
	if b.reads == 0 {
		return nil
	}
	p := w.opt.Progress
	p.Batches.Add(1)
	p.KeysRead.Add(int64(b.reads))
	var began time.Time
	start := func() {
		began = time.Now()
		b.dropRows()
	}
	at, err := w.retried(ctx, b.keys, start, func(row []wire.Value) error { return w.take(b, row) })
	if errors.Is(err, errTooLarge) {
		return err
	}
	if err != nil {
		return w.fault(err, "look up keys in", fault.Writing)
	}
	if w.cache != nil {
		for i := range b.slots {
			if s := &b.slots[i]; s.read {
				w.cache.put(s.key, cachedRow{s.row, began, at})
			}
		}
	}
	return nil
}

// take puts a row into the slot of its key.
func (w *worker) take(b *batch, row []wire.Value) error {
	w.key = w.key[:0]
	for _, at := range w.keyAt {
		w.key = appendKeyPart(w.key, row[at])
	}
	at, known := b.byKey[string(w.key)]
	if !known || !b.slots[at].read || b.slots[at].row != nil {
		return errUnknownRow
	}
	b.addRow(at, row[:len(w.fields)])
	if !w.budget.grow(b) {
		return errTooLarge
	}
	return nil
}

// appendKeyPart appends a part of a key in the one form that its value has among
// the encodings protobuf allows, which is the form KeyReaders write.
func appendKeyPart(dst []byte, v wire.Value) []byte {
	switch kind, p := v.Parse(); kind {
	case wire.String:
		if len(v) == 1+protowire.SizeBytes(len(p)) {
			break // as usual
		}
		return wire.AppendElement(dst, wire.AppendString(nil, p))
	case wire.Number:
		return wire.AppendElement(dst, positiveZero(wire.AppendNumber(nil, wire.Float64(p))))
	case wire.Bool:
		return wire.AppendElement(dst, wire.AppendBool(nil, wire.Truth(p)))
	}
	return wire.AppendElement(dst, v)
}

// RecordError is the failure of one record that had been read.
type RecordError struct {
	Number int64 // of the record, counted from 1
	Err    error
}

func (e *RecordError) Error() string { return fmt.Sprintf("record %d: %v", e.Number, e.Err) }

// Unwrap returns the cause.
func (e *RecordError) Unwrap() error { return e.Err }

// join encodes records of the batch with their rows, the next ones, until there
// are no more or so many bytes.
func (w *worker) join(b *batch, most int) error {
	enc, ok := w.encoders[b.format]
	if !ok {
		enc = b.format.NewEncoder()
		w.encoders[b.format] = enc
	}
	counter, counts := enc.(format.RecordCounter)
	for ; b.joined < len(b.records) && len(b.out) < most; b.joined++ {
		r := &b.records[b.joined]
		w.row = append(w.row[:0], r.raw)
		matched := r.slot != noSlot && b.slots[r.slot].row != nil
		switch {
		case matched:
			row := b.slots[r.slot].row
			w.row = appendValues(w.row, row)
			b.out = slices.Grow(b.out, len(r.raw)+len(row))
		case w.opt.Inner:
			b.counts.unmatched++
			b.counts.skipped++
			continue
		}
		var err error
		if b.out, err = enc.AppendRow(b.out, w.row); err != nil {
			return &RecordError{b.first + int64(b.joined), err}
		}
		made := 1
		if counts {
			made = counter.TakeRecords(1)
		}
		b.outRecords += made
		b.counts.count(matched, made)
	}
	return nil
}

func appendValues(row []wire.Value, elements wire.List) []wire.Value {
	for {
		v, rest, ok := elements.Next()
		if !ok {
			return row
		}
		row, elements = append(row, v), rest
	}
}
