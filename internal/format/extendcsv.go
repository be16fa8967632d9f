package format

import (
	"cloud.google.com/go/spanner/apiv1/spannerpb"

	"spanbulk/internal/wire"
)

// extendedCSV puts columns behind the fields of CSV records.
type extendedCSV struct {
	*csv             // of the columns alone
	header    []byte // of all fields
	nest      []jsonField
	fields    int // of a record
	input     CSVInput
	rewritten bool // a record as it was read may not be what a strict reader takes
}

func (o ExtendOptions) extendCSV(columns []*spannerpb.StructType_Field) (Format, error) {
	if o.Nest != "" {
		return o.nestCSV(columns)
	}
	f, err := NewCSV(columns, o.CSV, o.Values)
	if err != nil {
		return nil, err
	}
	return o.finishCSV(&extendedCSV{csv: f.(*csv)})
}

// nestCSV makes one field of all columns.
func (o ExtendOptions) nestCSV(columns []*spannerpb.StructType_Field) (Format, error) {
	f, err := NewCSV([]*spannerpb.StructType_Field{{Name: o.Nest, Type: &spannerpb.Type{
		Code: spannerpb.TypeCode_STRUCT, StructType: &spannerpb.StructType{Fields: columns},
	}}}, o.CSV, o.Values)
	if err != nil {
		return nil, err
	}
	x := &extendedCSV{csv: f.(*csv)}
	if x.nest, err = o.Values.jsonFields(columns); err != nil {
		return nil, err
	}
	return o.finishCSV(x)
}

func (o ExtendOptions) finishCSV(x *extendedCSV) (Format, error) {
	x.input = o.Input
	x.rewritten = o.Input.Ragged || o.Input.LazyQuotes || o.Input.ReplaceInvalid || o.Input.Null != o.CSV.Null ||
		o.Input.dialect().delimiter != x.delimiter || o.Input.dialect().quote != x.quote
	names := o.Layout.Names()
	x.fields = len(names)
	if o.CSV.NoHeader {
		return x, nil
	}
	for _, name := range names {
		var err error
		if x.header, err = x.appendField(x.header, []byte(name)); err != nil {
			return nil, err
		}
		x.header = append(x.header, x.delimiter)
	}
	x.header = append(x.header, x.csv.header...)
	return x, nil
}

func (x *extendedCSV) Header() []byte { return x.header }

func (x *extendedCSV) NewEncoder() Encoder {
	return &csvExtender{extendedCSV: x, in: newCSVRecords(x.input)}
}

type csvExtender struct {
	*extendedCSV
	in      *csvRecords
	scratch []byte
}

func (e *csvExtender) AppendRow(dst []byte, row []wire.Value) ([]byte, error) {
	width := len(e.encode)
	if e.nest != nil {
		width = len(e.nest)
	}
	record, values, err := splitRow(row, width)
	if err != nil {
		return dst, err
	}
	start := len(dst)
	if dst, err = e.appendRecord(dst, record); err != nil {
		return dst[:start], err
	}
	dst = append(dst, e.delimiter)
	switch {
	case values == nil:
		dst = e.appendNulls(dst)
	case e.nest != nil:
		dst, err = e.appendNested(dst, values)
	default:
		dst, err = e.csv.AppendRow(dst, values)
	}
	if err != nil {
		return dst[:start], err
	}
	return dst, nil
}

// appendRecord appends the record's own fields.
func (e *csvExtender) appendRecord(dst, record []byte) ([]byte, error) {
	if !e.rewritten {
		return append(dst, record...), nil
	}
	e.in.take(record)
	fields := e.in.record.fields
	for i := range max(e.fields, 1) {
		if i > 0 {
			dst = append(dst, e.delimiter)
		}
		var text []byte
		isNull := true // what the record lacks
		if i < len(fields) {
			text, isNull = e.in.text(&fields[i])
		}
		if isNull {
			dst = append(dst, e.null...)
			continue
		}
		var err error
		if dst, err = e.appendField(dst, text); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

func (e *csvExtender) appendNulls(dst []byte) []byte {
	for i := range e.encode {
		if i > 0 {
			dst = append(dst, e.delimiter)
		}
		dst = append(dst, e.null...)
	}
	return append(dst, e.end...)
}

func (e *csvExtender) appendNested(dst []byte, values []wire.Value) ([]byte, error) {
	e.scratch = e.scratch[:0]
	for i := range e.nest {
		f := &e.nest[i]
		var err error
		if e.scratch, err = appendJSON(append(e.scratch, f.prefix...), values[i], f.encode); err != nil {
			return dst, columnError(f.field, err)
		}
	}
	dst, err := e.appendField(dst, append(e.scratch, '}'))
	return append(dst, e.end...), err
}
