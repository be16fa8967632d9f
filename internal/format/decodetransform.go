package format

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"spanbulk/internal/wire"
)

// transform hands to each what Transform makes of the record, whose text is
// JSON, and the record itself as one to skip if that is nothing.
func (d *Decoder) transform(r *Record, c *Chunk, text []byte, t *Target, each func(*Record) error) error {
	s := scanner{data: text}
	s.space()
	err := s.skipValue()
	if s.space(); err == nil && s.pos < len(text) {
		err = errTrailing
	}
	if err != nil {
		refuse(r, s.failAt(0, nil, err))
		return each(r)
	}
	line, offset, start := r.Line, r.Offset, len(c.made)
	out, n, err := d.o.Transform(c.made, text)
	if refused, ok := errors.AsType[*RecordError](err); ok {
		refuse(r, refused)
		return each(r)
	}
	if err != nil {
		return err
	}
	c.made = out
	if n == 0 {
		r.Skip = true
		return each(r)
	}
	for one := range bytes.Lines(out[start:]) {
		one = bytes.TrimSuffix(one, []byte{'\n'})
		r := d.begin(one, line, offset)
		r.Made = true
		d.readObject(r, one, t)
		if r.Err != nil {
			r.Err.Byte = 0 // that of a text nobody has seen
		}
		if err := each(r); err != nil {
			return err
		}
	}
	return nil
}

// jsonView is how records of a layout look as JSON: fields that are columns of
// the table as an export writes them, others as the format has them.
type jsonView struct {
	fields []viewField
}

type viewField struct {
	label  string        // of the column, else the name
	prefix []byte        // `{"name":` or `,"name":`
	column *valueDecoder // nil: none of the table's, or none that the value fits
	encode encodeFunc
	read   avroFunc // Avro, with a column
	typ    *avroType
}

func (d *Decoder) view(t *Target, l *Layout) (*jsonView, error) {
	key := planKey{t, l}
	if v := d.views[key]; v != nil {
		return v, nil
	}
	v := &jsonView{}
	if l.avro != nil {
		for _, f := range l.avro.record.fields {
			if err := v.add(t, f.name, f.typ); err != nil {
				return nil, err
			}
		}
	} else {
		names := l.names
		if names == nil && t != nil {
			names = (&plan{binding: d.o.bind(t)}).namesInOrder()
		}
		for _, name := range names {
			if err := v.add(t, name, nil); err != nil {
				return nil, err
			}
		}
	}
	d.views[key] = v
	return v, nil
}

func (v *jsonView) add(t *Target, name string, typ *avroType) error {
	prefix := []byte{','}
	if len(v.fields) == 0 {
		prefix[0] = '{'
	}
	prefix, err := appendJSONString(prefix, []byte(name))
	if err != nil {
		return &LayoutError{&RecordError{Line: 1, Reason: fmt.Sprintf("the name of field %d is not UTF-8", len(v.fields)+1)}}
	}
	f := viewField{label: name, prefix: append(prefix, ':'), typ: typ}
	if t != nil {
		if column := t.find(name); column >= 0 && t.decoders[column].text != nil {
			f.label = t.label(column)
			f.bind(&t.decoders[column])
		}
	}
	v.fields = append(v.fields, f)
	return nil
}

func (f *viewField) bind(d *valueDecoder) {
	o := ValueOptions{}
	if d.jsonText || d.element != nil && d.element.jsonText {
		o.JSON = "string"
	}
	encode, err := o.jsonEncoder(d.typ)
	if err != nil {
		return
	}
	if f.typ != nil {
		if f.read, err = planAvroValue(f.typ, d); err != nil {
			return
		}
	}
	f.column, f.encode = d, encode
}

// transformCSV is decodeCSV with a Transform.
func (d *Decoder) transformCSV(t *Target, c *Chunk, each func(*Record) error) error {
	v, err := d.view(t, c.Layout)
	if err != nil {
		return err
	}
	return d.eachCSV(c, func(line int64, pos int) (int, error) {
		r, next := d.takeApart(c, line, pos)
		fields := d.csv.record.fields
		if d.refuseText(r, c); r.Err == nil && len(fields) != len(v.fields) && (!d.o.CSV.Ragged || len(r.Raw) == 0) {
			if !d.refuseCount(r, c, len(v.fields)) {
				return next, nil
			}
		}
		if r.Err == nil {
			d.viewCSV(r, c, v)
		}
		if r.Err != nil {
			return next, each(r)
		}
		return next, d.transform(r, c, d.made, t, each)
	})
}

// viewCSV makes the JSON of a CSV record, or refuses it.
func (d *Decoder) viewCSV(r *Record, c *Chunk, v *jsonView) {
	d.made = d.made[:0]
	fields := d.csv.record.fields
	for i := range min(len(fields), len(v.fields)) {
		f, field := &v.fields[i], &fields[i]
		d.made = append(d.made, f.prefix...)
		text := d.csvText(c, field)
		var err error
		switch {
		case !field.quoted && bytes.Equal(text, d.csv.null):
			d.made = append(d.made, "null"...)
		case f.column == nil:
			d.made, err = appendJSONString(d.made, text)
		default:
			if d.arena, err = f.column.text(d.arena[:0], text); err == nil {
				d.made, err = appendJSON(d.made, d.arena, f.encode)
			}
		}
		if err != nil {
			d.refuseAt(r, c, field.at, f.label, err)
			return
		}
	}
	d.made = closeObject(d.made)
}

func closeObject(object []byte) []byte {
	if len(object) == 0 {
		object = append(object, '{')
	}
	return append(object, '}')
}

