package cdc

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// State is where a partition is in its life.
type State uint8

// The states of a partition.
const (
	// Created: known, but a parent has not finished.
	Created State = iota
	// Scheduled: may be read, and waits for its turn.
	Scheduled
	// Running: a query reads it.
	Running
	// Finished: read to its end, which its children follow on.
	Finished
)

// String returns the state in capitals, as the documents have it.
func (s State) String() string {
	switch s {
	case Created:
		return "CREATED"
	case Scheduled:
		return "SCHEDULED"
	case Running:
		return "RUNNING"
	default:
		return "FINISHED"
	}
}

// RootToken is the token of the partition that stands for the initial query,
// which has none and only tells the first partitions.
const RootToken = ""

// Identity tells a record from all others of its partition.
type Identity struct {
	Transaction string `json:"transaction"`
	Sequence    string `json:"sequence"`
}

// Await is what a partition that took keys over from another one waits for:
// that everything the other one has of them, up to a time, has been read.
type Await struct {
	Token string    `json:"token"`
	Until Timestamp `json:"until"`
}

// Partition is one entry of a Ledger.
type Partition struct {
	Token string
	// Parents are the partitions whose keys this one took over. It may be read
	// only when all of them have finished.
	Parents []string
	// Start is when the partition begins, End when it ended, once that is known.
	Start, End Timestamp
	// Position is where to read on, inclusively: nothing before it is still to
	// come from this partition. It is the partition's watermark as well.
	Position Timestamp
	// Boundary are the records at Position that have been taken, which reading
	// on from there would bring again.
	Boundary []Identity
	// MovedOut are the partitions that took keys over from this one at Position.
	MovedOut []string
	State    State
	// Awaits are the moves of keys that must be waited for.
	Awaits []Await

	free  bool // every parent has finished
	atEnd bool // read up to the end position; for this run it is done
	order int  // by discovery
	turn  int  // among the scheduled
}

// Child is a partition as a record of another one tells of it.
type Child struct {
	Token   string
	Parents []string
	Start   Timestamp
}

// Outcome says how the reading of a partition ended.
type Outcome uint8

// The ways in which reading a partition ends.
const (
	// Ongoing: it has not.
	Ongoing Outcome = iota
	// Ended: the partition has ended; its children are known.
	Ended
	// AtEnd: the end position is reached, and the partition may go on behind it.
	AtEnd
	// Parked: it is to be read on later, when its Awaits are met.
	Parked
)

// Advance is what the output has taken of a partition since the last time.
type Advance struct {
	// Position moves the partition's forward; it never moves back.
	Position Timestamp
	// Boundary are records at Position, in addition to those noted already if
	// Position has not moved.
	Boundary []Identity
	// MovedOut are partitions that took keys over at Position.
	MovedOut []string
	Children []Child
	Outcome  Outcome
	Awaits   []Await
}

// Ledger knows the partitions of a change stream and how far each is read. It
// decides which may be read next, and what the watermark is. It does no I/O and
// is for one goroutine.
type Ledger struct {
	partitions map[string]*Partition
	unfinished int // neither finished nor at the end
	started    int // running
	queued     int // scheduled
	awaiting   int // created, with Awaits
	discovered int
	inserted   int
	turns      int

	min      Timestamp // the watermark, unless stale
	minStale bool
}

// NewLedger returns a Ledger that begins with the initial query at start.
func NewLedger(start Timestamp) *Ledger {
	l := &Ledger{partitions: map[string]*Partition{}, min: start}
	l.insert(&Partition{Token: RootToken, Start: start, Position: start, State: Created})
	l.schedule()
	return l
}

// RestoreLedger returns a Ledger of partitions that were known before. Those
// that were running are scheduled again. It refuses what no Ledger can be.
func RestoreLedger(partitions []Partition) (*Ledger, error) {
	l := &Ledger{partitions: map[string]*Partition{}, minStale: true}
	for i := range partitions {
		p := partitions[i]
		p.atEnd, p.turn = false, 0
		switch {
		case l.partitions[p.Token] != nil:
			return nil, fmt.Errorf("partition %s is there twice", short(p.Token))
		case p.Position == 0 || p.Start == 0:
			return nil, fmt.Errorf("partition %s has no position", short(p.Token))
		case p.Position < p.Start:
			return nil, fmt.Errorf("partition %s has a position before its start", short(p.Token))
		case p.State > Finished:
			return nil, fmt.Errorf("partition %s has no known state", short(p.Token))
		}
		// Those that were to be read, or had been, need no parent any more.
		p.free = p.State == Scheduled || p.State == Running || len(p.Awaits) > 0
		if p.State != Finished {
			p.State = Created
		}
		l.insert(&p)
	}
	if l.unfinished == 0 {
		return nil, errors.New("no partition is left to read")
	}
	l.min = l.lowest()
	l.schedule()
	return l, nil
}

