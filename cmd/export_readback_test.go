package cmd

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"github.com/klauspost/compress/zstd"
	"github.com/twmb/avro"
	"github.com/twmb/avro/ocf"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/output"
)

// The readers of this file share no code with what they check: encoding/json,
// encoding/csv with a rule for quotes, and the Avro library's generic decoder.
// Both sides of a comparison are brought to one text for each value.

// exported is what is known of an export's output.
type exported struct {
	kind        string // ndjson, csv, avro
	compression string
	flags       exportedForms
}

// exportedForms are the flags that change the form of values.
type exportedForms struct {
	int64, numeric, json string // of JSON
	delimiter            rune   // of CSV
	null                 string
	noHeader             bool
}

// records reads a whole file into records, each one text for each column.
func (e exported) records(t *testing.T, fields []*spannerpb.StructType_Field, file []byte) [][]string {
	t.Helper()
	switch e.kind {
	case "avro":
		return e.avroRecords(t, fields, file)
	case "csv":
		return e.csvRecords(t, fields, decompressed(t, e.compression, file))
	default:
		return e.jsonRecords(t, fields, decompressed(t, e.compression, file))
	}
}

func decompressed(t *testing.T, compression string, file []byte) []byte {
	t.Helper()
	var r io.Reader = bytes.NewReader(file)
	switch compression {
	case "gzip":
		z, err := gzip.NewReader(r)
		if err != nil {
			t.Fatal(err)
		}
		r = z
	case "zstd":
		z, err := zstd.NewReader(r)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		r = z
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

func (e exported) jsonRecords(t *testing.T, fields []*spannerpb.StructType_Field, plain []byte) (records [][]string) {
	t.Helper()
	for line := range bytes.Lines(plain) {
		decoder := json.NewDecoder(bytes.NewReader(line))
		decoder.UseNumber()
		var object map[string]any
		if err := decoder.Decode(&object); err != nil || len(object) != len(fields) || line[len(line)-1] != '\n' {
			t.Fatalf("line %s: %v", line, err)
		}
		record := make([]string, len(fields))
		for i, f := range fields {
			record[i] = jsonText(t, f.GetType(), e.flags, object[f.GetName()])
		}
		records = append(records, record)
	}
	return records
}

// jsonText brings a value read as JSON to its common text.
func jsonText(t *testing.T, typ *spannerpb.Type, forms exportedForms, v any) string {
	t.Helper()
	if v == nil {
		return "NULL"
	}
	switch code := typ.GetCode(); code {
	case spannerpb.TypeCode_ARRAY:
		var elements []string
		for _, element := range v.([]any) {
			elements = append(elements, jsonText(t, typ.GetArrayElementType(), forms, element))
		}
		return "[" + strings.Join(elements, ", ") + "]"
	case spannerpb.TypeCode_STRUCT:
		object := v.(map[string]any)
		var members []string
		for _, f := range typ.GetStructType().GetFields() {
			members = append(members, jsonText(t, f.GetType(), forms, object[f.GetName()]))
		}
		return "{" + strings.Join(members, ", ") + "}"
	case spannerpb.TypeCode_JSON:
		if text, isText := v.(string); isText && forms.json == "string" {
			return canonicalJSON(t, text)
		}
		if object, ok := v.(map[string]any); ok && len(object) == 1 && forms.json != "string" {
			if wrapped, ok := object["$json"]; ok {
				v = wrapped
			}
		}
		return marshaled(t, v)
	case spannerpb.TypeCode_FLOAT32, spannerpb.TypeCode_FLOAT64:
		return floatText(t, code, fmt.Sprint(v))
	default:
		isNaN := code == spannerpb.TypeCode_NUMERIC && v == "NaN" // for which JSON has no number
		if _, isNumber := v.(json.Number); !isNaN && isNumber == (wantsString(code, forms)) {
			t.Fatalf("%v came as %T", code, v)
		}
		return fmt.Sprint(v)
	}
}

// wantsString reports whether values of a type, BOOL aside, are JSON strings.
func wantsString(code spannerpb.TypeCode, forms exportedForms) bool {
	switch code {
	case spannerpb.TypeCode_INT64:
		return forms.int64 == "string"
	case spannerpb.TypeCode_NUMERIC:
		return forms.numeric != "number"
	default:
		return true
	}
}

func marshaled(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func canonicalJSON(t *testing.T, text string) string {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return marshaled(t, v)
}

func floatText(t *testing.T, code spannerpb.TypeCode, text string) string {
	t.Helper()
	bits := 64
	if code == spannerpb.TypeCode_FLOAT32 {
		bits = 32
	}
	f, err := strconv.ParseFloat(text, bits)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return strconv.FormatFloat(f, 'g', -1, bits)
}

// csvRecords reads with encoding/csv. Which fields were in quotes it does not
// tell, but where they begin.
func (e exported) csvRecords(t *testing.T, fields []*spannerpb.StructType_Field, plain []byte) (records [][]string) {
	t.Helper()
	lines := bytes.SplitAfter(plain, []byte("\n"))
	r := csv.NewReader(bytes.NewReader(plain))
	r.Comma = e.flags.delimiter
	r.FieldsPerRecord = len(fields)
	for number := 0; ; number++ {
		values, err := r.Read()
		if errors.Is(err, io.EOF) {
			return records
		}
		if err != nil {
			t.Fatalf("%v in %q", err, plain)
		}
		if number == 0 && !e.flags.noHeader {
			for i, f := range fields {
				if values[i] != f.GetName() {
					t.Fatalf("header %q", values)
				}
			}
			continue
		}
		record := make([]string, len(fields))
		for i, f := range fields {
			line, column := r.FieldPos(i)
			isQuoted := len(lines[line-1]) >= column && lines[line-1][column-1] == '"'
			record[i] = e.csvText(t, f.GetType(), values[i], isQuoted)
		}
		records = append(records, record)
	}
}

func (e exported) csvText(t *testing.T, typ *spannerpb.Type, text string, isQuoted bool) string {
	t.Helper()
	if text == e.flags.null && !isQuoted {
		return "NULL"
	}
	switch code := typ.GetCode(); code {
	case spannerpb.TypeCode_ARRAY, spannerpb.TypeCode_STRUCT:
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		var v any
		if err := decoder.Decode(&v); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		return jsonText(t, typ, e.flags, v)
	case spannerpb.TypeCode_JSON:
		return canonicalJSON(t, text)
	case spannerpb.TypeCode_FLOAT32, spannerpb.TypeCode_FLOAT64:
		return floatText(t, code, text)
	default:
		return text
	}
}

func (e exported) avroRecords(t *testing.T, fields []*spannerpb.StructType_Field, file []byte) (records [][]string) {
	t.Helper()
	// The library knows no decimal of Google's precision; as plain bytes it reads
	// any. Names are what Google's import takes.
	file = bytes.Replace(file, []byte(`"logicalType":"decimal","precision":147455`), []byte(`"googlesType":"decimal","precision":147455`), -1)
	r, err := ocf.NewReader(bytes.NewReader(file), ocf.WithSchemaOpts(avro.WithLaxNames(nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	spelled := avroSpellings(t, r.Metadata()["avro.schema"])
	for {
		var object map[string]any
		err := r.Decode(&object)
		if errors.Is(err, io.EOF) {
			return records
		}
		if err != nil || len(object) != len(fields) {
			t.Fatalf("record %v: %v", object, err)
		}
		record := make([]string, len(fields))
		for i, f := range fields {
			record[i] = avroText(t, f.GetType(), object[spelled[f.GetName()]])
		}
		records = append(records, record)
	}
}

// avroSpellings returns the fields of columns.
func avroSpellings(t *testing.T, schema []byte) map[string]string {
	t.Helper()
	var s struct {
		Fields []struct{ Name, SpannerName string }
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		t.Fatal(err)
	}
	spelled := map[string]string{}
	for _, f := range s.Fields {
		spelled[cmp.Or(f.SpannerName, f.Name)] = f.Name
	}
	return spelled
}

// googleNumeric reads a number of PostgreSQL as Google's import does: 1 for NaN,
// or 0, the places, and the digits.
func googleNumeric(t *testing.T, b []byte) string {
	t.Helper()
	switch {
	case len(b) == 1 && b[0] == 1:
		return "NaN"
	case len(b) < 6 || b[0] != 0:
		t.Fatalf("%x is no number of Google's", b)
	}
	n := new(big.Int).SetBytes(b[5:])
	if b[5] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b[5:]))))
	}
	places := int(binary.BigEndian.Uint32(b[1:5]))
	return new(big.Rat).SetFrac(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(places)), nil)).FloatString(places)
}

