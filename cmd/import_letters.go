package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"google.golang.org/grpc/codes"

	"spanbulk/internal/fault"
	"spanbulk/internal/format"
	"spanbulk/internal/schema"
	"spanbulk/internal/wire"
	"spanbulk/internal/writer"
)

// lettersPerChunk is how many dead letters go to the writer at once.
const lettersPerChunk = 500

// letters takes the records of a dead letter file again. It reads them in one
// goroutine: there are few, or the import would have failed.
type letters struct {
	*importer
	ctx  context.Context
	hand func(*writer.Chunk) error

	decoders map[wire.Operation]*chunkDecoder
	layouts  map[letterOrigin]*format.Layout
	targets  map[string]*format.Target

	chunk  *writer.Chunk
	origin letterOrigin // of the chunk's records
}

// letterOrigin is what letters must share to be in one chunk.
type letterOrigin struct{ input, format, context string }

func (x *importer) readLetters(ctx context.Context, hand func(*writer.Chunk) error) error {
	path := x.files[0].Path
	f, err := os.Open(path)
	if err != nil {
		return fault.New(codes.NotFound, "open", path, configReason(err).Error())
	}
	defer f.Close()
	l := &letters{
		importer: x, ctx: ctx, hand: hand,
		decoders: map[wire.Operation]*chunkDecoder{}, layouts: map[letterOrigin]*format.Layout{}, targets: map[string]*format.Target{},
	}
	in := writer.ReadLetters(path, &countingReader{f, &x.plan.input.Progress.Bytes})
	for {
		letter, err := in.Next()
		if err == io.EOF {
			return l.flush()
		}
		if err == nil {
			err = l.take(letter)
		}
		if err != nil {
			return errors.Join(err, l.flush())
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

func (l *letters) take(letter *writer.Letter) error {
	origin := letterOrigin{letter.Input, letter.Format, letter.Context}
	if l.chunk != nil && (l.origin != origin || l.chunk.Len() >= lettersPerChunk) {
		if err := l.flush(); err != nil {
			return err
		}
	}
	if l.chunk == nil {
		l.origin = origin
		l.chunk = l.writer.NewChunk(&writer.Source{Name: letter.Input, Format: letter.Format, Context: letter.Context}, nil)
	}
	line := letter.Line
	if line == 0 {
		line = letter.Number
	}
	raw, err := letter.Raw()
	if err != nil {
		l.chunk.Add(&writer.Record{Line: letter.Line, Number: letter.Number, TableName: letter.Table, Err: err})
		return nil
	}
	layout, err := l.layout(origin)
	if err != nil {
		return err
	}
	target, err := l.target(letter)
	if err != nil {
		return err
	}
	return l.decode(letter, target, format.SingleChunk(format.Kind(letter.Format), layout, raw, line))
}

func (l *letters) decode(letter *writer.Letter, target *format.Target, chunk *format.Chunk) error {
	d, err := l.decoder(letter)
	if err != nil {
		return err
	}
	d.record.UnknownOutcome = letter.UnknownOutcome
	place := func(e *format.RecordError) string {
		if letter.Line == 0 {
			return fmt.Sprintf("%s, record %d", letter.Input, letter.Number)
		}
		return fmt.Sprintf("%s:%d", letter.Input, e.Line)
	}
	err = d.decoder.Decode(target, chunk, func(r *format.Record) error {
		d.add(l.chunk, chunk.Kind, r, place)
		return nil
	})
	return transformFault(err, func(line int64) string { return place(&format.RecordError{Line: line}) })
}

func (l *letters) layout(origin letterOrigin) (*format.Layout, error) {
	origin.input = "" // it does not matter to the layout
	if layout, ok := l.layouts[origin]; ok {
		return layout, nil
	}
	layout, err := format.ParseLayout(format.Kind(origin.format), origin.context, l.decodeOptions().CSV)
	if err != nil {
		return nil, fault.New(codes.InvalidArgument, "read", "the dead letter file", err.Error())
	}
	l.layouts[origin] = layout
	return layout, nil
}

func (l *letters) decodeOptions() *format.DecodeOptions { return &l.importer.decode }

// target is the table of the letter: that of --table, else the letter's own.
func (l *letters) target(letter *writer.Letter) (*format.Target, error) {
	switch {
	case l.tables.fixed != nil:
		return l.tables.fixed, nil
	case l.decodeOptions().TableField != "":
		return nil, nil
	}
	if t := l.targets[letter.Table]; t != nil {
		return t, nil
	}
	name, err := schema.ParseName(letter.Table)
	if err != nil {
		return nil, usagef("a dead letter does not tell its table; give --table")
	}
	t, err := l.tables.target(l.ctx, name)
	if err == nil {
		l.targets[letter.Table] = t
	}
	return t, err
}

// decoder decodes with the letter's operation, unless the flags give one.
func (l *letters) decoder(letter *writer.Letter) (*chunkDecoder, error) {
	o := *l.decodeOptions()
	if !l.app.given("operation") {
		if op, ok := format.ParseOperation(letter.Operation); ok {
			o.Operation = op
		}
	}
	if d := l.decoders[o.Operation]; d != nil {
		return d, nil
	}
	decoder, err := format.NewDecoder(&o)
	if err != nil {
		return nil, err
	}
	d := &chunkDecoder{importer: l.importer, decoder: decoder}
	l.decoders[o.Operation] = d
	return d, nil
}
