package sql

import (
	"strings"
	"time"

	"github.com/cloudspannerecosystem/memefish/ast"

	"spanbulk/internal/emulator/value"
)

// extract is EXTRACT(part FROM x [AT TIME ZONE zone]).
func (s *scope) extract(n *ast.ExtractExpr) (expr, error) {
	x, err := s.expr(n.Expr)
	if err != nil {
		return nil, err
	}
	part := strings.ToUpper(n.Part.Name)
	if isType(x, value.DateCode) {
		get := partOf(part)
		if get == nil || timeUnits[part] != 0 && part != "DAY" || n.AtTimeZone != nil {
			return nil, s.a.invalidAt(n, "EXTRACT from DATE does not support the %s date part", part)
		}
		f := func(v []value.Value) (value.Value, error) { return value.Int64(get(dateTime(v[0].AsInt64()))), nil }
		return &strictExpr{args: []expr{x}, t: int64T, f: f}, nil
	}
	if x, err = s.a.coerce(x, timestampT); err != nil {
		return nil, s.a.orMismatch(err, n, "EXTRACT expects a DATE or TIMESTAMP")
	}
	args := []expr{x}
	if n.AtTimeZone != nil {
		zone, err := s.typed(n.AtTimeZone.Expr, stringT, "AT TIME ZONE")
		if err != nil {
			return nil, err
		}
		args = append(args, zone)
	}
	if part == "DATE" {
		return s.zoned(args, timestampT, dateT, func(v value.Value, loc *time.Location) (value.Value, error) {
			return dateOf(v.AsTime().In(loc))
		})
	}
	get := partOf(part)
	if get == nil {
		return nil, s.a.invalidAt(n, "EXTRACT does not support the %s date part", part)
	}
	return s.zoned(args, timestampT, int64T, func(v value.Value, loc *time.Location) (value.Value, error) {
		return value.Int64(get(v.AsTime().In(loc))), nil
	})
}

func quarter(t time.Time) int64 { return int64(t.Month()-1)/3 + 1 }

// partOf gives one part of a time in its own zone.
func partOf(part string) func(t time.Time) int64 {
	switch part {
	case "YEAR":
		return func(t time.Time) int64 { return int64(t.Year()) }
	case "QUARTER":
		return quarter
	case "MONTH":
		return func(t time.Time) int64 { return int64(t.Month()) }
	case "DAY":
		return func(t time.Time) int64 { return int64(t.Day()) }
	case "DAYOFWEEK":
		return func(t time.Time) int64 { return int64(t.Weekday()) + 1 }
	case "DAYOFYEAR":
		return func(t time.Time) int64 { return int64(t.YearDay()) }
	case "HOUR":
		return func(t time.Time) int64 { return int64(t.Hour()) }
	case "MINUTE":
		return func(t time.Time) int64 { return int64(t.Minute()) }
	case "SECOND":
		return func(t time.Time) int64 { return int64(t.Second()) }
	case "MILLISECOND":
		return func(t time.Time) int64 { return int64(t.Nanosecond()) / 1e6 }
	case "MICROSECOND":
		return func(t time.Time) int64 { return int64(t.Nanosecond()) / 1e3 }
	case "NANOSECOND":
		return func(t time.Time) int64 { return int64(t.Nanosecond()) }
	case "ISOYEAR":
		return func(t time.Time) int64 { y, _ := t.ISOWeek(); return int64(y) }
	case "ISOWEEK":
		return func(t time.Time) int64 { _, w := t.ISOWeek(); return int64(w) }
	case "WEEK":
		// Days before the year's first Sunday are in week 0.
		return func(t time.Time) int64 { return int64(t.YearDay()+6-int(t.Weekday())) / 7 }
	}
	return nil
}
