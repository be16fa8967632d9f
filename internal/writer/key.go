package writer

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math"
	"math/big"
	"strconv"

	"cloud.google.com/go/spanner/apiv1/spannerpb"

	"spanbulk/internal/wire"
)

// commitTimestamp is the text that stands for the commit timestamp in a
// mutation.
const commitTimestamp = "spanner.commit_timestamp()"

// Marks before the parts of a key in the bytes that are hashed.
const (
	markNull byte = iota
	markText
	markNumber
	markBool
	markOther
)

// keyHash says which rows a mutation touches.
type keyHash struct {
	own uint64
	// exact is false where Spanner makes the key up: no other mutation has it.
	exact bool
	// ancestors are the keys of the rows it is interleaved in, as far as the
	// run writes to their tables.
	ancestors []uint64
	// wide says that the rows cannot be told: it may be any of the hierarchy.
	wide bool
}

// keyHasher hashes keys. It is for one goroutine.
type keyHasher struct {
	seed    maphash.Seed
	scratch []byte
	ends    []int
}

// hash finds what a mutation of t with these values touches. The ancestors are
// appended to dst.
func (h *keyHasher) hash(t *Table, values []wire.Value, dst []uint64) keyHash {
	out := keyHash{exact: true, wide: t.apart}
	h.scratch, h.ends = append(h.scratch[:0], 0, 0, 0, 0, 0, 0, 0, 0), h.ends[:0]
	for i := range t.key {
		part := &t.key[i]
		v := valueAt(values, part.column)
		switch {
		case part.generated:
		case v != nil:
			h.scratch = appendKeyPart(h.scratch, part.code, v)
			if part.code == spannerpb.TypeCode_TIMESTAMP && isCommitTimestamp(v) {
				out.exact = false
			}
		case part.unique:
			out.exact = false
		case part.defaulted:
			out.wide = true
		default:
			h.scratch = append(h.scratch, markNull)
		}
		h.ends = append(h.ends, len(h.scratch))
	}
	out.own = h.sum(t, len(t.key))
	for a := t.parent; a != nil; a = a.parent {
		dst = append(dst, h.sum(a, len(a.key)))
	}
	out.ancestors = dst
	return out
}

func valueAt(values []wire.Value, i int) wire.Value {
	if i < len(values) {
		return values[i]
	}
	return nil
}

// sum hashes the first parts of the key as a key of table t.
func (h *keyHasher) sum(t *Table, parts int) uint64 {
	end := 8
	if parts > 0 {
		end = h.ends[parts-1]
	}
	binary.LittleEndian.PutUint64(h.scratch, t.id)
	return maphash.Bytes(h.seed, h.scratch[:end])
}

func isCommitTimestamp(v wire.Value) bool {
	kind, text := v.Parse()
	return kind == wire.String && string(text) == commitTimestamp
}

// appendKeyPart appends one part of a key in a form that is the same for all
// spellings of a value, and cannot be taken for the form of other parts.
func appendKeyPart(dst []byte, code spannerpb.TypeCode, v wire.Value) []byte {
	kind, payload := v.Parse()
	switch kind {
	case wire.Null:
		return append(dst, markNull)
	case wire.Bool:
		return append(dst, markBool, payload[0])
	case wire.Number:
		return appendFloat(dst, code, wire.Float64(payload))
	case wire.String:
		if code == spannerpb.TypeCode_FLOAT64 || code == spannerpb.TypeCode_FLOAT32 {
			return appendFloat(dst, code, floatOf(payload))
		}
		dst = append(dst, markText, 0, 0, 0, 0)
		start := len(dst)
		dst = appendCanonical(dst, code, payload)
		binary.LittleEndian.PutUint32(dst[start-4:], uint32(len(dst)-start))
		return dst
	default: // Spanner refuses it, whatever it is
		return append(append(dst, markOther), v...)
	}
}

func appendFloat(dst []byte, code spannerpb.TypeCode, f float64) []byte {
	if code == spannerpb.TypeCode_FLOAT32 {
		f = float64(float32(f))
	}
	switch {
	case f == 0:
		f = 0 // not -0
	case math.IsNaN(f):
		f = math.NaN()
	}
	return binary.LittleEndian.AppendUint64(append(dst, markNumber), math.Float64bits(f))
}

