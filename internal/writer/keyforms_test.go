package writer

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/protobuf/proto"

	"spanbulk/internal/format"
	"spanbulk/internal/keyset"
	"spanbulk/internal/randtest"
	"spanbulk/internal/schema"
	"spanbulk/internal/wire"
)

// keyForms are spellings, as JSON, of one random value of a type that keys have.
// The strict ones mutations take as well as a record does.
type keyForms struct{ strict, liberal []string }

func quoted(texts ...string) []string {
	for i, text := range texts {
		texts[i] = fmt.Sprintf("%q", text)
	}
	return texts
}

var formsOfKeys = map[spannerpb.TypeCode]func(r *rand.Rand) keyForms{
	spannerpb.TypeCode_INT64: func(r *rand.Rand) keyForms {
		n := r.Int64N(2_000) - 1_000
		text := fmt.Sprint(n)
		digits := strings.TrimPrefix(text, "-")
		padded := "00" + digits
		if n < 0 {
			padded = "-" + padded
		}
		return keyForms{append(quoted(text), text), quoted(padded)}
	},
	spannerpb.TypeCode_FLOAT64: func(r *rand.Rand) keyForms { return floatForms(r, 0.125) },
	spannerpb.TypeCode_FLOAT32: func(r *rand.Rand) keyForms { return floatForms(r, 0.25) },
	spannerpb.TypeCode_NUMERIC: func(r *rand.Rand) keyForms {
		unscaled := big.NewInt(r.Int64N(2_000_000) - 1_000_000)
		exact := new(big.Rat).SetFrac(unscaled, big.NewInt(1_000)).FloatString(3)
		short := strings.TrimSuffix(strings.TrimRight(exact, "0"), ".")
		if unscaled.Sign() == 0 {
			return keyForms{append(quoted("0", "0.0", "-0"), "0"), quoted("+0", "0e5")}
		}
		return keyForms{append(quoted(exact, short, exact+"000"), exact), quoted(unscaled.String()+"e-3", unscaled.String()+"E-03")}
	},
	spannerpb.TypeCode_TIMESTAMP: func(r *rand.Rand) keyForms {
		at := time.Unix(r.Int64N(4_000_000_000)-2_000_000_000, int64(r.IntN(3))*120_000_000).UTC()
		zone := time.FixedZone("", (r.IntN(24)-12)*3600+1800)
		const places = "2006-01-02T15:04:05.000000000Z07:00"
		text := at.Format(places)
		return keyForms{quoted(at.Format(time.RFC3339Nano), text, at.In(zone).Format(places)), quoted(strings.ToLower(text), strings.Replace(text, "T", " ", 1))}
	},
	spannerpb.TypeCode_DATE: func(r *rand.Rand) keyForms {
		day := time.Unix(r.Int64N(4_000_000_000), 0).UTC()
		return keyForms{quoted(day.Format("2006-01-02")), quoted(day.Format("2006-1-2"))}
	},
	spannerpb.TypeCode_BYTES: func(r *rand.Rand) keyForms {
		raw := make([]byte, r.IntN(5))
		for i := range raw {
			raw[i] = byte(0xf8 + r.IntN(8)) // characters that the alphabets differ in
		}
		text, _ := json.Marshal(raw)
		padded := strings.Trim(string(text), `"`)
		url := strings.NewReplacer("+", "-", "/", "_").Replace(padded)
		return keyForms{quoted(padded, strings.TrimRight(padded, "="), url, strings.TrimRight(url, "=")), nil}
	},
	spannerpb.TypeCode_UUID: func(r *rand.Rand) keyForms {
		text := fmt.Sprintf("%08x-%04x-4abc-8def-%012x", r.Uint32(), r.IntN(1<<16), r.Int64N(1<<48))
		return keyForms{quoted(text, strings.ToUpper(text)), nil}
	},
	spannerpb.TypeCode_STRING: func(r *rand.Rand) keyForms {
		text := []string{"", "a", "A", "é", "e\u0301", " a", "1", "01"}[r.IntN(8)]
		plain, _ := json.Marshal(text)
		escaped := `"`
		for _, c := range text {
			escaped += fmt.Sprintf(`\u%04x`, c)
		}
		return keyForms{[]string{string(plain), escaped + `"`}, nil}
	},
	spannerpb.TypeCode_BOOL: func(r *rand.Rand) keyForms { return keyForms{[]string{fmt.Sprint(r.IntN(2) == 0)}, nil} },
}

