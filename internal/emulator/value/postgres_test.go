package value_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/emulator/value"
)

func wireText(s string) []byte {
	b, err := proto.Marshal(structpb.NewStringValue(s))
	if err != nil {
		panic(err)
	}
	return b
}

// What PostgreSQL's numeric and jsonb are when they come back; "" is a refusal.
func TestConformancePostgreSQLValues(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, c := range []struct {
		id   string
		typ  *value.Type
		sent string
		want string
	}{
		{"G10", value.PGNumericType, "NaN", "NaN"},
		{"G10nan", value.PGNumericType, "nan", "NaN"},
		{"zeros are kept", value.PGNumericType, "1.500", "1.500"},
		{"zero with a scale", value.PGNumericType, "-0.00", "0.00"},
		{"leading zeros", value.PGNumericType, "+007", "7"},
		{"no digit before the point", value.PGNumericType, "-.5", "-0.5"},
		{"no digit behind it", value.PGNumericType, "5.", "5"},
		{"exponent up", value.PGNumericType, "1.25e1", "12.5"},
		{"exponent past the digits", value.PGNumericType, "1.5E3", "1500"},
		{"exponent down", value.PGNumericType, "15e-3", "0.015"},
		{"as many digits as there may be", value.PGNumericType, strings.Repeat("9", 131072) + "." + strings.Repeat("1", 16383), strings.Repeat("9", 131072) + "." + strings.Repeat("1", 16383)},
		{"a digit more before", value.PGNumericType, "1" + strings.Repeat("0", 131072), ""},
		{"a digit more behind", value.PGNumericType, "0." + strings.Repeat("0", 16384), ""},
		{"too large an exponent", value.PGNumericType, "1e131072", ""},
		{"absurd exponent", value.PGNumericType, "1e999999", ""},
		{"Infinity", value.PGNumericType, "Infinity", ""},
		{"no number", value.PGNumericType, "1,5", ""},
		{"nothing", value.PGNumericType, "", ""},
		{"G12", value.PGJSONBType, `{"key":123}`, `{"key": 123}`},
		{"short names first", value.PGJSONBType, `{"bb":1,"a":2,"ab":3}`, `{"a": 2, "ab": 3, "bb": 1}`},
		{"last duplicate wins", value.PGJSONBType, `{"a":1,"b":0,"a":[2, {"x":null}]}`, `{"a": [2, {"x": null}], "b": 0}`},
		{"numbers keep zeros and lose exponents", value.PGJSONBType, `[1.50,1e2,-0,12345678901234567890123, 1.5e-3]`, `[1.50, 100, 0, 12345678901234567890123, 0.0015]`},
		{"text", value.PGJSONBType, `"\u00e9\/\n\u0001é"`, `"é/\n\u0001é"`},
		{"an escaped backslash before u0000", value.PGJSONBType, `"\\u0000"`, `"\\u0000"`},
		{"the character 0", value.PGJSONBType, `"\u0000"`, ""},
		{"empty ones", value.PGJSONBType, ` [ { } , [ ] ] `, `[{}, []]`},
		{"null", value.PGJSONBType, `null`, `null`},
		{"80 levels", value.PGJSONBType, nested(80), nested(80)},
		{"82 levels", value.PGJSONBType, nested(82), ""},
		{"two values", value.PGJSONBType, `1 2`, ""},
		{"a comment", value.PGJSONBType, `{"a":1 /* */}`, ""},
		{"leading zero", value.PGJSONBType, `01`, ""},
		{"oid", value.PGOIDType, "4711", "4711"},
	} {
		t.Run(c.id, func(t *testing.T) {
			out, err := value.Canonical(nil, c.typ, wireText(c.sent))
			var back structpb.Value
			if err == nil {
				err = proto.Unmarshal(out, &back)
			}
			if (err != nil) != (c.want == "") || back.GetStringValue() != c.want {
				t.Errorf("%.60q becomes %.60q, error %v", c.sent, back.GetStringValue(), err)
			}
			again, err := value.Canonical(nil, c.typ, out)
			if c.want != "" && (err != nil || string(again) != string(out)) {
				t.Errorf("canonical text is not its own: %v", err)
			}
		})
	}
}

func TestPGNumericOrder(t *testing.T) {
	want := []string{"-100", "-1.50", "-1.4999", "0", "0.001", "1", "99999999999999999999999999999999999999999.1", "NaN"}
	var values []value.Value
	for _, s := range want {
		v, ok := value.ParsePGNumeric(s)
		if !ok {
			t.Fatal(s)
		}
		values = append(values, v)
	}
	rand.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
	slices.SortFunc(values, value.Compare)
	for i, v := range values {
		if v.AsString() != want[i] {
			t.Errorf("%d: %s, want %s", i, v.AsString(), want[i])
		}
	}
	a, _ := value.ParsePGNumeric("1.0")
	b, _ := value.ParsePGNumeric("1.000")
	if value.Compare(a, b) != 0 {
		t.Error("1.0 is not 1.000")
	}
}

// NULLs stand where the order says, in either direction.
func TestNullsReversed(t *testing.T) {
	values := []value.Value{value.Null(value.Int64Type), value.Int64(-1), value.Int64(0), value.Int64(1)}
	for _, c := range []struct {
		order value.KeyOrder
		want  string
	}{
		{value.KeyOrder{}, "NULL -1 0 1"},
		{value.KeyOrder{NullsReversed: true}, "-1 0 1 NULL"},
		{value.KeyOrder{Desc: true}, "1 0 -1 NULL"},
		{value.KeyOrder{Desc: true, NullsReversed: true}, "NULL 1 0 -1"},
	} {
		slices.SortFunc(values, func(a, b value.Value) int {
			return strings.Compare(string(value.AppendKeyValue(nil, a, c.order)), string(value.AppendKeyValue(nil, b, c.order)))
		})
		var got []string
		for _, v := range values {
			if v.IsNull() {
				got = append(got, "NULL")
			} else {
				got = append(got, string(v.AppendText(nil)))
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v: %s, want %s", c.order, strings.Join(got, " "), c.want)
		}
	}
}

func FuzzPostgreSQLValues(f *testing.F) {
	for _, s := range []string{"1.50", "-1e-5", "NaN", `{"b":[1,2.0],"a":"\u00e9"}`, `{"a":1,"a":2}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, typ := range []*value.Type{value.PGNumericType, value.PGJSONBType} {
			out, err := value.Canonical(nil, typ, wireText(strings.ToValidUTF8(s, "")))
			if err != nil {
				continue
			}
			if again, err := value.Canonical(nil, typ, out); err != nil || string(again) != string(out) {
				t.Errorf("%s: %q is canonical and becomes %q, error %v", typ, out, again, err)
			}
		}
	})
}
