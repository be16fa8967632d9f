package format_test

import (
	"fmt"
	"strings"
	"testing"

	"cloud.google.com/go/spanner/apiv1/spannerpb"

	"spanbulk/internal/format"
	"spanbulk/internal/schema"
	"spanbulk/internal/wire"
)

// refusalTable is the table that the golden files of refusals are about.
func refusalTable(dialect schema.Dialect) *format.Target {
	t := &schema.Table{
		Name: schema.Name{Name: "Orders"}, Dialect: dialect,
		PrimaryKey: []schema.KeyPart{{Column: "Id"}, {Column: "Part"}},
	}
	column := func(name string, typ *spannerpb.Type) {
		t.Columns = append(t.Columns, schema.Column{Name: name, Type: typ})
	}
	column("Id", int64Type)
	column("Part", stringType)
	for _, c := range []struct {
		name string
		typ  *spannerpb.Type
	}{
		{"Bool", boolType}, {"Float", float64Type}, {"Single", float32Type}, {"Numeric", numericType}, {"PgNumeric", pgNumericType},
		{"Bytes", bytesType}, {"Time", timestampType}, {"Date", dateType}, {"Json", jsonType}, {"Uuid", uuidType}, {"Enum", enumType},
		{"Proto", protoType}, {"Ints", arrayOf(int64Type)}, {"Jsons", arrayOf(jsonType)},
	} {
		column(c.name, c.typ)
	}
	t.Columns = append(t.Columns,
		schema.Column{Name: "Written", Type: timestampType, CommitTimestamp: true},
		schema.Column{Name: "Sum", Type: int64Type, Generated: true},
		schema.Column{Name: "Tokens"})
	return format.NewTarget(t, false)
}

// outcome is what a record comes to, on one line.
func outcome(r decoded) string {
	switch {
	case r.Err != nil:
		return fmt.Sprintf("%d:%d: %v", r.Err.Line, r.Err.Byte, r.Err)
	case r.Skip:
		return fmt.Sprintf("%d: skip", r.Line)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d: %s", r.Line, r.Operation)
	if r.Range != nil {
		fmt.Fprintf(&b, " range %v %v %v %v", show(r.Range.Start), r.Range.StartOpen, show(r.Range.End), r.Range.EndOpen)
	}
	for i, v := range r.Values {
		if v != nil {
			fmt.Fprintf(&b, " %s=%s", r.Target.Table().Columns[i].Name, showValue(v))
		}
	}
	return b.String()
}

func show(values []wire.Value) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = showValue(v)
	}
	return "[" + strings.Join(texts, " ") + "]"
}

func showValue(v wire.Value) string {
	kind, p := v.Parse()
	switch kind {
	case wire.Null:
		return "NULL"
	case wire.Number:
		return fmt.Sprint(wire.Float64(p))
	case wire.Bool:
		return fmt.Sprint(wire.Truth(p))
	case wire.ListKind:
		var elements []wire.Value
		for l := wire.List(p); ; {
			e, rest, ok := l.Next()
			if !ok {
				return show(elements)
			}
			elements, l = append(elements, e), rest
		}
	default:
		return fmt.Sprintf("%q", p)
	}
}

// TestRecords shows, in golden files, what becomes of records: one line of
// input, one of outcome, with line and byte, column and reason, and no value.
func TestRecords(t *testing.T) {
	for _, c := range recordCases {
		t.Run(c.name, func(t *testing.T) {
			records, err := decodeAll(t, refusalTable(c.dialect), c.options, format.SplitOptions{Kind: c.kind, Fields: c.options.Columns}, []byte(c.input))
			var b strings.Builder
			for _, r := range records {
				fmt.Fprintf(&b, "%s\n    %s\n", strings.ToValidUTF8(strings.NewReplacer("\n", "⏎", "\r", "␍").Replace(r.text), "\uFFFD"), outcome(r))
			}
			if err != nil {
				fmt.Fprintf(&b, "error: %v\n", err)
			}
			golden(t, "records-"+c.name, []byte(b.String()))
		})
	}
}

