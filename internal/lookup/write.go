package lookup

import (
	"context"
	"errors"
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
	worker  *worker          // does what could not be done before their turn
	part    *batch           // of one that is too large

	format  format.Format // of the records in chunk
	encoder format.Encoder
	chunk   []byte
	sealed  []byte
	records int
	counted counts // of the records in chunk and of those that made nothing
}

// counts is what became of records.
type counts struct{ applied, skipped, matched, unmatched int64 }

func (c *counts) add(more counts) {
	c.applied += more.applied
	c.skipped += more.skipped
	c.matched += more.matched
	c.unmatched += more.unmatched
}

// count counts a record that has become so many.
func (c *counts) count(matched bool, made int) {
	if matched {
		c.matched++
	} else {
		c.unmatched++
	}
	if made > 0 {
		c.applied++
	} else {
		c.skipped++
	}
}

// write takes batches from the workers and writes what became of them.
func (r *run) write(ctx context.Context) error {
	w := &writing{run: r, waiting: map[int64]*batch{}, worker: newWorker(r.Lookup, r.budget), part: newBatch()}
	w.part.isPart = true
	pause := time.NewTimer(chunkPause)
	defer pause.Stop()
	for {
		if w.counted != (counts{}) && w.budget.idle() {
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
			if err := w.take(ctx, b); err != nil {
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
func (w *writing) take(ctx context.Context, b *batch) error {
	if w.opt.Unordered {
		return w.add(ctx, b)
	}
	w.waiting[b.sequence] = b
	for {
		b, ok := w.waiting[w.next]
		if !ok {
			return nil
		}
		delete(w.waiting, w.next)
		w.next++
		if err := w.add(ctx, b); err != nil {
			return err
		}
	}
}

// add writes a batch that is in turn, as far as it did not fail, and lets it go.
func (w *writing) add(ctx context.Context, b *batch) error {
	if b.format != w.format {
		if err := w.flush(); err != nil {
			return err
		}
		w.format, w.encoder = b.format, b.format.NewEncoder()
	}
	if err := w.finish(ctx, b); err != nil {
		return err
	}
	reserved := b.reserved
	b.release()
	b.reset()
	w.idle <- b // it has room for all there are
	w.budget.end(reserved)
	return nil
}

// finish puts all records of a batch behind those in the chunk.
func (w *writing) finish(ctx context.Context, b *batch) error {
	if b.tooLarge {
		return w.readParts(ctx, b)
	}
	for {
		if err := w.moveOut(b); err != nil {
			return err
		}
		if b.err != nil {
			if err := w.flush(); err != nil {
				return err
			}
			return b.err
		}
		if b.isJoined() {
			return nil
		}
		b.err = w.worker.join(b, chunkBytes)
	}
}

// readParts reads a batch that is too large in parts, each at a timestamp of its
// own. A part of one key is never too large.
func (w *writing) readParts(ctx context.Context, b *batch) error {
	p, keys := w.part, w.budget.maxKeys()
	for next := 0; next < len(b.records); {
		p.reset()
		p.first, p.format = b.first+int64(next), b.format
		for i := next; i < len(b.records) && !p.full(keys); i++ {
			p.addFrom(b, i)
		}
		p.err = w.worker.fetch(ctx, p)
		w.budget.learn(p)
		if errors.Is(p.err, errTooLarge) {
			keys = max(p.reads/4, 1)
			continue
		}
		next += len(p.records)
		if err := w.finish(ctx, p); err != nil {
			return err
		}
	}
	p.reset()
	return nil
}

// moveOut takes a batch's output into the chunk, and writes this when it is large.
func (w *writing) moveOut(b *batch) error {
	if len(b.out) >= chunkBytes {
		if err := w.flush(); err != nil {
			return err
		}
		w.chunk, b.out = b.out, w.chunk
	} else {
		w.chunk = append(w.chunk, b.out...)
	}
	w.records += b.outRecords
	w.counted.add(b.counts)
	b.out, b.outRecords, b.counts = b.out[:0], 0, counts{}
	if len(w.chunk) >= chunkBytes {
		return w.flush()
	}
	return nil
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
