package format_test

import (
	"fmt"
	"math"
	"testing"

	"cloud.google.com/go/spanner/apiv1/spannerpb"

	"spanbulk/internal/format"
	"spanbulk/internal/wire"
)

func columnsOf(fields ...*spannerpb.StructType_Field) []*spannerpb.StructType_Field { return fields }

// benchColumns are the ten columns of the measurements in ARCHITECTURE.md.
var benchColumns = columnsOf(
	field("OrderId", int64Type), field("Customer", stringType), field("Note", stringType),
	field("Weight", float64Type), field("Paid", boolType), field("CreatedAt", timestampType),
	field("Total", numericType), field("Digest", bytesType), field("Attributes", jsonType),
	field("ItemIds", arrayOf(int64Type)))

func benchRows(tb testing.TB) [][]wire.Value {
	rows := make([][]wire.Value, 64)
	notes := []string{"first order", "naïve résumé", `said "yes" twice`, "delivered to the neighbour on the second attempt"}
	for i := range rows {
		rows[i] = encodeRow(tb,
			str(fmt.Sprint(1000000007*int64(i+1))), str(fmt.Sprintf("customer-%06d", i)),
			str(notes[i%len(notes)]), num(1000*math.Sqrt(float64(i+2)/70)), boolean(i%3 == 0),
			str(fmt.Sprintf("2026-01-31T12:%02d:59.123456789Z", i%60)), str(fmt.Sprintf("%d.99", 10*i)),
			str("q83vASNFZ4mrze8BI0VniavN7wEjRWeJq83vASNFZ4k="), str(`{"channel":"web","gift":false,"lines":3}`),
			list(str("1001"), str("1002"), str(fmt.Sprint(i)), str("123456789")))
	}
	return rows
}

func benchmarkRows(b *testing.B, f format.Format, columns int) {
	rows := benchRows(b)
	for i := range rows {
		rows[i] = rows[i][:columns]
	}
	enc := f.NewEncoder()
	buf := make([]byte, 0, 1<<20)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%64 == 0 {
			buf = buf[:0]
		}
		var err error
		if buf, err = enc.AppendRow(buf, rows[i%64]); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(columns), "ns/value")
}

func BenchmarkNDJSON(b *testing.B) {
	benchmarkRows(b, newNDJSON(b, format.ValueOptions{}, benchColumns...), len(benchColumns))
}

// BenchmarkNDJSONType has one column of each type of the ten.
func BenchmarkNDJSONType(b *testing.B) {
	rows := benchRows(b)
	for i, c := range benchColumns {
		b.Run(c.Name, func(b *testing.B) {
			enc := newNDJSON(b, format.ValueOptions{}, c).NewEncoder()
			buf := make([]byte, 0, 1<<20)
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				var err error
				if buf, err = enc.AppendRow(buf[:0], rows[n%64][i:i+1]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSeal compresses one chunk of 1000 rows.
func BenchmarkSeal(b *testing.B) {
	for _, o := range []format.Options{
		{Compression: format.Gzip}, {Compression: format.Zstd},
		{Kind: format.Avro}, {Kind: format.Avro, Compression: format.Gzip}, {Kind: format.Avro, Compression: format.Zstd},
	} {
		b.Run(fmt.Sprintf("%s/%s", o.Kind, o.Compression), func(b *testing.B) {
			f, err := format.New(benchColumns, o)
			if err != nil {
				b.Fatal(err)
			}
			enc, rows := f.NewEncoder(), benchRows(b)
			var plain, sealed []byte
			for i := range 1000 {
				if plain, err = enc.AppendRow(plain, rows[i%64]); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(int64(len(plain)))
			b.ReportAllocs()
			for b.Loop() {
				if sealed, err = enc.Seal(sealed[:0], plain, 1000); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(plain))/float64(len(sealed)), "ratio")
		})
	}
}
