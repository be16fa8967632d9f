package sql

import (
	"math"
	"math/big"
	"strings"
	"time"

	"github.com/cloudspannerecosystem/memefish/ast"

	"spanbulk/internal/emulator/value"
)

// syntaxBinders finds functions with INTERVAL or date part arguments. It is a
// function because binders that analyse expressions reach it themselves.
func syntaxBinders(name string) (syntaxBinder, bool) {
	if isTokenizer(name) {
		return (*scope).tokenize, true
	}
	switch name {
	case "DATE_ADD":
		return shiftBinder(dateT, 1), true
	case "DATE_SUB":
		return shiftBinder(dateT, -1), true
	case "TIMESTAMP_ADD":
		return shiftBinder(timestampT, 1), true
	case "TIMESTAMP_SUB":
		return shiftBinder(timestampT, -1), true
	case "DATE_DIFF":
		return diffBinder(dateT), true
	case "TIMESTAMP_DIFF":
		return diffBinder(timestampT), true
	case "DATE_TRUNC":
		return truncBinder(dateT), true
	case "TIMESTAMP_TRUNC":
		return truncBinder(timestampT), true
	case "GENERATE_DATE_ARRAY":
		return (*scope).generateDates, true
	case "GET_NEXT_SEQUENCE_VALUE":
		return (*scope).nextInSequence, true
	}
	return nil, false
}

// positional gives a call's arguments as expressions.
func (s *scope) positional(n *ast.CallExpr, atLeast, atMost int) ([]ast.Expr, error) {
	if len(n.Args) < atLeast || len(n.Args) > atMost {
		return nil, s.a.invalidAt(n, "Number of arguments does not match for function %s", n.Func.SQL())
	}
	out := make([]ast.Expr, len(n.Args))
	for i, arg := range n.Args {
		a, ok := arg.(*ast.ExprArg)
		if !ok {
			return nil, unimplemented(constructName(arg))
		}
		out[i] = a.Expr
	}
	return out, nil
}

// typed analyses an expression that must have type t.
func (s *scope) typed(n ast.Expr, t *value.Type, what string) (expr, error) {
	x, err := s.expr(n)
	if err != nil {
		return nil, err
	}
	c, err := s.a.coerce(x, t)
	if err != nil {
		return nil, s.a.orMismatch(err, n, "%s expects %s, not %s", what, t, x)
	}
	return c, nil
}

// datePart reads a date part argument: DAY, or WEEK(MONDAY).
func (s *scope) datePart(n ast.Expr) (string, error) {
	switch n := n.(type) {
	case *ast.Ident:
		return strings.ToUpper(n.Name), nil
	case *ast.CallExpr:
		return strings.ToUpper(n.SQL()), nil
	}
	return "", s.a.invalidAt(n, "A valid date part name is required")
}

// shiftBinder is DATE_ADD and the like: f(x, INTERVAL n PART).
func shiftBinder(t *value.Type, sign int64) syntaxBinder {
	return func(s *scope, n *ast.CallExpr) (expr, error) {
		args, err := s.positional(n, 2, 2)
		if err != nil {
			return nil, err
		}
		x, err := s.typed(args[0], t, n.Func.SQL())
		if err != nil {
			return nil, err
		}
		interval, ok := args[1].(*ast.IntervalLiteralSingle)
		if !ok {
			return nil, unimplemented("an INTERVAL value in " + n.Func.SQL())
		}
		count, err := s.intValue(interval.Value)
		if err != nil {
			return nil, err
		}
		part := string(interval.DateTimePart)
		shift := shiftOf(t, part)
		if shift == nil {
			return nil, s.a.invalidAt(n, "%s does not support the %s date part", n.Func.SQL(), part)
		}
		f := func(v []value.Value) (value.Value, error) {
			if v[1].AsInt64() == math.MinInt64 {
				return value.Value{}, outOfRange("Interval is out of range")
			}
			return shift(v[0], sign*v[1].AsInt64())
		}
		return &strictExpr{args: []expr{x, count}, t: t, f: f}, nil
	}
}

func shiftOf(t *value.Type, part string) func(v value.Value, n int64) (value.Value, error) {
	if t.Code == value.TimestampCode {
		unit, ok := timeUnits[part]
		if !ok {
			return nil
		}
		return func(v value.Value, n int64) (value.Value, error) { return addUnits(v, n, unit) }
	}
	switch part {
	case "DAY":
		return func(v value.Value, n int64) (value.Value, error) { return addDays(v.AsInt64(), n) }
	case "WEEK":
		return func(v value.Value, n int64) (value.Value, error) { return addMany(v, n, 7, addDays) }
	case "MONTH":
		return func(v value.Value, n int64) (value.Value, error) { return addMonths(v.AsInt64(), n) }
	case "QUARTER":
		return func(v value.Value, n int64) (value.Value, error) { return addMany(v, n, 3, addMonths) }
	case "YEAR":
		return func(v value.Value, n int64) (value.Value, error) { return addMany(v, n, 12, addMonths) }
	}
	return nil
}

