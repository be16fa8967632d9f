package format_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/avro"
	"github.com/twmb/avro/ocf"

	"spanbulk/internal/format"
	"spanbulk/internal/schema"
)

// writeAvro makes a file with another library.
func writeAvro(t *testing.T, schema string, records ...map[string]any) []byte {
	t.Helper()
	s, err := avro.Parse(schema)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	w, err := ocf.NewWriter(&file, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if err := w.Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func readAvroFile(t *testing.T, target *format.Target, o format.DecodeOptions, file []byte) string {
	t.Helper()
	records, err := decodeAll(t, target, o, format.SplitOptions{Kind: format.Avro}, file)
	var b strings.Builder
	for _, r := range records {
		b.WriteString(strings.TrimPrefix(outcome(r), fmt.Sprintf("%d: insert-or-update ", r.Line)) + "\n")
	}
	if err != nil {
		fmt.Fprintf(&b, "error: %v\n", err)
	}
	return b.String()
}

// TestAvroOfOthers reads types that spanbulk does not write.
func TestAvroOfOthers(t *testing.T) {
	at := time.Date(1969, 12, 31, 23, 59, 59, 123_456_789, time.UTC)
	tests := []struct {
		column, typ string
		value       any
		want        string
	}{
		{"Time", `{"type":"long","logicalType":"timestamp-millis"}`, at.UnixMilli(), `Time="1969-12-31T23:59:59.123Z"`},
		{"Time", `{"type":"long","logicalType":"timestamp-micros"}`, at.UnixMicro(), `Time="1969-12-31T23:59:59.123456Z"`},
		{"Time", `{"type":"long","logicalType":"timestamp-nanos"}`, at.UnixNano(), `Time="1969-12-31T23:59:59.123456789Z"`},
		{"Time", `{"type":"long","logicalType":"timestamp-millis"}`, int64(1 << 60), `1:0: column Time (TIMESTAMP): outside the years 0001 to 9999 in UTC`},
		{"Time", `"string"`, "2026-01-31T12:00:00+01:00", `Time="2026-01-31T11:00:00Z"`},
		{"Time", `"long"`, int64(5), `error: the Avro schema does not fit: field "Time": long does not become column Time (TIMESTAMP)`},
		{"Time", `{"type":"long","logicalType":"local-timestamp-micros"}`, int64(5), `error: the Avro schema does not fit: field "Time": local-timestamp-micros on long does not become column Time (TIMESTAMP)`},
		{"Date", `{"type":"int","logicalType":"date"}`, int32(-1), `Date="1969-12-31"`},
		{"Date", `{"type":"int","logicalType":"date"}`, int32(2932897), `1:0: column Date (DATE): not a date such as 2026-01-31 that exists`},
		{"Date", `"int"`, int32(5), `error: the Avro schema does not fit: field "Date": int does not become column Date (DATE)`},
		{"Numeric", `{"type":"bytes","logicalType":"decimal","precision":10,"scale":2}`, big.NewRat(-12345, 100), `Numeric="-123.45"`},
		{"Numeric", `{"type":"fixed","name":"f","size":20,"logicalType":"decimal","precision":40,"scale":2}`, big.NewRat(-1, 100), `Numeric="-0.01"`},
		{"Numeric", `{"type":"bytes","logicalType":"decimal","precision":12,"scale":12}`, big.NewRat(1, 1_000_000_000_000), `1:0: column Numeric (NUMERIC): more than 9 digits after the point, which NUMERIC cannot hold`},
		{"Numeric", `"long"`, int64(-7), `Numeric="-7"`},
		{"Numeric", `"string"`, "1e2", `Numeric="100"`},
		{"Numeric", `"double"`, 1.5, `error: the Avro schema does not fit: field "Numeric": double does not become column Numeric (NUMERIC)`},
		{"PgNumeric", `{"type":"bytes","logicalType":"decimal","precision":10,"scale":3}`, big.NewRat(15, 10), `PgNumeric="1.500"`},
		{"Uuid", `{"type":"string","logicalType":"uuid"}`, "7D9F2A4E-8F1B-4C57-9D56-0A1B2C3D4E5F", `Uuid="7d9f2a4e-8f1b-4c57-9d56-0a1b2c3d4e5f"`},
		{"Uuid", `{"type":"fixed","name":"u","size":16}`, [16]byte{0x7d, 0x9f, 15: 0x5f}, `Uuid="7d9f0000-0000-0000-0000-00000000005f"`},
		{"Float", `"float"`, float32(1.5), `Float=1.5`},
		{"Float", `"int"`, int32(7), `Float=7`},
		{"Float", `"long"`, int64(1<<53 + 1), `1:0: column Float (FLOAT64): a number that a 64-bit float does not hold exactly`},
		{"Single", `"double"`, 3.14, `Single=3.140000104904175`},
		{"Single", `"double"`, 1e300, `1:0: column Single (FLOAT32): out of the range of a 32-bit float`},
		{"Bool", `"boolean"`, true, `Bool=true`},
		{"Bool", `"int"`, int32(1), `error: the Avro schema does not fit: field "Bool": int does not become column Bool (BOOL)`},
		{"Bytes", `{"type":"fixed","name":"b","size":2}`, [2]byte{0xff, 0xef}, `Bytes="/+8="`},
		{"Bytes", `"string"`, "_-8", `Bytes="/+8="`},
		{"Part", `{"type":"enum","name":"e","symbols":["ONE","TWO"]}`, "TWO", `Part="TWO"`},
		{"Enum", `{"type":"enum","name":"e","symbols":["ONE","TWO"]}`, "TWO", `error: the Avro schema does not fit: field "Enum": enum does not become column Enum (ENUM<shop.Status>)`},
		{"Enum", `"int"`, int32(2), `Enum="2"`},
		{"Part", `["string","null"]`, nil, `Part=NULL`},
		{"Part", `["int","string"]`, "text", `Part="text"`},
		{"Part", `["int","string"]`, int32(5), `1:0: column Part (STRING): a branch of the union that the column does not take`},
		{"Ints", `{"type":"array","items":"int"}`, []any{int32(1), int32(2)}, `Ints=["1" "2"]`},
		{"Ints", `["null",{"type":"array","items":["long","null"]}]`, []any{int64(1), nil}, `Ints=["1" NULL]`},
		{"Ints", `{"type":"array","items":"double"}`, []any{1.5}, `error: the Avro schema does not fit: field "Ints": array of double does not become column Ints (ARRAY<INT64>)`},
		{"Ints", `{"type":"map","values":"int"}`, map[string]any{"a": int32(1)}, `error: the Avro schema does not fit: field "Ints": map does not become column Ints (ARRAY<INT64>)`},
		{"Json", `"string"`, `{"a": [1]}`, `Json="{\"a\": [1]}"`},
		{"Json", `"string"`, `{"a":`, `1:0: column Json (JSON): not JSON`},
		{"Sum", `"long"`, int64(1), ``},
		{"Other", `"long"`, int64(1), `error: the Avro schema does not fit: field "Other": table Orders has no such column`},
		{"ID", `"long"`, int64(1), `error: the Avro schema does not fit: the fields "Id" and "ID" are one column`},
	}
	for _, c := range tests {
		part := `{"name":"Part","type":"string"},`
		record := map[string]any{"Id": int64(1), "Part": "a", c.column: c.value}
		want := `Id="1" Part="a" ` + c.want
		switch {
		case c.column == "Part":
			part, want = "", `Id="1" `+c.want
		case c.want == "":
			want = `Id="1" Part="a"`
		}
		if strings.HasPrefix(c.want, "error:") || strings.HasPrefix(c.want, "1:0:") {
			want = c.want
		}
		file := writeAvro(t, fmt.Sprintf(`{"type":"record","name":"R","fields":[{"name":"Id","type":"long"},%s{"name":%q,"type":%s}]}`, part, c.column, c.typ), record)
		if got := readAvroFile(t, refusalTable(schema.GoogleSQL), format.DecodeOptions{}, file); got != want+"\n" {
			t.Errorf("%s of %s:\n got %s\nwant %s", c.column, c.typ, got, want)
		}
	}
}

// TestAvroSkips reads past fields that no column has, of all types, and past the
// rest of a record whose value is refused.
func TestAvroSkips(t *testing.T) {
	file := writeAvro(t, `{"type":"record","name":"R","fields":[
		{"name":"Numeric","type":{"type":"bytes","logicalType":"decimal","precision":14,"scale":12}},
		{"name":"a","type":{"type":"array","items":{"type":"map","values":["null","R"]}}},
		{"name":"e","type":{"type":"enum","name":"e","symbols":["X"]}},
		{"name":"f","type":{"type":"fixed","name":"f","size":3}},
		{"name":"d","type":"double"},{"name":"g","type":"float"},{"name":"b","type":"boolean"},{"name":"n","type":"null"},
		{"name":"Id","type":"long"},{"name":"Part","type":"string"}]}`,
		avroFiller(1, big.NewRat(1, 1_000_000_000_000)), avroFiller(2, big.NewRat(3, 2)))
	got := readAvroFile(t, refusalTable(schema.GoogleSQL), format.DecodeOptions{IgnoreUnknown: true}, file)
	want := "1:0: column Numeric (NUMERIC): more than 9 digits after the point, which NUMERIC cannot hold\nId=\"2\" Part=\"a\" Numeric=\"1.5\"\n"
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func avroFiller(id int64, numeric *big.Rat) map[string]any {
	return map[string]any{"Numeric": numeric, "a": []any{map[string]any{"k": nil}}, "e": "X", "f": [3]byte{1, 2, 3}, "d": 1.0, "g": float32(1), "b": true, "n": nil, "Id": id, "Part": "a"}
}

// TestAvroTables lets records name table and operation.
func TestAvroTables(t *testing.T) {
	file := writeAvro(t, `{"type":"record","name":"R","fields":[{"name":"Id","type":"long"},{"name":"t","type":["null","string"]},{"name":"Part","type":"string"},{"name":"op","type":{"type":"enum","name":"op","symbols":["delete","insert"]}}]}`,
		map[string]any{"Id": int64(1), "t": "Orders", "Part": "a", "op": "insert"},
		map[string]any{"Id": int64(2), "t": "Nothing", "Part": "a", "op": "insert"},
		map[string]any{"Id": int64(3), "t": nil, "Part": "a", "op": "insert"},
		map[string]any{"Id": int64(4), "t": "Orders", "Part": "a", "op": "delete"})
	target := refusalTable(schema.GoogleSQL)
	o := format.DecodeOptions{TableField: "t", OperationField: "op", Resolve: func(name string) (*format.Target, error) {
		if name == "Orders" {
			return target, nil
		}
		return nil, nil
	}}
	want := `1: insert Id="1" Part="a"
2:0: field "t" names no table of the database
3:0: field "t" names no table of the database
4: delete Id="4" Part="a"
`
	if got := readAvroFile(t, nil, o, file); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// container makes an Avro file by hand.
func container(schema, codec string, count int64, block []byte) []byte {
	file := []byte("Obj\x01")
	file = binary.AppendVarint(file, 2)
	for _, s := range []string{"avro.schema", schema, "avro.codec", codec} {
		file = append(binary.AppendVarint(file, int64(len(s))), s...)
	}
	file = append(append(file, 0), make([]byte, 16)...)
	file = binary.AppendVarint(binary.AppendVarint(file, count), int64(len(block)))
	return append(append(file, block...), make([]byte, 16)...)
}

const twoFields = `{"type":"record","name":"R","fields":[{"name":"Id","type":"long"},{"name":"Part","type":"string"}]}`

func TestAvroBzip2(t *testing.T) {
	block, err := base64.StdEncoding.DecodeString("QlpoOTFBWSZTWYTvC54AAABBABQAMAAgADDNNBjI4ScXckU4UJCE7wue")
	if err != nil {
		t.Fatal(err)
	}
	got := readAvroFile(t, refusalTable(schema.GoogleSQL), format.DecodeOptions{}, container(twoFields, "bzip2", 2, block))
	if want := "Id=\"1\" Part=\"a\"\nId=\"2\" Part=\"b\"\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestDamagedAvro: what cannot be read on from says so, and all before it is
// read.
func TestDamagedAvro(t *testing.T) {
	whole := container(twoFields, "null", 2, []byte("\x02\x02a\x04\x02b"))
	tests := []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, ""},
		{"no Avro", []byte("Id,Part\n"), "error: not an Avro object container file\n"},
		{"cut in the header", whole[:50], "error: the Avro file is cut off: it ends inside its header\n"},
		{"cut in a block", whole[:len(whole)-18], "error: the Avro file is cut off: it ends inside a block\n"},
		{"cut in the marker", whole[:len(whole)-1], "error: the Avro file is cut off: it ends inside a block\n"},
		{"header only", whole[:len(whole)-24], ""},
		{"wrong marker", append(bytes.Clone(whole[:len(whole)-1]), 1), "error: the Avro file is damaged: the marker between blocks is missing\n"},
		{"too few records", container(twoFields, "null", 3, []byte("\x02\x02a\x04\x02b")), "Id=\"1\" Part=\"a\"\nId=\"2\" Part=\"b\"\nerror: the Avro file is damaged: a record does not end where it should\n"},
		{"too many records", container(twoFields, "null", 1, []byte("\x02\x02a\x04\x02b")), "Id=\"1\" Part=\"a\"\nerror: the Avro file is damaged: a record does not end where it should\n"},
		{"string too long", container(twoFields, "null", 1, []byte("\x02\x7ea")), "error: the Avro file is damaged: a record does not end where it should\n"},
		{"codec", container(twoFields, "lzo", 0, nil), "error: the Avro file's codec \"lzo\" is none of null, deflate, snappy, zstandard, bzip2\n"},
		{"snappy", container(twoFields, "snappy", 1, []byte("nonsense")), "error: the Avro file is damaged: a snappy block cannot be decompressed\n"},
		{"deflate", container(twoFields, "deflate", 1, []byte("nonsense")), "error: the Avro file is damaged: a deflate block cannot be decompressed\n"},
		{"no record", container(`"string"`, "null", 0, nil), "error: the Avro file's schema cannot be used: it describes string, not a record\n"},
		{"no schema", container(`{`, "null", 0, nil), "error: the Avro file's schema cannot be used: it is not JSON\n"},
		{"unknown type", container(`{"type":"record","name":"R","fields":[{"name":"Id","type":"Other"}]}`, "null", 0, nil), "error: the Avro file's schema cannot be used: field \"Id\": it names the type \"Other\" and does not define it\n"},
		{"records of nothing", container(`{"type":"record","name":"R","fields":[{"name":"Id","type":"null"}]}`, "null", 1<<60, []byte{0}), "error: the Avro file is damaged: a record does not end where it should\n"},
	}
	for _, c := range tests {
		if got := readAvroFile(t, refusalTable(schema.GoogleSQL), format.DecodeOptions{}, c.file); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestGoogleExport reads files of Google's own export.
func TestGoogleExport(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "shared", "data", "google-avro-export")
	file, err := os.ReadFile(filepath.Join(dir, "Float32Table.avro"))
	if err != nil {
		t.Skip("no file of Google's export beside the project: ", err)
	}
	got := readAvroFile(t, targetOf(field("Key", stringType), field("Float32Value", float32Type)), format.DecodeOptions{}, file)
	golden(t, "google-float32", []byte(got))
}
