package value_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/emulator/value"
)

func wire(t testing.TB, v *structpb.Value) []byte {
	t.Helper()
	b, err := proto.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func text(s string) *structpb.Value { return structpb.NewStringValue(s) }

// outcome is what becomes of a value: its canonical form or an error.
type outcome struct {
	value      *structpb.Value
	outOfRange bool
}

var (
	misfit     = outcome{}
	outOfRange = outcome{outOfRange: true}
)

func is(v *structpb.Value) outcome { return outcome{value: v} }

func TestConformanceValues(t *testing.T) {
	num := structpb.NewNumberValue
	list := func(v ...*structpb.Value) *structpb.Value {
		return structpb.NewListValue(&structpb.ListValue{Values: v})
	}
	null := structpb.NewNullValue()
	enum := &value.Type{Code: value.EnumCode, ProtoName: "a.B"}
	for _, c := range []struct {
		id   string // line of the conformance list
		typ  *value.Type
		in   *structpb.Value
		want outcome
	}{
		{"G01", value.Int64Type, num(1), misfit},
		{"", value.Int64Type, text("-9223372036854775808"), is(text("-9223372036854775808"))},
		{"", value.Int64Type, text("9223372036854775808"), misfit},
		{"", value.Int64Type, text("007"), is(text("7"))},
		{"", value.Int64Type, text("-0"), is(text("0"))},
		{"", value.Int64Type, text(""), misfit},
		{"", value.Int64Type, text("1.0"), misfit},
		{"", value.Int64Type, null, is(null)},
		{"", value.BoolType, structpb.NewBoolValue(true), is(structpb.NewBoolValue(true))},
		{"", value.BoolType, text("true"), misfit},
		{"G02", value.Float64Type, num(math.NaN()), is(text("NaN"))},
		{"G02", value.Float64Type, num(math.Inf(1)), is(text("Infinity"))},
		{"G02", value.Float64Type, num(math.Inf(-1)), is(text("-Infinity"))},
		{"", value.Float64Type, text("NaN"), is(text("NaN"))},
		{"", value.Float64Type, text("1.5"), misfit},
		{"G03", value.Float32Type, num(4e38), misfit},
		{"", value.Float32Type, num(3.14), is(num(3.140000104904175))},
		{"G04", value.TimestampType, text("2015-01-02T03:04:05"), misfit},
		{"G04", value.TimestampType, text("Mar 16 2015 00:00:00"), misfit},
		{"", value.TimestampType, text("2015-01-02T03:04:05+01:00"), misfit},
		{"G05", value.TimestampType, text("2015-01-02T03:04:05.000000067Z"), is(text("2015-01-02T03:04:05.000000067Z"))},
		{"", value.TimestampType, text("2015-01-02T03:04:05.1200Z"), is(text("2015-01-02T03:04:05.12Z"))},
		{"", value.TimestampType, text("2015-01-02T03:04:05.000Z"), is(text("2015-01-02T03:04:05Z"))},
		{"", value.TimestampType, text("0001-01-01T00:00:00Z"), is(text("0001-01-01T00:00:00Z"))},
		{"", value.TimestampType, text("9999-12-31T23:59:59.999999999Z"), is(text("9999-12-31T23:59:59.999999999Z"))},
		{"", value.TimestampType, text("0000-12-31T23:59:59Z"), outOfRange},
		{"", value.TimestampType, text("2015-02-29T00:00:00Z"), misfit},
		{"G06", value.DateType, text("0000-01-02"), outOfRange},
		{"G06", value.DateType, text("10000-12-31"), outOfRange},
		{"", value.DateType, text("2024-2-9"), is(text("2024-02-09"))},
		{"", value.DateType, text("2023-02-29"), misfit},
		{"", value.DateType, text("2000-02-29"), is(text("2000-02-29"))},
		{"G07", value.BytesType, text(";;Z"), misfit},
		{"", value.BytesType, text("AQ=="), is(text("AQ=="))},
		{"", value.BytesType, text("AQ"), is(text("AQ=="))},
		{"", value.BytesType, text("_-8="), misfit},
		{"", value.BytesType, text("AAAA\nAAAA"), misfit},
		{"", value.BytesType, text(""), is(text(""))},
		{"G08", value.NumericType, text("0.0000000001"), misfit},
		{"G08", value.NumericType, text(strings.Repeat("9", 30)), misfit},
		{"G08", value.NumericType, text("9252.a53"), misfit},
		{"", value.NumericType, num(1), misfit},
		{"G09", value.NumericType, text("987.234e-3"), is(text("0.987234"))},
		{"", value.NumericType, text("1.000000000"), is(text("1"))},
		{"", value.NumericType, text("-0"), is(text("0"))},
		{"", value.NumericType, text("+12e2"), is(text("1200"))},
		{"", value.NumericType, text("-99999999999999999999999999999.999999999"), is(text("-99999999999999999999999999999.999999999"))},
		{"", value.NumericType, text("1e999999"), misfit},
		{"", value.NumericType, text("."), misfit},
		{"G11", value.JSONType, text(`{"key":invalid}`), misfit},
		{"G11", value.JSONType, text(`text`), misfit},
		{"", value.JSONType, num(1), misfit},
		{"", value.JSONType, text(` { "b" : 1 , "a" : [ 1 , null ] } `), is(text(`{"a":[1,null],"b":1}`))},
		{"", value.JSONType, text(`{"a":1,"a":2}`), is(text(`{"a":1}`))},
		{"", value.JSONType, text(`{"b":{"z":1,"y":2},"a":"\u00e9\u0001"}`), is(text(`{"a":"é\u0001","b":{"y":2,"z":1}}`))},
		{"G13", value.JSONType, text(`[145688415796432520,0.39240506000000003]`), is(text(`[145688415796432520,0.39240506000000003]`))},
		{"", value.JSONType, text(`18446744073709551615`), is(text(`18446744073709551615`))},
		{"", value.JSONType, text(`0.1234567890123456789`), misfit},
		{"", value.JSONType, text(`null`), is(text(`null`))},
		{"", value.JSONType, text(strings.Repeat("[", 81) + strings.Repeat("]", 81)), is(text(strings.Repeat("[", 81) + strings.Repeat("]", 81)))},
		{"", value.JSONType, text(strings.Repeat("[", 82) + strings.Repeat("]", 82)), misfit},
		{"G14", value.ArrayOf(value.Int64Type), list(), is(list())},
		{"G14", value.ArrayOf(value.Int64Type), null, is(null)},
		{"", value.ArrayOf(value.Int64Type), list(text("01"), null), is(list(text("1"), null))},
		{"", value.ArrayOf(value.Int64Type), text("1"), misfit},
		{"", value.ArrayOf(value.Int64Type), list(num(1)), misfit},
		{"G15", value.IntervalType, text("P0Y0M"), is(text("P0Y"))},
		{"G15", value.IntervalType, text("P-10000Y-3660000DT-87840000H"), is(text("P-10000Y-3660000DT-87840000H"))},
		{"G15", value.IntervalType, text("P10000Y3660000DT87840000H"), is(text("P10000Y3660000DT87840000H"))},
		{"", value.IntervalType, text("P1Y2M3DT4H5M6.789S"), is(text("P1Y2M3DT4H5M6.789S"))},
		{"", value.IntervalType, text("P10001Y"), misfit},
		{"G16", value.UUIDType, text("9D4F7C7E-0B1A-4C39-A6A1-6E6F0F1B2C3D"), is(text("9d4f7c7e-0b1a-4c39-a6a1-6e6f0f1b2c3d"))},
		{"", value.UUIDType, text("9d4f7c7e0b1a4c39a6a16e6f0f1b2c3d"), misfit},
		{"G17", enum, text("NAME"), misfit},
		{"G17", enum, text("1"), is(text("1"))},
		{"", value.StringType, text(""), is(text(""))},
		{"", value.StringType, num(1), misfit},
	} {
		name := c.id
		if name == "" {
			name = "unlisted/" + c.typ.String()
		}
		t.Run(name, func(t *testing.T) {
			in := wire(t, c.in)
			before := bytes.Clone(in)
			out, err := value.Canonical([]byte("prefix"), c.typ, in)
			if !bytes.Equal(in, before) {
				t.Errorf("the input was changed")
			}
			var e *value.Error
			if err != nil && !errors.As(err, &e) {
				t.Fatalf("error %v is no value.Error", err)
			}
			if c.want.value == nil {
				if err == nil || e.OutOfRange != c.want.outOfRange {
					t.Fatalf("%v: got %q, error %v", c.in, out, err)
				}
				return
			}
			if err != nil {
				t.Fatalf("%v: %v", c.in, err)
			}
			var got structpb.Value
			if err := proto.Unmarshal(bytes.TrimPrefix(out, []byte("prefix")), &got); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want.value, &got, protocmp.Transform()); d != "" {
				t.Fatalf("%v: (-want +got)\n%s", c.in, d)
			}
		})
	}
}

