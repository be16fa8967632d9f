package format

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"unicode/utf8"

	"cloud.google.com/go/spanner/apiv1/spannerpb"

	"spanbulk/internal/wire"
)

// The branches of the union ["null", T], as zigzag numbers.
const (
	avroUnionNull  = 0
	avroUnionValue = 2
)

// What a value of the right type can still have that its Avro form cannot.
var (
	errNotBase64     = errors.New("text is not base64")
	errNotTimestamp  = errors.New("text is not a timestamp")
	errNotDate       = errors.New("text is not a date")
	errNotNumeric    = errors.New("text is not a NUMERIC of at most 29 digits before and 9 after the point")
	errInt64Range    = errors.New("number does not fit INT64")
	errFinerThanUnit = errors.New("timestamp has nanoseconds, which micros cannot hold; write nanos or strings")
	errNanosRange    = errors.New("timestamp is outside 1677-09-21 to 2262-04-11, which nanos cannot hold; write micros or strings")
)

// encoder chooses the function that writes values of type t as Avro.
func (o AvroOptions) encoder(t *spannerpb.Type) (encodeFunc, error) {
	switch t.GetCode() {
	case spannerpb.TypeCode_BOOL:
		return appendAvroBool, nil
	case spannerpb.TypeCode_INT64, spannerpb.TypeCode_ENUM:
		return appendAvroLong, nil
	case spannerpb.TypeCode_FLOAT64:
		return appendAvroDouble, nil
	case spannerpb.TypeCode_FLOAT32:
		return appendAvroFloat, nil
	case spannerpb.TypeCode_NUMERIC:
		switch {
		case !isPGNumeric(t):
			return appendAvroNumeric, nil
		case o.writesBytes():
			return appendAvroPGNumeric, nil
		}
	case spannerpb.TypeCode_BYTES, spannerpb.TypeCode_PROTO:
		return appendAvroBase64, nil
	case spannerpb.TypeCode_TIMESTAMP:
		switch o.Timestamp {
		case "micros":
			return appendAvroMicros, nil
		case "nanos":
			return appendAvroNanos, nil
		}
	case spannerpb.TypeCode_DATE:
		if o.Date == "days" {
			return appendAvroDays, nil
		}
	case spannerpb.TypeCode_ARRAY:
		element, err := o.encoder(t.GetArrayElementType())
		return avroArray(element), err
	case spannerpb.TypeCode_STRUCT:
		return o.structEncoder(t.GetStructType().GetFields())
	}
	return appendAvroText, nil
}

// appendAvroBytes appends an Avro bytes or string.
func appendAvroBytes(dst, b []byte) []byte {
	dst = binary.AppendVarint(dst, int64(len(b)))
	return append(dst, b...)
}

// appendAvroText writes every type that is a string in Avro.
func appendAvroText(dst []byte, kind wire.Kind, p []byte) ([]byte, error) {
	if kind != wire.String {
		return dst, wrongKind(kind)
	}
	if !utf8.Valid(p) {
		return dst, errInvalidUTF8
	}
	return appendAvroBytes(dst, p), nil
}

func appendAvroBool(dst []byte, kind wire.Kind, p []byte) ([]byte, error) {
	if kind != wire.Bool {
		return dst, wrongKind(kind)
	}
	if wire.Truth(p) {
		return append(dst, 1), nil
	}
	return append(dst, 0), nil
}

func appendAvroLong(dst []byte, kind wire.Kind, p []byte) ([]byte, error) {
	if kind != wire.String {
		return dst, wrongKind(kind)
	}
	n, err := parseInt64(p)
	if err != nil {
		return dst, err
	}
	return binary.AppendVarint(dst, n), nil
}

func parseInt64(s []byte) (int64, error) {
	if !isInteger(s) {
		return 0, errNotInteger
	}
	negative := s[0] == '-'
	if negative {
		s = s[1:]
	}
	var n uint64
	if len(s) > 19 {
		return 0, errInt64Range
	}
	for _, c := range s {
		n = n*10 + uint64(c-'0') // 19 digits fit
	}
	switch {
	case negative && n <= 1<<63:
		return -int64(n), nil
	case !negative && n < 1<<63:
		return int64(n), nil
	}
	return 0, errInt64Range
}

func appendAvroDouble(dst []byte, kind wire.Kind, p []byte) ([]byte, error) {
	if kind == wire.Number {
		return append(dst, p...), nil // little-endian in both
	}
	f, err := parseFloat(kind, p, 64)
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(f)), err
}

func appendAvroFloat(dst []byte, kind wire.Kind, p []byte) ([]byte, error) {
	f, err := parseFloat(kind, p, 32)
	return binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(f))), err
}

