package store

import (
	"math/bits"
	"sync/atomic"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/value"
)

// counterKey names the counter of an identity column. start is the START
// COUNTER WITH as the schema holds it: RESTART makes a new one, and so a new
// counter.
type counterKey struct {
	table, slot int
	start       *int64
}

// identity makes the values of an identity column.
type identity struct {
	counter *atomic.Uint64
	// skipMin and skipMax are the values that SKIP RANGE leaves out, if skips.
	skips            bool
	skipMin, skipMax int64
}

// identities are a table's identity columns by slot. Counters go on through
// changes of the schema.
func (s *Store) identities(t *catalog.Table) []*identity {
	out := make([]*identity, t.Slots)
	for _, c := range t.Columns {
		if c.Identity == nil {
			continue
		}
		key := counterKey{t.ID, c.Slot, c.Identity.StartWithCounter}
		if s.counters[key] == nil {
			s.counters[key] = new(atomic.Uint64)
			if key.start != nil {
				s.counters[key].Store(uint64(*key.start - 1))
			}
		}
		id := &identity{counter: s.counters[key]}
		if lo, hi := c.Identity.SkipRangeMin, c.Identity.SkipRangeMax; lo != nil && hi != nil {
			id.skips, id.skipMin, id.skipMax = true, *lo, *hi
		}
		out[c.Slot] = id
	}
	return out
}

// next is a new value: a counter with its bits reversed, so that values are
// unique, positive and spread over the key space.
func (id *identity) next() value.Value {
	for {
		v := int64(bits.Reverse64(id.counter.Add(1)) >> 1)
		if !id.skips || v < id.skipMin || v > id.skipMax {
			return value.Int64(v)
		}
	}
}
