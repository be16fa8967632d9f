package cdc_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"spanbulk/internal/cdc"
	"spanbulk/internal/wire"
)

// world is a change stream with a history: keys that transactions change, and
// partitions that split, merge and move over time, each owning a range of keys
// while it lives. It answers partition queries as Spanner does, breaks included.
type world struct {
	stream *cdc.Stream
	form   form
	begin  cdc.Timestamp // of the first partitions
	now    cdc.Timestamp

	partitions map[string]*worldPartition
	order      []*worldPartition // by start
	changes    []*change         // in commit order

	// fault returns the error that ends a query after so many messages; nil
	// lets it run.
	fault func(q cdc.Query) (after int, err error)
	// chunk is the number of records of a message; 1 by default.
	chunk int
	// hang keeps a query without an end open when everything is sent.
	hang bool

	mu      sync.Mutex
	queries []cdc.Query
}

// form is how the server writes records.
type form int

const (
	googleSQL form = iota
	postgreSQL
	mutable
)

func (f form) String() string { return [...]string{"GoogleSQL", "PostgreSQL", "MutableKeyRange"}[f] }

// worldPartition owns the keys from lo to below hi from start to below end.
type worldPartition struct {
	token      string
	parents    []string
	start, end cdc.Timestamp // end is 0 while it lives
	lo, hi     int           // at its start; a mutable one may lose and win keys
	records    []*record     // in order
}

// record is one record as a partition has it.
type record struct {
	at       cdc.Timestamp
	sequence string
	change   *change // nil for records about partitions
	children []*worldPartition
	starts   []*worldPartition // mutable
	isEnd    bool              // mutable
	from, to []string          // mutable
	beat     bool
}

// change is a data change record of one row.
type change struct {
	at                    cdc.Timestamp
	transaction, sequence string
	partition             string
	table                 string
	key                   int
	modType               string
	value, old            *int // nil is NULL
	records, partitions   int
	tag                   string
	last                  bool
}

func (c *change) id() string { return c.transaction + "/" + c.sequence + "/" + c.partition }

const worldKeys = 64

// start of all worlds: 2026-01-01.
var epoch = cdc.TimestampOf(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))

// newWorld makes up a history of n steps.
func newWorld(r *rand.Rand, f form, n int) *world {
	w := &world{
		stream: &cdc.Stream{Database: "projects/p/instances/i/databases/d", Name: "Changes", All: true,
			Options: map[string]string{"value_capture_type": "NEW_ROW_AND_OLD_VALUES"}},
		form: f, begin: epoch, now: epoch, partitions: map[string]*worldPartition{},
	}
	if f == mutable {
		w.stream.Options["partition_mode"] = "MUTABLE_KEY_RANGE"
	}
	b := &builder{world: w, r: r, rows: map[string]*int{}, owner: make([]*worldPartition, worldKeys)}
	b.firstPartitions(1 + r.IntN(4))
	for range n {
		w.now = w.now.Add(time.Duration(1+r.IntN(5)) * time.Millisecond)
		switch {
		case r.IntN(4) > 0:
			b.transaction()
		case f == mutable:
			b.moveKeys()
		default:
			b.rearrange()
		}
	}
	w.now = w.now.Add(time.Second)
	return w
}

// builder makes up a world.
type builder struct {
	*world
	r     *rand.Rand
	rows  map[string]*int // by table and key; what the rows are now
	owner []*worldPartition
	txns  int
}

func (b *builder) add(p *worldPartition) *worldPartition {
	// Tokens begin alike, as real ones do.
	p.token = fmt.Sprintf("__8BAYEG0yuUbgABg%04x_%x", len(b.order), b.r.Uint32())
	b.partitions[p.token] = p
	b.order = append(b.order, p)
	for k := p.lo; k < p.hi; k++ {
		b.owner[k] = p
	}
	return p
}

func (b *builder) firstPartitions(n int) {
	for i := range n {
		b.add(&worldPartition{start: b.begin, lo: i * worldKeys / n, hi: (i + 1) * worldKeys / n})
	}
}

func (b *builder) live() []*worldPartition {
	var live []*worldPartition
	for _, p := range b.order {
		if p.end == 0 {
			live = append(live, p)
		}
	}
	slices.SortFunc(live, func(x, y *worldPartition) int { return cmp.Compare(x.lo, y.lo) })
	return live
}

