package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync/atomic"

	"google.golang.org/grpc/codes"

	"spanbulk/internal/fault"
	"spanbulk/internal/format"
	"spanbulk/internal/input"
	"spanbulk/internal/pipe"
	"spanbulk/internal/schema"
	"spanbulk/internal/wire"
	"spanbulk/internal/writer"
)

// lettersPerChunk is how many dead letters go to the writer at once.
const lettersPerChunk = 500

// letters takes the records of dead letter files again. It reads them in one
// goroutine: there are few, or the import would have failed.
type letters struct {
	*importer
	ctx  context.Context
	hand func(*writer.Chunk) error

	in       *writer.LetterReader
	path     string
	readings map[string]*letterReading

	chunk  *writer.Chunk
	origin letterOrigin // of the chunk's records
}

// letterOrigin is what letters must share to be in one chunk.
type letterOrigin struct {
	input, format, context string
	reading                *letterReading
}

func (x *importer) readLetters(ctx context.Context, files []*input.File, hand func(*writer.Chunk) error) error {
	l := &letters{importer: x, ctx: ctx, hand: hand, readings: map[string]*letterReading{}}
	for _, f := range files {
		if err := l.readFile(f); err != nil {
			return errors.Join(err, l.flush())
		}
	}
	return l.flush()
}

func (l *letters) readFile(f *input.File) error {
	l.path = f.Name()
	from := l.app.streams.In
	if f.Path != input.Stdin {
		file, err := pipe.Open(l.ctx, f.Path, os.O_RDONLY, 0)
		if err != nil {
			return fault.New(codes.NotFound, "open", f.Path, configReason(err).Error())
		}
		defer file.Close()
		from = file
	}
	l.in = writer.ReadLetters(l.path, &countingReader{pipe.NewReader(l.ctx, from), &l.plan.input.Progress.Bytes})
	for {
		letter, err := l.in.Next()
		switch {
		case err == io.EOF:
			return nil
		case errors.Is(err, writer.ErrTorn):
			l.app.log.Error("the last line of a dead letter file is passed over", "error", err.Error())
			return nil
		case err == nil:
			err = l.take(letter)
		}
		if err != nil {
			return err
		}
	}
}

type countingReader struct {
	io.Reader
	read *atomic.Int64
}

func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.read.Add(int64(n))
	return n, err
}

// flush hands on the letters taken so far.
func (l *letters) flush() error {
	if l.chunk == nil {
		return nil
	}
	c := l.chunk
	l.chunk = nil
	return l.hand(c)
}

// take adds the letter's record to a chunk, as a refused one where it cannot be
// read.
func (l *letters) take(letter *writer.Letter) error {
	reading := l.reading(letter)
	origin := letterOrigin{letter.Input, letter.Format, letter.Context, reading}
	if l.chunk != nil && (l.origin != origin || l.chunk.Len() >= lettersPerChunk) {
		if err := l.flush(); err != nil {
			return err
		}
	}
	if l.chunk == nil {
		l.origin = origin
		l.chunk = l.writer.NewChunk(&writer.Source{Name: letter.Input, Format: letter.Format, Context: letter.Context, Flags: reading.flags}, nil)
	}
	raw, err := letter.Raw()
	if err == nil {
		err = l.decode(letter, reading, raw)
	}
	if err == nil || isFatal(l.ctx, err) {
		return err
	}
	l.chunk.Add(&writer.Record{
		Line: letter.Line, Number: letter.Number, Raw: raw, Made: letter.Made, TableName: letter.Table,
		Operation: l.operation(letter), UnknownOutcome: letter.UnknownOutcome,
		Err: &fault.Error{Code: codes.InvalidArgument, Op: "take", Object: fmt.Sprintf("%s:%d", l.path, l.in.Line()), Reason: err.Error(), Err: err},
	})
	return nil
}

// isFatal reports whether err is not about the letter but about the run.
func isFatal(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return true
	}
	e, ok := errors.AsType[*fault.Error](err)
	return ok && e.Code != codes.NotFound && e.Code != codes.InvalidArgument && e.Code != codes.FailedPrecondition
}

func (l *letters) decode(letter *writer.Letter, reading *letterReading, raw []byte) error {
	if reading.err != nil {
		return reading.err
	}
	kind := format.Kind(letter.Format)
	layout, err := reading.layout(kind, letter.Context)
	if err != nil {
		return err
	}
	target, err := l.target(letter, reading)
	if err != nil {
		return err
	}
	d, err := reading.decoder(l, l.operation(letter))
	if err != nil {
		return err
	}
	d.record.UnknownOutcome = letter.UnknownOutcome
	from := &input.File{Path: letter.Input}
	place := func(e *format.RecordError) string {
		if letter.Line == 0 {
			return input.Place(from, format.Avro, letter.Number, 0)
		}
		return input.Place(from, kind, e.Line, e.Byte)
	}
	chunk := format.SingleChunk(kind, layout, raw, max(letter.Line, letter.Number))
	return d.decoder.Decode(target, chunk, func(r *format.Record) error {
		r.Made = r.Made || letter.Made
		d.add(l.chunk, kind, r, target, place)
		return nil
	})
}

