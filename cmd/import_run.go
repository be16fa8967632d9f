package cmd

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"

	"spanbulk/internal/database"
	"spanbulk/internal/fault"
	"spanbulk/internal/format"
	"spanbulk/internal/input"
	"spanbulk/internal/transform"
	"spanbulk/internal/writer"
)

// importer is one running import.
type importer struct {
	app     *app
	plan    *importPlan
	conn    *database.Conn
	tables  *importTables
	options writer.Options
	writer  *writer.Writer
	decode  format.DecodeOptions
	files   []*input.File
}

// imports is the import itself.
func (a *app) imports(ctx context.Context, p *importPlan) (err error) {
	p.options.tellChoices(a)
	x := &importer{app: a, plan: p, decode: p.decode}
	if err := x.findInputs(); err != nil {
		return err
	}
	if err := x.checkTablesTold(); err != nil {
		return err
	}
	if x.conn, err = a.connect(ctx, p.database); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.conn.Close()) }()
	if err := x.lookUp(ctx); err != nil {
		return err
	}
	if err := input.Verify(ctx, x.files, x.plan.input.Decoders); err != nil {
		return err
	}
	refuser, closeRefuser, err := x.refuser(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeRefuser()) }()
	a.boundHeap(p.input.HoldBytes, 0)
	x.options = p.writer
	x.options.Refuser = refuser
	display := x.startProgress()
	defer display.stop(a)
	for _, files := range x.stages() {
		if err := x.run(ctx, files); err != nil {
			return err
		}
	}
	x.tellUnused()
	return nil
}

// stages are the files that may be written at once. The writer makes rows wait
// for those they are interleaved in, but not with --key-order none; then the
// tables follow one another.
func (x *importer) stages() [][]*input.File {
	if x.options.KeyOrder != writer.NoKeyOrder || x.tables.fixed != nil {
		return [][]*input.File{x.files}
	}
	var stages [][]*input.File
	for i, f := range x.files {
		if i == 0 || f.Table != x.files[i-1].Table {
			stages = append(stages, nil)
		}
		last := len(stages) - 1
		stages[last] = append(stages[last], f)
	}
	return stages
}

// findInputs finds the files before anything is opened.
func (x *importer) findInputs() error {
	retry := x.plan.options.failure.retry
	if retry != "" {
		files, err := input.Find([]string{retry})
		x.files = files
		return err
	}
	if len(x.plan.args) == 0 && x.app.streams.InIsTerminal {
		x.app.log.Info("reading records from the terminal; Ctrl-D ends them")
	}
	files, err := input.Find(x.plan.args)
	x.files = files
	return err
}

// run makes one stage: it reads, decodes and writes at once. When reading ends, for whatever reason,
// all that was read before is still written; when writing ends, reading does.
func (x *importer) run(ctx context.Context, files []*input.File) error {
	var err error
	if x.writer, err = writer.New(x.conn, x.options); err != nil {
		return err
	}
	chunks := make(chan *writer.Chunk)
	reading, stop := context.WithCancel(ctx)
	defer stop()
	var g errgroup.Group
	var writeErr error
	g.Go(func() error {
		writeErr = x.writer.Run(ctx, chunks)
		stop()
		return nil
	})
	readErr := x.read(reading, files, func(c *writer.Chunk) error {
		select {
		case chunks <- c:
			return nil
		case <-reading.Done():
			return context.Cause(reading)
		}
	})
	close(chunks)
	_ = g.Wait()
	if writeErr != nil {
		return writeErr
	}
	return readErr
}

// startProgress shows how much of the input is read where its size is known, and
// else how many records.
func (x *importer) startProgress() *progress {
	total := input.TotalBytes(x.files)
	w, in := x.plan.progress, x.plan.input.Progress
	return x.app.startProgress(x.plan.options.report.progress, func() progressState {
		s := progressState{rows: w.Applied.Load(), bytes: in.Bytes.Load()}
		if total > 0 {
			s.part, s.total, s.done = "%", 100, min(s.bytes*100/total, 100)
		}
		return s
	})
}

// read decodes the inputs and hands on what comes of them, in order.
func (x *importer) read(ctx context.Context, files []*input.File, hand func(*writer.Chunk) error) error {
	if x.plan.options.failure.retry != "" {
		return x.readLetters(ctx, files, hand)
	}
	decode := x.decode
	decode.Transform = transformer(ctx, x.plan.program)
	flags, decoders := x.readFlags(nil), make([]*chunkDecoder, x.plan.input.Decoders)
	for i := range decoders {
		d, err := format.NewDecoder(&decode)
		if err != nil {
			return err
		}
		decoders[i] = &chunkDecoder{importer: x, options: &decode, decoder: d, flags: flags}
	}
	return input.Read(ctx, files, x.plan.input, func(worker int, b *input.Batch) (decodedChunk, error) {
		return decoders[worker].decode(b), nil
	}, func(c decodedChunk) error {
		if err := hand(c.chunk); err != nil {
			return err
		}
		return c.err
	})
}

