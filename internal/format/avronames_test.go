package format_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"github.com/twmb/avro"
	"github.com/twmb/avro/ocf"

	"spanbulk/internal/format"
	"spanbulk/internal/randtest"
	"spanbulk/internal/wire"
)

// namedSchema returns the schema of a file as another library parses it: names
// are what the specification says, or, for Google's import, what its library
// takes.
func namedSchema(t *testing.T, google bool, file []byte) []byte {
	t.Helper()
	var options []ocf.ReaderOpt
	if google {
		options = append(options, ocf.WithSchemaOpts(avro.WithLaxNames(javaName)))
	}
	r, err := ocf.NewReader(bytes.NewReader(file), options...)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	return r.Metadata()["avro.schema"]
}

// javaName is the rule of Avro for Java, which looks at units of UTF-16.
func javaName(name string) error {
	for i, c := range utf16.Encode([]rune(name)) {
		r := rune(c)
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return fmt.Errorf("illegal character in %q", name)
		}
	}
	return nil
}

// avroFieldNames shows the names of the record and its fields, with the true one
// where there is one.
func avroFieldNames(t *testing.T, google bool, f format.Format) string {
	t.Helper()
	var schema struct {
		Name, SpannerName string
		Fields            []struct{ Name, SpannerName string }
	}
	if err := json.Unmarshal(namedSchema(t, google, f.Header()), &schema); err != nil {
		t.Fatal(err)
	}
	out := schema.Name
	for _, f := range schema.Fields {
		out += " " + f.Name
		if f.SpannerName != "" {
			out += "=" + f.SpannerName
		}
	}
	return out
}

// Names that Avro does not allow: each has one that it does, and no other's.
func TestAvroNames(t *testing.T) {
	for _, c := range []struct {
		google  bool
		table   string
		columns string // parted by bars
		want    string
	}{
		{false, "T", "Id|a b|x.y|?column?|1st|Ünïcode|日本|🙂|_", "T Id a_x0020_b=a b x_x002E_y=x.y _x003F_column_x003F_=?column? _x0031_st=1st _x00DC_n_x00EF_code=Ünïcode _x65E5__x672C_=日本 _x1F642_=🙂 _"},
		{true, "T", "Id|a b|x.y|1st|Ünïcode|日本|𐐀|é٣", "T Id a_x0020_b=a b x_x002E_y=x.y _x0031_st=1st Ünïcode 日本 _x10400_=𐐀 é٣"},
		{false, "sales.Ünï", "a", "sales__x00DC_n_x00EF_ a"},
		{true, "sales.Ünï", "a", "sales_Ünï a"},
		{true, "my schema.my table", "a", "my_x0020_schema_my_x0020_table a"},
		// A stand-in that is a column, and the stand-in of the next.
		{false, "T", "a b|a_x0020_b|a_x0020_b_2|e\u0301|a`b\"", "T a_x0020_b_3=a b a_x0020_b a_x0020_b_2 e_x0301_=e\u0301 a_x0060_b_x0022_=a`b\""},
	} {
		var columns []*spannerpb.StructType_Field
		for name := range strings.SplitSeq(c.columns, "|") {
			columns = append(columns, field(name, int64Type))
		}
		f := newAvro(t, format.AvroOptions{Google: c.google, Table: format.AvroTable{Name: c.table}}, columns...)
		if got := avroFieldNames(t, c.google, f); got != c.want {
			t.Errorf("%s of %s, google %v:\ngot  %s\nwant %s", c.columns, c.table, c.google, got, c.want)
		}
	}
}

// Whatever the names, the schema is one that another library takes, and records
// come back under the true names.
func TestAvroNamesRoundTrip(t *testing.T) {
	rng := randtest.New(t)
	pieces := []string{"a", "Z", "_", "0", "9", " ", ".", "-", "x0020", "_x0020_", "ü", "Ü", "é", "日", "🙂", "\u0301", `"`, "`", `\`, "\n", "?", "_2"}
	for range randtest.Rounds(200) {
		google := rng.IntN(2) == 0
		seen := map[string]bool{}
		columns := columnsOf(field("Id", int64Type))
		values := []wire.Value{encode(t, str("0"))}
		for i := range 1 + rng.IntN(6) {
			name := ""
			for range 1 + rng.IntN(4) {
				name += pick(rng, pieces...)
			}
			if seen[strings.ToLower(name)] {
				continue
			}
			seen[strings.ToLower(name)] = true
			columns = append(columns, field(name, int64Type))
			values = append(values, encode(t, str(fmt.Sprint(i))))
		}
		f := newAvro(t, format.AvroOptions{Google: google}, columns...)
		namedSchema(t, google, f.Header())
		records := readBack(t, targetOf(columns...), format.Options{Kind: format.Avro}, 1<<20, encodeAll(t, f, 1, values))
		if len(records) != 1 || records[0].Err != nil {
			t.Fatalf("%q came back as %s", columns, outcome(records[0]))
		}
		for i, c := range columns {
			if !bytes.Equal(records[0].Values[i], values[i]) {
				t.Fatalf("column %q of %q came back as %q, want %q", c.GetName(), columns, records[0].Values[i], values[i])
			}
		}
	}
}
