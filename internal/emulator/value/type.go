package value

import (
	"slices"
	"strconv"
	"strings"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
)

// Code names a kind of type. The numbers are those of
// google.spanner.v1.TypeCode.
type Code int32

// The type codes of google/spanner/v1/type.proto.
const (
	Unspecified   = Code(spannerpb.TypeCode_TYPE_CODE_UNSPECIFIED)
	BoolCode      = Code(spannerpb.TypeCode_BOOL)
	Int64Code     = Code(spannerpb.TypeCode_INT64)
	Float64Code   = Code(spannerpb.TypeCode_FLOAT64)
	Float32Code   = Code(spannerpb.TypeCode_FLOAT32)
	TimestampCode = Code(spannerpb.TypeCode_TIMESTAMP)
	DateCode      = Code(spannerpb.TypeCode_DATE)
	StringCode    = Code(spannerpb.TypeCode_STRING)
	BytesCode     = Code(spannerpb.TypeCode_BYTES)
	ArrayCode     = Code(spannerpb.TypeCode_ARRAY)
	StructCode    = Code(spannerpb.TypeCode_STRUCT)
	NumericCode   = Code(spannerpb.TypeCode_NUMERIC)
	JSONCode      = Code(spannerpb.TypeCode_JSON)
	ProtoCode     = Code(spannerpb.TypeCode_PROTO)
	EnumCode      = Code(spannerpb.TypeCode_ENUM)
	IntervalCode  = Code(spannerpb.TypeCode_INTERVAL)
	UUIDCode      = Code(spannerpb.TypeCode_UUID)
	// TokenListCode has no number in type.proto: a TOKENLIST column can be
	// indexed but neither read nor written.
	TokenListCode = Code(-1)
)

// String is the GoogleSQL name of the code.
func (c Code) String() string {
	if c == TokenListCode {
		return "TOKENLIST"
	}
	return spannerpb.TypeCode(c).String()
}

// Type is an immutable Spanner type. Types are compared with Equal.
type Type struct {
	Code Code
	// Elem is the element type of an ARRAY.
	Elem *Type
	// Fields are the fields of a STRUCT, in order; names may be empty.
	Fields []Field
	// ProtoName is the full name of a PROTO or ENUM type.
	ProtoName string
	// Annotation distinguishes PostgreSQL types that share a code.
	Annotation spannerpb.TypeAnnotationCode
}

// Field is one field of a STRUCT type, and one column of a result.
type Field struct {
	Name string
	Type *Type
}

// The scalar types, to be treated as constants.
var (
	BoolType      = &Type{Code: BoolCode}
	Int64Type     = &Type{Code: Int64Code}
	Float64Type   = &Type{Code: Float64Code}
	Float32Type   = &Type{Code: Float32Code}
	TimestampType = &Type{Code: TimestampCode}
	DateType      = &Type{Code: DateCode}
	StringType    = &Type{Code: StringCode}
	BytesType     = &Type{Code: BytesCode}
	NumericType   = &Type{Code: NumericCode}
	JSONType      = &Type{Code: JSONCode}
	UUIDType      = &Type{Code: UUIDCode}
	IntervalType  = &Type{Code: IntervalCode}
	TokenListType = &Type{Code: TokenListCode}
)

// The scalar types that the PostgreSQL dialect alone has.
var (
	PGNumericType = &Type{Code: NumericCode, Annotation: spannerpb.TypeAnnotationCode_PG_NUMERIC}
	PGJSONBType   = &Type{Code: JSONCode, Annotation: spannerpb.TypeAnnotationCode_PG_JSONB}
	PGOIDType     = &Type{Code: Int64Code, Annotation: spannerpb.TypeAnnotationCode_PG_OID}
)

// PGType finds the type that is called PG.name where GoogleSQL names types.
func PGType(name string) (*Type, bool) {
	switch name {
	case "NUMERIC":
		return PGNumericType, true
	case "JSONB":
		return PGJSONBType, true
	case "OID":
		return PGOIDType, true
	}
	return nil, false
}

// IsPGNumeric tells whether t is PostgreSQL's numeric.
func (t *Type) IsPGNumeric() bool {
	return t != nil && t.Annotation == spannerpb.TypeAnnotationCode_PG_NUMERIC
}

// IsPGJSONB tells whether t is PostgreSQL's jsonb.
func (t *Type) IsPGJSONB() bool {
	return t != nil && t.Annotation == spannerpb.TypeAnnotationCode_PG_JSONB
}

// ArrayOf is ARRAY<elem>.
func ArrayOf(elem *Type) *Type { return &Type{Code: ArrayCode, Elem: elem} }

// StructOf is STRUCT<fields...>. It keeps the slice.
func StructOf(fields ...Field) *Type { return &Type{Code: StructCode, Fields: fields} }

