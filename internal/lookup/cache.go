package lookup

import (
	"strings"
	"time"

	"github.com/jellydator/ttlcache/v3"
)

// cache keeps rows by their keys. It may be used by several goroutines.
type cache struct {
	CacheOptions
	rows *ttlcache.Cache[string, cachedRow]
}

// cachedRow is a row as batches hold it; nil stands for a key without one.
type cachedRow struct {
	row  []byte
	read time.Time
}

func newCache(o CacheOptions) *cache {
	options := []ttlcache.Option[string, cachedRow]{ttlcache.WithCapacity[string, cachedRow](uint64(o.MaxRows))}
	switch {
	case o.ExpireAfterAccess > 0:
		options = append(options, ttlcache.WithTTL[string, cachedRow](o.ExpireAfterAccess))
	case o.ExpireAfterWrite > 0:
		options = append(options, ttlcache.WithTTL[string, cachedRow](o.ExpireAfterWrite), ttlcache.WithDisableTouchOnHit[string, cachedRow]())
	}
	return &cache{o, ttlcache.New(options...)}
}

// get returns what is known of a key. A row must not be changed.
func (c *cache) get(key string) (row []byte, known bool) {
	item := c.rows.Get(key)
	if item == nil {
		return nil, false
	}
	// The library has one time to live for an item; where both bounds are set,
	// that is the one which moves with every use.
	v := item.Value()
	if c.ExpireAfterWrite > 0 && time.Since(v.read) >= c.ExpireAfterWrite {
		return nil, false
	}
	return v.row, true
}

// put keeps a copy of a row that was read at that time, or that there was none.
func (c *cache) put(key string, row []byte, read time.Time) {
	if row == nil && !c.Missing {
		return
	}
	if row != nil {
		row = append(make([]byte, 0, len(row)), row...)
	}
	c.rows.Set(strings.Clone(key), cachedRow{row, read}, ttlcache.DefaultTTL)
}