// timeUnits are the parts of fixed length.
var timeUnits = map[string]time.Duration{
	"NANOSECOND": 1, "MICROSECOND": time.Microsecond, "MILLISECOND": time.Millisecond,
	"SECOND": time.Second, "MINUTE": time.Minute, "HOUR": time.Hour, "DAY": 24 * time.Hour,
}

func addUnits(v value.Value, n int64, unit time.Duration) (value.Value, error) {
	t := v.AsTime()
	nanos := new(big.Int).Mul(big.NewInt(n), big.NewInt(int64(unit)))
	nanos.Add(nanos, big.NewInt(int64(t.Nanosecond())))
	seconds, rest := new(big.Int).DivMod(nanos, big.NewInt(1_000_000_000), new(big.Int))
	seconds.Add(seconds, big.NewInt(t.Unix()))
	if !seconds.IsInt64() || seconds.Int64() > maxTime.Unix() || seconds.Int64() < minTime.Unix() {
		return value.Value{}, outOfRange("Adding %d to timestamp %s causes overflow", n, quoted(v))
	}
	return timestampOf(time.Unix(seconds.Int64(), rest.Int64()).UTC())
}

// addMany is add for n times several smaller units.
func addMany(v value.Value, n, times int64, add func(days, n int64) (value.Value, error)) (value.Value, error) {
	const tooMany = 1_000_000
	if n > tooMany || n < -tooMany {
		return value.Value{}, outOfRange("Date is out of range")
	}
	return add(v.AsInt64(), n*times)
}

// addMonths keeps the day of the month where the month has it.
func addMonths(days, n int64) (value.Value, error) {
	const tooMany = 20_000_000
	if n > tooMany || n < -tooMany {
		return value.Value{}, outOfRange("Date is out of range")
	}
	y, m, d := dateTime(days).Date()
	first := time.Date(y, m+time.Month(n), 1, 0, 0, 0, 0, time.UTC)
	last := first.AddDate(0, 1, -1).Day()
	return dateFrom(first.AddDate(0, 0, min(d, last)-1))
}

// diffBinder is DATE_DIFF(a, b, PART): boundaries between b and a.
func diffBinder(t *value.Type) syntaxBinder {
	return func(s *scope, n *ast.CallExpr) (expr, error) {
		args, err := s.positional(n, 3, 3)
		if err != nil {
			return nil, err
		}
		xs := make([]expr, 2)
		for i := range xs {
			if xs[i], err = s.typed(args[i], t, n.Func.SQL()); err != nil {
				return nil, err
			}
		}
		part, err := s.datePart(args[2])
		if err != nil {
			return nil, err
		}
		diff := diffOf(t, part)
		if diff == nil {
			return nil, s.a.invalidAt(n, "%s does not support the %s date part", n.Func.SQL(), part)
		}
		f := func(v []value.Value) (value.Value, error) { return diff(v[0], v[1]) }
		return &strictExpr{args: xs, t: int64T, f: f}, nil
	}
}

func diffOf(t *value.Type, part string) func(a, b value.Value) (value.Value, error) {
	if t.Code == value.TimestampCode {
		unit, ok := timeUnits[part]
		if !ok {
			return nil
		}
		return func(a, b value.Value) (value.Value, error) { return diffUnits(a.AsTime(), b.AsTime(), unit) }
	}
	ordinal := dateOrdinal(part)
	if ordinal == nil {
		return nil
	}
	return func(a, b value.Value) (value.Value, error) {
		return value.Int64(ordinal(a.AsInt64()) - ordinal(b.AsInt64())), nil
	}
}

