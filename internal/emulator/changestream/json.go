package changestream

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"spanbulk/internal/emulator/value"
)

// appendObject appends the JSON object of some columns of a row: compact,
// members in order of name. A nil set is an empty object.
func appendObject(dst []byte, set *columnSet, row value.Row) []byte {
	dst = append(dst, '{')
	if set != nil {
		for i, m := range set.members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, m.head...)
			dst = appendJSONValue(dst, m.column.Type, row.Cell(m.column.Slot))
		}
	}
	return append(dst, '}')
}

// appendJSONValue spells a canonical google.protobuf.Value. What travels as
// text there is text here too: INT64 and NUMERIC keep their digits.
func appendJSONValue(dst []byte, t *value.Type, wire []byte) []byte {
	v, err := value.FromWire(t, wire)
	if err != nil || v.IsNull() {
		return append(dst, "null"...)
	}
	return appendJSON(dst, v)
}

func appendJSON(dst []byte, v value.Value) []byte {
	if v.IsNull() {
		return append(dst, "null"...)
	}
	switch v.Type().Code {
	case value.BoolCode:
		return strconv.AppendBool(dst, v.AsBool())
	case value.Float64Code, value.Float32Code:
		return appendJSONFloat(dst, v.AsFloat64())
	case value.ArrayCode:
		dst = append(dst, '[')
		for i, item := range v.List() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendJSON(dst, item)
		}
		return append(dst, ']')
	case value.StringCode, value.JSONCode:
		return appendJSONText(dst, v.AsString())
	}
	dst = append(dst, '"')
	return append(v.AppendText(dst), '"')
}

// appendJSONFloat spells a double as Spanner's JSON does: the shortest digits
// that mean it, always recognisable as a double.
func appendJSONFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	}
	verb := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e15) {
		verb = 'e'
	}
	at := len(dst)
	dst = strconv.AppendFloat(dst, f, verb, -1, 64)
	if !strings.ContainsAny(string(dst[at:]), ".e") {
		dst = append(dst, '.', '0')
	}
	return dst
}

const hexDigits = "0123456789abcdef"

// appendJSONText appends a quoted JSON string.
func appendJSONText(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c < utf8.RuneSelf || c >= utf8.RuneSelf {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(append(dst, s[from:]...), '"')
}

// appendJSONType spells a type as column_types does, members in order of name.
func appendJSONType(dst []byte, t *value.Type) []byte {
	dst = append(dst, '{')
	if t.Elem != nil {
		dst = append(dst, `"array_element_type":`...)
		dst = append(appendJSONType(dst, t.Elem), ',')
	}
	dst = append(dst, `"code":"`...)
	dst = append(append(dst, t.Code.String()...), '"')
	if t.ProtoName != "" {
		dst = append(dst, `,"proto_type_fqn":`...)
		dst = appendJSONText(dst, t.ProtoName)
	}
	if t.Annotation != 0 {
		dst = append(dst, `,"type_annotation":"`...)
		dst = append(append(dst, t.Annotation.String()...), '"')
	}
	return append(dst, '}')
}