func TestConformanceSplit(t *testing.T) {
	list := func(v ...*structpb.Value) *structpb.Value {
		return structpb.NewListValue(&structpb.ListValue{Values: v})
	}
	for _, c := range []struct {
		id   string // line of the conformance list
		in   *structpb.Value
		room int
		want []*structpb.Value
	}{
		{"G18", text("abcdefghijklmnopqrstuvwxyz"), 18, []*structpb.Value{text("abcdefghijklmnopqr"), text("stuvwxyz")}},
		{"G19", list(list(text("ab")), list(text("cd"))), 2, []*structpb.Value{list(list(text("ab"))), list(list(), list(text("cd")))}},
	} {
		t.Run(c.id, func(t *testing.T) {
			for rest := wire(t, c.in); rest != nil; {
				var head []byte
				head, rest = value.SplitWire(rest, c.room)
				var got structpb.Value
				if err := proto.Unmarshal(head, &got); err != nil || len(c.want) == 0 {
					t.Fatalf("a part too many, or malformed: %v", err)
				}
				if d := cmp.Diff(c.want[0], &got, protocmp.Transform()); d != "" {
					t.Errorf("(-want +got)\n%s", d)
				}
				c.want = c.want[1:]
			}
			if len(c.want) > 0 {
				t.Errorf("%d parts are missing", len(c.want))
			}
		})
	}
}

