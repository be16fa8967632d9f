package format

import (
	"encoding/binary"

	"spanbulk/internal/wire"
)

// Parts of a timestamp as words of eight bytes, the first the lowest: their
// texts with zeros for digits, and for each byte what may be added to its
// difference from that before the top bit is set.
const (
	yearMonth       = 0x2d30302d30303030 // "0000-00-"
	yearMonthLimits = 0x7f76767f76767676
	dayMinute       = 0x30303a3030543030 // "00T00:00"
	dayMinuteLimits = 0x76767f76767f7676
)

// plainDate takes what Spanner writes.
func plainDate(dst, data []byte) ([]byte, int) {
	const size = len("2006-01-02")
	if len(data) < size || !isDate(data) {
		return dst, 0
	}
	return wire.AppendString(dst, data[:size]), size
}

// isDate reports whether the first ten bytes of data are a date that exists.
func isDate(data []byte) bool {
	w := binary.LittleEndian.Uint64(data) ^ yearMonth
	day, ok := twoDigits(data[8:])
	if (w|(w+yearMonthLimits))&highs != 0 || !ok {
		return false
	}
	month := int64(10*byte(w>>40) + byte(w>>48))
	if uint32(w) == 0 || month < 1 || month > 12 || day < 1 {
		return false
	}
	if day <= 28 {
		return true
	}
	year := int64(1000*(w&0xff) + 100*(w>>8&0xff) + 10*(w>>16&0xff) + w>>24&0xff)
	return day <= daysIn(year, month)
}

// plainTimestamp takes what Spanner writes: UTC, with no zero at the end of a
// fraction.
func plainTimestamp(dst, data []byte) ([]byte, int) {
	const whole = len("2006-01-02T15:04:05")
	if len(data) <= whole || !isDate(data) {
		return dst, 0
	}
	w := binary.LittleEndian.Uint64(data[8:]) ^ dayMinute
	second, ok := twoDigits(data[17:])
	hour, minute := 10*byte(w>>24)+byte(w>>32), 10*byte(w>>48)+byte(w>>56)
	if (w|(w+dayMinuteLimits))&highs != 0 || hour > 23 || minute > 59 || data[16] != ':' || !ok || second > 59 {
		return dst, 0
	}
	n := whole
	if data[n] == '.' {
		places := digits(data[n+1:])
		n += 1 + places
		if places == 0 || places > 9 || data[n-1] == '0' {
			return dst, 0
		}
	}
	if n == len(data) || data[n] != 'Z' {
		return dst, 0
	}
	n++
	return wire.AppendString(dst, data[:n]), n
}
