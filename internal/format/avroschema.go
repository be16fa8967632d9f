package format

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"

	"cloud.google.com/go/spanner/apiv1/spannerpb"

	"spanbulk/internal/schema"
)

// AvroTable is what an Avro schema says of the table that rows are from, in the
// properties by which Google's Spanner import makes that table again. The zero
// value stands for the result of a query.
type AvroTable struct {
	Name       string // with its schema, if named: "sales.Orders"
	PostgreSQL bool   // the dialect, which decides how names are quoted
	PrimaryKey []AvroKeyPart

	Parent          string // the table this one is interleaved in, if any
	OnDeleteCascade bool   // with a Parent
	// InterleaveIn says that the parent's row need not exist: INTERLEAVE IN,
	// without PARENT.
	InterleaveIn bool

	// Indexes and ForeignKeys are the statements that make them, Checks the
	// clauses of CREATE TABLE.
	Indexes, ForeignKeys, Checks []string

	// Columns has one element for each column of the Format, or is nil for a
	// query.
	Columns []AvroTableColumn

	entity string // what it is, if no table
}

// AvroNamedSchema returns an Avro file without records, by whose schema Google's
// Spanner import makes the named schema of that name.
func AvroNamedSchema(name string) ([]byte, error) {
	o := AvroOptions{Google: true, Table: AvroTable{Name: name, entity: "spannerNamedSchema"}}
	schema, err := o.schema(nil)
	if err != nil {
		return nil, err
	}
	rand.Read(o.Sync[:]) // never fails
	return appendOCFHeader(nil, schema, AvroNull, o.Sync), nil
}

// AvroKeyPart is a column of the primary key.
type AvroKeyPart struct {
	Column     string
	Descending bool
}

// AvroTableColumn is what INFORMATION_SCHEMA knows of a column and a result's
// metadata does not.
type AvroTableColumn struct {
	SQLType string // SPANNER_TYPE: "STRING(MAX)"; empty: from the metadata
	NotNull bool   // then the field is no union with null

	// Generated columns are written with their values, and marked, so that an
	// import leaves them out. Google's export writes nothing in their place; its
	// import looks at the mark alone.
	GenerationExpression string
	Stored               bool

	DefaultExpression string
	Hidden            bool
	// Options are those of the column: "allow_commit_timestamp=TRUE".
	Options  []string
	Identity *AvroIdentity // nil: the column has none
}

// AvroIdentity is how Spanner numbers an identity column. Empty texts are what
// nobody set.
type AvroIdentity struct{ Kind, Start, SkipMin, SkipMax string }

// properties are those of Google's export, which writes "null" for what is not
// set.
func (a *AvroIdentity) properties() object {
	props := object{{"identityColumn", "true"}}
	if a.Kind != "" {
		props = append(props, member{"sequenceKind", a.Kind})
	}
	for _, p := range []member{{"counterStartValue", a.Start}, {"skipRangeMin", a.SkipMin}, {"skipRangeMax", a.SkipMax}} {
		if p.value == "" {
			p.value = "null"
		}
		props = append(props, p)
	}
	return props
}

func (t AvroTable) validate(columns []*spannerpb.StructType_Field) error {
	if t.Columns != nil && len(t.Columns) != len(columns) {
		return fmt.Errorf("avro: table described with %d columns for %d", len(t.Columns), len(columns))
	}
	return nil
}

func (t AvroTable) column(i int) AvroTableColumn {
	if t.Columns == nil {
		return AvroTableColumn{}
	}
	return t.Columns[i]
}

// recordName returns the name of the record. Avro would take the dot after a
// schema's name for the end of a namespace; Google writes an underscore.
func (t AvroTable) recordName() string {
	if t.Name == "" {
		return "Query"
	}
	return strings.ReplaceAll(t.Name, ".", "_")
}

// object is a JSON object with its members in order.
type object []member

type member struct {
	key   string
	value any
}

