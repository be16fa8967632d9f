package format_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/format"
	"spanbulk/internal/randtest"
	"spanbulk/internal/wire"
)

func newCSV(tb testing.TB, o format.CSVOptions, columns ...*spannerpb.StructType_Field) format.Format {
	tb.Helper()
	f, err := format.NewCSV(columns, o, format.ValueOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

func TestCSVGolden(t *testing.T) {
	for _, c := range typeCases {
		t.Run(c.name, func(t *testing.T) {
			f := newCSV(t, format.CSVOptions{}, field("n", int64Type), field("v", c.typ))
			var rows [][]wire.Value
			for i, v := range c.values {
				rows = append(rows, encodeRow(t, str(fmt.Sprint(i)), v))
			}
			golden(t, "csv-"+c.name, encodeAll(t, f, 2, rows...))
		})
	}
}

func TestCSVOptions(t *testing.T) {
	columns := columnsOf(field("id", int64Type), field("a,b", stringType), field("", float64Type), field("l", arrayOf(stringType)))
	rows := [][]wire.Value{
		encodeRow(t, str("-1"), str("x,y"), num(1.5), list(str("p"), str("q"))),
		encodeRow(t, null, str(""), null, null),
		encodeRow(t, null, str(`\N`), str("NaN"), list()),
		encodeRow(t, str("2"), str("it's\tone"), num(-2), list(null)),
	}
	for _, c := range []struct {
		name string
		o    format.CSVOptions
		want string
	}{
		{"plain", format.CSVOptions{},
			"id,\"a,b\",\"\",l\n-1,\"x,y\",1.5,\"[\"\"p\"\",\"\"q\"\"]\"\n,\"\",,\n,\\N,NaN,[]\n2,\"it's\tone\",-2,[null]\n"},
		{"null", format.CSVOptions{Null: `\N`, NoHeader: true},
			"-1,\"x,y\",1.5,\"[\"\"p\"\",\"\"q\"\"]\"\n\\N,\"\",\\N,\\N\n\\N,\"\\N\",NaN,[]\n2,\"it's\tone\",-2,[null]\n"},
		{"tab, CRLF", format.CSVOptions{Delimiter: `\t`, CRLF: true, NoHeader: true},
			"-1\tx,y\t1.5\t\"[\"\"p\"\",\"\"q\"\"]\"\r\n\t\"\"\t\t\r\n\t\\N\tNaN\t[]\r\n2\t\"it's\tone\"\t-2\t[null]\r\n"},
		{"quote", format.CSVOptions{Quote: "'", NoHeader: true},
			"-1,'x,y',1.5,'[\"p\",\"q\"]'\n,'',,\n,\\N,NaN,[]\n2,'it''s\tone',-2,[null]\n"},
		{"delimiter that numbers have", format.CSVOptions{Delimiter: "-", NoHeader: true},
			"\"-1\"-x,y-1.5-\"[\"\"p\"\",\"\"q\"\"]\"\n-\"\"--\n-\\N-NaN-[]\n2-\"it's\tone\"-\"-2\"-[null]\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := encodeAll(t, newCSV(t, c.o, columns...), 3, rows...)
			if string(got) != c.want {
				t.Errorf("got\n%q, want\n%q", got, c.want)
			}
		})
	}
}

func TestCSVOptionsValidate(t *testing.T) {
	for _, o := range []format.CSVOptions{
		{Delimiter: ",,"}, {Delimiter: "\n"}, {Delimiter: "é"}, {Delimiter: `"`}, {Quote: ","}, {Quote: "\r"},
		{Null: "a,b"}, {Null: `"`}, {Null: "\n"}, {Null: "\xff"}, {Delimiter: ";", Null: ";"},
	} {
		if err := o.Validate(); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
	for _, o := range []format.CSVOptions{{}, {Delimiter: ";", Null: ","}, {Delimiter: "\t"}, {Quote: "|"}} {
		if err := o.Validate(); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestCSVRefusesValues(t *testing.T) {
	for _, c := range badValues {
		t.Run(c.name, func(t *testing.T) {
			testRefusal(t, newCSV(t, format.CSVOptions{}, field("v", c.typ)), c.value, c.want)
		})
	}
	if _, err := format.NewCSV(columnsOf(field("a", int64Type), field("a", int64Type)), format.CSVOptions{}, format.ValueOptions{}); err == nil {
		t.Error("a repeated column was taken")
	}
}

// readCSV reads with encoding/csv, and then with a scan for quotes tells the
// fields that were quoted from those that were not.
func readCSV(t *testing.T, data []byte) (records [][]string, quoted [][]bool) {
	t.Helper()
	r := csv.NewReader(bytes.NewReader(data))
	records, err := r.ReadAll()
	if err != nil {
		t.Fatalf("%v in\n%s", err, data)
	}
	fields, begins, in := []bool(nil), true, false
	for _, b := range data {
		if begins {
			fields = append(fields, b == '"')
			begins = false
		}
		switch {
		case b == '"':
			in = !in
		case !in && b == ',':
			begins = true
		case !in && b == '\n':
			quoted, fields, begins = append(quoted, fields), nil, true
		}
	}
	return records, quoted
}

// TestCSVReadBack writes random rows of every type and reads them with
// encoding/csv, which turns CRLF in a field into LF.
func TestCSVReadBack(t *testing.T) {
	rng := randtest.New(t)
	var columns []*spannerpb.StructType_Field
	for _, c := range typeCases {
		columns = append(columns, field(c.name, c.typ))
	}
	f := newCSV(t, format.CSVOptions{}, columns...)
	var rows [][]wire.Value
	var want [][]*structpb.Value
	for range 200 {
		row := make([]*structpb.Value, len(columns))
		for i, c := range typeCases {
			row[i] = c.values[rng.IntN(len(c.values))]
		}
		rows, want = append(rows, encodeRow(t, row...)), append(want, row)
	}
	records, quoted := readCSV(t, encodeAll(t, f, 9, rows...))
	if len(records) != len(rows)+1 {
		t.Fatalf("%d records came back", len(records))
	}
	for i, row := range want {
		for j, v := range row {
			got, isQuoted := records[i+1][j], quoted[i+1][j]
			if isNull := got == "" && !isQuoted; isNull != (v.AsInterface() == nil) {
				t.Fatalf("row %d, column %s: got %q, quoted %t, for %v", i, typeCases[j].name, got, isQuoted, v)
			}
			if s, ok := v.GetKind().(*structpb.Value_StringValue); ok && got != strings.ReplaceAll(s.StringValue, "\r\n", "\n") {
				t.Fatalf("row %d, column %s: got %q, want %q", i, typeCases[j].name, got, s.StringValue)
			}
			if typeCases[j].typ.Code == spannerpb.TypeCode_ARRAY && got != "" {
				line := encodeAll(t, newNDJSON(t, format.ValueOptions{}, field("v", typeCases[j].typ)), 1, encodeRow(t, v))
				if `{"v":`+got+"}\n" != string(line) {
					t.Fatalf("row %d, column %s: got %s, NDJSON has %s", i, typeCases[j].name, got, line)
				}
			}
		}
	}
}

func FuzzCSVString(f *testing.F) {
	for _, s := range []string{"", "plain", `"`, `""`, "a,b", "1234567,", "line\nline", "\r", " x ", "\xff", "日本語、日本語"} {
		f.Add(s, s)
	}
	fm := newCSV(f, format.CSVOptions{NoHeader: true}, field("a", stringType), field("b", arrayOf(stringType)), field("c", stringType))
	f.Fuzz(func(t *testing.T, a, c string) {
		row := []wire.Value{
			wire.AppendString(nil, a),
			wire.AppendList(nil, wire.AppendElement(nil, wire.AppendString(nil, a))),
			wire.AppendString(nil, c)}
		line, err := fm.NewEncoder().AppendRow(nil, row)
		if !utf8.ValidString(a) || !utf8.ValidString(c) {
			if err == nil {
				t.Fatalf("%q, %q were taken", a, c)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		records, quoted := readCSV(t, line)
		unix := strings.NewReplacer("\r\n", "\n")
		if len(records) != 1 || records[0][0] != unix.Replace(a) || records[0][2] != unix.Replace(c) {
			t.Fatalf("%q, %q came back as %q", a, c, records)
		}
		if a == "" && !quoted[0][0] || c == "" && !quoted[0][2] {
			t.Fatalf("an empty string is not quoted in %q", line)
		}
	})
}

func BenchmarkCSV(b *testing.B) {
	benchmarkRows(b, newCSV(b, format.CSVOptions{}, benchColumns...), len(benchColumns))
}
