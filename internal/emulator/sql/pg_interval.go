package sql

import (
	"fmt"
	"math/big"
	"regexp"
	"strings"
	"time"

	"github.com/cloudspannerecosystem/memefish/ast"

	"spanbulk/internal/emulator/value"
)

const (
	monthDays    = 30
	nanosPerDay  = 24 * 3600e9
	nanosPerTick = 1000 // PostgreSQL counts in microseconds
)

// interval is one being made: months, days and nanoseconds, of which only the
// last may have a fraction in the end.
type interval struct{ months, days, nanos big.Rat }

// add adds n times a unit.
func (i *interval) add(n *big.Rat, u intervalUnit) {
	times := func(k int64) *big.Rat { return new(big.Rat).Mul(n, new(big.Rat).SetInt64(k)) }
	i.months.Add(&i.months, times(u.months))
	i.days.Add(&i.days, times(u.days))
	i.nanos.Add(&i.nanos, times(u.nanos))
}

// value makes days of a part of a month, and hours of a part of a day.
func (i *interval) value() (value.Value, error) {
	months, rest := wholePart(&i.months)
	i.days.Add(&i.days, rest.Mul(rest, big.NewRat(monthDays, 1)))
	days, rest := wholePart(&i.days)
	i.nanos.Add(&i.nanos, rest.Mul(rest, big.NewRat(nanosPerDay, 1)))
	ticks := roundRat(new(big.Rat).Quo(&i.nanos, big.NewRat(nanosPerTick, 1)), 0).Num()
	if !months.IsInt64() || !days.IsInt64() {
		return value.Value{}, outOfRange("interval out of range")
	}
	v, ok := value.IntervalOf(months.Int64(), days.Int64(), new(big.Int).Mul(ticks, big.NewInt(nanosPerTick)))
	if !ok {
		return value.Value{}, outOfRange("interval out of range")
	}
	return v, nil
}

func wholePart(r *big.Rat) (*big.Int, *big.Rat) {
	whole := new(big.Int).Quo(r.Num(), r.Denom())
	return whole, new(big.Rat).Sub(r, new(big.Rat).SetInt(whole))
}

type intervalUnit struct{ months, days, nanos int64 }

func unitOf(word string) (intervalUnit, bool) {
	switch word {
	case "us", "usec", "usecs", "microsecond", "microseconds":
		return intervalUnit{nanos: 1e3}, true
	case "ms", "msec", "msecs", "millisecond", "milliseconds":
		return intervalUnit{nanos: 1e6}, true
	case "s", "sec", "secs", "second", "seconds":
		return intervalUnit{nanos: 1e9}, true
	case "m", "min", "mins", "minute", "minutes":
		return intervalUnit{nanos: 60e9}, true
	case "h", "hr", "hrs", "hour", "hours":
		return intervalUnit{nanos: 3600e9}, true
	case "d", "day", "days":
		return intervalUnit{days: 1}, true
	case "w", "week", "weeks":
		return intervalUnit{days: 7}, true
	case "mon", "mons", "month", "months":
		return intervalUnit{months: 1}, true
	case "y", "yr", "yrs", "year", "years":
		return intervalUnit{months: 12}, true
	case "decade", "decades":
		return intervalUnit{months: 120}, true
	case "century", "centuries":
		return intervalUnit{months: 1200}, true
	}
	return intervalUnit{}, false
}

// intervalToken is a clock, a number or a word.
var intervalToken = regexp.MustCompile(`^\s*([+-]?\d{1,9}:\d{1,2}(?::\d{1,2}(?:\.\d{1,9})?)?|[+-]?(?:\d{1,15}(?:\.\d{0,15})?|\.\d{1,15})|[a-z]+)`)

// pgInterval reads '1 year 2 mons -3 days 04:05:06.7', '36 hours ago', or ISO
// 8601.
func pgInterval(v value.Value) (value.Value, error) {
	text := strings.TrimSpace(v.AsString())
	if out, ok := value.ParseInterval(text); ok {
		return out, nil
	}
	var tokens []string
	for rest := strings.TrimPrefix(strings.ToLower(text), "@"); strings.TrimSpace(rest) != ""; {
		m := intervalToken.FindStringSubmatch(rest)
		if m == nil {
			return value.Value{}, badText(value.IntervalType, v)
		}
		tokens, rest = append(tokens, m[1]), rest[len(m[0]):]
	}
	var out interval
	if !out.read(tokens) {
		return value.Value{}, badText(value.IntervalType, v)
	}
	return out.value()
}

func (i *interval) read(tokens []string) bool {
	sign := big.NewRat(1, 1)
	if n := len(tokens); n > 1 && tokens[n-1] == "ago" {
		sign.Neg(sign)
		tokens = tokens[:n-1]
	}
	for at := 0; at < len(tokens); at++ {
		if strings.Contains(tokens[at], ":") {
			i.add(new(big.Rat).Mul(sign, clockSeconds(tokens[at])), intervalUnit{nanos: 1e9})
			continue
		}
		n, ok := new(big.Rat).SetString(tokens[at])
		if !ok {
			return false
		}
		unit := intervalUnit{nanos: 1e9}
		switch next := at + 1; {
		case next < len(tokens) && strings.Contains(tokens[next], ":"):
			unit = intervalUnit{days: 1}
		case next < len(tokens):
			if unit, ok = unitOf(tokens[next]); !ok {
				return false
			}
			at = next
		}
		i.add(n.Mul(n, sign), unit)
	}
	return len(tokens) > 0
}

