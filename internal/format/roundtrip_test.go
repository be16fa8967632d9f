package format_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/format"
	"spanbulk/internal/randtest"
	"spanbulk/internal/schema"
	"spanbulk/internal/wire"
)

// outputs are the ways in which an export can write what an import must read
// back.
var outputs = func() (all []format.Options) {
	for _, c := range []format.Compression{format.None, format.Gzip, format.Zstd} {
		all = append(all,
			format.Options{Kind: format.NDJSON, Compression: c},
			format.Options{Kind: format.NDJSON, Compression: c, Values: format.ValueOptions{Int64: "string", Numeric: "number", JSON: "string"}},
			format.Options{Kind: format.CSV, Compression: c},
			format.Options{Kind: format.CSV, Compression: c, Values: format.ValueOptions{Int64: "string", Numeric: "number", JSON: "string"}},
			format.Options{Kind: format.CSV, Compression: c, CSV: format.CSVOptions{Delimiter: `\t`, Quote: "'", Null: `\N`, CRLF: true, NoHeader: true}},
		)
	}
	for _, c := range []format.AvroCodec{format.AvroNull, format.AvroDeflate, format.AvroSnappy, format.AvroZstandard} {
		all = append(all,
			format.Options{Kind: format.Avro, Avro: format.AvroOptions{Codec: c}},
			format.Options{Kind: format.Avro, Avro: format.AvroOptions{Codec: c, Timestamp: "micros", Date: "days"}},
			format.Options{Kind: format.Avro, Avro: format.AvroOptions{Codec: c, Timestamp: "nanos", Date: "days", Numeric: "google"}},
			format.Options{Kind: format.Avro, Avro: format.AvroOptions{Codec: c, Google: true}})
	}
	return all
}()

func outputName(o format.Options) string {
	return fmt.Sprintf("%s,%s,int64=%s,null=%s,codec=%s,timestamp=%s", o.Kind, o.Compression, o.Values.Int64, o.CSV.Null, o.Avro.Codec, o.Avro.Timestamp)
}

// readBack decodes a file that o wrote.
func readBack(tb testing.TB, target *format.Target, o format.Options, chunk int, file []byte) []decoded {
	tb.Helper()
	plain := file
	if o.Kind != format.Avro {
		plain = plainOf(tb, file, o.Compression)
	}
	input := format.DecodeOptions{CSV: format.CSVInput{NoHeader: o.CSV.NoHeader, Delimiter: o.CSV.Delimiter, Quote: o.CSV.Quote, Null: o.CSV.Null}}
	records, err := decodeAll(tb, target, input, format.SplitOptions{Kind: o.Kind, ChunkBytes: chunk}, plain)
	if err != nil {
		tb.Fatalf("%s: %v", outputName(o), err)
	}
	return records
}

func plainOf(tb testing.TB, file []byte, c format.Compression) []byte {
	tb.Helper()
	r, err := format.Decompress(bytes.NewReader(file), c)
	if err != nil {
		tb.Fatal(err)
	}
	defer r.Close()
	var plain bytes.Buffer
	if _, err := plain.ReadFrom(r); err != nil {
		tb.Fatal(err)
	}
	return plain.Bytes()
}

// tableTypes are the types a column of a table can have.
var tableTypes = func() (types []*spannerpb.Type) {
	for _, c := range typeCases {
		code := c.typ.GetCode()
		if code == spannerpb.TypeCode_ARRAY {
			code = c.typ.GetArrayElementType().GetCode()
		}
		if code != spannerpb.TypeCode_STRUCT {
			types = append(types, c.typ)
		}
	}
	for _, c := range typeCases {
		if code := c.typ.GetCode(); code != spannerpb.TypeCode_ARRAY && code != spannerpb.TypeCode_STRUCT {
			types = append(types, arrayOf(c.typ))
		}
	}
	return types
}()

