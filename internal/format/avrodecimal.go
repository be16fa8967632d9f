package format

import (
	"bytes"
	"encoding/binary"
	"math/big"
	"math/bits"
)

// avroDecimal reads a decimal, on bytes or on fixed, as text.
func avroDecimal(t *avroType, text textFunc) avroFunc {
	return func(r *avroReader, dst []byte) ([]byte, error) {
		b, err := r.raw(t)
		if err != nil {
			return dst, err
		}
		r.scratch = appendDecimalText(r.scratch[:0], b, t.scale)
		return text(dst, r.scratch)
	}
}

// appendDecimalText writes the two's complement, big-endian number b over 10 to
// the scale.
func appendDecimalText(dst, b []byte, scale int) []byte {
	negative := len(b) > 0 && b[0] >= 0x80
	if negative {
		dst = append(dst, '-')
	}
	var room [40]byte
	digits := appendMagnitude(room[:0], b, negative)
	if scale == 0 {
		return append(dst, digits...)
	}
	if n := len(digits); n > scale {
		dst = append(dst, digits[:n-scale]...)
		dst = append(dst, '.')
		return append(dst, digits[n-scale:]...)
	}
	dst = append(dst, '0', '.')
	return append(appendZeros(dst, scale-len(digits)), digits...)
}

// appendMagnitude writes the digits of a two's complement number without its
// sign.
func appendMagnitude(dst, b []byte, negative bool) []byte {
	if len(b) > 16 {
		n := new(big.Int).SetBytes(b)
		if negative {
			n.Sub(new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))), n)
		}
		return n.Append(dst, 10)
	}
	var wide [16]byte
	if negative {
		copy(wide[:], bytes.Repeat([]byte{0xff}, 16))
	}
	copy(wide[16-len(b):], b)
	hi, lo := binary.BigEndian.Uint64(wide[:8]), binary.BigEndian.Uint64(wide[8:])
	if negative {
		hi, lo = negated(hi, lo)
	}
	return appendUint128(dst, hi, lo)
}

// appendUint128 writes a number in decimal.
func appendUint128(dst []byte, hi, lo uint64) []byte {
	var out [40]byte
	at := len(out)
	for hi != 0 || lo != 0 || at == len(out) {
		const chunk = 1e18 // below 2^63, so that the quotients fit
		var digits uint64
		high := hi / chunk
		lo, digits = bits.Div64(hi%chunk, lo, chunk)
		hi = high
		for range 18 {
			at--
			out[at] = byte('0' + digits%10)
			digits /= 10
			if digits == 0 && hi == 0 && lo == 0 {
				break
			}
		}
	}
	return append(dst, out[at:]...)
}
