package format

import (
	"errors"

	"spanbulk/internal/wire"
)

// commitTimestamp is what a TIMESTAMP column takes for the time of the commit.
const commitTimestamp = "spanner.commit_timestamp()"

var (
	errWantTimestamp   = errors.New("not an RFC 3339 timestamp such as 2026-01-31T12:00:00Z")
	errNoOffset        = errors.New("a timestamp without Z or an offset from UTC")
	errAllDigits       = errors.New("an all-digit timestamp does not say its unit; write RFC 3339 such as 2026-01-31T12:00:00Z")
	errTimestampPlaces = errors.New("finer than a nanosecond")
	errTimestampRange  = errors.New("outside the years 0001 to 9999 in UTC")
	errNoCommitTime    = errors.New("the column does not take spanner.commit_timestamp()")
	errWantDate        = errors.New("not a date such as 2026-01-31 that exists")
)

// textTimestamp takes RFC 3339 with any offset, and writes UTC without trailing
// zeros in the fraction.
func textTimestamp(dst, text []byte) ([]byte, error) {
	if out, ok := plainFunc(plainTimestamp).all(dst, text); ok {
		return out, nil
	}
	seconds, nanos, err := parseRFC3339(text)
	if err != nil {
		return dst, err
	}
	return appendTimestamp(dst, seconds, nanos)
}

// textCommitTimestamp is textTimestamp for a column that takes the placeholder.
func textCommitTimestamp(dst, text []byte) ([]byte, error) {
	if string(text) == commitTimestamp {
		return wire.AppendString(dst, text), nil
	}
	return textTimestamp(dst, text)
}

// parseRFC3339 reads what plainTimestamp is too strict for: offsets, lower
// case letters, a blank instead of the T, and zeros at the end of a fraction.
func parseRFC3339(text []byte) (seconds, nanos int64, err error) {
	const size = len("2006-01-02T15:04:05")
	if len(text) < size {
		return 0, 0, timestampReason(text)
	}
	day, ok1 := parseDays(text[:10])
	clock, ok2 := parseClock(text[11:size])
	if !ok1 || !ok2 || text[10]|0x20 != 't' && text[10] != ' ' {
		return 0, 0, timestampReason(text)
	}
	rest := text[size:]
	if len(rest) > 0 && rest[0] == '.' {
		n := digits(rest[1:])
		if nanos, err = parseNanos(rest[1 : 1+n]); err != nil {
			return 0, 0, err
		}
		rest = rest[1+n:]
	}
	if len(rest) == 0 {
		return 0, 0, errNoOffset
	}
	offset, ok := parseOffset(rest)
	if !ok {
		return 0, 0, errWantTimestamp
	}
	return day*86400 + clock - offset, nanos, nil
}

func timestampReason(text []byte) error {
	number := text
	if len(number) > 0 && number[0] == '-' {
		number = number[1:]
	}
	switch {
	case len(number) > 0 && digits(number) == len(number):
		return errAllDigits
	case string(text) == commitTimestamp:
		return errNoCommitTime
	default:
		return errWantTimestamp
	}
}

// parseClock reads hh:mm:ss as seconds of the day.
func parseClock(s []byte) (int64, bool) {
	hour, ok1 := twoDigits(s)
	minute, ok2 := twoDigits(s[3:])
	second, ok3 := twoDigits(s[6:])
	ok := ok1 && ok2 && ok3 && s[2] == ':' && s[5] == ':' && hour <= 23 && minute <= 59 && second <= 59
	return hour*3600 + minute*60 + second, ok
}

func parseNanos(places []byte) (nanos int64, err error) {
	if len(places) == 0 {
		return 0, errWantTimestamp
	}
	for i, c := range places {
		switch {
		case i < 9:
			nanos = nanos*10 + int64(c-'0')
		case c != '0':
			return 0, errTimestampPlaces
		}
	}
	for range 9 - len(places) {
		nanos *= 10
	}
	return nanos, nil
}

