package format

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"spanbulk/internal/wire"
)

// csvDecoder is what a Decoder keeps for CSV.
type csvDecoder struct {
	csvDialect
	null      []byte
	plainEnds bool // as in csvDialect
	record    csvRecord
	quotes    bool   // the record read last has some, so that it may have several lines
	undoubled []byte // scratch
}

// csvPlanned is what a field is to a table.
type csvPlanned struct {
	boundField
	// For a column, as in its valueDecoder.
	text  textFunc
	plain plainFunc
}

// planCSV finds what the fields of a layout are to the table.
func (p *plan) planCSV(l *Layout) ([]csvPlanned, *RecordError) {
	names := l.names
	if names == nil {
		names = p.namesInOrder()
	}
	fields := make([]csvPlanned, len(names))
	seen := map[int]int{} // fields by slot, counted from 1
	for i, name := range names {
		f, err := p.field(name)
		if unknown, ok := errors.AsType[*unknownFieldError](err); ok && l.context != "" {
			return nil, p.misfit(l, i, name, ": "+unknown.reason)
		}
		if err != nil {
			return nil, &RecordError{Line: 1, Reason: err.Error()}
		}
		if other := seen[f.slot]; other > 0 && f.slot >= 0 {
			return nil, p.misfit(l, i, name, fmt.Sprintf(" is the column of field %d too", other))
		}
		seen[f.slot] = i + 1
		fields[i].boundField = f
		if f.kind == columnField {
			decoder := &p.target.decoders[f.column]
			fields[i].text, fields[i].plain = decoder.text, decoder.plain
		}
	}
	for _, needed := range []string{p.options.OperationField, p.options.TableField} {
		if f, _ := p.field(needed); needed != "" && seen[f.slot] == 0 {
			return nil, &RecordError{Line: 1, Reason: fieldError(needed, errFieldMissing).Reason}
		}
	}
	return fields, nil
}

// namesInOrder are the names of the fields of CSV without a header: those the
// user gives, else those of an export of the table.
func (p *plan) namesInOrder() []string {
	if len(p.options.Columns) > 0 {
		return p.options.Columns
	}
	var names []string
	for i, c := range p.target.columns() {
		if p.target.decoders[i].text != nil {
			names = append(names, c.Name)
		}
	}
	return names
}

func (d *Decoder) decodeCSV(t *Target, c *Chunk, each func(*Record) error) error {
	if d.csv == nil {
		x := d.o.CSV.dialect()
		d.csv = &csvDecoder{csvDialect: x, null: []byte(d.o.CSV.Null), plainEnds: x.plainEnds()}
	}
	if d.o.Transform != nil {
		return d.transformCSV(t, c, each)
	}
	table, regular := -1, (*plan)(nil)
	if d.o.TableField != "" {
		if table = slices.Index(c.Layout.names, d.o.TableField); table < 0 {
			return &LayoutError{&RecordError{Line: 1, Reason: fieldError(d.o.TableField, errFieldMissing).Reason}}
		}
	} else if p := d.planFor(t, c.Layout); p.err != nil {
		return &LayoutError{p.err}
	} else if d.valid && p.isRegular(c) {
		regular = p
	}
	return d.eachCSV(c, func(line int64, pos int) (int, error) {
		if regular != nil {
			if next := d.readRegular(t, regular, c, line, pos); next > 0 {
				return next, each(&d.record)
			}
		}
		r, next := d.takeApart(c, line, pos)
		if !d.readCSV(r, t, c, table) {
			return next, nil
		}
		return next, each(r)
	})
}

// eachCSV calls read for the records of the chunk, one by one: with the line and
// the place where one begins, for the place where the next does.
func (d *Decoder) eachCSV(c *Chunk, read func(line int64, pos int) (next int, err error)) error {
	line := c.Line
	for pos := 0; pos < len(c.Data); {
		next, err := read(line, pos)
		if err != nil {
			return err
		}
		if line++; d.csv.quotes {
			line += int64(bytes.Count(c.Data[pos:next-1], []byte{'\n'}))
		}
		pos = next
	}
	return nil
}

// takeApart takes the record at pos apart, and returns where the next begins.
func (d *Decoder) takeApart(c *Chunk, line int64, pos int) (r *Record, next int) {
	x := &d.csv.record
	d.csv.split(x, c.Data, pos)
	d.csv.quotes = true // perhaps
	return d.begin(c.Data[pos:x.end], line, pos), x.next
}

