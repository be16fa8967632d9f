package store

// garbage is a key that has a version which readers will stop needing.
type garbage struct {
	ts   int64
	tree *tree
	key  string
}

// discard notes what a committed transaction made superfluous, and drops some
// of what earlier ones did: versions that no readable timestamp sees.
func (s *Store) discard(tx *transaction) {
	for _, c := range tx.log {
		if c.old != nil || c.tree.live(c.key) == nil {
			s.garbage = append(s.garbage, garbage{tx.ts, c.tree, c.key})
		}
	}
	horizon := s.horizon()
	n := 0
	for limit := 2*len(tx.log) + 16; n < len(s.garbage) && n < limit && s.garbage[n].ts <= horizon; n++ {
		s.garbage[n].tree.prune(s.garbage[n].key, horizon)
	}
	if n > 0 {
		clear(s.garbage[:n])
		s.garbage = s.garbage[n:]
		s.dropSchemas(horizon)
	}
}

// prune cuts a chain after the newest version that the horizon sees. Readers
// may hold the old chain, so it is copied, not changed.
func (t *tree) prune(key string, horizon int64) {
	head := t.head(key)
	if head == nil {
		return
	}
	if head.row() == nil && head.ts <= horizon {
		t.rows.Delete(entry{key: key})
		return
	}
	base := head
	for base != nil && base.ts > horizon {
		base = base.prev
	}
	if base == nil || base.prev == nil {
		return
	}
	t.rows.Set(entry{key, head.copyUntil(base)})
}

// copyUntil copies the chain from v to base and ends it there.
func (v *version) copyUntil(base *version) *version {
	c := *v
	if v == base {
		c.prev = nil
		return &c
	}
	c.prev = v.prev.copyUntil(base)
	return &c
}

// dropSchemas forgets schemas, and trees of dropped tables and indexes, that
// no readable timestamp sees.
func (s *Store) dropSchemas(horizon int64) {
	for len(s.versions) > 1 && s.versions[1].from <= horizon {
		s.versions = s.versions[1:]
	}
	for id, t := range s.trees {
		if t.dropped != 0 && t.dropped <= horizon {
			delete(s.trees, id)
		}
	}
}