func (l *Ledger) insert(p *Partition) {
	p.order = l.inserted
	l.inserted++
	if p.Token != RootToken { // the initial query is no partition
		l.discovered++
	}
	l.partitions[p.Token] = p
	if p.State != Finished {
		l.unfinished++
	}
	if len(p.Awaits) > 0 {
		l.awaiting++
	}
}

// Apply notes progress of the partition token. An error means that the server
// or the caller broke a rule: the Ledger is then not to be used any more.
func (l *Ledger) Apply(token string, step Advance) error {
	p := l.partitions[token]
	if p == nil || p.State != Running {
		return fmt.Errorf("progress of partition %s, which is not being read", short(token))
	}
	for _, c := range step.Children {
		if err := l.add(p, c); err != nil {
			return err
		}
	}
	if err := l.advance(p, step); err != nil {
		return err
	}
	switch step.Outcome {
	case Ended:
		l.settle(p, Finished)
		p.End, p.Boundary, p.MovedOut, p.Awaits = p.Position, nil, nil, nil
		l.unfinished--
	case AtEnd:
		l.settle(p, Scheduled)
		p.atEnd = true
		l.unfinished--
	case Parked:
		l.settle(p, Created)
		p.Awaits = slices.Clone(step.Awaits)
		if len(p.Awaits) > 0 {
			l.awaiting++
		}
	}
	// A move of keys can be over by the mere progress of another partition.
	if len(step.Children) > 0 || step.Outcome != Ongoing || l.awaiting > 0 {
		l.schedule()
		l.forget()
	}
	return nil
}

func (l *Ledger) settle(p *Partition, s State) {
	if p.State == Running {
		l.started--
	}
	p.State = s
	l.minStale = true
}

func (l *Ledger) advance(p *Partition, step Advance) error {
	switch to := step.Position; {
	case to == 0:
		return nil
	case to < p.Position:
		return fmt.Errorf("partition %s went back from %v to %v", short(p.Token), p.Position, to)
	case to > p.Position:
		if p.Position <= l.min {
			l.minStale = true
		}
		p.Position = to
		p.Boundary, p.MovedOut = p.Boundary[:0], p.MovedOut[:0]
	}
	p.Boundary = append(p.Boundary, step.Boundary...)
	p.MovedOut = append(p.MovedOut, step.MovedOut...)
	return nil
}

// add notes a child that parent told of. Every parent of a merged partition
// tells of it, with the same words; it is one partition.
func (l *Ledger) add(parent *Partition, c Child) error {
	switch {
	case c.Token == RootToken:
		return fmt.Errorf("partition %s has a child without a token", short(parent.Token))
	case c.Start < parent.Start:
		return fmt.Errorf("partition %s has a child that starts before it", short(parent.Token))
	}
	if known := l.partitions[c.Token]; known != nil {
		if known.State == Created {
			known.Parents = union(known.Parents, c.Parents)
		}
		return nil
	}
	l.insert(&Partition{Token: c.Token, Parents: slices.Clone(c.Parents), Start: c.Start, Position: c.Start, State: Created})
	l.minStale = l.minStale || c.Start < l.min
	return nil
}

func union(a, b []string) []string {
	for _, s := range b {
		if !slices.Contains(a, s) {
			a = append(a, s)
		}
	}
	return a
}

// schedule lets those partitions wait for their turn that may be read now, in
// the order of their positions.
func (l *Ledger) schedule() {
	var ready []*Partition
	for _, p := range l.partitions {
		if p.State == Created && l.ready(p) {
			ready = append(ready, p)
		}
	}
	slices.SortFunc(ready, func(a, b *Partition) int {
		return cmp.Or(cmp.Compare(a.Position, b.Position), cmp.Compare(a.order, b.order))
	})
	for _, p := range ready {
		if len(p.Awaits) > 0 {
			l.awaiting--
		}
		p.State, p.Awaits, p.free = Scheduled, nil, true
		l.turns++
		p.turn = l.turns
		l.queued++
	}
}

