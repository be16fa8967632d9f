package store

import (
	"cmp"
	"slices"
	"time"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/changestream"
	"spanbulk/internal/emulator/value"
)

// Changes are the database's change streams.
func (s *Store) Changes() *changestream.Log { return s.changes }

// Now is the time on the store's clock.
func (s *Store) Now() time.Time { return s.now() }

// Exclusively calls f with a commit timestamp of its own; nothing commits
// meanwhile.
func (s *Store) Exclusively(f func(ts time.Time) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	ts := s.commitTimestamp()
	if err := f(time.UnixMicro(ts).UTC()); err != nil {
		return err
	}
	s.last = ts
	return nil
}

// cuts gives keys that divide a table's rows evenly. It is called with the lock
// held.
func (s *Store) cuts(t *catalog.Table, parts int) []string {
	tr, ok := s.trees[t.ID]
	if !ok {
		return nil
	}
	var out []string
	for i := 1; i < parts; i++ {
		at := tr.rows.Len() * i / parts
		if e, ok := tr.rows.GetAt(at); ok && at > 0 {
			out = append(out, e.key)
		}
	}
	return slices.Compact(out)
}

// journal follows what a transaction does to rows that change streams watch, to
// tell in the end what came of it. A nil journal follows nothing.
type journal struct {
	byRow   map[rowID]*effect
	effects []*effect
	// clock numbers the steps.
	clock int
}

type rowID struct {
	plan *plan
	key  string
}

// effect is what the transaction did to one row so far. The numbers are steps,
// 0 for none.
type effect struct {
	rowID
	// old is the row before the transaction, nil if there was none.
	old value.Row
	// deleted is when the row that was there before went; inserted when the one
	// that is there now came; updated when the former was first updated.
	deleted, inserted, updated int
	written                    changestream.Slots
}

func newJournal(plans *planSet) *journal {
	if !plans.watched {
		return nil
	}
	return &journal{byRow: make(map[rowID]*effect)}
}

// follows tells whether a table's rows are of interest.
func (j *journal) follows(p *plan) bool { return j != nil && p.watched }

func (j *journal) row(p *plan, key string, old value.Row) *effect {
	j.clock++
	id := rowID{p, key}
	e := j.byRow[id]
	if e == nil {
		e = &effect{rowID: id, old: old}
		j.byRow[id] = e
		j.effects = append(j.effects, e)
	}
	return e
}

func (j *journal) insert(p *plan, key string) {
	if j.follows(p) {
		j.row(p, key, nil).inserted = j.clock
	}
}

// update notes that a row was updated; old is the row before the step.
func (j *journal) update(p *plan, key string, old value.Row, columns []*catalog.Column) {
	if !j.follows(p) {
		return
	}
	e := j.row(p, key, old)
	if e.inserted != 0 {
		return // still an insert, with other values
	}
	if e.updated == 0 {
		e.updated = j.clock
	}
	for _, c := range columns {
		e.written.Add(c.Slot)
	}
}

// delete notes that a row is gone; old is the row before the step.
func (j *journal) delete(p *plan, key string, old value.Row) {
	if !j.follows(p) {
		return
	}
	e := j.row(p, key, old)
	if e.inserted != 0 {
		e.inserted = 0 // as if it had never been
		return
	}
	e.deleted = j.clock
}

// mods are the final effects in order of the steps that decided them. A row that
// was there, went and came again makes two.
func (j *journal) mods() []changestream.Mod {
	type step struct {
		at  int
		mod changestream.Mod
	}
	steps := make([]step, 0, len(j.effects))
	for _, e := range j.effects {
		mod := changestream.Mod{Table: e.plan.table, Key: e.key, Old: e.old}
		if e.deleted != 0 {
			mod.Type = changestream.Delete
			steps = append(steps, step{e.deleted, mod})
		}
		switch {
		case e.inserted != 0:
			mod.Type, mod.Old, mod.New = changestream.Insert, nil, e.plan.tree.live(e.key)
			steps = append(steps, step{e.inserted, mod})
		case e.deleted == 0 && e.updated != 0:
			mod.Type, mod.New, mod.Written = changestream.Update, e.plan.tree.live(e.key), e.written
			steps = append(steps, step{e.updated, mod})
		}
	}
	slices.SortFunc(steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	out := make([]changestream.Mod, len(steps))
	for i, s := range steps {
		out[i] = s.mod
	}
	return out
}

// publish hands a committed transaction to the change streams.
func (tx *transaction) publish() {
	if tx.journal == nil {
		return
	}
	mods := tx.journal.mods()
	if len(mods) == 0 {
		return
	}
	tx.store.changes.Record(changestream.Transaction{
		Timestamp: time.UnixMicro(tx.ts).UTC(),
		Tag:       tx.origin.Tag,
		Exclude:   tx.origin.ExcludeFromChangeStreams,
		Mods:      mods,
	})
}
