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

// isPGNumeric reports whether t is how Google's export of PostgreSQL databases
// marks numbers. They are decimals by name only: see appendPGNumericText.
func (t *avroType) isPGNumeric() bool {
	return t.logical == "decimal" && t.kind == avroBytes && t.scale == pgNumericPlaces && t.precision == pgNumericWhole+pgNumericPlaces
}

// avroPGNumeric reads a number of Google's export.
func avroPGNumeric(text textFunc) avroFunc {
	return func(r *avroReader, dst []byte) ([]byte, error) {
		b, err := r.bytes()
		if err != nil {
			return dst, err
		}
		var ok bool
		if r.scratch, ok = appendPGNumericText(r.scratch[:0], b); !ok {
			return dst, errWantNumeric
		}
		return text(dst, r.scratch)
	}
}

// appendPGNumericText writes a number that comes as a byte that is 1 for NaN,
// else 0, the number of its places in four bytes, and its digits as a two's
// complement number; big-endian.
func appendPGNumericText(dst, b []byte) ([]byte, bool) {
	const head = 5
	switch {
	case len(b) == 1 && b[0] == 1:
		return append(dst, "NaN"...), true
	case len(b) <= head || b[0] != 0:
		return dst, false
	}
	scale := int(int32(binary.BigEndian.Uint32(b[1:])))
	switch {
	case scale > pgNumericPlaces || scale < -pgNumericWhole:
		return dst, false
	case scale >= 0:
		return appendDecimalText(dst, b[head:], scale), true
	}
	dst = appendDecimalText(dst, b[head:], 0)
	return appendZeros(dst, -scale), true
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
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, borrow)
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
