package value

import (
	"math/big"
	"strconv"
	"strings"
)

// Limits of INTERVAL, each part on its own.
const (
	maxIntervalMonths = 10_000 * 12
	maxIntervalDays   = 3_660_000
	maxIntervalHours  = 87_840_000
)

// ParseInterval reads an ISO 8601 duration and normalises it: years and
// months together, days alone, hours to nanoseconds together.
func ParseInterval(s string) (Value, bool) {
	months, days, nanos, ok := intervalParts(s)
	if !ok || !months.IsInt() || !days.IsInt() || !nanos.IsInt() || !months.Num().IsInt64() || !days.Num().IsInt64() {
		return Value{}, false
	}
	return IntervalOf(months.Num().Int64(), days.Num().Int64(), nanos.Num())
}

// IntervalOf is an interval of three parts, each within its limits; false if
// one is not.
func IntervalOf(months, days int64, nanos *big.Int) (Value, bool) {
	if months > maxIntervalMonths || months < -maxIntervalMonths || days > maxIntervalDays || days < -maxIntervalDays || nanos.CmpAbs(maxIntervalNanos()) > 0 {
		return Value{}, false
	}
	return Interval(intervalText(months, days, nanos)), true
}

// AsInterval gives the parts of an interval.
func (v Value) AsInterval() (months, days int64, nanos *big.Int) {
	m, d, n, ok := intervalParts(v.s)
	if !ok {
		return 0, 0, new(big.Int)
	}
	return m.Num().Int64(), d.Num().Int64(), n.Num()
}

// compareIntervals takes a month for 30 days and a day for 24 hours.
func compareIntervals(a, b Value) int { return intervalLength(a).Cmp(intervalLength(b)) }

func intervalLength(v Value) *big.Int {
	months, days, nanos := v.AsInterval()
	length := big.NewInt(months*30 + days)
	length.Mul(length, big.NewInt(24*3600e9))
	return length.Add(length, nanos)
}

func intervalParts(s string) (months, days, nanos *big.Rat, ok bool) {
	rest, ok := strings.CutPrefix(s, "P")
	if !ok || rest == "" {
		return nil, nil, nil, false
	}
	date, clock, hasClock := strings.Cut(rest, "T")
	months, days, nanos = new(big.Rat), new(big.Rat), new(big.Rat)
	units := map[byte]*big.Rat{'Y': months, 'M': months, 'W': days, 'D': days}
	scale := map[byte]int64{'Y': 12, 'M': 1, 'W': 7, 'D': 1}
	if !addParts(date, units, scale) {
		return nil, nil, nil, false
	}
	clockUnits := map[byte]*big.Rat{'H': nanos, 'M': nanos, 'S': nanos}
	clockScale := map[byte]int64{'H': 3600e9, 'M': 60e9, 'S': 1e9}
	return months, days, nanos, !hasClock || clock != "" && addParts(clock, clockUnits, clockScale)
}

func maxIntervalNanos() *big.Int {
	return new(big.Int).Mul(big.NewInt(maxIntervalHours), big.NewInt(3600e9))
}

func addParts(s string, units map[byte]*big.Rat, scale map[byte]int64) bool {
	for s != "" {
		i := strings.IndexFunc(s, func(r rune) bool { return r >= 'A' && r <= 'Z' })
		if i < 1 || i > 40 || strings.ContainsAny(s[:i], "/eEpPxX_") {
			return false
		}
		n, ok := new(big.Rat).SetString(s[:i])
		unit := units[s[i]]
		if !ok || unit == nil {
			return false
		}
		unit.Add(unit, n.Mul(n, new(big.Rat).SetInt64(scale[s[i]])))
		s = s[i+1:]
	}
	return true
}

func intervalText(months, days int64, nanos *big.Int) string {
	out := []byte("P")
	out = appendPart(out, months/12, 'Y')
	out = appendPart(out, months%12, 'M')
	out = appendPart(out, days, 'D')
	if nanos.Sign() != 0 {
		out = append(out, 'T')
		seconds, frac := new(big.Int).QuoRem(nanos, big.NewInt(1e9), new(big.Int))
		n := seconds.Int64()
		out = appendPart(out, n/3600, 'H')
		out = appendPart(out, n/60%60, 'M')
		out = appendSeconds(out, n%60, frac.Int64())
	}
	if len(out) == 1 {
		return "P0Y"
	}
	return string(out)
}

func appendPart(dst []byte, n int64, unit byte) []byte {
	if n == 0 {
		return dst
	}
	return append(strconv.AppendInt(dst, n, 10), unit)
}

func appendSeconds(dst []byte, seconds, nanos int64) []byte {
	if seconds == 0 && nanos == 0 {
		return dst
	}
	if seconds < 0 || nanos < 0 {
		dst, seconds, nanos = append(dst, '-'), -seconds, -nanos
	}
	dst = strconv.AppendInt(dst, seconds, 10)
	if nanos != 0 {
		frac := strconv.FormatInt(1e9+nanos, 10)[1:]
		dst = append(append(dst, '.'), strings.TrimRight(frac, "0")...)
	}
	return append(dst, 'S')
}