func floatForms(r *rand.Rand, unit float64) keyForms {
	switch r.IntN(6) {
	case 0:
		return keyForms{[]string{"0", "-0", "0.0", "-0e0"}, nil}
	case 1:
		return keyForms{quoted([]string{"NaN", "Infinity", "-Infinity"}[r.IntN(3)]), nil}
	}
	f := float64(r.IntN(2_000)-1_000)*unit + unit/2
	return keyForms{[]string{fmt.Sprintf("%v", f), fmt.Sprintf("%.17e", f), fmt.Sprintf("%.17g", f)}, nil}
}

// TestSpellingsOfKeysAgree spells random keys in every way that records, --key
// and mutations take. The decoders, the parser of --key and the order of keys
// know values by rules of their own: all must take them for the same.
func TestSpellingsOfKeysAgree(t *testing.T) {
	r := randtest.New(t)
	for code, spell := range formsOfKeys {
		t.Run(code.String(), func(t *testing.T) {
			k := newKeyWorld(t, code)
			seen := map[uint64]string{} // by hash, what the decoder made of it
			for range randtest.Rounds(100) {
				forms := spell(r)
				var want wire.Value
				for i, form := range append(forms.strict, forms.liberal...) {
					decoded := k.decode(form)
					if i == 0 {
						want = decoded
					}
					if got := k.hash(decoded); got != k.hash(want) {
						t.Fatalf("as keys, %s and %s are two", form, forms.strict[0])
					}
					if code != spannerpb.TypeCode_FLOAT64 && code != spannerpb.TypeCode_FLOAT32 && string(decoded) != string(want) {
						t.Fatalf("decoders make %q of %s and %q of %s", decoded, form, want, forms.strict[0])
					}
					// As a mutation could have it; of other offsets the decoders make UTC.
					if text, err := unquote(form); err == nil && (code != spannerpb.TypeCode_TIMESTAMP || strings.HasSuffix(text, "Z") && i < len(forms.strict)) {
						if got := k.hash(wire.AppendString(nil, text)); got != k.hash(want) {
							t.Fatalf("as keys of mutations, %s and %s are two", form, forms.strict[0])
						}
					}
					if parsed := k.parse(form); string(parsed) != string(decoded) {
						t.Fatalf("--key makes %q of %s, and a record %q", parsed, form, decoded)
					}
				}
				if other, ok := seen[k.hash(want)]; ok && k.compare && other != string(want) {
					t.Fatalf("%q and %q are one key", other, want)
				}
				seen[k.hash(want)] = string(want)
			}
		})
	}
}

// TestRefusedSpellingsOfKeys spells what no record may be, which --key refuses for
// the same reason.
func TestRefusedSpellingsOfKeys(t *testing.T) {
	for code, forms := range map[spannerpb.TypeCode][]string{
		spannerpb.TypeCode_BYTES:     {`"QR=="`, `"QQ="`, `"Q"`, `" QQ=="`, `1`},
		spannerpb.TypeCode_INT64:     {`1.5`, `"1e2"`, `""`, `9223372036854775808`, `true`},
		spannerpb.TypeCode_NUMERIC:   {`"1e-10"`, `"1e30"`, `"NaN"`, `"0x1"`, `"1_0"`, `"1/2"`},
		spannerpb.TypeCode_TIMESTAMP: {`"2026-01-31"`, `"2026-01-31T12:00:00"`, `"0000-12-31T00:00:00Z"`, `"2026-01-31T12:00:00.0000000001Z"`, `1`},
		spannerpb.TypeCode_DATE:      {`"2026-02-29"`, `"26-1-1"`, `"0000-01-01"`, `20260131`},
		spannerpb.TypeCode_UUID:      {`"123e4567e89b12d3a456426614174000"`},
		spannerpb.TypeCode_FLOAT64:   {`"0x1p3"`, `"inf"`, `1e400`, `"1_0"`},
		spannerpb.TypeCode_FLOAT32:   {`1e39`},
		spannerpb.TypeCode_BOOL:      {`1`, `"yes"`},
		spannerpb.TypeCode_STRING:    {`1`, `true`},
	} {
		k := newKeyWorld(t, code)
		for _, form := range forms {
			_, refused := k.tryDecode(form)
			_, err := keyset.ParseKey(k.columns, "["+form+"]")
			if refused == nil || err == nil {
				t.Errorf("%v %s: a record says %v, --key %v", code, form, refused, err)
			}
		}
	}
}

