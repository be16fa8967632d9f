package store

import (
	"spanbulk/internal/emulator/catalog"
)

// counterKey names the counter of an identity column. start is the START
// COUNTER WITH as the schema holds it: RESTART makes a new one, and so a new
// counter.
type counterKey struct {
	table, slot int
	start       *int64
}

// identities are the counters of a table's identity columns by slot. They go on
// through changes of the schema.
func (s *Store) identities(t *catalog.Table) []*catalog.Counter {
	out := make([]*catalog.Counter, t.Slots)
	for _, c := range t.Columns {
		if c.Identity == nil {
			continue
		}
		key := counterKey{t.ID, c.Slot, c.Identity.StartWithCounter}
		if s.counters[key] == nil {
			s.counters[key] = catalog.CountFrom(key.start)
		}
		out[c.Slot] = new(catalog.NewCounter(s.counters[key], c.Identity.SkipRangeMin, c.Identity.SkipRangeMax))
	}
	return out
}
