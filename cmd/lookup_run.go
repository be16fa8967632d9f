package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"google.golang.org/grpc/codes"

	"spanbulk/internal/fault"
	"spanbulk/internal/format"
	"spanbulk/internal/input"
	"spanbulk/internal/lookup"
	"spanbulk/internal/output"
	"spanbulk/internal/schema"
	"spanbulk/internal/transform"
)

// lookupSummary has what only a lookup has.
type lookupSummary struct {
	Matched   int64 `json:"matched"`
	Unmatched int64 `json:"unmatched"`
	// KeysRead are those that Spanner was asked for, in so many Batches.
	KeysRead int64 `json:"keysRead"`
	Batches  int64 `json:"batches"`
	Retries  int64 `json:"retries"`
	// CacheHits and CacheMisses count a key once in a batch.
	CacheHits   int64 `json:"cacheHits"`
	CacheMisses int64 `json:"cacheMisses"`
}

// text is what people are told of it.
func (s *lookupSummary) text() string {
	text := fmt.Sprintf(", %s matched, %s unmatched, %s keys read in %s batches", humanize.Comma(s.Matched), humanize.Comma(s.Unmatched),
		humanize.Comma(s.KeysRead), humanize.Comma(s.Batches))
	if s.CacheHits+s.CacheMisses > 0 {
		text += fmt.Sprintf(", cache %s hits and %s misses", humanize.Comma(s.CacheHits), humanize.Comma(s.CacheMisses))
	}
	if s.Retries > 0 {
		text += fmt.Sprintf(", %s retries", humanize.Comma(s.Retries))
	}
	return text
}

func (a *app) logRetry(err error, attempt int, pause time.Duration) {
	a.retries.log(a, attempt, "read failed, trying again", "attempt", attempt, "pause", pause, "error", a.errorText(fault.Writing(err, "look up", "keys")))
}

// lookup does the work of the command.
func (a *app) lookup(ctx context.Context, p *lookupPlan) (err error) {
	files, err := input.Find(p.args)
	if err != nil {
		return err
	}
	if err := p.options.output.checkExisting(); err != nil {
		return err
	}
	conn, err := a.connect(ctx, p.database)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	a.warnAhead(p.lookup.Bound)
	catalog, err := schema.Open(ctx, conn, schemaTime(p.lookup.Bound, a.now()))
	if err != nil {
		return fault.Reading(err, "read the schema of", conn.Name().String())
	}
	table, err := catalog.Table(ctx, p.table)
	if err != nil {
		return err
	}
	if err := p.settleTable(table); err != nil {
		return err
	}
	engine, err := lookup.Open(ctx, conn, p.lookup)
	if err != nil {
		return err
	}
	return a.runEngine(ctx, p, engine, files)
}

// checkExisting refuses before anything is read what output.Open would refuse
// when the first record is there.
func (o *outputOptions) checkExisting() error {
	if o.isStdout() || o.overwrite {
		return nil
	}
	if info, err := os.Stat(o.path); err == nil && info.Mode().IsRegular() {
		return outputFault(fmt.Errorf("output %s %w", o.path, output.ErrExists))
	}
	return nil
}

// runEngine leads the records of the files through the engine to the output.
func (a *app) runEngine(ctx context.Context, p *lookupPlan, engine *lookup.Lookup, files []*input.File) error {
	out := &lookupOutput{app: a, plan: p, ctx: ctx, columns: engine}
	source, err := p.source(a, out, files)
	if err != nil {
		return err
	}
	total := max(input.TotalBytes(files), 0)
	display := a.startProgress(p.options.report.progress, func() progressState {
		return progressState{
			done: p.input.Bytes.Load(), total: total, part: "bytes",
			rows: p.progress.Applied.Load(), bytes: p.progress.Bytes.Load(),
		}
	})
	defer display.stop(a)
	err = engine.Run(ctx, source, out)
	if err == nil {
		err = out.open(out.empty) // there may have been no record
	}
	if err != nil {
		return errors.Join(lookupFault(err), out.abort())
	}
	return out.commit(ctx)
}