// readCSV reads the record that split took apart, or refuses it; it reports
// false for a blank line that is none.
func (d *Decoder) readCSV(r *Record, t *Target, c *Chunk, table int) bool {
	x := &d.csv.record
	if d.refuseText(r, c); r.Err != nil {
		return true
	}
	if table >= 0 {
		if table >= len(x.fields) {
			return d.refuseCount(r, c, len(c.Layout.names))
		}
		text := d.csvText(c, &x.fields[table])
		if t = d.table(text); t == nil {
			d.refuseAt(r, c, x.fields[table].at, "", fmt.Errorf("field %q %w", d.o.TableField, errNoSuchTable))
			return true
		}
	}
	p := d.planFor(t, c.Layout)
	if p.err != nil {
		refuse(r, &RecordError{Reason: p.err.Reason})
		return true
	}
	if len(x.fields) != len(p.csv) && (!d.o.CSV.Ragged || len(r.Raw) == 0) {
		return d.refuseCount(r, c, len(p.csv))
	}
	d.beginValues(r, t)
	if !d.readCSVFields(r, c, p) {
		return true
	}
	if r.Range != nil {
		r.dropNulls()
	}
	p.finish(r)
	return true
}

// refuseText refuses what is wrong whatever the columns.
func (d *Decoder) refuseText(r *Record, c *Chunk) {
	x := &d.csv.record
	switch {
	case len(r.Raw) > d.o.maxRecordBytes():
		refuse(r, &RecordError{Reason: tooLarge(d.o.maxRecordBytes())})
	case x.err != nil:
		d.refuseAt(r, c, x.at, "", x.err)
	case !d.valid && !d.o.CSV.ReplaceInvalid && !utf8.Valid(r.Raw):
		d.refuseAt(r, c, r.Offset+firstInvalid(r.Raw), "", errInvalidBytes)
	}
}

// refuseCount refuses a record with the wrong number of fields. An empty line
// among records of several fields holds nothing and is no record.
func (d *Decoder) refuseCount(r *Record, c *Chunk, want int) bool {
	if len(r.Raw) == 0 {
		return false
	}
	got := len(d.csv.record.fields)
	d.refuseAt(r, c, r.Offset, "", fmt.Errorf("%d fields where there should be %d (--csv-ragged takes it as it is)", got, want))
	return true
}

func (d *Decoder) refuseAt(r *Record, c *Chunk, at int, field string, err error) {
	line, column := placeIn(c.Data[r.Offset:], at-r.Offset)
	refuse(r, &RecordError{Line: r.Line + int64(line) - 1, Byte: column, Field: field, Reason: err.Error()})
}

// csvText returns the text of a field, valid until the next record.
func (d *Decoder) csvText(c *Chunk, f *csvField) []byte {
	text := d.csv.record.text(c.Data, f)
	if !d.valid && !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	return text
}

// readCSVFields reads the fields of the record into its values.
func (d *Decoder) readCSVFields(r *Record, c *Chunk, p *plan) bool {
	x := &d.csv.record
	fields, arena, values, null := x.fields, d.arena, r.Values, d.csv.null
	plain := d.valid
	for i := range min(len(fields), len(p.csv)) {
		f, b := &fields[i], &p.csv[i]
		if b.kind != columnField {
			d.arena = arena
			if !d.readCSVSpecial(r, c, f, b) {
				return false
			}
			arena = d.arena
			continue
		}
		text := x.text(c.Data, f)
		if !plain {
			text = d.csvText(c, f)
		}
		if !f.quoted && len(text) == len(null) && string(text) == string(null) {
			values[b.column] = nullValue
			continue
		}
		at := len(arena)
		var err error
		if arena, err = b.text(arena, text); err != nil {
			d.refuseAt(r, c, f.at, p.target.label(b.column), err)
			return false
		}
		values[b.column] = arena[at:len(arena):len(arena)]
	}
	d.arena = arena
	return true
}

// dropNulls makes NULLs absent. The fields beside a key range must be there, as
// other records have them.
func (r *Record) dropNulls() {
	for i, v := range r.Values {
		if v != nil && v.Kind() == wire.Null {
			r.Values[i] = nil
		}
	}
}

func (d *Decoder) readCSVSpecial(r *Record, c *Chunk, f *csvField, b *csvPlanned) bool {
	switch b.kind {
	case operationField:
		if refused := d.operation(r, d.csvText(c, f)); refused != nil {
			d.refuseAt(r, c, f.at, "", refused)
			return false
		}
	case keyRangeField:
		if !f.quoted && f.start == f.end {
			return true
		}
		d.scan.data, d.scan.pos = d.csvText(c, f), 0
		refused := d.readRange(r, r.Target)
		if d.scan.space(); refused == nil && d.scan.pos < len(d.scan.data) {
			refused = &RecordError{Reason: rangeReason(errTrailing)}
		}
		if refused != nil {
			d.refuseAt(r, c, f.at, "", refused)
			return false
		}
	}
	return true
}