// clockSeconds reads [-]hours:minutes[:seconds], which intervalToken has found.
func clockSeconds(text string) *big.Rat {
	text, negative := strings.CutPrefix(strings.TrimPrefix(text, "+"), "-")
	if strings.Count(text, ":") == 1 {
		text += ":0"
	}
	seconds := new(big.Rat)
	for part := range strings.SplitSeq(text, ":") {
		if n, ok := new(big.Rat).SetString(part); ok {
			seconds.Add(seconds.Mul(seconds, big.NewRat(60, 1)), n)
		}
	}
	if negative {
		seconds.Neg(seconds)
	}
	return seconds
}

// intervalArithmetic is + and - of timestamps and intervals; nil for other
// operands.
func (s *scope) intervalArithmetic(op ast.BinaryOp, args []expr) (expr, error) {
	if op != ast.OpAdd && op != ast.OpSub {
		return nil, nil
	}
	l, r := args[0], args[1]
	if op == ast.OpAdd && isType(r, value.TimestampCode) {
		l, r = r, l
	}
	intervalT := value.IntervalType
	switch {
	case isType(l, value.TimestampCode) && op == ast.OpSub && !isType(r, value.IntervalCode):
		return s.typedOperator(types(timestampT, timestampT), []expr{l, r}, intervalT, func(v []value.Value) (value.Value, error) {
			return between(v[1].AsTime(), v[0].AsTime())
		})
	case isType(l, value.TimestampCode):
		loc := s.a.loc
		return s.typedOperator(types(timestampT, intervalT), []expr{l, r}, timestampT, func(v []value.Value) (value.Value, error) {
			return shifted(v[0].AsTime().In(loc), v[1], op == ast.OpSub)
		})
	case isType(l, value.IntervalCode) || isType(r, value.IntervalCode) && !isType(l, value.DateCode):
		return s.typedOperator(types(intervalT, intervalT), []expr{l, r}, intervalT, func(v []value.Value) (value.Value, error) {
			var sum interval
			sum.addInterval(v[0], 1)
			if op == ast.OpSub {
				sum.addInterval(v[1], -1)
			} else {
				sum.addInterval(v[1], 1)
			}
			return sum.value()
		})
	}
	return nil, nil
}

func (s *scope) typedOperator(want []*value.Type, args []expr, t *value.Type, f func(v []value.Value) (value.Value, error)) (expr, error) {
	args, err := s.a.coerceEach(args, want...)
	if err != nil {
		return nil, err
	}
	return &strictExpr{args: args, t: t, f: f}, nil
}

func (i *interval) addInterval(v value.Value, times int64) {
	months, days, nanos := v.AsInterval()
	i.add(big.NewRat(times, 1), intervalUnit{months: months, days: days})
	i.nanos.Add(&i.nanos, new(big.Rat).Mul(big.NewRat(times, 1), new(big.Rat).SetInt(nanos)))
}

// between is the time from one timestamp to another in days and hours.
func between(from, to time.Time) (value.Value, error) {
	nanos := big.NewInt(to.Unix() - from.Unix())
	nanos.Mul(nanos, big.NewInt(1e9)).Add(nanos, big.NewInt(int64(to.Nanosecond()-from.Nanosecond())))
	days, rest := new(big.Int).QuoRem(nanos, big.NewInt(nanosPerDay), new(big.Int))
	v, ok := value.IntervalOf(0, days.Int64(), rest)
	if !ok {
		return v, outOfRange("interval out of range")
	}
	return v, nil
}

// shifted adds months, which stay within theirs, then days by the calendar of
// the time's zone, then hours.
func shifted(t time.Time, by value.Value, back bool) (value.Value, error) {
	months, days, nanos := by.AsInterval()
	if back {
		months, days, nanos = -months, -days, new(big.Int).Neg(nanos)
	}
	if months != 0 {
		first := time.Date(t.Year(), t.Month()+time.Month(months), 1, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), t.Location())
		last := first.AddDate(0, 1, -1).Day()
		t = first.AddDate(0, 0, min(t.Day(), last)-1)
	}
	t = t.AddDate(0, 0, int(days))
	seconds, rest := new(big.Int).QuoRem(nanos, big.NewInt(1e9), new(big.Int))
	return timestampOf(time.Unix(t.Unix()+seconds.Int64(), int64(t.Nanosecond())+rest.Int64()).UTC())
}

// pgIntervalText is '1 year 2 mons -3 days +04:05:06.7'.
func pgIntervalText(v value.Value) string {
	months, days, nanos := v.AsInterval()
	var out []string
	negative := false
	part := func(n int64, unit string) {
		if n == 0 {
			return
		}
		text := fmt.Sprintf("%d %s", n, unit)
		if n != 1 {
			text += "s"
		}
		if negative && n > 0 {
			text = "+" + text
		}
		negative = n < 0
		out = append(out, text)
	}
	part(months/12, "year")
	part(months%12, "mon")
	part(days, "day")
	if nanos.Sign() != 0 || len(out) == 0 {
		out = append(out, clockText(nanos, negative))
	}
	return strings.Join(out, " ")
}

func clockText(nanos *big.Int, afterNegative bool) string {
	ticks := new(big.Int).Quo(new(big.Int).Abs(nanos), big.NewInt(nanosPerTick)).Int64()
	seconds := ticks / 1e6
	text := fmt.Sprintf("%02d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
	if frac := ticks % 1e6; frac != 0 {
		text += strings.TrimRight(fmt.Sprintf(".%06d", frac), "0")
	}
	switch {
	case nanos.Sign() < 0:
		return "-" + text
	case afterNegative:
		return "+" + text
	}
	return text
}
