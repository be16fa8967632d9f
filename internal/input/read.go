package input

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"spanbulk/internal/format"
)

// Options say how inputs are read.
type Options struct {
	Stdin io.Reader
	// Kind and Compression override what name and content tell; empty for that.
	Kind        format.Kind
	Compression format.Compression
	// Split has the options of cutting; its Kind and Eager are found out.
	Split format.SplitOptions
	// Decoders is how many goroutines decode; at least 1.
	Decoders int
	// HoldBytes bounds the memory of all chunks that have been read and not
	// released; DefaultHoldBytes if 0. One of a huge record counts twice, for what
	// it becomes is as large as itself. A chunk that alone exceeds the bound goes
	// when no other is held, and after one that did none is read ahead.
	HoldBytes int64
	// Progress, if set, is kept up to date.
	Progress *Progress
	// OnEmpty, if set, is told of every file without records and of what the file
	// begins with: a CSV header, an Avro schema; nil if there is nothing. It is
	// called from a goroutine of Read's.
	OnEmpty func(f *File, kind format.Kind, layout *format.Layout)
}

// Progress counts what has been read. Any goroutine may read it.
type Progress struct {
	// Bytes are those of the inputs as stored, compressed ones as such.
	Bytes atomic.Int64
}

func (o *Options) progress() *Progress {
	if o.Progress == nil {
		o.Progress = new(Progress)
	}
	return o.Progress
}

// Batch is a chunk of a File on its way.
type Batch struct {
	File  *File
	Chunk format.Chunk

	reading *reading
	held    int64 // of reading.room
}

// job is a Batch and what comes of it.
type job struct {
	batch  *Batch
	in     *opened
	done   chan struct{} // closed when it is decoded
	result any
	err    error
}

// DefaultHoldBytes is Options.HoldBytes where they are not set.
const DefaultHoldBytes = 32 << 20

// maxKeptChunk bounds the memory that a Batch keeps for its next use.
const maxKeptChunk = 4 << 20

// largeChunk is the size above which a chunk is mostly one large record.
const largeChunk = 1 << 20

// Large reports whether the chunk is worth to be let go before the Batch is.
func (b *Batch) Large() bool { return len(b.Chunk.Data) > largeChunk }

// weight is what the chunk counts for Options.HoldBytes.
func (b *Batch) weight() int64 {
	n := int64(cap(b.Chunk.Data))
	if b.Large() {
		n *= 2
	}
	return min(n, b.reading.o.HoldBytes)
}

// LetGo drops the chunk of a Batch that only what was made of it is needed of.
// The Batch is held until Release all the same, for half of its weight.
func (b *Batch) LetGo() {
	b.Chunk.Reset(maxKeptChunk)
	half := b.held / 2
	b.held -= half
	b.reading.room.Release(half)
}

// Release gives the memory of the chunk back. Nothing may refer to it any more.
func (b *Batch) Release() {
	b.Chunk.Reset(maxKeptChunk)
	b.reading.room.Release(b.held)
	b.File, b.held = nil, 0
	b.reading.pool.Put(b)
}

