package value_test

import (
	"testing"

	"spanbulk/internal/emulator/value"
)

// Intervals compare by their length, a month being 30 days.
func TestCompareIntervals(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"P1D", "PT24H", 0},
		{"P1M", "P30D", 0},
		{"P1Y", "P11M30D", 0},
		{"P9D", "P10D", -1},
		{"PT1H", "PT59M59.999999999S", 1},
		{"P-1D", "P0Y", -1},
		{"P-10000Y", "P-3600000D", 0},
		{"PT87840000H", "P3660000D", 0},
	} {
		a, ok := value.ParseInterval(c.a)
		b, also := value.ParseInterval(c.b)
		if got := value.Compare(a, b); !ok || !also || got != c.want {
			t.Errorf("%s and %s compare as %d (%v, %v), want %d", c.a, c.b, got, ok, also, c.want)
		}
	}
}
