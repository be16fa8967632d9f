package changestream

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/value"
)

// Split divides a partition in two, through the middle of what was written to
// it lately. With IMMUTABLE_KEY_RANGE both are new; with MUTABLE_KEY_RANGE the
// upper half becomes a new partition and the partition goes on. It gives the
// partitions that are new.
func (s *Stream) Split(token string) ([]Partition, error) {
	return s.change([]string{token}, func(ts int64, p []*partition) error {
		at, ok := p[0].middle()
		if !ok {
			return fmt.Errorf("split: the partition has no key to split at")
		}
		s.split(ts, p[0], at)
		return nil
	})
}

// SplitAt is Split at a row of a table: rows from this encoded primary key on go
// to the upper half.
func (s *Stream) SplitAt(token string, t *catalog.Table, key string) ([]Partition, error) {
	return s.change([]string{token}, func(ts int64, p []*partition) error {
		at := routingKey(root(s.log.schema, t), key)
		if !p[0].divides(at) {
			return fmt.Errorf("split: the key is not within the partition")
		}
		s.split(ts, p[0], at)
		return nil
	})
}

// Merge joins partitions whose key ranges are neighbours. With
// IMMUTABLE_KEY_RANGE they end with a common child; with MUTABLE_KEY_RANGE all
// end but the first, which takes their keys in. It gives the partition that is
// new, if any.
func (s *Stream) Merge(tokens ...string) ([]Partition, error) {
	return s.change(tokens, func(ts int64, p []*partition) error {
		inOrder := slices.SortedFunc(slices.Values(p), func(a, b *partition) int { return cmp.Compare(a.lo, b.lo) })
		for i := range len(inOrder) - 1 {
			if inOrder[i].hi != inOrder[i+1].lo {
				return fmt.Errorf("merge: the partitions are not neighbours")
			}
		}
		if len(inOrder) < 2 {
			return fmt.Errorf("merge: at least two partitions are needed")
		}
		s.merge(ts, inOrder, p[0])
		return nil
	})
}

// Move lets a partition's keys change their place. With IMMUTABLE_KEY_RANGE the
// partition ends with one child that has the same keys; with MUTABLE_KEY_RANGE
// the upper half of its keys moves to the neighbour above, or to a new partition
// if there is none.
func (s *Stream) Move(token string) ([]Partition, error) {
	return s.change([]string{token}, func(ts int64, p []*partition) error {
		if !s.mutable() {
			s.replace(ts, p, p[0].lo, p[0].hi)
			return nil
		}
		at, ok := p[0].middle()
		if !ok {
			return fmt.Errorf("move: the partition has no key to divide it at")
		}
		s.shift(ts, p[0], at)
		return nil
	})
}

// maxActive bounds the partitions that Shuffle makes.
const maxActive = 8

// Shuffle makes one change that rng chooses: a split, a merge of two or more, or
// a move.
func (s *Stream) Shuffle(rng *rand.Rand) error {
	active := s.Active()
	pick := rng.IntN(len(active))
	kind := rng.IntN(4)
	var err error
	switch {
	case kind < 2 && len(active) < maxActive:
		_, err = s.Split(active[pick].Token)
	case kind != 3 && len(active) > 1:
		n := min(2+rng.IntN(2), len(active))
		from := rng.IntN(len(active) - n + 1)
		var tokens []string
		for _, p := range active[from : from+n] {
			tokens = append(tokens, p.Token)
		}
		_, err = s.Merge(tokens...)
	default:
		_, err = s.Move(active[pick].Token)
	}
	return err
}

// change runs one change of the partitions at a timestamp of its own, and gives
// the partitions that it made.
func (s *Stream) change(tokens []string, f func(ts int64, p []*partition) error) ([]Partition, error) {
	var made []Partition
	err := s.log.timeline.Exclusively(func(ts time.Time) error {
		s.log.mu.Lock()
		defer s.log.mu.Unlock()
		if s.dropped {
			return notFound(s.def.Name)
		}
		var list []*partition
		for _, token := range tokens {
			p, ok := s.byToken[token]
			if !ok || p.end != 0 || slices.Contains(list, p) {
				return fmt.Errorf("%s is not the token of an active partition of %s", token, s.def.Name)
			}
			list = append(list, p)
		}
		before := len(s.all)
		if err := f(ts.UnixMicro(), list); err != nil {
			return err
		}
		slices.SortFunc(s.active, func(a, b *partition) int { return cmp.Compare(a.lo, b.lo) })
		made = describe(s.all[before:])
		s.prune(ts.UnixMicro())
		return nil
	})
	return made, err
}

func (s *Stream) mutable() bool { return s.def.PartitionMode() == catalog.MutableKeyRange }

