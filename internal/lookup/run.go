package lookup

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"

	"spanbulk/internal/fault"
	"spanbulk/internal/format"
)

// Source hands the Blocks of an input to deliver, in order, until there are no
// more or deliver fails. It must return soon after ctx has ended.
type Source func(ctx context.Context, deliver func(*Block) error) error

// Output is where joined records go. Its methods are called by different
// goroutines, but never two at once.
type Output interface {
	// Format returns the Format of the records of b, made by format.Extend and
	// perhaps wrapped. It is called for the first Block and whenever a Block has
	// another Layout than the one before; all Formats must write chunks of one
	// and the same file.
	Format(b *Block) (format.Format, error)
	// WriteChunk takes b, which holds that many records, and must be done with it
	// when it returns.
	WriteChunk(b []byte, records int) error
}

// batchesPerWorker is how many batches there may be at most for each that is being
// read, those waiting for their turn to be written included.
const batchesPerWorker = 4

// run is one Run.
type run struct {
	*Lookup
	out    Output
	blocks chan *Block
	work   chan *batch
	done   chan *batch
	budget *budget
	// idle are batches to be used again.
	idle chan *batch

	// failure is that of a record, sourceErr that of the input, behind everything
	// that came before.
	failure, sourceErr error
}

// Run joins all records of source and writes them to out. On an error of the
// input, a record or Spanner, ordered output has everything before it. Run
// returns when all goroutines it started have ended.
func (l *Lookup) Run(ctx context.Context, source Source, out Output) error {
	r := &run{
		Lookup: l, out: out, budget: newBudget(&l.opt),
		blocks: make(chan *Block, 1), work: make(chan *batch), done: make(chan *batch, l.opt.Parallelism),
	}
	r.idle = make(chan *batch, r.budget.maxBatches+1) // and the one being gathered
	group, ctx := errgroup.WithContext(ctx)
	sourceCtx, stopSource := context.WithCancel(ctx)
	group.Go(func() error {
		defer close(r.blocks)
		r.sourceErr = source(sourceCtx, func(b *Block) error { return r.deliver(sourceCtx, b) })
		return nil
	})
	group.Go(func() error {
		defer stopSource()
		defer close(r.work)
		return r.gather(ctx)
	})
	group.Go(func() error { return r.runWorkers(ctx) })
	group.Go(func() error { return r.write(ctx) })
	if err := group.Wait(); err != nil {
		return err
	}
	if r.failure != nil {
		return r.failure
	}
	return r.sourceErr
}

func (r *run) deliver(ctx context.Context, b *Block) error {
	select {
	case r.blocks <- b:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (r *run) runWorkers(ctx context.Context) error {
	defer close(r.done)
	var workers errgroup.Group
	for range r.opt.Parallelism {
		workers.Go(func() error {
			w := newWorker(r.Lookup, r.budget)
			for b := range r.work {
				w.work(ctx, b)
				select {
				case r.done <- b:
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
			return nil
		})
	}
	return workers.Wait()
}

// recordFault explains the record that ends a Block.
func recordFault(number int64, b *Block) error {
	f := b.failure
	object := fmt.Sprintf("record %d", number)
	if b.Place != nil {
		object += " (" + b.Place(f.Line, f.Byte) + ")"
	}
	reason := f.Reason
	if f.Field != "" {
		reason = "field " + f.Field + ": " + reason
	}
	return fault.New(codes.InvalidArgument, "look up", object, reason)
}
