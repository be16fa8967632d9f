package value

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"math"
	"strconv"
	"strings"
)

// Every key part starts with a byte that sorts NULL before all else, and is
// self-delimiting, so that parts can be strung together and a string of parts
// can be searched by any prefix of its parts. The bytes of a descending part
// are all inverted.
const (
	keyNull  = 0x00
	keyValue = 0x01
	// keyNullLast is NULL where it sorts after all values.
	keyNullLast = 0x02
	// Within text a zero byte is escaped as 00 FF; 00 01 ends the text and
	// sorts before any continuation.
	keyEscape = 0xFF
	keyEnd    = 0x01
)

// KeyOrder is the order of one key part.
type KeyOrder struct {
	Desc bool
	// NullsReversed puts NULLs at the other end than GoogleSQL does: last, and
	// first with Desc.
	NullsReversed bool
}

// AppendKey appends the order-preserving encoding of one key part, given as
// the canonical wire form of a value of type t.
func AppendKey(dst []byte, t *Type, wire []byte, o KeyOrder) []byte {
	at := len(dst)
	dst = appendKeyAscending(dst, t, wire)
	if o.NullsReversed && dst[at] == keyNull {
		dst[at] = keyNullLast
	}
	if o.Desc {
		invert(dst[at:])
	}
	return dst
}

// AppendKeyValue is AppendKey for a decoded value.
func AppendKeyValue(dst []byte, v Value, o KeyOrder) []byte {
	var scratch [64]byte
	return AppendKey(dst, v.typ, v.AppendWire(scratch[:0]), o)
}

func appendKeyAscending(dst []byte, t *Type, wire []byte) []byte {
	m, ok := parseSingle(wire)
	if !ok || m.tag == tagNull {
		return append(dst, keyNull)
	}
	dst = append(dst, keyValue)
	switch t.Code {
	case BoolCode:
		return append(dst, byte(boolInt(m.truth)))
	case Float64Code, Float32Code:
		return binary.BigEndian.AppendUint64(dst, floatKey(m))
	case StringCode:
		return appendKeyText(dst, m.payload)
	case BytesCode:
		raw, _ := base64.StdEncoding.AppendDecode(nil, m.payload)
		return appendKeyText(dst, raw)
	case Int64Code, EnumCode:
		n, _ := strconv.ParseInt(string(m.payload), 10, 64)
		return appendKeyInt(dst, n)
	case DateCode:
		return appendKeyInt(dst, parseDate(m.payload).days)
	case TimestampCode:
		p := parseTimestamp(m.payload)
		return binary.BigEndian.AppendUint32(appendKeyInt(dst, p.seconds), p.nanos)
	case NumericCode:
		x, _ := parseNumeric(string(m.payload))
		return binary.BigEndian.AppendUint64(appendKeyInt(dst, x.hi), x.lo)
	case UUIDCode:
		raw, _ := hex.DecodeString(strings.ReplaceAll(string(m.payload), "-", ""))
		return append(dst, raw...)
	}
	return appendKeyText(dst, m.payload)
}

func appendKeyInt(dst []byte, n int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(n)^(1<<63))
}

// floatKey maps floats to integers of the same order: NaN below -Infinity, -0
// equal to 0.
func floatKey(m member) uint64 {
	f := m.number
	if m.tag == tagString {
		switch string(m.payload) {
		case "Infinity":
			f = math.Inf(1)
		case "-Infinity":
			f = math.Inf(-1)
		default:
			return 0
		}
	}
	if f == 0 {
		f = 0 // drops the sign of -0
	}
	bits := math.Float64bits(f + 0)
	if bits>>63 != 0 {
		return ^bits
	}
	return bits | 1<<63
}

func appendKeyText(dst, text []byte) []byte {
	for _, c := range text {
		dst = append(dst, c)
		if c == 0 {
			dst = append(dst, keyEscape)
		}
	}
	return append(dst, 0, keyEnd)
}

func invert(b []byte) {
	for i := range b {
		b[i] = ^b[i]
	}
}

// PrefixEnd is the first key after all keys that start with prefix; empty, for
// no bound, if there is none.
func PrefixEnd(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xFF {
			end := append([]byte(nil), prefix[:i+1]...)
			end[i]++
			return end
		}
	}
	return nil
}
