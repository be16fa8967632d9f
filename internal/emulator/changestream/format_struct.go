package changestream

import (
	"encoding/binary"
	"math/bits"
	"strconv"
	"time"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/value"
)

// structFormat is that of GoogleSQL in IMMUTABLE_KEY_RANGE mode: one array of
// one struct of three arrays, of which one has one element.
type structFormat struct{}

func (structFormat) columns(*catalog.ChangeStream) []value.Field {
	text, truth, number, ts := value.StringType, value.BoolType, value.Int64Type, value.TimestampType
	list := func(fields ...value.Field) *value.Type { return value.ArrayOf(value.StructOf(fields...)) }
	data := list(
		value.Field{Name: "commit_timestamp", Type: ts},
		value.Field{Name: "record_sequence", Type: text},
		value.Field{Name: "server_transaction_id", Type: text},
		value.Field{Name: "is_last_record_in_transaction_in_partition", Type: truth},
		value.Field{Name: "table_name", Type: text},
		value.Field{Name: "column_types", Type: list(
			value.Field{Name: "name", Type: text},
			value.Field{Name: "type", Type: value.JSONType},
			value.Field{Name: "is_primary_key", Type: truth},
			value.Field{Name: "ordinal_position", Type: number})},
		value.Field{Name: "mods", Type: list(
			value.Field{Name: "keys", Type: value.JSONType},
			value.Field{Name: "new_values", Type: value.JSONType},
			value.Field{Name: "old_values", Type: value.JSONType})},
		value.Field{Name: "mod_type", Type: text},
		value.Field{Name: "value_capture_type", Type: text},
		value.Field{Name: "number_of_records_in_transaction", Type: number},
		value.Field{Name: "number_of_partitions_in_transaction", Type: number},
		value.Field{Name: "transaction_tag", Type: text},
		value.Field{Name: "is_system_transaction", Type: truth})
	children := list(
		value.Field{Name: "start_timestamp", Type: ts},
		value.Field{Name: "record_sequence", Type: text},
		value.Field{Name: "child_partitions", Type: list(
			value.Field{Name: "token", Type: text},
			value.Field{Name: "parent_partition_tokens", Type: value.ArrayOf(text)})})
	return []value.Field{{Name: "ChangeRecord", Type: list(
		value.Field{Name: "data_change_record", Type: data},
		value.Field{Name: "heartbeat_record", Type: list(value.Field{Name: "timestamp", Type: ts})},
		value.Field{Name: "child_partitions_record", Type: children})}}
}

// Which of the three arrays of a change record has the element.
const (
	dataChangeRecord = iota
	heartbeatRecord
	childPartitionsRecord
	changeRecordArrays
)

// changeRecord appends the row of one record of a kind.
func changeRecord(dst value.Row, kind int, fill func(*listWriter)) value.Row {
	w := &listWriter{buf: dst}
	row := w.begin(value.RowTag)
	record := w.list()
	for i := range changeRecordArrays {
		array := w.list()
		if i == kind {
			element := w.list()
			fill(w)
			w.end(element)
		}
		w.end(array)
	}
	w.end(record)
	w.end(row)
	return w.buf
}

func (structFormat) types(w *watch, set *columnSet) []byte {
	out := &listWriter{}
	all := out.list()
	w.keyTypes(set, func(c *catalog.Column, isKey bool) {
		at := out.list()
		out.text(c.Name)
		out.bytes(appendJSONType(nil, c.Type))
		out.truth(isKey)
		out.number(c.Ordinal + 1)
		out.end(at)
	})
	out.end(all)
	return out.buf
}