func (s *Stream) split(ts int64, p *partition, at string) {
	if s.mutable() {
		s.moveOut(ts, p, s.begin(ts, p, at, p.hi))
		p.hi = at
		return
	}
	s.replace(ts, []*partition{p}, p.lo, at, p.hi)
}

// replace ends partitions and puts others in their place, whose bounds are
// given: n+1 of them for n. Every parent ends with the same record.
func (s *Stream) replace(ts int64, parents []*partition, bounds ...string) {
	var tokens []string
	for _, p := range parents {
		tokens = append(tokens, p.token)
	}
	var children []child
	for i := range len(bounds) - 1 {
		c := s.newPartition(bounds[i], bounds[i+1], ts, tokens)
		inherit(c, parents)
		s.active = append(s.active, c)
		children = append(children, child{c.token, tokens})
	}
	row := s.format.children(value.Timestamp(timeOf(ts)), 0, children)
	for _, p := range parents {
		for _, c := range children {
			p.children = append(p.children, c.token)
		}
		s.finish(ts, p, row)
	}
}

// inherit hands over the keys written lately.
func inherit(c *partition, parents []*partition) {
	for _, p := range parents {
		for _, key := range p.recent[:min(p.writes, len(p.recent))] {
			if key >= c.lo && (c.hi == "" || key < c.hi) {
				c.wrote(key)
			}
		}
	}
}

func (s *Stream) finish(ts int64, p *partition, row value.Row) {
	p.end = ts
	s.active = slices.DeleteFunc(s.active, func(o *partition) bool { return o == p })
	p.append(entry{ts: ts, final: true, row: row})
}

func (s *Stream) merge(ts int64, inOrder []*partition, into *partition) {
	lo, hi := inOrder[0].lo, inOrder[len(inOrder)-1].hi
	if !s.mutable() {
		s.replace(ts, inOrder, lo, hi)
		return
	}
	m := &eventMessage{CommitTimestamp: timestamppb.New(timeOf(ts)), RecordSequence: sequenceText(0), PartitionToken: into.token}
	for _, p := range inOrder {
		if p == into {
			continue
		}
		m.MoveInEvents = append(m.MoveInEvents, &moveIn{SourcePartitionToken: p.token})
		s.event(ts, p, &eventMessage{RecordSequence: sequenceText(0), MoveOutEvents: []*moveOut{{DestinationPartitionToken: into.token}}})
		s.terminate(ts, p, 1)
	}
	into.append(entry{ts: ts, row: protoFormat{}.event(m)})
	into.lo, into.hi = lo, hi
	inherit(into, inOrder)
}

// terminate ends a partition in MUTABLE_KEY_RANGE mode.
func (s *Stream) terminate(ts int64, p *partition, sequence int) {
	s.finish(ts, p, protoFormat{}.end(&endMessage{
		EndTimestamp: timestamppb.New(timeOf(ts)), RecordSequence: sequenceText(sequence), PartitionToken: p.token,
	}))
}

// shift moves the keys of a partition from at on to its neighbour. A last
// partition, which has none, moves to a new one as a whole and ends.
func (s *Stream) shift(ts int64, p *partition, at string) {
	i := slices.Index(s.active, p)
	if i+1 < len(s.active) {
		next := s.active[i+1]
		s.event(ts, p, &eventMessage{RecordSequence: sequenceText(0), MoveOutEvents: []*moveOut{{DestinationPartitionToken: next.token}}})
		s.event(ts, next, &eventMessage{RecordSequence: sequenceText(0), MoveInEvents: []*moveIn{{SourcePartitionToken: p.token}}})
		p.hi, next.lo = at, at
		return
	}
	s.moveOut(ts, p, s.begin(ts, p, p.lo, p.hi))
	s.terminate(ts, p, 2)
}

// begin makes a partition that an existing one tells of.
func (s *Stream) begin(ts int64, from *partition, lo, hi string) *partition {
	c := s.newPartition(lo, hi, ts, []string{from.token})
	inherit(c, []*partition{from})
	from.children = append(from.children, c.token)
	s.active = append(s.active, c)
	from.append(entry{ts: ts, row: s.format.children(value.Timestamp(timeOf(ts)), 0, []child{{token: c.token}})})
	return c
}

// moveOut tells a partition and a new one of the keys that move between them.
func (s *Stream) moveOut(ts int64, p, to *partition) {
	s.event(ts, p, &eventMessage{RecordSequence: sequenceText(1), MoveOutEvents: []*moveOut{{DestinationPartitionToken: to.token}}})
	s.event(ts, to, &eventMessage{RecordSequence: sequenceText(0), MoveInEvents: []*moveIn{{SourcePartitionToken: p.token}}})
}

func (s *Stream) event(ts int64, p *partition, m *eventMessage) {
	m.CommitTimestamp = timestamppb.New(timeOf(ts))
	m.PartitionToken = p.token
	p.append(entry{ts: ts, row: protoFormat{}.event(m)})
}
