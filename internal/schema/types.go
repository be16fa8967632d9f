package schema

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
)

// maxTypeDepth bounds nesting in a type. Spanner allows ARRAY and STRUCT to
// nest 15 deep.
const maxTypeDepth = 32

// ParseType parses the text of a type as SPANNER_TYPE in INFORMATION_SCHEMA has
// it: STRING(MAX), ARRAY<FLOAT32>(vector_length=>128) or, in PostgreSQL,
// character varying(256), bigint[]. Lengths are read over.
//
// GoogleSQL writes messages and enums of a proto bundle either as
// PROTO<full.name> and ENUM<full.name> or as the bare full name. The bare name
// does not tell the two apart; it is taken for a message. A Catalog knows the
// true type from the metadata of a query.
func (d Dialect) ParseType(text string) (*spannerpb.Type, error) {
	parse := parseGoogleSQLType
	if d == PostgreSQL {
		parse = parsePostgreSQLType
	}
	t, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("type %q: %w", text, err)
	}
	return t, nil
}

func scalar(code spannerpb.TypeCode) *spannerpb.Type { return &spannerpb.Type{Code: code} }

func annotated(code spannerpb.TypeCode, a spannerpb.TypeAnnotationCode) *spannerpb.Type {
	return &spannerpb.Type{Code: code, TypeAnnotation: a}
}

func arrayOf(element *spannerpb.Type) *spannerpb.Type {
	return &spannerpb.Type{Code: spannerpb.TypeCode_ARRAY, ArrayElementType: element}
}

// typeParser reads a GoogleSQL type from left to right.
type typeParser struct{ rest string }

func parseGoogleSQLType(text string) (*spannerpb.Type, error) {
	p := &typeParser{rest: text}
	t, err := p.parse(0)
	if err != nil {
		return nil, err
	}
	if p.skipBlank(); p.rest != "" {
		return nil, fmt.Errorf("unexpected %q at its end", p.rest)
	}
	return t, nil
}

func (p *typeParser) parse(depth int) (*spannerpb.Type, error) {
	if depth > maxTypeDepth {
		return nil, errors.New("nested too deep")
	}
	word := p.word()
	switch upper := strings.ToUpper(word); upper {
	case "":
		return nil, errors.New("a type is missing")
	case "ARRAY":
		return p.parseArray(depth)
	case "STRUCT":
		return p.parseStruct(depth)
	case "PROTO", "ENUM":
		if p.take("<") {
			return p.parseNamed(spannerpb.TypeCode(spannerpb.TypeCode_value[upper]))
		}
		return nil, fmt.Errorf("%s needs the name of its type in angle brackets", upper)
	default:
		if code, ok := googleSQLScalar(upper); ok {
			return scalar(code), p.skipParameters()
		}
		if strings.Contains(word, ".") {
			return &spannerpb.Type{Code: spannerpb.TypeCode_PROTO, ProtoTypeFqn: word}, nil
		}
		return nil, fmt.Errorf("%q is not a type of Spanner", word)
	}
}

func (p *typeParser) parseArray(depth int) (*spannerpb.Type, error) {
	if !p.take("<") {
		return nil, errors.New("ARRAY needs an element type in angle brackets")
	}
	element, err := p.parse(depth + 1)
	if err != nil {
		return nil, err
	}
	if !p.take(">") {
		return nil, errors.New("ARRAY lacks its closing bracket")
	}
	return arrayOf(element), p.skipParameters()
}

func (p *typeParser) parseNamed(code spannerpb.TypeCode) (*spannerpb.Type, error) {
	name := p.word()
	if name == "" || !p.take(">") {
		return nil, fmt.Errorf("%v lacks a name or its closing bracket", code)
	}
	return &spannerpb.Type{Code: code, ProtoTypeFqn: name}, nil
}

func (p *typeParser) parseStruct(depth int) (*spannerpb.Type, error) {
	if !p.take("<") {
		return nil, errors.New("STRUCT needs its fields in angle brackets")
	}
	st := &spannerpb.StructType{}
	for !p.take(">") {
		if len(st.Fields) > 0 && !p.take(",") {
			return nil, errors.New("STRUCT lacks a comma or its closing bracket")
		}
		field, err := p.parseField(depth + 1)
		if err != nil {
			return nil, err
		}
		st.Fields = append(st.Fields, field)
	}
	return &spannerpb.Type{Code: spannerpb.TypeCode_STRUCT, StructType: st}, nil
}