// lookupFault explains the failure of one record that had been read.
func lookupFault(err error) error {
	record, ok := errors.AsType[*lookup.RecordError](err)
	if !ok {
		return err
	}
	if e, ok := errors.AsType[*transform.Error](record.Err); ok {
		// The program's own number is the order in which batches came to it.
		_, reason, _ := strings.Cut(e.Error(), ": ")
		return &fault.Error{Code: codes.InvalidArgument, Op: "run --jq", Object: fmt.Sprintf("on record %d", record.Number),
			Reason: reason, Detail: e.Detail(), Err: err}
	}
	return &fault.Error{Code: codes.InvalidArgument, Op: "write", Object: fmt.Sprintf("record %d", record.Number), Reason: record.Err.Error(), Err: err}
}

// source makes the engine's input of the files.
func (p *lookupPlan) source(a *app, out *lookupOutput, files []*input.File) (lookup.Source, error) {
	names := format.ExtendOptions{Prefix: p.options.table.prefix, Nest: p.options.table.nest}.ExtendedNames(p.lookup.Columns)
	readers, err := out.columns.NewKeyReaders(lookup.KeyReaderOptions{CSV: p.csv, MaxRecordBytes: int(p.options.input.maxRecord), Names: names})
	if err != nil {
		e := usagef("look up in table %s: %w", p.lookup.Table, err)
		e.hint = "--prefix or --nest puts the columns elsewhere, --columns names others"
		return nil, e
	}
	options := input.Options{
		Stdin: a.streams.In, Kind: p.options.input.kind, Compression: p.options.input.compression,
		Split:    format.SplitOptions{CSV: p.csv, Fields: p.options.input.csvFields, MaxRecordBytes: int(p.options.input.maxRecord)},
		Decoders: decoders(), Progress: p.input,
		OnEmpty: func(f *input.File, kind format.Kind, layout *format.Layout) {
			if out.empty == nil && layout != nil {
				out.empty = &lookup.Block{Kind: kind, Layout: layout}
			}
		},
	}
	workers := make([]*lookup.KeyReader, options.Decoders)
	for i := range workers {
		if workers[i], err = readers.NewReader(); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context, deliver func(*lookup.Block) error) error {
		return input.Read(ctx, files, options, func(worker int, in *input.Batch) (*lookup.Block, error) {
			return readBlock(workers[worker], in)
		}, deliver)
	}, nil
}

func readBlock(r *lookup.KeyReader, in *input.Batch) (*lookup.Block, error) {
	b, err := r.Read(&in.Chunk)
	if b == nil {
		return nil, err
	}
	file, kind := in.File, in.Chunk.Kind
	b.Place = func(line int64, column int) string { return input.Place(file, kind, line, column) }
	b.Release = in.Release
	return b, err
}

// lookupOutput is where joined records go. What it looks like depends on the
// records, so it is opened when the first are there.
type lookupOutput struct {
	app     *app
	plan    *lookupPlan
	ctx     context.Context // of the run, for a jq program
	columns *lookup.Lookup

	options format.Options // settled by the first records
	first   *lookup.Block  // its Kind and Layout are those of all output in CSV and Avro
	empty   *lookup.Block  // likewise of an input without records, if there is one
	form    format.Format
	set     *output.Set
	writer  *output.Writer
	stdout  partWriter
}

// partWriter is a Writer that keeps how much of the last write was taken.
type partWriter struct {
	io.Writer
	taken int
}

func (w *partWriter) Write(b []byte) (int, error) {
	n, err := w.Writer.Write(b)
	w.taken = n
	return n, err
}

var _ lookup.Output = (*lookupOutput)(nil)

