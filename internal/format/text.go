package format

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// Constants for looking at eight bytes at once (SWAR). For bytes x of a word,
// (x - n) has the top bit set where x < n, as long as x < 0x80; a borrow into
// the next byte needs a byte that is such a hit itself, so whether there is any
// hit is exact even where the place of later hits is not.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// hasEscape reports, in the top bits, whether any of the eight bytes must be
// escaped in a JSON string: a control character, a quote, a backslash.
func hasEscape(w uint64) uint64 {
	return ((w - 0x20*ones) | ((w ^ '"'*ones) - ones) | ((w ^ '\\'*ones) - ones)) &^ w & highs
}

// jsonPlain reports whether s can stand in a JSON string as it is, and whether
// it is all ASCII; if not, its UTF-8 is still to be checked.
func jsonPlain(s []byte) (plain, ascii bool) {
	if len(s) < 8 {
		var high byte
		plain = true
		for _, c := range s {
			high |= c
			if c < 0x20 || c == '"' || c == '\\' {
				plain = false
			}
		}
		return plain, high < utf8.RuneSelf
	}
	// The last eight bytes first, then whole words: they may overlap.
	w := binary.LittleEndian.Uint64(s[len(s)-8:])
	high, hit := w, hasEscape(w)
	for len(s) > 8 {
		w = binary.LittleEndian.Uint64(s)
		high |= w
		hit |= hasEscape(w)
		s = s[8:]
	}
	return hit == 0, high&highs == 0
}

// appendJSONString appends s as a JSON string. Only what RFC 8259 demands is
// escaped: U+2028, U+2029, U+007F and the characters of HTML stay as they are.
func appendJSONString(dst, s []byte) ([]byte, error) {
	plain, ascii := jsonPlain(s)
	if !ascii && !utf8.Valid(s) {
		return dst, errInvalidUTF8
	}
	if !plain {
		return appendEscaped(dst, s), nil
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"'), nil
}

func appendEscaped(dst, s []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		if len(s)-i >= 8 && hasEscape(binary.LittleEndian.Uint64(s[i:])) == 0 {
			i += 8
			continue
		}
		c := s[i]
		i++
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i-1]...)
		start = i
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// isInteger reports whether s is a decimal integer as JSON and Spanner write
// it: no plus sign, no leading zeros.
func isInteger(s []byte) bool {
	if len(s) > 0 && s[0] == '-' {
		s = s[1:]
	}
	if len(s) == 0 || s[0] == '0' && len(s) > 1 {
		return false
	}
	return digits(s) == len(s)
}

// isDecimal reports whether s is a JSON number, which every NUMERIC but PG's
// NaN is.
func isDecimal(s []byte) bool {
	whole, rest := splitNumber(s)
	if !isInteger(whole) {
		return false
	}
	if len(rest) > 0 && rest[0] == '.' {
		n := digits(rest[1:])
		if n == 0 {
			return false
		}
		rest = rest[1+n:]
	}
	if len(rest) > 0 && (rest[0] == 'e' || rest[0] == 'E') {
		rest = rest[1:]
		if len(rest) > 0 && (rest[0] == '+' || rest[0] == '-') {
			rest = rest[1:]
		}
		return len(rest) > 0 && digits(rest) == len(rest)
	}
	return len(rest) == 0
}

// splitNumber splits s before the first byte that cannot be in an integer.
func splitNumber(s []byte) (whole, rest []byte) {
	i := 0
	if len(s) > 0 && s[0] == '-' {
		i = 1
	}
	i += digits(s[i:])
	return s[:i], s[i:]
}

// digits returns how many decimal digits s begins with.
func digits(s []byte) int {
	n := 0
	for len(s)-n >= 8 {
		k := bits.TrailingZeros64(notDigits(binary.LittleEndian.Uint64(s[n:])^'0'*ones)) / 8
		if n += k; k < 8 {
			return n
		}
	}
	for n < len(s) && s[n]-'0' <= 9 {
		n++
	}
	return n
}