// TestSpellingsOfPGNumericsAgree holds parameters against records: no key has a
// numeric or a jsonb, which PostgreSQL's dialect keeps out of keys.
func TestSpellingsOfPGNumericsAgree(t *testing.T) {
	r := randtest.New(t)
	k := newKeyWorld(t, spannerpb.TypeCode_NUMERIC)
	typ := &spannerpb.Type{Code: spannerpb.TypeCode_NUMERIC, TypeAnnotation: spannerpb.TypeAnnotationCode_PG_NUMERIC}
	k.use(typ, schema.PostgreSQL)
	for range randtest.Rounds(200) {
		forms := formsOfKeys[spannerpb.TypeCode_NUMERIC](r)
		for _, form := range append(append(forms.strict, forms.liberal...), `"NaN"`, `"nan"`, `"1e100"`, `"-0.0"`) {
			text, err := unquote(form)
			if err != nil {
				continue // a parameter is text
			}
			v, err := keyset.ParseParam(typ, text)
			if err != nil {
				t.Fatalf("--param with %s: %v", form, err)
			}
			raw, err := proto.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			if decoded := k.decode(form); string(raw) != string(decoded) {
				t.Fatalf("--param makes %q of %s, and a record %q", raw, form, decoded)
			}
		}
	}
}

func unquote(form string) (text string, err error) {
	err = json.Unmarshal([]byte(form), &text)
	return text, err
}

// keyWorld is a table whose key is one column.
type keyWorld struct {
	t       *testing.T
	table   *Table
	target  *format.Target
	decoder *format.Decoder
	columns []keyset.Column
	hasher  keyHasher
	compare bool // different values have different bytes
}

func newKeyWorld(t *testing.T, code spannerpb.TypeCode) *keyWorld {
	t.Helper()
	decoder, err := format.NewDecoder(&format.DecodeOptions{Operation: wire.InsertOrUpdate, MaxRecordBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	k := &keyWorld{
		t: t, decoder: decoder, hasher: keyHasher{seed: maphash.MakeSeed()},
		compare: code != spannerpb.TypeCode_FLOAT64 && code != spannerpb.TypeCode_FLOAT32,
	}
	k.use(&spannerpb.Type{Code: code}, schema.GoogleSQL)
	return k
}

// use gives the column a type.
func (k *keyWorld) use(typ *spannerpb.Type, d schema.Dialect) {
	k.t.Helper()
	described := &schema.Table{
		Name: schema.Name{Name: "T"}, Dialect: d,
		Columns:    []schema.Column{{Name: "k", Type: typ, SpannerType: d.TypeName(typ)}},
		PrimaryKey: []schema.KeyPart{{Column: "k"}},
	}
	table, err := NewTable(described, nil)
	if err != nil {
		k.t.Fatal(err)
	}
	k.table, k.target = table, format.NewTarget(described, false)
	k.columns = []keyset.Column{{Name: "k", Type: typ, Dialect: d}}
}

func (k *keyWorld) hash(v wire.Value) uint64 {
	return k.hasher.hash(k.table, []wire.Value{v}, nil).own
}

// decode reads a record with the key.
func (k *keyWorld) decode(form string) wire.Value {
	k.t.Helper()
	value, err := k.tryDecode(form)
	if err != nil {
		k.t.Fatalf("a record with %s: %v", form, err)
	}
	return value
}

func (k *keyWorld) tryDecode(form string) (value wire.Value, err error) {
	chunk := format.SingleChunk(format.NDJSON, nil, []byte(`{"k":`+form+`}`), 1)
	err = k.decoder.Decode(k.target, chunk, func(r *format.Record) error {
		if r.Err != nil {
			return r.Err
		}
		value = append(value, r.Values[0]...)
		return nil
	})
	return value, err
}

// parse reads the key as --key does.
func (k *keyWorld) parse(form string) wire.Value {
	k.t.Helper()
	key, err := keyset.ParseKey(k.columns, "["+form+"]")
	if err != nil {
		k.t.Fatalf("--key with %s: %v", form, err)
	}
	raw, err := proto.Marshal(key.GetValues()[0])
	if err != nil {
		k.t.Fatal(err)
	}
	return raw
}
