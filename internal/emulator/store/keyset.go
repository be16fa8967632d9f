package store

import (
	"bytes"
	"slices"
	"strings"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/relation"
	"spanbulk/internal/emulator/value"
)

// keyCoder encodes the keys that requests give, for a table or an index.
type keyCoder struct {
	owner string // the table or index, for messages
	table *catalog.Table
	parts []catalog.KeyPart
	// sentinel replaces spanner.commit_timestamp() in keys of plan; empty where
	// it is refused.
	sentinel string
	plan     *plan
}

func tableKeys(t *catalog.Table) keyCoder {
	return keyCoder{owner: t.Name, table: t, parts: t.PrimaryKey}
}

func indexKeys(t *catalog.Table, x *catalog.Index) keyCoder {
	return keyCoder{owner: x.Name, table: t, parts: x.Key}
}

// KeyRanges turns a request's KeySet into sorted, disjoint ranges of encoded
// keys of the table, or of the index if x is not nil.
func KeyRanges(t *catalog.Table, x *catalog.Index, set *spannerpb.KeySet) ([]relation.KeyRange, error) {
	k := tableKeys(t)
	if x != nil {
		k = indexKeys(t, x)
	}
	return k.ranges(set)
}

func (k keyCoder) ranges(set *spannerpb.KeySet) ([]relation.KeyRange, error) {
	out := make([]relation.KeyRange, 0, len(set.GetKeys())+len(set.GetRanges()))
	for _, key := range set.GetKeys() {
		b, err := k.point(key)
		if err != nil {
			return nil, err
		}
		out = append(out, relation.KeyRange{Start: b, End: value.PrefixEnd(b)})
	}
	for _, r := range set.GetRanges() {
		kr, empty, err := k.keyRange(r)
		if err != nil {
			return nil, err
		}
		if !empty {
			out = append(out, kr)
		}
	}
	if set.GetAll() {
		return []relation.KeyRange{{}}, nil
	}
	return merge(out), nil
}

func (k keyCoder) point(key *structpb.ListValue) ([]byte, error) {
	if len(key.GetValues()) != len(k.parts) {
		return nil, status.Errorf(codes.FailedPrecondition, "Wrong number of key parts for %s. Expected: %d. Got: %s", k.owner, len(k.parts), keyText(key))
	}
	return k.encode(key)
}

func (k keyCoder) encode(key *structpb.ListValue) ([]byte, error) {
	if len(key.GetValues()) > len(k.parts) {
		return nil, status.Errorf(codes.FailedPrecondition, "Wrong number of key parts for %s. Expected: %d. Got: %s", k.owner, len(k.parts), keyText(key))
	}
	var out, scratch []byte
	for i, v := range key.GetValues() {
		wire, err := proto.Marshal(v)
		if err != nil {
			return nil, status.Errorf(codes.InvalidArgument, "Invalid key for %s: %v", k.owner, err)
		}
		c := k.table.Columns[k.parts[i].Column]
		if scratch, err = k.canonical(scratch[:0], c, wire); err != nil {
			return nil, err
		}
		out = value.AppendKey(out, c.Type, scratch, k.parts[i].Order())
	}
	return out, nil
}

func (k keyCoder) canonical(dst []byte, c *catalog.Column, wire []byte) ([]byte, error) {
	if k.sentinel != "" && isSentinel(wire) {
		if err := k.plan.allowsSentinel(c); err != nil {
			return dst, err
		}
		t, _ := value.ParseTimestamp(k.sentinel)
		return t.AppendWire(dst), nil
	}
	dst, err := value.Canonical(dst, c.Type, wire)
	if err != nil {
		return dst, cellError(err, k.table, c)
	}
	return dst, nil
}

// keyRange gives the half-open range of a KeyRange. A closed end takes in
// every key with that prefix, an open one none of them; the empty key closed
// is no bound, open it excludes everything.
func (k keyCoder) keyRange(r *spannerpb.KeyRange) (out relation.KeyRange, empty bool, err error) {
	switch s := r.GetStartKeyType().(type) {
	case *spannerpb.KeyRange_StartClosed:
		out.Start, err = k.encode(s.StartClosed)
	case *spannerpb.KeyRange_StartOpen:
		if out.Start, err = k.encode(s.StartOpen); err == nil {
			out.Start = value.PrefixEnd(out.Start)
			empty = out.Start == nil
		}
	default:
		err = status.Error(codes.InvalidArgument, "Key range must contain either start_closed or start_open.")
	}
	if err != nil {
		return out, true, err
	}
	switch e := r.GetEndKeyType().(type) {
	case *spannerpb.KeyRange_EndClosed:
		if out.End, err = k.encode(e.EndClosed); err == nil {
			out.End = value.PrefixEnd(out.End)
		}
	case *spannerpb.KeyRange_EndOpen:
		out.End, err = k.encode(e.EndOpen)
		empty = empty || len(out.End) == 0
	default:
		err = status.Error(codes.InvalidArgument, "Key range must contain either end_closed or end_open.")
	}
	empty = empty || len(out.End) > 0 && bytes.Compare(out.Start, out.End) >= 0
	return out, empty, err
}

