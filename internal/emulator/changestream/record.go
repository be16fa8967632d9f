package changestream

import (
	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/value"
)

// record is a data change record under construction: mods of one table, kind
// and set of columns in one partition.
type record struct {
	partition *partition
	watch     *watch
	modType   ModType
	// columns are those of column_types beside the key.
	columns *columnSet
	mods    []rowMod
	// sequence numbers the transaction's records.
	sequence int
	// last in its partition.
	last bool
}

// rowMod is one element of mods.
type rowMod struct {
	// key is the row, before or after, that the key columns are taken from.
	key      value.Row
	old, new value.Row
	// oldColumns and newColumns are the values that are captured; nil for none.
	oldColumns, newColumns *columnSet
}

// txnRecords are a transaction's records in one stream.
type txnRecords struct {
	tx         *Transaction
	id         string
	capture    catalog.CaptureType
	records    []*record
	partitions int
}

// record writes the stream's records of a transaction.
func (s *Stream) record(tx *Transaction, id string) {
	if tx.Exclude && s.def.Enabled("allow_txn_exclusion") {
		return
	}
	t := txnRecords{tx: tx, id: id, capture: s.def.CaptureType()}
	for i := range tx.Mods {
		s.add(&t, &tx.Mods[i])
	}
	if len(t.records) == 0 {
		return
	}
	t.markLast()
	ts := tx.Timestamp.UnixMicro()
	horizon := s.horizon(ts)
	for _, r := range t.records {
		r.partition.append(entry{ts: ts, row: s.format.data(&t, r)})
		r.partition.records.prune(horizon)
	}
}

// markLast marks the last record in each partition, and counts partitions.
func (t *txnRecords) markLast() {
	for i := len(t.records) - 1; i >= 0; i-- {
		if r := t.records[i]; r.partition.open == r {
			r.last = true
			r.partition.open = nil
			t.partitions++
		}
	}
}

// excluded are the options that leave out kinds of changes.
func (m ModType) excluded() string {
	return [...]string{"exclude_insert", "exclude_update", "exclude_delete"}[m]
}

// add puts a mod into the record it belongs to.
func (s *Stream) add(t *txnRecords, m *Mod) {
	w := s.watch(m.Table)
	if w == nil || s.def.Enabled(m.Type.excluded()) {
		return
	}
	columns := w.tracked
	mod := rowMod{key: m.New, old: m.Old, new: m.New}
	switch m.Type {
	case Insert:
		mod.newColumns = w.tracked
	case Delete:
		mod.key = m.Old
		if hasOld(t.capture) {
			mod.oldColumns = w.tracked
		}
	case Update:
		written := w.written(s.format, m.Written)
		if len(written.columns) == 0 {
			return
		}
		mod.newColumns = w.tracked
		if !hasRow(t.capture) {
			columns, mod.newColumns = written, written
		}
		if hasOld(t.capture) {
			mod.oldColumns = written
		}
	}
	key := routingKey(w.root, m.Key)
	p := s.owner(key)
	p.wrote(key)
	r := p.open
	if r == nil || r.watch != w || r.modType != m.Type || r.columns != columns {
		r = &record{partition: p, watch: w, modType: m.Type, columns: columns, sequence: len(t.records)}
		p.open = r
		t.records = append(t.records, r)
	}
	r.mods = append(r.mods, mod)
}

// hasOld tells whether a capture type keeps values from before a change.
func hasOld(c catalog.CaptureType) bool {
	return c == catalog.OldAndNewValues || c == catalog.NewRowAndOldValues
}

// hasRow tells whether a capture type keeps the whole row after an update.
func hasRow(c catalog.CaptureType) bool {
	return c == catalog.NewRow || c == catalog.NewRowAndOldValues
}