// transformer is what decoders do with the program of --jq, nil if there is
// none. A record it fails on is refused.
func transformer(ctx context.Context, program *transform.Program) func(dst, record []byte) ([]byte, int, error) {
	if program == nil {
		return nil
	}
	return func(dst, record []byte) ([]byte, int, error) {
		out, n, err := program.Append(ctx, dst, record)
		if e, ok := errors.AsType[*transform.Error](err); ok {
			return dst, 0, &format.RecordError{Reason: "jq program failed: " + e.Reason(), Cause: e}
		}
		return out, n, err
	}
}

// chunkDecoder makes chunks of mutations for one goroutine.
type chunkDecoder struct {
	*importer
	options *format.DecodeOptions
	decoder *format.Decoder
	flags   map[string]any // that a record is read under

	// Of the last chunk, which the next mostly has too.
	file   *input.File
	layout *format.Layout
	source *writer.Source
	// Of the last record.
	target *format.Target
	table  *writer.Table
	record writer.Record
	letGo  bool // of the chunk as soon as it is decoded: no dead letter needs its text
}

// decodedChunk is the records of a chunk, and why those behind them could not
// be read.
type decodedChunk struct {
	chunk *writer.Chunk
	err   error
}

func (d *chunkDecoder) decode(b *input.Batch) decodedChunk {
	target, kind := d.tables.of(b.File), b.Chunk.Kind
	if d.file != b.File || d.layout != b.Chunk.Layout {
		d.file, d.layout = b.File, b.Chunk.Layout
		d.source = &writer.Source{Name: b.File.Name(), Format: string(kind), Context: d.options.Context(kind, d.layout, target), Flags: d.flags}
	}
	d.letGo = b.Large() && d.plan.options.failure.onFailure != "dead-letter"
	size := len(b.Chunk.Data)
	if b.Large() {
		d.app.boundHeap(d.plan.input.HoldBytes, size)
	}
	collectHuge(size)
	c := d.writer.NewChunk(d.source, b.Release)
	place := func(e *format.RecordError) string { return input.Place(b.File, kind, e.Line, e.Byte) }
	err := d.decoder.Decode(target, &b.Chunk, func(r *format.Record) error {
		d.add(c, kind, r, target, place)
		return nil
	})
	d.record.Raw, d.record.Values, d.record.Range = nil, nil, nil // that it keeps nothing of the chunk alive
	if err != nil {
		err = b.Fault(err)
	}
	if d.letGo {
		b.LetGo()
		collectHuge(size)
	}
	return decodedChunk{c, err}
}

// collectHuge collects what is left of huge records, of which one takes as much
// memory as all else. A chunk of size bytes is about to be decoded or has been.
func collectHuge(size int) {
	if size >= hugeRecord {
		runtime.GC()
	}
}

// add gives the writer a decoded record. target is the table of those that do
// not tell one, place says where a mistake is.
func (d *chunkDecoder) add(c *writer.Chunk, kind format.Kind, r *format.Record, target *format.Target, place func(*format.RecordError) string) {
	if r.Skip && r.Err == nil {
		c.Skip()
		return
	}
	if r.Target != nil {
		target = r.Target
	}
	if d.target != target {
		d.target, d.table = target, d.tables.writerTable(target)
	}
	d.record = writer.Record{
		Raw: r.Raw, Made: r.Made, Table: d.table, Operation: r.Operation,
		Values: r.Values, Range: r.Range, UnknownOutcome: d.record.UnknownOutcome,
	}
	if d.letGo {
		d.record.Raw = nil
	}
	if kind == format.Avro {
		d.record.Number = r.Line
	} else {
		d.record.Line = r.Line
	}
	if r.Err != nil {
		d.record.Err = refusal(place(r.Err), r.Err)
	}
	c.Add(&d.record)
}

// refusal is the error of a record that cannot be read.
func refusal(place string, err *format.RecordError) error {
	e := &fault.Error{Code: codes.InvalidArgument, Op: "read", Object: place, Reason: err.Error(), Err: err}
	if jq, ok := errors.AsType[*transform.Error](err.Cause); ok {
		e.Op, e.Detail = "run --jq on", jq.Detail()
	}
	return e
}

// tellGenerated says once for a table that its generated columns are passed over.
func (x *importer) tellGenerated() func(t *format.Target, column string) {
	var told sync.Map
	return func(t *format.Target, _ string) {
		if _, again := told.LoadOrStore(t, true); again {
			return
		}
		var names []string
		for _, c := range t.Table().Columns {
			if c.Generated {
				names = append(names, c.Name)
			}
		}
		x.app.log.Info("generated columns are passed over: Spanner computes them", "table", t.Table().Name.String(), "columns", fmt.Sprint(names))
	}
}