// dateOrdinal numbers the weeks, months and so on that dates fall into.
func dateOrdinal(part string) func(days int64) int64 {
	month := func(days int64) int64 {
		y, m, _ := dateTime(days).Date()
		return int64(y)*12 + int64(m) - 1
	}
	switch part {
	case "DAY":
		return func(days int64) int64 { return days }
	case "MONTH":
		return month
	case "QUARTER":
		return func(days int64) int64 { return month(days) / 3 }
	case "YEAR":
		return func(days int64) int64 { return month(days) / 12 }
	case "ISOYEAR":
		return func(days int64) int64 { y, _ := dateTime(days).ISOWeek(); return int64(y) }
	}
	start, ok := weekStart(part)
	if !ok {
		return nil
	}
	// 1970-01-01 was a Thursday.
	return func(days int64) int64 { return floorDiv(days+4-int64(start), 7) }
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// weekStart is the first day of the weeks that a date part counts.
func weekStart(part string) (time.Weekday, bool) {
	switch part {
	case "WEEK", "WEEK(SUNDAY)":
		return time.Sunday, true
	case "ISOWEEK":
		return time.Monday, true
	}
	for d := time.Monday; d <= time.Saturday; d++ {
		if part == "WEEK("+strings.ToUpper(d.String())+")" {
			return d, true
		}
	}
	return 0, false
}

func diffUnits(a, b time.Time, unit time.Duration) (value.Value, error) {
	nanos := new(big.Int).Mul(big.NewInt(a.Unix()-b.Unix()), big.NewInt(1_000_000_000))
	nanos.Add(nanos, big.NewInt(int64(a.Nanosecond()-b.Nanosecond())))
	n := nanos.Quo(nanos, big.NewInt(int64(unit)))
	if !n.IsInt64() {
		return value.Value{}, outOfRange("TIMESTAMP_DIFF at this precision causes overflow")
	}
	return value.Int64(n.Int64()), nil
}

// truncBinder is DATE_TRUNC(d, PART) and TIMESTAMP_TRUNC(t, PART[, zone]).
func truncBinder(t *value.Type) syntaxBinder {
	return func(s *scope, n *ast.CallExpr) (expr, error) {
		most := 2
		if t.Code == value.TimestampCode {
			most = 3
		}
		args, err := s.positional(n, 2, most)
		if err != nil {
			return nil, err
		}
		part, err := s.datePart(args[1])
		if err != nil {
			return nil, err
		}
		if truncTime(time.Unix(0, 0).UTC(), part).IsZero() || t.Code == value.DateCode && timeUnits[part] != 0 && part != "DAY" {
			return nil, s.a.invalidAt(n, "%s does not support the %s date part", n.Func.SQL(), part)
		}
		x, err := s.typed(args[0], t, n.Func.SQL())
		if err != nil {
			return nil, err
		}
		xs := []expr{x}
		if len(args) > 2 {
			zone, err := s.typed(args[2], stringT, "time zone")
			if err != nil {
				return nil, err
			}
			xs = append(xs, zone)
		}
		if t.Code == value.DateCode {
			f := func(v []value.Value) (value.Value, error) { return dateFrom(truncTime(dateTime(v[0].AsInt64()), part)) }
			return &strictExpr{args: xs, t: t, f: f}, nil
		}
		return s.zoned(xs, t, t, func(v value.Value, loc *time.Location) (value.Value, error) {
			return timestampOf(truncTime(v.AsTime().In(loc), part))
		})
	}
}

// truncTime is the start of the part t falls in, in t's zone; zero for a part
// that cannot be truncated to.
func truncTime(t time.Time, part string) time.Time {
	y, m, d := t.Date()
	day := func(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, t.Location()) }
	switch part {
	case "YEAR":
		return day(y, 1, 1)
	case "ISOYEAR":
		iso, _ := t.ISOWeek()
		return day(iso, 1, 4-int((day(iso, 1, 4).Weekday()+6)%7))
	case "QUARTER":
		return day(y, m-(m-1)%3, 1)
	case "MONTH":
		return day(y, m, 1)
	case "DAY":
		return day(y, m, d)
	case "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND", "NANOSECOND":
		unit := timeUnits[part]
		since := t.Sub(day(y, m, d))
		return day(y, m, d).Add(since - since%unit)
	}
	if start, ok := weekStart(part); ok {
		return day(y, m, d-int((t.Weekday()-start+7)%7))
	}
	return time.Time{}
}

// generateDates is GENERATE_DATE_ARRAY(from, to[, INTERVAL n PART]).
func (s *scope) generateDates(n *ast.CallExpr) (expr, error) {
	args, err := s.positional(n, 2, 3)
	if err != nil {
		return nil, err
	}
	xs := make([]expr, 2, 3)
	for i := range xs {
		if xs[i], err = s.typed(args[i], dateT, n.Func.SQL()); err != nil {
			return nil, err
		}
	}
	step, part := expr(&literal{v: value.Int64(1)}), "DAY"
	if len(args) > 2 {
		interval, ok := args[2].(*ast.IntervalLiteralSingle)
		if !ok {
			return nil, unimplemented("an INTERVAL value in " + n.Func.SQL())
		}
		part = string(interval.DateTimePart)
		if step, err = s.intValue(interval.Value); err != nil {
			return nil, err
		}
	}
	shift := shiftOf(dateT, part)
	if shift == nil {
		return nil, s.a.invalidAt(n, "GENERATE_DATE_ARRAY does not support the %s date part", part)
	}
	f := func(v []value.Value) (value.Value, error) { return generateDates(v[0], v[1], v[2].AsInt64(), shift) }
	return &strictExpr{args: append(xs, step), t: value.ArrayOf(dateT), f: f}, nil
}

func generateDates(from, to value.Value, step int64, shift func(value.Value, int64) (value.Value, error)) (value.Value, error) {
	if step == 0 {
		return value.Value{}, outOfRange("Sequence step cannot be 0.")
	}
	out := []value.Value{}
	for i := int64(0); len(out) < maxGenerated; i++ {
		// Months are counted from the start, so that the 31st comes back.
		d, err := shift(from, i*step)
		if err != nil || step > 0 && d.AsInt64() > to.AsInt64() || step < 0 && d.AsInt64() < to.AsInt64() {
			return value.Array(dateT, out), nil
		}
		out = append(out, d)
	}
	return value.Value{}, outOfRange("Generated arrays cannot have more than %d elements", maxGenerated)
}
