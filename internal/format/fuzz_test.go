package format_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"testing"
	"time"

	"spanbulk/internal/format"
	"spanbulk/internal/wire"
)

// FuzzValue gives every type any bytes for a value. Whatever a format takes
// must be well-formed in it; JSON columns aside, whose text is the server's.
func FuzzValue(f *testing.F) {
	for _, c := range typeCases {
		for _, v := range c.values {
			f.Add([]byte(encode(f, v)))
		}
	}
	for _, c := range badValues {
		f.Add([]byte(c.value))
	}
	type encoders struct{ ndjson, csv, avro format.Encoder }
	var all []encoders
	for _, c := range typeCases {
		column := field("v", c.typ)
		all = append(all, encoders{
			newNDJSON(f, format.ValueOptions{JSON: "string"}, column).NewEncoder(),
			newCSV(f, format.CSVOptions{NoHeader: true}, field("n", stringType), column).NewEncoder(),
			newAvro(f, format.AvroOptions{Timestamp: "micros", Date: "days", Sync: fixedSync}, column).NewEncoder(),
		})
	}
	f.Fuzz(func(t *testing.T, v []byte) {
		for i, c := range typeCases {
			line, err := all[i].ndjson.AppendRow(nil, []wire.Value{v})
			if err == nil && (!json.Valid(line) || bytes.Count(line, []byte("\n")) != 1) {
				t.Fatalf("%s: %x became %q", c.name, v, line)
			}
			if record, err := all[i].csv.AppendRow(nil, []wire.Value{wire.AppendNull(nil), v}); err == nil {
				if records, _ := readCSV(t, record); len(records) != 1 || len(records[0]) != 2 {
					t.Fatalf("%s: %x became %q", c.name, v, record)
				}
			}
			if _, err := all[i].avro.AppendRow(nil, []wire.Value{v}); err == nil && !json.Valid(line) && c.name != "float64" {
				t.Fatalf("%s: Avro took %x and NDJSON did not", c.name, v)
			}
		}
	})
}

// FuzzAvroText holds the texts that Avro's own forms are made from against the
// standard library.
func FuzzAvroText(f *testing.F) {
	for _, s := range []string{
		"2026-01-31T23:59:59.123456Z", "2024-02-29T00:00:00Z", "2023-02-29T00:00:00Z", "0001-01-01T00:00:00Z", "2026-01-31",
		"1", "-1.5", "99999999999999999999999999999.999999999", "0.0000000001", "AAA=", "AA==", "A", "9223372036854775807",
	} {
		f.Add(s)
	}
	timestamp := newAvro(f, format.AvroOptions{Timestamp: "micros"}, field("v", timestampType))
	date := newAvro(f, format.AvroOptions{Date: "days"}, field("v", dateType))
	numeric := newAvro(f, format.AvroOptions{}, field("v", numericType))
	binary := newAvro(f, format.AvroOptions{}, field("v", bytesType))
	f.Fuzz(func(t *testing.T, s string) {
		row := []wire.Value{wire.AppendString(nil, s)}
		if at, err := time.Parse(time.RFC3339Nano, s); accepts(timestamp, row) {
			if err != nil {
				t.Fatalf("took %q as a timestamp: %v", s, err)
			}
			checkDatum(t, timestamp, row, at.UnixMicro())
		}
		if at, err := time.Parse(time.DateOnly, s); accepts(date, row) {
			if err != nil {
				t.Fatalf("took %q as a date: %v", s, err)
			}
			checkDatum(t, date, row, at.Unix()/86400)
		} else if err == nil && at.Year() > 0 {
			t.Fatalf("refused the date %q", s)
		}
		if accepts(numeric, row) {
			want, ok := new(big.Rat).SetString(s)
			if !ok {
				t.Fatalf("took %q as a NUMERIC", s)
			}
			if got := readAvro(t, encodeAll(t, numeric, 1, row))[0]["v"].(*big.Rat); got.Cmp(want) != 0 {
				t.Fatalf("%q came back as %s", s, got)
			}
		}
		want, err := base64.StdEncoding.DecodeString(s)
		if accepts(binary, row) {
			if got := readAvro(t, encodeAll(t, binary, 1, row))[0]["v"].([]byte); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%q came back as %x, want %x, error %v", s, got, want, err)
			}
		}
	})
}

func accepts(f format.Format, row []wire.Value) bool {
	_, err := f.NewEncoder().AppendRow(nil, row)
	return err == nil
}
