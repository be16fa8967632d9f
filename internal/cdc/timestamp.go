package cdc

import (
	"errors"
	"time"
)

// Timestamp is a point in time in nanoseconds since 1970, which is what Spanner
// keeps of a commit timestamp. Zero means that there is none. The years 1678 to
// 2262 fit, and with them every commit.
type Timestamp int64

// TimestampOf returns t as a Timestamp. The zero time gives the zero Timestamp.
func TimestampOf(t time.Time) Timestamp {
	if t.IsZero() {
		return 0
	}
	return Timestamp(t.UnixNano())
}

// Time returns t in UTC; the zero time for the zero Timestamp.
func (t Timestamp) Time() time.Time {
	if t == 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(t)).UTC()
}

// String returns t as RFC 3339 in UTC with as many fractional digits as it has.
func (t Timestamp) String() string { return t.Time().Format(time.RFC3339Nano) }

// Add returns t later by d.
func (t Timestamp) Add(d time.Duration) Timestamp { return t + Timestamp(d) }

// MarshalText implements encoding.TextMarshaler.
func (t Timestamp) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *Timestamp) UnmarshalText(text []byte) error {
	parsed, err := parseTimestamp(text)
	if err == nil {
		*t = parsed
	}
	return err
}

var errNotTimestamp = errors.New("text is not an RFC 3339 timestamp of the years 1678 to 2262")

// zuluLayout is where the digits of "2006-01-02T15:04:05" stand.
const zuluLength = len("2006-01-02T15:04:05")

// parseTimestamp reads an RFC 3339 timestamp. The usual form, in UTC and with Z
// at its end, takes the short way.
func parseTimestamp(s []byte) (Timestamp, error) {
	if t, ok := parseZulu(s); ok {
		return t, nil
	}
	t, err := time.Parse(time.RFC3339Nano, string(s))
	if err != nil || t.Year() < 1678 || t.Year() > 2261 {
		return 0, errNotTimestamp
	}
	return TimestampOf(t), nil
}

func parseZulu(s []byte) (Timestamp, bool) {
	if len(s) <= zuluLength || s[len(s)-1] != 'Z' || s[4] != '-' || s[7] != '-' || s[10] != 'T' || s[13] != ':' || s[16] != ':' {
		return 0, false
	}
	var part [6]int
	ok := true
	for i, at := range [...]struct{ from, to int }{{0, 4}, {5, 7}, {8, 10}, {11, 13}, {14, 16}, {17, 19}} {
		var digits bool
		part[i], digits = number(s[at.from:at.to])
		ok = ok && digits
	}
	nanos, fraction := parseFraction(s[zuluLength : len(s)-1])
	year, month, day, hour, minute, second := part[0], part[1], part[2], part[3], part[4], part[5]
	if !ok || !fraction || year < 1678 || year > 2261 || month < 1 || month > 12 || day < 1 || day > 28 || hour > 23 || minute > 59 || second > 59 {
		return 0, false // what the long way reads, it must judge: the last days of a month, too
	}
	return Timestamp((unixDays(year, month, day)*86400+int64(hour*3600+minute*60+second))*1e9 + int64(nanos)), true
}

// unixDays counts the days since 1970-01-01 in the Gregorian calendar, with
// years that begin in March so that the leap day is the last of its year.
func unixDays(year, month, day int) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	return int64(365*year + year/4 - year/100 + year/400 + (153*(month-3)+2)/5 + day - 1 - 719468)
}

// number reads decimal digits and nothing else.
func number(s []byte) (int, bool) {
	n := 0
	for _, c := range s {
		if c-'0' > 9 {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

// parseFraction reads nothing, or a dot and one to nine digits, as nanoseconds.
func parseFraction(s []byte) (int, bool) {
	if len(s) == 0 {
		return 0, true
	}
	if s[0] != '.' || len(s) < 2 || len(s) > 10 {
		return 0, false
	}
	n, ok := number(s[1:])
	for range 10 - len(s) {
		n *= 10
	}
	return n, ok
}
