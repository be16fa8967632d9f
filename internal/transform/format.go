package transform

import (
	"bytes"
	"context"

	"spanbulk/internal/format"
	"spanbulk/internal/wire"
)

// Format returns f, which must write NDJSON uncompressed, with the program run
// on every record. columns are the names of f's columns. A record that the
// program skips adds nothing to a chunk; see format.Records.
//
// When ctx ends, so does a program that runs on one record for too long:
// AppendRow then returns the cause. (An Encoder's methods take no context, as
// nothing else in them can wait.)
func (p *Program) Format(ctx context.Context, f format.Format, columns []string) format.Format {
	order := make(map[string]int, len(columns))
	for i, c := range columns {
		order[c] = i
	}
	return &transformed{f, p, ctx, order}
}

type transformed struct {
	inner   format.Format
	program *Program
	ctx     context.Context
	columns map[string]int
}

func (t *transformed) Header() []byte { return t.inner.Header() }

func (t *transformed) NewEncoder() format.Encoder {
	return &encoder{inner: t.inner.NewEncoder(), ctx: t.ctx, run: run{Program: t.program, columns: t.columns}}
}

type encoder struct {
	inner  format.Encoder
	ctx    context.Context
	run    run
	record []byte // scratch

	// What AppendRow has made since TakeRecords, and of its last row.
	rows, records, last int
}

func (e *encoder) AppendRow(dst []byte, row []wire.Value) ([]byte, error) {
	var err error
	if e.record, err = e.inner.AppendRow(e.record[:0], row); err != nil {
		return dst, err
	}
	dst, n, err := e.run.append(e.ctx, dst, bytes.TrimSuffix(e.record, []byte("\n")))
	if err == nil {
		e.rows, e.records, e.last = e.rows+1, e.records+n, n
	}
	return dst, err
}

// TakeRecords implements format.RecordCounter. rows may leave out the last row,
// which was too large for the chunk: its records are then of the next.
func (e *encoder) TakeRecords(rows int) int {
	taken := e.records
	if rows < e.rows {
		taken -= e.last
	}
	e.rows, e.records = e.rows-rows, e.records-taken
	return taken
}

func (e *encoder) Seal(dst, rows []byte, count int) ([]byte, error) {
	return e.inner.Seal(dst, rows, count)
}
