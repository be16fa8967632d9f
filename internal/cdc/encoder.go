package cdc

import (
	"bytes"

	"spanbulk/internal/format"
	"spanbulk/internal/wire"
)

// encoder makes lines or rows of the records of one partition. It is for one
// goroutine.
type encoder struct {
	filter    *filter
	text      bool
	partition string
	records   *recordLines // nil in row modes
	rows      *rowLines
	transform format.Encoder // nil without
	progress  *Progress

	scratch []byte // lines before the transform
}

// outputFormat is what the options come to for the output as a whole.
type outputFormat struct {
	meta  metadata
	all   bool // all metadata
	fixed *fixedRows
	lines format.Format // of whole lines, or of fixed rows
}

func (o *Options) outputFormat() (*outputFormat, error) {
	meta, err := newMetadata(o.Metadata)
	if err != nil {
		return nil, err
	}
	f := &outputFormat{meta: meta, all: o.Metadata == nil}
	if o.Columns != nil {
		f.lines, err = format.New(append(rowHead(&meta), o.Columns...), o.File)
		f.fixed = &fixedRows{format: f.lines, columns: o.Columns, dialect: o.Dialect}
		return f, err
	}
	f.lines, err = format.Compress(wholeLines{}, o.Compression)
	return f, err
}

func (o *Options) newEncoder(f *outputFormat, partition string) (*encoder, error) {
	filter, err := newFilter(&o.Filters, o.Progress)
	if err != nil {
		return nil, err
	}
	e := &encoder{filter: filter, text: o.Text, partition: partition, progress: o.Progress}
	switch {
	case o.Mode != Records:
		e.rows = newRowLines(o, f.meta, partition, f.fixed)
	case f.all:
		e.records = newRecordLines(nil, partition)
	default:
		e.records = newRecordLines(&f.meta, partition)
	}
	if o.Transform != nil {
		e.transform = o.Transform(wholeLines{}).NewEncoder()
	}
	return e, nil
}

// change appends what c becomes and returns how many lines that is. kept is
// false where a filter dropped it.
func (e *encoder) change(dst []byte, c *Change) (out []byte, lines int, kept bool, err error) {
	if kept, err = e.filter.apply(c); err != nil || !kept {
		return dst, 0, kept, err
	}
	if e.transform == nil {
		dst, lines, err = e.lines(dst, c)
		return dst, lines, true, err
	}
	if e.scratch, _, err = e.lines(e.scratch[:0], c); err != nil {
		return dst, 0, true, err
	}
	start := len(dst)
	count := 0
	for rest := e.scratch; len(rest) > 0; count++ {
		end := bytes.IndexByte(rest, '\n') + 1
		if dst, err = e.transform.AppendRow(dst, []wire.Value{rest[:end]}); err != nil {
			return dst[:start], 0, true, err
		}
		rest = rest[end:]
	}
	lines = format.Records(e.transform, count)
	if lines == 0 {
		e.progress.RecordsSkipped.Add(1)
		kept = false
	}
	return dst, lines, kept, nil
}

func (e *encoder) lines(dst []byte, c *Change) ([]byte, int, error) {
	switch {
	case e.rows != nil:
		return e.rows.append(dst, c)
	case e.text:
		return appendText(dst, c), len(c.Mods), nil
	default:
		return e.records.append(dst, c), 1, nil
	}
}

func (e *encoder) event(dst []byte, r *Record) []byte {
	if e.text {
		return appendEventText(dst, r, e.partition)
	}
	return appendEvent(dst, r, e.partition)
}

// wholeLines is the Format of lines that are already written: a row is one
// value, which is the line itself and no wire value.
type wholeLines struct{}

func (wholeLines) Header() []byte { return nil }

func (w wholeLines) NewEncoder() format.Encoder { return w }

func (wholeLines) AppendRow(dst []byte, row []wire.Value) ([]byte, error) {
	return append(dst, row[0]...), nil
}

func (wholeLines) Seal(_, rows []byte, _ int) ([]byte, error) { return rows, nil }
