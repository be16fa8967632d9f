package store

import (
	"bytes"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/relation"
)

// Mutation is an encoded google.spanner.v1.Mutation. It is read where it
// stands: decoding its values into objects would cost more than storing them.
type Mutation []byte

// operation says what a mutation does. The numbers are the fields of
// google.spanner.v1.Mutation.
type operation int

const (
	opInsert         operation = 1
	opUpdate         operation = 2
	opInsertOrUpdate operation = 3
	opReplace        operation = 4
	opDelete         operation = 5
)

// batch is a list of mutations checked against a schema as far as that goes
// without data.
type batch struct {
	plans *planSet
	steps []step
	// commitText is the commit timestamp as text once it is known; mutations
	// that use it are prepared again then.
	commitText string
	now        int64
}

// step is one row to write, or one delete.
type step struct {
	plan *plan
	op   operation
	row  rowWrite
	del  []relation.KeyRange
	// deleteSet is kept for the messages and for the checks of cascades.
	deleteSet *spannerpb.KeySet
	// late is the mutation if it has to be prepared again at commit.
	late Mutation
}

// prepare reads mutations. It needs no lock. commitText is "" as long as the
// commit timestamp is not known.
func (s *Store) prepare(plans *planSet, mutations []Mutation, now int64, commitText string) (*batch, error) {
	b := &batch{plans: plans, now: now, commitText: commitText, steps: make([]step, 0, len(mutations))}
	w := writer{batch: b}
	for _, m := range mutations {
		if err := w.mutation(m); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// writer prepares mutations; it keeps what the one before had in common.
type writer struct {
	batch *batch
	shape shape
	// head is the encoded table and columns that shape was made from.
	head    []byte
	scratch []byte
	ends    []int
	raw     [][]byte
}

func (w *writer) mutation(m Mutation) error {
	num, typ, n := protowire.ConsumeTag(m)
	if n < 0 || num < 1 || num > 5 || typ != protowire.BytesType {
		return status.Error(codes.InvalidArgument, "No value provided for required field: Mutation.operation")
	}
	body, n2 := protowire.ConsumeBytes(m[n:])
	if n2 < 0 || n+n2 != len(m) {
		return w.unusual(m)
	}
	if operation(num) == opDelete {
		return w.delete(m, body)
	}
	return w.write(m, operation(num), body)
}

// unusual reads bytes that are legal but not as encoders write them.
func (w *writer) unusual(m Mutation) error {
	var msg spannerpb.Mutation
	if err := proto.Unmarshal(m, &msg); err != nil {
		return status.Errorf(codes.InvalidArgument, "Malformed mutation: %v", err)
	}
	clean, err := proto.MarshalOptions{Deterministic: true}.Marshal(&msg)
	if err != nil || bytes.Equal(clean, m) {
		return status.Error(codes.InvalidArgument, "Malformed mutation")
	}
	msg.ProtoReflect().SetUnknown(nil)
	if clean, err = proto.Marshal(&msg); err != nil {
		return status.Errorf(codes.InvalidArgument, "Malformed mutation: %v", err)
	}
	return w.mutation(clean)
}

func (w *writer) delete(m Mutation, body []byte) error {
	var d spannerpb.Mutation_Delete
	if err := proto.Unmarshal(body, &d); err != nil {
		return status.Errorf(codes.InvalidArgument, "Malformed delete: %v", err)
	}
	p, err := w.batch.table(d.GetTable())
	if err != nil {
		return err
	}
	for _, r := range d.GetKeySet().GetRanges() {
		if err := checkDeleteRange(r); err != nil {
			return err
		}
	}
	k := tableKeys(p.table)
	k.sentinel, k.plan = w.batch.commitText, p
	if err := k.refuseFuture(d.GetKeySet(), w.batch.now); err != nil {
		return err
	}
	s := step{plan: p, op: opDelete, deleteSet: d.GetKeySet()}
	if hasSentinel(body) && w.batch.commitText == "" {
		s.late = m
	} else if s.del, err = k.ranges(d.GetKeySet()); err != nil {
		return err
	}
	w.batch.steps = append(w.batch.steps, s)
	return nil
}

func (b *batch) table(name string) (*plan, error) {
	if name == "" {
		return nil, status.Error(codes.InvalidArgument, "Mutation does not specify table.")
	}
	p, ok := b.plans.table(name)
	if !ok {
		return nil, notFound("Table not found: "+name, "spanner.googleapis.com/Table", name)
	}
	return p, nil
}

// write reads a google.spanner.v1.Mutation.Write: table, columns, then one
// list of values per row.
func (w *writer) write(m Mutation, op operation, body []byte) error {
	at := 0
	for at < len(body) && body[at] != writeValuesTag {
		n := fieldLength(body[at:])
		if n <= 0 {
			return status.Error(codes.InvalidArgument, "Malformed mutation")
		}
		at += n
	}
	head, rows := body[:at], body[at:]
	if !bytes.Equal(head, w.head) || w.shape.op != op || w.head == nil {
		s, err := newShape(w.batch, op, head)
		if err != nil {
			return err
		}
		w.shape, w.head = s, head
	}
	if len(rows) == 0 && len(w.shape.columns) == 0 {
		return w.row(m, nil) // a row of a table without key and columns
	}
	for len(rows) > 0 {
		list, n := consumeField(rows, writeValuesTag)
		if n <= 0 {
			return w.unusual(m)
		}
		if err := w.row(m, list); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// Tags of google.spanner.v1.Mutation.Write.
const (
	writeTableTag   = 0x0a
	writeColumnsTag = 0x12
	writeValuesTag  = 0x1a
)

// consumeField cuts one length-delimited field with the given one-byte tag;
// n is 0 or less if b does not start with one.
func consumeField(b []byte, tag byte) (body []byte, n int) {
	if len(b) == 0 || b[0] != tag {
		return nil, 0
	}
	body, n = protowire.ConsumeBytes(b[1:])
	if n < 0 {
		return nil, n
	}
	return body, n + 1
}

func fieldLength(b []byte) int {
	_, _, n := protowire.ConsumeField(b)
	return n
}

// shape is what the rows of one Write have in common.
type shape struct {
	plan    *plan
	op      operation
	columns []*catalog.Column
	// source is, by slot, the position in columns, or -1.
	source []int
	// key is, by key part, the position in columns, or -1 for a part that is
	// not given.
	key []int
	// stamps tells that rows get the commit timestamp by default.
	stamps bool
}

func newShape(b *batch, op operation, head []byte) (shape, error) {
	var write spannerpb.Mutation_Write
	if err := proto.Unmarshal(head, &write); err != nil {
		return shape{}, status.Errorf(codes.InvalidArgument, "Malformed mutation: %v", err)
	}
	p, err := b.table(write.GetTable())
	if err != nil {
		return shape{}, err
	}
	s := shape{plan: p, op: op, source: make([]int, p.table.Slots)}
	for i := range s.source {
		s.source[i] = -1
	}
	for i, name := range write.GetColumns() {
		c, ok := p.table.Column(name)
		if !ok {
			return s, notFound("Column not found in table "+p.table.Name+": "+name, "spanner.googleapis.com/Column", name)
		}
		if s.source[c.Slot] >= 0 {
			return s, status.Errorf(codes.InvalidArgument, "Multiple values for column %s.", c.Name)
		}
		if c.Generated != nil && !(op == opUpdate && p.table.IsKey(c.Ordinal)) {
			return s, status.Errorf(codes.FailedPrecondition, "Cannot write into generated column `%s.%s`.", p.table.Name, c.Name)
		}
		s.source[c.Slot] = i
		s.columns = append(s.columns, c)
	}
	s.stamps = s.stamped()
	return s, s.complete()
}

// complete checks that the columns suffice: key columns, and for a row that
// may be new every NOT NULL column without a default.
func (s *shape) complete() error {
	t := s.plan.table
	for _, k := range t.PrimaryKey {
		c := t.Columns[k.Column]
		s.key = append(s.key, s.source[c.Slot])
		if s.source[c.Slot] >= 0 || c.Generated != nil && s.op != opUpdate {
			continue
		}
		switch {
		case s.op == opUpdate && (c.Default != nil || c.Identity != nil):
			return status.Errorf(codes.FailedPrecondition, "Implicit use of primary key default value is not allowed in update: %s.%s", t.Name, c.Name)
		case s.op == opUpdate || c.NotNull && c.Default == nil && c.Identity == nil:
			return status.Errorf(codes.FailedPrecondition, "A row in table %s does not specify a value for key column: %s", t.Name, c.Name)
		}
	}
	if s.op == opUpdate {
		return nil
	}
	for _, c := range t.Columns {
		if c.NotNull && s.source[c.Slot] < 0 && c.Default == nil && c.Generated == nil && c.Identity == nil {
			return status.Errorf(codes.FailedPrecondition, "A new row in table %s does not specify a non-null value for NOT NULL column: %s", t.Name, c.Name)
		}
	}
	return nil
}