// ready reports whether everything that must be read before p has been. A
// parent that is not known has not been told of yet: one that finished stays
// known as long as a child waits for another parent.
func (l *Ledger) ready(p *Partition) bool {
	for _, token := range p.Parents {
		if parent := l.partitions[token]; !p.free && (parent == nil || parent.State != Finished) {
			return false
		}
	}
	for _, a := range p.Awaits {
		if !l.handedOver(a, p.Token) {
			return false
		}
	}
	return true
}

// handedOver reports whether everything that a source of moved keys has of them
// has been read: it is past the time of the move, or has told of it. Two that
// take keys over from each other at one time must not wait for each other.
//
// A source that is not known may still be told of by a partition that is behind;
// when none is behind any more, there is nothing to wait for.
func (l *Ledger) handedOver(a Await, to string) bool {
	source := l.partitions[a.Token]
	switch {
	case source == nil:
		return l.Watermark() >= a.Until
	case source.State == Finished, source.Position > a.Until:
		return true
	case source.Position < a.Until:
		return false
	default:
		return slices.Contains(source.MovedOut, to) || source.State == Created && len(source.Awaits) > 0
	}
}

// forget drops the finished partitions that nobody can ask for any more: no
// child waits that names one, and no move of keys out of one is still to come.
func (l *Ledger) forget() {
	needed := map[string]bool{}
	for _, p := range l.partitions {
		if p.State != Created || p.free {
			continue
		}
		for _, parent := range p.Parents {
			needed[parent] = true
		}
	}
	mark := l.Watermark()
	for token, p := range l.partitions {
		if p.State == Finished && !needed[token] && (p.End < mark || l.unfinished == 0) {
			delete(l.partitions, token)
		}
	}
}

// Next starts the scheduled partition whose turn it is. It returns a copy; ok
// is false when none is waiting.
func (l *Ledger) Next() (p Partition, ok bool) {
	var first *Partition
	for _, q := range l.partitions {
		if q.State == Scheduled && !q.atEnd && (first == nil || q.turn < first.turn) {
			first = q
		}
	}
	if first == nil {
		return Partition{}, false
	}
	first.State = Running
	l.started++
	l.queued--
	p = *first
	p.Boundary, p.MovedOut = slices.Clone(first.Boundary), nil
	return p, true
}

// Watermark is the time before which everything is read: the least position of
// all partitions that are not finished, those not yet started included. It
// never moves back.
func (l *Ledger) Watermark() Timestamp {
	if l.minStale {
		l.min = max(l.min, l.lowest())
		l.minStale = false
	}
	return l.min
}

func (l *Ledger) lowest() Timestamp {
	var low, high Timestamp
	for _, p := range l.partitions {
		high = max(high, p.Position)
		if p.State != Finished && (low == 0 || p.Position < low) {
			low = p.Position
		}
	}
	if low == 0 {
		return high
	}
	return low
}

// Done reports whether nothing is left to read in this run: every partition has
// finished or has reached the end position.
func (l *Ledger) Done() bool { return l.unfinished == 0 }

// Stuck reports whether partitions are left, none of them being read and none
// ready to be: a parent is missing that nothing will tell of any more.
func (l *Ledger) Stuck() bool { return l.unfinished > 0 && l.started == 0 && l.queued == 0 }

// Running is how many partitions are being read.
func (l *Ledger) Running() int { return l.started }

// Queued is how many partitions wait for their turn.
func (l *Ledger) Queued() int { return l.queued }

// Discovered is how many partitions there have been, the initial query not
// counted.
func (l *Ledger) Discovered() int { return l.discovered }

// Position returns how far the partition token is read; ok is false if it is
// not known.
func (l *Ledger) Position(token string) (t Timestamp, ok bool) {
	if p := l.partitions[token]; p != nil {
		return p.Position, true
	}
	return 0, false
}

// Partitions returns copies of all that are known, in order of discovery.
func (l *Ledger) Partitions() []Partition {
	all := make([]Partition, 0, len(l.partitions))
	for _, p := range l.partitions {
		c := *p
		c.Parents, c.Boundary, c.MovedOut, c.Awaits = slices.Clone(p.Parents), slices.Clone(p.Boundary), slices.Clone(p.MovedOut), slices.Clone(p.Awaits)
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b Partition) int { return cmp.Compare(a.order, b.order) })
	return all
}

// short names a partition in messages: tokens are long and begin alike.
func short(token string) string {
	const shown = 12
	switch {
	case token == RootToken:
		return "(initial query)"
	case len(token) > shown+3:
		return "..." + token[len(token)-shown:]
	default:
		return token
	}
}
