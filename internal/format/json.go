package format

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"cloud.google.com/go/spanner/apiv1/spannerpb"

	"spanbulk/internal/wire"
)

// ValueOptions choose between the JSON forms that some Spanner types can have.
// The zero value takes the first of each.
type ValueOptions struct {
	Int64   string // "number" or "string": INT64 and ENUM; readers that use doubles need strings above 2^53
	Numeric string // "string" or "number": NUMERIC, all digits in both
	JSON    string // "value" or "string": a JSON value as itself or as its text
}

// Validate reports an option that is none of its values.
func (o ValueOptions) Validate() error {
	for _, c := range []struct{ name, value, first, second string }{
		{"int64", o.Int64, "number", "string"},
		{"numeric", o.Numeric, "string", "number"},
		{"json", o.JSON, "value", "string"},
	} {
		if c.value != "" && c.value != c.first && c.value != c.second {
			return fmt.Errorf("%s %q is neither %s nor %s", c.name, c.value, c.first, c.second)
		}
	}
	return nil
}

// jsonField is what writing one column or STRUCT field takes.
type jsonField struct {
	prefix []byte // `{"name":` or `,"name":`
	encode encodeFunc
	field  *spannerpb.StructType_Field
}

func (o ValueOptions) jsonFields(fields []*spannerpb.StructType_Field) ([]jsonField, error) {
	plan := make([]jsonField, len(fields))
	for i, f := range fields {
		encode, err := o.jsonEncoder(f.GetType())
		if err != nil {
			return nil, columnError(f, err)
		}
		prefix := []byte{','}
		if i == 0 {
			prefix[0] = '{'
		}
		if prefix, err = appendJSONString(prefix, []byte(f.GetName())); err != nil {
			return nil, fmt.Errorf("name of column %d: %w", i+1, err)
		}
		plan[i] = jsonField{append(prefix, ':'), encode, f}
	}
	return plan, nil
}

// jsonEncoder chooses the function that writes values of type t as JSON.
func (o ValueOptions) jsonEncoder(t *spannerpb.Type) (encodeFunc, error) {
	switch t.GetCode() {
	case spannerpb.TypeCode_BOOL:
		return appendBool, nil
	case spannerpb.TypeCode_INT64, spannerpb.TypeCode_ENUM:
		if o.Int64 != "string" {
			return appendInteger, nil
		}
	case spannerpb.TypeCode_FLOAT64:
		return appendJSONFloat64, nil
	case spannerpb.TypeCode_FLOAT32:
		return appendJSONFloat32, nil
	case spannerpb.TypeCode_NUMERIC:
		if o.Numeric == "number" {
			return appendJSONNumeric, nil
		}
	case spannerpb.TypeCode_JSON:
		if o.JSON != "string" {
			return appendJSONValue, nil
		}
	case spannerpb.TypeCode_ARRAY:
		element, err := o.jsonEncoder(t.GetArrayElementType())
		return jsonArray(element), err
	case spannerpb.TypeCode_STRUCT:
		fields, err := o.jsonFields(t.GetStructType().GetFields())
		return jsonStruct(fields), err
	}
	return appendJSONText, nil
}

// appendJSON writes a value, NULL or not.
func appendJSON(dst []byte, v wire.Value, encode encodeFunc) ([]byte, error) {
	kind, p := v.Parse()
	if kind == wire.Null {
		return append(dst, "null"...), nil
	}
	return encode(dst, kind, p)
}

// appendJSONText writes every type that travels as text and is a string in
// JSON: STRING, BYTES, TIMESTAMP, DATE, UUID, INTERVAL, and others as asked.
func appendJSONText(dst []byte, kind wire.Kind, p []byte) ([]byte, error) {
	if kind != wire.String {
		return dst, wrongKind(kind)
	}
	return appendJSONString(dst, p)
}

func appendBool(dst []byte, kind wire.Kind, p []byte) ([]byte, error) {
	if kind != wire.Bool {
		return dst, wrongKind(kind)
	}
	if wire.Truth(p) {
		return append(dst, "true"...), nil
	}
	return append(dst, "false"...), nil
}

func appendInteger(dst []byte, kind wire.Kind, p []byte) ([]byte, error) {
	if kind != wire.String {
		return dst, wrongKind(kind)
	}
	if !isInteger(p) {
		return dst, errNotInteger
	}
	return append(dst, p...), nil
}

// appendJSONNumeric writes a NUMERIC as a number. PostgreSQL's has a NaN, which
// JSON has no number for.
func appendJSONNumeric(dst []byte, kind wire.Kind, p []byte) ([]byte, error) {
	switch {
	case kind != wire.String:
		return dst, wrongKind(kind)
	case isDecimal(p):
		return append(dst, p...), nil
	case string(p) == "NaN":
		return append(dst, `"NaN"`...), nil
	default:
		return dst, errNotNumber
	}
}

