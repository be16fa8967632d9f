package lookup

import (
	"context"

	"spanbulk/internal/format"
)

// gatherer makes batches of Blocks.
type gatherer struct {
	*run
	format  format.Format
	layout  *format.Layout
	block   *Block // being cut up; nil if there is none
	next    int    // of its records
	batch   *batch // being filled; nil if there is none
	number  int64  // of records so far
	batches int64
	ended   bool // there are no more Blocks
}

// gather cuts Blocks into batches and sends these to the workers. A batch that
// is not full goes out when a worker is free and there is no more input at
// hand: batches are full where the input is fast, and nothing waits where it is
// slow.
func (r *run) gather(ctx context.Context) error {
	g := &gatherer{run: r}
	for {
		if err := g.fill(); err != nil {
			g.ended, g.failure = true, err
		}
		switch {
		case g.ended && g.batch == nil:
			return nil
		case !g.mustSend():
			select {
			case b, ok := <-r.blocks:
				g.take(b, ok)
				continue
			default:
			}
		}
		if err := g.wait(ctx); err != nil {
			return err
		}
	}
}

// mustSend reports whether no record can be added to the batch.
func (g *gatherer) mustSend() bool { return g.block != nil || g.ended }

// wait waits for whatever comes first: input, leave to begin, a free worker.
func (g *gatherer) wait(ctx context.Context) error {
	blocks, work := g.blocks, g.work
	if g.mustSend() {
		blocks = nil
	}
	// The batch counts before it is sent: its worker may be done at once.
	changed := g.budget.changed
	begun := g.batch != nil && g.budget.begin(g.batch)
	if begun {
		changed = nil
	} else {
		work = nil
	}
	select {
	case work <- g.batch:
		g.batch = nil
		return nil
	case b, ok := <-blocks:
		g.take(b, ok)
	case <-changed:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if begun {
		g.budget.undo(g.batch)
	}
	return nil
}

func (g *gatherer) take(b *Block, ok bool) {
	if !ok {
		g.ended = true
		return
	}
	g.block, g.next = b, 0
}

// fill moves records from the block to the batch until one of them ends. Its
// error is that of a record, or of the output, behind all records before it.
func (g *gatherer) fill() error {
	b := g.block
	if b == nil {
		return nil
	}
	if g.format == nil || b.Layout != g.layout {
		if g.batch != nil {
			return nil // it has the format of other records
		}
		var err error
		if g.format, err = g.out.Format(b); err != nil {
			return err
		}
		g.layout = b.Layout
	}
	g.move(b)
	if g.next < len(b.records) {
		return nil
	}
	g.block = nil
	defer b.free()
	if b.failure != nil {
		g.opt.Progress.RecordsIn.Add(1)
		g.opt.Progress.Refused.Add(1)
		return recordFault(g.number+1, b)
	}
	return nil
}

// move moves records of b until the batch is full.
func (g *gatherer) move(b *Block) {
	maxKeys, before := g.budget.maxKeys(), g.next
	for ; g.next < len(b.records); g.next++ {
		if g.batch == nil {
			g.begin()
		}
		if g.batch.full(maxKeys) {
			break
		}
		g.batch.add(b, &b.records[g.next], g.cache, g.opt.Progress)
		g.number++
	}
	g.opt.Progress.RecordsIn.Add(int64(g.next - before))
}

func (g *gatherer) begin() {
	select {
	case g.batch = <-g.idle:
	default:
		g.batch = newBatch()
	}
	g.batch.sequence, g.batch.first, g.batch.format = g.batches, g.number+1, g.format
	g.batches++
}
