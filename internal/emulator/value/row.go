package value

import (
	"encoding/binary"
	"iter"
)

// RowTag precedes every cell of a Row: field 2, length-delimited, which is
// `values` in google.spanner.v1.PartialResultSet.
const RowTag = 0x12

// nullWire is the google.protobuf.Value with null_value set.
const nullWire = "\x08\x00"

// Row is a row in wire form: for each cell RowTag, the length as a varint and
// the bytes of the google.protobuf.Value. That is how it stands in
// PartialResultSet.values, so sending a row is copying it. A Row is immutable.
type Row []byte

// AppendCell appends one cell, given as the bytes of its
// google.protobuf.Value.
func (r Row) AppendCell(wire []byte) Row {
	r = append(r, RowTag)
	r = binary.AppendUvarint(r, uint64(len(wire)))
	return append(r, wire...)
}

// AppendNull appends a NULL cell.
func (r Row) AppendNull() Row {
	return append(r, RowTag, byte(len(nullWire)), nullWire[0], nullWire[1])
}

// AppendValue appends one cell.
func (r Row) AppendValue(v Value) Row {
	r = append(r, RowTag)
	at := len(r)
	r = append(r, 0)
	r = v.AppendWire(r)
	return closeLength(r, at)
}

// closeLength fills in the length of a message whose bytes start after the
// one length byte reserved at position at, making room if one is not enough.
func closeLength(b []byte, at int) []byte {
	n := len(b) - at - 1
	if n < 0x80 {
		b[at] = byte(n)
		return b
	}
	var head [binary.MaxVarintLen64]byte
	w := binary.PutUvarint(head[:], uint64(n))
	b = append(b, head[:w-1]...)
	copy(b[at+w:], b[at+1:at+1+n])
	copy(b[at:], head[:w])
	return b
}

// Cells iterates over the cells' google.protobuf.Value bytes, which alias the
// row.
func (r Row) Cells() iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		for i := 0; len(r) > 0; i++ {
			cell, rest := r.cut()
			if !yield(i, cell) {
				return
			}
			r = rest
		}
	}
}

// Cell is the google.protobuf.Value bytes of cell i, aliasing the row. A row
// written before a column was added lacks its cell and answers NULL.
func (r Row) Cell(i int) []byte {
	for len(r) > 0 {
		cell, rest := r.cut()
		if i == 0 {
			return cell
		}
		r, i = rest, i-1
	}
	return []byte(nullWire)
}

// Len is the number of cells.
func (r Row) Len() int {
	n := 0
	for ; len(r) > 0; n++ {
		_, r = r.cut()
	}
	return n
}

// Split appends the bytes of all cells to dst, aliasing the row.
func (r Row) Split(dst [][]byte) [][]byte {
	for len(r) > 0 {
		var cell []byte
		cell, r = r.cut()
		dst = append(dst, cell)
	}
	return dst
}

func (r Row) cut() (cell []byte, rest Row) {
	n, w := binary.Uvarint(r[1:])
	end := 1 + w + int(n)
	return r[1+w : end : end], r[end:]
}

// IsNullWire tells whether the bytes of a google.protobuf.Value are NULL.
func IsNullWire(wire []byte) bool { return string(wire) == nullWire }
