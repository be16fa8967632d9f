package transform_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"go.uber.org/goleak"

	"spanbulk/internal/format"
	"spanbulk/internal/transform"
	"spanbulk/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	fields = []*spannerpb.StructType_Field{
		{Name: "z_id", Type: &spannerpb.Type{Code: spannerpb.TypeCode_INT64}},
		{Name: "name", Type: &spannerpb.Type{Code: spannerpb.TypeCode_STRING}},
		{Name: "doc", Type: &spannerpb.Type{Code: spannerpb.TypeCode_JSON}},
	}
	names = []string{"z_id", "name", "doc"}
)

func row(id, name, doc string) []wire.Value {
	return []wire.Value{wire.AppendString(nil, id), wire.AppendString(nil, name), wire.AppendString(nil, doc)}
}

func newEncoder(tb testing.TB, ctx context.Context, source string, o format.Compression) (*transform.Program, format.Encoder) {
	tb.Helper()
	p, err := transform.Compile(source)
	if err != nil {
		tb.Fatal(err)
	}
	inner, err := format.NewNDJSON(fields, format.ValueOptions{Numeric: "number"})
	if err != nil {
		tb.Fatal(err)
	}
	f, err := format.Compress(p.Format(ctx, inner, names), o)
	if err != nil {
		tb.Fatal(err)
	}
	return p, f.NewEncoder()
}

