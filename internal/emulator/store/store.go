package store

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/changestream"
	"spanbulk/internal/emulator/relation"
)

// Store is the data of one database. It is safe for concurrent use.
type Store struct {
	compiler relation.Compiler
	now      func() time.Time

	mu sync.Mutex
	// last is the newest timestamp, in microseconds, that a commit had or a
	// read was given; the next commit's is greater.
	last int64
	// versions are the schemas, oldest first; the last one is current.
	versions []schemaVersion
	trees    map[int]*tree
	plans    *planSet
	garbage  []garbage
	changes  *changestream.Log

	// counters number the values of identity columns.
	counters map[counterKey]*atomic.Uint64
}

type schemaVersion struct {
	from   int64
	schema *catalog.Schema
}

// New makes an empty store. compiler may be nil as long as the schema has no
// expressions. now gives the time that timestamps are taken from.
func New(compiler relation.Compiler, now func() time.Time) *Store {
	return newStore(compiler, now, catalog.Empty())
}

// NewPostgreSQL is New for the PostgreSQL dialect; database is the database's id.
func NewPostgreSQL(compiler relation.Compiler, now func() time.Time, database string) *Store {
	s := newStore(compiler, now, catalog.EmptyPostgreSQL(database))
	s.changes.Configure(changestream.Options{PostgreSQL: true})
	return s
}

func newStore(compiler relation.Compiler, now func() time.Time, schema *catalog.Schema) *Store {
	s := &Store{compiler: compiler, now: now, trees: make(map[int]*tree), counters: make(map[counterKey]*atomic.Uint64)}
	s.changes = changestream.NewLog(s)
	s.last = now().UnixMicro()
	s.versions = []schemaVersion{{from: s.last, schema: schema}}
	s.plans = &planSet{schema: schema, tables: map[string]*plan{}}
	return s
}

// Schema is the current schema.
func (s *Store) Schema() *catalog.Schema {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current()
}

func (s *Store) current() *catalog.Schema { return s.versions[len(s.versions)-1].schema }

// EarliestVersion is the oldest time that can be read.
func (s *Store) EarliestVersion() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.UnixMicro(max(s.versions[0].from, s.horizon())).UTC()
}

// horizon is the newest timestamp that can no longer be read.
func (s *Store) horizon() int64 {
	return s.now().Add(-s.current().VersionRetention()).UnixMicro()
}

// commitTimestamp gives the timestamp of a transaction about to commit:
// microseconds, greater than every one given before.
func (s *Store) commitTimestamp() int64 { return max(s.now().UnixMicro(), s.last+1) }

// StrongTimestamp is a read timestamp that sees every commit acknowledged so
// far; later commits get greater timestamps.
func (s *Store) StrongTimestamp() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = max(s.last, s.now().UnixMicro())
	return time.UnixMicro(s.last).UTC()
}

// Snapshot is the database at a timestamp. For a timestamp in the future it
// waits until that has come. It fails with FAILED_PRECONDITION for a timestamp
// older than the version retention period.
func (s *Store) Snapshot(ctx context.Context, at time.Time) (*Snapshot, error) {
	if err := s.waitFor(ctx, at); err != nil {
		return nil, err
	}
	// Nanoseconds below the store's microsecond change nothing: no commit lies
	// between.
	ts := at.UnixMicro()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readable(ts); err != nil {
		return nil, err
	}
	s.last = max(s.last, ts)
	return &Snapshot{store: s, ts: ts, at: at, schema: s.schemaAt(ts)}, nil
}

func (s *Store) readable(ts int64) error {
	if ts <= s.horizon() {
		return status.Errorf(codes.FailedPrecondition, "Read-only transaction timestamp %s has exceeded the maximum timestamp staleness",
			time.UnixMicro(ts).UTC().Format(time.RFC3339Nano))
	}
	return nil
}

func (s *Store) schemaAt(ts int64) *catalog.Schema {
	for i := len(s.versions) - 1; i >= 0; i-- {
		if s.versions[i].from <= ts {
			return s.versions[i].schema
		}
	}
	return catalog.Empty()
}

func (s *Store) waitFor(ctx context.Context, at time.Time) error {
	for {
		d := at.Sub(s.now())
		s.mu.Lock()
		passed := at.UnixMicro() <= s.last
		s.mu.Unlock()
		if d <= 0 || passed {
			return nil
		}
		t := time.NewTimer(d)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return status.FromContextError(ctx.Err()).Err()
		}
	}
}
