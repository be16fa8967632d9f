package format

import (
	"errors"
	"fmt"
	"slices"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/protobuf/proto"

	"spanbulk/internal/wire"
)

// ExtendOptions say how columns are put beside the fields that records have.
type ExtendOptions struct {
	Options // of the output

	From   Kind     // of the records
	Layout *Layout  // of the records; nil for NDJSON
	Input  CSVInput // how the records are read, where they are CSV

	// Prefix stands before the names of the columns.
	Prefix string
	// Nest, if not empty, is the field that holds all columns as one object: a
	// record in Avro, the text of a JSON object in CSV.
	Nest string
}

// ExtendedNames returns the names of the fields that columns become.
func (o ExtendOptions) ExtendedNames(columns []string) []string {
	if o.Nest != "" {
		return []string{o.Nest}
	}
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = o.Prefix + c
	}
	return names
}

// Extend returns a Format of records with columns behind the fields they have,
// which stay as they are, to the digit.
//
// Its Encoders take rows of two forms. The first value is not one of Spanner's
// but the record, as Record.Raw has it. Behind it comes a value for each column,
// or nothing at all: then each column is NULL.
//
// NDJSON can be made of every kind of records; CSV and Avro, whose files begin
// with all names, only of their own kind.
func Extend(columns []*spannerpb.StructType_Field, o ExtendOptions) (Format, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.From == "" {
		o.From = NDJSON
	}
	if o.Kind == "" {
		o.Kind = NDJSON
	}
	if o.Kind != NDJSON && o.Kind != o.From {
		return nil, fmt.Errorf("records of %s cannot be written as %s: only their own format and NDJSON hold all of their fields", o.From, o.Kind)
	}
	if err := checkFields("lookup", columns); err != nil {
		return nil, err
	}
	columns = o.renamed(columns)
	switch o.Kind {
	case Avro:
		return o.extendAvro(columns)
	case CSV:
		f, err := o.extendCSV(columns)
		if err != nil {
			return nil, err
		}
		return Compress(f, o.Compression)
	default:
		f, err := o.extendNDJSON(columns)
		if err != nil {
			return nil, err
		}
		return Compress(f, o.Compression)
	}
}

// renamed puts the prefix before the names. Columns in an object of their own
// need none.
func (o ExtendOptions) renamed(columns []*spannerpb.StructType_Field) []*spannerpb.StructType_Field {
	if o.Nest != "" || o.Prefix == "" {
		return columns
	}
	out := slices.Clone(columns)
	for i, c := range out {
		out[i] = proto.Clone(c).(*spannerpb.StructType_Field)
		out[i].Name = o.Prefix + c.GetName()
	}
	return out
}

// Names returns the names of the fields of all records; nil where each record
// has its own, or none have.
func (l *Layout) Names() []string {
	switch {
	case l == nil:
		return nil
	case l.avro == nil:
		return l.names
	}
	names := make([]string, len(l.avro.record.fields))
	for i, f := range l.avro.record.fields {
		names[i] = f.name
	}
	return names
}

// LayoutOf returns what s has read before the first record; nil if that is
// nothing, or not read yet.
func LayoutOf(s Splitter) *Layout {
	switch s := s.(type) {
	case *textSplitter:
		return s.layout
	case *avroSplitter:
		return s.layout
	}
	return nil
}

var errNoRecord = errors.New("row without a record")

// splitRow takes the record off a row, which may end with it.
func splitRow(row []wire.Value, columns int) (record []byte, values []wire.Value, err error) {
	switch len(row) {
	case 1:
		return row[0], nil, nil
	case 1 + columns:
		return row[0], row[1:], nil
	case 0:
		return nil, nil, errNoRecord
	default:
		return nil, nil, wrongLength(len(row)-1, columns)
	}
}
