// Package format turns rows in Spanner's wire form into the bytes of a file
// format and back: NDJSON, CSV and Avro, compressed or not.
//
// A format reads each wire.Value by the Spanner type of its column and appends
// straight to an output buffer. It never holds a row, never opens a file and
// never talks to Spanner.
package format
