package value

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// Error says why a google.protobuf.Value is no value of a type.
type Error struct {
	Type *Type
	// OutOfRange tells that the form is right and the value is not: Spanner
	// answers INVALID_ARGUMENT then, and for the wrong form FAILED_PRECONDITION
	// in mutations and keys. In query parameters both are INVALID_ARGUMENT.
	OutOfRange bool
}

// Error names the type but never the value, which may be personal data.
func (e *Error) Error() string {
	if e.OutOfRange {
		return fmt.Sprintf("value out of range for %s", e.Type)
	}
	return fmt.Sprintf("expected %s", e.Type)
}

func misfit(t *Type) error     { return &Error{Type: t} }
func outOfRange(t *Type) error { return &Error{Type: t, OutOfRange: true} }

// FromWire reads the bytes of a google.protobuf.Value as a value of type t,
// accepting every spelling that Spanner accepts. The error is an *Error.
func FromWire(t *Type, wire []byte) (Value, error) {
	m, ok := parseMember(wire)
	if !ok {
		return Value{}, misfit(t)
	}
	if m.tag == tagNull {
		return Null(t), nil
	}
	switch t.Code {
	case BoolCode:
		if m.tag != tagBool {
			return Value{}, misfit(t)
		}
		return Bool(m.truth), nil
	case Float64Code, Float32Code:
		return decodeFloat(t, m)
	case ArrayCode, StructCode:
		return decodeList(t, m)
	}
	if m.tag != tagString {
		return Value{}, misfit(t)
	}
	return decodeText(t, m.payload)
}

func decodeFloat(t *Type, m member) (Value, error) {
	f := m.number
	if m.tag == tagString {
		switch string(m.payload) {
		case "NaN":
			f = math.NaN()
		case "Infinity":
			f = math.Inf(1)
		case "-Infinity":
			f = math.Inf(-1)
		default:
			return Value{}, misfit(t)
		}
	} else if m.tag != tagNumber {
		return Value{}, misfit(t)
	}
	if t.Code == Float32Code {
		narrow := float32(f)
		if math.IsInf(float64(narrow), 0) && !math.IsInf(f, 0) {
			return Value{}, misfit(t)
		}
		return Float32(narrow), nil
	}
	return Float64(f), nil
}

func decodeList(t *Type, m member) (Value, error) {
	if m.tag != tagList {
		return Value{}, misfit(t)
	}
	v := Value{typ: t, valid: true, list: []Value{}}
	err := items(m.payload, func(wire []byte) error {
		elem := t.Elem
		if t.Code == StructCode {
			if len(v.list) == len(t.Fields) {
				return misfit(t)
			}
			elem = t.Fields[len(v.list)].Type
		}
		item, err := FromWire(elem, wire)
		v.list = append(v.list, item)
		return err
	})
	if err != nil {
		if e, ok := err.(*Error); ok {
			return Value{}, e
		}
		return Value{}, misfit(t)
	}
	if t.Code == StructCode && len(v.list) != len(t.Fields) {
		return Value{}, misfit(t)
	}
	return v, nil
}

// decodeText reads the types that travel as string_value.
func decodeText(t *Type, text []byte) (Value, error) {
	switch t.Code {
	case StringCode:
		if !utf8.Valid(text) {
			return Value{}, outOfRange(t)
		}
		return String(string(text)), nil
	case Int64Code, EnumCode:
		n, err := strconv.ParseInt(string(text), 10, 64)
		if err != nil {
			return Value{}, misfit(t)
		}
		return Value{typ: t, valid: true, n: n}, nil
	case NumericCode:
		if t.IsPGNumeric() {
			v, ok := ParsePGNumeric(string(text))
			return orMisfit(v, t, ok)
		}
		v, ok := ParseNumeric(string(text))
		return orMisfit(v, t, ok)
	case BytesCode, ProtoCode:
		raw, ok := decodeBase64(text)
		return orMisfit(Value{typ: t, valid: true, s: raw}, t, ok)
	case TimestampCode:
		p := parseTimestamp(text)
		return orOutOfRange(timestampValue(p), t, p)
	case DateCode:
		p := parseDate(text)
		return orOutOfRange(Date(p.days), t, p)
	case JSONCode:
		if t.IsPGJSONB() {
			v, ok := ParseJSONB(string(text))
			return orMisfit(v, t, ok)
		}
		v, ok := ParseJSON(string(text))
		return orMisfit(v, t, ok)
	case TokenListCode:
		return TokenList(string(text)), nil
	case UUIDCode:
		v, ok := ParseUUID(string(text))
		return orMisfit(v, t, ok)
	case IntervalCode:
		v, ok := ParseInterval(string(text))
		return orMisfit(v, t, ok)
	}
	return Value{}, misfit(t)
}

func orMisfit(v Value, t *Type, ok bool) (Value, error) {
	if !ok {
		return Value{}, misfit(t)
	}
	return v, nil
}

func orOutOfRange(v Value, t *Type, p parsed) (Value, error) {
	switch {
	case !p.inForm:
		return Value{}, misfit(t)
	case !p.inRange:
		return Value{}, outOfRange(t)
	}
	return v, nil
}

