package schema

import (
	"strings"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
)

// TypeName returns the name that SQL of the dialect has for t, without lengths,
// which a result's metadata does not have: "ARRAY<STRING>", "character varying[]".
// A type that only the other dialect has goes by the name it has there.
func (d Dialect) TypeName(t *spannerpb.Type) string {
	if t.GetCode() == spannerpb.TypeCode_ARRAY {
		if element := d.TypeName(t.GetArrayElementType()); d == PostgreSQL {
			return element + "[]"
		} else {
			return "ARRAY<" + element + ">"
		}
	}
	if d == PostgreSQL {
		if name := postgreSQLName(t); name != "" {
			return name
		}
	}
	switch t.GetCode() {
	case spannerpb.TypeCode_STRUCT:
		return "STRUCT<" + strings.Join(d.fieldNames(t.GetStructType()), ", ") + ">"
	case spannerpb.TypeCode_PROTO, spannerpb.TypeCode_ENUM:
		if t.GetProtoTypeFqn() != "" {
			return t.GetCode().String() + "<" + t.GetProtoTypeFqn() + ">"
		}
	}
	switch t.GetTypeAnnotation() {
	case spannerpb.TypeAnnotationCode_PG_NUMERIC:
		return "PG.NUMERIC"
	case spannerpb.TypeAnnotationCode_PG_JSONB:
		return "PG.JSONB"
	case spannerpb.TypeAnnotationCode_PG_OID:
		return "PG.OID"
	}
	return t.GetCode().String()
}

func (d Dialect) fieldNames(s *spannerpb.StructType) []string {
	fields := make([]string, len(s.GetFields()))
	for i, f := range s.GetFields() {
		fields[i] = d.TypeName(f.GetType())
		if f.GetName() != "" {
			fields[i] = f.GetName() + " " + fields[i]
		}
	}
	return fields
}

// postgreSQLName is what postgreSQLScalar reads as t; empty if nothing is.
func postgreSQLName(t *spannerpb.Type) string {
	switch t.GetCode() {
	case spannerpb.TypeCode_BOOL:
		return "boolean"
	case spannerpb.TypeCode_INT64:
		if t.GetTypeAnnotation() == spannerpb.TypeAnnotationCode_PG_OID {
			return "oid"
		}
		return "bigint"
	case spannerpb.TypeCode_FLOAT32:
		return "real"
	case spannerpb.TypeCode_FLOAT64:
		return "double precision"
	case spannerpb.TypeCode_STRING:
		return "character varying"
	case spannerpb.TypeCode_BYTES:
		return "bytea"
	case spannerpb.TypeCode_TIMESTAMP:
		return "timestamp with time zone"
	case spannerpb.TypeCode_DATE:
		return "date"
	case spannerpb.TypeCode_NUMERIC:
		return "numeric"
	case spannerpb.TypeCode_JSON:
		return "jsonb"
	case spannerpb.TypeCode_UUID:
		return "uuid"
	case spannerpb.TypeCode_INTERVAL:
		return "interval"
	default:
		return ""
	}
}
