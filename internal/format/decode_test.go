package format_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"testing"

	"cloud.google.com/go/spanner/apiv1/spannerpb"

	"spanbulk/internal/format"
	"spanbulk/internal/schema"
	"spanbulk/internal/wire"
)

// targetOf makes a Target of columns; the first is the key.
func targetOf(fields ...*spannerpb.StructType_Field) *format.Target {
	return targetFor(false, fields...)
}

func targetFor(jsonText bool, fields ...*spannerpb.StructType_Field) *format.Target {
	t := &schema.Table{Name: schema.Name{Name: "Orders"}, PrimaryKey: []schema.KeyPart{{Column: fields[0].GetName()}}}
	for _, f := range fields {
		t.Columns = append(t.Columns, schema.Column{Name: f.GetName(), Type: f.GetType()})
	}
	return format.NewTarget(t, jsonText)
}

// decoded is a Record that outlives its chunk.
type decoded struct {
	format.Record
	text string // of Raw
}

// decodeAll reads a whole input, from a reader that returns at most step bytes
// at a time.
func decodeAll(tb testing.TB, target *format.Target, o format.DecodeOptions, split format.SplitOptions, input []byte) ([]decoded, error) {
	tb.Helper()
	split.CSV = o.CSV
	s := format.NewSplitter(bytes.NewReader(input), split)
	d, err := format.NewDecoder(&o)
	if err != nil {
		tb.Fatal(err)
	}
	var all []decoded
	var c format.Chunk
	for {
		if err := s.Next(&c); err == io.EOF {
			return all, nil
		} else if err != nil {
			return all, err
		}
		err := d.Decode(target, &c, func(r *format.Record) error {
			copied := decoded{*r, string(r.Raw)}
			copied.Values = cloneValues(r.Values)
			if r.Range != nil {
				copied.Range = &wire.KeyRange{Start: cloneValues(r.Range.Start), StartOpen: r.Range.StartOpen, End: cloneValues(r.Range.End), EndOpen: r.Range.EndOpen}
			}
			all = append(all, copied)
			return nil
		})
		if err != nil {
			return all, err
		}
	}
}

func cloneValues(values []wire.Value) []wire.Value {
	out := make([]wire.Value, len(values))
	for i, v := range values {
		out[i] = bytes.Clone(v)
	}
	return out
}

// benchFile is a file of 12,800 of the rows for measurements, the columns from
// first to last.
func benchFile(b *testing.B, o format.Options, first, last int) []byte {
	f, err := format.New(benchColumns[first:last], o)
	if err != nil {
		b.Fatal(err)
	}
	var many [][]wire.Value
	for _, row := range benchRows(b) {
		many = append(many, row[first:last])
	}
	return encodeAll(b, f, 1000, slices.Repeat(many, 200)...)
}

// benchmarkDecode splits and decodes a file again and again; b.N counts records.
func benchmarkDecode(b *testing.B, kind format.Kind, file []byte, target *format.Target) {
	d, err := format.NewDecoder(&format.DecodeOptions{})
	if err != nil {
		b.Fatal(err)
	}
	var c format.Chunk
	records := 0
	each := func(r *format.Record) error {
		if r.Err != nil {
			return r.Err
		}
		records++
		return nil
	}
	b.ReportAllocs()
	b.ResetTimer()
	for records < b.N {
		s := format.NewSplitter(bytes.NewReader(file), format.SplitOptions{Kind: kind})
		for err = nil; err == nil; {
			if err = s.Next(&c); err == nil {
				err = d.Decode(target, &c, each)
			}
		}
		if err != io.EOF {
			b.Fatal(err)
		}
	}
}

// BenchmarkDecode splits and decodes records of ten columns.
func BenchmarkDecode(b *testing.B) {
	for _, o := range []format.Options{{Kind: format.NDJSON}, {Kind: format.CSV}, {Kind: format.Avro}, {Kind: format.Avro, Compression: format.Zstd}} {
		b.Run(fmt.Sprint(o.Kind, o.Compression), func(b *testing.B) {
			benchmarkDecode(b, o.Kind, benchFile(b, o, 0, len(benchColumns)), targetOf(benchColumns...))
		})
	}
}

// BenchmarkDecodeType has records of one column of each type of the ten.
func BenchmarkDecodeType(b *testing.B) {
	for _, kind := range []format.Kind{format.NDJSON, format.CSV} {
		for i, column := range benchColumns {
			b.Run(fmt.Sprint(kind, "/", column.GetName()), func(b *testing.B) {
				benchmarkDecode(b, kind, benchFile(b, format.Options{Kind: kind}, i, i+1), targetOf(column))
			})
		}
	}
}

// BenchmarkSplit cuts records of ten columns; b.N counts records.
func BenchmarkSplit(b *testing.B) {
	for _, kind := range []format.Kind{format.NDJSON, format.CSV} {
		b.Run(string(kind), func(b *testing.B) {
			file := benchFile(b, format.Options{Kind: kind}, 0, len(benchColumns))
			records := bytes.Count(file, []byte{'\n'})
			var c format.Chunk
			b.ResetTimer()
			for n := 0; n < b.N; n += records {
				s := format.NewSplitter(bytes.NewReader(file), format.SplitOptions{Kind: kind})
				for s.Next(&c) == nil {
				}
			}
		})
	}
}

func stdBase64(raw []byte) string { return base64.StdEncoding.EncodeToString(raw) }
