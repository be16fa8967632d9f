package sql

import (
	"strings"
	"time"

	"github.com/itchyny/timefmt-go"

	"spanbulk/internal/emulator/value"
)

// timeBinders depend on the time zone or on the time of the run.
var timeBinders = map[string]binder{
	"CURRENT_TIMESTAMP":        bindNow(timestampT),
	"CURRENT_DATE":             bindNow(dateT),
	"PENDING_COMMIT_TIMESTAMP": bindPendingCommit,
	"DATE":                     bindDate,
	"TIMESTAMP":                bindTimestamp,
	"STRING":                   bindString,
	"FORMAT_TIMESTAMP":         bindFormat(timestampT),
	"FORMAT_DATE":              bindFormat(dateT),
	"PARSE_TIMESTAMP":          bindParse(timestampT),
	"PARSE_DATE":               bindParse(dateT),
}

// nowExpr is the time of the run, as TIMESTAMP or as DATE in a zone.
type nowExpr struct {
	t    *value.Type
	zone expr
}

func (x *nowExpr) typ() *value.Type { return x.t }

func (x *nowExpr) eval(e *env) (value.Value, error) {
	if x.t.Code == value.TimestampCode {
		return timestampOf(e.rt.now)
	}
	loc := e.rt.loc
	if x.zone != nil {
		v, err := x.zone.eval(e)
		if err != nil || v.IsNull() {
			return value.Null(x.t), err
		}
		if loc, err = loadZone(v.AsString()); err != nil {
			return value.Value{}, err
		}
	}
	return dateOf(e.rt.now.In(loc))
}

func bindNow(t *value.Type) binder {
	return func(s *scope, args []expr) (expr, error) {
		s.a.volatile = true
		if len(args) == 0 {
			return &nowExpr{t: t}, nil
		}
		if len(args) > 1 || t.Code == value.TimestampCode {
			return nil, errMismatch
		}
		zone, err := s.a.coerce(args[0], stringT)
		return &nowExpr{t, zone}, err
	}
}

// pendingExpr is PENDING_COMMIT_TIMESTAMP(), which has no value in a query.
// Where a column's DEFAULT is this alone, the store does not ask for it.
type pendingExpr struct{}

func (pendingExpr) typ() *value.Type { return timestampT }

func (pendingExpr) eval(*env) (value.Value, error) {
	return value.Value{}, invalid("The PENDING_COMMIT_TIMESTAMP() function may only be used as a value for INSERT or UPDATE of an appropriately typed column")
}

func bindPendingCommit(s *scope, args []expr) (expr, error) {
	if len(args) != 0 {
		return nil, errMismatch
	}
	s.a.volatile = true
	return pendingExpr{}, nil
}

// zoned makes a function of a value and an optional time zone argument.
func (s *scope) zoned(args []expr, from, to *value.Type, f func(v value.Value, loc *time.Location) (value.Value, error)) (expr, error) {
	if len(args) < 1 || len(args) > 2 {
		return nil, errMismatch
	}
	want := types(from, stringT)
	out := make([]expr, len(args))
	for i := range args {
		x, err := s.a.coerce(args[i], want[i])
		if err != nil {
			return nil, err
		}
		out[i] = x
	}
	def := s.a.loc
	return &strictExpr{args: out, t: to, f: func(v []value.Value) (value.Value, error) {
		loc := def
		if len(v) > 1 {
			var err error
			if loc, err = loadZone(v[1].AsString()); err != nil {
				return value.Value{}, err
			}
		}
		return f(v[0], loc)
	}}, nil
}

// bindDate is DATE(year, month, day) and DATE(timestamp[, zone]).
func bindDate(s *scope, args []expr) (expr, error) {
	if len(args) == 3 {
		sig := signature{args: types(int64T, int64T, int64T), result: dateT, f: func(v []value.Value) (value.Value, error) {
			return civilDate(v[0].AsInt64(), v[1].AsInt64(), v[2].AsInt64())
		}}
		return s.matchSignature([]signature{sig}, args)
	}
	if len(args) == 1 && isType(args[0], value.DateCode) {
		return args[0], nil
	}
	return s.zoned(args, timestampT, dateT, func(v value.Value, loc *time.Location) (value.Value, error) {
		return dateOf(v.AsTime().In(loc))
	})
}

func civilDate(year, month, day int64) (value.Value, error) {
	bad := outOfRange("Input calculates to invalid date: %04d-%02d-%02d", year, month, day)
	if year < 1 || year > 9999 || month < 1 || month > 12 || day < 1 || day > 31 {
		return value.Value{}, bad
	}
	t := time.Date(int(year), time.Month(month), int(day), 0, 0, 0, 0, time.UTC)
	if t.Day() != int(day) {
		return value.Value{}, bad
	}
	return dateFrom(t)
}