// TestRoundTrip: what an export writes is read back to the same bytes, for
// random tables of all types and values that are hard on a format.
func TestRoundTrip(t *testing.T) {
	rng := randtest.New(t)
	for range randtest.Rounds(60) {
		o := outputs[rng.IntN(len(outputs))]
		columns := columnsOf(field("Id", int64Type))
		for i := range rng.IntN(8) {
			columns = append(columns, field(fmt.Sprintf("c%d", i), tableTypes[rng.IntN(len(tableTypes))]))
		}
		f, err := format.New(columns, o)
		if err != nil {
			t.Fatal(err)
		}
		var rows [][]wire.Value
		for i := range rng.IntN(200) {
			row := []wire.Value{encode(t, str(strconv.Itoa(i)))}
			for _, c := range columns[1:] {
				row = append(row, encode(t, randomValue(rng, c.GetType(), o)))
			}
			rows = append(rows, row)
		}
		file := encodeAll(t, f, 1+rng.IntN(50), rows...)
		target := targetFor(o.Values.JSON == "string", columns...)
		got := readBack(t, target, o, 1+rng.IntN(1<<12), file)
		if len(got) != len(rows) {
			t.Fatalf("%s: %d records of %d came back", outputName(o), len(got), len(rows))
		}
		for i, r := range got {
			if r.Err != nil {
				t.Fatalf("%s: record %d: %v in %q", outputName(o), i, r.Err, r.text)
			}
			for j, c := range columns {
				if want := canonical(t, c.GetType(), rows[i][j]); !bytes.Equal(want, r.Values[j]) {
					t.Fatalf("%s: record %d: %s %s came back as %q, want %q", outputName(o), i, c.GetName(), schema.GoogleSQL.TypeName(c.GetType()), r.Values[j], want)
				}
			}
		}
	}
}

// canonical is v, with raw NaN and infinities as the names Spanner returns.
func canonical(tb testing.TB, t *spannerpb.Type, v wire.Value) wire.Value {
	kind, p := v.Parse()
	if kind == wire.Number {
		switch f := wire.Float64(p); {
		case math.IsNaN(f):
			return wire.AppendString(nil, "NaN")
		case math.IsInf(f, 1):
			return wire.AppendString(nil, "Infinity")
		case math.IsInf(f, -1):
			return wire.AppendString(nil, "-Infinity")
		}
	}
	if kind == wire.ListKind {
		var elements []byte
		l := wire.List(p)
		for {
			e, rest, ok := l.Next()
			if !ok {
				return wire.AppendList(nil, elements)
			}
			l = rest
			elements = wire.AppendElement(elements, canonical(tb, t.GetArrayElementType(), e))
		}
	}
	return v
}

func pick[T any](rng *rand.Rand, from ...T) T { return from[rng.IntN(len(from))] }