func (structFormat) data(t *txnRecords, r *record) value.Row {
	size := 256 + len(r.columns.types)
	for i := range r.mods {
		size += 32 + len(r.mods[i].old) + len(r.mods[i].new)
	}
	return changeRecord(make(value.Row, 0, size), dataChangeRecord, func(w *listWriter) {
		w.timestamp(t.tx.Timestamp)
		w.bytes(appendSequence(w.scratch[:0], r.sequence))
		w.text(t.id)
		w.truth(r.last)
		w.text(r.watch.table.Name)
		w.buf = append(w.buf, r.columns.types...)
		mods := w.list()
		for i := range r.mods {
			m := &r.mods[i]
			at := w.list()
			w.object(r.watch.key, m.key)
			w.object(m.newColumns, m.new)
			w.object(m.oldColumns, m.old)
			w.end(at)
		}
		w.end(mods)
		w.text(r.modType.String())
		w.text(string(t.capture))
		w.number(len(t.records))
		w.number(t.partitions)
		w.text(t.tx.Tag)
		w.truth(false)
	})
}

func (structFormat) heartbeat(ts value.Value) value.Row {
	return changeRecord(nil, heartbeatRecord, func(w *listWriter) { w.bytes(ts.AppendText(nil)) })
}

func (structFormat) children(ts value.Value, sequence int, children []child) value.Row {
	return changeRecord(nil, childPartitionsRecord, func(w *listWriter) {
		w.bytes(ts.AppendText(nil))
		w.text(sequenceText(sequence))
		all := w.list()
		for _, c := range children {
			at := w.list()
			w.text(c.token)
			parents := w.list()
			for _, p := range c.parents {
				w.text(p)
			}
			w.end(parents)
			w.end(at)
		}
		w.end(all)
	})
}

// Tags of google.protobuf.Value and ListValue.
const (
	tagItem   = 0x0a // ListValue.values
	tagNumber = 0x11
	tagString = 0x1a
	tagBool   = 0x20
	tagList   = 0x32
)

// listWriter appends google.protobuf.Values as elements of nested list_values.
type listWriter struct {
	buf     []byte
	scratch []byte
}

// list begins a list_value that is an element; end closes it.
func (w *listWriter) list() int { return w.begin(tagItem) }

// begin begins a list_value in a field with the given tag. One byte is left for
// each of the two lengths.
func (w *listWriter) begin(tag byte) int {
	w.buf = append(w.buf, tag, 0, tagList, 0)
	return len(w.buf)
}

// end fills in the lengths, moving what they precede if they need more room.
func (w *listWriter) end(at int) {
	n := len(w.buf) - at
	outer := 1 + varintSize(n) + n
	more := varintSize(n) + varintSize(outer) - 2
	if more == 0 {
		w.buf[at-3], w.buf[at-1] = byte(outer), byte(n)
		return
	}
	w.buf = append(w.buf, make([]byte, more)...)
	copy(w.buf[at+more:], w.buf[at:at+n])
	head := binary.AppendUvarint(w.buf[:at-3], uint64(outer))
	binary.AppendUvarint(append(head, tagList), uint64(n))
}

func varintSize(n int) int { return (bits.Len(uint(n)|1) + 6) / 7 }

func (w *listWriter) text(s string) {
	w.textHead(len(s))
	w.buf = append(w.buf, s...)
}

func (w *listWriter) bytes(s []byte) {
	w.scratch = s // lent to the next one
	w.textHead(len(s))
	w.buf = append(w.buf, s...)
}

func (w *listWriter) textHead(n int) {
	w.buf = append(w.buf, tagItem)
	w.buf = binary.AppendUvarint(w.buf, uint64(1+varintSize(n)+n))
	w.buf = append(w.buf, tagString)
	w.buf = binary.AppendUvarint(w.buf, uint64(n))
}

func (w *listWriter) truth(b bool) {
	bit := byte(0)
	if b {
		bit = 1
	}
	w.buf = append(w.buf, tagItem, 2, tagBool, bit)
}

func (w *listWriter) number(n int) { w.bytes(strconv.AppendInt(w.scratch[:0], int64(n), 10)) }

func (w *listWriter) object(set *columnSet, row value.Row) {
	w.bytes(appendObject(w.scratch[:0], set, row))
}

func (w *listWriter) timestamp(t time.Time) {
	w.bytes(value.Timestamp(t).AppendText(w.scratch[:0]))
}
