package value

import (
	"encoding/base64"
	"strconv"
)

// CommitTimestampSentinel stands in a mutation for the commit timestamp.
const CommitTimestampSentinel = "spanner.commit_timestamp()"

// AppendText appends the text that stands in a string_value for the value:
// decimal numbers, base64 bytes, RFC 3339 timestamps. It appends nothing for
// NULL, and for BOOL, FLOAT64 and FLOAT32, which travel otherwise, what JSON
// would say.
func (v Value) AppendText(dst []byte) []byte {
	if !v.valid {
		return dst
	}
	switch v.typ.Code {
	case BoolCode:
		return strconv.AppendBool(dst, v.n != 0)
	case Int64Code, EnumCode:
		return strconv.AppendInt(dst, v.n, 10)
	case Float64Code, Float32Code:
		return strconv.AppendFloat(dst, v.AsFloat64(), 'g', -1, 64)
	case NumericCode:
		if v.typ.IsPGNumeric() {
			return append(dst, v.s...)
		}
		return int128{v.n, v.lo}.appendText(dst)
	case BytesCode, ProtoCode:
		return base64.StdEncoding.AppendEncode(dst, []byte(v.s))
	case TimestampCode:
		return appendTimestamp(dst, v.n, uint32(v.lo))
	case DateCode:
		return appendDate(dst, v.n)
	default:
		return append(dst, v.s...)
	}
}

// parsed is the outcome of reading a text: what it means, whether it has the
// right form, and whether it is in range.
type parsed struct {
	days, seconds int64
	nanos         uint32
	inForm        bool
	inRange       bool
}

// parseTimestamp reads RFC 3339 with an upper-case T and Z and up to nine
// fractional digits; Spanner takes no other offset.
func parseTimestamp(s []byte) parsed {
	if len(s) < len("2006-01-02T15:04:05Z") || s[4] != '-' || s[7] != '-' || s[10] != 'T' || s[13] != ':' || s[16] != ':' || s[len(s)-1] != 'Z' {
		return parsed{}
	}
	date := parseDate(s[:10])
	hour, min, sec := number(s[11:13]), number(s[14:16]), number(s[17:19])
	nanos, ok := parseFraction(s[19 : len(s)-1])
	if !date.inForm || !ok || hour < 0 || hour > 23 || min < 0 || min > 59 || sec < 0 || sec > 59 {
		return parsed{}
	}
	date.seconds = date.days*86400 + int64(hour*3600+min*60+sec)
	date.nanos = nanos
	return date
}

func parseFraction(s []byte) (uint32, bool) {
	if len(s) == 0 {
		return 0, true
	}
	if s[0] != '.' || len(s) < 2 || len(s) > 10 {
		return 0, false
	}
	n := number(s[1:])
	if n < 0 {
		return 0, false
	}
	for range 10 - len(s) {
		n *= 10
	}
	return uint32(n), true
}

// parseDate reads YYYY-[M]M-[D]D. Years of five digits have the right form
// but are out of range, as year 0 is.
func parseDate(s []byte) parsed {
	year, s, ok := leadingNumber(s, 4, 5)
	if !ok {
		return parsed{}
	}
	month, s, ok := leadingNumber(s, 1, 2)
	if !ok || len(s) < 1 || len(s) > 2 {
		return parsed{}
	}
	day := number(s)
	if month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return parsed{}
	}
	return parsed{days: civilDays(year, month, day), inForm: true, inRange: year >= 1 && year <= 9999}
}

// leadingNumber cuts a number of minLen to maxLen digits and the dash after it.
func leadingNumber(s []byte, minLen, maxLen int) (n int, rest []byte, ok bool) {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	if i < minLen || i > maxLen || i == len(s) || s[i] != '-' {
		return 0, nil, false
	}
	return number(s[:i]), s[i+1:], true
}

// number is the value of a short run of digits, or -1 if it is not one.
func number(s []byte) int {
	n := 0
	for _, c := range s {
		if c < '0' || c > '9' {
			return -1
		}
		n = n*10 + int(c-'0')
	}
	return n
}

func daysIn(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// civilDays is the days from 1970-01-01 to a date of the proleptic Gregorian
// calendar, counting years from March so that the leap day comes last.
func civilDays(year, month, day int) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	era := year / 400
	if year < 0 {
		era = (year - 399) / 400
	}
	yearOfEra := year - era*400
	dayOfYear := (153*(month-3)+2)/5 + day - 1
	dayOfEra := yearOfEra*365 + yearOfEra/4 - yearOfEra/100 + dayOfYear
	return int64(era)*146097 + int64(dayOfEra) - 719468
}

// civilDate is the inverse of civilDays.
func civilDate(days int64) (year, month, day int) {
	days += 719468
	era := days / 146097
	if days < 0 {
		era = (days - 146096) / 146097
	}
	dayOfEra := int(days - era*146097)
	yearOfEra := (dayOfEra - dayOfEra/1460 + dayOfEra/36524 - dayOfEra/146096) / 365
	dayOfYear := dayOfEra - (365*yearOfEra + yearOfEra/4 - yearOfEra/100)
	m := (5*dayOfYear + 2) / 153
	year, month, day = yearOfEra+int(era)*400, m+3, dayOfYear-(153*m+2)/5+1
	if month > 12 {
		year, month = year+1, month-12
	}
	return year, month, day
}

func appendDate(dst []byte, days int64) []byte {
	year, month, day := civilDate(days)
	dst = append(dst, byte('0'+year/1000), byte('0'+year/100%10), byte('0'+year/10%10), byte('0'+year%10), '-')
	dst = append2(dst, month)
	return append2(append(dst, '-'), day)
}

func append2(dst []byte, n int) []byte { return append(dst, byte('0'+n/10), byte('0'+n%10)) }

func appendTimestamp(dst []byte, seconds int64, nanos uint32) []byte {
	days := seconds / 86400
	rest := int(seconds - days*86400)
	if rest < 0 {
		days, rest = days-1, rest+86400
	}
	dst = append(appendDate(dst, days), 'T')
	dst = append(append2(dst, rest/3600), ':')
	dst = append(append2(dst, rest/60%60), ':')
	dst = append2(dst, rest%60)
	if nanos != 0 {
		dst = append(dst, '.')
		for unit := uint32(100_000_000); nanos > 0; unit /= 10 {
			dst = append(dst, byte('0'+nanos/unit))
			nanos %= unit
		}
	}
	return append(dst, 'Z')
}

// ParseTimestamp reads a TIMESTAMP in the form values travel in.
func ParseTimestamp(s string) (Value, bool) {
	p := parseTimestamp([]byte(s))
	return timestampValue(p), p.inForm && p.inRange
}

// ParseDate reads a DATE in the form values travel in.
func ParseDate(s string) (Value, bool) {
	p := parseDate([]byte(s))
	return Date(p.days), p.inForm && p.inRange
}

func timestampValue(p parsed) Value {
	return Value{typ: TimestampType, valid: true, n: p.seconds, lo: uint64(p.nanos)}
}
