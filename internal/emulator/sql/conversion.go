package sql

import (
	"encoding/base64"
	"encoding/hex"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"spanbulk/internal/emulator/value"
)

// conversion finds how CAST turns one type into another; nil if it does not.
// Timestamps without a zone are read and printed in loc.
func conversion(from, to *value.Type, loc *time.Location) convert {
	switch to.Code {
	case value.StringCode:
		return toString(from, loc)
	case value.Int64Code:
		return toInt64(from)
	case value.Float64Code, value.Float32Code:
		return toFloat(from, to)
	case value.NumericCode:
		return toNumeric(from)
	case value.BoolCode:
		return toBool(from)
	case value.BytesCode:
		return toBytes(from)
	case value.DateCode:
		return toDate(from, loc)
	case value.TimestampCode:
		return toTimestamp(from, loc)
	case value.UUIDCode:
		return toUUID(from)
	case value.IntervalCode:
		return toInterval(from)
	case value.EnumCode:
		if from.Code == value.Int64Code {
			return func(v value.Value) (value.Value, error) { return value.Enum(to, v.AsInt64()), nil }
		}
	case value.StructCode:
		return toStruct(from, to, loc)
	}
	return nil
}

func badValue(t *value.Type, v value.Value) error {
	return outOfRange("Bad %s value: %s", strings.ToLower(t.Code.String()), quoted(v))
}

func toString(from *value.Type, loc *time.Location) convert {
	switch from.Code {
	case value.BytesCode:
		return func(v value.Value) (value.Value, error) {
			if !utf8.ValidString(v.AsString()) {
				return value.Value{}, outOfRange("Invalid cast of bytes to UTF8 string")
			}
			return value.String(v.AsString()), nil
		}
	case value.TimestampCode:
		return func(v value.Value) (value.Value, error) { return value.String(timestampText(v.AsTime(), loc)), nil }
	case value.Float64Code, value.Float32Code:
		return func(v value.Value) (value.Value, error) { return value.String(floatText(v)), nil }
	case value.ArrayCode, value.StructCode, value.JSONCode, value.ProtoCode, value.TokenListCode:
		return nil
	}
	return func(v value.Value) (value.Value, error) { return value.String(string(v.AppendText(nil))), nil }
}

// floatText prints a float with as many digits as it takes to read it back.
func floatText(v value.Value) string {
	f, short, bits := v.AsFloat64(), 15, 64
	if v.Type().Code == value.Float32Code {
		short, bits = 6, 32
	}
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case f == 0:
		return "0"
	}
	for digits := short; ; digits++ {
		text := strconv.FormatFloat(f, 'g', digits, bits)
		if back, err := strconv.ParseFloat(text, bits); err == nil && back == f {
			return text
		}
	}
}

func toInt64(from *value.Type) convert {
	switch from.Code {
	case value.BoolCode, value.EnumCode:
		return func(v value.Value) (value.Value, error) { return value.Int64(v.AsInt64()), nil }
	case value.Float64Code, value.Float32Code:
		return func(v value.Value) (value.Value, error) {
			f := math.Round(v.AsFloat64())
			if !(f >= math.MinInt64 && f < math.MaxInt64) {
				return value.Value{}, outOfRange("Illegal conversion of non-finite or too large floating point number to an integer")
			}
			return value.Int64(int64(f)), nil
		}
	case value.NumericCode:
		return func(v value.Value) (value.Value, error) {
			r := roundRat(v.AsNumeric(), 0)
			if !r.Num().IsInt64() {
				return value.Value{}, outOfRange("int64 out of range: %s", quoted(v))
			}
			return value.Int64(r.Num().Int64()), nil
		}
	case value.StringCode:
		return stringToInt64
	}
	return nil
}

func stringToInt64(v value.Value) (value.Value, error) {
	text := strings.TrimSpace(v.AsString())
	sign, digits := "", text
	if text != "" && (text[0] == '-' || text[0] == '+') {
		sign, digits = strings.TrimPrefix(text[:1], "+"), text[1:]
	}
	base := 10
	if len(digits) > 2 && digits[0] == '0' && digits[1]|0x20 == 'x' {
		base, digits = 16, digits[2:]
	}
	if digits == "" || digits[0] == '-' || digits[0] == '+' {
		return value.Value{}, badValue(value.Int64Type, v)
	}
	n, err := strconv.ParseInt(sign+digits, base, 64)
	if err != nil {
		return value.Value{}, badValue(value.Int64Type, v)
	}
	return value.Int64(n), nil
}

func toFloat(from, to *value.Type) convert {
	float := func(f float64) (value.Value, error) {
		if to.Code == value.Float64Code {
			return value.Float64(f), nil
		}
		if narrow := float32(f); !math.IsInf(float64(narrow), 0) || math.IsInf(f, 0) {
			return value.Float32(narrow), nil
		}
		return value.Value{}, outOfRange("float out of range")
	}
	switch from.Code {
	case value.Int64Code:
		return func(v value.Value) (value.Value, error) { return float(float64(v.AsInt64())) }
	case value.Float64Code, value.Float32Code:
		return func(v value.Value) (value.Value, error) { return float(v.AsFloat64()) }
	case value.NumericCode:
		return func(v value.Value) (value.Value, error) {
			f, _ := v.AsNumeric().Float64()
			return float(f)
		}
	case value.StringCode:
		return func(v value.Value) (value.Value, error) {
			f, err := strconv.ParseFloat(strings.TrimSpace(v.AsString()), 64)
			if err != nil || strings.ContainsAny(v.AsString(), "xX_pP") {
				return value.Value{}, badValue(to, v)
			}
			return float(f)
		}
	}
	return nil
}

