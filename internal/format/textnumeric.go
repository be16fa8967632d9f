package format

import (
	"bytes"
	"errors"

	"spanbulk/internal/wire"
)

// Spanner's bounds of NUMERIC: digits before and after the point.
const (
	numericWhole    = 29
	numericPlaces   = 9
	pgNumericWhole  = 131_072
	pgNumericPlaces = 16_383
)

var (
	errWantNumeric      = errors.New("not a decimal number")
	errNumericNaN       = errors.New("NaN, which NUMERIC cannot hold")
	errNumericRange     = errors.New("more than 29 digits before the point, which NUMERIC cannot hold")
	errNumericPrecision = errors.New("more than 9 digits after the point, which NUMERIC cannot hold")
	errPGNumericRange   = errors.New("more than 131072 digits before or 16383 after the point")
)

// textNumeric takes a decimal number, with an exponent or without, that NUMERIC
// holds exactly, and writes it without leading or trailing zeros.
func textNumeric(dst, text []byte) ([]byte, error) {
	if out, ok := plainFunc(plainNumeric).all(dst, text); ok {
		return out, nil
	}
	d, ok := parseDecimal(text)
	switch {
	case !ok && isNaN(text):
		return dst, errNumericNaN
	case !ok:
		return dst, errWantNumeric
	}
	d.trim(0)
	switch {
	case len(d.whole)+d.wholeZeros > numericWhole:
		return dst, errNumericRange
	case d.placeZeros+len(d.places) > numericPlaces:
		return dst, errNumericPrecision
	}
	var scratch [numericWhole + numericPlaces + 8]byte
	return wire.AppendString(dst, d.append(scratch[:0])), nil
}

// textPGNumeric is textNumeric for PostgreSQL's type, which keeps the zeros at
// the end of a number and has a NaN.
func textPGNumeric(dst, text []byte) ([]byte, error) {
	if isNaN(text) {
		return wire.AppendString(dst, "NaN"), nil
	}
	d, ok := parseDecimal(text)
	if !ok {
		return dst, errWantNumeric
	}
	d.trimWhole()
	if len(d.whole)+d.wholeZeros > pgNumericWhole || d.placeZeros+len(d.places) > pgNumericPlaces {
		return dst, errPGNumericRange
	}
	var scratch [64]byte
	return wire.AppendString(dst, d.append(scratch[:0])), nil
}

func isNaN(text []byte) bool { return bytes.EqualFold(text, []byte("NaN")) }

// decimal is a decimal number taken apart: whole digits, then wholeZeros zeros,
// the point, placeZeros zeros, and the digits of places. The slices alias the
// text.
type decimal struct {
	negative               bool
	plain                  bool // whole and places stand in the text with only the point between
	whole, places          []byte
	wholeZeros, placeZeros int
	shifted                []byte // whole and places in one, where an exponent moved the point
}

// parseDecimal reads [+-]digits[.digits][e[+-]digits].
func parseDecimal(text []byte) (decimal, bool) {
	d := decimal{plain: true}
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		d.negative = text[0] == '-'
		text = text[1:]
	}
	n := digits(text)
	if n == 0 {
		return d, false
	}
	d.whole, text = text[:n], text[n:]
	if len(text) > 0 && text[0] == '.' {
		n = digits(text[1:])
		if n == 0 {
			return d, false
		}
		d.places, text = text[1:1+n], text[1+n:]
	}
	if len(text) == 0 {
		return d, true
	}
	if text[0] != 'e' && text[0] != 'E' {
		return d, false
	}
	exponent, ok := parseExponent(text[1:])
	if ok {
		d.shift(exponent)
	}
	return d, ok
}

// parseExponent reads an exponent; one beyond what any bound allows counts as
// the first that is.
func parseExponent(text []byte) (int, bool) {
	const limit = 2 * (pgNumericWhole + pgNumericPlaces)
	sign := 1
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		if text[0] == '-' {
			sign = -1
		}
		text = text[1:]
	}
	if len(text) == 0 || digits(text) != len(text) {
		return 0, false
	}
	n := 0
	for _, c := range text {
		n = min(n*10+int(c-'0'), limit)
	}
	return sign * n, true
}

// shift moves the point by exponent places to the right.
func (d *decimal) shift(exponent int) {
	d.plain = false
	all := append(append(d.shifted[:0], d.whole...), d.places...)
	point := len(d.whole) + exponent
	if len(bytes.Trim(all, "0")) == 0 {
		point = min(max(point, 0), len(all)) // zero has no magnitude
	}
	switch {
	case point >= len(all):
		d.whole, d.wholeZeros, d.places = all, point-len(all), nil
	case point <= 0:
		d.whole, d.placeZeros, d.places = nil, -point, all
	default:
		d.whole, d.places = all[:point], all[point:]
	}
}

// trim takes off what does not count: leading zeros, and trailing ones behind
// the point down to keep places.
func (d *decimal) trim(keep int) {
	d.trimWhole()
	for n := len(d.places); n > keep && d.places[n-1] == '0'; n = len(d.places) {
		d.places = d.places[:n-1]
	}
	if len(d.places) == 0 {
		d.placeZeros = 0
	}
	if len(d.places) == 0 && len(d.whole) == 0 {
		d.negative = false
	}
}

func (d *decimal) trimWhole() {
	for len(d.whole) > 0 && d.whole[0] == '0' {
		d.whole = d.whole[1:]
	}
	if len(d.whole) == 0 {
		d.wholeZeros = 0
	}
}

// append writes the number as Spanner does: no exponent, a zero before a point
// that nothing else stands before, no minus sign on zero.
func (d *decimal) append(dst []byte) []byte {
	if d.negative && (len(d.whole) > 0 || len(bytes.Trim(d.places, "0")) > 0) {
		dst = append(dst, '-')
	}
	if len(d.whole) == 0 {
		dst = append(dst, '0')
	}
	dst = appendZeros(append(dst, d.whole...), d.wholeZeros)
	if d.placeZeros+len(d.places) == 0 {
		return dst
	}
	return append(appendZeros(append(dst, '.'), d.placeZeros), d.places...)
}

func appendZeros(dst []byte, n int) []byte {
	for range n {
		dst = append(dst, '0')
	}
	return dst
}