// randomValue makes a value of a type as Spanner returns it, one of the hard
// ones often.
func randomValue(rng *rand.Rand, t *spannerpb.Type, o format.Options) *structpb.Value {
	if rng.IntN(8) == 0 {
		return null
	}
	switch t.GetCode() {
	case spannerpb.TypeCode_BOOL:
		return boolean(rng.IntN(2) == 0)
	case spannerpb.TypeCode_INT64, spannerpb.TypeCode_ENUM:
		return str(strconv.FormatInt(pick(rng, 0, 1, -1, math.MaxInt64, math.MinInt64, 1<<53+1, rng.Int64(), -rng.Int64(), rng.Int64N(1000)), 10))
	case spannerpb.TypeCode_FLOAT64:
		return num(pick(rng, 0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64,
			math.Float64frombits(rng.Uint64()), rng.NormFloat64(), float64(rng.IntN(100000))/100))
	case spannerpb.TypeCode_FLOAT32:
		f := pick(rng, 0, float32(math.Copysign(0, -1)), math.MaxFloat32, math.SmallestNonzeroFloat32, math.Float32frombits(rng.Uint32()), float32(rng.NormFloat64()))
		return num(float64(f))
	case spannerpb.TypeCode_NUMERIC:
		if t.GetTypeAnnotation() == spannerpb.TypeAnnotationCode_PG_NUMERIC {
			return str(pick(rng, "NaN", "0", "0.00", "-1.50", strings.Repeat("9", 500)+"."+strings.Repeat("0", 300)+"1", randomDecimal(rng)))
		}
		return str(pick(rng, "0", "-0.000000001", "99999999999999999999999999999.999999999", "-99999999999999999999999999999.999999999", randomDecimal(rng)))
	case spannerpb.TypeCode_STRING:
		return str(randomText(rng))
	case spannerpb.TypeCode_BYTES, spannerpb.TypeCode_PROTO:
		return str(base64Of(rng))
	case spannerpb.TypeCode_TIMESTAMP:
		if o.Avro.Timestamp == "micros" {
			return str(pick(rng, "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.000001Z"))
		}
		if o.Avro.Timestamp == "nanos" {
			return str(pick(rng, "1677-09-21T00:12:43.145224192Z", "2262-04-11T23:47:16.854775807Z", "1969-12-31T23:59:59.000000001Z", "2026-01-31T12:00:00Z"))
		}
		return str(pick(rng, "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "1969-12-31T23:59:59.000000001Z", "2026-01-31T12:00:00.12Z"))
	case spannerpb.TypeCode_DATE:
		return str(pick(rng, "0001-01-01", "9999-12-31", "2024-02-29", "1969-12-31", "1970-01-01"))
	case spannerpb.TypeCode_JSON:
		return str(pick(rng, `null`, `{"$json":null}`, `{"$json":{"$json":1}}`, `{}`, `[]`, `""`, `{"a":{"b":[[],{},[{}]]}}`, `123456789012345678901234567890.5`,
			`1e+400`, `"\u0000\"\\"`, `{"$json":1,"x":2}`, `{"\u0024json":1}`, `[null,true,-0.0]`, `"東京🙂"`, `{"a": 1, "bb": [1.00, 2]}`))
	case spannerpb.TypeCode_UUID:
		return str(fmt.Sprintf("%08x-0000-4000-8000-%012x", rng.Uint32(), rng.Uint64()>>16))
	case spannerpb.TypeCode_INTERVAL:
		return str(pick(rng, "P0Y", "P1Y2M3DT4H5M6.789S", "P-10000Y"))
	case spannerpb.TypeCode_ARRAY:
		elements := []*structpb.Value{}
		for range rng.IntN(5) {
			elements = append(elements, randomValue(rng, t.GetArrayElementType(), o))
		}
		return list(elements...)
	}
	panic("no value for " + schema.GoogleSQL.TypeName(t))
}

func randomDecimal(rng *rand.Rand) string {
	whole := strconv.FormatUint(rng.Uint64()>>rng.IntN(64), 10)
	places := strings.TrimRight(fmt.Sprintf("%09d", rng.IntN(1_000_000_000)), "0")
	text := whole
	if places != "" {
		text += "." + places
	}
	if rng.IntN(2) == 0 && text != "0" {
		text = "-" + text
	}
	return text
}

func base64Of(rng *rand.Rand) string {
	raw := make([]byte, rng.IntN(40))
	for i := range raw {
		raw[i] = byte(rng.Uint32())
	}
	return stdBase64(raw)
}

func randomText(rng *rand.Rand) string {
	pieces := []string{"", "a", `"`, `""`, "'", ",", "\t", "\n", "\r", "\r\n", "\x00", "\\", `\N`, `\n`, "🙂", "Zürich", "\u2028", "\uFEFF", " ", "NULL", "null", "{", "}", "[1]"}
	var b strings.Builder
	for range rng.IntN(12) {
		b.WriteString(pieces[rng.IntN(len(pieces))])
	}
	if rng.IntN(50) == 0 {
		b.WriteString(strings.Repeat(pick(rng, "x", `"`, "\n", "🙂"), rng.IntN(100_000)))
	}
	return b.String()
}
