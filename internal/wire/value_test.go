package wire_test

import (
	"math"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/randtest"
	"spanbulk/internal/wire"
)

func TestParse(t *testing.T) {
	long := make([]byte, 300)
	for i := range long {
		long[i] = 'x'
	}
	tests := []struct {
		name    string
		bytes   wire.Value
		kind    wire.Kind
		payload string
	}{
		{"null", encode(t, structpb.NewNullValue()), wire.Null, ""},
		{"string", encode(t, str("abc")), wire.String, "abc"},
		{"empty string", encode(t, str("")), wire.String, ""},
		{"long string", encode(t, str(string(long))), wire.String, string(long)},
		{"bool", encode(t, structpb.NewBoolValue(true)), wire.Bool, "\x01"},
		{"list", encode(t, list(str("a"))), wire.ListKind, "\x0a\x03\x1a\x01a"},
		{"struct", encode(t, structpb.NewStructValue(&structpb.Struct{})), wire.StructKind, ""},
		{"unknown field before", append(wire.Value{0x78, 0x01}, encode(t, str("abc"))...), wire.String, "abc"},
		{"last member wins", append(encode(t, structpb.NewBoolValue(true)), encode(t, str("abc"))...), wire.String, "abc"},
		{"length in more bytes than needed", wire.Value{0x1a, 0x81, 0x00, 'a'}, wire.String, "a"},
		{"bool in more bytes than needed", wire.Value{0x20, 0x81, 0x00}, wire.Bool, "\x81\x00"},
		{"empty message", nil, wire.Invalid, ""},
		{"one byte", wire.Value{0x1a}, wire.Invalid, ""},
		{"string cut short", wire.Value{0x1a, 0x05, 'a'}, wire.Invalid, ""},
		{"number cut short", wire.Value{0x11, 0x00, 0x00}, wire.Invalid, ""},
		{"unknown field only", wire.Value{0x78, 0x01}, wire.Invalid, ""},
		{"string field as a varint", wire.Value{0x18, 0x01}, wire.Invalid, ""},
		{"huge length", wire.Value{0x1a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, wire.Invalid, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			kind, payload := tt.bytes.Parse()
			if kind != tt.kind || string(payload) != tt.payload {
				t.Errorf("Parse() = %v, %q; want %v, %q", kind, payload, tt.kind, tt.payload)
			}
		})
	}
}

func TestParseNumberAndBool(t *testing.T) {
	for _, f := range []float64{0, math.Copysign(0, -1), 1.5, math.Inf(1), math.MaxFloat64, math.SmallestNonzeroFloat64} {
		kind, payload := encode(t, structpb.NewNumberValue(f)).Parse()
		if got := wire.Float64(payload); kind != wire.Number || math.Float64bits(got) != math.Float64bits(f) {
			t.Errorf("number %v parsed as %v %v", f, kind, got)
		}
	}
	for _, b := range []bool{true, false} {
		kind, payload := encode(t, structpb.NewBoolValue(b)).Parse()
		if kind != wire.Bool || wire.Truth(payload) != b {
			t.Errorf("bool %v parsed as %v %v", b, kind, wire.Truth(payload))
		}
	}
}

// appendValue writes v with the package's own functions.
func appendValue(dst []byte, v *structpb.Value) []byte {
	switch k := v.GetKind().(type) {
	case *structpb.Value_NullValue:
		return wire.AppendNull(dst)
	case *structpb.Value_NumberValue:
		return wire.AppendNumber(dst, k.NumberValue)
	case *structpb.Value_BoolValue:
		return wire.AppendBool(dst, k.BoolValue)
	case *structpb.Value_StringValue:
		return wire.AppendString(dst, k.StringValue)
	default:
		var elements []byte
		for _, e := range v.GetListValue().GetValues() {
			elements = wire.AppendElement(elements, appendValue(nil, e))
		}
		return wire.AppendList(dst, elements)
	}
}

func TestAppendIsTheInverseOfParse(t *testing.T) {
	r := randtest.New(t)
	for range randtest.Rounds(1000) {
		want := randomValue(r, 3)
		if got := decode(appendValue(nil, want)); !proto.Equal(got, want) {
			t.Fatalf("wrote %v, read %v", want, got)
		}
	}
}

func TestListEndsAtMalformedElement(t *testing.T) {
	good := wire.AppendElement(nil, wire.AppendBool(nil, true))
	for name, tail := range map[string][]byte{
		"element cut short": {0x0a, 0x05, 0x20},
		"length cut short":  {0x0a, 0xff},
		"no field":          {0xff},
	} {
		l := wire.List(append(good[:len(good):len(good)], tail...))
		_, l, ok := l.Next()
		if !ok {
			t.Fatalf("%s: the first element was not read", name)
		}
		if _, rest, ok := l.Next(); ok || rest.Done() {
			t.Errorf("%s: Next() = %v, Done() = %v; want neither", name, ok, rest.Done())
		}
	}
}

// FuzzParse holds Parse against the protobuf library: what that takes, Parse
// must take with the same meaning, and nothing may panic.
func FuzzParse(f *testing.F) {
	f.Add([]byte(encode(f, str("abc"))))
	f.Add([]byte(encode(f, list(str("a"), structpb.NewNumberValue(1)))))
	f.Add([]byte{0x1a, 0x81, 0x00, 'a'})
	f.Fuzz(func(t *testing.T, b []byte) {
		kind, payload := wire.Value(b).Parse()
		for l := wire.List(payload); kind == wire.ListKind; {
			_, rest, ok := l.Next()
			if !ok {
				break
			}
			l = rest
		}
		v := new(structpb.Value)
		if proto.Unmarshal(b, v) != nil {
			return
		}
		switch k := v.GetKind().(type) {
		case nil:
			if kind != wire.Invalid {
				t.Errorf("%x has no kind but parsed as %v", b, kind)
			}
		case *structpb.Value_StringValue:
			if kind != wire.String || string(payload) != k.StringValue {
				t.Errorf("%x parsed as %v %q, want %q", b, kind, payload, k.StringValue)
			}
		case *structpb.Value_BoolValue:
			if kind != wire.Bool || wire.Truth(payload) != k.BoolValue {
				t.Errorf("%x parsed as %v, want bool %v", b, kind, k.BoolValue)
			}
		case *structpb.Value_NumberValue:
			if kind != wire.Number || math.Float64bits(wire.Float64(payload)) != math.Float64bits(k.NumberValue) {
				t.Errorf("%x parsed as %v, want number %v", b, kind, k.NumberValue)
			}
		}
	})
}
