package sql

import (
	"strconv"
	"time"

	"spanbulk/internal/emulator/value"
)

// pgExtract is EXTRACT(part FROM x), a numeric.
func pgExtract(s *scope, args []expr) (expr, error) {
	unit, ok := constant(args[0])
	if len(args) != 2 || !ok {
		return nil, errMismatch
	}
	x, loc := args[1], s.a.loc
	at := func(v value.Value) time.Time { return v.AsTime().In(loc) }
	t := timestampT
	if isType(x, value.DateCode) {
		t, at = dateT, func(v value.Value) time.Time { return dateTime(v.AsInt64()) }
	}
	x, err := s.a.coerce(x, t)
	if err != nil {
		return nil, err
	}
	part := pgPart(unit.AsString())
	if part == nil || t == dateT && isClockPart(unit.AsString()) {
		return nil, s.a.invalid("unit %q not recognized or not supported for type %s", unit.AsString(), t)
	}
	return &strictExpr{args: []expr{x}, t: value.PGNumericType, f: func(v []value.Value) (value.Value, error) {
		n, digits := part(at(v[0]))
		if t == dateT {
			n, digits = n/pow10(digits), 0
		}
		return value.PGNumeric(fixedPoint(n, digits)), nil
	}}, nil
}

func pow10(digits int) int64 {
	n := int64(1)
	for range digits {
		n *= 10
	}
	return n
}

// fixedPoint spells n * 10^-digits.
func fixedPoint(n int64, digits int) string {
	if digits == 0 {
		return strconv.FormatInt(n, 10)
	}
	sign, unit := "", pow10(digits)
	if n < 0 {
		sign, n = "-", -n
	}
	return sign + strconv.FormatInt(n/unit, 10) + "." + strconv.FormatInt(unit+n%unit, 10)[1:]
}

func isClockPart(unit string) bool {
	switch unit {
	case "hour", "minute", "second", "milliseconds", "microseconds":
		return true
	}
	return false
}

// pgPart gives one part of a time in its own zone, as n * 10^-digits; nil if
// there is none of the name.
func pgPart(unit string) func(t time.Time) (n int64, digits int) {
	whole := func(f func(t time.Time) int64) func(t time.Time) (int64, int) {
		return func(t time.Time) (int64, int) { return f(t), 0 }
	}
	years := func(per int) func(t time.Time) (int64, int) {
		return whole(func(t time.Time) int64 { return int64((t.Year() + per - 1) / per) })
	}
	micros := func(t time.Time) int64 { return int64(t.Second())*1e6 + int64(t.Nanosecond())/1e3 }
	switch unit {
	case "millennium":
		return years(1000)
	case "century":
		return years(100)
	case "decade":
		return whole(func(t time.Time) int64 { return int64(t.Year() / 10) })
	case "year":
		return whole(partOf("YEAR"))
	case "isoyear":
		return whole(partOf("ISOYEAR"))
	case "quarter":
		return whole(quarter)
	case "month":
		return whole(partOf("MONTH"))
	case "week":
		return whole(partOf("ISOWEEK"))
	case "day":
		return whole(partOf("DAY"))
	case "doy":
		return whole(partOf("DAYOFYEAR"))
	case "dow":
		return whole(func(t time.Time) int64 { return int64(t.Weekday()) })
	case "isodow":
		return whole(func(t time.Time) int64 { return int64(t.Weekday()+6)%7 + 1 })
	case "hour":
		return whole(partOf("HOUR"))
	case "minute":
		return whole(partOf("MINUTE"))
	case "second":
		return func(t time.Time) (int64, int) { return micros(t), 6 }
	case "milliseconds":
		return func(t time.Time) (int64, int) { return micros(t), 3 }
	case "microseconds":
		return whole(micros)
	case "epoch":
		return func(t time.Time) (int64, int) { return t.UnixMicro(), 6 }
	}
	return nil
}
