package format_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"github.com/twmb/avro/ocf"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/format"
	"spanbulk/internal/randtest"
	"spanbulk/internal/wire"
)

var fixedSync = [16]byte{'f', 'i', 'x', 'e', 'd', ' ', 's', 'y', 'n', 'c'}

func newAvro(tb testing.TB, o format.AvroOptions, columns ...*spannerpb.StructType_Field) format.Format {
	tb.Helper()
	f, err := format.NewAvro(columns, o)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// avroSchema returns the schema in a file, as it was written.
func avroSchema(tb testing.TB, file []byte) []byte {
	tb.Helper()
	r, err := ocf.NewReader(bytes.NewReader(file))
	if err != nil {
		tb.Fatal(err)
	}
	return r.Metadata()["avro.schema"]
}

// readAvro reads a file with a library that knows nothing of ours.
func readAvro(tb testing.TB, file []byte) []map[string]any {
	tb.Helper()
	r, err := ocf.NewReader(bytes.NewReader(file))
	if err != nil {
		tb.Fatal(err)
	}
	defer r.Close()
	var records []map[string]any
	for {
		var record map[string]any
		err := r.Decode(&record)
		if errors.Is(err, io.EOF) {
			return records
		}
		if err != nil {
			tb.Fatalf("record %d: %v", len(records), err)
		}
		records = append(records, record)
	}
}

// TestAvroGolden shows the schema of each type, and the bytes of each value
// with what the library reads them as.
func TestAvroGolden(t *testing.T) {
	for _, o := range []struct {
		prefix  string
		options format.AvroOptions
	}{
		{"avro", format.AvroOptions{}},
		{"avro-micros-days", format.AvroOptions{Timestamp: "micros", Date: "days"}},
		{"avro-nanos", format.AvroOptions{Timestamp: "nanos"}},
	} {
		for _, c := range typeCases {
			if hasTime := strings.Contains(c.name, "timestamp") || strings.Contains(c.name, "date"); o.prefix != "avro" && !hasTime {
				continue
			}
			t.Run(o.prefix+"-"+c.name, func(t *testing.T) {
				f := newAvro(t, o.options, field("v", c.typ))
				out := append(avroSchema(t, f.Header()), '\n')
				for _, v := range c.values {
					datum, err := f.NewEncoder().AppendRow(nil, encodeRow(t, v))
					if err != nil {
						out = fmt.Appendf(out, "%v: error: %v\n", v.AsInterface(), err)
						continue
					}
					record := readAvro(t, encodeAll(t, f, 1, encodeRow(t, v)))[0]
					out = fmt.Appendf(out, "%x = %s\n", datum, showAvro(record["v"]))
				}
				golden(t, o.prefix+"-"+c.name, out)
			})
		}
	}
}

func showAvro(v any) string {
	switch v := v.(type) {
	case *big.Rat:
		return v.FloatString(9)
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case []byte:
		return fmt.Sprintf("%q", v)
	case float64, float32:
		return fmt.Sprint(v)
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = showAvro(e)
		}
		return "[" + strings.Join(parts, " ") + "]"
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%T %v", v, v)
	}
	return string(b)
}

func TestAvroReadBack(t *testing.T) {
	rng := randtest.New(t)
	var columns []*spannerpb.StructType_Field
	for _, c := range typeCases {
		columns = append(columns, field(strings.ReplaceAll(c.name, "-", "_"), c.typ))
	}
	for _, codec := range []format.AvroCodec{"", format.AvroNull, format.AvroDeflate, format.AvroSnappy, format.AvroZstandard} {
		t.Run("codec="+string(codec), func(t *testing.T) {
			f := newAvro(t, format.AvroOptions{Codec: codec}, columns...)
			var rows [][]wire.Value
			var want []map[string]any
			for range 200 {
				row, record := make([]*structpb.Value, len(columns)), map[string]any{}
				for i, c := range typeCases {
					row[i] = c.values[rng.IntN(len(c.values))]
					record[columns[i].Name] = plainAvro(c.typ, row[i])
				}
				rows, want = append(rows, encodeRow(t, row...)), append(want, record)
			}
			got := readAvro(t, encodeAll(t, f, 30, rows...))
			if len(got) != len(want) {
				t.Fatalf("%d records came back", len(got))
			}
			for i := range want {
				for name, w := range want[i] {
					if g := normalAvro(got[i][name]); !reflect.DeepEqual(g, w) {
						t.Fatalf("row %d, %s: got %#v, want %#v", i, name, g, w)
					}
				}
			}
		})
	}
}

