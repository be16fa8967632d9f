package format_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"spanbulk/internal/format"
	"spanbulk/internal/randtest"
	"spanbulk/internal/schema"
	"spanbulk/internal/wire"
)

// FuzzDecodeNDJSON gives the decoder any text, in chunks of any size: what comes
// out must not depend on the chunks, and a record that is taken must be JSON to
// the standard library too.
func FuzzDecodeNDJSON(f *testing.F) {
	for _, c := range recordCases {
		if c.kind == format.NDJSON {
			f.Add([]byte(c.input), uint16(64))
		}
	}
	for _, c := range valueCases {
		for _, v := range c.values {
			f.Add([]byte(`{"Id":1,"Part":"a","`+c.column+`":`+v+"}"), uint16(7))
		}
	}
	f.Fuzz(func(t *testing.T, input []byte, chunk uint16) {
		records := decodeAnyhow(t, format.NDJSON, format.DecodeOptions{IgnoreUnknown: true}, input, int(chunk))
		for _, r := range records {
			if r.Err != nil {
				continue
			}
			var object map[string]json.RawMessage
			if err := json.Unmarshal([]byte(r.text), &object); err != nil {
				t.Fatalf("took %q, which encoding/json refuses: %v", r.text, err)
			}
			if !utf8.ValidString(r.text) {
				t.Fatalf("took %q, which is not UTF-8", r.text)
			}
		}
	})
}

// FuzzDecodeCSV does the same for CSV, strict and relaxed.
func FuzzDecodeCSV(f *testing.F) {
	for _, c := range recordCases {
		if c.kind == format.CSV {
			f.Add([]byte(c.input), uint16(32), c.options.CSV.LazyQuotes)
		}
	}
	f.Add([]byte("Id,Part\n1,\"a\"\"\nb\"\n\"2\"x,\"y\"\"\"\r\n3,\r\r\n"), uint16(1), true)
	f.Fuzz(func(t *testing.T, input []byte, chunk uint16, relaxed bool) {
		o := format.DecodeOptions{IgnoreUnknown: true, CSV: format.CSVInput{LazyQuotes: relaxed, Ragged: relaxed, ReplaceInvalid: relaxed}}
		for _, r := range decodeAnyhow(t, format.CSV, o, input, int(chunk)) {
			for _, v := range r.Values {
				if kind, p := v.Parse(); v != nil && kind == wire.String && !utf8.Valid(p) {
					t.Fatalf("%q has text that is not UTF-8", r.text)
				}
			}
		}
	})
}

// decodeAnyhow decodes input in one chunk and in chunks of about the given
// size, and compares.
func decodeAnyhow(t *testing.T, kind format.Kind, o format.DecodeOptions, input []byte, chunk int) []decoded {
	t.Helper()
	o.MaxRecordBytes = 1 << 20
	target := refusalTable(schema.GoogleSQL)
	whole, wholeErr := decodeAll(t, target, o, format.SplitOptions{Kind: kind, ChunkBytes: len(input) + 1}, input)
	parts, partsErr := decodeAll(t, target, o, format.SplitOptions{Kind: kind, ChunkBytes: chunk + 1}, input)
	if (wholeErr == nil) != (partsErr == nil) || len(whole) != len(parts) {
		t.Fatalf("%q: %d records and %v in one chunk, %d and %v in chunks of %d", input, len(whole), wholeErr, len(parts), partsErr, chunk+1)
	}
	for i := range whole {
		if whole[i].text != parts[i].text || outcome(whole[i]) != outcome(parts[i]) {
			t.Fatalf("%q: record %d is %q: %s in one chunk, %q: %s in chunks of %d", input, i,
				whole[i].text, outcome(whole[i]), parts[i].text, outcome(parts[i]), chunk+1)
		}
	}
	return whole
}

// FuzzDecodeAvro gives the decoder any bytes for an Avro file.
func FuzzDecodeAvro(f *testing.F) {
	for _, o := range outputs {
		if o.Kind != format.Avro {
			continue
		}
		columns := columnsOf(field("Id", int64Type), field("Part", stringType), field("Numeric", numericType), field("Ints", arrayOf(int64Type)), field("Time", timestampType))
		o.Avro.Sync = fixedSync
		made, err := format.New(columns, o)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(encodeAll(f, made, 1, encodeRow(f, str("1"), str("a"), str("1.5"), list(str("1"), null), str("2026-01-31T12:00:00Z")),
			encodeRow(f, str("2"), null, null, null, null)), false)
	}
	f.Fuzz(func(t *testing.T, input []byte, asJSON bool) {
		o := format.DecodeOptions{IgnoreUnknown: true, MaxRecordBytes: 1 << 20}
		if asJSON {
			o.Transform = func(dst, record []byte) ([]byte, int, error) {
				if !json.Valid(record) {
					t.Fatalf("%q is not JSON", record)
				}
				return append(append(dst, record...), '\n'), 1, nil
			}
		}
		records, _ := decodeAll(t, refusalTable(schema.GoogleSQL), o, format.SplitOptions{Kind: format.Avro}, input)
		for _, r := range records {
			for _, v := range r.Values {
				if v != nil && v.Kind() == wire.Invalid {
					t.Fatalf("a value came out malformed: %x", []byte(v))
				}
			}
		}
	})
}

