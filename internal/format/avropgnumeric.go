package format

import (
	"encoding/binary"
	"math/big"

	"cloud.google.com/go/spanner/apiv1/spannerpb"

	"spanbulk/internal/wire"
)

// pgNumericType is the type that the Avro files of Google's PostgreSQL exports
// have for numbers.
func pgNumericType() object {
	return object{{"type", "bytes"}, {"logicalType", "decimal"}, {"precision", pgNumericWhole + pgNumericPlaces}, {"scale", pgNumericPlaces}}
}

// writesBytes reports whether PostgreSQL's numbers are written as those are.
func (o AvroOptions) writesBytes() bool {
	return o.Numeric == "google" || o.Google && o.Numeric == ""
}

func isPGNumeric(t *spannerpb.Type) bool {
	return t.GetTypeAnnotation() == spannerpb.TypeAnnotationCode_PG_NUMERIC
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
	switch {
	case len(b) == 1 && b[0] == 1:
		return append(dst, "NaN"...), true
	case len(b) <= pgNumericHead || b[0] != 0:
		return dst, false
	}
	scale := int(int32(binary.BigEndian.Uint32(b[1:])))
	switch {
	case scale > pgNumericPlaces || scale < -pgNumericWhole:
		return dst, false
	case scale >= 0:
		return appendDecimalText(dst, b[pgNumericHead:], scale), true
	}
	dst = appendDecimalText(dst, b[pgNumericHead:], 0)
	return appendZeros(dst, -scale), true
}

// pgNumericHead is what comes before the digits.
const pgNumericHead = 5

// appendAvroPGNumeric writes what appendPGNumericText reads. Unlike a decimal as
// Avro has them, it holds NaN and the zeros at a number's end.
func appendAvroPGNumeric(dst []byte, kind wire.Kind, p []byte) ([]byte, error) {
	if kind != wire.String {
		return dst, wrongKind(kind)
	}
	if string(p) == "NaN" {
		return appendAvroBytes(dst, []byte{1}), nil
	}
	d, ok := parseDecimal(p)
	if !ok || !d.plain || len(d.places) > pgNumericPlaces {
		return dst, errNotNumber
	}
	const short = 38 // digits that 128 bits hold, with a sign
	if len(d.whole)+len(d.places) > short {
		return appendLongPGNumeric(dst, d), nil
	}
	hi, lo := appendDigits(0, 0, d.whole)
	hi, lo = appendDigits(hi, lo, d.places)
	if d.negative {
		hi, lo = negated(hi, lo)
	}
	b, at := twosComplement(hi, lo)
	return append(appendPGNumericHead(dst, d, len(b)-at), b[at:]...), nil
}

func appendPGNumericHead(dst []byte, d decimal, size int) []byte {
	dst = binary.AppendVarint(dst, int64(pgNumericHead+size))
	return binary.BigEndian.AppendUint32(append(dst, 0), uint32(len(d.places)))
}

func appendLongPGNumeric(dst []byte, d decimal) []byte {
	n, _ := new(big.Int).SetString(string(d.whole)+string(d.places), 10) // are digits
	negative := d.negative && n.Sign() > 0
	if negative {
		n.Not(n.Neg(n)) // the magnitude of the complement
	}
	b := make([]byte, n.BitLen()/8+1) // with room for the sign
	n.FillBytes(b)
	if negative {
		for i := range b {
			b[i] = ^b[i]
		}
	}
	return append(appendPGNumericHead(dst, d, len(b)), b...)
}
