package lookup

import (
	"bytes"
	"strings"
	"sync"
	"time"

	"github.com/jellydator/ttlcache/v3"
)

// cache keeps rows by their keys. It may be used by several goroutines.
type cache struct {
	CacheOptions
	rows *ttlcache.Cache[string, cachedRow]
	mu   sync.Mutex // of put
}

// cachedRow is a row as batches hold it; nil stands for a key without one.
type cachedRow struct {
	row  []byte
	read time.Time // by the clock of this process
	at   time.Time // the timestamp of the read
}

func newCache(o CacheOptions) *cache {
	options := []ttlcache.Option[string, cachedRow]{ttlcache.WithCapacity[string, cachedRow](uint64(o.MaxRows))}
	switch {
	case o.ExpireAfterAccess > 0:
		options = append(options, ttlcache.WithTTL[string, cachedRow](o.ExpireAfterAccess))
	case o.ExpireAfterWrite > 0:
		options = append(options, ttlcache.WithTTL[string, cachedRow](o.ExpireAfterWrite), ttlcache.WithDisableTouchOnHit[string, cachedRow]())
	}
	return &cache{CacheOptions: o, rows: ttlcache.New(options...)}
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

// put keeps a copy of a row that was read, or that there was none. Of reads that
// overlap the one with the later timestamp stays, whichever comes first.
func (c *cache) put(key string, r cachedRow) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.rows.Get(key, ttlcache.WithDisableTouchOnHit[string, cachedRow]())
	switch {
	case old != nil && old.Value().at.After(r.at):
	case r.row == nil && !c.Missing:
		c.rows.Delete(key)
	default:
		r.row = bytes.Clone(r.row)
		c.rows.Set(strings.Clone(key), r, ttlcache.DefaultTTL)
	}
}