func appendAvroBase64(dst []byte, kind wire.Kind, p []byte) ([]byte, error) {
	if kind != wire.String {
		return dst, wrongKind(kind)
	}
	size := base64.StdEncoding.DecodedLen(len(p))
	for i := len(p); i > 0 && p[i-1] == '=' && len(p)-i < 2; i-- {
		size--
	}
	if size < 0 {
		return dst, errNotBase64
	}
	dst = binary.AppendVarint(dst, int64(size))
	start := len(dst)
	dst, err := base64.StdEncoding.AppendDecode(dst, p)
	if err != nil || len(dst)-start != size {
		return dst, errNotBase64
	}
	return dst, nil
}

// appendAvroNumeric writes a NUMERIC as a decimal of scale 9: the bytes of a
// big-endian two's complement number, as few as will do.
func appendAvroNumeric(dst []byte, kind wire.Kind, p []byte) ([]byte, error) {
	if kind != wire.String {
		return dst, wrongKind(kind)
	}
	hi, lo, ok := parseNumeric(p)
	if !ok {
		return dst, errNotNumeric
	}
	b, at := twosComplement(hi, lo)
	return appendAvroBytes(dst, b[at:]), nil
}

// twosComplement returns a number as big-endian bytes, of which those from at on
// will do.
func twosComplement(hi, lo uint64) (b [16]byte, at int) {
	binary.BigEndian.PutUint64(b[:8], hi)
	binary.BigEndian.PutUint64(b[8:], lo)
	for at < 15 && (b[at] == 0 && b[at+1] < 0x80 || b[at] == 0xff && b[at+1] >= 0x80) {
		at++
	}
	return b, at
}

func negated(hi, lo uint64) (uint64, uint64) {
	lo, borrow := bits.Sub64(0, lo, 0)
	hi, _ = bits.Sub64(0, hi, borrow)
	return hi, lo
}

// parseNumeric returns a NUMERIC times 10^9 as a two's complement number of 128
// bits, which 38 digits fit in.
func parseNumeric(s []byte) (hi, lo uint64, ok bool) {
	whole, rest := splitNumber(s)
	var places []byte
	if len(rest) > 0 {
		if places = rest[1:]; rest[0] != '.' || len(places) == 0 || len(places) > 9 || digits(places) != len(places) {
			return 0, 0, false
		}
	}
	negative := len(whole) > 0 && whole[0] == '-'
	if negative {
		whole = whole[1:]
	}
	if len(whole) == 0 || len(whole) > 29 {
		return 0, 0, false
	}
	hi, lo = appendDigits(hi, lo, whole)
	hi, lo = appendDigits(hi, lo, places)
	hi, lo = appendDigits(hi, lo, []byte("000000000")[len(places):])
	if negative {
		hi, lo = negated(hi, lo)
	}
	return hi, lo, true
}

// appendDigits returns the 128-bit number with decimal digits put behind it.
func appendDigits(hi, lo uint64, digits []byte) (uint64, uint64) {
	for _, c := range digits {
		over, low := bits.Mul64(lo, 10)
		var carry uint64
		lo, carry = bits.Add64(low, uint64(c-'0'), 0)
		hi = hi*10 + over + carry
	}
	return hi, lo
}

func appendAvroMicros(dst []byte, kind wire.Kind, p []byte) ([]byte, error) {
	seconds, nanos, err := parseTimestamp(kind, p)
	if err == nil && nanos%1000 != 0 {
		err = errFinerThanUnit
	}
	return binary.AppendVarint(dst, seconds*1e6+nanos/1000), err
}

func appendAvroNanos(dst []byte, kind wire.Kind, p []byte) ([]byte, error) {
	const giga = 1_000_000_000
	seconds, nanos, err := parseTimestamp(kind, p)
	if err != nil {
		return dst, err
	}
	if seconds < 0 { // towards zero, so that the product fits where the sum does
		seconds++
		nanos -= giga
	}
	if seconds > math.MaxInt64/giga || seconds < math.MinInt64/giga ||
		seconds == math.MaxInt64/giga && nanos > math.MaxInt64%giga ||
		seconds == math.MinInt64/giga && nanos < math.MinInt64%giga {
		return dst, errNanosRange
	}
	return binary.AppendVarint(dst, seconds*giga+nanos), nil
}

func appendAvroDays(dst []byte, kind wire.Kind, p []byte) ([]byte, error) {
	if kind != wire.String {
		return dst, wrongKind(kind)
	}
	days, ok := parseDays(p)
	if !ok {
		return dst, errNotDate
	}
	return binary.AppendVarint(dst, days), nil
}

