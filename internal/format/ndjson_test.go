package format_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/format"
	"spanbulk/internal/randtest"
	"spanbulk/internal/wire"
)

func newNDJSON(tb testing.TB, o format.ValueOptions, columns ...*spannerpb.StructType_Field) format.Format {
	tb.Helper()
	f, err := format.NewNDJSON(columns, o)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

func TestNDJSONGolden(t *testing.T) {
	for _, c := range typeCases {
		t.Run(c.name, func(t *testing.T) {
			f := newNDJSON(t, format.ValueOptions{}, field("v", c.typ))
			var rows [][]wire.Value
			for _, v := range c.values {
				rows = append(rows, encodeRow(t, v))
			}
			got := encodeAll(t, f, 2, rows...)
			for line := range bytes.Lines(got) {
				if !json.Valid(line) {
					t.Errorf("not JSON: %s", line)
				}
			}
			golden(t, "ndjson-"+c.name, got)
		})
	}
}

// TestNDJSONOptions shows the second form of the types that have two.
func TestNDJSONOptions(t *testing.T) {
	second := format.ValueOptions{Int64: "string", Numeric: "number", JSON: "string"}
	for _, c := range typeCases {
		switch c.name {
		case "int64", "enum", "numeric", "pg-numeric", "json", "pg-jsonb", "array-int64", "array-json", "array-numeric", "array-struct":
		default:
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			f := newNDJSON(t, second, field("v", c.typ))
			var rows [][]wire.Value
			for _, v := range c.values {
				rows = append(rows, encodeRow(t, v))
			}
			got := encodeAll(t, f, 100, rows...)
			for line := range bytes.Lines(got) {
				if !json.Valid(line) {
					t.Errorf("not JSON: %s", line)
				}
			}
			golden(t, "ndjson-options-"+c.name, got)
		})
	}
}

func TestNDJSONRow(t *testing.T) {
	f := newNDJSON(t, format.ValueOptions{},
		field("Id", int64Type), field(`odd "name"`, stringType), field("東", boolType), field("", dateType))
	got := encodeAll(t, f, 1, encodeRow(t, str("7"), str("x"), boolean(true), null))
	const want = `{"Id":7,"odd \"name\"":"x","東":true,"":null}` + "\n"
	if string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestNDJSONRefusesColumns(t *testing.T) {
	for _, c := range []struct {
		name    string
		columns []*spannerpb.StructType_Field
		want    string
	}{
		{"none", nil, "no columns"},
		{"repeated", []*spannerpb.StructType_Field{field("a", int64Type), field("a", boolType)}, `two columns named "a"`},
		{"repeated without a name", []*spannerpb.StructType_Field{field("", int64Type), field("", boolType)}, `two columns named ""`},
		{"repeated in a STRUCT", []*spannerpb.StructType_Field{
			field("s", arrayOf(structOf(field("x", int64Type), field("x", int64Type))))}, `column s: two columns named "x"`},
		{"no form", []*spannerpb.StructType_Field{field("t", scalar(spannerpb.TypeCode_TYPE_CODE_UNSPECIFIED))}, "column t: type TYPE_CODE_UNSPECIFIED"},
		{"name not UTF-8", []*spannerpb.StructType_Field{field("\xff", int64Type)}, "not valid UTF-8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := format.NewNDJSON(c.columns, format.ValueOptions{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v, want one with %q", err, c.want)
			}
		})
	}
}