// Format implements lookup.Output.
func (o *lookupOutput) Format(b *lookup.Block) (format.Format, error) {
	if o.first == nil {
		if err := o.open(b); err != nil {
			return nil, err
		}
		return o.form, nil
	}
	if o.options.Kind == format.NDJSON {
		return o.extend(b)
	}
	if b.Kind != o.first.Kind || b.Layout.Context() != o.first.Layout.Context() && (b.Kind == format.Avro || !slices.Equal(b.Layout.Names(), o.first.Layout.Names())) {
		return nil, fault.New(codes.InvalidArgument, "read", b.Place(1, 0), "its records have other fields than those of the input before").
			WithHint("one " + string(o.options.Kind) + " output cannot hold both; look them up one by one, or give --format ndjson")
	}
	return o.form, nil
}

// settle decides what the records decide of the output; b is nil if there are
// none.
func (o *lookupOutput) settle(b *lookup.Block) error {
	o.options = o.plan.format
	if o.options.Kind == "" {
		o.options.Kind = format.NDJSON
		if b != nil && b.Kind != "" {
			o.options.Kind = b.Kind
		}
	}
	return o.plan.options.output.checkStdout(o.app, o.options)
}

// open opens the output unless it is open.
func (o *lookupOutput) open(b *lookup.Block) error {
	if o.set != nil {
		return nil
	}
	if err := o.settle(b); err != nil {
		return err
	}
	var header []byte
	if b != nil {
		var err error
		if o.form, err = o.extend(b); err != nil {
			return err
		}
		o.first, header = &lookup.Block{Kind: b.Kind, Layout: b.Layout}, o.form.Header()
	}
	const name = "lookup"
	var err error
	o.stdout.Writer = o.app.streams.Out
	o.set, err = output.Open(o.ctx, output.Options{
		Path: o.plan.options.output.path, Stdout: &o.stdout, Overwrite: o.plan.options.output.overwrite,
		Extension: format.Extension(o.options.Kind, o.options.Compression),
		Tables:    []output.Table{{Name: name, Header: header}},
	})
	if err != nil {
		return outputFault(err)
	}
	o.writer, err = o.set.Partition(name, 0)
	return err
}

// extend makes the format for the records of b. A jq program works on the plain
// lines, before they are compressed.
func (o *lookupOutput) extend(b *lookup.Block) (format.Format, error) {
	table := &o.plan.options.table
	options := format.ExtendOptions{
		Options: o.options, From: b.Kind, Layout: b.Layout, Input: o.plan.csv, Prefix: table.prefix, Nest: table.nest,
	}
	if b.Kind == format.CSV && b.Layout.Names() == nil {
		return nil, usagef("CSV without a header needs --csv-fields")
	}
	if o.plan.program != nil {
		options.Compression = format.None
	}
	f, err := format.Extend(o.columns.Columns(), options)
	if err != nil {
		return nil, &fault.Error{Code: codes.InvalidArgument, Op: "write", Object: "the records", Reason: err.Error(), Err: err}
	}
	if o.plan.program == nil {
		return f, nil
	}
	names := append(slices.Clone(b.Layout.Names()), options.ExtendedNames(o.plan.lookup.Columns)...)
	return format.Compress(o.plan.program.Format(o.ctx, f, names), o.options.Compression)
}

// WriteChunk implements lookup.Output. Of a chunk that a reader takes in part
// before it goes away the whole lines count.
func (o *lookupOutput) WriteChunk(b []byte, records int) error {
	if len(b) >= largeChunk {
		o.app.collectOften()
	}
	err := o.writer.WriteChunk(b, records)
	lines := o.options.Kind == format.NDJSON && o.options.Compression == format.None && o.plan.program == nil
	if isReaderGone(err) && lines && o.plan.options.output.isStdout() {
		o.plan.progress.Applied.Add(int64(bytes.Count(b[:o.stdout.taken], []byte{'\n'})))
	}
	return err
}

func (o *lookupOutput) commit(ctx context.Context) error {
	err := o.writer.Close()
	if err == nil {
		err = o.set.Commit(ctx, output.Manifest{})
	}
	if err != nil {
		return outputFault(errors.Join(err, o.set.Abort()))
	}
	return nil
}

func (o *lookupOutput) abort() error {
	if o.set == nil {
		return nil
	}
	return o.set.Abort()
}
