package cdc

import (
	"fmt"
	"strconv"
	"unicode/utf8"

	"cloud.google.com/go/spanner/apiv1/spannerpb"

	"spanbulk/internal/wire"
)

// appendJSONAsValue appends the wire form of a value that came as JSON text in
// a mod, of a column of type t. What travels as text between Spanner and its
// clients is a string in a mod, too: the digits of INT64 and NUMERIC, the text
// of a JSON value. Errors never hold the value.
func appendJSONAsValue(dst, text []byte, t *spannerpb.Type) ([]byte, error) {
	if string(text) == "null" && t.GetCode() != spannerpb.TypeCode_JSON {
		return wire.AppendNull(dst), nil
	}
	switch t.GetCode() {
	case spannerpb.TypeCode_ARRAY:
		return appendJSONArray(dst, text, t.GetArrayElementType())
	case spannerpb.TypeCode_BOOL:
		if s := string(text); s == "true" || s == "false" {
			return wire.AppendBool(dst, s == "true"), nil
		}
		return dst, errOtherType(t)
	case spannerpb.TypeCode_FLOAT32, spannerpb.TypeCode_FLOAT64:
		if text[0] == '"' { // NaN, Infinity, -Infinity
			return appendJSONString(dst, text)
		}
		f, err := strconv.ParseFloat(string(text), 64)
		if err != nil {
			return dst, errOtherType(t)
		}
		return wire.AppendNumber(dst, f), nil
	}
	return appendJSONText(dst, text, t)
}

// appendJSONText appends a value that travels as text.
func appendJSONText(dst, text []byte, t *spannerpb.Type) ([]byte, error) {
	switch {
	case text[0] == '"':
		return appendJSONString(dst, text)
	case string(text) == "null": // of a JSON column: NULL, as the value null is the string "null"
		return wire.AppendNull(dst), nil
	case t.GetCode() == spannerpb.TypeCode_JSON, text[0] == '-' || text[0]-'0' <= 9:
		return wire.AppendString(dst, text), nil // written bare, as Google's documents draw an INT64
	default:
		return dst, errOtherType(t)
	}
}

func appendJSONString(dst, quoted []byte) ([]byte, error) {
	var scratch [64]byte
	s, _, err := unquote(quoted, scratch[:0])
	if err != nil {
		return dst, err
	}
	if !utf8.Valid(s) {
		return dst, errNotUTF8
	}
	return wire.AppendString(dst, s), nil
}

func appendJSONArray(dst, text []byte, element *spannerpb.Type) ([]byte, error) {
	var elements, value []byte
	j := jsonText{text: text}
	err := j.array(func(text []byte) error {
		var err error
		if value, err = appendJSONAsValue(value[:0], text, element); err != nil {
			return err
		}
		elements = wire.AppendElement(elements, value)
		return nil
	})
	if err != nil {
		return dst, err
	}
	return wire.AppendList(dst, elements), nil
}

func errOtherType(t *spannerpb.Type) error {
	return fmt.Errorf("its value is not written as one of type %v", t.GetCode())
}
