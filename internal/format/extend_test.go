package format_test

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"cloud.google.com/go/spanner/apiv1/spannerpb"

	"spanbulk/internal/format"
	"spanbulk/internal/wire"
)

var (
	extendColumns = columnsOf(field("Name", stringType), field("Total", scalar(spannerpb.TypeCode_INT64)), field("Tags", arrayOf(stringType)))
	extendValues  = func(tb testing.TB) []wire.Value {
		return encodeRow(tb, str("a \"b\", c"), str("9007199254740993"), list(str("x"), str("y,z")))
	}
)

// extendAll puts columns beside the records of a whole input: a row beside the
// first, third and so on, nothing beside the others.
func extendAll(tb testing.TB, input []byte, o format.ExtendOptions, fields ...string) ([]byte, error) {
	tb.Helper()
	// Every field is unknown to a table of one column that none is called like.
	decoder, err := format.NewDecoder(&format.DecodeOptions{IgnoreUnknown: true, CSV: o.Input})
	if err != nil {
		tb.Fatal(err)
	}
	target := targetOf(field("no such field, surely", stringType))
	splitter := format.NewSplitter(bytes.NewReader(input), format.SplitOptions{Kind: o.From, CSV: o.Input, Fields: fields})
	var out, chunk []byte
	var enc format.Encoder
	records := 0
	for {
		var c format.Chunk
		if err := splitter.Next(&c); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		if enc == nil {
			o.Layout = c.Layout
			f, err := format.Extend(extendColumns, o)
			if err != nil {
				return nil, err
			}
			out, enc = append(out, f.Header()...), f.NewEncoder()
		}
		err := decoder.Decode(target, &c, func(r *format.Record) error {
			if r.Err != nil && !strings.Contains(r.Err.Reason, "key column is missing") {
				return r.Err
			}
			row := []wire.Value{r.Raw}
			if records%2 == 0 {
				row = append(row, extendValues(tb)...)
			}
			records++
			var err error
			chunk, err = enc.AppendRow(chunk, row)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if enc == nil {
		return nil, nil
	}
	sealed, err := enc.Seal(nil, chunk, records)
	return append(out, sealed...), err
}

func TestExtend(t *testing.T) {
	csvIn := "a,b\n1,\"x \"\"y\"\"\"\n,\"\"\n"
	ndjsonIn := `{"a":1.0,"b":{"c":12345678901234567890.10}}` + "\n" + ` { } ` + "\r\n" + `{"é" : "\u00e9" }`
	csvKind, ndjsonKind := format.Options{Kind: format.CSV}, format.Options{Kind: format.NDJSON}
	for _, c := range []struct {
		name, in, want string
		o              format.ExtendOptions
	}{
		{"NDJSON", ndjsonIn, `{"a":1.0,"b":{"c":12345678901234567890.10},"Name":"a \"b\", c","Total":9007199254740993,"Tags":["x","y,z"]}
{"Name":null,"Total":null,"Tags":null}
{"é" : "\u00e9","Name":"a \"b\", c","Total":9007199254740993,"Tags":["x","y,z"]}
`, format.ExtendOptions{}},
		{"NDJSON, prefix, forms", ndjsonIn, `{"a":1.0,"b":{"c":12345678901234567890.10},"c.Name":"a \"b\", c","c.Total":"9007199254740993","c.Tags":["x","y,z"]}
{"c.Name":null,"c.Total":null,"c.Tags":null}
{"é" : "\u00e9","c.Name":"a \"b\", c","c.Total":"9007199254740993","c.Tags":["x","y,z"]}
`, format.ExtendOptions{Prefix: "c.", Options: format.Options{Values: format.ValueOptions{Int64: "string"}}}},
		{"NDJSON, nested", ndjsonIn, `{"a":1.0,"b":{"c":12345678901234567890.10},"row":{"Name":"a \"b\", c","Total":9007199254740993,"Tags":["x","y,z"]}}
{"row":null}
{"é" : "\u00e9","row":{"Name":"a \"b\", c","Total":9007199254740993,"Tags":["x","y,z"]}}
`, format.ExtendOptions{Nest: "row"}},
		{"CSV", csvIn, `a,b,Name,Total,Tags
1,"x ""y""","a ""b"", c",9007199254740993,"[""x"",""y,z""]"
,"",,,
`, format.ExtendOptions{From: format.CSV, Options: csvKind}},
		{"CSV, nested", csvIn, `a,b,row
1,"x ""y""","{""Name"":""a \""b\"", c"",""Total"":9007199254740993,""Tags"":[""x"",""y,z""]}"
,"",
`, format.ExtendOptions{From: format.CSV, Nest: "row", Options: csvKind}},
		{"CSV, other dialect", "a;b\r\n1;NULL\r\n2;'x;y'\r\n", "a;b;Name;Total;Tags\r\n1;NULL;a \"b\", c;9007199254740993;[\"x\",\"y,z\"]\r\n2;'x;y';NULL;NULL;NULL\r\n",
			format.ExtendOptions{
				From: format.CSV, Input: format.CSVInput{Delimiter: ";", Quote: "'", Null: "NULL"},
				Options: format.Options{Kind: format.CSV, CSV: format.CSVOptions{Delimiter: ";", Quote: "'", Null: "NULL", CRLF: true}},
			}},
		{"CSV, ragged", "a,b\n1\n1,2,3\n", "a,b,Name,Total,Tags\n" +
			`1,,"a ""b"", c",9007199254740993,"[""x"",""y,z""]"` + "\n1,2,,,\n",
			format.ExtendOptions{From: format.CSV, Input: format.CSVInput{Ragged: true}, Options: csvKind}},
		{"CSV to NDJSON", csvIn, `{"a":"1","b":"x \"y\"","Name":"a \"b\", c","Total":9007199254740993,"Tags":["x","y,z"]}
{"a":null,"b":"","Name":null,"Total":null,"Tags":null}
`, format.ExtendOptions{From: format.CSV, Options: ndjsonKind}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := extendAll(t, []byte(c.in), c.o)
			if err != nil || string(got) != c.want {
				t.Errorf("got %v\n%swant\n%s", err, got, c.want)
			}
		})
	}
}

// An Avro record keeps its bytes, and a reader finds the columns behind them.
func TestExtendAvro(t *testing.T) {
	schema := `{"type":"record","name":"r","doc":"}]","fields":[{"name":"id","type":"long"},` +
		`{"name":"next","type":["null",{"type":"record","name":"s","fields":[{"name":"id","type":"int"}]}]},{"name":"note","type":{"type":"map","values":"bytes"}}],"owner":{"fields":[1]}}`
	record := func(id int64) map[string]any {
		return map[string]any{"id": id, "next": map[string]any{"id": int32(id) + 1}, "note": map[string]any{"k": []byte("v")}}
	}
	file := writeAvro(t, schema, record(1), record(10))
	for _, nest := range []string{"", "row"} {
		for _, compression := range []format.Compression{format.None, format.Zstd} {
			o := format.ExtendOptions{From: format.Avro, Nest: nest, Options: format.Options{Kind: format.Avro, Compression: compression}}
			got, err := extendAll(t, file, o)
			if err != nil {
				t.Fatal(err)
			}
			if written := avroSchema(t, got); !json.Valid(written) || !bytes.Contains(written, []byte(`"owner":{"fields":[1]}`)) {
				t.Errorf("the schema has become %s", written)
			}
			// What comes out is read in turn.
			o.Options, o.Nest, o.Prefix = format.Options{Kind: format.NDJSON}, "", "again_"
			back, err := extendAll(t, got, o)
			row := `"Name":"a \"b\", c","Total":9007199254740993,"Tags":["x","y,z"]`
			again := strings.NewReplacer(`"Name"`, `"again_Name"`, `"Total"`, `"again_Total"`, `"Tags"`, `"again_Tags"`).Replace(row)
			want := `{"id":1,"next":{"id":2},"note":{"k":"dg=="},` + row + "," + again + "}\n" +
				`{"id":10,"next":{"id":11},"note":{"k":"dg=="},"Name":null,"Total":null,"Tags":null,"again_Name":null,"again_Total":null,"again_Tags":null}` + "\n"
			if nest != "" {
				want = strings.ReplaceAll(want, row, `"row":{`+row+`}`)
				want = strings.ReplaceAll(want, `"Name":null,"Total":null,"Tags":null,"again`, `"row":null,"again`)
			}
			if err != nil || string(back) != want {
				t.Errorf("nest %q: %v\n%swant\n%s", nest, err, back, want)
			}
		}
	}
}

func TestExtendRefuses(t *testing.T) {
	for name, o := range map[string]format.ExtendOptions{
		"CSV of NDJSON":  {Options: format.Options{Kind: format.CSV}},
		"Avro of NDJSON": {Options: format.Options{Kind: format.Avro}},
		"Avro of CSV":    {From: format.CSV, Options: format.Options{Kind: format.Avro}},
		"a kind":         {Options: format.Options{Kind: "xml"}},
	} {
		if _, err := format.Extend(extendColumns, o); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if _, err := format.Extend(nil, format.ExtendOptions{}); err == nil {
		t.Error("no columns are taken")
	}
	itself, err := format.ParseLayout(format.Avro, `{"type":"record","name":"r","fields":[{"name":"n","type":{"type":"array","items":["null","r"]}}]}`, format.CSVInput{})
	if err != nil {
		t.Fatal(err)
	}
	o := format.ExtendOptions{From: format.Avro, Layout: itself, Options: format.Options{Kind: format.Avro}}
	if _, err := format.Extend(extendColumns, o); err == nil || !strings.Contains(err.Error(), "records of their own type") {
		t.Errorf("records that hold themselves: %v", err)
	}
	f, err := format.Extend(extendColumns, format.ExtendOptions{})
	if err != nil {
		t.Fatal(err)
	}
	enc := f.NewEncoder()
	for name, row := range map[string][]wire.Value{
		"no record":         {},
		"too few values":    {wire.Value("{}"), wire.AppendNull(nil)},
		"no object":         {wire.Value("[]")},
		"a value of a kind": {wire.Value("{}"), wire.AppendBool(nil, true), wire.AppendNull(nil), wire.AppendNull(nil)},
	} {
		if got, err := enc.AppendRow([]byte("before"), row); err == nil || string(got) != "before" {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}

// FuzzExtend: whatever records the decoders take come out as records of the same
// format, one for one, and as JSON.
func FuzzExtend(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":[{}]}`), uint8(0))
	f.Add([]byte("a,b\n1,\"x\"\"\"\n,\n"), uint8(1))
	f.Add([]byte("a\n\n\"\"\n"), uint8(5))
	f.Add([]byte("a,b\n1\n\"x\"y,\xff\n"), uint8(7))
	f.Fuzz(func(t *testing.T, input []byte, how uint8) {
		o := format.ExtendOptions{From: format.NDJSON, Prefix: "added by lookup "}
		if how&1 != 0 {
			o.From, o.Kind = format.CSV, format.CSV
			o.Input = format.CSVInput{Ragged: how&2 != 0, LazyQuotes: how&4 != 0, ReplaceInvalid: how&8 != 0}
		}
		out, err := extendAll(t, input, o)
		if err != nil || len(out) == 0 {
			return
		}
		strict := o
		strict.Input, strict.Prefix, strict.Kind = format.CSVInput{}, "again", format.NDJSON
		lines, err := extendAll(t, out, strict)
		if err != nil {
			t.Fatalf("%q became %q, which cannot be read: %v", input, out, err)
		}
		records := 0
		for line := range bytes.Lines(lines) {
			records++
			if !json.Valid(line) {
				t.Fatalf("%q became %q", input, line)
			}
		}
		if want := bytes.Count(out, []byte("\n")); o.From == format.NDJSON && records != want {
			t.Fatalf("%q: %d records became %d", input, want, records)
		}
	})
}

// FuzzExtendAvroSchema: a schema that a file can have is still one with columns.
func FuzzExtendAvroSchema(f *testing.F) {
	f.Add(`{"type":"record","name":"r","fields":[]}`)
	f.Add(`{"type":{"type":"record","name":"r","fields":[{"name":"a","type":"int"}]}}`)
	f.Add(`{"fields":[ ],"name":"r","type":"record","aliases":["]"]}`)
	f.Fuzz(func(t *testing.T, schema string) {
		layout, err := format.ParseLayout(format.Avro, schema, format.CSVInput{})
		if err != nil {
			return
		}
		o := format.ExtendOptions{From: format.Avro, Layout: layout, Options: format.Options{Kind: format.Avro}}
		extended, err := format.Extend(extendColumns, o)
		if err != nil {
			return
		}
		c := new(format.Chunk)
		err = format.NewSplitter(bytes.NewReader(append(extended.Header(), 0, 0)), format.SplitOptions{Kind: format.Avro}).Next(c)
		if e, isInput := err.(*format.InputError); isInput && strings.Contains(e.Reason, "schema cannot be used") {
			t.Fatalf("%q: %v", schema, err)
		}
	})
}