// operation is the letter's, unless a flag gives one.
func (l *letters) operation(letter *writer.Letter) wire.Operation {
	if op, ok := format.ParseOperation(letter.Operation); ok && !l.app.given("operation") {
		return op
	}
	return l.importer.decode.Operation
}

// target is the table of the letter: that of --table, else the letter's own; nil
// if the record names it.
func (l *letters) target(letter *writer.Letter, reading *letterReading) (*format.Target, error) {
	switch {
	case l.plan.table != schema.Name{}:
		return reading.check(l.tables.targetFor(l.ctx, l.plan.table, reading.jsonText))
	case reading.decode.TableField != "":
		return nil, nil
	case letter.Table == "":
		return nil, errors.New("it does not tell its table; give --table")
	}
	name, err := schema.ParseName(letter.Table)
	if err != nil {
		return nil, err
	}
	return reading.check(l.tables.targetFor(l.ctx, name, reading.jsonText))
}

// letterReading is how letters of the same flags are read.
type letterReading struct {
	flags    map[string]any
	decode   format.DecodeOptions
	jsonText bool
	strict   bool  // names of columns were given for the one table
	err      error // what is wrong with the flags

	decoders map[wire.Operation]*chunkDecoder
	layouts  map[[2]string]*format.Layout
	checked  map[*format.Target]error
}

// reading finds how a letter is to be read. One that --jq has made does not go
// through it again.
func (l *letters) reading(letter *writer.Letter) *letterReading {
	flags := l.readFlags(letter.Flags)
	key, err := json.Marshal([]any{flags, letter.Made})
	if err != nil {
		return &letterReading{err: err}
	}
	if r := l.readings[string(key)]; r != nil {
		return r
	}
	r := &letterReading{
		flags: flags, decoders: map[wire.Operation]*chunkDecoder{}, layouts: map[[2]string]*format.Layout{}, checked: map[*format.Target]error{},
	}
	r.err = r.settle(l, letter.Made)
	l.readings[string(key)] = r
	return r
}

func (r *letterReading) settle(l *letters, made bool) error {
	o, err := optionsUnder(r.flags)
	if err != nil {
		return err
	}
	if r.decode, err = o.decodeOptions(l.app); err != nil {
		return err
	}
	r.jsonText = o.format.json == "string"
	r.strict = l.plan.table != schema.Name{} && slices.ContainsFunc([]string{"columns", "rename", "commit-timestamp-columns"}, l.app.given)
	r.decode.OnGenerated = l.importer.decode.OnGenerated
	if r.decode.TableField != "" {
		r.decode.Resolve = func(name string) (*format.Target, error) {
			if l.plan.table != (schema.Name{}) { // it stands above what the record says
				return l.tables.targetFor(l.ctx, l.plan.table, r.jsonText)
			}
			return l.tables.resolve(l.ctx, name, r.jsonText)
		}
	}
	if made {
		return nil
	}
	program, err := o.format.program()
	r.decode.Transform = transformer(l.ctx, program)
	return err
}

// check refuses a table that lacks columns which flags name for it. Those of a
// letter may be of other tables.
func (r *letterReading) check(t *format.Target, err error) (*format.Target, error) {
	if err != nil {
		return nil, err
	}
	err, known := r.checked[t]
	if !known {
		if err = r.decode.CheckCommitTimestamps(t); err == nil && r.strict {
			err = r.decode.Check(t)
		}
		r.checked[t] = err
	}
	return t, err
}

func (r *letterReading) layout(kind format.Kind, context string) (*format.Layout, error) {
	key := [2]string{string(kind), context}
	if layout, ok := r.layouts[key]; ok {
		return layout, nil
	}
	layout, err := format.ParseLayout(kind, context, r.decode.CSV)
	if err == nil {
		r.layouts[key] = layout
	}
	return layout, err
}

func (r *letterReading) decoder(l *letters, op wire.Operation) (*chunkDecoder, error) {
	if d := r.decoders[op]; d != nil {
		return d, nil
	}
	o := r.decode
	o.Operation = op
	decoder, err := format.NewDecoder(&o)
	if err != nil {
		return nil, err
	}
	d := &chunkDecoder{importer: l.importer, options: &o, decoder: decoder}
	r.decoders[op] = d
	return d, nil
}
