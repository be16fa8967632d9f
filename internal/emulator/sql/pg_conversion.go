package sql

import (
	"encoding/hex"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"spanbulk/internal/emulator/value"
)

// conversion is how a type becomes another in the statement's dialect; nil if
// it does not.
func (a *analyzer) conversion(from, to *value.Type) convert {
	if a.pg {
		if c := pgConversion(from, to, a.loc); c != nil {
			return c
		}
	}
	return conversion(from, to, a.loc)
}

// pgConversion has the conversions that PostgreSQL makes otherwise than
// GoogleSQL, or alone.
func pgConversion(from, to *value.Type, loc *time.Location) convert {
	switch {
	case to.IsPGNumeric():
		return toPGNumeric(from)
	case from.IsPGNumeric() && to.Code != value.StringCode:
		return fromPGNumeric(to)
	case from.Code == value.StringCode:
		return pgFromText(to, loc)
	case to.Code == value.StringCode:
		return pgToText(from, loc)
	case to.Code == value.Int64Code && isFloat(from):
		return func(v value.Value) (value.Value, error) {
			f := math.RoundToEven(v.AsFloat64())
			if !(f >= math.MinInt64 && f < math.MaxInt64) {
				return value.Value{}, outOfRange("bigint out of range")
			}
			return value.Int64(int64(f)), nil
		}
	case to.Code == value.Int64Code && to.Annotation != from.Annotation && from.Code == value.Int64Code:
		return func(v value.Value) (value.Value, error) { return v.WithType(to), nil }
	case to.Code == value.ArrayCode && from.Code == value.ArrayCode:
		return pgArray(from.Elem, to, loc)
	}
	return nil
}

// pgArray converts the elements of an array.
func pgArray(from, to *value.Type, loc *time.Location) convert {
	each := pgConversion(from, to.Elem, loc)
	if each == nil {
		each = conversion(from, to.Elem, loc)
	}
	if each == nil {
		return nil
	}
	return func(v value.Value) (value.Value, error) {
		out := make([]value.Value, len(v.List()))
		for i, item := range v.List() {
			if item.IsNull() {
				out[i] = value.Null(to.Elem)
				continue
			}
			var err error
			if out[i], err = each(item); err != nil {
				return value.Value{}, err
			}
		}
		return value.Array(to.Elem, out).WithType(to), nil
	}
}

func pgFromText(to *value.Type, loc *time.Location) convert {
	switch to.Code {
	case value.BytesCode:
		return pgBytea
	case value.BoolCode:
		return pgBool
	case value.JSONCode:
		return func(v value.Value) (value.Value, error) {
			out, ok := value.ParseJSONB(v.AsString())
			if !ok {
				return value.Value{}, outOfRange("invalid input syntax for type json")
			}
			return out, nil
		}
	case value.Int64Code:
		return func(v value.Value) (value.Value, error) {
			n, err := strconv.ParseInt(strings.TrimSpace(v.AsString()), 10, 64)
			switch {
			case errors.Is(err, strconv.ErrRange):
				return value.Value{}, outOfRange("value %q is out of range for type %s", v.AsString(), to.PostgreSQL(0))
			case err != nil:
				return value.Value{}, badText(to, v)
			}
			return value.Int64(n).WithType(to), nil
		}
	case value.ArrayCode:
		return pgArrayFromText(to, loc)
	case value.IntervalCode:
		return pgInterval
	}
	read := conversion(value.StringType, to, loc)
	if read == nil {
		return nil
	}
	return func(v value.Value) (value.Value, error) {
		out, err := read(v)
		if err != nil {
			return value.Value{}, badText(to, v)
		}
		return out, nil
	}
}

// badText tells that a text cannot be read as a type.
func badText(t *value.Type, v value.Value) error {
	return outOfRange("invalid input syntax for type %s: %q", t.PostgreSQL(0), v.AsString())
}

// pgBytea reads \x and hexadecimal digits, or text with octal escapes.
func pgBytea(v value.Value) (value.Value, error) {
	text := v.AsString()
	if digits, ok := strings.CutPrefix(text, `\x`); ok {
		raw, err := hex.DecodeString(digits)
		if err != nil {
			return value.Value{}, outOfRange("invalid hexadecimal data for type bytea")
		}
		return value.Bytes(string(raw)), nil
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			out.WriteByte(text[i])
			continue
		}
		switch rest := text[i+1:]; {
		case strings.HasPrefix(rest, `\`):
			out.WriteByte('\\')
			i++
		case len(rest) >= 3:
			n, err := strconv.ParseUint(rest[:3], 8, 8)
			if err != nil {
				return value.Value{}, outOfRange("invalid input syntax for type bytea")
			}
			out.WriteByte(byte(n))
			i += 3
		default:
			return value.Value{}, outOfRange("invalid input syntax for type bytea")
		}
	}
	return value.Bytes(out.String()), nil
}

func pgBool(v value.Value) (value.Value, error) {
	switch strings.ToLower(strings.TrimSpace(v.AsString())) {
	case "t", "true", "y", "yes", "on", "1":
		return value.Bool(true), nil
	case "f", "false", "n", "no", "off", "0":
		return value.Bool(false), nil
	}
	return value.Value{}, badText(value.BoolType, v)
}

func pgToText(from *value.Type, loc *time.Location) convert {
	switch from.Code {
	case value.TimestampCode:
		return func(v value.Value) (value.Value, error) {
			return value.String(pgTimestampText(v.AsTime().In(loc))), nil
		}
	case value.BytesCode:
		return func(v value.Value) (value.Value, error) {
			return value.String(`\x` + hex.EncodeToString([]byte(v.AsString()))), nil
		}
	case value.Float64Code, value.Float32Code:
		return func(v value.Value) (value.Value, error) { return value.String(pgFloatText(v)), nil }
	case value.IntervalCode:
		return func(v value.Value) (value.Value, error) { return value.String(pgIntervalText(v)), nil }
	case value.JSONCode:
		return func(v value.Value) (value.Value, error) { return value.String(v.AsString()), nil }
	}
	return nil
}

// pgFloatText prints the fewest digits that read back, with an exponent where
// PostgreSQL has one.
func pgFloatText(v value.Value) string {
	f, bits, large := v.AsFloat64(), 64, 1e15
	if v.Type().Code == value.Float32Code {
		bits, large = 32, 1e6
	}
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	if abs := math.Abs(f); abs != 0 && (abs < 1e-4 || abs >= large) {
		return strconv.FormatFloat(f, 'e', -1, bits)
	}
	return strconv.FormatFloat(f, 'f', -1, bits)
}

// pgTimestampText prints as many digits of the second as are not 0.
func pgTimestampText(t time.Time) string {
	layout := "2006-01-02 15:04:05.999999999-07"
	if _, offset := t.Zone(); offset%3600 != 0 {
		layout += ":00"
	}
	return t.Format(layout)
}

// literalFits lists what a literal may become beyond widening. In PostgreSQL a string
// without a type takes any that its place asks for.
func (a *analyzer) literalFits(from, to *value.Type) bool {
	if a.pg {
		switch {
		case from.Code == value.StringCode:
			return to.Code != value.StructCode
		case from.IsPGNumeric():
			return isFloat(to)
		}
	}
	return literalFits(from, to)
}