// avroText brings a value as the Avro library decodes it to its common text.
func avroText(t *testing.T, typ *spannerpb.Type, v any) string {
	t.Helper()
	switch v := v.(type) {
	case nil:
		return "NULL"
	case []any:
		var elements []string
		for _, element := range v {
			elements = append(elements, avroText(t, typ.GetArrayElementType(), element))
		}
		return "[" + strings.Join(elements, ", ") + "]"
	case map[string]any:
		var members []string
		for _, f := range typ.GetStructType().GetFields() {
			members = append(members, avroText(t, f.GetType(), v[f.GetName()]))
		}
		return "{" + strings.Join(members, ", ") + "}"
	case []byte:
		if typ.GetCode() == spannerpb.TypeCode_NUMERIC {
			return googleNumeric(t, v)
		}
		return base64.StdEncoding.EncodeToString(v)
	case json.Number: // of a decimal
		return numericText(string(v))
	case *big.Rat:
		return numericText(v.FloatString(9))
	case big.Rat:
		return numericText(v.FloatString(9))
	case time.Time:
		if typ.GetCode() == spannerpb.TypeCode_DATE {
			return v.UTC().Format(time.DateOnly)
		}
		return v.UTC().Format(time.RFC3339Nano)
	case float32:
		return floatText(t, typ.GetCode(), strconv.FormatFloat(float64(v), 'g', -1, 32))
	case float64:
		return floatText(t, typ.GetCode(), strconv.FormatFloat(v, 'g', -1, 64))
	case string:
		if typ.GetCode() == spannerpb.TypeCode_JSON {
			return canonicalJSON(t, v)
		}
		return v
	case [16]byte:
		return fmt.Sprintf("%x-%x-%x-%x-%x", v[:4], v[4:6], v[6:8], v[8:10], v[10:])
	default:
		return fmt.Sprint(v)
	}
}