// normalAvro turns what reflect cannot compare into text.
func normalAvro(v any) any {
	switch v := v.(type) {
	case *big.Rat:
		return v.RatString()
	case float64:
		return fmt.Sprint(v)
	case float32:
		return fmt.Sprint(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = normalAvro(e)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			out[k] = normalAvro(e)
		}
		return out
	case [16]byte:
		return fmt.Sprintf("%x-%x-%x-%x-%x", v[:4], v[4:6], v[6:8], v[8:10], v[10:])
	}
	return v
}

func plainAvro(t *spannerpb.Type, v *structpb.Value) any {
	if _, ok := v.GetKind().(*structpb.Value_NullValue); ok {
		return nil
	}
	switch t.GetCode() {
	case spannerpb.TypeCode_BOOL:
		return v.GetBoolValue()
	case spannerpb.TypeCode_INT64, spannerpb.TypeCode_ENUM:
		var n int64
		fmt.Sscan(v.GetStringValue(), &n)
		return n
	case spannerpb.TypeCode_FLOAT32, spannerpb.TypeCode_FLOAT64:
		f := v.GetNumberValue()
		switch v.GetStringValue() {
		case "NaN":
			f = math.NaN()
		case "Infinity":
			f = math.Inf(1)
		case "-Infinity":
			f = math.Inf(-1)
		}
		if t.GetCode() == spannerpb.TypeCode_FLOAT32 {
			return fmt.Sprint(float32(f))
		}
		return fmt.Sprint(f)
	case spannerpb.TypeCode_NUMERIC:
		if t.GetTypeAnnotation() == 0 {
			r, _ := new(big.Rat).SetString(v.GetStringValue())
			return r.RatString()
		}
		return v.GetStringValue()
	case spannerpb.TypeCode_BYTES, spannerpb.TypeCode_PROTO:
		b, _ := base64.StdEncoding.DecodeString(v.GetStringValue())
		return b
	case spannerpb.TypeCode_ARRAY:
		out := []any{}
		for _, e := range v.GetListValue().GetValues() {
			out = append(out, plainAvro(t.GetArrayElementType(), e))
		}
		return out
	case spannerpb.TypeCode_STRUCT:
		out := map[string]any{}
		for i, e := range v.GetListValue().GetValues() {
			f := t.GetStructType().GetFields()[i]
			out[f.GetName()] = plainAvro(f.GetType(), e)
		}
		return out
	default:
		return v.GetStringValue()
	}
}