// FuzzDecompress gives the decompressors any bytes.
func FuzzDecompress(f *testing.F) {
	for _, c := range []format.Compression{format.Gzip, format.Zstd} {
		made, err := format.New(benchColumns[:1], format.Options{Compression: c})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(encodeAll(f, made, 1, encodeRow(f, str("1")), encodeRow(f, str("2"))), c == format.Zstd)
	}
	f.Fuzz(func(t *testing.T, input []byte, zstd bool) {
		c := format.Gzip
		if zstd {
			c = format.Zstd
		}
		if r, err := format.Decompress(bytes.NewReader(input), c); err == nil {
			_, _ = io.CopyN(io.Discard, r, 1<<20)
			r.Close()
		}
	})
}

// FuzzText holds floats and integers against the standard library.
func FuzzText(f *testing.F) {
	for _, c := range valueCases {
		for _, v := range c.values {
			f.Add(strings.Trim(v, `"`))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		quoted, err := json.Marshal(text)
		if err != nil || !utf8.ValidString(text) {
			return
		}
		decodeOne := func(column string) (wire.Value, bool) {
			line := append(append([]byte(`{"Id":1,"Part":"a","`+column+`":`), quoted...), '}')
			records, err := decodeAll(t, refusalTable(schema.GoogleSQL), format.DecodeOptions{}, format.SplitOptions{Kind: format.NDJSON}, line)
			if err != nil || len(records) != 1 {
				t.Fatalf("%q: %d records, error %v", line, len(records), err)
			}
			i := slices.IndexFunc(records[0].Target.Table().Columns, func(c schema.Column) bool { return c.Name == column })
			return records[0].Values[i], records[0].Err == nil
		}
		if v, ok := decodeOne("Float"); ok {
			want, err := strconv.ParseFloat(text, 64)
			kind, p := v.Parse()
			if err != nil || kind == wire.Number && math.Float64bits(wire.Float64(p)) != math.Float64bits(want) {
				t.Fatalf("%q became the float %s, want %v, error %v", text, showValue(v), want, err)
			}
		}
		if v, ok := decodeOne("Enum"); ok {
			want, err := strconv.ParseInt(text, 10, 64)
			if _, p := v.Parse(); err != nil || string(p) != strconv.FormatInt(want, 10) {
				t.Fatalf("%q became the integer %s, want %d, error %v", text, showValue(v), want, err)
			}
		}
		for _, column := range []string{"Numeric", "Time", "Date", "Bytes", "Uuid"} {
			v, ok := decodeOne(column)
			if !ok {
				continue
			}
			// What is written is read back as the same.
			if other := unusual(column, text); other != "" {
				quoted, _ = json.Marshal(other)
				if same, ok := decodeOne(column); !ok || !bytes.Equal(same, v) {
					t.Fatalf("%s: %q became %s, and %q, which is the same, %s", column, text, showValue(v), other, showValue(same))
				}
			}
			_, p := v.Parse()
			text, quoted = string(p), slices.Concat([]byte{'"'}, p, []byte{'"'})
			if again, ok := decodeOne(column); !ok || !bytes.Equal(again, v) {
				t.Fatalf("%s: %q became %s, and that %s", column, text, showValue(v), showValue(again))
			}
			quoted, _ = json.Marshal(text)
		}
	})
}

// unusual spells the value of text, which the column takes, in a way that few
// do; it is empty where there is none.
func unusual(column, text string) string {
	switch plain := strings.TrimLeft(text, "+-0123456789."); {
	case column == "Numeric" && plain == "":
		return text + "e0"
	case column == "Time" && strings.HasSuffix(text, "Z"):
		return strings.TrimSuffix(text, "Z") + "z"
	case column == "Date" && text[5] == '0':
		return text[:5] + text[6:]
	case column == "Bytes":
		return strings.TrimRight(text, "=")
	}
	return ""
}

// TestDecimals holds decimals of all lengths against the standard library.
func TestDecimals(t *testing.T) {
	rng := randtest.New(t)
	file := []byte("Id,Part,Float\n")
	var want []float64
	for range 20_000 {
		digits := make([]byte, 1+rng.IntN(22))
		for i := range digits {
			digits[i] = byte('0' + rng.IntN(10))
			if rng.IntN(8) == 0 { // near the middle of two doubles, now and then
				digits[i] = "059"[rng.IntN(3)]
			}
		}
		text := strings.Repeat("-", rng.IntN(2)) + string(digits)
		if places := rng.IntN(len(digits)); places > 0 {
			text = text[:len(text)-places] + "." + text[len(text)-places:]
		}
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, f)
		file = fmt.Appendf(file, "1,a,%s\n", text)
	}
	// 2^53+1 and its like lie in the middle.
	for i := range uint64(1000) {
		n := uint64(1)<<53 + 2*i + 1
		want = append(want, float64(n))
		file = fmt.Appendf(file, "1,a,%d\n", n)
	}
	target := refusalTable(schema.GoogleSQL)
	column := slices.IndexFunc(target.Table().Columns, func(c schema.Column) bool { return c.Name == "Float" })
	records, err := decodeAll(t, target, format.DecodeOptions{}, format.SplitOptions{Kind: format.CSV}, file)
	if err != nil || len(records) != len(want) {
		t.Fatalf("%d records of %d, error %v", len(records), len(want), err)
	}
	for i, r := range records {
		if _, p := r.Values[column].Parse(); math.Float64bits(wire.Float64(p)) != math.Float64bits(want[i]) {
			t.Errorf("%q became %v, want %v", r.text, wire.Float64(p), want[i])
		}
	}
}