// numericText is a decimal as Spanner has it: no zeros at its end.
func numericText(text string) string {
	if strings.Contains(text, ".") {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	if text == "-0" {
		return "0"
	}
	return text
}

// wanted is the text that a value of a column has to come to.
func (e exported) wanted(t *testing.T, typ *spannerpb.Type, v *structpb.Value) string {
	t.Helper()
	text := plainText(t, typ, v)
	if e.kind == "csv" && typ.GetCode() == spannerpb.TypeCode_STRING {
		return strings.ReplaceAll(text, "\r\n", "\n") // as encoding/csv has it
	}
	return text
}

// plainText brings a value as Spanner sends it to the text that the readers of
// the output come to.
func plainText(t *testing.T, typ *spannerpb.Type, v *structpb.Value) string {
	t.Helper()
	if _, isNull := v.GetKind().(*structpb.Value_NullValue); isNull {
		return "NULL"
	}
	switch code := typ.GetCode(); code {
	case spannerpb.TypeCode_ARRAY:
		var elements []string
		for _, element := range v.GetListValue().GetValues() {
			elements = append(elements, plainText(t, typ.GetArrayElementType(), element))
		}
		return "[" + strings.Join(elements, ", ") + "]"
	case spannerpb.TypeCode_STRUCT:
		var members []string
		for i, f := range typ.GetStructType().GetFields() {
			members = append(members, plainText(t, f.GetType(), v.GetListValue().GetValues()[i]))
		}
		return "{" + strings.Join(members, ", ") + "}"
	case spannerpb.TypeCode_BOOL:
		return strconv.FormatBool(v.GetBoolValue())
	case spannerpb.TypeCode_FLOAT32, spannerpb.TypeCode_FLOAT64:
		if s := v.GetStringValue(); s != "" {
			return floatText(t, code, s)
		}
		return floatText(t, code, strconv.FormatFloat(v.GetNumberValue(), 'g', -1, 64))
	case spannerpb.TypeCode_JSON:
		return canonicalJSON(t, v.GetStringValue())
	default:
		return v.GetStringValue()
	}
}

// outputFiles returns the files of an output, those of a directory as its
// manifest has them.
func outputFiles(t *testing.T, path string) [][]byte {
	t.Helper()
	if m, err := output.ReadManifest(path); err == nil {
		var files [][]byte
		for _, f := range m.Tables[0].Files {
			files = append(files, readFile(t, filepath.Join(path, f.Name)))
		}
		return files
	}
	names, err := filepath.Glob(path)
	if err != nil || len(names) == 0 {
		t.Fatalf("no files match %s: %v", path, err)
	}
	var files [][]byte
	for _, name := range names {
		files = append(files, readFile(t, name))
	}
	return files
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