// TestAvroTimes compares times and dates with package time.
func TestAvroTimes(t *testing.T) {
	rng := randtest.New(t)
	columns := columnsOf(field("t", timestampType), field("d", dateType))
	first, last := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).Unix(), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC).Unix()
	micros := newAvro(t, format.AvroOptions{Timestamp: "micros", Date: "days"}, columns...)
	nanos := newAvro(t, format.AvroOptions{Timestamp: "nanos", Date: "days"}, columns...)
	for i := range 5000 {
		at := time.Unix(first+rng.Int64N(last-first+1), 1000*rng.Int64N(1e6)).UTC()
		if i%10 == 0 {
			at = at.Truncate(24 * time.Hour).Add(-time.Second) // ends of years and months
		}
		row := encodeRow(t, str(at.Format(time.RFC3339Nano)), str(at.Format(time.DateOnly)))
		wantDays := int64(math.Floor(float64(at.Unix()) / 86400))
		checkDatum(t, micros, row, at.UnixMicro(), wantDays)
		if at.Year() > 1677 && at.Year() < 2262 {
			at = at.Add(time.Duration(rng.IntN(1000)))
			row[0] = encode(t, str(at.Format(time.RFC3339Nano)))
			checkDatum(t, nanos, row, at.UnixNano(), wantDays)
		}
	}
	for _, at := range []time.Time{time.Unix(0, math.MinInt64), time.Unix(0, math.MaxInt64), time.Unix(0, -1), time.Unix(0, 0)} {
		row := encodeRow(t, str(at.UTC().Format(time.RFC3339Nano)), str("1970-01-01"))
		checkDatum(t, nanos, row, at.UnixNano(), 0)
	}
	for _, at := range []time.Time{time.Unix(0, math.MinInt64).Add(-1), time.Unix(0, math.MaxInt64).Add(1)} {
		testRefusal(t, newAvro(t, format.AvroOptions{Timestamp: "nanos"}, field("v", timestampType)),
			encode(t, str(at.UTC().Format(time.RFC3339Nano))), "column v (TIMESTAMP): timestamp is outside")
	}
	testRefusal(t, newAvro(t, format.AvroOptions{Timestamp: "micros"}, field("v", timestampType)),
		encode(t, str("2026-01-31T00:00:00.0000001Z")), "micros cannot hold")
}

func checkDatum(t *testing.T, f format.Format, row []wire.Value, want ...int64) {
	t.Helper()
	datum, err := f.NewEncoder().AppendRow(nil, row)
	if err != nil {
		t.Fatalf("%q: %v", row, err)
	}
	for i, w := range want {
		// A value of a union is its branch and a zigzag varint.
		if datum[0] != 2 {
			t.Fatalf("%q: branch %d", row, datum[0])
		}
		var n uint64
		var shift uint
		at := 1
		for ; ; at++ {
			n |= uint64(datum[at]&0x7f) << shift
			shift += 7
			if datum[at] < 0x80 {
				break
			}
		}
		if got := int64(n>>1) ^ -int64(n&1); got != w {
			t.Fatalf("%q: value %d is %d, want %d", row, i, got, w)
		}
		datum = datum[at+1:]
	}
}

func TestAvroNumeric(t *testing.T) {
	rng := randtest.New(t)
	f := newAvro(t, format.AvroOptions{}, field("v", numericType))
	for range 1000 {
		n := new(big.Int)
		for range rng.IntN(39) {
			n.Mul(n, big.NewInt(10)).Add(n, big.NewInt(rng.Int64N(10)))
		}
		if rng.IntN(2) == 0 {
			n.Neg(n)
		}
		want := new(big.Rat).SetFrac(n, big.NewInt(1e9))
		text := want.FloatString(9)
		if rng.IntN(2) == 0 {
			text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
		}
		got := readAvro(t, encodeAll(t, f, 1, encodeRow(t, str(text))))[0]["v"].(*big.Rat)
		if got.Cmp(want) != 0 {
			t.Fatalf("%s came back as %s", text, got.FloatString(9))
		}
	}
	for _, text := range []string{"", "-", ".", "1.", ".5", "1e5", "+1", "1.0000000001", "100000000000000000000000000000", "NaN", "1,5", "1.5x"} {
		testRefusal(t, f, wire.AppendString(nil, text), "column v (NUMERIC): text is not a NUMERIC")
	}
}

