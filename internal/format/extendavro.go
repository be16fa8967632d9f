package format

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	"cloud.google.com/go/spanner/apiv1/spannerpb"

	"spanbulk/internal/wire"
)

// extendedAvro puts columns behind the fields of Avro records. A record is
// nothing but its fields one after another, so what is put behind them is part
// of it, once the schema says so.
type extendedAvro struct {
	*avro
	nested bool
}

func (o ExtendOptions) extendAvro(columns []*spannerpb.StructType_Field) (Format, error) {
	record := o.Layout.avro.record
	var taken []string
	for _, f := range record.fields {
		taken = append(taken, f.spelled)
		if f.typ.holds(record, map[*avroType]bool{}) {
			return nil, errAvroHoldsItself
		}
	}
	codec := o.Avro.Codec
	if codec == "" {
		codec = o.Compression.avroCodec()
	}
	sync := o.Avro.Sync
	if sync == ([16]byte{}) {
		rand.Read(sync[:]) // never fails
	}
	x := &extendedAvro{avro: &avro{sync: sync}, nested: o.Nest != ""}
	if codec != AvroNull {
		x.press = &compressors{make: func() (compressor, error) { return newBlockCompressor(codec) }}
	}
	names := o.Avro.newNames(taken...)
	outer := names
	if x.nested {
		names = o.Avro.newNames()
	}
	spelled, err := names.of(columns)
	if err != nil {
		return nil, err
	}
	var added []object
	for i, f := range columns {
		encode, err := o.Avro.encoder(f.GetType())
		if err != nil {
			return nil, columnError(f, err)
		}
		x.columns = append(x.columns, avroColumn{encode, true, f})
		field, err := o.Avro.columnSchema(f, AvroTableColumn{}, spelled[i], fmt.Sprintf("lookup_%d", i))
		if err != nil {
			return nil, err
		}
		added = append(added, field)
	}
	if x.nested {
		nest, err := outer.of([]*spannerpb.StructType_Field{{Name: o.Nest}})
		if err != nil {
			return nil, err
		}
		record := object{{"type", "record"}, {"name", "lookup_" + nest[0]}, {"fields", added}}
		field := object{{"name", nest[0]}, {"type", []any{"null", record}}}
		if nest[0] != o.Nest {
			field = append(field, member{avroTrueName, o.Nest})
		}
		added = []object{field}
	}
	schema, err := withAvroFields([]byte(o.Layout.Context()), added)
	if err != nil {
		return nil, err
	}
	x.header = appendOCFHeader(nil, schema, codec, sync)
	return x, nil
}

func (x *extendedAvro) NewEncoder() Encoder {
	return &avroExtender{avroEncoder: avroEncoder{avro: x.avro}, nested: x.nested}
}

type avroExtender struct {
	avroEncoder
	nested bool
}

func (e *avroExtender) AppendRow(dst []byte, row []wire.Value) ([]byte, error) {
	record, values, err := splitRow(row, len(e.columns))
	if err != nil {
		return dst, err
	}
	start := len(dst)
	dst = append(dst, record...)
	switch {
	case values == nil && e.nested:
		return append(dst, avroUnionNull), nil
	case values == nil:
		for range e.columns {
			dst = append(dst, avroUnionNull)
		}
		return dst, nil
	case e.nested:
		dst = append(dst, avroUnionValue)
	}
	if dst, err = e.avroEncoder.AppendRow(dst, values); err != nil {
		return dst[:start], err
	}
	return dst, nil
}

// errAvroHoldsItself: the columns would have to be in the inner records too.
var errAvroHoldsItself = errors.New("the Avro records hold records of their own type, so their schema cannot be added to; NDJSON can hold them (--format ndjson)")

// holds reports whether values of type t can have values of type other in them.
func (t *avroType) holds(other *avroType, seen map[*avroType]bool) bool {
	if t == nil || t == other || seen[t] {
		return t == other
	}
	seen[t] = true
	for _, f := range t.fields {
		if f.typ.holds(other, seen) {
			return true
		}
	}
	for _, b := range t.branches {
		if b.holds(other, seen) {
			return true
		}
	}
	return t.items.holds(other, seen)
}

var errAvroRecordSchema = errors.New("the Avro schema of the records has no list of fields")

// withAvroFields returns the schema of records with fields behind those it has.
// All else in it stays as it is.
func withAvroFields(schema []byte, fields []object) ([]byte, error) {
	at, isEmpty, err := avroFieldsEnd(schema)
	if err != nil {
		return nil, err
	}
	out := append([]byte(nil), schema[:at]...)
	for i, f := range fields {
		if i > 0 || !isEmpty {
			out = append(out, ',')
		}
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(f); err != nil {
			return nil, fmt.Errorf("encode the avro schema: %w", err)
		}
		out = append(out, bytes.TrimSpace(b.Bytes())...)
	}
	return append(out, schema[at:]...), nil
}

// avroFieldsEnd returns the place of the bracket that closes the list of the
// record's fields. The record may be wrapped, as in {"type": {"type": "record"}}.
func avroFieldsEnd(schema []byte) (at int, isEmpty bool, err error) {
	s := scanner{data: schema}
	inner := -1 // where a type in an object begins
	more, err := s.openObject()
	for more && err == nil {
		if !s.at('"') {
			return 0, false, errAvroRecordSchema
		}
		name, err := s.string()
		if err != nil {
			return 0, false, err
		}
		isFields, isType := string(name) == "fields", string(name) == "type"
		if err := s.colon(); err != nil {
			return 0, false, err
		}
		start := s.pos
		if err := s.skipValue(); err != nil {
			return 0, false, err
		}
		switch {
		case isFields && schema[start] == '[':
			return s.pos - 1, len(bytes.TrimSpace(schema[start+1:s.pos-1])) == 0, nil
		case isType && schema[start] == '{':
			inner = start
		}
		if more, err = s.nextField(); err != nil {
			return 0, false, err
		}
	}
	if err != nil || inner < 0 {
		return 0, false, errAvroRecordSchema
	}
	// skipValue has found the end of the inner object; what follows it is not read.
	end := scanner{data: schema, pos: inner}
	if err := end.skipValue(); err != nil {
		return 0, false, err
	}
	at, isEmpty, err = avroFieldsEnd(schema[inner:end.pos])
	return inner + at, isEmpty, err
}
