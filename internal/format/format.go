package format

import "spanbulk/internal/wire"

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
	// alone, so that nothing is copied.
	Seal(dst, rows []byte, count int) ([]byte, error)
}