// refuseFuture refuses deletes of keys ahead of the clock in columns that hold
// commit timestamps. A range that is empty may end anywhere.
func (k keyCoder) refuseFuture(set *spannerpb.KeySet, now int64) error {
	if !slices.ContainsFunc(k.parts, func(p catalog.KeyPart) bool { return k.table.Columns[p.Column].AllowCommitTimestamp }) {
		return nil
	}
	for _, key := range set.GetKeys() {
		if err := k.notFuture(key, now); err != nil {
			return err
		}
	}
	for _, r := range set.GetRanges() {
		if _, empty, err := k.keyRange(r); empty || err != nil {
			continue // what is wrong is reported where the range is used
		}
		start, end := rangeEnds(r)
		for _, key := range []*structpb.ListValue{start, end} {
			if err := k.notFuture(key, now); err != nil {
				return err
			}
		}
	}
	return nil
}

func (k keyCoder) notFuture(key *structpb.ListValue, now int64) error {
	for i, v := range key.GetValues()[:min(len(key.GetValues()), len(k.parts))] {
		c := k.table.Columns[k.parts[i].Column]
		if !c.AllowCommitTimestamp {
			continue
		}
		wire, err := proto.Marshal(v)
		if err != nil || isSentinel(wire) {
			continue
		}
		if err := checkFuture(c, wire, now); err != nil {
			return err
		}
	}
	return nil
}

// rangeEnds are the keys of a range, whether open or closed.
func rangeEnds(r *spannerpb.KeyRange) (start, end *structpb.ListValue) {
	if start = r.GetStartClosed(); start == nil {
		start = r.GetStartOpen()
	}
	if end = r.GetEndClosed(); end == nil {
		end = r.GetEndOpen()
	}
	return start, end
}

// merge sorts ranges and joins those that overlap.
func merge(ranges []relation.KeyRange) []relation.KeyRange {
	slices.SortFunc(ranges, func(a, b relation.KeyRange) int { return bytes.Compare(a.Start, b.Start) })
	out := ranges[:0]
	for _, r := range ranges {
		if len(out) > 0 {
			last := &out[len(out)-1]
			if len(last.End) == 0 || bytes.Compare(r.Start, last.End) < 0 {
				if len(last.End) > 0 && (len(r.End) == 0 || bytes.Compare(r.End, last.End) > 0) {
					last.End = r.End
				}
				continue
			}
		}
		out = append(out, r)
	}
	return out
}

// Intersect gives the parts of sorted, disjoint ranges that lie within bound.
// Nil ranges mean everything.
func Intersect(ranges []relation.KeyRange, bound relation.KeyRange) []relation.KeyRange {
	if ranges == nil {
		return []relation.KeyRange{bound}
	}
	out := make([]relation.KeyRange, 0, len(ranges))
	for _, r := range ranges {
		if bytes.Compare(bound.Start, r.Start) > 0 {
			r.Start = bound.Start
		}
		if len(r.End) == 0 || len(bound.End) > 0 && bytes.Compare(bound.End, r.End) < 0 {
			r.End = bound.End
		}
		if len(r.End) == 0 || bytes.Compare(r.Start, r.End) < 0 {
			out = append(out, r)
		}
	}
	return out
}

// deleteRange checks what Spanner asks of ranges in deletes beyond those in
// reads: start and limit differ in the last part of the longer one at most.
func checkDeleteRange(r *spannerpb.KeyRange) error {
	start, end := rangeEnds(r)
	shared := max(len(start.GetValues()), len(end.GetValues())) - 1
	for i := range shared {
		if i >= len(start.GetValues()) || i >= len(end.GetValues()) || !proto.Equal(start.Values[i], end.Values[i]) {
			return status.Error(codes.Unimplemented, "For delete ranges, start and limit keys may only differ in the final key part.")
		}
	}
	return nil
}

// keyText spells a key the way the service does: [1,a].
func keyText(key *structpb.ListValue) string {
	parts := make([]string, len(key.GetValues()))
	for i, v := range key.GetValues() {
		if s, ok := v.GetKind().(*structpb.Value_StringValue); ok {
			parts[i] = s.StringValue
			continue
		}
		if b, err := v.MarshalJSON(); err == nil {
			parts[i] = string(b)
		}
	}
	return "[" + strings.Join(parts, ",") + "]"
}
