package lookup

import (
	"testing"
	"time"
)

// Of two reads that overlap the row with the later timestamp stays.
func TestCacheKeepsTheNewer(t *testing.T) {
	early := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	late := early.Add(time.Nanosecond)
	for name, c := range map[string]struct {
		missing bool
		puts    []cachedRow
		want    string // "" is a missing row
		known   bool
	}{
		"newer last":                 {false, []cachedRow{{row: []byte("old"), at: early}, {row: []byte("new"), at: late}}, "new", true},
		"newer first":                {false, []cachedRow{{row: []byte("new"), at: late}, {row: []byte("old"), at: early}}, "new", true},
		"at the same time":           {false, []cachedRow{{row: []byte("row"), at: late}, {row: []byte("row"), at: late}}, "row", true},
		"deleted, kept":              {true, []cachedRow{{at: late}, {row: []byte("old"), at: early}}, "", true},
		"deleted, not kept":          {false, []cachedRow{{row: []byte("old"), at: early}, {at: late}}, "", false},
		"inserted":                   {true, []cachedRow{{row: []byte("new"), at: late}, {at: early}}, "new", true},
		"inserted, deleted not kept": {false, []cachedRow{{row: []byte("new"), at: late}, {at: early}}, "new", true},
		"no timestamps":              {false, []cachedRow{{row: []byte("a")}, {row: []byte("b")}}, "b", true},
	} {
		t.Run(name, func(t *testing.T) {
			cache := newCache(CacheOptions{MaxRows: 3, Missing: c.missing})
			for _, r := range c.puts {
				cache.put("k", r)
			}
			if row, known := cache.get("k"); known != c.known || string(row) != c.want || known && (row == nil) != (c.want == "") {
				t.Errorf("got %q, %v, want %q, %v", row, known, c.want, c.known)
			}
		})
	}
}