// parseOffset reads Z or ±hh:mm as seconds.
func parseOffset(s []byte) (int64, bool) {
	if len(s) == 1 && s[0]|0x20 == 'z' {
		return 0, true
	}
	if len(s) != len("+00:00") || s[3] != ':' || s[0] != '+' && s[0] != '-' {
		return 0, false
	}
	hours, ok1 := twoDigits(s[1:])
	minutes, ok2 := twoDigits(s[4:])
	offset := hours*3600 + minutes*60
	if s[0] == '-' {
		offset = -offset
	}
	return offset, ok1 && ok2 && hours <= 23 && minutes <= 59
}

// The seconds of the first and behind the last moment a TIMESTAMP can be.
const (
	firstTimestamp = -62135596800 // 0001-01-01T00:00:00Z
	endOfTime      = 253402300800 // 10000-01-01T00:00:00Z
)

// appendTimestamp writes a moment as Spanner does.
func appendTimestamp(dst []byte, seconds, nanos int64) ([]byte, error) {
	if seconds < firstTimestamp || seconds >= endOfTime {
		return dst, errTimestampRange
	}
	day := seconds / 86400
	clock := seconds % 86400
	if clock < 0 {
		day, clock = day-1, clock+86400
	}
	var b [len("2006-01-02T15:04:05.999999999Z")]byte
	text := appendDay(b[:0], day)
	text = append(text, 'T')
	text = appendTwo(text, clock/3600)
	text = appendTwo(append(text, ':'), clock/60%60)
	text = appendTwo(append(text, ':'), clock%60)
	if nanos > 0 {
		text = append(text, '.')
		for unit := int64(100_000_000); nanos > 0; unit /= 10 {
			text = append(text, byte('0'+nanos/unit))
			nanos %= unit
		}
	}
	return wire.AppendString(dst, append(text, 'Z')), nil
}

// appendDay writes days since 1970, within the years 1 to 9999, as a date: the
// inverse of parseDays.
func appendDay(dst []byte, days int64) []byte {
	// Count from 0000-03-01, so that the leap day is a year's last.
	days += 719468
	era := days / 146097
	ofEra := days % 146097
	ofYear := (ofEra - ofEra/1460 + ofEra/36524 - ofEra/146096) / 365
	year := ofYear + era*400
	dayOfYear := ofEra - (365*ofYear + ofYear/4 - ofYear/100)
	m := (5*dayOfYear + 2) / 153
	day := dayOfYear - (153*m+2)/5 + 1
	month := m + 3
	if month > 12 {
		month, year = month-12, year+1
	}
	dst = appendTwo(dst, year/100)
	dst = appendTwo(dst, year%100)
	dst = appendTwo(append(dst, '-'), month)
	return appendTwo(append(dst, '-'), day)
}

func appendTwo(dst []byte, n int64) []byte { return append(dst, byte('0'+n/10), byte('0'+n%10)) }

// textDate takes a date that exists, its month and day with one digit or two.
func textDate(dst, text []byte) ([]byte, error) {
	if out, ok := plainFunc(plainDate).all(dst, text); ok {
		return out, nil
	}
	var b [len("2006-01-02")]byte
	full, ok := padDate(b[:0], text)
	if !ok {
		return dst, errWantDate
	}
	if _, ok := parseDays(full); !ok {
		return dst, errWantDate
	}
	return wire.AppendString(dst, full), nil
}

// padDate writes a date YYYY-M-D with two digits for month and day.
func padDate(dst, text []byte) ([]byte, bool) {
	if len(text) < len("2006-1-2") || len(text) > len("2006-01-02") || digits(text) != 4 {
		return dst, false
	}
	dst, text = append(dst, text[:4]...), text[4:]
	for range 2 {
		if len(text) < 2 || text[0] != '-' {
			return dst, false
		}
		n := digits(text[1:])
		switch n {
		case 1:
			dst = append(dst, '-', '0', text[1])
		case 2:
			dst = append(dst, text[:3]...)
		default:
			return dst, false
		}
		text = text[1+n:]
	}
	return dst, len(text) == 0
}

// appendDate writes days since 1970 as a DATE.
func appendDate(dst []byte, days int64) ([]byte, error) {
	if days < firstTimestamp/86400 || days >= endOfTime/86400 {
		return dst, errWantDate
	}
	var b [len("2006-01-02")]byte
	return wire.AppendString(dst, appendDay(b[:0], days)), nil
}