// badValues are values that their type cannot have; every format refuses them
// and names the column.
var badValues = []struct {
	name  string
	typ   *spannerpb.Type
	value wire.Value
	want  string
}{
	{"text not UTF-8", stringType, wire.AppendString(nil, "caf\xe9 \x80"), "column v (STRING): text is not valid UTF-8"},
	{"text not UTF-8 beside an escape", stringType, wire.AppendString(nil, "\"\xe9\""), "column v (STRING): text is not valid UTF-8"},
	{"JSON not UTF-8", jsonType, wire.AppendString(nil, "\"\xe9\""), "column v (JSON): text is not valid UTF-8"},
	{"integer with a fraction", int64Type, wire.AppendString(nil, "1.5"), "column v (INT64): text is not a decimal integer"},
	{"integer empty", int64Type, wire.AppendString(nil, ""), "not a decimal integer"},
	{"integer as a number", int64Type, wire.AppendNumber(nil, 1), "column v (INT64): value came as number_value"},
	{"text as a bool", stringType, wire.AppendBool(nil, true), "value came as bool_value"},
	{"bool as text", boolType, wire.AppendString(nil, "true"), "value came as string_value"},
	{"float by another name", float64Type, wire.AppendString(nil, "Inf"), "none of NaN, Infinity, -Infinity"},
	{"float too large", float32Type, wire.AppendNumber(nil, 3.5e38), "column v (FLOAT32): number does not fit FLOAT32"},
	{"array as text", arrayOf(int64Type), wire.AppendString(nil, "[]"), "column v (ARRAY<INT64>): value came as string_value"},
	{"array torn", arrayOf(int64Type), wire.AppendList(nil, []byte{10, 50, 1}), "malformed list"},
	{"array element", arrayOf(int64Type), wire.AppendList(nil, wire.AppendElement(nil, wire.AppendString(nil, "x"))), "column v (ARRAY<INT64>): text is not a decimal integer"},
	{"struct short", structOf(field("a", int64Type)), wire.AppendList(nil, nil), "not as many values"},
	{"struct long", structOf(field("a", int64Type)), wire.AppendList(nil, wire.AppendElement(wire.AppendElement(nil, wire.AppendNull(nil)), wire.AppendNull(nil))), "not as many values"},
	{"no value", stringType, nil, "not a well-formed google.protobuf.Value"},
	{"torn value", stringType, wire.Value{0x1a, 9, 'x'}, "not a well-formed google.protobuf.Value"},
}

func TestNDJSONRefusesValues(t *testing.T) {
	for _, c := range badValues {
		t.Run(c.name, func(t *testing.T) {
			testRefusal(t, newNDJSON(t, format.ValueOptions{}, field("v", c.typ)), c.value, c.want)
		})
	}
	f := newNDJSON(t, format.ValueOptions{Numeric: "number"}, field("v", numericType))
	for _, text := range []string{"", "1.", ".5", "+1", "01", "1e", "1e+", "0x1", "Infinity", "1 "} {
		testRefusal(t, f, wire.AppendString(nil, text), "column v (NUMERIC): text is not a decimal number")
	}
}

func testRefusal(t *testing.T, f format.Format, v wire.Value, want string) {
	t.Helper()
	enc := f.NewEncoder()
	out, err := enc.AppendRow([]byte("before"), []wire.Value{v})
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%q: got error %v, want one with %q", v, err, want)
	}
	if string(out) != "before" {
		t.Errorf("the buffer was left as %q", out)
	}
}

func TestNDJSONRowLength(t *testing.T) {
	f := newNDJSON(t, format.ValueOptions{}, field("a", int64Type))
	if _, err := f.NewEncoder().AppendRow(nil, nil); err == nil {
		t.Error("a row without values was taken")
	}
}

