package tablefile

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/value"
)

// Tags of google.protobuf.ListValue and Value.
const (
	tagItem   = 0x0a
	tagNull   = 0x08
	tagNumber = 0x11
	tagString = 0x1a
	tagBool   = 0x20
	tagList   = 0x32
)

func appendNull(dst []byte) []byte { return append(dst, tagItem, 2, tagNull, 0) }

func appendBool(dst []byte, b bool) []byte {
	n := byte(0)
	if b {
		n = 1
	}
	return append(dst, tagItem, 2, tagBool, n)
}

func appendNumber(dst []byte, f float64) []byte {
	dst = append(dst, tagItem, 9, tagNumber)
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(f))
}

// appendText appends a list item that is a string_value.
func appendText[T ~string | ~[]byte](dst []byte, s T) []byte {
	inner := uint64(len(s))
	dst = append(dst, tagItem)
	dst = binary.AppendUvarint(dst, inner+1+uint64(uvarintLen(inner)))
	dst = append(dst, tagString)
	dst = binary.AppendUvarint(dst, inner)
	return append(dst, s...)
}

// appendList appends a list item that is a list_value of encoded items.
func appendList(dst, items []byte) []byte {
	inner := uint64(len(items))
	dst = append(dst, tagItem)
	dst = binary.AppendUvarint(dst, inner+1+uint64(uvarintLen(inner)))
	dst = append(dst, tagList)
	dst = binary.AppendUvarint(dst, inner)
	return append(dst, items...)
}

func uvarintLen(n uint64) int {
	size := 1
	for ; n >= 0x80; n >>= 7 {
		size++
	}
	return size
}

// appendField appends a CSV field as a value of a column's type.
func appendField(dst []byte, c *catalog.Column, f field) ([]byte, error) {
	if len(f.text) == 0 && !f.quoted {
		return appendNull(dst), nil
	}
	switch c.Type.Code {
	case value.BoolCode:
		b, err := strconv.ParseBool(string(f.text))
		if err != nil {
			return dst, errorString("expected true or false")
		}
		return appendBool(dst, b), nil
	case value.Float64Code, value.Float32Code:
		return appendFloatText(dst, f.text)
	case value.ArrayCode:
		return appendJSON(dst, c, f.text)
	default:
		return appendText(dst, f.text), nil
	}
}

func appendFloatText(dst, text []byte) ([]byte, error) {
	switch string(text) {
	case "NaN", "Infinity", "-Infinity":
		return appendText(dst, text), nil
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return dst, errorString("expected a number")
	}
	return appendNumber(dst, f), nil
}

// appendJSON appends a JSON value as a value of a column's type.
func appendJSON(dst []byte, c *catalog.Column, raw []byte) ([]byte, error) {
	return appendTyped(dst, c.Type, raw)
}

func appendTyped(dst []byte, t *value.Type, raw []byte) ([]byte, error) {
	switch string(raw) {
	case "":
		return dst, errorString("expected a value of type " + t.String() + ", found nothing")
	case "null":
		return appendNull(dst), nil
	}
	if t.Code == value.JSONCode {
		return appendJSONText(dst, raw)
	}
	switch raw[0] {
	case '"':
		text, err := unquote(raw)
		if err != nil {
			return dst, err
		}
		return appendText(dst, text), nil
	case 't', 'f':
		if s := string(raw); s != "true" && s != "false" {
			return dst, errorString("malformed JSON")
		}
		return appendBool(dst, raw[0] == 't'), nil
	case '[':
		return appendArray(dst, t, raw)
	}
	return appendJSONNumber(dst, t, raw)
}

// appendJSONNumber gives numbers the form that their type has on the wire.
func appendJSONNumber(dst []byte, t *value.Type, raw []byte) ([]byte, error) {
	if !json.Valid(raw) || raw[0] == '{' {
		return dst, errorString("expected a value of type " + t.String())
	}
	switch t.Code {
	case value.Float64Code, value.Float32Code:
		return appendFloatText(dst, raw)
	case value.Int64Code, value.NumericCode, value.EnumCode:
		return appendText(dst, raw), nil
	}
	return dst, errorString("expected a value of type " + t.String() + ", found a number")
}

func appendArray(dst []byte, t *value.Type, raw []byte) ([]byte, error) {
	if t.Code != value.ArrayCode {
		return dst, errorString("expected a value of type " + t.String() + ", found an array")
	}
	s := scanner{in: raw, at: 1}
	var list []byte
	for n := 0; !s.accept(']'); n++ {
		if n > 0 && !s.accept(',') {
			return dst, errorString("malformed JSON array")
		}
		item, ok := s.value()
		if !ok {
			return dst, errorString("malformed JSON array")
		}
		var err error
		if list, err = appendTyped(list, t.Elem, item); err != nil {
			return dst, err
		}
	}
	return appendList(dst, list), nil
}

// appendJSONText appends a JSON column's text. {"$json":x} stands for x where
// x is null, which alone would be NULL, or itself such an object.
func appendJSONText(dst, raw []byte) ([]byte, error) {
	if raw[0] == '{' {
		s := scanner{in: raw, at: 1}
		if name, ok := s.value(); ok && string(name) == `"$json"` && s.accept(':') {
			inner, ok := s.value()
			if ok && s.accept('}') && s.at == len(raw) {
				raw = inner
			}
		}
	}
	return appendText(dst, raw), nil
}
