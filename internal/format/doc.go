// Package format turns rows in Spanner's wire form into the bytes of a file
// format and back: NDJSON, CSV and Avro, compressed or not.
//
// What a column needs is worked out once, when a Format is made from the
// columns: a small function per Spanner type and, for NDJSON, the key already
// quoted. A row then goes through these functions, each of which reads a
// wire.Value and appends straight to the output buffer; nothing is allocated
// and no Go value is built between Spanner's bytes and the file's.
//
// The package never holds a row, never opens a file and never talks to Spanner.
// Package output puts the chunks made here into files.
package format