// parseTimestamp reads RFC 3339 as Spanner writes it, in UTC and with up to
// nine places: whole seconds since 1970, and nanoseconds to add to them.
func parseTimestamp(kind wire.Kind, s []byte) (seconds, nanos int64, err error) {
	if kind != wire.String {
		return 0, 0, wrongKind(kind)
	}
	const layout = "2006-01-02T15:04:05Z"
	if len(s) < len(layout) || s[10] != 'T' || s[13] != ':' || s[16] != ':' || s[len(s)-1] != 'Z' {
		return 0, 0, errNotTimestamp
	}
	days, ok := parseDays(s[:10])
	hour, ok1 := twoDigits(s[11:])
	minute, ok2 := twoDigits(s[14:])
	second, ok3 := twoDigits(s[17:])
	if !ok || !ok1 || !ok2 || !ok3 || hour > 23 || minute > 59 || second > 59 {
		return 0, 0, errNotTimestamp
	}
	if fraction := s[19 : len(s)-1]; len(fraction) > 0 {
		places := fraction[1:]
		if fraction[0] != '.' || len(places) == 0 || len(places) > 9 || digits(places) != len(places) {
			return 0, 0, errNotTimestamp
		}
		nanos, _ = parseNanos(places) // at most nine digits, as was checked
	}
	return days*86400 + hour*3600 + minute*60 + second, nanos, nil
}

// parseDays reads YYYY-MM-DD as days since 1970.
func parseDays(s []byte) (int64, bool) {
	if len(s) != len("2006-01-02") || s[4] != '-' || s[7] != '-' {
		return 0, false
	}
	century, ok1 := twoDigits(s)
	year, ok2 := twoDigits(s[2:])
	month, ok3 := twoDigits(s[5:])
	day, ok4 := twoDigits(s[8:])
	year += 100 * century
	if !ok1 || !ok2 || !ok3 || !ok4 || year < 1 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return 0, false
	}
	// With the year beginning in March the leap day is its last, and the
	// months before a month have (153*m+2)/5 days.
	m := month - 3
	if month < 3 {
		m, year = month+9, year-1
	}
	const to1970 = 719468 // from 0000-03-01
	return 365*year + year/4 - year/100 + year/400 + (153*m+2)/5 + day - 1 - to1970, true
}

func daysIn(year, month int64) int64 {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// twoDigits reads the first two bytes of s, which has them.
func twoDigits(s []byte) (int64, bool) {
	a, b := s[0]-'0', s[1]-'0'
	return int64(a)*10 + int64(b), a <= 9 && b <= 9
}

// appendAvroUnion writes a value, NULL or not, of a type that may be NULL.
func appendAvroUnion(dst []byte, v wire.Value, encode encodeFunc) ([]byte, error) {
	kind, p := v.Parse()
	if kind == wire.Null {
		return append(dst, avroUnionNull), nil
	}
	return encode(append(dst, avroUnionValue), kind, p)
}

func avroArray(element encodeFunc) encodeFunc {
	return func(dst []byte, kind wire.Kind, p []byte) ([]byte, error) {
		if kind != wire.ListKind {
			return dst, wrongKind(kind)
		}
		count, err := countElements(p)
		if err != nil {
			return dst, err
		}
		if count > 0 {
			dst = binary.AppendVarint(dst, count)
		}
		for list := wire.List(p); count > 0; count-- {
			v, rest, _ := list.Next()
			list = rest
			if dst, err = appendAvroUnion(dst, v, element); err != nil {
				return dst, err
			}
		}
		return append(dst, 0), nil
	}
}

// countElements walks over a list, because Avro wants the number first.
func countElements(list wire.List) (n int64, err error) {
	for {
		_, rest, ok := list.Next()
		if !ok {
			if !rest.Done() {
				return 0, errMalformedList
			}
			return n, nil
		}
		list = rest
		n++
	}
}

func (o AvroOptions) structEncoder(fields []*spannerpb.StructType_Field) (encodeFunc, error) {
	encoders := make([]encodeFunc, len(fields))
	for i, f := range fields {
		var err error
		if encoders[i], err = o.encoder(f.GetType()); err != nil {
			return nil, err
		}
	}
	return func(dst []byte, kind wire.Kind, p []byte) ([]byte, error) {
		if kind != wire.ListKind {
			return dst, wrongKind(kind)
		}
		list := wire.List(p)
		for i, encode := range encoders {
			v, rest, ok := list.Next()
			if !ok {
				return dst, errFieldCount
			}
			list = rest
			var err error
			if dst, err = appendAvroUnion(dst, v, encode); err != nil {
				return dst, fmt.Errorf("field %s: %w", fields[i].GetName(), err)
			}
		}
		if !list.Done() {
			return dst, errFieldCount
		}
		return dst, nil
	}, nil
}
