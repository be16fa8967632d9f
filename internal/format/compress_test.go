package format_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"testing"

	"github.com/klauspost/compress/zstd"

	"spanbulk/internal/format"
	"spanbulk/internal/wire"
)

func decompress(t *testing.T, c format.Compression, data []byte) []byte {
	t.Helper()
	var r io.Reader
	switch c {
	case format.Gzip:
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		r = z
	case format.Zstd:
		z, err := zstd.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		r = z
	default:
		return data
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

// TestCompress reads the concatenated members and frames with readers that
// know nothing of chunks.
func TestCompress(t *testing.T) {
	columns := columnsOf(field("id", int64Type), field("name", stringType))
	for _, kind := range []format.Kind{format.NDJSON, format.CSV} {
		plain, err := format.New(columns, format.Options{Kind: kind})
		if err != nil {
			t.Fatal(err)
		}
		var rows [][]wire.Value
		for i := range 60 {
			rows = append(rows, encodeRow(t, str(fmt.Sprint(i)), str(fmt.Sprintf("name of %d", i))))
		}
		want := encodeAll(t, plain, 60, rows...)
		for _, c := range []format.Compression{format.None, format.Gzip, format.Zstd} {
			for _, chunk := range []int{1, 17, 60} {
				t.Run(fmt.Sprintf("%s/%s/%d", kind, c, chunk), func(t *testing.T) {
					f, err := format.New(columns, format.Options{Kind: kind, Compression: c})
					if err != nil {
						t.Fatal(err)
					}
					if got := decompress(t, c, encodeAll(t, f, chunk, rows...)); !bytes.Equal(got, want) {
						t.Errorf("%d bytes came back of %d", len(got), len(want))
					}
				})
			}
		}
	}
}

// TestCompressReusesEncoder seals several chunks with one encoder, appending to
// what is in the buffer already.
func TestCompressReusesEncoder(t *testing.T) {
	for _, c := range []format.Compression{format.Gzip, format.Zstd} {
		f, err := format.New(columnsOf(field("id", int64Type)), format.Options{Compression: c})
		if err != nil {
			t.Fatal(err)
		}
		enc := f.NewEncoder()
		var file, want []byte
		for i := range 10 {
			plain, err := enc.AppendRow(nil, encodeRow(t, str(fmt.Sprint(i))))
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, plain...)
			if file, err = enc.Seal(file, plain, 1); err != nil {
				t.Fatal(err)
			}
		}
		if got := decompress(t, c, file); !bytes.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", c, got, want)
		}
		if out, err := enc.Seal(nil, nil, 0); err != nil || len(out) != 0 {
			t.Errorf("%s: no rows became %d bytes, error %v", c, len(out), err)
		}
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct {
		name        string
		kind        format.Kind
		compression format.Compression
	}{
		{"orders.ndjson", format.NDJSON, ""},
		{"a.b/orders.jsonl.gz", format.NDJSON, format.Gzip},
		{"orders-{partition}.CSV.zst", format.CSV, format.Zstd},
		{"orders.avro", format.Avro, ""},
		{"orders", "", ""},
		{"orders.gz", "", format.Gzip},
		{"dir.csv/", "", ""},
	} {
		if kind, compression := format.FromName(c.name); kind != c.kind || compression != c.compression {
			t.Errorf("%s: got %q, %q, want %q, %q", c.name, kind, compression, c.kind, c.compression)
		}
	}
	for _, kind := range []format.Kind{format.NDJSON, format.CSV} {
		for _, c := range []format.Compression{format.None, format.Gzip, format.Zstd} {
			k, got := format.FromName("x" + format.Extension(kind, c))
			if c == format.None {
				c = ""
			}
			if k != kind || got != c {
				t.Errorf("%s, %s: the extension reads as %q, %q", kind, c, k, got)
			}
		}
	}
}

func TestOptionsValidate(t *testing.T) {
	for _, o := range []format.Options{
		{Kind: "xml"}, {Compression: "bzip2"},
		{Values: format.ValueOptions{Int64: "hex"}}, {Values: format.ValueOptions{Numeric: "float"}}, {Values: format.ValueOptions{JSON: "object"}},
	} {
		if err := o.Validate(); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
	if err := (format.Options{}).Validate(); err != nil {
		t.Error(err)
	}
}
