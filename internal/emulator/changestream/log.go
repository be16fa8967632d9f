package changestream

import (
	"encoding/binary"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/value"
)

// Timeline is the database's order of commits.
type Timeline interface {
	// Now is the time on the database's clock.
	Now() time.Time
	// StrongTimestamp is a timestamp that every later commit is after, and up to
	// which every commit has been recorded.
	StrongTimestamp() time.Time
	// Exclusively calls f with a commit timestamp of its own. Nothing else
	// commits meanwhile.
	Exclusively(f func(ts time.Time) error) error
}

// Options configure a Log.
type Options struct {
	// PostgreSQL is the dialect of the database.
	PostgreSQL bool
	// Partitions is how many partitions a new stream has; 0 stands for
	// DefaultPartitions.
	Partitions int
}

// DefaultPartitions is how many partitions a new stream has by default.
const DefaultPartitions = 2

// Log holds the change streams of one database.
type Log struct {
	timeline Timeline

	mu      sync.Mutex
	opts    Options
	schema  *catalog.Schema
	streams map[int]*Stream // by catalog.ChangeStream.ID
	// transaction is the number of the last transaction recorded. Numbers begin
	// anywhere, so that they are unique among databases and servers.
	transaction uint64
}

// NewLog makes a Log without streams.
func NewLog(timeline Timeline) *Log {
	return &Log{
		timeline:    timeline,
		opts:        Options{Partitions: DefaultPartitions},
		schema:      catalog.Empty(),
		streams:     make(map[int]*Stream),
		transaction: rand.Uint64N(1 << 62),
	}
}

// Configure sets the options of streams that are created from now on.
func (l *Log) Configure(opts Options) {
	if opts.Partitions == 0 {
		opts.Partitions = DefaultPartitions
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.opts = opts
}

// Cuts gives up to n-1 keys, in order, that cut the rows of a table into parts
// of about the same size.
type Cuts func(t *catalog.Table, n int) []string

// SetSchema takes over the streams of a schema that holds from ts on. It is
// called while nothing commits. cuts may be nil.
func (l *Log) SetSchema(schema *catalog.Schema, ts time.Time, cuts Cuts) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.schema = schema
	kept := make(map[int]*Stream, len(schema.ChangeStreams))
	for _, def := range schema.ChangeStreams {
		s := l.streams[def.ID]
		if s == nil {
			s = newStream(l, def, ts.UnixMicro(), cuts)
		}
		s.setDefinition(def)
		kept[def.ID] = s
	}
	for id, s := range l.streams {
		if kept[id] == nil {
			s.drop()
		}
	}
	l.streams = kept
}

// Close drops every stream, which ends its queries.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.streams {
		s.drop()
	}
	l.streams = make(map[int]*Stream)
	l.schema = catalog.Empty()
}

// ModType is what happened to a row.
type ModType uint8

// The kinds of changes.
const (
	Insert ModType = iota
	Update
	Delete
)

// String is the name in data change records.
func (m ModType) String() string { return [...]string{"INSERT", "UPDATE", "DELETE"}[m] }

// Mod is what a transaction did to one row in the end.
type Mod struct {
	Table *catalog.Table
	// Key is the row's encoded primary key.
	Key  string
	Type ModType
	// Old is the row before the transaction, nil for Insert; New the row after
	// it, nil for Delete.
	Old, New value.Row
	// Written are the slots of the columns that an Update wrote, also where the
	// value stayed.
	Written Slots
}

// Slots is a set of slots of a table's rows.
type Slots []uint64

// Add puts a slot into the set.
func (s *Slots) Add(slot int) {
	for len(*s) <= slot/64 {
		*s = append(*s, 0)
	}
	(*s)[slot/64] |= 1 << (slot % 64)
}

// Has tells whether a slot is in the set.
func (s Slots) Has(slot int) bool {
	return slot/64 < len(s) && s[slot/64]&(1<<(slot%64)) != 0
}

// Transaction is a commit as streams see it.
type Transaction struct {
	Timestamp time.Time
	// Tag is the transaction tag of the request that committed.
	Tag string
	// Exclude keeps the transaction out of streams that allow it.
	Exclude bool
	// Mods are in order of the mutations that made them.
	Mods []Mod
}

// Record writes a transaction's records. It is called within the commit.
func (l *Log) Record(tx Transaction) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.transaction++
	id := strconv.FormatUint(l.transaction, 10)
	for _, def := range l.schema.ChangeStreams {
		l.streams[def.ID].record(&tx, id)
	}
}

// Stream finds a stream of the current schema by name.
func (l *Log) Stream(name string) (*Stream, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.streams {
		if strings.EqualFold(s.def.Name, name) {
			return s, nil
		}
	}
	return nil, notFound(name)
}

// Streams are the streams of the current schema, in order of creation.
func (l *Log) Streams() []*Stream {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]*Stream, 0, len(l.streams))
	for _, def := range l.schema.ChangeStreams {
		out = append(out, l.streams[def.ID])
	}
	return out
}

func notFound(name string) error {
	return status.Errorf(codes.NotFound, "Change Stream not found: %s", name)
}

// routingKey places a row in the key space that partitions divide: a row and
// those interleaved in it lie together.
func routingKey(root int, key string) string {
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(key)), uint32(root))
	return string(append(b, key...))
}

// root is the ID of the table at the top of t's interleaving.
func root(schema *catalog.Schema, t *catalog.Table) int {
	for t.Parent != "" {
		parent, ok := schema.Table(t.Parent)
		if !ok {
			break
		}
		t = parent
	}
	return t.ID
}