func TestPrograms(t *testing.T) {
	const big = "9223372036854775807"
	doc := `{"b":[1.50,1e+2],"a":123456789012345678901234567890,"s":"<é\u2028>"}`
	for _, c := range []struct {
		name, source string
		want         string
	}{
		{"identity", ".", `{"z_id":` + big + `,"name":"x","doc":` + doc + "}\n"},
		{"select keeps the text", `select(.z_id > 5)`, `{"z_id":` + big + `,"name":"x","doc":` + doc + "}\n"},
		{"select nothing", `select(.z_id < 5)`, ""},
		{"empty", "empty", ""},
		{"several", `.z_id, .name, null, true`, big + "\n\"x\"\nnull\ntrue\n"},
		{"field changed", `.name = "y"`, `{"z_id":` + big + `,"name":"y","doc":{"a":123456789012345678901234567890,"b":[1.50,1e+2],"s":"<é` + "\u2028" + `>"}}` + "\n"},
		{"changed and changed back", `. as $r | .name |= "y" | del(.doc), ($r | .z_id += 0 | del(.doc))`,
			`{"z_id":` + big + `,"name":"y"}` + "\n" + `{"z_id":` + big + `,"name":"x"}` + "\n"},
		{"reduced into", `reduce (1, 2) as $i (.; .doc = $i | .name += "!"), .name`, `{"z_id":` + big + `,"name":"x!!","doc":2}` + "\n\"x\"\n"},
		{"fields in order", `{other: 1, doc: 2, "a b": 3, z_id}`, `{"z_id":` + big + `,"doc":2,"a b":3,"other":1}` + "\n"},
		{"whole numbers computed", `.z_id - 1, .z_id + 1, .doc.a + 1`, "9223372036854775806\n9223372036854775808\n123456789012345678901234567891\n"},
		{"floats computed", `.doc.b[0] * 2, nan, infinite`, "3\n\"NaN\"\n\"Infinity\"\n"},
		{"array", `[.name, [.doc.b[]]]`, `["x",[1.50,1e+2]]` + "\n"},
		{"to string", `.z_id | tostring`, `"` + big + `"` + "\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, enc := newEncoder(t, t.Context(), c.source, format.None)
			got, err := enc.AppendRow([]byte("before\n"), row(big, "x", doc))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != "before\n"+c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			want := strings.Count(c.want, "\n")
			if n := format.Records(enc, 1); n != want {
				t.Errorf("counted %d records, want %d", n, want)
			}
			if n := format.Records(enc, 0); n != 0 {
				t.Errorf("counted %d records twice", n)
			}
			if skipped := p.Skipped(); (skipped == 1) != (want == 0) {
				t.Errorf("counted %d skipped", skipped)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{`.name + 1`, "record 3: jq program failed: cannot add: string"},
		{`.name[]`, "record 3: jq program failed: cannot iterate over: string"},
		{`.name.key`, "record 3: jq program failed: expected an object but got: string"},
		{`error(.name)`, "record 3: jq program failed: it raised an error"},
		{`error({a: .name})`, "record 3: jq program failed: it raised an error"},
		{`.name | fromjson`, "record 3: jq program failed: fromjson cannot be applied to"},
		{`.name | tonumber`, "record 3: jq program failed: tonumber cannot be applied to"},
		{`"x" * 1000000 | repeat(.)`, "record 3: jq program failed: it makes more than 16 MiB of one record"},
		{`{(.doc): 1}`, "record 3: jq program failed: expected a string for object key but got: array"},
	} {
		t.Run(c.source, func(t *testing.T) {
			_, enc := newEncoder(t, t.Context(), `if .z_id < 3 then . else `+c.source+` end`, format.None)
			for _, id := range []string{"1", "2"} {
				if _, err := enc.AppendRow(nil, row(id, "secret", "[]")); err != nil {
					t.Fatal(err)
				}
			}
			out, err := enc.AppendRow([]byte("before"), row("3", "secret", "[]"))
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Fatalf("got error %v, want %q", err, c.want)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the error holds the value: %v", err)
			}
			var e *transform.Error
			if !errors.As(err, &e) || e.Record != 3 || e.Cause == nil {
				t.Errorf("got %#v", err)
			}
			if string(out) != "before" {
				t.Errorf("the buffer was left as %q", out)
			}
		})
	}
	// The encoder's own errors come through.
	_, enc := newEncoder(t, t.Context(), ".", format.None)
	if _, err := enc.AppendRow(nil, row("x", "", "")); err == nil || !strings.Contains(err.Error(), "column z_id") {
		t.Errorf("got error %v", err)
	}
}

func TestCompileErrors(t *testing.T) {
	for _, source := range []string{"{", ".a |", "nosuch", "$x", "import \"x\" as x; .", "input", "{\n\n|}"} {
		p, err := transform.Compile(source)
		if err == nil {
			t.Errorf("%q was taken as %v", source, p)
			continue
		}
		if text := err.Error(); !strings.HasPrefix(text, "jq program: ") || strings.Contains(text, "\n") {
			t.Errorf("%q: got error %q", source, text)
		}
	}
}

// TestEndless cancels a program that would never end by itself.
func TestEndless(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := time.AfterFunc(20*time.Millisecond, func() { cancel(errors.New("interrupted")) })
	defer stop.Stop()
	_, enc := newEncoder(t, ctx, "def f: f; f", format.None)
	if _, err := enc.AppendRow(nil, row("1", "x", "1")); err == nil || err.Error() != "interrupted" {
		t.Errorf("got error %v", err)
	}
}

// TestConcurrent runs one program in many goroutines, under compression.
func TestConcurrent(t *testing.T) {
	p, err := transform.Compile(`select(.z_id % 3 != 0) | .z_id, .z_id * 1000`)
	if err != nil {
		t.Fatal(err)
	}
	inner, err := format.NewNDJSON(fields, format.ValueOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := format.Compress(p.Format(t.Context(), inner, names), format.Gzip)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var records int
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			enc := f.NewEncoder()
			var plain []byte
			for i := range 300 {
				var err error
				if plain, err = enc.AppendRow(plain, row(fmt.Sprint(300*g+i), "x", "1")); err != nil {
					t.Error(err)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			records += format.Records(enc, 300)
			if n := bytes.Count(plain, []byte("\n")); n != 400 {
				t.Errorf("%d lines", n)
			}
		})
	}
	wg.Wait()
	if records != 3200 || p.Skipped() != 800 {
		t.Errorf("counted %d records and %d skipped", records, p.Skipped())
	}
}

// FuzzIdentity holds the encoder of jq's values against encoding/json.
func FuzzIdentity(f *testing.F) {
	for _, s := range []string{`1`, `{"a":[1,2.50,null,true,"x"]}`, `"\u0000é"`, `-0`, `1e400`, `[[],{}]`} {
		f.Add(s)
	}
	_, enc := newEncoder(f, context.Background(), ".doc", format.None)
	f.Fuzz(func(t *testing.T, doc string) {
		if !json.Valid([]byte(doc)) || strings.Contains(doc, "$json") {
			return
		}
		got, err := enc.AppendRow(nil, row("1", "x", doc))
		if err != nil {
			return // text that is not UTF-8 inside a JSON string
		}
		normal := func(text []byte) string {
			dec := json.NewDecoder(bytes.NewReader(text))
			dec.UseNumber()
			var v any
			if err := dec.Decode(&v); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			b, _ := json.Marshal(v)
			return string(b)
		}
		want := normal([]byte(doc))
		if want == "null" {
			want = `{"$json":null}`
		}
		if normal(got) != want {
			t.Fatalf("%q came back as %q", doc, got)
		}
		if bytes.Count(got, []byte("\n")) != 1 {
			t.Fatalf("%q is not one line", got)
		}
	})
}

func BenchmarkProgram(b *testing.B) {
	for _, source := range []string{"select(.z_id > 5)", `{z_id, name}`} {
		b.Run(source, func(b *testing.B) {
			_, enc := newEncoder(b, context.Background(), source, format.None)
			r := row("1234567", "some customer", `{"a":1,"b":[1,2]}`)
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if buf, err = enc.AppendRow(buf[:0], r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
