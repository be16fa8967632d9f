package format_test

import (
	"flag"
	"math"
	"os"
	"path/filepath"
	"testing"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/format"
	"spanbulk/internal/wire"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The tests make values with the protobuf library, apart from package wire.

func str(s string) *structpb.Value { return structpb.NewStringValue(s) }

func num(f float64) *structpb.Value { return structpb.NewNumberValue(f) }

func boolean(b bool) *structpb.Value { return structpb.NewBoolValue(b) }

func list(vs ...*structpb.Value) *structpb.Value {
	return structpb.NewListValue(&structpb.ListValue{Values: vs})
}

var null = structpb.NewNullValue()

func encode(tb testing.TB, v *structpb.Value) wire.Value {
	tb.Helper()
	// proto.Marshal refuses strings that are not UTF-8, which tests need.
	if s, ok := v.GetKind().(*structpb.Value_StringValue); ok {
		return wire.AppendString(nil, s.StringValue)
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func encodeRow(tb testing.TB, vs ...*structpb.Value) []wire.Value {
	tb.Helper()
	row := make([]wire.Value, len(vs))
	for i, v := range vs {
		row[i] = encode(tb, v)
	}
	return row
}

func scalar(c spannerpb.TypeCode) *spannerpb.Type { return &spannerpb.Type{Code: c} }

func annotated(c spannerpb.TypeCode, a spannerpb.TypeAnnotationCode) *spannerpb.Type {
	return &spannerpb.Type{Code: c, TypeAnnotation: a}
}

func arrayOf(t *spannerpb.Type) *spannerpb.Type {
	return &spannerpb.Type{Code: spannerpb.TypeCode_ARRAY, ArrayElementType: t}
}

func structOf(fields ...*spannerpb.StructType_Field) *spannerpb.Type {
	return &spannerpb.Type{Code: spannerpb.TypeCode_STRUCT, StructType: &spannerpb.StructType{Fields: fields}}
}

func field(name string, t *spannerpb.Type) *spannerpb.StructType_Field {
	return &spannerpb.StructType_Field{Name: name, Type: t}
}

var (
	boolType      = scalar(spannerpb.TypeCode_BOOL)
	int64Type     = scalar(spannerpb.TypeCode_INT64)
	float64Type   = scalar(spannerpb.TypeCode_FLOAT64)
	float32Type   = scalar(spannerpb.TypeCode_FLOAT32)
	numericType   = scalar(spannerpb.TypeCode_NUMERIC)
	stringType    = scalar(spannerpb.TypeCode_STRING)
	bytesType     = scalar(spannerpb.TypeCode_BYTES)
	timestampType = scalar(spannerpb.TypeCode_TIMESTAMP)
	dateType      = scalar(spannerpb.TypeCode_DATE)
	jsonType      = scalar(spannerpb.TypeCode_JSON)
	uuidType      = scalar(spannerpb.TypeCode_UUID)
	intervalType  = scalar(spannerpb.TypeCode_INTERVAL)
	pgNumericType = annotated(spannerpb.TypeCode_NUMERIC, spannerpb.TypeAnnotationCode_PG_NUMERIC)
	pgJSONBType   = annotated(spannerpb.TypeCode_JSON, spannerpb.TypeAnnotationCode_PG_JSONB)
	pgOIDType     = annotated(spannerpb.TypeCode_INT64, spannerpb.TypeAnnotationCode_PG_OID)
	protoType     = &spannerpb.Type{Code: spannerpb.TypeCode_PROTO, ProtoTypeFqn: "shop.Order"}
	enumType      = &spannerpb.Type{Code: spannerpb.TypeCode_ENUM, ProtoTypeFqn: "shop.Status"}
)

// typeCases has, for every Spanner type, the values that golden files show.
var typeCases = []struct {
	name   string
	typ    *spannerpb.Type
	values []*structpb.Value
}{
	{"bool", boolType, []*structpb.Value{boolean(true), boolean(false), null}},
	{"int64", int64Type, []*structpb.Value{
		str("0"), str("-1"), str("9007199254740993"), str("9223372036854775807"), str("-9223372036854775808"), null}},
	{"float64", float64Type, []*structpb.Value{
		num(0), num(math.Copysign(0, -1)), num(1), num(-12.5), num(0.1), num(19.99), num(1e21), num(123456789012), num(1e-7),
		num(0.30000000000000004), num(math.MaxFloat64), num(math.SmallestNonzeroFloat64),
		str("NaN"), str("Infinity"), str("-Infinity"), num(math.NaN()), num(math.Inf(-1)), null}},
	{"float32", float32Type, []*structpb.Value{
		num(float64(float32(3.14))), num(float64(float32(0.1))), num(16777216), num(math.MaxFloat32),
		num(float64(math.SmallestNonzeroFloat32)), str("NaN"), str("Infinity"), null}},
	{"numeric", numericType, []*structpb.Value{
		str("0"), str("1"), str("-0.000000001"), str("3.1415"),
		str("99999999999999999999999999999.999999999"), str("-99999999999999999999999999999.999999999"), null}},
	{"string", stringType, []*structpb.Value{
		str(""), str("plain"), str(`"quoted" and back\slash`), str("comma, semicolon; tab\t"), str("line\nbreak\r\n"),
		str("\x00\x01\x1f\x7f\b\f"), str("<b>&amp;</b>"), str("Zürich 東京 🙂 \u2028\u2029"), str(" blank at the ends "), str("NULL"), null}},
	{"bytes", bytesType, []*structpb.Value{str(""), str("AA=="), str("/+8="), str("c3BhbmJ1bGs="), null}},
	{"timestamp", timestampType, []*structpb.Value{
		str("2026-01-31T23:59:59Z"), str("2026-01-31T23:59:59.5Z"), str("2026-01-31T23:59:59.123456789Z"),
		str("0001-01-01T00:00:00Z"), str("9999-12-31T23:59:59.999999999Z"), str("1969-12-31T23:59:59.999999Z"), null}},
	{"date", dateType, []*structpb.Value{
		str("2026-01-31"), str("0001-01-01"), str("9999-12-31"), str("1970-01-01"), str("1969-12-31"), str("2024-02-29"), null}},
	{"json", jsonType, []*structpb.Value{
		str(`{"a":[1,2.50,1e+4],"b":null}`), str(`"text"`), str(`123456789012345678901234567890`), str(`[]`), str(`true`), str(`null`),
		str(`{"$json":1}`), str(`{"$json":{"$json":null}}`), str(`{"$json":1,"x":2}`), str(`{"\u0024json":1}`), str(`{"$jsonx":1}`), str(`{}`), null}},
	{"uuid", uuidType, []*structpb.Value{str("7d9f2a4e-8f1b-4c57-9d56-0a1b2c3d4e5f"), null}},
	{"interval", intervalType, []*structpb.Value{str("P1Y2M3DT4H5M6.789S"), str("P0Y"), str("P-1Y-2M3DT-4H-5M-6.500S"), null}},
	{"proto", protoType, []*structpb.Value{str("CAE="), null}},
	{"enum", enumType, []*structpb.Value{str("2"), null}},
	{"pg-numeric", pgNumericType, []*structpb.Value{str("1.50"), str("NaN"), str("123456789012345678901234567890123456789.000"), str("-0.00000000000000000001"), str("0.00"), null}},
	{"pg-jsonb", pgJSONBType, []*structpb.Value{str(`{"a": 1, "bb": [1.00, 2]}`), str(`null`), str(`{"$json": 1}`), null}},
	{"pg-oid", pgOIDType, []*structpb.Value{str("16384"), null}},
	{"array-int64", arrayOf(int64Type), []*structpb.Value{
		list(), list(str("1")), list(str("1"), null, str("9223372036854775807")), null}},
	{"array-string", arrayOf(stringType), []*structpb.Value{list(str(""), null, str(`a,"b"`), str("東京")), null}},
	{"array-float64", arrayOf(float64Type), []*structpb.Value{list(num(1.5), str("NaN"), null), null}},
	{"array-json", arrayOf(jsonType), []*structpb.Value{list(str("null"), null, str(`{"a":1}`)), null}},
	{"array-timestamp", arrayOf(timestampType), []*structpb.Value{list(str("2026-01-31T23:59:59.123456789Z"), null), null}},
	{"array-numeric", arrayOf(numericType), []*structpb.Value{list(str("1.5"), null), null}},
	{"array-struct", arrayOf(structOf(field("id", int64Type), field("tags", arrayOf(stringType)))), []*structpb.Value{
		list(list(str("1"), list(str("a"), str("b"))), null, list(null, null)), list(), null}},
	{"struct", structOf(field("b", boolType), field("inner", structOf(field("d", dateType)))), []*structpb.Value{
		list(boolean(true), list(str("2026-01-31"))), list(null, null), null}},
}

// encodeAll returns the file that f makes of the rows, in chunks of at most
// chunk rows, each from an Encoder of its own.
func encodeAll(tb testing.TB, f format.Format, chunk int, rows ...[]wire.Value) []byte {
	tb.Helper()
	file := append([]byte(nil), f.Header()...)
	for len(rows) > 0 {
		n := min(chunk, len(rows))
		enc := f.NewEncoder()
		var plain []byte
		for _, row := range rows[:n] {
			var err error
			if plain, err = enc.AppendRow(plain, row); err != nil {
				tb.Fatal(err)
			}
		}
		sealed, err := enc.Seal(nil, plain, n)
		if err != nil {
			tb.Fatal(err)
		}
		file = append(file, sealed...)
		rows = rows[n:]
	}
	return file
}

// golden compares got with a file in testdata, or writes it with -update.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(got) {
		t.Errorf("%s differs:\n--- want\n%s\n--- got\n%s", path, want, got)
	}
}
