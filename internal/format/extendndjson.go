package format

import (
	"bytes"
	"unicode/utf8"

	"cloud.google.com/go/spanner/apiv1/spannerpb"

	"spanbulk/internal/wire"
)

// openRecord appends the JSON object that a record is, without its closing
// brace, and reports whether the object has no fields.
type openRecord func(dst, record []byte) (out []byte, isEmpty bool, err error)

// extendedNDJSON puts columns into JSON objects.
type extendedNDJSON struct {
	fields []jsonField
	nest   []byte // `,"field":`; nil if the columns stand beside the record's
	// open makes an openRecord for the use of one goroutine.
	open func() openRecord
}

func (o ExtendOptions) extendNDJSON(columns []*spannerpb.StructType_Field) (*extendedNDJSON, error) {
	x := &extendedNDJSON{}
	var err error
	if x.fields, err = o.Values.jsonFields(columns); err != nil {
		return nil, err
	}
	if o.Nest != "" {
		if x.nest, err = appendJSONString([]byte{','}, []byte(o.Nest)); err != nil {
			return nil, err
		}
		x.nest = append(x.nest, ':')
	} else {
		x.fields[0].prefix[0] = ','
	}
	switch o.From {
	case CSV:
		x.open, err = o.openCSV()
	case Avro:
		x.open = func() openRecord { return openAvro(o.Layout.avro.record) }
	default:
		x.open = func() openRecord { return openObject }
	}
	return x, err
}

func (x *extendedNDJSON) Header() []byte { return nil }

func (x *extendedNDJSON) NewEncoder() Encoder { return &ndjsonExtender{x, x.open()} }

type ndjsonExtender struct {
	*extendedNDJSON
	openRecord openRecord
}

func (e *ndjsonExtender) AppendRow(dst []byte, row []wire.Value) ([]byte, error) {
	record, values, err := splitRow(row, len(e.fields))
	if err != nil {
		return dst, err
	}
	start := len(dst)
	dst, isEmpty, err := e.openRecord(dst, record)
	if err != nil {
		return dst[:start], err
	}
	comma := len(dst)
	if dst, err = e.appendColumns(dst, values); err != nil {
		return dst[:start], err
	}
	if isEmpty {
		dst = append(dst[:comma], dst[comma+1:]...)
	}
	return append(dst, '}', '\n'), nil
}

// appendColumns appends the columns, a comma before them.
func (e *ndjsonExtender) appendColumns(dst []byte, values []wire.Value) ([]byte, error) {
	dst = append(dst, e.nest...)
	if e.nest != nil && values == nil {
		return append(dst, "null"...), nil
	}
	for i := range e.fields {
		f := &e.fields[i]
		dst = append(dst, f.prefix...)
		if values == nil {
			dst = append(dst, "null"...)
			continue
		}
		var err error
		if dst, err = appendJSON(dst, values[i], f.encode); err != nil {
			return dst, columnError(f.field, err)
		}
	}
	if e.nest != nil {
		dst = append(dst, '}')
	}
	return dst, nil
}

func (e *ndjsonExtender) Seal(_, rows []byte, _ int) ([]byte, error) { return rows, nil }

// openObject takes the text of a JSON object, which has been read before.
func openObject(dst, record []byte) ([]byte, bool, error) {
	text := bytes.Trim(record, " \t\r\n")
	if len(text) < 2 || text[0] != '{' || text[len(text)-1] != '}' {
		return dst, false, errNotObject
	}
	text = bytes.TrimRight(text[:len(text)-1], " \t\r\n")
	return append(dst, text...), len(text) == 1, nil
}

// openAvro makes objects of Avro records.
func openAvro(t *avroType) openRecord {
	in := new(avroReader)
	return func(dst, record []byte) ([]byte, bool, error) {
		start := len(dst)
		*in = avroReader{data: record}
		dst, err := in.appendJSON(dst, t)
		if err != nil {
			return dst, false, err
		}
		return dst[:len(dst)-1], len(dst) == start+2, nil
	}
}

// openCSV makes objects of the fields of CSV: strings, and null for NULL.
func (o ExtendOptions) openCSV() (func() openRecord, error) {
	names := o.Layout.Names()
	prefixes := make([][]byte, len(names))
	for i, name := range names {
		prefix := []byte{','}
		if i == 0 {
			prefix[0] = '{'
		}
		prefix, err := appendJSONString(prefix, []byte(name))
		if err != nil {
			return nil, err
		}
		prefixes[i] = append(prefix, ':')
	}
	return func() openRecord {
		in := newCSVRecords(o.Input)
		return func(dst, record []byte) ([]byte, bool, error) {
			in.take(record)
			n := min(len(in.record.fields), len(prefixes))
			for i, f := range in.record.fields[:n] {
				dst = append(dst, prefixes[i]...)
				text, isNull := in.text(&f)
				if isNull {
					dst = append(dst, "null"...)
					continue
				}
				var err error
				if dst, err = appendJSONString(dst, text); err != nil {
					return dst, false, err
				}
			}
			if n == 0 {
				dst = append(dst, '{')
			}
			return dst, n == 0, nil
		}
	}, nil
}

// csvRecords takes apart records that have been read before.
type csvRecords struct {
	csvDialect
	record csvRecord
	raw    []byte
	null   []byte
}

func newCSVRecords(o CSVInput) *csvRecords {
	return &csvRecords{csvDialect: o.dialect(), null: []byte(o.Null)}
}

func (c *csvRecords) take(raw []byte) {
	c.raw = raw
	c.split(&c.record, raw, 0)
}

// text returns the text of a field of the record, valid until the next
// record.
func (c *csvRecords) text(f *csvField) (text []byte, isNull bool) {
	text = c.record.text(c.raw, f)
	if !f.quoted && bytes.Equal(text, c.null) {
		return nil, true
	}
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	return text, false
}