var recordCases = []struct {
	name    string
	kind    format.Kind
	dialect schema.Dialect
	options format.DecodeOptions
	input   string
}{
	{name: "ndjson-syntax", kind: format.NDJSON, input: `
{"Id":1,"Part":"a"}
 { "Id" : 1 , "Part" : "a" } 	
nothing
[1]
"text"
{"Id":1,"Part":"a"
{"Id":1,"Part":"a
{"Id":1,"Part"
{"Id":1,"Part":
{"Id":1,"Part":}
{"Id":1,}
{"Id":1 "Part":"a"}
{"Id" 1}
{Id:1}
{'Id':1}
{"Id":01}
{"Id":1.}
{"Id":-}
{"Id":1e}
{"Id":+1}
{"Id":1,"Part":"a"}}
{"Id":1,"Part":"a"} {"Id":2,"Part":"b"}
{"Id":1,"Part":"tab	"}
{"Id":1,"Part":"\x"}
{"Id":1,"Part":"\u12g4"}
{"Id":1,"Part":"\ud800"}
{"Id":1,"Part":"\udc00\ud800"}
{"Id":1,"Part":"\ud83d\ude42\n\u00e9\/"}
{"Id":1,"Part":"` + "\xff\xfe" + `"}
{"Id":1,"Part":"a","Json":{"a":[1,2,{"b":tru}]}}
{"Id":1,"Part":"a","Json":[1,2}}
{"Id":1,"Part":"a","Json":{"a" 1}}
{"Id":1,"Part":"a","Json":` + strings.Repeat("[", 2000) + `}
{"\u0049d":1,"part":"a"}
{"Id":1,"Part":"a"}` + "\r" + `{"Id":2,"Part":"b"}
{"Id":1,"Part":"cut off`},
	{name: "ndjson-fields", kind: format.NDJSON, input: `
{"Id":1,"Part":"a","Unknown":1}
{"Id":1,"Part":"a","Bol":true}
{"Id":1,"Part":"a","Id":2}
{"Id":1,"Part":"a","ID":2}
{"Id":1,"Part":"a","\u0049d":2}
{"Id":1}
{}
{"Id":null,"Part":null}
{"Id":1,"Part":"a","Sum":"anything"}
{"Id":1,"Part":"a","Sum":1,"Sum":1}
{"Id":1,"Part":"a","Tokens":1}
{"Id":1,"Part":"a","__range":{}}
`},
	{name: "ndjson-postgresql-names", kind: format.NDJSON, dialect: schema.PostgreSQL, input: `
{"Id":1,"Part":"a"}
{"id":1,"Part":"a"}
`},
	{name: "ndjson-ignore", kind: format.NDJSON, options: format.DecodeOptions{IgnoreUnknown: true, MissingNull: true, Columns: []string{"Id", "Part", "Bool", "Float"}}, input: `
{"Id":1,"Part":"a","Unknown":{"x":[1]},"Numeric":"not looked at"}
{"Id":1,"Part":"a","Unknown":1,"Unknown":2}
{"Id":1,"Unknown":1}
{"Id":1,"Part":"a","Unknown":{]}
`},
	{name: "ndjson-rename", kind: format.NDJSON, options: format.DecodeOptions{Rename: map[string]string{"key": "Id", "Bool": "Float"}, CommitTimestamps: []string{"Written"}}, input: `
{"key":1,"Part":"a","Bool":2.5}
{"KEY":1,"Part":"a","Float":1,"Bool":2.5}
{"key":1,"Part":"a","Written":"2026-01-31T12:00:00Z"}
`},
	{name: "ndjson-operations", kind: format.NDJSON, options: format.DecodeOptions{OperationField: "op"}, input: `
{"op":"insert","Id":1,"Part":"a","Bool":true}
{"Id":1,"Part":"a","op":"INSERT_OR_UPDATE"}
{"Id":1,"Part":"a","op":"insertOrUpdate"}
{"Id":1,"Part":"a","op":"delete","Bool":true}
{"Id":1,"op":"delete"}
{"Id":1,"Part":"a","op":"truncate"}
{"Id":1,"Part":"a","op":5}
{"Id":1,"Part":"a"}
{"op":"delete","__range":{"startClosed":[1,"a"],"endOpen":["2"]}}
{"op":"delete","__range":{"startOpen":[],"endClosed":[7]}}
{"op":"delete","__range":{"startClosed":[1,"a",3],"endOpen":[2]}}
{"op":"delete","__range":{"startClosed":["x"],"endOpen":[2]}}
{"op":"delete","__range":{"startClosed":[1]}}
{"op":"delete","__range":{"start":[1],"endOpen":[2]}}
{"op":"delete","__range":{"startClosed":[1],"startOpen":[1],"endOpen":[2]}}
{"op":"delete","__range":[1,2]}
{"op":"delete","Id":1,"__range":{"startClosed":[1],"endOpen":[2]}}
{"op":"update","__range":{"startClosed":[1],"endOpen":[2]}}
`},
	{name: "ndjson-changelog", kind: format.NDJSON, options: format.DecodeOptions{OperationField: "__op", Changelog: true}, input: `
{"__op":"INSERT","__commit_timestamp":"2026-01-31T12:00:00Z","__table":"Orders","Id":1,"Part":"a","Bool":true}
{"__op":"UPDATE_BEFORE","Id":1,"Part":"a","Bool":true}
{"__op":"UPDATE_AFTER","Id":1,"Part":"a","Bool":false}
{"__op":"DELETE","Id":1,"Part":"a"}
{"__op":"UPSERT","Id":1,"Part":"a"}
{"__op":"INSERT","__commit_time":"2026-01-31T12:00:00Z","Id":1,"Part":"a"}
{"Id":1,"Part":"a"}
`},
	{name: "ndjson-size", kind: format.NDJSON, options: format.DecodeOptions{MaxRecordBytes: 30}, input: `
{"Id":1,"Part":"a"}
{"Id":1,"Part":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}
{"Id":2,"Part":"a"}
`},
	{name: "ndjson-bom", kind: format.NDJSON, input: "\xef\xbb\xbf{\"Id\":1,\"Part\":\"a\"}\r\n\r\n{\"Id\":2,\"Part\":\"b\"}\r\n"},
	{name: "ndjson-utf16", kind: format.NDJSON, input: "\xff\xfe{\x00}\x00"},
	{name: "csv", kind: format.CSV, input: `Id,Part,Bool,Bytes,Ints,Json
1,a,true,AAE,"[1,null,""2""]","{""a"": 1}"
2,"",FALSE,,[],null
3,"two
lines",,"","[ ]",
4,"quote "" inside",true,_-8,,""
5,bare "quote" inside,true,,,
6,"closed" early,true,,,
7,a,true
8,a,true,,,,

9,"a",maybe,,,
10,a,,?,,
11,a,,,"[1,""x""]",
12,a,,,"1,2",
x,a,,,,
13,` + "\xff" + `,,,,
14,"` + "multi\nline\xff" + `",,,,
15,lone` + "\r" + `cr,,,,
,a,,,,
16,a,,,,
17,"not closed,,,,
18,a,,,,
`},
	{name: "csv-crlf-bom", kind: format.CSV, input: "\xef\xbb\xbfId,Part\r\n1,a\r\n2,\"b\r\nc\"\r\n3,d"},
	{name: "csv-relaxed", kind: format.CSV, options: format.DecodeOptions{CSV: format.CSVInput{Ragged: true, LazyQuotes: true, ReplaceInvalid: true}}, input: `Id,Part,Bool
1,bare "quote" inside,true
2,"closed" early",true
3,a
4,a,true,more
5,"` + "\xff" + `",
6
`},
	{name: "csv-null", kind: format.CSV, options: format.DecodeOptions{CSV: format.CSVInput{Null: `\N`, Delimiter: `\t`, Quote: "'"}}, input: "Id\tPart\tBool\n1\t\\N\t\\N\n2\t'\\N'\ttrue\n3\t\ttrue\n4\t'it''s'\t\\N\n"},
	{name: "csv-range", kind: format.CSV, options: format.DecodeOptions{OperationField: "op"}, input: "op,Id,Part,__range\n" +
		`delete,,,"{""startClosed"":[1],""endOpen"":[2]} "` + "\n" + `delete,,,"{""startClosed"":[1],""endOpen"":[2]}x"` + "\n" +
		`delete,,,"{""startClosed"":[1],""endOpen"":[2]}{}"` + "\n" + `delete,,,"{""startClosed"":[1]}"` + "\n" + `delete,,,"1"` + "\n" + "delete,1,a,\n"},
	{name: "csv-no-header", kind: format.CSV, options: format.DecodeOptions{Columns: []string{"Part", "Id"}, CSV: format.CSVInput{NoHeader: true}}, input: "a,1\nb,2\n"},
	{name: "csv-header-unknown", kind: format.CSV, input: "Id,Part,Boool\n1,a,true\n"},
	{name: "csv-header-twice", kind: format.CSV, input: "Id,Part,Id\n1,a,true\n"},
	{name: "csv-header-same-column", kind: format.CSV, input: "Id,Part,ID\n1,a,true\n"},
	{name: "csv-header-empty-name", kind: format.CSV, input: "Id,,Part\n1,a,true\n"},
	{name: "csv-header-no-key", kind: format.CSV, input: "Id,Bool\n1,true\n"},
	{name: "csv-size", kind: format.CSV, options: format.DecodeOptions{MaxRecordBytes: 16}, input: "Id,Part\n1,a\n2,\"aaaaa\nbbbbbbbbbbbbbbbbbbbbb\"\n3,c\n"},
}