func TestNDJSONOneLineEach(t *testing.T) {
	f := newNDJSON(t, format.ValueOptions{}, field("v", jsonType))
	got := encodeAll(t, f, 1, encodeRow(t, str("{\n  \"a\": [1,\n2]\n}")), encodeRow(t, str(" null\n")))
	const want = "{\"v\":{   \"a\": [1, 2] }}\n{\"v\":{\"$json\": null }}\n"
	if string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// FuzzJSONString holds string escaping against encoding/json: what it reads
// back is the text, and only text that is not UTF-8 is refused.
func FuzzJSONString(f *testing.F) {
	for _, s := range []string{"", "plain text of some length", "\"", "a\\b", "1234567\n", "12345678\x1f", "é\u2028", "\xff", "12345678\xc3", "\x7f<>&"} {
		f.Add(s)
	}
	fm := newNDJSON(f, format.ValueOptions{}, field("v", stringType))
	f.Fuzz(func(t *testing.T, s string) {
		line, err := fm.NewEncoder().AppendRow(nil, []wire.Value{wire.AppendString(nil, s)})
		if !utf8.ValidString(s) {
			if err == nil {
				t.Fatalf("%q was taken", s)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ V string }
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if got.V != s {
			t.Fatalf("%q came back as %q", s, got.V)
		}
		if bytes.Count(line, []byte("\n")) != 1 {
			t.Fatalf("%q is not one line", line)
		}
	})
}

// FuzzFloat holds floats against encoding/json, whose form is the same.
func FuzzFloat(f *testing.F) {
	for _, v := range []float64{0, 1, 0.1, 19.99, 1e-6, 999999999.999999, 1e9, 1e15, 1e21, -2.5, 1e-9, 123456.7891234, 5e-324} {
		f.Add(math.Float64bits(v))
	}
	double := newNDJSON(f, format.ValueOptions{}, field("v", float64Type)).NewEncoder()
	single := newNDJSON(f, format.ValueOptions{}, field("v", float32Type)).NewEncoder()
	f.Fuzz(func(t *testing.T, bits uint64) {
		checkFloat(t, double, math.Float64frombits(bits), math.Float64frombits(bits))
		f := math.Float32frombits(uint32(bits))
		checkFloat(t, single, float64(f), f)
	})
}

func checkFloat(t *testing.T, enc format.Encoder, f float64, want any) {
	t.Helper()
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return
	}
	line, err := enc.AppendRow(nil, []wire.Value{wire.AppendNumber(nil, f)})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(line); got != `{"v":`+string(text)+"}\n" {
		t.Fatalf("%v: got %s, want %s", f, got, text)
	}
}

// TestShortDecimals tries the decimals that take the fast way, and their
// neighbours that must not.
func TestShortDecimals(t *testing.T) {
	rng := randtest.New(t)
	enc := newNDJSON(t, format.ValueOptions{}, field("v", float64Type)).NewEncoder()
	for range 20000 {
		text := strconv.FormatInt(rng.Int64N(2e9)-1e9, 10) + "." + strconv.Itoa(rng.IntN(1e7))
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range []float64{f, math.Nextafter(f, 0), math.Nextafter(f, 2e9), f / 1e5} {
			checkFloat(t, enc, f, f)
		}
	}
}

// TestNDJSONReadBack writes random rows of every type and reads them with
// encoding/json, without losing a digit.
func TestNDJSONReadBack(t *testing.T) {
	rng := randtest.New(t)
	var columns []*spannerpb.StructType_Field
	for _, c := range typeCases {
		columns = append(columns, field(c.name, c.typ))
	}
	f := newNDJSON(t, format.ValueOptions{}, columns...)
	var rows [][]wire.Value
	var want []map[string]any
	for range 200 {
		row, record := make([]*structpb.Value, len(columns)), map[string]any{}
		for i, c := range typeCases {
			row[i] = c.values[rng.IntN(len(c.values))]
			record[c.name] = plainJSON(c.typ, row[i])
		}
		rows, want = append(rows, encodeRow(t, row...)), append(want, record)
	}
	dec := json.NewDecoder(bytes.NewReader(encodeAll(t, f, 7, rows...)))
	dec.UseNumber()
	for i := range want {
		var got map[string]any
		if err := dec.Decode(&got); err != nil {
			t.Fatal(err)
		}
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(want[i])
		if string(a) != string(b) {
			t.Fatalf("row %d:\ngot  %s\nwant %s", i, a, b)
		}
	}
}

// plainJSON says, in encoding/json's terms, what the record of v must read as.
func plainJSON(t *spannerpb.Type, v *structpb.Value) any {
	if _, ok := v.GetKind().(*structpb.Value_NullValue); ok {
		return nil
	}
	switch t.GetCode() {
	case spannerpb.TypeCode_BOOL:
		return v.GetBoolValue()
	case spannerpb.TypeCode_INT64, spannerpb.TypeCode_ENUM:
		return json.Number(v.GetStringValue())
	case spannerpb.TypeCode_FLOAT32, spannerpb.TypeCode_FLOAT64:
		f, ok := v.GetKind().(*structpb.Value_NumberValue)
		switch {
		case !ok:
			return v.GetStringValue()
		case math.IsNaN(f.NumberValue):
			return "NaN"
		case math.IsInf(f.NumberValue, -1):
			return "-Infinity"
		case t.GetCode() == spannerpb.TypeCode_FLOAT32:
			return float32(f.NumberValue)
		default:
			return f.NumberValue
		}
	case spannerpb.TypeCode_JSON:
		dec := json.NewDecoder(strings.NewReader(v.GetStringValue()))
		dec.UseNumber()
		var out any
		if err := dec.Decode(&out); err != nil {
			panic(err)
		}
		if object, ok := out.(map[string]any); out == nil || ok && len(object) == 1 && object["$json"] != nil {
			return map[string]any{"$json": out}
		}
		return out
	case spannerpb.TypeCode_ARRAY:
		out := []any{}
		for _, e := range v.GetListValue().GetValues() {
			out = append(out, plainJSON(t.GetArrayElementType(), e))
		}
		return out
	case spannerpb.TypeCode_STRUCT:
		out := map[string]any{}
		for i, e := range v.GetListValue().GetValues() {
			f := t.GetStructType().GetFields()[i]
			out[f.GetName()] = plainJSON(f.GetType(), e)
		}
		return out
	default:
		return v.GetStringValue()
	}
}
