package format_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
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

func benchmarkDecode(b *testing.B, o format.Options, input format.DecodeOptions) {
	f, err := format.New(benchColumns, o)
	if err != nil {
		b.Fatal(err)
	}
	rows := benchRows(b)
	var many [][]wire.Value
	for range 200 {
		many = append(many, rows...)
	}
	file := encodeAll(b, f, 1000, many...)
	target := targetOf(benchColumns...)
	d, err := format.NewDecoder(&input)
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
	b.SetBytes(int64(len(file) / len(many)))
	for records < b.N {
		s := format.NewSplitter(bytes.NewReader(file), format.SplitOptions{Kind: o.Kind})
		for {
			err := s.Next(&c)
			if err == io.EOF {
				break
			}
			if err == nil {
				err = d.Decode(target, &c, each)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkDecode splits and decodes records of ten columns.
func BenchmarkDecode(b *testing.B) {
	for _, o := range []format.Options{{Kind: format.NDJSON}, {Kind: format.CSV}, {Kind: format.Avro}, {Kind: format.Avro, Compression: format.Zstd}} {
		b.Run(fmt.Sprint(o.Kind, o.Compression), func(b *testing.B) { benchmarkDecode(b, o, format.DecodeOptions{}) })
	}
}

func stdBase64(raw []byte) string { return base64.StdEncoding.EncodeToString(raw) }