func TestAvroRefusesValues(t *testing.T) {
	for _, c := range badValues {
		if c.typ == jsonType {
			continue // the case's text of two kinds is the same
		}
		t.Run(c.name, func(t *testing.T) {
			testRefusal(t, newAvro(t, format.AvroOptions{}, field("v", c.typ)), c.value, c.want)
		})
	}
	for _, c := range []struct {
		typ    *spannerpb.Type
		text   string
		want   string
		option format.AvroOptions
	}{
		{int64Type, "9223372036854775808", "does not fit INT64", format.AvroOptions{}},
		{int64Type, "-9223372036854775809", "does not fit INT64", format.AvroOptions{}},
		{int64Type, "99999999999999999999", "does not fit INT64", format.AvroOptions{}},
		{bytesType, "AAA", "not base64", format.AvroOptions{}},
		{bytesType, "=", "not base64", format.AvroOptions{}},
		{bytesType, "A===", "not base64", format.AvroOptions{}},
		{bytesType, "AA==\n", "not base64", format.AvroOptions{}},
		{bytesType, "-_-_", "not base64", format.AvroOptions{}},
		{dateType, "2026-02-29", "not a date", format.AvroOptions{Date: "days"}},
		{dateType, "2026-13-01", "not a date", format.AvroOptions{Date: "days"}},
		{dateType, "2026-1-01x", "not a date", format.AvroOptions{Date: "days"}},
		{dateType, "0000-01-01", "not a date", format.AvroOptions{Date: "days"}},
		{timestampType, "2026-01-01T00:00:00", "not a timestamp", format.AvroOptions{Timestamp: "micros"}},
		{timestampType, "2026-01-01T24:00:00Z", "not a timestamp", format.AvroOptions{Timestamp: "micros"}},
		{timestampType, "2026-01-01T00:00:00.Z", "not a timestamp", format.AvroOptions{Timestamp: "nanos"}},
		{timestampType, "2026-01-01T00:00:00.1234567890Z", "not a timestamp", format.AvroOptions{Timestamp: "nanos"}},
	} {
		testRefusal(t, newAvro(t, c.option, field("v", c.typ)), wire.AppendString(nil, c.text), c.want)
	}
	notNull := format.AvroOptions{Table: format.AvroTable{Name: "T", Columns: []format.AvroTableColumn{{NotNull: true}}}}
	testRefusal(t, newAvro(t, notNull, field("v", int64Type)), wire.AppendNull(nil), "column v (INT64): NULL in a NOT NULL column")
}

func TestAvroRefusesOptions(t *testing.T) {
	for _, c := range []struct {
		columns []*spannerpb.StructType_Field
		o       format.AvroOptions
		want    string
	}{
		{columnsOf(field("", int64Type)), format.AvroOptions{}, `avro needs a name for every column`},
		{columnsOf(field("s", arrayOf(structOf(field("", int64Type))))), format.AvroOptions{}, `avro needs a name for every column`},
		{columnsOf(field("a", int64Type)), format.AvroOptions{Table: format.AvroTable{Columns: make([]format.AvroTableColumn, 2)}}, "2 columns for 1"},
		{columnsOf(field("a", int64Type)), format.AvroOptions{Codec: "bzip2"}, "avro codec"},
		{columnsOf(field("a", int64Type)), format.AvroOptions{Timestamp: "millis"}, "avro timestamp"},
		{columnsOf(field("a", int64Type)), format.AvroOptions{Date: "string[]"}, "avro date"},
		{columnsOf(field("a", int64Type)), format.AvroOptions{Numeric: "bytes"}, "avro numeric"},
	} {
		if _, err := format.NewAvro(c.columns, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got error %v, want one with %q", err, c.want)
		}
	}
}