// decodeBase64 takes the standard alphabet with padding, and without as the
// official emulator does.
func decodeBase64(text []byte) (string, bool) {
	enc := base64.StdEncoding.Strict()
	if len(text)%4 != 0 {
		enc = base64.RawStdEncoding.Strict()
	}
	// The decoder skips line breaks, which Spanner does not.
	if strings.ContainsAny(string(text), "\r\n") {
		return "", false
	}
	raw, err := enc.DecodeString(string(text))
	return string(raw), err == nil
}

// ParseUUID reads a UUID in its 8-4-4-4-12 form, in any case.
func ParseUUID(s string) (Value, bool) {
	if len(s) != 36 {
		return Value{}, false
	}
	for i := range len(s) {
		switch c := s[i] | 0x20; {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if s[i] != '-' {
				return Value{}, false
			}
		case (c < '0' || c > '9') && (c < 'a' || c > 'f') || s[i] < '0':
			return Value{}, false
		}
	}
	return UUID(strings.ToLower(s)), true
}

// Canonical appends the canonical wire form of a google.protobuf.Value sent
// for a value of type t: what Spanner would send back. The error is an *Error.
// Forms that are canonical already, which is nearly all that clients send, are
// recognised and copied.
func Canonical(dst []byte, t *Type, wire []byte) ([]byte, error) {
	if m, ok := parseSingle(wire); ok {
		if isCanonical(t, m) {
			return append(dst, wire...), nil
		}
		if t.Code == JSONCode && m.tag == tagString {
			return canonicalJSON(dst, t, m.payload)
		}
	}
	v, err := FromWire(t, wire)
	if err != nil {
		return dst, err
	}
	return v.AppendWire(dst), nil
}

func canonicalJSON(dst []byte, t *Type, text []byte) ([]byte, error) {
	start := len(dst)
	dst = append(dst, tagString, 0)
	// The parser keeps nothing of the text.
	spell := appendJSON
	if t.IsPGJSONB() {
		spell = appendJSONB
	}
	dst, ok := spell(dst, unsafe.String(unsafe.SliceData(text), len(text)))
	if !ok {
		return dst[:start], misfit(t)
	}
	return closeLength(dst, start+1), nil
}

// isCanonical may say no of a canonical form, never yes of another.
func isCanonical(t *Type, m member) bool {
	if m.tag == tagNull {
		return true
	}
	switch t.Code {
	case BoolCode:
		return m.tag == tagBool
	case Float64Code:
		return m.tag == tagNumber && !math.IsNaN(m.number) && !math.IsInf(m.number, 0)
	case StringCode:
		return m.tag == tagString && utf8.Valid(m.payload)
	case Int64Code:
		return m.tag == tagString && isPlainInteger(m.payload)
	case TimestampCode:
		return m.tag == tagString && isPlainTimestamp(m.payload)
	case DateCode:
		p := parseDate(m.payload)
		return m.tag == tagString && len(m.payload) == 10 && p.inForm && p.inRange
	case NumericCode:
		// A plain numeric is spelled so in either dialect.
		return m.tag == tagString && isPlainNumeric(m.payload)
	case BytesCode:
		return m.tag == tagString && isPlainBase64(m.payload)
	case ArrayCode:
		return m.tag == tagList && items(m.payload, func(wire []byte) error {
			if e, ok := parseSingle(wire); !ok || !isCanonical(t.Elem, e) {
				return misfit(t)
			}
			return nil
		}) == nil && isPlainList(m.payload)
	}
	return false
}

// isPlainInteger knows integers without leading zeros that cannot overflow.
func isPlainInteger(s []byte) bool {
	if len(s) > 1 && s[0] == '-' {
		s = s[1:]
		if s[0] == '0' {
			return false
		}
	}
	return len(s) > 0 && len(s) <= 18 && (s[0] != '0' || len(s) == 1) && number(s) >= 0
}

func isPlainTimestamp(s []byte) bool {
	p := parseTimestamp(s)
	return p.inForm && p.inRange && s[len(s)-2] != '.' && (p.nanos == 0) == (len(s) == 20) && (p.nanos == 0 || s[len(s)-2] != '0')
}

// isPlainNumeric knows [-]d[.d] without superfluous zeros.
func isPlainNumeric(s []byte) bool {
	if len(s) > 1 && s[0] == '-' {
		s = s[1:]
		if len(s) == 1 && s[0] == '0' {
			return false
		}
	}
	whole, frac := s, []byte(nil)
	for i, c := range s {
		if c == '.' {
			whole, frac = s[:i], s[i+1:]
			if len(frac) == 0 || frac[len(frac)-1] == '0' {
				return false
			}
			break
		}
	}
	return len(whole) > 0 && len(whole) <= numericIntDigits && len(frac) <= numericScale &&
		(whole[0] != '0' || len(whole) == 1) && digitsOnly(whole) && digitsOnly(frac)
}

func digitsOnly(s []byte) bool {
	for _, c := range s {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// isPlainBase64 knows padded standard base64 whose unused bits need no look.
func isPlainBase64(s []byte) bool {
	if len(s)%4 != 0 || len(s) > 0 && s[len(s)-1] == '=' {
		return false
	}
	for _, c := range s {
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '+' && c != '/' {
			return false
		}
	}
	return true
}

// isPlainList knows lists that have nothing but items.
func isPlainList(list []byte) bool {
	for len(list) > 0 {
		if list[0] != tagItem {
			return false
		}
		_, rest := Row(list).cut()
		list = rest
	}
	return true
}