// bindTimestamp is TIMESTAMP(text[, zone]) and TIMESTAMP(date[, zone]).
func bindTimestamp(s *scope, args []expr) (expr, error) {
	switch {
	case len(args) == 0:
		return nil, errMismatch
	case isType(args[0], value.TimestampCode) && len(args) == 1:
		return args[0], nil
	case isType(args[0], value.DateCode):
		return s.zoned(args, dateT, timestampT, func(v value.Value, loc *time.Location) (value.Value, error) {
			return timestampOf(midnight(v.AsInt64(), loc))
		})
	}
	return s.zoned(args, stringT, timestampT, func(v value.Value, loc *time.Location) (value.Value, error) {
		return parseTimestamp(v.AsString(), loc)
	})
}

// bindString is STRING(timestamp[, zone]), STRING(date) and STRING(json).
func bindString(s *scope, args []expr) (expr, error) {
	switch {
	case len(args) == 1 && isType(args[0], value.JSONCode):
		return jsonScalar(args[0], stringT), nil
	case len(args) == 1 && isType(args[0], value.DateCode):
		return &castExpr{x: args[0], t: stringT, conv: conversion(dateT, stringT, s.a.loc)}, nil
	}
	return s.zoned(args, timestampT, stringT, func(v value.Value, loc *time.Location) (value.Value, error) {
		return value.String(timestampText(v.AsTime(), loc)), nil
	})
}

// bindFormat is FORMAT_TIMESTAMP(format, t[, zone]) and FORMAT_DATE(format, d).
func bindFormat(t *value.Type) binder {
	return func(s *scope, args []expr) (expr, error) {
		def := s.a.loc
		f := func(v []value.Value) (value.Value, error) {
			if t.Code == value.DateCode {
				return formatTime(v[0].AsString(), dateTime(v[1].AsInt64()))
			}
			loc := def
			if len(v) > 2 {
				var err error
				if loc, err = loadZone(v[2].AsString()); err != nil {
					return value.Value{}, err
				}
			}
			return formatTime(v[0].AsString(), v[1].AsTime().In(loc))
		}
		sig := signature{args: types(stringT, t), result: stringT, f: f}
		if t.Code == value.TimestampCode {
			sig.args, sig.optional = types(stringT, t, stringT), 1
		}
		return s.matchSignature([]signature{sig}, args)
	}
}

func formatTime(format string, t time.Time) (value.Value, error) {
	if len(format) > 4096 {
		return value.Value{}, outOfRange("Format string is too long")
	}
	format = strings.NewReplacer("%%", "%%", "%E4Y", "%Y", "%E*S", "%S"+fraction(t), "%Ez", "%:z", "%E3S", "%S"+t.Format(".000"),
		"%E6S", "%S"+t.Format(".000000"), "%E9S", "%S"+t.Format(".000000000"), "%Q", quarterText(t)).Replace(format)
	return value.String(timefmt.Format(t, format)), nil
}

func quarterText(t time.Time) string { return string(rune('0' + quarter(t))) }

// fraction is the fractional seconds with as many digits as there are.
func fraction(t time.Time) string {
	return strings.TrimRight(strings.TrimRight(t.Format(".000000000"), "0"), ".")
}

// bindParse is PARSE_TIMESTAMP(format, text[, zone]) and PARSE_DATE.
func bindParse(t *value.Type) binder {
	return func(s *scope, args []expr) (expr, error) {
		def := s.a.loc
		f := func(v []value.Value) (value.Value, error) {
			loc := def
			if len(v) > 2 {
				var err error
				if loc, err = loadZone(v[2].AsString()); err != nil {
					return value.Value{}, err
				}
			}
			return parseTime(t, v[0].AsString(), v[1].AsString(), loc)
		}
		sig := signature{args: types(stringT, stringT), result: t, f: f}
		if t.Code == value.TimestampCode {
			sig.args, sig.optional = types(stringT, stringT, stringT), 1
		}
		return s.matchSignature([]signature{sig}, args)
	}
}

func parseTime(t *value.Type, format, text string, loc *time.Location) (value.Value, error) {
	format = strings.NewReplacer("%%", "%%", "%E4Y", "%Y", "%E*S", "%S", "%Ez", "%z").Replace(format)
	if t.Code == value.DateCode {
		loc = time.UTC
	}
	at, err := timefmt.ParseInLocation(text, format, loc)
	if err != nil {
		return value.Value{}, outOfRange("Failed to parse input string %q", text)
	}
	if t.Code == value.DateCode {
		return dateOf(at)
	}
	return timestampOf(at)
}
