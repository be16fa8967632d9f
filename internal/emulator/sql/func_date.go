package sql

import (
	"time"

	"spanbulk/internal/emulator/value"
)

// dateFunctions need no time zone.
var dateFunctions = map[string][]signature{
	"UNIX_DATE":           {{args: types(dateT), result: int64T, f: func(v []value.Value) (value.Value, error) { return value.Int64(v[0].AsInt64()), nil }}},
	"DATE_FROM_UNIX_DATE": {{args: types(int64T), result: dateT, f: func(v []value.Value) (value.Value, error) { return addDays(0, v[0].AsInt64()) }}},
	"UNIX_SECONDS":        unixFunction(time.Second),
	"UNIX_MILLIS":         unixFunction(time.Millisecond),
	"UNIX_MICROS":         unixFunction(time.Microsecond),
	"TIMESTAMP_SECONDS":   fromUnixFunction(time.Second),
	"TIMESTAMP_MILLIS":    fromUnixFunction(time.Millisecond),
	"TIMESTAMP_MICROS":    fromUnixFunction(time.Microsecond),
}

// unixFunction counts whole units since the epoch, rounding down.
func unixFunction(unit time.Duration) []signature {
	perSecond := int64(time.Second / unit)
	return []signature{{args: types(timestampT), result: int64T, f: func(v []value.Value) (value.Value, error) {
		t := v[0].AsTime()
		return value.Int64(t.Unix()*perSecond + int64(t.Nanosecond())/int64(unit)), nil
	}}}
}

func fromUnixFunction(unit time.Duration) []signature {
	perSecond := int64(time.Second / unit)
	return []signature{{args: types(int64T), result: timestampT, f: func(v []value.Value) (value.Value, error) {
		n := v[0].AsInt64()
		seconds, rest := n/perSecond, n%perSecond
		if seconds > maxTime.Unix() || seconds < minTime.Unix() {
			return value.Value{}, outOfRange("Timestamp is out of range: %d", n)
		}
		return timestampOf(time.Unix(seconds, rest*int64(unit)).UTC())
	}}}
}