func toNumeric(from *value.Type) convert {
	switch from.Code {
	case value.Int64Code:
		return func(v value.Value) (value.Value, error) { return value.Numeric(new(big.Rat).SetInt64(v.AsInt64())) }
	case value.Float64Code, value.Float32Code:
		return func(v value.Value) (value.Value, error) {
			r := new(big.Rat).SetFloat64(v.AsFloat64())
			if r == nil {
				return value.Value{}, outOfRange("Illegal conversion of non-finite floating point number to numeric")
			}
			out, err := roundNumeric(r)
			if err != nil {
				return value.Value{}, outOfRange("numeric out of range: %v", v.AsFloat64())
			}
			return out, nil
		}
	case value.StringCode:
		return stringToNumeric
	}
	return nil
}

func stringToNumeric(v value.Value) (value.Value, error) {
	text := strings.TrimSpace(v.AsString())
	if out, ok := value.ParseNumeric(text); ok {
		return out, nil
	}
	// Too many fractional digits are rounded here, though not in mutations.
	if len(text) > 64 || strings.ContainsAny(text, "/xXpP_") || exponentTooLarge(text) {
		return value.Value{}, badValue(value.NumericType, v)
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return value.Value{}, badValue(value.NumericType, v)
	}
	out, err := roundNumeric(r)
	if err != nil {
		return value.Value{}, badValue(value.NumericType, v)
	}
	return out, nil
}

// exponentTooLarge keeps big.Rat from computing absurd powers.
func exponentTooLarge(text string) bool {
	_, exp, ok := strings.Cut(strings.ToLower(text), "e")
	n, err := strconv.Atoi(exp)
	return ok && (err != nil || n > 100 || n < -100)
}

func toBool(from *value.Type) convert {
	switch from.Code {
	case value.Int64Code:
		return func(v value.Value) (value.Value, error) { return value.Bool(v.AsInt64() != 0), nil }
	case value.StringCode:
		return func(v value.Value) (value.Value, error) {
			switch strings.ToLower(v.AsString()) {
			case "true":
				return value.Bool(true), nil
			case "false":
				return value.Bool(false), nil
			}
			return value.Value{}, badValue(value.BoolType, v)
		}
	}
	return nil
}

func toBytes(from *value.Type) convert {
	switch from.Code {
	case value.StringCode, value.ProtoCode:
		return func(v value.Value) (value.Value, error) { return value.Bytes(v.AsString()), nil }
	case value.UUIDCode:
		return func(v value.Value) (value.Value, error) {
			raw, err := hex.DecodeString(strings.ReplaceAll(v.AsString(), "-", ""))
			return value.Bytes(string(raw)), err
		}
	}
	return nil
}

func toDate(from *value.Type, loc *time.Location) convert {
	switch from.Code {
	case value.TimestampCode:
		return func(v value.Value) (value.Value, error) { return dateOf(v.AsTime().In(loc)) }
	case value.StringCode:
		return func(v value.Value) (value.Value, error) {
			d, ok := value.ParseDate(v.AsString())
			if !ok {
				return value.Value{}, outOfRange("Invalid date: %s", quoted(v))
			}
			return d, nil
		}
	}
	return nil
}

func toTimestamp(from *value.Type, loc *time.Location) convert {
	switch from.Code {
	case value.DateCode:
		return func(v value.Value) (value.Value, error) { return timestampOf(midnight(v.AsInt64(), loc)) }
	case value.StringCode:
		return func(v value.Value) (value.Value, error) { return parseTimestamp(v.AsString(), loc) }
	}
	return nil
}

func toInterval(from *value.Type) convert {
	if from.Code != value.StringCode {
		return nil
	}
	return func(v value.Value) (value.Value, error) {
		i, ok := value.ParseInterval(v.AsString())
		if !ok {
			return value.Value{}, badValue(value.IntervalType, v)
		}
		return i, nil
	}
}

func toUUID(from *value.Type) convert {
	switch from.Code {
	case value.StringCode:
		return func(v value.Value) (value.Value, error) {
			u, ok := value.ParseUUID(v.AsString())
			if !ok {
				return value.Value{}, badValue(value.UUIDType, v)
			}
			return u, nil
		}
	case value.BytesCode:
		return func(v value.Value) (value.Value, error) {
			h := hex.EncodeToString([]byte(v.AsString()))
			if len(h) != 32 {
				return value.Value{}, outOfRange("Bad uuid value: %d bytes", len(v.AsString()))
			}
			return value.UUID(h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]), nil
		}
	}
	return nil
}

func toStruct(from, to *value.Type, loc *time.Location) convert {
	if from.Code != value.StructCode || len(from.Fields) != len(to.Fields) {
		return nil
	}
	convs := make([]convert, len(to.Fields))
	for i := range convs {
		if from.Fields[i].Type.Equal(to.Fields[i].Type) {
			convs[i] = func(v value.Value) (value.Value, error) { return v, nil }
		} else if convs[i] = conversion(from.Fields[i].Type, to.Fields[i].Type, loc); convs[i] == nil {
			return nil
		}
	}
	return func(v value.Value) (value.Value, error) {
		fields := make([]value.Value, len(convs))
		for i, f := range v.List() {
			if f.IsNull() {
				fields[i] = value.Null(to.Fields[i].Type)
				continue
			}
			var err error
			if fields[i], err = convs[i](f); err != nil {
				return value.Value{}, err
			}
		}
		return value.Struct(to, fields), nil
	}
}

// base64Text is how BYTES print in TO_BASE64 and TO_JSON_STRING.
func base64Text(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
