package format

import (
	"encoding/binary"
	"math"
	"math/bits"

	"spanbulk/internal/wire"
)

// plainFunc appends to dst the wire form of the value whose text data begins
// with, if that has the form which nearly all values have, and returns the
// length of the text. For any other form it returns 0, and out is of no use.
// What follows the text is for the caller to look at: it can be more of the
// value. A plainFunc makes of its text what the type's textFunc makes of it.
//
// A reader that tries it first need not look for the end of a value before it
// reads the value.
type plainFunc func(dst, data []byte) (out []byte, n int)

// all is the textFunc that plain is for texts of its form.
func (plain plainFunc) all(dst, text []byte) (out []byte, ok bool) {
	out, n := plain(dst, text)
	return out, n > 0 && n == len(text)
}

// plainInt64 takes what Spanner writes, up to 18 digits.
func plainInt64(dst, data []byte) ([]byte, int) {
	n, first := plainWhole(data)
	if n-first > len("999999999999999999") || n == 2 && data[0] == '-' && data[1] == '0' {
		return dst, 0
	}
	return wire.AppendString(dst, data[:n]), n
}

// plainWhole returns the length of the sign and the digits that data begins with
// and where the digits begin, 0 if there are none or a zero is one too many.
func plainWhole(data []byte) (n, first int) {
	if len(data) > 0 && data[0] == '-' {
		first = 1
	}
	n = first + digits(data[first:])
	if n == first || data[first] == '0' && n > first+1 {
		return 0, 0
	}
	return n, first
}

// plainNumeric takes numbers without exponent. The zeros at their end do not
// count.
func plainNumeric(dst, data []byte) ([]byte, int) {
	n, first := plainWhole(data)
	if n > first+numericWhole {
		return dst, 0
	}
	end := n
	if n > 0 && n < len(data) && data[n] == '.' {
		places := digits(data[n+1:])
		if places == 0 || places > numericPlaces {
			return dst, 0
		}
		n += 1 + places
		for end = n; data[end-1] == '0'; end-- {
		}
		if data[end-1] == '.' {
			end--
		}
	}
	if first > 0 && end == first+1 && data[first] == '0' {
		return dst, 0 // -0
	}
	return wire.AppendString(dst, data[:end]), n
}

// maxDigits is how many decimal digits always fit in 64 bits.
const maxDigits = 19

// plainFloat64 takes numbers of up to 19 digits without exponent.
func plainFloat64(dst, data []byte) ([]byte, int) {
	at := 0
	if len(data) > 0 && data[0] == '-' {
		at = 1
	}
	number, whole := leadingNumber(0, data[at:])
	if whole == 0 || data[at] == '0' && whole > 1 {
		return dst, 0
	}
	end, places := at+whole, 0
	if end < len(data) && data[end] == '.' {
		if number, places = leadingNumber(number, data[end+1:]); places == 0 {
			return dst, 0
		}
		end += 1 + places
	}
	if data[at] == '0' {
		whole = 0
	}
	if whole+places > maxDigits {
		return dst, 0
	}
	f := divideByTens(number, places)
	if at > 0 {
		f = math.Copysign(f, -1)
	}
	return wire.AppendNumber(dst, f), end
}

// leadingNumber reads the decimal digits that data begins with as those behind
// the digits of number, and returns how many they are. Beyond maxDigits in all
// the number is of no use.
func leadingNumber(number uint64, data []byte) (all uint64, n int) {
	for len(data)-n >= 8 {
		w := binary.LittleEndian.Uint64(data[n:]) ^ '0'*ones
		k := bits.TrailingZeros64(notDigits(w)) / 8
		if k == 0 {
			return number, n
		}
		number = number*tens[k] + eightDigits(w<<(64-8*k))
		n += k
		if k < 8 {
			return number, n
		}
	}
	for n < len(data) && data[n]-'0' <= 9 {
		number = number*10 + uint64(data[n]-'0')
		n++
	}
	return number, n
}

// notDigits reports, in the top bits, which of the eight bytes of w are not
// within 0 and 9. The lowest hit is exact.
func notDigits(w uint64) uint64 { return (w | (w + (0x80-10)*ones)) & highs }

// eightDigits is the number of which the bytes of w are the digits, the first of
// them the lowest.
func eightDigits(w uint64) uint64 {
	const everyOther = 0x000000ff000000ff // of the pairs
	w = w*10 + w>>8
	w = w&everyOther*100 + w>>16&everyOther
	return uint64(uint32(w))*10000 + w>>32
}

// divideByTens returns number/10^places, rounded to the nearest double. places
// is at most maxDigits.
func divideByTens(number uint64, places int) float64 {
	if number < 1<<53 { // as is 10^places, the number is a double itself
		return float64(number) / powersOfTen[places]
	}
	// 10^places is 5^places*2^places. With their top bits set, number and divisor
	// have a quotient of 64 bits and a remainder, more than rounding needs.
	divisor := fives[places]
	up, down := bits.LeadingZeros64(number), bits.LeadingZeros64(divisor)
	number, divisor = number<<up, divisor<<down
	high, low, exponent := number, uint64(0), down-up-places-64
	if number >= divisor {
		high, low, exponent = number>>1, number<<63, exponent+1
	}
	quotient, rest := bits.Div64(high, low, divisor)
	const spare, half = 64 - 53, 1 << 63
	mantissa := quotient >> spare
	if cut := quotient << 53; cut > half || cut == half && (rest != 0 || mantissa&1 != 0) {
		mantissa++
	}
	return math.Ldexp(float64(mantissa), exponent+spare)
}

// powersOfTen are exact doubles.
var powersOfTen = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19}

var tens = [...]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8}

// fives are the powers of five.
var fives = func() (all [maxDigits + 1]uint64) {
	all[0] = 1
	for i := range maxDigits {
		all[i+1] = 5 * all[i]
	}
	return all
}()

func plainBool(dst, data []byte) ([]byte, int) {
	switch {
	case len(data) >= 4 && string(data[:4]) == "true":
		return wire.AppendBool(dst, true), 4
	case len(data) >= 5 && string(data[:5]) == "false":
		return wire.AppendBool(dst, false), 5
	}
	return dst, 0
}

// plainBase64 takes the standard alphabet, padded.
func plainBase64(dst, data []byte) ([]byte, int) {
	var seen byte
	n := 0
	for n < len(data) {
		code := base64Codes[data[n]]
		if code == noBase64 {
			break
		}
		seen |= code
		n++
	}
	body := n
	for n < len(data) && n-body < 2 && data[n] == '=' {
		n++
	}
	if seen&urlSafe != 0 || n%4 != 0 || lostBits(data[:body], body%4) {
		return dst, 0
	}
	return wire.AppendString(dst, data[:n]), n
}
