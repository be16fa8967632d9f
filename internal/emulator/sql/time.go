package sql

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"spanbulk/internal/emulator/value"
)

// loadZone finds a time zone by name or as an offset, ±H[H][:MM].
func loadZone(name string) (*time.Location, error) {
	if name == "" {
		return nil, outOfRange("Invalid time zone: %q", name)
	}
	if name[0] == '+' || name[0] == '-' {
		seconds, rest, ok := cutOffset(name)
		if !ok || rest != "" {
			return nil, outOfRange("Invalid time zone: %q", name)
		}
		return time.FixedZone("", seconds), nil
	}
	loc, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, outOfRange("Invalid time zone: %q", name)
	}
	return loc, nil
}

// cutOffset reads ±H[H][:M[M]] off the front of s.
func cutOffset(s string) (seconds int, rest string, ok bool) {
	sign := 1
	if s[0] == '-' {
		sign = -1
	}
	hours, rest, ok := cutDigits(s[1:], 2)
	if !ok || hours > 14 {
		return 0, "", false
	}
	minutes := 0
	if strings.HasPrefix(rest, ":") {
		if minutes, rest, ok = cutDigits(rest[1:], 2); !ok || minutes > 59 {
			return 0, "", false
		}
	}
	return sign * (hours*3600 + minutes*60), rest, true
}

// cutDigits reads at least one and at most n digits.
func cutDigits(s string, n int) (int, string, bool) {
	i := 0
	for i < len(s) && i < n && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	v, err := strconv.Atoi(s[:i])
	return v, s[i:], err == nil
}

// parseTimestamp reads YYYY-[M]M-[D]D[( |T)[H]H:[M]M:[S]S[.F]][time zone].
func parseTimestamp(text string, loc *time.Location) (value.Value, error) {
	if v, ok := value.ParseTimestamp(text); ok {
		return v, nil
	}
	bad := outOfRange("Invalid timestamp: %q", text)
	year, month, day, rest, ok := cutDate(text)
	if !ok {
		return value.Value{}, bad
	}
	clock, nanos, rest, ok := cutClock(rest)
	if !ok {
		return value.Value{}, bad
	}
	if rest != "" {
		zone, ok := parseZone(rest)
		if !ok {
			return value.Value{}, bad
		}
		loc = zone
	}
	if loc == nil {
		return value.Value{}, bad
	}
	t := time.Date(year, time.Month(month), day, clock[0], clock[1], clock[2], nanos, loc)
	v, err := timestampOf(t)
	if err != nil {
		return value.Value{}, bad
	}
	return v, nil
}

func cutDate(s string) (year, month, day int, rest string, ok bool) {
	if year, rest, ok = cutDigits(s, 4); !ok || len(s)-len(rest) != 4 || !strings.HasPrefix(rest, "-") {
		return 0, 0, 0, "", false
	}
	if month, rest, ok = cutDigits(rest[1:], 2); !ok || !strings.HasPrefix(rest, "-") {
		return 0, 0, 0, "", false
	}
	if day, rest, ok = cutDigits(rest[1:], 2); !ok {
		return 0, 0, 0, "", false
	}
	_, valid := value.ParseDate(fmt.Sprintf("%04d-%d-%d", year, month, day))
	return year, month, day, rest, valid
}

func cutClock(s string) (clock [3]int, nanos int, rest string, ok bool) {
	if len(s) < 2 || s[0] != ' ' && s[0]|0x20 != 't' || s[1] < '0' || s[1] > '9' {
		return clock, 0, s, true
	}
	rest = s[1:]
	for i, limit := range []int{23, 59, 59} {
		if i > 0 {
			if !strings.HasPrefix(rest, ":") {
				return clock, 0, "", false
			}
			rest = rest[1:]
		}
		if clock[i], rest, ok = cutDigits(rest, 2); !ok || clock[i] > limit {
			return clock, 0, "", false
		}
	}
	if strings.HasPrefix(rest, ".") {
		nanos, rest, ok = cutFraction(rest[1:])
	}
	return clock, nanos, rest, ok
}

func cutFraction(s string) (nanos int, rest string, ok bool) {
	nanos, rest, ok = cutDigits(s, 9)
	if !ok {
		return 0, s, s == "" || s[0] < '0' || s[0] > '9'
	}
	for range 9 - (len(s) - len(rest)) {
		nanos *= 10
	}
	return nanos, rest, true
}

func parseZone(s string) (*time.Location, bool) {
	if s == "Z" || s == "z" {
		return time.UTC, true
	}
	name := strings.TrimPrefix(s, " ")
	if name == "" || name == s && s[0] != '+' && s[0] != '-' {
		return nil, false
	}
	loc, err := loadZone(name)
	return loc, err == nil
}

// timestampText prints a TIMESTAMP as CAST does: 2020-01-02 03:04:05.678-08.
func timestampText(t time.Time, loc *time.Location) string {
	t = t.In(loc)
	layout := "2006-01-02 15:04:05"
	switch n := t.Nanosecond(); {
	case n == 0:
	case n%1_000_000 == 0:
		layout += ".000"
	case n%1000 == 0:
		layout += ".000000"
	default:
		layout += ".000000000"
	}
	if _, offset := t.Zone(); offset%3600 != 0 {
		return t.Format(layout + "-07:00")
	}
	return t.Format(layout + "-07")
}

// Limits of TIMESTAMP and DATE.
var (
	minTime = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	maxTime = time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
)

const secondsPerDay = 86400

func timestampOf(t time.Time) (value.Value, error) {
	if t.Before(minTime) || t.After(maxTime) {
		return value.Value{}, outOfRange("Timestamp is out of range")
	}
	return value.Timestamp(t), nil
}

// midnight is when a date begins in a time zone.
func midnight(days int64, loc *time.Location) time.Time {
	y, m, d := dateTime(days).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, loc)
}

// dateTime is a DATE as midnight UTC.
func dateTime(days int64) time.Time { return time.Unix(days*secondsPerDay, 0).UTC() }

// dateOf is the calendar date t falls on in its own zone.
func dateOf(t time.Time) (value.Value, error) {
	y, m, d := t.Date()
	return dateFrom(time.Date(y, m, d, 0, 0, 0, 0, time.UTC))
}

// dateFrom is the DATE of a midnight UTC.
func dateFrom(t time.Time) (value.Value, error) {
	if t.Before(minTime) || t.After(maxTime) {
		return value.Value{}, outOfRange("Date is out of range")
	}
	return value.Date(t.Unix() / secondsPerDay), nil
}

func addDays(days, n int64) (value.Value, error) {
	const span = 4_000_000
	if n > span || n < -span {
		return value.Value{}, outOfRange("Adding %d days to a date is out of range", n)
	}
	return dateFrom(dateTime(days + n))
}
