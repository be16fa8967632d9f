package cmd

import (
	"context"
	"errors"
	"fmt"
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
	refuser, closeRefuser, err := x.refuser()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeRefuser()) }()
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
		return x.readLetters(ctx, hand)
	}
	decoders := make([]*chunkDecoder, x.plan.input.Decoders)
	for i := range decoders {
		d, err := format.NewDecoder(&x.decode)
		if err != nil {
			return err
		}
		decoders[i] = &chunkDecoder{importer: x, decoder: d}
	}
	return input.Read(ctx, files, x.plan.input, func(worker int, b *input.Batch) (*writer.Chunk, error) {
		return decoders[worker].decode(b)
	}, hand)
}

// chunkDecoder makes chunks of mutations for one goroutine.
type chunkDecoder struct {
	*importer
	decoder *format.Decoder

	// Of the last chunk, which the next mostly has too.
	file   *input.File
	layout *format.Layout
	source *writer.Source
	// Of the last record.
	target *format.Target
	table  *writer.Table
	record writer.Record
}

func (d *chunkDecoder) decode(b *input.Batch) (*writer.Chunk, error) {
	if d.file != b.File || d.layout != b.Chunk.Layout {
		d.file, d.layout = b.File, b.Chunk.Layout
		d.source = &writer.Source{Name: b.File.Name(), Format: string(b.Chunk.Kind), Context: b.Chunk.Layout.Context()}
	}
	c := d.writer.NewChunk(d.source, b.Release)
	place := func(e *format.RecordError) string { return input.Place(b.File, b.Chunk.Kind, e.Line, e.Byte) }
	err := d.decoder.Decode(d.tables.of(b.File), &b.Chunk, func(r *format.Record) error {
		d.add(c, b.Chunk.Kind, r, place)
		return nil
	})
	return c, transformFault(err, func(line int64) string { return input.Place(b.File, b.Chunk.Kind, line, 0) })
}

// transformFault names the record that --jq failed on, and keeps apart what it
// says of its values.
func transformFault(err error, place func(line int64) string) error {
	at, ok := errors.AsType[*format.TransformError](err)
	if !ok {
		return err
	}
	e, ok := errors.AsType[*transform.Error](err)
	if !ok {
		return at.Err
	}
	return &fault.Error{Code: codes.InvalidArgument, Op: "run --jq on", Object: place(at.Line), Reason: "jq program failed: " + e.Reason(), Detail: e.Cause.Error(), Err: err}
}

// add gives the writer a decoded record. place says where its mistake is.
func (d *chunkDecoder) add(c *writer.Chunk, kind format.Kind, r *format.Record, place func(*format.RecordError) string) {
	if r.Skip && r.Err == nil {
		c.Skip()
		return
	}
	if d.target != r.Target {
		d.target, d.table = r.Target, d.tables.writerTable(r.Target)
	}
	d.record = writer.Record{
		Line: r.Line, Number: r.Line, Raw: r.Raw, Table: d.table, Operation: r.Operation,
		Values: r.Values, Range: r.Range, UnknownOutcome: d.record.UnknownOutcome,
	}
	if kind == format.Avro {
		d.record.Line = 0
	}
	if r.Err != nil {
		d.record.Err = refusal(place(r.Err), r.Err)
	}
	c.Add(&d.record)
}

// refusal is the error of a record that cannot be read.
func refusal(place string, err *format.RecordError) error {
	return &fault.Error{Code: codes.InvalidArgument, Op: "read", Object: place, Reason: err.Error(), Err: err}
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
