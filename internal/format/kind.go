package format

import (
	"fmt"
	"path"
	"strings"
)

// Kind names a file format as --format does. The empty Kind is NDJSON.
type Kind string

// The formats that can be written.
const (
	NDJSON Kind = "ndjson"
	CSV    Kind = "csv"
	Avro   Kind = "avro"
)

func (k Kind) validate() error {
	switch k {
	case "", NDJSON, CSV, Avro:
		return nil
	}
	return fmt.Errorf("format %q is none of ndjson, csv, avro", string(k))
}

// Compression names a way to compress text files as --compression does. The
// empty Compression is None.
type Compression string

// The compressions that can be written.
const (
	None Compression = "none"
	Gzip Compression = "gzip"
	Zstd Compression = "zstd"
)

func (c Compression) validate() error {
	switch c {
	case "", None, Gzip, Zstd:
		return nil
	}
	return fmt.Errorf("compression %q is none of none, gzip, zstd", string(c))
}

func (c Compression) avroCodec() AvroCodec {
	switch c {
	case Gzip:
		return AvroDeflate
	case Zstd:
		return AvroZstandard
	default:
		return AvroNull
	}
}

var kindByExtension = map[string]Kind{
	".ndjson": NDJSON, ".jsonl": NDJSON, ".json": NDJSON,
	".csv":  CSV,
	".avro": Avro,
}

var compressionByExtension = map[string]Compression{
	".gz": Gzip, ".gzip": Gzip,
	".zst": Zstd, ".zstd": Zstd,
}

// FromName tells format and compression by the ending of a file's name
// ("orders.csv.gz"). A result is empty where the name does not tell.
func FromName(name string) (Kind, Compression) {
	name = strings.ToLower(name)
	ext := path.Ext(name)
	compression := compressionByExtension[ext]
	if compression != "" {
		ext = path.Ext(strings.TrimSuffix(name, ext))
	}
	return kindByExtension[ext], compression
}

// Extension returns the ending of the names of files of this format, the one
// FromName understands. Avro compresses inside the file, which its name does
// not show.
func Extension(k Kind, c Compression) string {
	ext := ".ndjson"
	switch k {
	case Avro:
		return ".avro"
	case CSV:
		ext = ".csv"
	}
	switch c {
	case Gzip:
		return ext + ".gz"
	case Zstd:
		return ext + ".zst"
	default:
		return ext
	}
}
