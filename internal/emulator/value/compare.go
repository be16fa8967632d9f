package value

import (
	"cmp"
	"math"
	"strings"
)

// Compare orders two values of one type as GoogleSQL's ORDER BY and keys do:
// NULL first, then NaN (all NaNs alike), then by value with -0 equal to 0;
// text and bytes bytewise; arrays and structs element by element.
func Compare(a, b Value) int {
	if !a.valid || !b.valid {
		return cmp.Compare(boolInt(a.valid), boolInt(b.valid))
	}
	switch a.typ.Code {
	case Float64Code, Float32Code:
		return compareFloats(a.AsFloat64(), b.AsFloat64())
	case StringCode, BytesCode, ProtoCode, JSONCode, UUIDCode:
		return strings.Compare(a.s, b.s)
	case IntervalCode:
		return compareIntervals(a, b)
	case ArrayCode, StructCode:
		return compareLists(a.list, b.list)
	case NumericCode:
		if a.typ.IsPGNumeric() {
			return comparePGNumeric(a, b)
		}
		return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.lo, b.lo))
	default:
		// BOOL, INT64, ENUM, DATE use n alone; TIMESTAMP and NUMERIC have their
		// lower half, never negative, in lo.
		return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.lo, b.lo))
	}
}

func compareFloats(a, b float64) int {
	an, bn := math.IsNaN(a), math.IsNaN(b)
	if an || bn {
		return cmp.Compare(boolInt(!an), boolInt(!bn))
	}
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func compareLists(a, b []Value) int {
	for i := range min(len(a), len(b)) {
		if c := Compare(a[i], b[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
