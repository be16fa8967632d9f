package format_test

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/format"
	"spanbulk/internal/schema"
	"spanbulk/internal/wire"
)

// TestTypes shows what each format makes of the values of every type, and reads
// each back: a value comes back as the bytes that Spanner sent, but for STRUCTs,
// which no table has. A file of testdata for each format is the table.
func TestTypes(t *testing.T) {
	for _, o := range []struct {
		name    string
		options format.Options
	}{
		{"ndjson", format.Options{Kind: format.NDJSON}},
		{"csv", format.Options{Kind: format.CSV}},
		{"avro", format.Options{Kind: format.Avro, Avro: format.AvroOptions{Sync: fixedSync}}},
		{"avro-google", format.Options{Kind: format.Avro, Avro: format.AvroOptions{Sync: fixedSync, Google: true}}},
		{"avro-long", format.Options{Kind: format.Avro, Avro: format.AvroOptions{Sync: fixedSync, Timestamp: "micros", Date: "days"}}},
	} {
		t.Run(o.name, func(t *testing.T) {
			var table bytes.Buffer
			for _, c := range typeCases {
				if o.options.Avro.Google && c.typ != pgNumericType {
					continue // the others are as in avro
				}
				showType(t, &table, o.options, c.typ, c.values)
				if c.typ.Code != spannerpb.TypeCode_ARRAY {
					elements := append([]*structpb.Value{null}, c.values[:min(2, len(c.values)-1)]...)
					showType(t, &table, o.options, arrayOf(c.typ), []*structpb.Value{list(elements...), list(), null})
				}
			}
			golden(t, "types-"+o.name, table.Bytes())
		})
	}
}

func showType(t *testing.T, table *bytes.Buffer, o format.Options, typ *spannerpb.Type, values []*structpb.Value) {
	t.Helper()
	columns := columnsOf(field("v", typ))
	f, err := format.New(columns, o)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(table, schema.GoogleSQL.TypeName(typ))
	for _, v := range values {
		if n, ok := v.GetKind().(*structpb.Value_NumberValue); ok && (math.IsNaN(n.NumberValue) || math.IsInf(n.NumberValue, 0)) {
			continue // Spanner sends the name
		}
		value := encode(t, v)
		enc := f.NewEncoder()
		row, err := enc.AppendRow(nil, []wire.Value{value})
		if err != nil {
			fmt.Fprintf(table, "    %s\n        error: %v\n", showValue(value), err)
			continue
		}
		text := string(bytes.TrimSuffix(row, []byte("\n")))
		if o.Kind == format.Avro {
			text = fmt.Sprintf("%x", row)
		}
		fmt.Fprintf(table, "    %s\n        %s\n", showValue(value), text)
		if !hasStruct(typ) {
			checkReadBack(t, f, o, columns, row, value)
		}
	}
}

func checkReadBack(t *testing.T, f format.Format, o format.Options, columns []*spannerpb.StructType_Field, row []byte, want wire.Value) {
	t.Helper()
	sealed, err := f.NewEncoder().Seal(nil, row, 1)
	if err != nil {
		t.Fatal(err)
	}
	file := append(bytes.Clone(f.Header()), sealed...)
	records := readBack(t, targetOf(columns...), o, 1<<20, file)
	if len(records) != 1 || records[0].Err != nil || !bytes.Equal(records[0].Values[0], want) {
		t.Errorf("%s: %q came back as %s, want %x", schema.GoogleSQL.TypeName(columns[0].Type), row, outcome(records[0]), []byte(want))
	}
}

func hasStruct(t *spannerpb.Type) bool {
	return t.Code == spannerpb.TypeCode_STRUCT || t.Code == spannerpb.TypeCode_ARRAY && hasStruct(t.ArrayElementType)
}
