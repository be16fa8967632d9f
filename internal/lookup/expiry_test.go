package lookup

import (
	"testing"
	"testing/synctest"
	"time"
)

// The clock that the cache looks at is the process's, so this test is within the
// package, in a bubble with a clock of its own.
func TestCacheExpiry(t *testing.T) {
	const minute = time.Minute
	for name, c := range map[string]struct {
		options CacheOptions
		use     []time.Duration // pauses before uses that find the row
		gone    time.Duration   // and before the one that does not; 0: never
	}{
		"never":        {CacheOptions{}, []time.Duration{1000 * time.Hour, 1000 * time.Hour}, 0},
		"after write":  {CacheOptions{ExpireAfterWrite: 3 * minute}, []time.Duration{minute, minute}, minute + 1},
		"after access": {CacheOptions{ExpireAfterAccess: 3 * minute}, []time.Duration{2 * minute, 2 * minute, 2 * minute}, 3*minute + 1},
		"both, write":  {CacheOptions{ExpireAfterAccess: 3 * minute, ExpireAfterWrite: 5 * minute}, []time.Duration{2 * minute, 2 * minute}, 2 * minute},
		"both, access": {CacheOptions{ExpireAfterAccess: minute, ExpireAfterWrite: 5 * minute}, []time.Duration{minute / 2}, 2 * minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.options.MaxRows = 3
				cache := newCache(c.options)
				cache.put("k", cachedRow{row: []byte("row"), read: time.Now()})
				for i, pause := range c.use {
					time.Sleep(pause)
					if row, known := cache.get("k"); !known || string(row) != "row" {
						t.Errorf("use %d: the row is gone", i+1)
					}
				}
				if c.gone == 0 {
					return
				}
				time.Sleep(c.gone)
				if _, known := cache.get("k"); known {
					t.Error("the row is still there")
				}
				cache.put("k", cachedRow{row: []byte("new"), read: time.Now()})
				if row, known := cache.get("k"); !known || string(row) != "new" {
					t.Error("a row that is read again is not kept")
				}
			})
		})
	}
}