func TestInvalidUTF8IsOutOfRange(t *testing.T) {
	_, err := value.Canonical(nil, value.StringType, []byte{0x1a, 2, 0xff, 0xfe})
	var e *value.Error
	if !errors.As(err, &e) || !e.OutOfRange {
		t.Fatalf("error %v", err)
	}
}

// ascending lists values of each type in the order that keys sort in.
func ascending() map[string][]value.Value {
	ts := func(s string) value.Value { v, _ := value.ParseTimestamp(s); return v }
	num := func(s string) value.Value { v, _ := value.ParseNumeric(s); return v }
	return map[string][]value.Value{
		"BOOL":  {value.Null(value.BoolType), value.Bool(false), value.Bool(true)},
		"INT64": {value.Null(value.Int64Type), value.Int64(math.MinInt64), value.Int64(-1), value.Int64(0), value.Int64(255), value.Int64(256), value.Int64(math.MaxInt64)},
		"FLOAT64": {value.Null(value.Float64Type), value.Float64(math.NaN()), value.Float64(math.Inf(-1)), value.Float64(-1e300), value.Float64(-1e-300),
			value.Float64(0), value.Float64(1e-300), value.Float64(2), value.Float64(math.Inf(1))},
		"STRING":    {value.Null(value.StringType), value.String(""), value.String("\x00"), value.String("\x00\x00"), value.String("\x00a"), value.String("\x01"), value.String("a"), value.String("a\x00"), value.String("a\x00b"), value.String("aa"), value.String("ä")},
		"BYTES":     {value.Null(value.BytesType), value.Bytes(""), value.Bytes("\x00"), value.Bytes("\x00\xff"), value.Bytes("\x01"), value.Bytes("\xff"), value.Bytes("\xff\x00"), value.Bytes("\xff\xff")},
		"DATE":      {value.Null(value.DateType), value.Date(-719162), value.Date(-1), value.Date(0), value.Date(2932896)},
		"TIMESTAMP": {value.Null(value.TimestampType), ts("0001-01-01T00:00:00Z"), ts("1969-12-31T23:59:59.5Z"), ts("1970-01-01T00:00:00Z"), ts("1970-01-01T00:00:00.000000001Z"), ts("9999-12-31T23:59:59.999999999Z")},
		"NUMERIC":   {value.Null(value.NumericType), num("-99999999999999999999999999999.999999999"), num("-1.23"), num("-0.000000001"), num("0"), num("0.000000001"), num("1.23"), num("99999999999999999999999999999.999999999")},
		"UUID":      {value.Null(value.UUIDType), value.UUID("00000000-0000-0000-0000-000000000000"), value.UUID("9d4f7c7e-0b1a-4c39-a6a1-6e6f0f1b2c3d"), value.UUID("ffffffff-ffff-ffff-ffff-ffffffffffff")},
	}
}

