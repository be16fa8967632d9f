package format

import (
	"math"
	"strconv"

	"spanbulk/internal/wire"
)

// appendFloat appends the shortest decimal that reads back as f, in the form
// JSON and ECMAScript use: no exponent between 1e-6 and 1e21.
func appendFloat(dst []byte, f float64, bits int) []byte {
	if bits == 64 {
		if out, ok := appendShortDecimal(dst, f); ok {
			return out
		}
	}
	form := byte('f')
	if abs := math.Abs(f); abs != 0 {
		if bits == 64 && (abs < 1e-6 || abs >= 1e21) ||
			bits == 32 && (float32(abs) < 1e-6 || float32(abs) >= 1e21) {
			form = 'e'
		}
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, form, -1, bits)
	if n := len(dst); form == 'e' && n-start >= 4 && dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' {
		dst[n-2] = dst[n-1] // e-09 -> e-9
		dst = dst[:n-1]
	}
	return dst
}

// appendShortDecimal writes a float that is a decimal of at most six places,
// as prices and counts are, in a fraction of the time of the general method.
//
// It is exact: i/1e6 is correctly rounded, so if it equals f then the decimal
// i/1e6 reads back as f; and since two decimals of at most 15 digits never read
// as the same double, no other decimal that short does, so with its trailing
// zeros cut it is the shortest.
func appendShortDecimal(dst []byte, f float64) ([]byte, bool) {
	const scale, limit = 1e6, 1e9 // limit*scale = 1e15: 15 digits
	if !(math.Abs(f) < limit) {
		return dst, false
	}
	i := int64(math.Round(f * scale))
	if float64(i)/scale != f || i == 0 { // a zero may be -0
		return dst, false
	}
	if i < 0 {
		dst = append(dst, '-')
		i = -i
	}
	whole, frac := uint64(i)/scale, uint64(i)%scale
	dst = strconv.AppendUint(dst, whole, 10)
	if frac == 0 {
		return dst, true
	}
	var places [7]byte
	places[0] = '.'
	for p := 6; p > 0; p-- {
		places[p] = byte('0' + frac%10)
		frac /= 10
	}
	n := 7
	for places[n-1] == '0' {
		n--
	}
	return append(dst, places[:n]...), true
}

// floatName returns the text Spanner has for a float that JSON has no number
// for, and whether f is one.
func floatName(f float64) (string, bool) {
	switch {
	case f != f:
		return "NaN", true
	case f > math.MaxFloat64:
		return "Infinity", true
	case f < -math.MaxFloat64:
		return "-Infinity", true
	}
	return "", false
}

// namedFloat is the inverse of floatName.
func namedFloat(text []byte) (float64, error) {
	switch string(text) {
	case "NaN":
		return math.NaN(), nil
	case "Infinity":
		return math.Inf(1), nil
	case "-Infinity":
		return math.Inf(-1), nil
	}
	return 0, errNotFloat
}

// parseFloat reads a FLOAT32 or FLOAT64, which travels as a number, or as a
// string where it is not finite.
func parseFloat(kind wire.Kind, p []byte, bits int) (float64, error) {
	switch kind {
	case wire.Number:
		f := wire.Float64(p)
		if bits == 32 && math.IsInf(float64(float32(f)), 0) && !math.IsInf(f, 0) {
			return 0, errFloat32Range
		}
		return f, nil
	case wire.String:
		return namedFloat(p)
	default:
		return 0, wrongKind(kind)
	}
}