// Read reads the files one after another. decode is called for every chunk, in
// Options.Decoders goroutines at once; worker counts from 0 and tells them
// apart. What it returns is handed to deliver in the order of the input, in the
// goroutine that called Read. Whoever uses the Batch last calls Release.
//
// Read ends at the first error, in the order of the input: that of reading,
// decode or deliver, or the cause of ctx's end. What comes before it has been
// delivered, with what decode returned beside its error, unless that is zero.
func Read[T comparable](ctx context.Context, files []*File, o Options, decode func(worker int, b *Batch) (T, error), deliver func(T) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	o.progress()
	o.Decoders = max(o.Decoders, 1)
	if o.HoldBytes <= 0 {
		o.HoldBytes = DefaultHoldBytes
	}
	r := &reading{
		o: &o, pool: new(sync.Pool), room: semaphore.NewWeighted(o.HoldBytes),
		// As much is read ahead as keeps the decoders at work.
		work: make(chan *job, o.Decoders), order: make(chan *job, o.Decoders+1),
	}
	var decoders errgroup.Group
	for worker := range o.Decoders {
		decoders.Go(func() error {
			for j := range r.work {
				j.result, j.err = decode(worker, j.batch)
				close(j.done)
			}
			return nil
		})
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.readFiles(ctx, files)
	}()
	err := r.deliver(ctx, func(j *job) error {
		var none T
		if result := j.result.(T); j.err == nil || result != none {
			return deliver(result)
		}
		return nil
	})
	cancel(err)
	if err != nil && r.stuck.Load() {
		return err // the goroutine ends when the read does, or the process
	}
	<-ended
	return errors.Join(err, decoders.Wait())
}

// reading is one Read.
type reading struct {
	o     *Options
	pool  *sync.Pool
	room  *semaphore.Weighted
	work  chan *job
	order chan *job
	// ahead is how much room there must be before more is read.
	ahead int64
	// stuck says that a read is under way which nothing can break off.
	stuck atomic.Bool
}

// deliver takes the jobs in order, each when it is done.
func (r *reading) deliver(ctx context.Context, hand func(*job) error) error {
	for {
		var j *job
		var more bool
		select {
		case j, more = <-r.order:
		case <-ctx.Done(): // where nothing comes, nothing ends the queue either
			return context.Cause(ctx)
		}
		if !more {
			return context.Cause(ctx)
		}
		select {
		case <-j.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if ctx.Err() != nil { // whatever else went wrong
			return context.Cause(ctx)
		}
		if j.in == nil { // only an error
			return j.err
		}
		if err := hand(j); err != nil {
			return err
		}
		if j.err != nil {
			return j.in.fault(j.err)
		}
	}
}

// readFiles puts the chunks of all files in the two queues, and in the second an
// error where the first is.
func (r *reading) readFiles(ctx context.Context, files []*File) {
	defer close(r.order)
	defer close(r.work)
	for _, f := range files {
		if err := r.readFile(ctx, f); err != nil {
			r.enqueue(ctx, r.order, &job{err: err, done: closed()})
			return
		}
	}
}

func closed() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func (r *reading) readFile(ctx context.Context, f *File) (err error) {
	in, err := r.open(ctx, f)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.end()) }()
	for chunks := 0; ctx.Err() == nil; chunks++ {
		b := r.batch(f)
		// Behind a huge record there is room for another when it is gone.
		if err := r.room.Acquire(ctx, r.ahead); err != nil {
			break
		}
		err := in.splitter.Next(&b.Chunk)
		r.room.Release(r.ahead)
		if err == io.EOF {
			if chunks == 0 && r.o.OnEmpty != nil {
				r.o.OnEmpty(f, in.kind, format.LayoutOf(in.splitter))
			}
			return in.verify()
		}
		if err != nil {
			return in.fault(err)
		}
		if b.held, r.ahead = b.weight(), 0; b.held == r.o.HoldBytes {
			r.ahead = b.held
		}
		if r.room.Acquire(ctx, b.held) != nil {
			break
		}
		// First where order is kept: the decoders must never wait for it.
		j := &job{batch: b, in: in, done: make(chan struct{})}
		if !r.enqueue(ctx, r.order, j) || !r.enqueue(ctx, r.work, j) {
			break
		}
	}
	return context.Cause(ctx)
}

func (r *reading) batch(f *File) *Batch {
	b, ok := r.pool.Get().(*Batch)
	if !ok {
		b = &Batch{reading: r}
	}
	b.File = f
	return b
}

func (r *reading) enqueue(ctx context.Context, queue chan *job, j *job) bool {
	select {
	case queue <- j:
		return true
	case <-ctx.Done():
		return false
	}
}
