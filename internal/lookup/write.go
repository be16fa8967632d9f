package lookup

import (
	"context"
	"time"

	"spanbulk/internal/format"
)

// A chunk is written when it is so large, or when nothing more has come for so
// long, or will come.
const (
	chunkBytes = 256 << 10
	chunkPause = 50 * time.Millisecond
)

// writing puts the output of batches into chunks, in their order if asked for.
type writing struct {
	*run
	waiting map[int64]*batch // done, and not yet in turn
	next    int64            // the batch in turn
	open    int              // batches that are begun or may be

	format  format.Format // of the records in chunk
	encoder format.Encoder
	chunk   []byte
	sealed  []byte
	records int
	counted counts // of the records in chunk and of those that made nothing
}

// counts is what became of records.
type counts struct{ applied, skipped, matched, unmatched int64 }

func (c *counts) add(b *batch) {
	c.applied += b.applied
	c.skipped += b.skipped
	c.matched += b.matched
	c.unmatched += b.unmatched
}

// write takes batches from the workers and writes what became of them.
func (r *run) write(ctx context.Context) error {
	// The others may begin when the first batch has told how large rows are.
	w := &writing{run: r, waiting: map[int64]*batch{}, open: 1}
	r.window <- struct{}{}
	pause := time.NewTimer(chunkPause)
	defer pause.Stop()
	for {
		if w.counted != (counts{}) && w.underWay.Load() == 0 {
			if err := w.flush(); err != nil {
				return err
			}
		}
		pause.Reset(chunkPause)
		select {
		case b, ok := <-r.done:
			if !ok {
				return w.flush()
			}
			if err := w.take(b); err != nil {
				return err
			}
		case <-pause.C:
			if err := w.flush(); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// take writes a batch, and those that have waited for it, or lets it wait.
func (w *writing) take(b *batch) error {
	if w.opt.Unordered {
		return w.add(b)
	}
	w.waiting[b.sequence] = b
	for {
		b, ok := w.waiting[w.next]
		if !ok {
			return nil
		}
		delete(w.waiting, w.next)
		w.next++
		if err := w.add(b); err != nil {
			return err
		}
	}
}

// add puts the records of a batch behind those in the chunk. What came before a
// batch that failed is written.
func (w *writing) add(b *batch) error {
	if b.err != nil {
		if err := w.flush(); err != nil {
			return err
		}
		return b.err
	}
	if b.format != w.format {
		if err := w.flush(); err != nil {
			return err
		}
		w.format, w.encoder = b.format, b.format.NewEncoder()
	}
	w.chunk = append(w.chunk, b.out...)
	w.records += b.outRecords
	w.counted.add(b)
	b.reset()
	w.idle <- b // it has room for as many as the window has tokens
	w.underWay.Add(-1)
	w.openWindow()
	if len(w.chunk) >= chunkBytes {
		return w.flush()
	}
	return nil
}

// openWindow lets batches begin behind one that is written.
func (w *writing) openWindow() {
	w.open--
	for most := w.maxBatches(); w.open < most; w.open++ {
		w.window <- struct{}{}
	}
}

// flush writes the chunk; only then its records count.
func (w *writing) flush() error {
	if len(w.chunk) > 0 {
		if err := w.writeChunk(); err != nil {
			return err
		}
	}
	p := w.opt.Progress
	p.Applied.Add(w.counted.applied)
	p.Skipped.Add(w.counted.skipped)
	p.Matched.Add(w.counted.matched)
	p.Unmatched.Add(w.counted.unmatched)
	w.counted = counts{}
	return nil
}

func (w *writing) writeChunk() error {
	chunk, err := w.encoder.Seal(w.sealed[:0], w.chunk, w.records)
	if err != nil {
		return err
	}
	if len(chunk) > 0 && &chunk[0] != &w.chunk[0] {
		w.sealed = keep(chunk)
	}
	if err := w.out.WriteChunk(chunk, w.records); err != nil {
		return err
	}
	w.opt.Progress.Bytes.Add(int64(len(chunk)))
	w.chunk, w.records = keep(w.chunk), 0
	return nil
}