// TestValues shows what the values of each type come to in JSON and in CSV.
func TestValues(t *testing.T) {
	for _, c := range valueCases {
		t.Run(c.column, func(t *testing.T) {
			var b strings.Builder
			for _, v := range c.values {
				fmt.Fprintf(&b, "%s\n    %s\n", v, valueOutcome(t, c.column, v))
			}
			golden(t, "values-"+strings.ToLower(c.column), []byte(b.String()))
		})
	}
}

// valueOutcome is what a value of a record comes to: the column's alone, in a
// table of one key that is always there.
func valueOutcome(t *testing.T, column, value string) string {
	line := fmt.Sprintf(`{"Id":1,"Part":"a","%s":%s}`, column, value)
	records, err := decodeAll(t, refusalTable(schema.GoogleSQL), format.DecodeOptions{}, format.SplitOptions{Kind: format.NDJSON}, []byte(line))
	if err != nil || len(records) != 1 {
		t.Fatalf("%s: %d records, error %v", line, len(records), err)
	}
	return strings.TrimPrefix(outcome(records[0]), `1: insert-or-update Id="1" Part="a" `)
}

var valueCases = []struct {
	column string
	values []string
}{
	{"Bool", []string{`true`, `false`, `"true"`, `"FALSE"`, `"yes"`, `1`, `null`, `[true]`, `{}`}},
	{"Enum", []string{`2`, `"2"`, `"SHIPPED"`, `1.5`}},
	{"Float", []string{`0`, `-0`, `1.5`, `"1.5"`, `1e308`, `1e309`, `-1e309`, `5e-324`, `1e-400`, `0.1`, `123456789012345678`, `9007199254740993`, `"NaN"`, `"Infinity"`,
		`"-Infinity"`, `"nan"`, `"+1"`, `"0x10"`, `"1_000"`, `"inf"`, `""`, `true`}},
	{"Single", []string{`3.14`, `3.4028235e38`, `3.5e38`, `"-Infinity"`, `16777217`, `1e-46`, `"x"`}},
	{"Numeric", []string{`1`, `1.50`, `"1.50"`, `-0`, `"0.000000001"`, `0.0000000001`, `"1.0000000000"`, `99999999999999999999999999999.999999999`,
		`100000000000000000000000000000`, `"00000000000000000000000000000000001"`, `1e28`, `1e29`, `1e-9`, `1e-10`, `987.234e-3`, `"+5"`, `"1,5"`, `"."`, `"1."`, `".5"`,
		`"NaN"`, `"1e999999999999999999999"`, `"0e999999999999999999999"`, `"-1e-9"`, `""`, `true`}},
	{"PgNumeric", []string{`1.50`, `"NaN"`, `1e3`, `1.5e-3`, `"-0.00"`, `"007"`, `"Infinity"`, `"1e200000"`, `"1e-20000"`}},
	{"Bytes", []string{`""`, `"AA=="`, `"AA"`, `"AAA="`, `"AAA"`, `"AAAA"`, `"_-8"`, `"/+8="`, `"A"`, `"AA="`, `"AB=="`, `"AA=A"`, `"AA AA"`, `"===="`, `"é"`, `5`}},
	{"Time", []string{`"2026-01-31T12:00:00Z"`, `"2026-01-31T12:00:00.5Z"`, `"2026-01-31T12:00:00.500Z"`, `"2026-01-31t12:00:00z"`, `"2026-01-31 12:00:00+00:00"`,
		`"2026-01-31T12:00:00.123456789+05:30"`, `"2026-01-31T12:00:00-23:59"`, `"2026-01-31T12:00:00.1234567890Z"`, `"2026-01-31T12:00:00.1234567891Z"`,
		`"2026-01-31T12:00:00"`, `"2026-01-31"`, `"2026-02-30T12:00:00Z"`, `"2026-01-31T24:00:00Z"`, `"2026-01-31T23:59:60Z"`, `"2026-01-31T12:00:00+0100"`,
		`"0001-01-01T00:00:00Z"`, `"0001-01-01T00:00:00+00:01"`, `"9999-12-31T23:59:59.999999999Z"`, `"9999-12-31T23:59:59-00:01"`, `"0000-12-31T23:59:59-01:00"`,
		`"1769860800"`, `1769860800`, `-5`, `1.5`, `"spanner.commit_timestamp()"`, `"now"`, `"2026-01-31T12:00:00.Z"`, `""`}},
	{"Written", []string{`"spanner.commit_timestamp()"`, `"2026-01-31T12:00:00Z"`, `"SPANNER.COMMIT_TIMESTAMP()"`}},
	{"Date", []string{`"2026-01-31"`, `"2026-1-3"`, `"0001-01-01"`, `"9999-12-31"`, `"2024-02-29"`, `"2023-02-29"`, `"1900-02-29"`, `"2000-02-29"`, `"2026-13-01"`, `"0000-01-01"`,
		`"10000-01-01"`, `"20260131"`, `"2026-01-31T00:00:00Z"`, `"31/01/2026"`, `20260131`}},
	{"Json", []string{`null`, `{"$json":null}`, `{"$json":{"$json":1}}`, `{"$json":1,"x":2}`, `{"x":1,"$json":2}`, `{ "\u0024json" : [1] }`, `"text"`, `1.50`, `12345678901234567890123`, `{"b":1, "a":[]}`, `true`}},
	{"Uuid", []string{`"7D9F2A4E-8f1b-4c57-9d56-0a1b2c3d4e5f"`, `"7d9f2a4e8f1b4c579d560a1b2c3d4e5f"`, `"{7d9f2a4e-8f1b-4c57-9d56-0a1b2c3d4e5f}"`, `"7d9f2a4e-8f1b-4c57-9d56-0a1b2c3d4e5g"`, `5`}},
	{"Proto", []string{`"CAE="`, `{}`}},
	{"Ints", []string{`[]`, `[1,"2",null]`, `null`, `[ 1 , 2 ]`, `[1.5]`, `[[1]]`, `"[1,2]"`, `"1,2"`, `"[1,]"`, `1`, `[1 2]`, `[1,]`, `{"a":1}`}},
	{"Jsons", []string{`[null,{"$json":null},{"a":[1]},"x"]`}},
}

// TestIntegers covers INT64, which is the key's type.
func TestIntegers(t *testing.T) {
	var b strings.Builder
	for _, v := range []string{`0`, `-0`, `"-0"`, `7`, `"7"`, `"007"`, `"+7"`, `"-007"`, `9223372036854775807`, `-9223372036854775808`, `9223372036854775808`, `-9223372036854775809`,
		`"9223372036854775808"`, `123456789012345678901234567890`, `1.0`, `1.5`, `1e3`, `"1e3"`, `" 7"`, `""`, `"-"`, `"0x10"`, `"1_0"`, `true`, `[7]`} {
		line := fmt.Sprintf(`{"Part":"a","Id":%s}`, v)
		records, err := decodeAll(t, refusalTable(schema.GoogleSQL), format.DecodeOptions{}, format.SplitOptions{Kind: format.NDJSON}, []byte(line))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n    %s\n", v, outcome(records[0]))
	}
	golden(t, "values-int64", []byte(b.String()))
}
