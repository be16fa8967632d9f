package changestream

import (
	"slices"
	"sort"
	"strings"
	"time"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/value"
)

// Stream is one change stream. Its fields are guarded by Log.mu.
type Stream struct {
	log     *Log
	def     *catalog.ChangeStream
	created int64
	pruned  int64 // when records were last looked for that are too old
	dropped bool
	format  format
	byToken map[string]*partition
	// all partitions in order of creation, those among them that ended within
	// the retention.
	all []*partition
	// active partitions by key range; together they own every key.
	active  []*partition
	watches map[*catalog.Table]*watch
}

func newStream(l *Log, def *catalog.ChangeStream, ts int64, cuts Cuts) *Stream {
	s := &Stream{log: l, def: def, created: ts, format: newFormat(def, l.opts.PostgreSQL), byToken: make(map[string]*partition)}
	lo := ""
	for _, hi := range append(initialCuts(l.schema, def, l.opts.Partitions, cuts), "") {
		s.active = append(s.active, s.newPartition(lo, hi, ts, nil))
		lo = hi
	}
	return s
}

// initialCuts divides the key space for a new stream: by the rows there are,
// otherwise by tables, and within a single table in the middle of what its keys
// can be.
func initialCuts(schema *catalog.Schema, def *catalog.ChangeStream, n int, cuts Cuts) []string {
	var roots []*catalog.Table
	var out []string
	for _, t := range schema.Tables {
		if _, ok := def.Watches(t); !ok || t.Parent != "" {
			continue
		}
		roots = append(roots, t)
		if cuts != nil {
			for _, key := range cuts(t, n) {
				out = append(out, routingKey(t.ID, key))
			}
		}
	}
	sort.Strings(out)
	if len(out) == 0 {
		for _, t := range roots[min(1, len(roots)):] {
			out = append(out, routingKey(t.ID, ""))
		}
	}
	if len(out) == 0 {
		for i := range n - 1 {
			first := 0
			if len(roots) > 0 {
				first = roots[0].ID
			}
			// Keys begin with 01 unless NULL.
			out = append(out, routingKey(first, string([]byte{1, byte(256 * (i + 1) / n)})))
		}
	}
	return thin(out, n-1)
}

// thin picks n of sorted cuts, evenly.
func thin(cuts []string, n int) []string {
	if len(cuts) <= n {
		return cuts
	}
	out := make([]string, n)
	for i := range out {
		out[i] = cuts[(i+1)*len(cuts)/(n+1)]
	}
	return out
}

// setDefinition takes over an altered definition; queries under way see its
// effects.
func (s *Stream) setDefinition(def *catalog.ChangeStream) {
	s.def = def
	s.watches = make(map[*catalog.Table]*watch)
}

// drop ends the stream and its queries.
func (s *Stream) drop() {
	s.dropped = true
	for _, p := range s.all {
		p.wakeReaders()
	}
}

// owner is the partition that owns a routing key now.
func (s *Stream) owner(key string) *partition {
	i := sort.Search(len(s.active), func(i int) bool { return s.active[i].lo > key })
	return s.active[i-1]
}

// horizon is the oldest timestamp whose records are kept.
func (s *Stream) horizon(now int64) int64 {
	return max(s.created, now-s.def.Retention().Microseconds())
}

// pruneInterval is how often records are looked for that are too old. Looking
// takes the longer the more partitions there are, and they are kept for a day at
// least.
const pruneInterval = time.Minute

// prune drops records that are too old to be asked for, and partitions that
// ended before.
func (s *Stream) prune(now int64) {
	if now < s.pruned+pruneInterval.Microseconds() {
		return
	}
	s.pruned = now
	horizon := s.horizon(now)
	s.all = slices.DeleteFunc(s.all, func(p *partition) bool {
		p.records.prune(horizon)
		if p.end == 0 || p.end >= horizon {
			return false
		}
		delete(s.byToken, p.token)
		return true
	})
}

// Name is the stream's name.
func (s *Stream) Name() string {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return s.def.Name
}

// Columns are the columns of the results of the stream's read function.
func (s *Stream) Columns() []value.Field {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return s.format.columns(s.def)
}

// Partition describes one partition of a stream.
type Partition struct {
	Token string
	// Start is when the partition began; End when it ended, zero while it is
	// active.
	Start, End time.Time
	// Parents and Children are tokens.
	Parents, Children []string
}

// Partitions lists the partitions that are active or ended within the retention,
// in order of creation.
func (s *Stream) Partitions() []Partition {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return describe(s.all)
}

// Active lists the partitions that own keys now, in order of their keys.
func (s *Stream) Active() []Partition {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return describe(s.active)
}

func describe(list []*partition) []Partition {
	out := make([]Partition, len(list))
	for i, p := range list {
		out[i] = Partition{Token: p.token, Start: timeOf(p.start), Parents: p.parents, Children: p.children}
		if p.end != 0 {
			out[i].End = timeOf(p.end)
		}
	}
	return out
}

func timeOf(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

// watch is what a stream watches of one version of a table.
type watch struct {
	table *catalog.Table
	root  int
	// key and tracked are the columns that records name.
	key     *columnSet
	tracked *columnSet
	// sets are the subsets of tracked that updates wrote, by Slots.
	sets map[string]*columnSet
}

// watch finds what the stream watches of a table; nil for nothing.
func (s *Stream) watch(t *catalog.Table) *watch {
	w, known := s.watches[t]
	if known {
		return w
	}
	if _, ok := s.def.Watches(t); ok {
		w = &watch{table: t, root: root(s.log.schema, t), sets: make(map[string]*columnSet)}
		var key, tracked []*catalog.Column
		for _, c := range t.Columns {
			switch {
			case t.IsKey(c.Ordinal):
				key = append(key, c)
			case s.def.Tracks(t, c):
				tracked = append(tracked, c)
			}
		}
		w.key = newColumnSet(key)
		w.tracked = newColumnSet(tracked)
		w.tracked.types = s.format.types(w, w.tracked)
	}
	s.watches[t] = w
	return w
}

// written is the subset of the tracked columns that are in slots.
func (w *watch) written(f format, slots Slots) *columnSet {
	var id strings.Builder
	for _, c := range w.tracked.columns {
		bit := byte(0)
		if slots.Has(c.Slot) {
			bit = 1
		}
		id.WriteByte(bit)
	}
	if set, ok := w.sets[id.String()]; ok {
		return set
	}
	var cols []*catalog.Column
	for _, c := range w.tracked.columns {
		if slots.Has(c.Slot) {
			cols = append(cols, c)
		}
	}
	set := newColumnSet(cols)
	set.types = f.types(w, set)
	w.sets[id.String()] = set
	return set
}

// columnSet is a list of columns in order of their ordinals, with what records
// need of it.
type columnSet struct {
	columns []*catalog.Column
	// members are the columns in order of name.
	members []member
	// types is column_types, with the key, in the stream's format.
	types []byte
}

// member is a column as a member of a JSON object.
type member struct {
	column *catalog.Column
	// head is the quoted name and the colon.
	head string
}

func newColumnSet(columns []*catalog.Column) *columnSet {
	set := &columnSet{columns: columns}
	for _, c := range columns {
		set.members = append(set.members, member{c, string(appendJSONText(nil, c.Name)) + ":"})
	}
	sort.Slice(set.members, func(i, j int) bool { return set.members[i].column.Name < set.members[j].column.Name })
	return set
}
