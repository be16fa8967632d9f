package sql

import (
	"encoding/hex"
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
		return pgFromText(to)
	case to.Code == value.StringCode:
		return pgToText(from)
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

func pgFromText(to *value.Type) convert {
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
	}
	return nil
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
	return value.Value{}, outOfRange("invalid input syntax for type boolean")
}

func pgToText(from *value.Type) convert {
	switch from.Code {
	case value.BytesCode:
		return func(v value.Value) (value.Value, error) {
			return value.String(`\x` + hex.EncodeToString([]byte(v.AsString()))), nil
		}
	case value.Float64Code, value.Float32Code:
		return func(v value.Value) (value.Value, error) { return value.String(pgFloatText(v)), nil }
	case value.JSONCode:
		return func(v value.Value) (value.Value, error) { return value.String(v.AsString()), nil }
	}
	return nil
}

// pgFloatText prints the fewest digits that read back, with an exponent where
// PostgreSQL has one.
func pgFloatText(v value.Value) string {
	f, bits := v.AsFloat64(), 64
	if v.Type().Code == value.Float32Code {
		bits = 32
	}
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	if abs := math.Abs(f); abs != 0 && (abs < 1e-4 || abs >= 1e15) {
		return strconv.FormatFloat(f, 'e', -1, bits)
	}
	return strconv.FormatFloat(f, 'f', -1, bits)
}

// fits lists what a literal may become beyond widening. In PostgreSQL a string
// without a type takes any that its place asks for.
func (a *analyzer) literalFits(from, to *value.Type) bool {
	if a.pg {
		switch {
		case from.Code == value.StringCode:
			return to.Code != value.ArrayCode && to.Code != value.StructCode
		case from.IsPGNumeric():
			return isFloat(to)
		}
	}
	return literalFits(from, to)
}