func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // types hold angle brackets
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := enc.Encode(m.key); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := enc.Encode(m.value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// schema returns the Avro schema of the rows as JSON.
func (o AvroOptions) schema(columns []*spannerpb.StructType_Field) ([]byte, error) {
	name := o.allowedName(o.Table.recordName())
	names, err := o.newNames().of(columns)
	if err != nil {
		return nil, err
	}
	fields := []object{}
	for i, f := range columns {
		field, err := o.columnSchema(f, o.Table.column(i), names[i], fmt.Sprintf("%s_%d", name, i))
		if err != nil {
			return nil, err
		}
		fields = append(fields, field)
	}
	record := object{{"type", "record"}, {"name", name}, {"namespace", "spannerexport"}, {"fields", fields}}
	if o.Table.Name != "" {
		record = append(record, o.Table.properties()...)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(record); err != nil {
		return nil, fmt.Errorf("encode the avro schema: %w", err)
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// properties are those of Google's export, of its format version 1.0.0.
func (t AvroTable) properties() object {
	props := object{{avroTrueName, t.Name}, {"googleFormatVersion", "1.0.0"}, {"googleStorage", "CloudSpanner"}}
	if t.entity != "" {
		props = append(props, member{"spannerEntity", t.entity})
	}
	if t.Parent != "" {
		action := "no action"
		if t.OnDeleteCascade {
			action = "cascade"
		}
		interleave := "IN PARENT"
		if t.InterleaveIn {
			interleave = "IN"
		}
		props = append(props, member{"spannerParent", t.Parent}, member{"spannerInterleaveType", interleave}, member{"spannerOnDeleteAction", action})
	}
	props = append(props, t.keyProperties()...)
	for _, list := range []struct {
		prefix string
		texts  []string
	}{{"spannerIndex_", t.Indexes}, {"spannerForeignKey_", t.ForeignKeys}, {"spannerCheckConstraint_", t.Checks}} {
		for i, text := range list.texts {
			props = append(props, member{fmt.Sprint(list.prefix, i), text})
		}
	}
	return props
}

func (t AvroTable) keyProperties() object {
	if len(t.PrimaryKey) == 0 {
		return nil
	}
	var parts []member
	var whole []string
	for i, k := range t.PrimaryKey {
		text := t.keyPart(k)
		parts = append(parts, member{fmt.Sprintf("spannerPrimaryKey_%d", i), text})
		if t.PostgreSQL {
			text = `"` + k.Column + `"`
		}
		whole = append(whole, text)
	}
	separator := ","
	if t.PostgreSQL {
		separator = ", "
	}
	return append(object{{"spannerPrimaryKey", strings.Join(whole, separator)}}, parts...)
}

func (t AvroTable) keyPart(k AvroKeyPart) string {
	quote, order := "`", " ASC"
	if t.PostgreSQL {
		quote = `"`
	}
	if k.Descending {
		order = " DESC"
	}
	return quote + k.Column + quote + order
}

func (o AvroOptions) columnSchema(f *spannerpb.StructType_Field, c AvroTableColumn, name, structName string) (object, error) {
	typ, err := o.avroType(f.GetType(), structName)
	if err != nil {
		return nil, err
	}
	if !c.NotNull {
		typ = []any{"null", typ}
	}
	if c.SQLType == "" || isOfBundle(f.GetType()) {
		c.SQLType = avroSQLType(f.GetType())
	}
	field := object{{"name", name}, {"type", typ}}
	if name != f.GetName() {
		field = append(field, member{avroTrueName, f.GetName()})
	}
	field = append(field, member{"sqlType", c.SQLType})
	if o.Table.Columns != nil {
		field = append(field, member{"hidden", fmt.Sprint(c.Hidden)})
	}
	for i, option := range c.Options {
		field = append(field, member{fmt.Sprint("spannerOption_", i), option})
	}
	if c.GenerationExpression != "" {
		field = append(field, member{"notNull", fmt.Sprint(c.NotNull)},
			member{"generationExpression", c.GenerationExpression}, member{"stored", fmt.Sprint(c.Stored)})
	}
	if c.Identity != nil {
		field = append(field, c.Identity.properties()...)
	}
	if c.DefaultExpression != "" {
		field = append(field, member{"defaultExpression", c.DefaultExpression})
	}
	return field, nil
}

// avroType returns the type of values of type t, NULL aside. structName is the
// name of the record that a STRUCT becomes; records in one schema need names of
// their own.
func (o AvroOptions) avroType(t *spannerpb.Type, structName string) (any, error) {
	switch t.GetCode() {
	case spannerpb.TypeCode_BOOL:
		return "boolean", nil
	case spannerpb.TypeCode_INT64, spannerpb.TypeCode_ENUM:
		return "long", nil
	case spannerpb.TypeCode_FLOAT64:
		return "double", nil
	case spannerpb.TypeCode_FLOAT32:
		return "float", nil
	case spannerpb.TypeCode_BYTES, spannerpb.TypeCode_PROTO:
		return "bytes", nil
	case spannerpb.TypeCode_NUMERIC:
		switch {
		case isPGNumeric(t) && o.writesBytes():
			return pgNumericType(), nil
		case !isPGNumeric(t):
			return object{{"type", "bytes"}, {"logicalType", "decimal"}, {"precision", 38}, {"scale", 9}}, nil
		}
	case spannerpb.TypeCode_UUID:
		return object{{"type", "string"}, {"logicalType", "uuid"}}, nil
	case spannerpb.TypeCode_TIMESTAMP:
		if o.Timestamp == "micros" || o.Timestamp == "nanos" {
			return object{{"type", "long"}, {"logicalType", "timestamp-" + o.Timestamp}}, nil
		}
	case spannerpb.TypeCode_DATE:
		if o.Date == "days" {
			return object{{"type", "int"}, {"logicalType", "date"}}, nil
		}
	case spannerpb.TypeCode_ARRAY:
		items, err := o.avroType(t.GetArrayElementType(), structName)
		return object{{"type", "array"}, {"items", []any{"null", items}}}, err
	case spannerpb.TypeCode_STRUCT:
		return o.structSchema(t.GetStructType().GetFields(), structName)
	}
	return "string", nil
}

func (o AvroOptions) structSchema(fields []*spannerpb.StructType_Field, name string) (any, error) {
	names, err := o.newNames().of(fields)
	if err != nil {
		return nil, err
	}
	var members []object
	for i, f := range fields {
		field, err := o.columnSchema(f, AvroTableColumn{}, names[i], fmt.Sprintf("%s_%d", name, i))
		if err != nil {
			return nil, err
		}
		members = append(members, field)
	}
	return object{{"type", "record"}, {"name", "struct_" + name}, {"fields", members}}, nil
}

// isOfBundle reports whether the type, or the elements', is of a proto bundle.
// INFORMATION_SCHEMA may have its bare name, and Google's import knows it by PROTO
// or ENUM around that.
func isOfBundle(t *spannerpb.Type) bool {
	if t.GetCode() == spannerpb.TypeCode_ARRAY {
		t = t.GetArrayElementType()
	}
	return t.GetProtoTypeFqn() != ""
}

// avroSQLType is the type of a column that no schema describes. Google's import
// knows STRING and BYTES only with a length.
func avroSQLType(t *spannerpb.Type) string {
	switch t.GetCode() {
	case spannerpb.TypeCode_STRING, spannerpb.TypeCode_BYTES:
		return t.GetCode().String() + "(MAX)"
	case spannerpb.TypeCode_ARRAY:
		return "ARRAY<" + avroSQLType(t.GetArrayElementType()) + ">"
	default:
		return schema.GoogleSQL.TypeName(t)
	}
}
