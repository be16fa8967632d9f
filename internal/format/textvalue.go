package format

import (
	"bytes"
	"errors"
	"strconv"
	"unsafe"

	"cloud.google.com/go/spanner/apiv1/spannerpb"

	"spanbulk/internal/wire"
)

// textFunc appends to dst the wire form of what text means for one Spanner
// type. Text that would lose something is refused. What is written is the form
// Spanner returns, so that equal keys are equal bytes. On an error the returned
// buffer is of no use.
type textFunc func(dst, text []byte) ([]byte, error)

// valueDecoder reads values of one column, or of the elements of an ARRAY.
type valueDecoder struct {
	text     textFunc  // from a JSON string, a CSV field, an Avro string; nil: none is taken
	plain    plainFunc // text where it can be had for less; nil: nowhere
	number   bool      // text reads the JSON number too
	digits   bool      // what plain takes are JSON numbers
	truth    bool      // BOOL
	json     bool      // JSON: any JSON value
	jsonText bool      // JSON: a JSON string that holds the text
	element  *valueDecoder
	typ      *spannerpb.Type
}

// columnKind tells columns apart where the kind of an Avro value must fit.
type columnKind uint8

const (
	columnOther columnKind = iota
	columnInteger
	columnFloat64
	columnFloat32
	columnNumeric
	columnBytes
	columnTimestamp
	columnDate
	columnUUID
)

func (d *valueDecoder) kind() columnKind {
	switch d.typ.GetCode() {
	case spannerpb.TypeCode_INT64, spannerpb.TypeCode_ENUM:
		return columnInteger
	case spannerpb.TypeCode_FLOAT64:
		return columnFloat64
	case spannerpb.TypeCode_FLOAT32:
		return columnFloat32
	case spannerpb.TypeCode_NUMERIC:
		return columnNumeric
	case spannerpb.TypeCode_BYTES, spannerpb.TypeCode_PROTO:
		return columnBytes
	case spannerpb.TypeCode_TIMESTAMP:
		return columnTimestamp
	case spannerpb.TypeCode_DATE:
		return columnDate
	case spannerpb.TypeCode_UUID:
		return columnUUID
	}
	return columnOther
}

// The reasons for which values are refused. They complete "column Total
// (NUMERIC): " and never show the value.
var (
	errTypeUnknown    = errors.New("the column's type cannot be written")
	errWantBool       = errors.New("neither true nor false")
	errWantInteger    = errors.New("not a whole number in decimal digits")
	errIntegerRange   = errors.New("out of the range of 64 bits")
	errWantFloat      = errors.New(`not a number, "NaN", "Infinity" or "-Infinity"`)
	errFloatRange     = errors.New("out of the range of a 64-bit float")
	errOutOfFloat32   = errors.New("out of the range of a 32-bit float")
	errWantText       = errors.New("not a string")
	errWantArray      = errors.New("not an array")
	errWantArrayText  = errors.New("not the JSON text of an array")
	errWantJSONString = errors.New("not a string that holds JSON")
	errWantUUID       = errors.New("not a UUID such as 123e4567-e89b-12d3-a456-426614174000")
	errWantEnum       = errors.New("not the number of an enum value")
	errWantJSONText   = errors.New("not JSON")
)

func newValueDecoder(t *spannerpb.Type, commitTimestamp, jsonText bool) valueDecoder {
	d := valueDecoder{typ: t}
	switch t.GetCode() {
	case spannerpb.TypeCode_BOOL:
		d.text, d.plain, d.truth = textBool, plainBool, true
	case spannerpb.TypeCode_INT64:
		d.text, d.plain, d.number, d.digits = textInt64, plainInt64, true, true
	case spannerpb.TypeCode_ENUM:
		d.text, d.plain, d.number, d.digits = textEnum, plainInt64, true, true
	case spannerpb.TypeCode_FLOAT64:
		d.text, d.plain, d.number, d.digits = textFloat64, plainFloat64, true, true
	case spannerpb.TypeCode_FLOAT32:
		d.text, d.number = textFloat32, true
	case spannerpb.TypeCode_NUMERIC:
		d.text, d.plain, d.number, d.digits = textNumeric, plainNumeric, true, true
		if isPGNumeric(t) {
			d.text, d.plain = textPGNumeric, nil
		}
	case spannerpb.TypeCode_STRING, spannerpb.TypeCode_INTERVAL: // which is of queries: no column can be one
		d.text = textString
	case spannerpb.TypeCode_BYTES, spannerpb.TypeCode_PROTO:
		d.text, d.plain = textBase64, plainBase64
	case spannerpb.TypeCode_TIMESTAMP:
		d.text, d.plain, d.number = textTimestamp, plainTimestamp, true
		if commitTimestamp {
			d.text = textCommitTimestamp
		}
	case spannerpb.TypeCode_DATE:
		d.text, d.plain = textDate, plainDate
	case spannerpb.TypeCode_UUID:
		d.text = textUUID
	case spannerpb.TypeCode_JSON:
		d.text, d.json, d.jsonText = textJSON, true, jsonText
	case spannerpb.TypeCode_ARRAY:
		element := newValueDecoder(t.GetArrayElementType(), false, jsonText)
		if element.text != nil {
			d.element = &element
			d.text = func(dst, text []byte) ([]byte, error) { return textArray(dst, text, &element) }
		}
	}
	return d
}

