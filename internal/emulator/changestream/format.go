package changestream

import (
	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/value"
)

// format spells records as one kind of read function returns them. Every method
// gives a row of one cell.
type format interface {
	// columns are the result's columns.
	columns(def *catalog.ChangeStream) []value.Field
	// types prepares column_types for a key and a set of other columns.
	types(w *watch, set *columnSet) []byte
	data(t *txnRecords, r *record) value.Row
	heartbeat(ts value.Value) value.Row
	// children tells of partitions to go on with: in MUTABLE_KEY_RANGE mode it
	// is a partition start record, which names no parents.
	children(ts value.Value, sequence int, children []child) value.Row
}

// child is a partition with its parents.
type child struct {
	token   string
	parents []string
}

func newFormat(def *catalog.ChangeStream, postgreSQL bool) format {
	switch {
	case def.PartitionMode() == catalog.MutableKeyRange:
		return protoFormat{bytes: postgreSQL}
	case postgreSQL:
		return jsonFormat{}
	}
	return structFormat{}
}

// keyTypes calls yield with the key's and a set's columns in order of their
// ordinals.
func (w *watch) keyTypes(set *columnSet, yield func(c *catalog.Column, isKey bool)) {
	key, other := w.key.columns, set.columns
	for len(key)+len(other) > 0 {
		if len(other) == 0 || len(key) > 0 && key[0].Ordinal < other[0].Ordinal {
			yield(key[0], true)
			key = key[1:]
			continue
		}
		yield(other[0], false)
		other = other[1:]
	}
}

const sequenceDigits = 8

// appendSequence appends a record sequence: 00000007.
func appendSequence(dst []byte, n int) []byte {
	var digits [sequenceDigits]byte
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = byte('0' + n%10)
		n /= 10
	}
	return append(dst, digits[:]...)
}

func sequenceText(n int) string { return string(appendSequence(nil, n)) }
