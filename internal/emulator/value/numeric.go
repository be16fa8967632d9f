package value

import (
	"fmt"
	"math/big"
	"math/bits"
	"strings"
)

// NUMERIC holds at most 29 digits before and 9 after the point: 38 digits,
// which as a multiple of 1e-9 fit a signed 128-bit integer.
const (
	numericScale     = 9
	numericIntDigits = 29
)

// int128 is a two's complement 128-bit integer: hi*2^64 + lo.
type int128 struct {
	hi int64
	lo uint64
}

func (x int128) big() *big.Int {
	b := new(big.Int).Lsh(big.NewInt(x.hi), 64)
	return b.Add(b, new(big.Int).SetUint64(x.lo))
}

func (x int128) rat() *big.Rat {
	return new(big.Rat).SetFrac(x.big(), big.NewInt(1_000_000_000))
}

func (x int128) neg() int128 {
	lo, carry := bits.Add64(^x.lo, 1, 0)
	return int128{^x.hi + int64(carry), lo}
}

// mul10add is x*10+d for x not negative.
func (x int128) mul10add(d byte) int128 {
	carryHi, lo := bits.Mul64(x.lo, 10)
	lo, c := bits.Add64(lo, uint64(d), 0)
	return int128{x.hi*10 + int64(carryHi+c), lo}
}

// divmod10 splits x, not negative, into its last decimal digit and the rest.
func (x int128) divmod10() (int128, byte) {
	hi, rem := uint64(x.hi)/10, uint64(x.hi)%10
	lo, rem := bits.Div64(rem, x.lo, 10)
	return int128{int64(hi), lo}, byte(rem)
}

// appendText appends the shortest decimal spelling, without exponent.
func (x int128) appendText(dst []byte) []byte {
	if x.hi < 0 {
		dst, x = append(dst, '-'), x.neg()
	}
	var digits [40]byte
	i := len(digits)
	for n := 0; n <= numericScale || x != (int128{}); n++ {
		if n == numericScale {
			i--
			digits[i] = '.'
		}
		var d byte
		x, d = x.divmod10()
		i--
		digits[i] = '0' + d
	}
	text := digits[i:]
	for text[len(text)-1] == '0' {
		text = text[:len(text)-1]
	}
	if text[len(text)-1] == '.' {
		text = text[:len(text)-1]
	}
	return append(dst, text...)
}

// parseNumeric reads [+-]digits[.digits][e[+-]digits] exactly: Spanner does
// not round, so more than 9 fractional digits that are not zero are refused.
func parseNumeric(s string) (int128, bool) {
	neg, rest := cutSign(s)
	mantissa, exp, ok := cutExponent(rest)
	if !ok {
		return int128{}, false
	}
	whole, frac, _ := strings.Cut(mantissa, ".")
	if whole+frac == "" || !allDigits(whole) || !allDigits(frac) {
		return int128{}, false
	}
	x, ok := scaled(whole+frac, exp-len(frac)+numericScale)
	if neg {
		x = x.neg()
	}
	return x, ok
}

// scaled is the integer digits*10^shift, if it is whole and fits NUMERIC.
func scaled(digits string, shift int) (int128, bool) {
	for shift < 0 {
		if digits == "" {
			return int128{}, true
		}
		if digits[len(digits)-1] != '0' {
			return int128{}, false
		}
		digits, shift = digits[:len(digits)-1], shift+1
	}
	digits = strings.TrimLeft(digits, "0")
	if digits == "" {
		return int128{}, true
	}
	if len(digits)+shift > numericIntDigits+numericScale {
		return int128{}, false
	}
	var x int128
	for i := range len(digits) {
		x = x.mul10add(digits[i] - '0')
	}
	for range shift {
		x = x.mul10add(0)
	}
	return x, true
}

func cutSign(s string) (neg bool, rest string) {
	if s != "" && (s[0] == '-' || s[0] == '+') {
		return s[0] == '-', s[1:]
	}
	return false, s
}

func cutExponent(s string) (mantissa string, exp int, ok bool) {
	i := strings.IndexAny(s, "eE")
	if i < 0 {
		return s, 0, true
	}
	neg, digits := cutSign(s[i+1:])
	if digits == "" || len(digits) > 6 || !allDigits(digits) {
		return "", 0, false
	}
	for _, d := range []byte(digits) {
		exp = exp*10 + int(d-'0')
	}
	if neg {
		exp = -exp
	}
	return s[:i], exp, true
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// Numeric is a NUMERIC from an exact number; it fails if r has more than 9
// fractional or 29 integer digits.
func Numeric(r *big.Rat) (Value, error) {
	n := new(big.Int).Mul(r.Num(), big.NewInt(1_000_000_000))
	q, rem := new(big.Int).QuoRem(n, r.Denom(), new(big.Int))
	if rem.Sign() != 0 {
		return Value{}, fmt.Errorf("numeric value %s has more than %d fractional digits", r.FloatString(12), numericScale)
	}
	v, ok := numericFromUnits(q)
	if !ok {
		return Value{}, fmt.Errorf("numeric value %s has more than %d integer digits", r.FloatString(9), numericIntDigits)
	}
	return v, nil
}

func numericFromUnits(units *big.Int) (Value, bool) {
	limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(numericIntDigits+numericScale), nil)
	if units.CmpAbs(limit) >= 0 {
		return Value{}, false
	}
	mag := new(big.Int).Abs(units)
	x := int128{
		hi: int64(new(big.Int).Rsh(mag, 64).Uint64()),
		lo: new(big.Int).And(mag, new(big.Int).SetUint64(^uint64(0))).Uint64(),
	}
	if units.Sign() < 0 {
		x = x.neg()
	}
	return Value{typ: NumericType, valid: true, n: x.hi, lo: x.lo}, true
}

// ParseNumeric reads a NUMERIC from text as a mutation or CAST spells it.
func ParseNumeric(s string) (Value, bool) {
	x, ok := parseNumeric(s)
	return Value{typ: NumericType, valid: true, n: x.hi, lo: x.lo}, ok
}
