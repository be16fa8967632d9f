package store

import (
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"spanbulk/internal/emulator/relation"
	"spanbulk/internal/emulator/value"
)

// Footprint is what a read-write transaction has read and when it began to.
// Its commit is ABORTED if any of that was written since.
type Footprint struct {
	// Since is the timestamp of the transaction's snapshot.
	Since time.Time
	Reads []relation.Scan
}

// Committed is the outcome of a commit.
type Committed struct {
	Timestamp time.Time
	// Mutations is the count that commit statistics and limits go by.
	Mutations int64
}

// Origin is what a request says about the transaction it commits.
type Origin struct {
	// Tag is the transaction tag.
	Tag string
	// ExcludeFromChangeStreams keeps the transaction out of change streams that
	// allow it.
	ExcludeFromChangeStreams bool
}

// Commit is CommitFrom without an origin.
func (s *Store) Commit(mutations []Mutation, footprint *Footprint) (Committed, error) {
	return s.CommitFrom(Origin{}, mutations, footprint)
}

// CommitFrom applies mutations in order, all or none, unless something in
// footprint, which may be nil, was written meanwhile.
func (s *Store) CommitFrom(origin Origin, mutations []Mutation, footprint *Footprint) (Committed, error) {
	s.mu.Lock()
	plans := s.plans
	s.mu.Unlock()
	b, err := s.prepare(plans, mutations, s.now().UnixMicro(), "")
	if err != nil {
		return Committed{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.plans != plans {
		// The schema changed in between; what was prepared is of no use.
		if b, err = s.prepare(s.plans, mutations, s.now().UnixMicro(), ""); err != nil {
			return Committed{}, err
		}
	}
	if err := s.checkFootprint(footprint); err != nil {
		return Committed{}, err
	}
	return s.commit(origin, b)
}

// checkFootprint is called with the lock held.
func (s *Store) checkFootprint(f *Footprint) error {
	if f == nil {
		return nil
	}
	since := f.Since.UnixMicro()
	for _, r := range f.Reads {
		id := r.Table.ID
		if r.Index != nil {
			id = r.Index.ID
		}
		t, ok := s.trees[id]
		if ok && t.lastWrite <= since {
			continue
		}
		if !ok || t.writtenSince(since, r.Ranges) {
			return aborted()
		}
	}
	return nil
}

func (t *tree) writtenSince(since int64, ranges []relation.KeyRange) bool {
	if ranges == nil {
		ranges = []relation.KeyRange{{}}
	}
	for _, r := range ranges {
		found := false
		end := asKey(r.End)
		t.rows.Ascend(entry{key: asKey(r.Start)}, func(e entry) bool {
			if end != "" && e.key >= end {
				return false
			}
			found = e.head.ts > since
			return !found
		})
		if found {
			return true
		}
	}
	return false
}

func aborted() error {
	st := status.New(codes.Aborted, "Transaction was aborted. It was wounded by a concurrent transaction that wrote data it had read.")
	if d, err := st.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(time.Millisecond)}); err == nil {
		st = d
	}
	return st.Err()
}

// commit applies a prepared batch. It is called with the lock held.
func (s *Store) commit(origin Origin, b *batch) (Committed, error) {
	tx := &transaction{
		store: s, batch: b, ts: s.commitTimestamp(), origin: origin, journal: newJournal(b.plans),
		written: make(map[*plan]map[string]bool), deleted: make(map[*plan][]relation.KeyRange),
	}
	if err := tx.run(); err != nil {
		tx.undo()
		return Committed{}, err
	}
	s.last = tx.ts
	tx.publish()
	s.discard(tx)
	return Committed{Timestamp: time.UnixMicro(tx.ts).UTC(), Mutations: tx.mutations}, nil
}

// transaction is a commit under way, with the store's lock held.
type transaction struct {
	store   *Store
	batch   *batch
	ts      int64
	origin  Origin
	journal *journal
	log     []change
	// uniques are index entries added, to be checked for company at the end.
	uniques   []uniqueEntry
	mutations int64
	// written and deleted are, for tables with foreign keys ON DELETE CASCADE
	// alone, the keys that mutations wrote and the key ranges they deleted.
	written map[*plan]map[string]bool
	deleted map[*plan][]relation.KeyRange
}

// change remembers what stood under a key before the transaction. plan is nil
// for an index entry.
type change struct {
	plan *plan
	tree *tree
	key  string
	old  *version
}

type uniqueEntry struct {
	plan   *plan
	index  *indexPlan
	key    string
	prefix int
}

func (tx *transaction) run() error {
	for i := range tx.batch.steps {
		if err := tx.step(&tx.batch.steps[i]); err != nil {
			return err
		}
	}
	if tx.mutations > maxMutations {
		return tooManyMutations()
	}
	for p, ranges := range tx.deleted {
		tx.deleted[p] = merge(ranges)
	}
	return tx.finish()
}

func tooManyMutations() error {
	st := status.Newf(codes.InvalidArgument, "The transaction contains too many mutations. Insert and update operations count with the multiplicity of the number of columns they affect. "+
		"Please reduce the number of writes, or use fewer indexes. (Maximum number: %d)", maxMutations)
	help := &errdetails.Help{Links: []*errdetails.Help_Link{{
		Description: "Cloud Spanner limits documentation.",
		Url:         "https://cloud.google.com/spanner/docs/limits",
	}}}
	if d, err := st.WithDetails(help); err == nil {
		st = d
	}
	return st.Err()
}

// undo takes back every version the transaction wrote.
func (tx *transaction) undo() {
	for i := len(tx.log) - 1; i >= 0; i-- {
		c := tx.log[i]
		if c.old == nil {
			c.tree.rows.Delete(entry{key: c.key})
			continue
		}
		c.tree.rows.Set(entry{c.key, c.old})
	}
}

// put writes a row, or with nil a tombstone, under a key of a table or index.
// A second write of the transaction to a key replaces the first.
func (tx *transaction) put(p *plan, t *tree, key string, row value.Row) {
	v := newVersion(tx.ts, row)
	old, existed := t.rows.SetHint(entry{key, v}, &t.hint)
	t.lastWrite = tx.ts
	if existed && old.head.ts == tx.ts {
		v.prev = old.head.prev
		return
	}
	if existed {
		v.prev = old.head
	}
	tx.log = append(tx.log, change{p, t, key, old.head})
}

// wrote tells whether the transaction wrote the newest version.
func (tx *transaction) wrote(v *version) bool { return v != nil && v.ts == tx.ts }