func TestKeysSortAsValuesDo(t *testing.T) {
	for name, values := range ascending() {
		t.Run(name, func(t *testing.T) {
			for i, a := range values {
				for j, b := range values {
					want := 0
					if i != j {
						want = (i - j) / max(i-j, j-i)
					}
					if got := value.Compare(a, b); got != want {
						t.Errorf("Compare(#%d, #%d) = %d", i, j, got)
					}
					suffix := []byte{byte(rand.N(256))}
					ka := append(value.AppendKeyValue(nil, a, value.KeyOrder{}), suffix...)
					kb := append(value.AppendKeyValue(nil, b, value.KeyOrder{}), suffix...)
					if got := bytes.Compare(ka, kb); got != want {
						t.Errorf("keys of #%d and #%d compare %d ascending", i, j, got)
					}
					ka, kb = value.AppendKeyValue(nil, a, value.KeyOrder{Desc: true}), value.AppendKeyValue(nil, b, value.KeyOrder{Desc: true})
					if got := bytes.Compare(ka, kb); got != -want {
						t.Errorf("keys of #%d and #%d compare %d descending", i, j, got)
					}
				}
			}
		})
	}
	negZero := value.AppendKeyValue(nil, value.Float64(math.Copysign(0, -1)), value.KeyOrder{})
	if !bytes.Equal(negZero, value.AppendKeyValue(nil, value.Float64(0), value.KeyOrder{})) {
		t.Error("-0 and 0 have different keys")
	}
}

