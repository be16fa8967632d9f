package cmd

import (
	"math"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

func TestSize(t *testing.T) {
	tests := []struct {
		text string
		want int64
		fail string
	}{
		{text: "1048576", want: 1 << 20},
		{text: "1MiB", want: 1 << 20},
		{text: "12mb", want: 12_000_000},
		{text: "12 MiB", want: 12 << 20},
		{text: "1.5gib", want: 3 << 29},
		{text: "2k", want: 2000},
		{text: "1", want: 1},
		{text: "0", fail: "out of bounds: 1 to 1TiB"},
		{text: "2TiB", fail: "out of bounds: 1 to 1TiB"},
		{text: "20EiB", fail: "not a size such as 1MiB, 12MB or 1048576"},
		{text: "-1", fail: "not a size such as 1MiB, 12MB or 1048576"},
		{text: "MiB", fail: "not a size such as 1MiB, 12MB or 1048576"},
		{text: "", fail: "not a size such as 1MiB, 12MB or 1048576"},
	}
	for _, tt := range tests {
		var got int64
		checkSet(t, &sizeValue{target: &got, min: 1, max: 1 << 40}, tt.text, tt.fail, func() bool { return got == tt.want })
	}
}

func TestDuration(t *testing.T) {
	tests := []struct {
		text string
		want time.Duration
		fail string
	}{
		{text: "500ms", want: 500 * time.Millisecond},
		{text: "1h30m", want: 90 * time.Minute},
		{text: "7d", want: 7 * 24 * time.Hour},
		{text: "1d12h", want: 36 * time.Hour},
		{text: "0s", fail: "out of bounds: 1ms to 7d"},
		{text: "8d", fail: "out of bounds: 1ms to 7d"},
		{text: "1d-1h", fail: "not a duration such as 500ms, 10s, 1h30m or 7d"},
		{text: "999999d", fail: "not a duration such as 500ms, 10s, 1h30m or 7d"},
		{text: "10", fail: "not a duration such as 500ms, 10s, 1h30m or 7d"},
		{text: "", fail: "not a duration such as 500ms, 10s, 1h30m or 7d"},
	}
	for _, tt := range tests {
		var got time.Duration
		checkSet(t, &durationValue{target: &got, min: time.Millisecond, max: 7 * 24 * time.Hour}, tt.text, tt.fail, func() bool { return got == tt.want })
	}
}

func TestTimestamp(t *testing.T) {
	const malformed = "not an RFC 3339 timestamp such as 2026-01-31T12:00:00.000000001Z"
	tests := []struct {
		text, want, fail string
	}{
		{text: "2026-01-31T12:00:00.000000001Z", want: "2026-01-31T12:00:00.000000001Z"},
		{text: "2026-01-31T12:00:00+02:00", want: "2026-01-31T10:00:00Z"},
		{text: "1969-12-31T23:59:59Z", fail: malformed},
		{text: "2026-02-30T00:00:00Z", fail: malformed},
		{text: "now", fail: malformed},
	}
	for _, tt := range tests {
		var got time.Time
		v := &timestampValue{target: &got}
		checkSet(t, v, tt.text, tt.fail, func() bool { return v.String() == tt.want })
	}
}

func TestChoice(t *testing.T) {
	var got priority
	v := &choiceValue[priority]{target: &got, choices: []priority{"LOW", "HIGH"}, upper: true}
	checkSet(t, v, " high ", "", func() bool { return got == "HIGH" })
	checkSet(t, v, "medium", "not one of LOW, HIGH", nil)
}

func checkSet(t *testing.T, v pflag.Value, text, fail string, ok func() bool) {
	t.Helper()
	err := v.Set(text)
	switch {
	case fail != "" && (err == nil || err.Error() != fail):
		t.Errorf("Set(%q): error %v, want %q", text, err, fail)
	case fail == "" && (err != nil || !ok()):
		t.Errorf("Set(%q) = %s, error %v", text, v, err)
	}
}

// What String writes, for a default in the help, Set reads back.
func FuzzSize(f *testing.F) {
	for _, s := range []string{"1MiB", "12mb", "1048576", "1.5 g", "9223372036854775807"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var n, back int64
		if (&sizeValue{target: &n, min: 1, max: math.MaxInt64}).Set(text) != nil {
			return
		}
		shown := (&sizeValue{target: &n}).String()
		if err := (&sizeValue{target: &back, max: math.MaxInt64}).Set(shown); err != nil || back != n {
			t.Errorf("%q -> %d -> %q -> %d, %v", text, n, shown, back, err)
		}
	})
}

func FuzzDuration(f *testing.F) {
	for _, s := range []string{"500ms", "7d", "1d12h", "-1s", "99999d2562047h"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := parseDuration(text)
		if err != nil || d < 0 {
			return
		}
		if back, err := parseDuration(formatDuration(d)); err != nil || back != d {
			t.Errorf("%q -> %v -> %q -> %v, %v", text, d, formatDuration(d), back, err)
		}
	})
}
