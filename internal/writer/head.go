package writer

import (
	"encoding/binary"

	"spanbulk/internal/wire"
)

// head is what the mutations of one table, operation and set of columns share.
type head struct {
	bytes []byte
	cells int32
}

// maxHeads bounds the heads kept: records of n optional fields can come in 2^n
// sets of columns.
const maxHeads = 1024

// headCache finds heads. Records of one input mostly have the same columns, so
// the last one is tried first.
type headCache struct {
	byColumns map[string]*head
	last      *head
	lastKey   []byte
	key       []byte // scratch
}

// get returns the head of a mutation with these values.
func (c *headCache) get(t *Table, op wire.Operation, values []wire.Value) *head {
	c.key = appendColumnSet(c.key[:0], t, op, values)
	if c.last != nil && string(c.key) == string(c.lastKey) {
		return c.last
	}
	h, ok := c.byColumns[string(c.key)]
	if !ok {
		h = newHead(t, op, values)
		if c.byColumns == nil || len(c.byColumns) >= maxHeads {
			c.byColumns = map[string]*head{}
		}
		c.byColumns[string(c.key)] = h
	}
	c.last, c.lastKey = h, append(c.lastKey[:0], c.key...)
	return h
}

// appendColumnSet appends the table, whether it is a delete, and a bit for each
// column.
func appendColumnSet(dst []byte, t *Table, op wire.Operation, values []wire.Value) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, t.id<<1|uint64(op)/uint64(wire.Delete))
	var bits uint64
	for i, v := range values {
		if v != nil {
			bits |= 1 << (i & 63)
		}
		if i&63 == 63 {
			dst = binary.LittleEndian.AppendUint64(dst, bits)
			bits = 0
		}
	}
	return binary.LittleEndian.AppendUint64(dst, bits)
}

func newHead(t *Table, op wire.Operation, values []wire.Value) *head {
	var columns []string
	for i, v := range values {
		if v != nil {
			columns = append(columns, t.columns[i])
		}
	}
	h := &head{bytes: wire.AppendHead(nil, t.name, columns)}
	if op != wire.Delete {
		h.cells = t.cells(values)
	}
	return h
}