// want is the reason for a JSON value of a kind that the type never has.
func (d *valueDecoder) want() error {
	switch d.typ.GetCode() {
	case spannerpb.TypeCode_BOOL:
		return errWantBool
	case spannerpb.TypeCode_INT64:
		return errWantInteger
	case spannerpb.TypeCode_ENUM:
		return errWantEnum
	case spannerpb.TypeCode_FLOAT32, spannerpb.TypeCode_FLOAT64:
		return errWantFloat
	case spannerpb.TypeCode_NUMERIC:
		return errWantNumeric
	case spannerpb.TypeCode_TIMESTAMP:
		return errWantTimestamp
	case spannerpb.TypeCode_DATE:
		return errWantDate
	case spannerpb.TypeCode_UUID:
		return errWantUUID
	case spannerpb.TypeCode_BYTES, spannerpb.TypeCode_PROTO:
		return errWantBase64
	case spannerpb.TypeCode_ARRAY:
		if d.element != nil {
			return errWantArray
		}
	case spannerpb.TypeCode_STRING, spannerpb.TypeCode_INTERVAL:
		return errWantText
	case spannerpb.TypeCode_JSON:
		return errWantJSONString
	}
	return errTypeUnknown
}

func textString(dst, text []byte) ([]byte, error) { return wire.AppendString(dst, text), nil }

func textBool(dst, text []byte) ([]byte, error) {
	switch {
	case string(text) == "true", bytes.EqualFold(text, []byte("true")):
		return wire.AppendBool(dst, true), nil
	case string(text) == "false", bytes.EqualFold(text, []byte("false")):
		return wire.AppendBool(dst, false), nil
	}
	return dst, errWantBool
}

// textInt64 takes what strconv.ParseInt takes and writes it as Spanner does:
// without a plus sign, leading zeros or a negative zero.
func textInt64(dst, text []byte) ([]byte, error) {
	if out, ok := plainFunc(plainInt64).all(dst, text); ok {
		return out, nil
	}
	n, err := strconv.ParseInt(unsafeString(text), 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return dst, errIntegerRange
	case err != nil:
		return dst, errWantInteger
	}
	var b [20]byte
	return wire.AppendString(dst, strconv.AppendInt(b[:0], n, 10)), nil
}

// unsafeString makes no copy. It is for functions that keep their argument in
// their error alone, which is dropped.
func unsafeString(text []byte) string { return unsafe.String(unsafe.SliceData(text), len(text)) }

func textEnum(dst, text []byte) ([]byte, error) {
	dst, err := textInt64(dst, text)
	if err == errWantInteger {
		err = errWantEnum // a name, most likely
	}
	return dst, err
}

func textFloat64(dst, text []byte) ([]byte, error) {
	if out, ok := plainFunc(plainFloat64).all(dst, text); ok {
		return out, nil
	}
	return appendFloatText(dst, text, 64)
}

func textFloat32(dst, text []byte) ([]byte, error) { return appendFloatText(dst, text, 32) }

// appendFloatText reads what JSON calls a number, and the three names. A
// FLOAT32 travels as the double of the same value.
func appendFloatText(dst, text []byte, bits int) ([]byte, error) {
	if !isFloatText(text) {
		if _, err := namedFloat(text); err != nil {
			return dst, errWantFloat
		}
		return wire.AppendString(dst, text), nil
	}
	f, err := strconv.ParseFloat(unsafeString(text), bits)
	switch {
	case err == nil:
		return wire.AppendNumber(dst, f), nil
	case bits == 32:
		return dst, errOutOfFloat32
	default:
		return dst, errFloatRange
	}
}

// isFloatText reports whether text is a number as JSON has it, with a plus sign
// and leading zeros forgiven; strconv would take hexadecimals and underscores.
func isFloatText(text []byte) bool {
	if len(text) > 0 && (text[0] == '+' || text[0] == '-') {
		text = text[1:]
	}
	for len(text) > 1 && text[0] == '0' && text[1]-'0' <= 9 {
		text = text[1:]
	}
	return len(text) > 0 && text[0] != '-' && isDecimal(text)
}

// textUUID takes either case and writes the lower.
func textUUID(dst, text []byte) ([]byte, error) {
	const form = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
	if len(text) != len(form) {
		return dst, errWantUUID
	}
	start := len(dst)
	dst = wire.AppendString(dst, text)
	out := dst[len(dst)-len(form):]
	for i := range len(form) {
		c := out[i]
		switch {
		case form[i] == '-':
			if c != '-' {
				return dst[:start], errWantUUID
			}
		case c-'0' <= 9 || c-'a' <= 5:
		case c-'A' <= 5:
			out[i] = c | 0x20
		default:
			return dst[:start], errWantUUID
		}
	}
	return dst, nil
}

// textJSON takes JSON text and keeps it as it is: Spanner brings it to its own
// form, and digits are not ours to change.
func textJSON(dst, text []byte) ([]byte, error) {
	s := scanner{data: text}
	s.space()
	if err := s.skipValue(); err != nil {
		return dst, errWantJSONText
	}
	if s.space(); s.pos != len(text) {
		return dst, errWantJSONText
	}
	return wire.AppendString(dst, text), nil
}

// textArray takes the JSON text of an array.
func textArray(dst, text []byte, element *valueDecoder) ([]byte, error) {
	s := scanner{data: text}
	s.space()
	if s.pos == len(text) || text[s.pos] != '[' {
		return dst, errWantArrayText
	}
	dst, err := s.array(dst, element)
	if _, syntax := err.(*syntaxError); syntax {
		return dst, errWantArrayText
	}
	if s.space(); err == nil && s.pos != len(text) {
		return dst, errWantArrayText
	}
	return dst, err
}
