package format_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/format"
	"spanbulk/internal/randtest"
)

var everyFormat = []format.Options{
	{}, {Compression: format.Gzip}, {Compression: format.Zstd},
	{Kind: format.CSV},
	{Kind: format.Avro}, {Kind: format.Avro, Compression: format.Gzip}, {Kind: format.Avro, Compression: format.Zstd},
	{Kind: format.Avro, Avro: format.AvroOptions{Codec: format.AvroSnappy}},
}

func newFormat(tb testing.TB, o format.Options, columns ...*spannerpb.StructType_Field) format.Format {
	tb.Helper()
	f, err := format.New(columns, o)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// readStrings reads a file's STRING columns back, NULLs as nil.
func readStrings(t *testing.T, o format.Options, file []byte) []map[string]any {
	t.Helper()
	switch o.Kind {
	case format.Avro:
		return readAvro(t, file)
	case format.CSV:
		records, quoted := readCSV(t, file)
		var out []map[string]any
		for i, fields := range records[1:] {
			record := map[string]any{}
			for j, text := range fields {
				record[records[0][j]] = text
				if text == "" && !quoted[i+1][j] {
					record[records[0][j]] = nil
				}
			}
			out = append(out, record)
		}
		return out
	}
	var out []map[string]any
	for line := range bytes.Lines(decompress(t, o.Compression, file)) {
		var record map[string]any
		if err := json.Unmarshal(line, &record); err != nil {
			t.Fatal(err)
		}
		out = append(out, record)
	}
	return out
}

// TestLimits writes what Spanner allows at most: a cell of 10 MiB, a thousand
// columns; and rows that are all NULL.
func TestLimits(t *testing.T) {
	piece := strings.Repeat("0123456789", 20) + " \"東京\", \n"
	var wide []*spannerpb.StructType_Field
	var nulls, texts []*structpb.Value
	for i := range 1000 {
		wide = append(wide, field(fmt.Sprintf("c%d", i), stringType))
		nulls, texts = append(nulls, null), append(texts, str(fmt.Sprint(i)))
	}
	for _, o := range everyFormat {
		t.Run(fmt.Sprintf("%s/%s/%s", o.Kind, o.Compression, o.Avro.Codec), func(t *testing.T) {
			long := strings.Repeat(piece, randtest.Size(10<<20)/len(piece)+1)
			f := newFormat(t, o, field("v", stringType))
			file := encodeAll(t, f, 1, encodeRow(t, str("a")), encodeRow(t, str(long)), encodeRow(t, str("b")))
			got := readStrings(t, o, file)
			if len(got) != 3 || got[0]["v"] != "a" || got[1]["v"] != long || got[2]["v"] != "b" {
				t.Errorf("%d rows came back", len(got))
			}
			f = newFormat(t, o, wide...)
			got = readStrings(t, o, encodeAll(t, f, 2, encodeRow(t, nulls...), encodeRow(t, texts...), encodeRow(t, nulls...)))
			if len(got) != 3 {
				t.Fatalf("%d rows came back", len(got))
			}
			for i := range 1000 {
				name := fmt.Sprintf("c%d", i)
				if v, ok := got[0][name]; !ok || v != nil || got[1][name] != fmt.Sprint(i) || got[2][name] != nil {
					t.Errorf("column %d: got %v, %v, %v", i, got[0][name], got[1][name], got[2][name])
				}
			}
		})
	}
}

// TestNoRows makes files of a header alone.
func TestNoRows(t *testing.T) {
	for _, o := range everyFormat {
		f := newFormat(t, o, field("v", stringType))
		if got := readStrings(t, o, encodeAll(t, f, 1)); len(got) != 0 {
			t.Errorf("%+v: %d rows came back", o, len(got))
		}
		if out, err := f.NewEncoder().Seal(nil, nil, 0); err != nil || len(out) != 0 {
			t.Errorf("%+v: no rows became %d bytes, error %v", o, len(out), err)
		}
	}
}

// TestNoAllocations holds the promise of the package's comment.
func TestNoAllocations(t *testing.T) {
	rows := benchRows(t)
	buf := make([]byte, 0, 1<<20)
	for _, o := range everyFormat {
		enc := newFormat(t, o, benchColumns...).NewEncoder()
		allocs := testing.AllocsPerRun(100, func() {
			buf = buf[:0]
			for _, row := range rows {
				var err error
				if buf, err = enc.AppendRow(buf, row); err != nil {
					t.Fatal(err)
				}
			}
		})
		if allocs != 0 {
			t.Errorf("%+v: %v allocations for %d rows", o, allocs, len(rows))
		}
	}
}
