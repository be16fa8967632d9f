package wire

import (
	"math/bits"

	"google.golang.org/protobuf/encoding/protowire"
)

// Operation is what a mutation does. The numbers are the fields of the oneof in
// google.spanner.v1.Mutation (google/spanner/v1/mutation.proto).
type Operation uint8

// The operations that write rows, and Delete, which takes a key or a key range.
const (
	Insert         Operation = 1
	Update         Operation = 2
	InsertOrUpdate Operation = 3
	Replace        Operation = 4
	Delete         Operation = 5
)

// String names the operation the way the command line does.
func (o Operation) String() string {
	switch o {
	case Insert:
		return "insert"
	case Update:
		return "update"
	case InsertOrUpdate:
		return "insert-or-update"
	case Replace:
		return "replace"
	case Delete:
		return "delete"
	default:
		return "no operation"
	}
}

// Envelope says in which request a mutation goes, and so how it is framed.
type Envelope uint8

const (
	// GroupEnvelope makes the mutation a group of its own in
	// BatchWriteRequest.mutation_groups.
	GroupEnvelope Envelope = iota
	// CommitEnvelope makes it one of CommitRequest.mutations.
	CommitEnvelope
)

// KeyRange is a range of keys; each end is the first parts of a key, in wire
// form. An empty closed end is open to all keys on its side.
type KeyRange struct {
	Start, End         []Value
	StartOpen, EndOpen bool
}

// Tags of the messages around a mutation: all of their fields are
// length-delimited and numbered below 16.
const (
	tagRequestMutation = byte(4<<3) | byte(protowire.BytesType) // mutation_groups and mutations alike
	tagGroupMutation   = byte(1<<3) | byte(protowire.BytesType)
	tagTable           = byte(1<<3) | byte(protowire.BytesType)
	tagColumn          = byte(2<<3) | byte(protowire.BytesType)
	tagRow             = byte(3<<3) | byte(protowire.BytesType)
	tagKeySet          = byte(2<<3) | byte(protowire.BytesType)
	tagKey             = byte(1<<3) | byte(protowire.BytesType)
	tagRange           = byte(2<<3) | byte(protowire.BytesType)
	tagStartClosed     = byte(1<<3) | byte(protowire.BytesType)
	tagStartOpen       = byte(2<<3) | byte(protowire.BytesType)
	tagEndClosed       = byte(3<<3) | byte(protowire.BytesType)
	tagEndOpen         = byte(4<<3) | byte(protowire.BytesType)
)

// AppendHead appends what the mutations of one table and one set of columns
// have in common: the fields before the row in Mutation.Write, and before the
// key set in Mutation.Delete, where columns is empty.
func AppendHead(dst []byte, table string, columns []string) []byte {
	dst = appendField(dst, tagTable, table)
	for _, c := range columns {
		dst = appendField(dst, tagColumn, c)
	}
	return dst
}

func appendField(dst []byte, tag byte, s string) []byte {
	dst = append(dst, tag)
	dst = protowire.AppendVarint(dst, uint64(len(s)))
	return append(dst, s...)
}

// AppendWrite appends a mutation that writes one row, framed for its request.
// op is any but Delete, head comes from AppendHead, and values has the row; nil
// values are left out, the others are those of head's columns in order.
func AppendWrite(dst []byte, e Envelope, op Operation, head []byte, values []Value) []byte {
	row := listSize(values)
	dst = appendEnvelope(dst, e, op, len(head)+sizeField(row))
	dst = append(dst, head...)
	return appendRow(dst, tagRow, row, values)
}

// AppendDelete appends a mutation that deletes the row of one whole key.
func AppendDelete(dst []byte, e Envelope, head []byte, key []Value) []byte {
	row := listSize(key)
	set := sizeField(row)
	dst = appendEnvelope(dst, e, Delete, len(head)+sizeField(set))
	dst = append(dst, head...)
	dst = appendLength(dst, tagKeySet, set)
	return appendRow(dst, tagKey, row, key)
}

// AppendDeleteRange appends a mutation that deletes the rows of a key range.
func AppendDeleteRange(dst []byte, e Envelope, head []byte, r *KeyRange) []byte {
	start, end := listSize(r.Start), listSize(r.End)
	body := sizeField(start) + sizeField(end)
	set := sizeField(body)
	dst = appendEnvelope(dst, e, Delete, len(head)+sizeField(set))
	dst = append(dst, head...)
	dst = appendLength(dst, tagKeySet, set)
	dst = appendLength(dst, tagRange, body)
	startTag, endTag := tagStartClosed, tagEndClosed
	if r.StartOpen {
		startTag = tagStartOpen
	}
	if r.EndOpen {
		endTag = tagEndOpen
	}
	dst = appendRow(dst, startTag, start, r.Start)
	return appendRow(dst, endTag, end, r.End)
}

// appendEnvelope appends everything before the body of a Write or Delete of
// size bytes.
func appendEnvelope(dst []byte, e Envelope, op Operation, size int) []byte {
	mutation := sizeField(size)
	if e == GroupEnvelope {
		dst = appendLength(dst, tagRequestMutation, sizeField(mutation))
		dst = appendLength(dst, tagGroupMutation, mutation)
	} else {
		dst = appendLength(dst, tagRequestMutation, mutation)
	}
	return appendLength(dst, byte(op)<<3|byte(protowire.BytesType), size)
}

func appendRow(dst []byte, tag byte, size int, values []Value) []byte {
	dst = appendLength(dst, tag, size)
	for _, v := range values {
		if v != nil {
			dst = appendLength(dst, tagListElement, len(v))
			dst = append(dst, v...)
		}
	}
	return dst
}

func appendLength(dst []byte, tag byte, n int) []byte {
	if n < 0x80 {
		return append(dst, tag, byte(n))
	}
	return protowire.AppendVarint(append(dst, tag), uint64(n))
}

// listSize is the size of the ListValue of values.
func listSize(values []Value) int {
	n := 0
	for _, v := range values {
		if v != nil {
			n += sizeField(len(v))
		}
	}
	return n
}

// sizeField is the size of a length-delimited field of n bytes whose tag takes
// one.
func sizeField(n int) int {
	if n < 0x80 {
		return 2 + n
	}
	return 1 + (bits.Len64(uint64(n))+6)/7 + n
}
