package changestream

import (
	"encoding/binary"
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
			dst = appendJSONValue(dst, row.Cell(m.column.Slot))
		}
	}
	return append(dst, '}')
}

// appendJSONValue spells a canonical google.protobuf.Value. What travels as
// text there is text here too: INT64 and NUMERIC keep their digits, a JSON value
// is its text.
func appendJSONValue(dst, wire []byte) []byte {
	switch wire[0] {
	case tagBool:
		return strconv.AppendBool(dst, wire[1] != 0)
	case tagNumber:
		return appendJSONFloat(dst, math.Float64frombits(binary.LittleEndian.Uint64(wire[1:])))
	case tagString:
		return appendJSONText(dst, payload(wire))
	case tagList:
		dst = append(dst, '[')
		for items := payload(wire); len(items) > 0; {
			n, w := binary.Uvarint(items[1:])
			end := 1 + w + int(n)
			dst = append(appendJSONValue(dst, items[1+w:end]), ',')
			items = items[end:]
		}
		if dst[len(dst)-1] == ',' {
			dst = dst[:len(dst)-1]
		}
		return append(dst, ']')
	}
	return append(dst, "null"...)
}

// payload is what stands after a tag and a length.
func payload(wire []byte) []byte {
	_, w := binary.Uvarint(wire[1:])
	return wire[1+w:]
}

// appendJSONFloat spells a double as Spanner's JSON does: the shortest digits
// that mean it, always recognisable as a double. NaN and the infinities travel
// as text.
func appendJSONFloat(dst []byte, f float64) []byte {
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
func appendJSONText[T ~string | ~[]byte](dst []byte, s T) []byte {
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
