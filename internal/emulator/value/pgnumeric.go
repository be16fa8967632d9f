package value

import (
	"math/big"
	"strings"
)

// Limits of PostgreSQL's numeric as Spanner has it: digits before and behind
// the point.
const (
	pgNumericIntDigits = 131_072
	pgNumericScale     = 16_383
)

// pgNaN is the text of the one number that is none.
const pgNaN = "NaN"

// PGNumeric is a PostgreSQL numeric from its canonical text; see
// ParsePGNumeric for other text.
func PGNumeric(canonical string) Value {
	return Value{typ: PGNumericType, valid: true, s: canonical}
}

// ParsePGNumeric reads a numeric as PostgreSQL does. Zeros at the end of the
// fraction are kept, as they are in what PostgreSQL gives back; exponents are
// not.
func ParsePGNumeric(s string) (Value, bool) {
	if strings.EqualFold(s, pgNaN) {
		return PGNumeric(pgNaN), true
	}
	neg, rest := cutSign(s)
	mantissa, exp, ok := cutExponent(rest)
	if !ok {
		return Value{}, false
	}
	whole, frac, _ := strings.Cut(mantissa, ".")
	if whole+frac == "" || !allDigits(whole) || !allDigits(frac) {
		return Value{}, false
	}
	whole, frac, ok = shiftPoint(whole, frac, exp)
	if !ok {
		return Value{}, false
	}
	text := whole
	if frac != "" {
		text += "." + frac
	}
	if neg && strings.Trim(text, "0.") != "" {
		text = "-" + text
	}
	return PGNumeric(text), true
}

// shiftPoint moves the point by exp digits; it fails for numbers out of range.
func shiftPoint(whole, frac string, exp int) (w, f string, ok bool) {
	if exp > 2*pgNumericIntDigits || exp < -2*pgNumericIntDigits {
		return "", "", false
	}
	switch {
	case exp > 0:
		if n := exp - len(frac); n > 0 {
			frac += strings.Repeat("0", n)
		}
		whole, frac = whole+frac[:exp], frac[exp:]
	case exp < 0:
		if n := -exp - len(whole); n > 0 {
			whole = strings.Repeat("0", n) + whole
		}
		at := len(whole) + exp
		whole, frac = whole[:at], whole[at:]+frac
	}
	whole = strings.TrimLeft(whole, "0")
	if len(whole) > pgNumericIntDigits || len(frac) > pgNumericScale {
		return "", "", false
	}
	if whole == "" {
		whole = "0"
	}
	return whole, frac, true
}

// IsPGNaN tells whether a numeric is PostgreSQL's NaN.
func (v Value) IsPGNaN() bool { return v.typ.IsPGNumeric() && v.s == pgNaN }

// AsDecimal is the exact value of a PostgreSQL numeric other than NaN:
// unscaled * 10^-scale.
func (v Value) AsDecimal() (unscaled *big.Int, scale int) {
	whole, frac, _ := strings.Cut(v.s, ".")
	n, _ := new(big.Int).SetString(whole+frac, 10)
	if n == nil {
		n = new(big.Int)
	}
	return n, len(frac)
}

// PGDecimal is the numeric unscaled * 10^-scale; false if it is out of range.
func PGDecimal(unscaled *big.Int, scale int) (Value, bool) {
	digits := new(big.Int).Abs(unscaled).String()
	if n := scale + 1 - len(digits); n > 0 {
		digits = strings.Repeat("0", n) + digits
	}
	text := digits[:len(digits)-scale]
	if scale > 0 {
		text += "." + digits[len(digits)-scale:]
	}
	if unscaled.Sign() < 0 {
		text = "-" + text
	}
	return ParsePGNumeric(text)
}

// comparePGNumeric orders as PostgreSQL does: NaN is equal to itself and
// greater than all else.
func comparePGNumeric(a, b Value) int {
	if a.IsPGNaN() || b.IsPGNaN() {
		return boolInt(a.IsPGNaN()) - boolInt(b.IsPGNaN())
	}
	x, sx := a.AsDecimal()
	y, sy := b.AsDecimal()
	return Rescale(x, sx, max(sx, sy)).Cmp(Rescale(y, sy, max(sx, sy)))
}

// Rescale is n * 10^-from as a multiple of 10^-to, to being at least from.
func Rescale(n *big.Int, from, to int) *big.Int {
	if from == to {
		return n
	}
	factor := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(to-from)), nil)
	return factor.Mul(factor, n)
}
