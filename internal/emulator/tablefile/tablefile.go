// Package tablefile reads the rows of one table from CSV, NDJSON and Avro files
// for the embedded Spanner, straight into the wire form that mutations hold.
//
// The column's type decides how a text is read. In CSV an empty bare field is
// NULL and an empty quoted one an empty string; in NDJSON an absent field is
// not written and null is NULL. Values of generated columns are passed over:
// an export holds them, and no mutation may. The package checks the form of the files;
// whether a value fits its column is left to the commit. It shares no code
// with the project's import, which it helps to test.
package tablefile

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"iter"
	"path"
	"strings"

	"github.com/klauspost/compress/zstd"

	"spanbulk/internal/emulator/catalog"
)

// Record is one row of a file. It is valid until the next one.
type Record struct {
	// Columns are the columns that the record gives, the same slice as long as
	// records have the same ones.
	Columns []*catalog.Column
	// Values are the encoded google.protobuf.ListValue of the columns' values.
	Values []byte
}

// Format is a kind of file.
type Format uint8

// The formats.
const (
	CSV Format = iota + 1
	NDJSON
	Avro
)

// FormatOf tells a file's format and compression ("", "gz", "zst") by its
// name, and the name without both. ok is false for other files.
func FormatOf(name string) (f Format, compression, stem string, ok bool) {
	name = path.Base(name)
	for _, c := range []string{"gz", "zst"} {
		if s, found := strings.CutSuffix(name, "."+c); found {
			name, compression = s, c
		}
	}
	ext := path.Ext(name)
	stem = strings.TrimSuffix(name, ext)
	switch strings.ToLower(ext) {
	case ".csv":
		return CSV, compression, stem, true
	case ".ndjson", ".jsonl":
		return NDJSON, compression, stem, true
	case ".avro":
		return Avro, compression, stem, true
	}
	return 0, "", "", false
}

const readBuffer = 256 << 10

// Records reads the records of a file. compression is as FormatOf gives it.
// An error, which ends the sequence, names the line, or in Avro the record.
func Records(r io.Reader, f Format, compression string, t *catalog.Table) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		plain, err := decompress(r, compression)
		if err != nil {
			yield(Record{}, err)
			return
		}
		defer plain.Close()
		in := bufio.NewReaderSize(plain, readBuffer)
		if bom, _ := in.Peek(3); string(bom) == "\xef\xbb\xbf" {
			// Peek has just seen these bytes.
			_, _ = in.Discard(3)
		}
		switch f {
		case CSV:
			readCSV(in, t, yield)
		case Avro:
			readAvro(in, t, yield)
		default:
			readNDJSON(in, t, yield)
		}
	}
}

func decompress(r io.Reader, compression string) (io.ReadCloser, error) {
	switch compression {
	case "gz":
		return gzip.NewReader(r)
	case "zst":
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	}
	return io.NopCloser(r), nil
}

func lineError(line int, format string, args ...any) error {
	return fmt.Errorf("line %d: %s", line, fmt.Sprintf(format, args...))
}