func TestPrefixEnd(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""}, {"\xff\xff", ""}, {"a", "b"}, {"a\xff", "b"}, {"a\x00", "a\x01"},
	} {
		if got := value.PrefixEnd([]byte(c.in)); string(got) != c.want {
			t.Errorf("PrefixEnd(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestTypeProtoRoundTrip(t *testing.T) {
	typ := value.ArrayOf(value.StructOf(value.Field{Name: "a", Type: value.Int64Type}, value.Field{Type: value.ArrayOf(value.StringType)}))
	if got := value.TypeFromProto(typ.Proto()); !got.Equal(typ) {
		t.Errorf("got %s, want %s", got, typ)
	}
	if got := typ.String(); got != "ARRAY<STRUCT<a INT64, ARRAY<STRING>>>" {
		t.Errorf("spelled %s", got)
	}
	if got := value.TypeFromProto(&spannerpb.Type{Code: spannerpb.TypeCode_ARRAY}); got != nil {
		t.Errorf("incomplete array is %s", got)
	}
}

func TestRowCells(t *testing.T) {
	long := strings.Repeat("x", 300)
	row := value.Row{}.AppendValue(value.Int64(7)).AppendNull().AppendValue(value.String(long))
	var prs spannerpb.PartialResultSet
	if err := proto.Unmarshal(row, &prs); err != nil {
		t.Fatal(err)
	}
	want := []*structpb.Value{text("7"), structpb.NewNullValue(), text(long)}
	if d := cmp.Diff(want, prs.GetValues(), protocmp.Transform()); d != "" {
		t.Errorf("as PartialResultSet (-want +got)\n%s", d)
	}
	if row.Len() != 3 || !value.IsNullWire(row.Cell(1)) || !value.IsNullWire(row.Cell(9)) {
		t.Errorf("%d cells", row.Len())
	}
}

// merge joins chunks as a client does (result_set.proto, chunked_value).
func merge(a, b *structpb.Value) *structpb.Value {
	if _, ok := a.GetKind().(*structpb.Value_StringValue); ok {
		return text(a.GetStringValue() + b.GetStringValue())
	}
	left, right := a.GetListValue().GetValues(), b.GetListValue().GetValues()
	if len(left) > 0 && len(right) > 0 {
		last, first := left[len(left)-1], right[0]
		_, bothText := last.GetKind().(*structpb.Value_StringValue)
		_, text2 := first.GetKind().(*structpb.Value_StringValue)
		if bothText && text2 || last.GetListValue() != nil && first.GetListValue() != nil {
			left, right = append(left[:len(left)-1:len(left)-1], merge(last, first)), right[1:]
		}
	}
	return structpb.NewListValue(&structpb.ListValue{Values: append(left[:len(left):len(left)], right...)})
}

func randomValue(r *rand.Rand, depth int) *structpb.Value {
	switch n := r.IntN(8); {
	case n < 3:
		return text(strings.Repeat([]string{"a", "é", "日", "😀"}[r.IntN(4)], r.IntN(5)))
	case n == 3:
		return structpb.NewNullValue()
	case n == 4:
		return structpb.NewNumberValue(r.Float64())
	case n == 5:
		return structpb.NewBoolValue(true)
	case depth > 3:
		return text("leaf")
	}
	l := &structpb.ListValue{}
	for range r.IntN(5) {
		l.Values = append(l.Values, randomValue(r, depth+1))
	}
	return structpb.NewListValue(l)
}

func TestSplitAndMerge(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 3000 {
		want := randomValue(r, 0)
		room := 1 + r.IntN(12)
		rest := wire(t, want)
		var got *structpb.Value
		for pieces := 0; rest != nil; pieces++ {
			if pieces > 2000 {
				t.Fatalf("splitting %v by %d makes no progress", want, room)
			}
			var head []byte
			head, rest = value.SplitWire(rest, room)
			var v structpb.Value
			if err := proto.Unmarshal(head, &v); err != nil {
				t.Fatalf("piece of %v: %v", want, err)
			}
			if got == nil {
				got = &v
			} else {
				got = merge(got, &v)
			}
		}
		if !proto.Equal(got, want) {
			t.Fatalf("split by %d and merged:\n got %v\nwant %v", room, got, want)
		}
	}
}

func FuzzCanonical(f *testing.F) {
	types := []*value.Type{value.BoolType, value.Int64Type, value.Float64Type, value.Float32Type, value.NumericType, value.StringType, value.BytesType,
		value.TimestampType, value.DateType, value.JSONType, value.UUIDType, value.IntervalType, value.ArrayOf(value.StringType), value.ArrayOf(value.NumericType)}
	f.Add(uint8(1), []byte("\x1a\x011"))
	f.Add(uint8(7), []byte("\x1a\x142015-01-02T03:04:05Z"))
	f.Add(uint8(12), []byte("\x32\x05\x0a\x03\x1a\x01a"))
	f.Fuzz(func(t *testing.T, i uint8, in []byte) {
		typ := types[int(i)%len(types)]
		out, err := value.Canonical(nil, typ, in)
		if err != nil {
			return
		}
		again, err := value.Canonical(nil, typ, out)
		if err != nil || !bytes.Equal(out, again) {
			t.Fatalf("%s: canonical %q becomes %q, error %v", typ, out, again, err)
		}
		v, err := value.FromWire(typ, out)
		if err != nil || !bytes.Equal(v.AppendWire(nil), out) {
			t.Fatalf("%s: %q decodes to what encodes as %q, error %v", typ, out, v.AppendWire(nil), err)
		}
		value.AppendKey(nil, typ, out, value.KeyOrder{Desc: true})
	})
}

func FuzzJSON(f *testing.F) {
	f.Add(`{"b":1,"a":[1.5,"\u00e9",null]}`)
	f.Add(`"\ud800"`)
	f.Fuzz(func(t *testing.T, in string) {
		v, ok := value.ParseJSON(in)
		if !ok {
			return
		}
		if !utf8.ValidString(v.AsString()) || !json.Valid([]byte(v.AsString())) || !json.Valid([]byte(in)) {
			t.Fatalf("%q became %q", in, v.AsString())
		}
		again, ok := value.ParseJSON(v.AsString())
		if !ok || again.AsString() != v.AsString() {
			t.Fatalf("%q is not stable: %q", v.AsString(), again.AsString())
		}
	})
}

func BenchmarkCanonical(b *testing.B) {
	for _, c := range []struct {
		typ *value.Type
		in  string
	}{
		{value.Int64Type, "123456"}, {value.StringType, "a text of some words"}, {value.TimestampType, "2026-01-02T03:04:05.123456Z"},
		{value.NumericType, "12345.25"}, {value.BytesType, "c2l4dGVlbiBieXRlcyBvaw=="}, {value.JSONType, `{"a":1,"b":[true,null],"c":"text"}`},
	} {
		b.Run(c.typ.String(), func(b *testing.B) {
			in := wire(b, text(c.in))
			var out []byte
			for b.Loop() {
				var err error
				if out, err = value.Canonical(out[:0], c.typ, in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