func appendJSONFloat64(dst []byte, kind wire.Kind, p []byte) ([]byte, error) {
	return appendJSONFloat(dst, kind, p, 64)
}

func appendJSONFloat32(dst []byte, kind wire.Kind, p []byte) ([]byte, error) {
	return appendJSONFloat(dst, kind, p, 32)
}

func appendJSONFloat(dst []byte, kind wire.Kind, p []byte, bits int) ([]byte, error) {
	f, err := parseFloat(kind, p, bits)
	if err != nil {
		return dst, err
	}
	return appendFloatOrName(dst, f, bits), nil
}

// appendJSONValue writes a JSON column's value as itself, its text untouched:
// whatever the server sent is valid JSON. NULL is null, so the JSON value null
// must look different: it becomes {"$json":null}, and an object that would be
// taken for such a wrapping is wrapped itself.
func appendJSONValue(dst []byte, kind wire.Kind, p []byte) ([]byte, error) {
	switch {
	case kind != wire.String:
		return dst, wrongKind(kind)
	case len(p) == 0:
		return dst, errNotJSON
	case !utf8.Valid(p):
		return dst, errInvalidUTF8
	case wantsWrapping(p):
		dst = append(dst, `{"$json":`...)
		dst = appendOneLine(dst, p)
		return append(dst, '}'), nil
	default:
		return appendOneLine(dst, p), nil
	}
}

// AppendJSONString appends s as a JSON string, with nothing escaped that need
// not be. It refuses what is not UTF-8.
func AppendJSONString(dst, s []byte) ([]byte, error) { return appendJSONString(dst, s) }

// AppendJSONFloat appends f as the shortest JSON number that reads back as f,
// or as a string if it is not finite.
func AppendJSONFloat(dst []byte, f float64) []byte { return appendFloatOrName(dst, f, 64) }

func appendFloatOrName(dst []byte, f float64, bits int) []byte {
	if name, named := floatName(f); named {
		dst = append(dst, '"')
		dst = append(dst, name...)
		return append(dst, '"')
	}
	return appendFloat(dst, f, bits)
}

// appendOneLine appends JSON text that must not break a line of NDJSON. A raw
// newline in valid JSON is blank space between tokens, as a space is. Spanner
// sends none.
func appendOneLine(dst, text []byte) []byte {
	start := len(dst)
	dst = append(dst, text...)
	for line := dst[start:]; ; {
		i := bytes.IndexByte(line, '\n')
		if i < 0 {
			return dst
		}
		line[i] = ' '
		line = line[i+1:]
	}
}

// wantsWrapping reports whether the JSON text is null or an object whose one
// key is $json. The bytes that Spanner's compact text can begin with decide
// almost always; only what may be such an object is parsed.
func wantsWrapping(text []byte) bool {
	switch text[0] {
	case '{':
		if len(text) < 3 || text[1] == '"' && text[2] != '$' && text[2] != '\\' {
			return false
		}
	case 'n', ' ', '\t', '\r', '\n':
	default:
		return false
	}
	text = bytes.TrimSpace(text)
	if string(text) == "null" {
		return true
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(text, &object) != nil || len(object) != 1 {
		return false
	}
	_, ok := object["$json"]
	return ok
}

func jsonArray(element encodeFunc) encodeFunc {
	return func(dst []byte, kind wire.Kind, p []byte) ([]byte, error) {
		if kind != wire.ListKind {
			return dst, wrongKind(kind)
		}
		dst = append(dst, '[')
		list := wire.List(p)
		for first := true; ; first = false {
			v, rest, ok := list.Next()
			if !ok {
				if !rest.Done() {
					return dst, errMalformedList
				}
				return append(dst, ']'), nil
			}
			list = rest
			if !first {
				dst = append(dst, ',')
			}
			var err error
			if dst, err = appendJSON(dst, v, element); err != nil {
				return dst, err
			}
		}
	}
}

// jsonStruct writes a STRUCT, which travels as the list of its fields' values,
// as an object.
func jsonStruct(fields []jsonField) encodeFunc {
	return func(dst []byte, kind wire.Kind, p []byte) ([]byte, error) {
		if kind != wire.ListKind {
			return dst, wrongKind(kind)
		}
		list := wire.List(p)
		for i := range fields {
			f := &fields[i]
			v, rest, ok := list.Next()
			if !ok {
				return dst, errFieldCount
			}
			list = rest
			var err error
			if dst, err = appendJSON(append(dst, f.prefix...), v, f.encode); err != nil {
				return dst, fmt.Errorf("field %s: %w", f.field.GetName(), err)
			}
		}
		if !list.Done() {
			return dst, errFieldCount
		}
		return append(dst, '}'), nil
	}
}