// TestAvroTable shows the properties of a table's schema in both dialects.
func TestAvroTable(t *testing.T) {
	columns := columnsOf(field("CustomerId", int64Type), field("OrderId", stringType), field("Tags", arrayOf(stringType)), field("Total", numericType), field("Doubled", numericType))
	for _, o := range []format.AvroTable{
		{
			Name: "sales.Orders", Parent: "sales.Customers", OnDeleteCascade: true,
			PrimaryKey:  []format.AvroKeyPart{{Column: "CustomerId"}, {Column: "OrderId", Descending: true}},
			Indexes:     []string{"CREATE INDEX `sales`.`ByTotal` ON `sales`.`Orders`(`Total` DESC) STORING (`Tags`)"},
			ForeignKeys: []string{"ALTER TABLE `sales`.`Orders` ADD CONSTRAINT `FK` FOREIGN KEY (`CustomerId`) REFERENCES `Customers` (`Id`)"},
			Checks:      []string{"CONSTRAINT `Positive` CHECK (Total > 0)"},
			Columns: []format.AvroTableColumn{
				{SQLType: "INT64", NotNull: true, Identity: &format.AvroIdentity{Kind: "BIT_REVERSED_POSITIVE_SEQUENCE", Start: "1000"}}, {SQLType: "STRING(36)", NotNull: true, DefaultExpression: "GENERATE_UUID()"},
				{SQLType: "ARRAY<STRING(MAX)>"}, {SQLType: "NUMERIC"},
				{SQLType: "NUMERIC", GenerationExpression: "Total * 2", Stored: true}},
		},
		{
			Name: "orders", PostgreSQL: true, PrimaryKey: []format.AvroKeyPart{{Column: "CustomerId"}, {Column: "OrderId"}},
			Columns: []format.AvroTableColumn{
				{SQLType: "bigint", NotNull: true}, {SQLType: "character varying(36)", NotNull: true},
				{SQLType: "character varying[]"}, {SQLType: "numeric", Hidden: true}, {SQLType: "numeric", Options: []string{"allow_commit_timestamp=TRUE"}}},
		},
		{},
	} {
		f := newAvro(t, format.AvroOptions{Table: o, Sync: fixedSync}, columns...)
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, avroSchema(t, f.Header()), "", "  "); err != nil {
			t.Fatal(err)
		}
		pretty.WriteByte('\n')
		golden(t, "avro-table-"+strings.ReplaceAll(o.Name, ".", "-"), pretty.Bytes())
		if !bytes.HasSuffix(f.Header(), fixedSync[:]) {
			t.Error("the sync marker is not the one asked for")
		}
	}
}

// TestAvroLikeGoogle compares a schema with that in a file of Google's own
// export: every property there is in ours, with the same value.
func TestAvroLikeGoogle(t *testing.T) {
	file, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "data", "google-avro-export", "Float32Table.avro"))
	if err != nil {
		t.Skip("Float32Table.avro is not here")
	}
	f := newAvro(t, format.AvroOptions{Codec: format.AvroSnappy, Table: format.AvroTable{
		Name: "Float32Table", PrimaryKey: []format.AvroKeyPart{{Column: "Key"}},
		Columns: []format.AvroTableColumn{{SQLType: "STRING(MAX)", NotNull: true}, {SQLType: "FLOAT32"}},
	}}, field("Key", stringType), field("Float32Value", float32Type))
	var want, got map[string]any
	if err := json.Unmarshal(avroSchema(t, file), &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(avroSchema(t, f.Header()), &got); err != nil {
		t.Fatal(err)
	}
	delete(got, "spannerName") // of newer versions
	for _, f := range got["fields"].([]any) {
		delete(f.(map[string]any), "hidden")
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}

	// Its records, encoded by us, are the same records.
	records := readAvro(t, file)
	if len(records) == 0 {
		t.Fatal("no records in Google's file")
	}
	var rows [][]wire.Value
	for _, r := range records {
		value := null
		switch f, ok := r["Float32Value"].(float32); {
		case ok && math.IsNaN(float64(f)):
			value = str("NaN")
		case ok && math.IsInf(float64(f), 0):
			value = str(strings.TrimPrefix(strings.Replace(fmt.Sprint(f), "Inf", "Infinity", 1), "+"))
		case ok:
			value = num(float64(f))
		}
		rows = append(rows, encodeRow(t, str(r["Key"].(string)), value))
	}
	ours := readAvro(t, encodeAll(t, f, 4, rows...))
	if fmt.Sprint(ours) != fmt.Sprint(records) {
		t.Errorf("got  %v\nwant %v", ours, records)
	}
}

func BenchmarkAvro(b *testing.B) {
	for _, o := range []format.AvroOptions{{Timestamp: "string"}, {Timestamp: "nanos"}} {
		b.Run("timestamp="+o.Timestamp, func(b *testing.B) {
			benchmarkRows(b, newAvro(b, o, benchColumns...), len(benchColumns))
		})
	}
}