// rearrange splits, merges or moves a partition.
func (b *builder) rearrange() {
	live := b.live()
	i := b.r.IntN(len(live))
	p := live[i]
	switch n := b.r.IntN(3); {
	case n == 0 && p.hi-p.lo > 1 && len(live) < 12:
		middle := p.lo + 1 + b.r.IntN(p.hi-p.lo-1)
		b.replace([]*worldPartition{p}, [2]int{p.lo, middle}, [2]int{middle, p.hi})
	case n == 1 && i+1 < len(live):
		old := live[i:min(i+2+b.r.IntN(2), len(live))]
		b.replace(old, [2]int{p.lo, old[len(old)-1].hi})
	default:
		b.replace([]*worldPartition{p}, [2]int{p.lo, p.hi})
	}
}

// replace ends partitions and has their keys go on in others.
func (b *builder) replace(old []*worldPartition, ranges ...[2]int) {
	var parents []string
	for _, p := range old {
		p.end = b.now
		parents = append(parents, p.token)
	}
	var children []*worldPartition
	for _, keys := range ranges {
		children = append(children, b.add(&worldPartition{parents: parents, start: b.now, lo: keys[0], hi: keys[1]}))
	}
	// Each parent tells of all children, in one record or in one for each.
	for _, p := range old {
		if b.r.IntN(2) == 0 {
			p.records = append(p.records, &record{at: b.now, sequence: "00000000", children: children})
			continue
		}
		for i, c := range children {
			p.records = append(p.records, &record{at: b.now, sequence: fmt.Sprintf("%08d", i), children: []*worldPartition{c}})
		}
	}
}

// moveKeys moves keys to another partition, a new one perhaps, and may end the
// one that they leave.
func (b *builder) moveKeys() {
	live := b.live()
	from := live[b.r.IntN(len(live))]
	to := live[b.r.IntN(len(live))]
	sequence := 0
	next := func() string { sequence++; return fmt.Sprintf("%016x-%08d", b.now, sequence) }
	if from == to || b.r.IntN(3) == 0 {
		to = b.add(&worldPartition{start: b.now})
		teller := live[b.r.IntN(len(live))] // any partition may tell of a new one
		teller.records = append(teller.records, &record{at: b.now, sequence: next(), starts: []*worldPartition{to}})
	}
	end := b.r.IntN(3) == 0 && len(live) > 1
	for k := range b.owner {
		if b.owner[k] == from && (end || b.r.IntN(2) == 0) {
			b.owner[k] = to
		}
	}
	from.records = append(from.records, &record{at: b.now, sequence: next(), to: []string{to.token}})
	to.records = append(to.records, &record{at: b.now, sequence: next(), from: []string{from.token}})
	if end {
		from.end = b.now
		from.records = append(from.records, &record{at: b.now, sequence: next(), isEnd: true})
	}
}

// transaction changes rows, perhaps in several partitions and tables.
func (b *builder) transaction() {
	b.txns++
	id := fmt.Sprintf("t%d", b.txns)
	seen := map[string]bool{}
	var all []*change
	parts := map[string]bool{}
	for range 1 + b.r.IntN(4) {
		c := b.change(id)
		row := fmt.Sprint(c.table, c.key)
		if seen[row] {
			continue
		}
		seen[row] = true
		c.sequence = fmt.Sprintf("%08d", len(all))
		parts[c.partition] = true
		all = append(all, c)
	}
	for i, c := range all {
		c.records, c.partitions = len(all), len(parts)
		c.last = !slices.ContainsFunc(all[i+1:], func(later *change) bool { return later.partition == c.partition })
		b.changes = append(b.changes, c)
		p := b.partitions[c.partition]
		p.records = append(p.records, &record{at: b.now, sequence: c.sequence, change: c})
		if b.r.IntN(6) == 0 {
			continue
		}
	}
	if b.r.IntN(3) == 0 {
		live := b.live()
		p := live[b.r.IntN(len(live))]
		p.records = append(p.records, &record{at: b.now, beat: true})
	}
}