// parseField reads `name TYPE` or, for an unnamed field, `TYPE`.
func (p *typeParser) parseField(depth int) (*spannerpb.StructType_Field, error) {
	before := p.rest
	name := p.word()
	p.skipBlank()
	if p.rest == "" || strings.ContainsRune("<(,>", rune(p.rest[0])) {
		name, p.rest = "", before
	}
	t, err := p.parse(depth)
	return &spannerpb.StructType_Field{Name: name, Type: t}, err
}

// word takes letters, digits, underscores and dots off the front.
func (p *typeParser) word() string {
	p.skipBlank()
	end := strings.IndexFunc(p.rest, func(r rune) bool { return strings.ContainsRune("<>(),[] \t\n", r) })
	if end < 0 {
		end = len(p.rest)
	}
	word := p.rest[:end]
	p.rest = p.rest[end:]
	return word
}

func (p *typeParser) take(symbol string) bool {
	p.skipBlank()
	rest, ok := strings.CutPrefix(p.rest, symbol)
	if ok {
		p.rest = rest
	}
	return ok
}

// skipParameters passes over (MAX), (256), (vector_length=>128).
func (p *typeParser) skipParameters() error {
	if !p.take("(") {
		return nil
	}
	_, rest, ok := strings.Cut(p.rest, ")")
	if !ok {
		return errors.New("a parenthesis is not closed")
	}
	p.rest = rest
	return nil
}

func (p *typeParser) skipBlank() { p.rest = strings.TrimLeft(p.rest, " \t\n") }

func googleSQLScalar(upper string) (spannerpb.TypeCode, bool) {
	switch upper {
	case "BOOL", "INT64", "FLOAT32", "FLOAT64", "STRING", "BYTES", "TIMESTAMP", "DATE", "NUMERIC", "JSON", "UUID", "INTERVAL":
		return spannerpb.TypeCode(spannerpb.TypeCode_value[upper]), true
	case "TOKENLIST":
		// It has no code of its own: a TOKENLIST cannot be read or written.
		return spannerpb.TypeCode_TYPE_CODE_UNSPECIFIED, true
	default:
		return 0, false
	}
}

var (
	vectorLength = regexp.MustCompile(`\s+vector\s+length\s+\d+$`)
	typeLength   = regexp.MustCompile(`\s*\([\d\s,]*\)`)
)

func parsePostgreSQLType(text string) (*spannerpb.Type, error) {
	base := vectorLength.ReplaceAllString(strings.ToLower(strings.TrimSpace(text)), "")
	base = typeLength.ReplaceAllString(base, "")
	base, isArray := strings.CutSuffix(base, "[]")
	t := postgreSQLScalar(strings.Join(strings.Fields(base), " "))
	switch {
	case t == nil:
		return nil, errors.New("not a type of Spanner's PostgreSQL dialect")
	case isArray:
		return arrayOf(t), nil
	default:
		return t, nil
	}
}

func postgreSQLScalar(name string) *spannerpb.Type {
	switch name {
	case "boolean", "bool":
		return scalar(spannerpb.TypeCode_BOOL)
	case "bigint", "int8", "integer", "int", "smallint":
		return scalar(spannerpb.TypeCode_INT64)
	case "oid":
		return annotated(spannerpb.TypeCode_INT64, spannerpb.TypeAnnotationCode_PG_OID)
	case "real", "float4":
		return scalar(spannerpb.TypeCode_FLOAT32)
	case "double precision", "float8":
		return scalar(spannerpb.TypeCode_FLOAT64)
	case "character varying", "varchar", "text":
		return scalar(spannerpb.TypeCode_STRING)
	case "bytea":
		return scalar(spannerpb.TypeCode_BYTES)
	case "timestamp with time zone", "timestamptz", "spanner.commit_timestamp":
		return scalar(spannerpb.TypeCode_TIMESTAMP)
	case "date":
		return scalar(spannerpb.TypeCode_DATE)
	case "numeric", "decimal":
		return annotated(spannerpb.TypeCode_NUMERIC, spannerpb.TypeAnnotationCode_PG_NUMERIC)
	case "jsonb":
		return annotated(spannerpb.TypeCode_JSON, spannerpb.TypeAnnotationCode_PG_JSONB)
	case "uuid":
		return scalar(spannerpb.TypeCode_UUID)
	case "interval":
		return scalar(spannerpb.TypeCode_INTERVAL)
	case "spanner.tokenlist":
		return scalar(spannerpb.TypeCode_TYPE_CODE_UNSPECIFIED)
	default:
		return nil
	}
}