// transformAvro is readAvro with a Transform.
func (d *Decoder) transformAvro(in *avroReader, r *Record, t *Target, c *Chunk, each func(*Record) error) error {
	v, err := d.view(t, c.Layout)
	if err != nil {
		return err
	}
	start := in.pos
	d.made = d.made[:0]
	for i := range v.fields {
		f := &v.fields[i]
		d.made = append(d.made, f.prefix...)
		at := in.pos
		if f.column == nil {
			d.made, err = in.appendJSON(d.made, f.typ)
		} else if d.arena, err = f.read(in, d.arena[:0]); err == nil {
			d.made, err = appendJSON(d.made, d.arena, f.encode)
		}
		if err == errAvroMalformed {
			return &InputError{Line: r.Line, Reason: err.Error()}
		}
		if err != nil {
			refuse(r, &RecordError{Field: f.label, Reason: err.Error()})
			in.pos = at
			if err := in.skip(f.typ); err != nil {
				return &InputError{Line: r.Line, Reason: err.Error()}
			}
		}
	}
	r.Raw = in.data[start:in.pos]
	if len(r.Raw) == 0 {
		return &InputError{Line: r.Line, Reason: errAvroMalformed.Error()}
	}
	if r.Err != nil {
		return each(r)
	}
	d.made = closeObject(d.made)
	return d.transform(r, c, d.made, t, each)
}

// appendJSON appends a value that is no column's as JSON: bytes as base64, NaN
// and the infinities by name, times as RFC 3339.
func (r *avroReader) appendJSON(dst []byte, t *avroType) ([]byte, error) {
	if r.depth > maxAvroDepth {
		return dst, errAvroMalformed
	}
	switch t.kind {
	case avroNull:
		return append(dst, "null"...), nil
	case avroBoolean:
		b, err := r.take(1)
		if err != nil {
			return dst, err
		}
		return strconv.AppendBool(dst, b[0] != 0), nil
	case avroUnion:
		branch, err := r.branch(t)
		if err != nil {
			return dst, err
		}
		return r.appendJSON(dst, branch)
	case avroString, avroEnum:
		text, err := r.text(t)
		if err != nil {
			return dst, err
		}
		return appendJSONString(dst, text)
	case avroFloat:
		f, err := r.float()
		return AppendJSONFloat(dst, f), err
	case avroDouble:
		f, err := r.double()
		return AppendJSONFloat(dst, f), err
	case avroArrayKind, avroMap, avroRecordKind:
		r.depth++
		dst, err := r.appendJSONParts(dst, t)
		r.depth--
		return dst, err
	case avroBytes, avroFixed:
		return r.appendJSONBytes(dst, t)
	default:
		return r.appendJSONLong(dst, t)
	}
}

func (r *avroReader) appendJSONBytes(dst []byte, t *avroType) ([]byte, error) {
	b, err := r.raw(t)
	if err != nil {
		return dst, err
	}
	dst = append(dst, '"')
	if t.isPGNumeric() {
		var ok bool
		if dst, ok = appendPGNumericText(dst, b); !ok {
			return dst, errWantNumeric
		}
	} else if t.logical == "decimal" && t.scale >= 0 && t.scale <= pgNumericPlaces {
		dst = appendDecimalText(dst, b, t.scale)
	} else {
		dst = base64.StdEncoding.AppendEncode(dst, b)
	}
	return append(dst, '"'), nil
}

func (r *avroReader) appendJSONLong(dst []byte, t *avroType) ([]byte, error) {
	read := planAvroTimestamp(t)
	if t.logical == "date" {
		read = readAvroDate
	}
	if read == nil {
		n, err := r.long()
		return strconv.AppendInt(dst, n, 10), err
	}
	v, err := read(r, nil)
	if err != nil {
		return dst, err
	}
	_, text := wire.Value(v).Parse()
	return appendJSONString(dst, text)
}

func (r *avroReader) appendJSONParts(dst []byte, t *avroType) ([]byte, error) {
	if t.kind == avroRecordKind {
		return r.appendJSONRecord(dst, t)
	}
	opening, closing := byte('['), byte(']')
	if t.kind == avroMap {
		opening, closing = '{', '}'
	}
	dst = append(dst, opening)
	for first := true; ; {
		n, err := r.items()
		if err != nil {
			return dst, err
		}
		if n == 0 {
			return append(dst, closing), nil
		}
		for range n {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			if t.kind == avroMap {
				if dst, err = r.appendJSONKey(dst); err != nil {
					return dst, err
				}
			}
			if dst, err = r.appendJSON(dst, t.items); err != nil {
				return dst, err
			}
		}
	}
}

func (r *avroReader) appendJSONKey(dst []byte) ([]byte, error) {
	key, err := r.bytes()
	if err != nil {
		return dst, err
	}
	if !utf8.Valid(key) {
		return dst, errInvalidBytes
	}
	dst, err = appendJSONString(dst, key)
	return append(dst, ':'), err
}

func (r *avroReader) appendJSONRecord(dst []byte, t *avroType) ([]byte, error) {
	start := len(dst)
	for i, f := range t.fields {
		separator := byte(',')
		if i == 0 {
			separator = '{'
		}
		var err error
		if dst, err = appendJSONString(append(dst, separator), []byte(f.name)); err != nil {
			return dst, err
		}
		if dst, err = r.appendJSON(append(dst, ':'), f.typ); err != nil {
			return dst, err
		}
	}
	if len(dst) == start {
		dst = append(dst, '{')
	}
	return append(dst, '}'), nil
}