// change changes one row in some way that is possible.
func (b *builder) change(transaction string) *change {
	key := b.r.IntN(worldKeys)
	table := [...]string{"Orders", "Lines"}[b.r.IntN(2)]
	name := fmt.Sprint(table, key)
	c := &change{at: b.now, transaction: transaction, partition: b.owner[key].token, table: table, key: key, tag: `a "tag"`}
	value := b.r.IntN(1000)
	old, exists := b.rows[name]
	switch {
	case !exists:
		c.modType, c.value = "INSERT", &value
	case b.r.IntN(3) == 0:
		c.modType, c.old = "DELETE", old
		delete(b.rows, name)
		return c
	default:
		c.modType, c.value, c.old = "UPDATE", &value, old
	}
	if b.r.IntN(5) == 0 {
		c.value = nil
	}
	b.rows[name] = c.value
	return c
}

// Stream implements cdc.Source.
func (w *world) Stream() *cdc.Stream { return w.stream }

// Now implements cdc.Source.
func (w *world) Now(context.Context) (time.Time, error) { return w.now.Time(), nil }

// Query implements cdc.Source.
func (w *world) Query(ctx context.Context, q cdc.Query) (wire.Receiver, error) {
	w.mu.Lock()
	w.queries = append(w.queries, q)
	after, fault := -1, error(nil)
	if w.fault != nil {
		after, fault = w.fault(q)
	}
	w.mu.Unlock()
	records, ended, err := w.answer(q)
	if err != nil {
		return nil, err
	}
	s := &worldStream{ctx: ctx, messages: w.form.messages(records, max(w.chunk, 1)), end: io.EOF}
	if w.hang && q.End == 0 && !ended {
		s.end = nil
	}
	if fault != nil {
		if after == 0 {
			return nil, fault
		}
		s.messages, s.end = s.messages[:min(after, len(s.messages))], fault
	}
	return s, nil
}

// answer returns the records of a query, and whether the partition ends in it.
func (w *world) answer(q cdc.Query) (records []*record, ended bool, err error) {
	if q.Start < w.begin {
		return nil, false, status.Errorf(codes.OutOfRange, "Specified start_timestamp is too far in the past. Please specify a start_timestamp within the earliest read timestamp: %v. Received start_timestamp: %v.", w.begin, q.Start)
	}
	if w.form == mutable && q.End == 0 {
		return nil, false, status.Error(codes.InvalidArgument, "end_timestamp must not be null.")
	}
	if q.Token == cdc.RootToken {
		return w.initial(q.Start), true, nil
	}
	p := w.partitions[q.Token]
	switch {
	case p == nil:
		return nil, false, status.Error(codes.InvalidArgument, "Specified partition_token is invalid.")
	case q.Start < p.start || p.end != 0 && q.Start > p.end:
		return nil, false, status.Errorf(codes.OutOfRange, "Specified start_timestamp is invalid for the partition. Please specify a start_timestamp within %v and %v.", p.start, p.end)
	}
	end := q.End
	if end == 0 {
		end = w.now
	}
	for _, rec := range p.records {
		if rec.at >= q.Start && rec.at <= end {
			records = append(records, rec)
		}
	}
	ended = p.end != 0 && p.end <= end
	if !ended && q.End != 0 {
		records = append(records, &record{at: q.End, beat: true})
	}
	return records, ended, nil
}

// initial tells the partitions that live at a time.
func (w *world) initial(at cdc.Timestamp) []*record {
	var records []*record
	for _, p := range w.order {
		if p.start > at || p.end != 0 && p.end <= at {
			continue
		}
		first := &worldPartition{token: p.token, start: at}
		rec := &record{at: at, sequence: fmt.Sprintf("%08d", len(records)), children: []*worldPartition{first}}
		if w.form == mutable {
			rec.starts, rec.children = rec.children, nil
		}
		records = append(records, rec)
	}
	return records
}

// worldStream is a running query. A nil end hangs until the call is ended.
type worldStream struct {
	ctx      context.Context
	messages [][]byte
	end      error
}

func (s *worldStream) RecvMsg(m any) error {
	if err := s.ctx.Err(); err != nil {
		return status.FromContextError(err).Err()
	}
	if len(s.messages) > 0 {
		b := s.messages[0]
		s.messages = s.messages[1:]
		return m.(*wire.Message).ParseMessage(b)
	}
	if s.end == nil {
		<-s.ctx.Done()
		return status.FromContextError(s.ctx.Err()).Err()
	}
	return s.end
}

func marshal(m proto.Message) []byte {
	b, err := proto.Marshal(m)
	if err != nil {
		panic(err)
	}
	return b
}
