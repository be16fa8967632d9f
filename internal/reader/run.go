package reader

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"spanbulk/internal/format"
)

// Output is where the rows of a Plan go. Its methods are called from many
// goroutines.
type Output interface {
	// Format is the format of the plan's read of that number; the same each
	// time.
	Format(read int) format.Format
	// Partition opens the place for one partition's rows. It is called once
	// for each partition, empty ones too, when its first message has come.
	Partition(read, partition int) (ChunkWriter, error)
}

// ChunkWriter takes the finished chunks of one partition, from one goroutine.
type ChunkWriter interface {
	// WriteChunk takes b, which holds that many records. It must be done with
	// b when it returns, and should not return before it is.
	WriteChunk(b []byte, records int) error
	// Close says that the partition has been read to its end. After an error
	// there is no Close.
	Close() error
}

type job struct{ read, partition int }

// Run reads every partition of plan, Options.Parallelism at once, and hands its
// rows to out. It returns when all goroutines it started have ended. The first
// error ends the run; what the output took until then is not complete.
//
// A slow output slows Spanner down: nothing is read ahead but what the
// connections' flow control lets through.
func (r *Reader) Run(ctx context.Context, plan *Plan, out Output) error {
	var jobs []job
	for i := range plan.Reads {
		for j := range plan.Reads[i].Partitions {
			jobs = append(jobs, job{i, j})
		}
	}
	r.opt.Progress.Partitions.Store(int64(len(jobs)))
	group, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range min(r.opt.Parallelism, len(jobs)) {
		group.Go(func() error {
			w := newWorker(r, plan, out)
			for i := next.Add(1) - 1; i < int64(len(jobs)); i = next.Add(1) - 1 {
				if err := w.read(ctx, jobs[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}
