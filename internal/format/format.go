package format

import (
	"fmt"

	"cloud.google.com/go/spanner/apiv1/spannerpb"

	"spanbulk/internal/wire"
)

// Format is one way to write rows of one fixed list of columns. A Format is
// immutable and safe for concurrent use; every goroutine that encodes takes an
// Encoder of its own.
//
// A file is Header followed by any number of chunks (see Encoder.Seal), in any
// order, from any Encoder of the same Format.
type Format interface {
	// Header returns the bytes every file starts with, compressed as the file
	// is: a CSV header line, an Avro schema. It may be empty. The caller must
	// not modify it.
	Header() []byte

	// NewEncoder returns an encoder for the use of one goroutine.
	NewEncoder() Encoder
}

// Encoder encodes rows for one goroutine. It keeps scratch space between calls
// but never a row or a buffer it was handed.
type Encoder interface {
	// AppendRow appends one row to dst and returns the extended buffer. The
	// row has one value for each column of the Format, in order. On an error
	// the returned buffer is dst as it was; the error names the column and the
	// reason, never the value.
	AppendRow(dst []byte, row []wire.Value) ([]byte, error)

	// Seal appends to dst the finished form of count rows that AppendRow
	// encoded into rows: a chunk that stands by itself (whole lines, a gzip
	// member, a zstd frame, an Avro block). dst and rows must not overlap.
	// Where the finished form is rows itself, Seal returns rows and leaves dst
	// alone, so that nothing is copied. Without any bytes in rows there is no
	// chunk, and the result is empty.
	Seal(dst, rows []byte, count int) ([]byte, error)
}

// RecordCounter is an Encoder that does not make one record of each row, as
// --jq does not.
type RecordCounter interface {
	// TakeRecords returns the number of records that the rows rows appended
	// since the last call have become.
	TakeRecords(rows int) int
}

// Records returns how many records the chunk holds for which enc has encoded
// rows rows since Records was last called on it. To be called once a chunk,
// before its Seal.
func Records(enc Encoder, rows int) int {
	if c, ok := enc.(RecordCounter); ok {
		return c.TakeRecords(rows)
	}
	return rows
}

// Options choose a Format and what is free in it. The zero value is
// uncompressed NDJSON as the manual's table of types has it.
type Options struct {
	Kind        Kind
	Compression Compression
	Values      ValueOptions
	CSV         CSVOptions
	Avro        AvroOptions
}

// Validate reports the first option out of its bounds, whatever the Kind.
func (o Options) Validate() error {
	for _, err := range []error{
		o.Kind.validate(), o.Compression.validate(), o.Values.Validate(), o.CSV.Validate(), o.Avro.Validate(),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

// New makes the Format that o asks for, for rows of the given columns, which
// are those of a result's metadata. It refuses columns that the Format cannot
// write: none at all, repeated names, types that have no form outside Spanner.
//
// Avro compresses its blocks itself: gzip selects the deflate codec and zstd
// the zstandard codec, where o.Avro.Codec does not select another.
func New(columns []*spannerpb.StructType_Field, o Options) (Format, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	switch o.Kind {
	case CSV:
		f, err := NewCSV(columns, o.CSV, o.Values)
		if err != nil {
			return nil, err
		}
		return Compress(f, o.Compression)
	case Avro:
		if o.Avro.Codec == "" {
			o.Avro.Codec = o.Compression.avroCodec()
		}
		return NewAvro(columns, o.Avro)
	default:
		f, err := NewNDJSON(columns, o.Values)
		if err != nil {
			return nil, err
		}
		return Compress(f, o.Compression)
	}
}

// wrongLength is the error of a row that has not one value for each column. It
// means that reader and format were made from different columns.
func wrongLength(got, want int) error {
	return fmt.Errorf("row of %d values for %d columns", got, want)
}