// ScalarType finds the scalar type with a GoogleSQL name, in any case.
func ScalarType(name string) (*Type, bool) {
	switch strings.ToUpper(name) {
	case "BOOL":
		return BoolType, true
	case "INT64":
		return Int64Type, true
	case "FLOAT64":
		return Float64Type, true
	case "FLOAT32":
		return Float32Type, true
	case "TIMESTAMP":
		return TimestampType, true
	case "DATE":
		return DateType, true
	case "STRING":
		return StringType, true
	case "BYTES":
		return BytesType, true
	case "NUMERIC":
		return NumericType, true
	case "JSON":
		return JSONType, true
	case "UUID":
		return UUIDType, true
	case "INTERVAL":
		return IntervalType, true
	case "TOKENLIST":
		return TokenListType, true
	}
	return nil, false
}

// Equal tells whether two types are the same type. STRUCT field names count.
func (t *Type) Equal(o *Type) bool {
	if t == o {
		return true
	}
	if t == nil || o == nil || t.Code != o.Code || t.ProtoName != o.ProtoName || t.Annotation != o.Annotation {
		return false
	}
	if t.Code == ArrayCode {
		return t.Elem.Equal(o.Elem)
	}
	return slices.EqualFunc(t.Fields, o.Fields, func(a, b Field) bool {
		return a.Name == b.Name && a.Type.Equal(b.Type)
	})
}

// String spells the type as GoogleSQL does: INT64, ARRAY<STRING>,
// STRUCT<a INT64, STRING>.
func (t *Type) String() string {
	switch {
	case t == nil:
		return "unknown"
	case t.Code == ArrayCode:
		return "ARRAY<" + t.Elem.String() + ">"
	case t.Code == StructCode:
		parts := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			parts[i] = strings.TrimSpace(f.Name + " " + f.Type.String())
		}
		return "STRUCT<" + strings.Join(parts, ", ") + ">"
	case t.ProtoName != "":
		return t.ProtoName
	case t.Annotation != 0:
		return strings.Replace(t.Annotation.String(), "_", ".", 1)
	default:
		return t.Code.String()
	}
}

// Proto is the type as it stands in result metadata.
func (t *Type) Proto() *spannerpb.Type {
	p := &spannerpb.Type{
		Code:           spannerpb.TypeCode(t.Code),
		TypeAnnotation: t.Annotation,
		ProtoTypeFqn:   t.ProtoName,
	}
	switch t.Code {
	case ArrayCode:
		p.ArrayElementType = t.Elem.Proto()
	case StructCode:
		p.StructType = StructProto(t.Fields)
	}
	return p
}

// StructProto is a list of fields as it stands in result metadata.
func StructProto(fields []Field) *spannerpb.StructType {
	s := &spannerpb.StructType{Fields: make([]*spannerpb.StructType_Field, len(fields))}
	for i, f := range fields {
		s.Fields[i] = &spannerpb.StructType_Field{Name: f.Name, Type: f.Type.Proto()}
	}
	return s
}

// TypeFromProto reads a type from a request's param_types. It is nil for a
// type with no code or with an incomplete ARRAY.
func TypeFromProto(p *spannerpb.Type) *Type {
	code := Code(p.GetCode())
	switch code {
	case Unspecified:
		return nil
	case ArrayCode:
		elem := TypeFromProto(p.GetArrayElementType())
		if elem == nil {
			return nil
		}
		return ArrayOf(elem)
	case StructCode:
		t := &Type{Code: StructCode}
		for _, f := range p.GetStructType().GetFields() {
			ft := TypeFromProto(f.GetType())
			if ft == nil {
				return nil
			}
			t.Fields = append(t.Fields, Field{Name: f.GetName(), Type: ft})
		}
		return t
	}
	if _, known := spannerpb.TypeCode_name[int32(code)]; !known {
		return nil
	}
	return &Type{Code: code, ProtoName: p.GetProtoTypeFqn(), Annotation: p.GetTypeAnnotation()}
}

// DDL spells a column type with its length, as INFORMATION_SCHEMA and
// GetDatabaseDdl do: STRING(MAX), ARRAY<BYTES(16)>. maxLen 0 stands for MAX.
func (t *Type) DDL(maxLen int64) string {
	switch t.Code {
	case ArrayCode:
		return "ARRAY<" + t.Elem.DDL(maxLen) + ">"
	case StringCode, BytesCode:
		if maxLen == 0 {
			return t.Code.String() + "(MAX)"
		}
		return t.Code.String() + "(" + strconv.FormatInt(maxLen, 10) + ")"
	}
	return t.String()
}

// PostgreSQL spells a column type as the PostgreSQL dialect does: bigint[],
// character varying(256). maxLen 0 is no limit.
func (t *Type) PostgreSQL(maxLen int64) string {
	switch t.Code {
	case ArrayCode:
		return t.Elem.PostgreSQL(maxLen) + "[]"
	case StringCode:
		if maxLen > 0 {
			return "character varying(" + strconv.FormatInt(maxLen, 10) + ")"
		}
		return "character varying"
	case Int64Code:
		if t.Annotation != 0 {
			return "oid"
		}
		return "bigint"
	case BoolCode:
		return "boolean"
	case Float64Code:
		return "double precision"
	case Float32Code:
		return "real"
	case BytesCode:
		return "bytea"
	case TimestampCode:
		return "timestamp with time zone"
	case JSONCode:
		return "jsonb"
	case TokenListCode:
		return "spanner.tokenlist"
	}
	return strings.ToLower(t.Code.String())
}
