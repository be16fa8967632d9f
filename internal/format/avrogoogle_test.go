package format_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"github.com/google/go-cmp/cmp"
	"github.com/twmb/avro"
	"github.com/twmb/avro/ocf"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/format"
	"spanbulk/internal/schema"
)

// googleTable is what Google's import makes of the schema of a table's files: its
// Dataflow template goes by properties, and for NOT NULL by the type of a field,
// unless the column is generated.
type googleTable struct {
	SpannerName string
	Fields      []googleColumn
}

type googleColumn struct {
	Name, SQLType, GenerationExpression, NotNull, Stored string
	Type                                                 json.RawMessage
}

func (c googleColumn) isNullable(t *testing.T) bool {
	t.Helper()
	if c.GenerationExpression != "" {
		return c.NotNull == "false"
	}
	var union []json.RawMessage
	isUnion := json.Unmarshal(c.Type, &union) == nil
	if isUnion && len(union) != 2 {
		t.Errorf("column %s: the template unpacks unions of two", c.Name)
	}
	return isUnion
}

func (g googleTable) ddl(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintln(&b, g.SpannerName)
	for _, c := range g.Fields {
		fmt.Fprintf(&b, "  %s %s", c.Name, c.SQLType)
		if !c.isNullable(t) {
			b.WriteString(" NOT NULL")
		}
		if c.GenerationExpression != "" {
			fmt.Fprintf(&b, " AS (%s) stored=%s", c.GenerationExpression, c.Stored)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// googleForm is the kind of value that the template reads for a column's type, as
// the library that stands in for it has them. It reads decimals as bytes.
func googleForm(sqlType string) string {
	base, _, _ := strings.Cut(sqlType, "(")
	base, _, _ = strings.Cut(base, "<")
	switch base {
	case "BOOL", "boolean":
		return "bool"
	case "INT64", "bigint", "ENUM":
		return "int64"
	case "FLOAT32", "real":
		return "float32"
	case "FLOAT64", "double precision":
		return "float64"
	case "STRING", "JSON", "UUID", "character varying", "text", "jsonb", "uuid", "TIMESTAMP", "timestamp with time zone", "DATE", "date":
		return "string"
	case "BYTES", "PROTO", "bytea", "NUMERIC", "numeric":
		return "[]uint8"
	}
	return "a type that the template does not know: " + sqlType
}

func elementSQL(sqlType string) (string, bool) {
	if element, ok := strings.CutSuffix(sqlType, "[]"); ok {
		return element, true
	}
	element, ok := strings.CutPrefix(sqlType, "ARRAY<")
	return strings.TrimSuffix(element, ">"), ok
}

// TestGoogleReadsFiles writes tables of every type in both dialects, with
// generated columns, and has them read by the template's rules.
func TestGoogleReadsFiles(t *testing.T) {
	for name, types := range map[string]map[string]*spannerpb.Type{
		"GoogleSQL": {
			"BOOL": boolType, "INT64": int64Type, "FLOAT32": float32Type, "FLOAT64": float64Type, "NUMERIC": numericType, "STRING(5)": stringType, "BYTES(MAX)": bytesType,
			"TIMESTAMP": timestampType, "DATE": dateType, "JSON": jsonType, "UUID": uuidType, "shop.Order": protoType, "shop.Status": enumType,
		},
		"PostgreSQL": {
			"boolean": boolType, "bigint": int64Type, "real": float32Type, "double precision": float64Type, "numeric": pgNumericType, "character varying(5)": stringType,
			"text": stringType, "bytea": bytesType, "timestamp with time zone": timestampType, "date": dateType, "jsonb": pgJSONBType, "uuid": uuidType,
		},
	} {
		t.Run(name, func(t *testing.T) {
			table := format.AvroTable{Name: "Ünï", PostgreSQL: name == "PostgreSQL"}
			var columns []*spannerpb.StructType_Field
			var row []*structpb.Value
			add := func(sqlType string, typ *spannerpb.Type, c format.AvroTableColumn) {
				c.SQLType = sqlType
				table.Columns = append(table.Columns, c)
				columns = append(columns, field(fmt.Sprint("Größe", len(columns)), typ))
				row = append(row, sampleOf(typ))
			}
			for _, sqlType := range slices.Sorted(maps.Keys(types)) {
				typ, array := types[sqlType], "ARRAY<"+sqlType+">"
				if table.PostgreSQL {
					array = sqlType + "[]"
				}
				add(sqlType, typ, format.AvroTableColumn{})
				add(array, arrayOf(typ), format.AvroTableColumn{NotNull: true})
				add(sqlType, typ, format.AvroTableColumn{GenerationExpression: "x", Stored: true, NotNull: len(row)%2 == 0})
			}
			f := newAvro(t, format.AvroOptions{Google: true, Table: table}, columns...)
			file := encodeAll(t, f, 2, encodeRow(t, row...))
			if got := readBack(t, targetOf(columns...), format.Options{Kind: format.Avro}, 1<<20, file); got[0].Err != nil {
				t.Errorf("spanbulk: %v", got[0].Err)
			}
			checkGoogle(t, name, file)
		})
	}
}

// checkGoogle reads a file by the template's rules.
func checkGoogle(t *testing.T, name string, file []byte) {
	t.Helper()
	file = bytes.ReplaceAll(file, []byte(`"logicalType"`), []byte(`"logicalKind"`))
	r, err := ocf.NewReader(bytes.NewReader(file), ocf.WithSchemaOpts(avro.WithLaxNames(javaName)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var table googleTable
	if err := json.Unmarshal(r.Metadata()["avro.schema"], &table); err != nil {
		t.Fatal(err)
	}
	golden(t, "google-ddl-"+name, []byte(table.ddl(t)))
	var record map[string]any
	if err := r.Decode(&record); err != nil {
		t.Fatal(err)
	}
	for _, c := range table.Fields {
		if c.GenerationExpression != "" {
			continue // whatever is there
		}
		element, isArray := elementSQL(c.SQLType)
		values := []any{record[c.Name]}
		if isArray {
			values = record[c.Name].([]any)
		}
		for _, v := range values {
			if got, want := fmt.Sprintf("%T", v), googleForm(element); v != nil && got != want {
				t.Errorf("column %s %s came as %s, want %s", c.Name, c.SQLType, got, want)
			}
		}
	}
}

// sampleOf is a value of the type, with a NULL in an array.
func sampleOf(t *spannerpb.Type) *structpb.Value {
	if t.GetCode() == spannerpb.TypeCode_ARRAY {
		return list(sampleOf(t.GetArrayElementType()), null)
	}
	for _, c := range typeCases {
		if cmp.Equal(c.typ, t, protocmp.Transform()) {
			return c.values[0]
		}
	}
	panic("no value of " + schema.GoogleSQL.TypeName(t))
}