// floatOf reads the only texts that Spanner takes for floats.
func floatOf(text []byte) float64 {
	switch string(text) {
	case "Infinity":
		return math.Inf(1)
	case "-Infinity":
		return math.Inf(-1)
	default:
		return math.NaN()
	}
}

func appendCanonical(dst []byte, code spannerpb.TypeCode, text []byte) []byte {
	switch code {
	case spannerpb.TypeCode_INT64, spannerpb.TypeCode_ENUM:
		return appendInteger(dst, text)
	case spannerpb.TypeCode_NUMERIC:
		return appendNumeric(dst, text)
	case spannerpb.TypeCode_TIMESTAMP:
		return appendTimestamp(dst, text)
	case spannerpb.TypeCode_DATE:
		return appendDate(dst, text)
	case spannerpb.TypeCode_BYTES, spannerpb.TypeCode_PROTO:
		return appendBase64(dst, text)
	case spannerpb.TypeCode_UUID:
		return appendUUID(dst, text)
	default:
		return append(dst, text...)
	}
}

func appendInteger(dst, text []byte) []byte {
	if n := len(text); n > 0 && '1' <= text[0] && text[0] <= '9' && text[n-1] > ' ' {
		return append(dst, text...)
	}
	text = bytes.TrimSpace(text)
	negative := false
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		negative, text = text[0] == '-', text[1:]
	}
	for len(text) > 1 && text[0] == '0' {
		text = text[1:]
	}
	if negative && string(text) != "0" {
		dst = append(dst, '-')
	}
	return append(dst, text...)
}

func appendNumeric(dst, text []byte) []byte {
	if bytes.ContainsAny(text, "eE") {
		text = withoutExponent(text)
	}
	whole, fraction, _ := bytes.Cut(text, []byte{'.'})
	start := len(dst)
	dst = appendInteger(dst, whole)
	if len(dst) == start || dst[len(dst)-1] == '-' { // ".5"
		dst = append(dst, '0')
	}
	fraction = bytes.TrimRight(fraction, "0")
	if len(fraction) == 0 {
		return dst
	}
	if string(dst[start:]) == "0" && len(whole) > 0 && whole[0] == '-' { // "-0.5"
		dst = append(dst[:start], "-0"...)
	}
	return append(append(dst, '.'), fraction...)
}

// withoutExponent spells a NUMERIC out. What has more digits than one can have is
// left as it is: Spanner refuses it.
func withoutExponent(text []byte) []byte {
	_, exponent, _ := bytes.Cut(bytes.ToLower(text), []byte{'e'})
	if n, err := strconv.Atoi(string(exponent)); err != nil || n < -100 || n > 100 {
		return text
	}
	r, ok := new(big.Rat).SetString(string(text))
	if !ok {
		return text
	}
	return []byte(r.FloatString(9))
}

// appendTimestamp drops the zeros at the end of the seconds' fraction.
func appendTimestamp(dst, text []byte) []byte {
	text = bytes.TrimSuffix(text, []byte{'Z'})
	if bytes.IndexByte(text, '.') >= 0 {
		text = bytes.TrimSuffix(bytes.TrimRight(text, "0"), []byte{'.'})
	}
	return append(dst, text...)
}

// appendDate writes month and day with two digits.
func appendDate(dst, text []byte) []byte {
	if len(text) == len("2006-01-02") {
		return append(dst, text...)
	}
	for i, part := range bytes.Split(text, []byte{'-'}) {
		if i > 0 {
			dst = append(dst, '-')
			if len(part) == 1 {
				dst = append(dst, '0')
			}
		}
		dst = append(dst, part...)
	}
	return dst
}

func appendBase64(dst, text []byte) []byte {
	for _, c := range bytes.TrimRight(text, "=") {
		switch c {
		case '-':
			c = '+'
		case '_':
			c = '/'
		}
		dst = append(dst, c)
	}
	return dst
}

func appendUUID(dst, text []byte) []byte {
	for _, c := range text {
		switch {
		case 'A' <= c && c <= 'F':
			dst = append(dst, c+'a'-'A')
		case c != '-' && c != '{' && c != '}':
			dst = append(dst, c)
		}
	}
	return dst
}
