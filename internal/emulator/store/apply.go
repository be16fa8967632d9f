package store

import (
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/value"
)

// step applies one row write or delete, with the checks that Spanner makes at
// once: row and parent existence, children on delete.
func (tx *transaction) step(s *step) error {
	if s.late != nil {
		return tx.lateStep(s)
	}
	switch s.op {
	case opDelete:
		return tx.deleteRanges(s)
	}
	if s.plan.cascades() {
		tx.noteWritten(s)
	}
	switch s.op {
	case opInsert:
		return tx.insert(s)
	case opUpdate:
		return tx.update(s)
	case opReplace:
		return tx.replace(s)
	default:
		if tx.current(s) == nil {
			return tx.insert(s)
		}
		return tx.update(s)
	}
}

func (tx *transaction) noteWritten(s *step) {
	if tx.written[s.plan] == nil {
		tx.written[s.plan] = make(map[string]bool)
	}
	tx.written[s.plan][s.row.key] = true
}

// lateStep prepares a mutation that holds the commit timestamp, now known.
func (tx *transaction) lateStep(s *step) error {
	text := time.UnixMicro(tx.ts).UTC().Format(time.RFC3339Nano)
	b, err := tx.store.prepare(tx.batch.plans, []Mutation{s.late}, tx.ts, text)
	if err != nil {
		return err
	}
	for i := range b.steps {
		if err := tx.step(&b.steps[i]); err != nil {
			return err
		}
	}
	return nil
}

func (tx *transaction) current(s *step) value.Row { return s.plan.tree.live(s.row.key) }

func (tx *transaction) insert(s *step) error {
	if v := s.plan.tree.head(s.row.key); v != nil && v.row() != nil {
		if tx.wrote(v) && s.op == opInsert && tx.isNew(s) {
			return status.Errorf(codes.InvalidArgument, "Row %s in table %s is inserted more than once in the same transaction.", s.plan.keyOf(s.row.row), s.plan.table.Name)
		}
		return status.Errorf(codes.AlreadyExists, "Row %s in table %s already exists", s.plan.keyOf(s.row.row), s.plan.table.Name)
	}
	if err := tx.checkParent(s); err != nil {
		return err
	}
	tx.count(s, true)
	tx.journal.insert(s.plan, s.row.key)
	return tx.writeRow(s.plan, s.row.key, nil, s.row.row)
}

// isNew tells whether the row did not exist before the transaction.
func (tx *transaction) isNew(s *step) bool {
	v := s.plan.tree.head(s.row.key)
	return v.prev == nil || v.prev.row() == nil
}

func (tx *transaction) update(s *step) error {
	v := s.plan.tree.head(s.row.key)
	if v == nil || v.row() == nil {
		if tx.wrote(v) {
			return status.Errorf(codes.InvalidArgument, "Row %s in table %s was deleted and then updated in the same transaction.", s.plan.keyOf(s.row.row), s.plan.table.Name)
		}
		return status.Errorf(codes.NotFound, "Row %s in table %s is missing. Row cannot be updated.", s.plan.keyOf(s.row.row), s.plan.table.Name)
	}
	tx.count(s, false)
	columns := s.row.shape.columns
	if s.plan.updates {
		columns = slices.Concat(columns, s.row.shape.updated())
	}
	tx.journal.update(s.plan, s.row.key, v.row(), columns)
	row, err := s.row.merged(v.row(), tx.ts)
	if err != nil {
		return err
	}
	return tx.writeRow(s.plan, s.row.key, v.row(), row)
}

func (tx *transaction) replace(s *step) error {
	old := tx.current(s)
	if old == nil {
		return tx.insert(s)
	}
	if err := tx.deleteChildren(s.plan, s.row.key, old, "REPLACE"); err != nil {
		return err
	}
	tx.count(s, true)
	tx.journal.delete(s.plan, s.row.key, old)
	tx.journal.insert(s.plan, s.row.key)
	return tx.writeRow(s.plan, s.row.key, old, s.row.row)
}

// checkParent: a row of an interleaved table needs its parent row.
func (tx *transaction) checkParent(s *step) error {
	p := s.plan.parent
	if p == nil {
		return nil
	}
	parentKey := s.row.key[:s.row.parentEnd]
	if p.tree.live(parentKey) != nil {
		return nil
	}
	text := "Parent row for row %s in table %s is missing. Row cannot be written."
	code := codes.NotFound
	for i := range tx.batch.steps {
		// The service tells a parent that comes too late from one that does not
		// come at all.
		if o := &tx.batch.steps[i]; o.plan == p && o.op != opDelete && o.row.key == parentKey {
			code = codes.InvalidArgument
		}
	}
	return status.Errorf(code, text, s.plan.keyOf(s.row.row), s.plan.table.Name)
}

// count adds what the row counts against the mutation limit: its columns, key
// columns always, and an index for each that contains a written column; all of
// them for a row that is written whole.
func (tx *transaction) count(s *step, whole bool) {
	n := int64(len(s.row.shape.columns))
	for _, at := range s.row.shape.key {
		if at < 0 {
			n++
		}
	}
	n += int64(len(s.plan.computed))
	for _, x := range s.plan.indexes {
		for _, c := range x.entry {
			if whole || s.row.shape.source[c.Slot] >= 0 && !s.plan.table.IsKey(c.Ordinal) {
				n++
				break
			}
		}
	}
	tx.mutations += n
}

// writeRow writes one row and its index entries. old is nil for a new row, row
// is nil for a deleted one.
func (tx *transaction) writeRow(p *plan, key string, old, row value.Row) error {
	tx.put(p, p.tree, key, row)
	for _, x := range p.indexes {
		if err := tx.reindex(p, x, old, row); err != nil {
			return err
		}
	}
	return nil
}

func (tx *transaction) reindex(p *plan, x *indexPlan, old, row value.Row) error {
	oldKey, _, hadEntry, err := x.entryKey(old)
	if err != nil {
		return err
	}
	newKey, prefix, hasEntry, err := x.entryKey(row)
	if err != nil {
		return err
	}
	if hadEntry && (!hasEntry || oldKey != newKey) {
		tx.put(nil, x.tree, oldKey, nil)
	}
	if !hasEntry {
		return nil
	}
	tx.put(nil, x.tree, newKey, x.entryRow(row))
	if x.index.Unique && (!hadEntry || oldKey != newKey) {
		tx.uniques = append(tx.uniques, uniqueEntry{p, x, newKey, prefix})
	}
	return nil
}

// entryKey is the key of a row's index entry; prefix is the length of the
// index columns' part. ok is false if the row has no entry.
func (x *indexPlan) entryKey(row value.Row) (key string, prefix int, ok bool, err error) {
	if row == nil {
		return "", 0, false, nil
	}
	for _, c := range x.notNull {
		if value.IsNullWire(row.Cell(c.Slot)) {
			return "", 0, false, nil
		}
	}
	var buf [128]byte
	b := buf[:0]
	for i, k := range x.key {
		if i == x.keyLen {
			prefix = len(b)
		}
		b = value.AppendKey(b, k.column.Type, row.Cell(k.column.Slot), k.order)
	}
	if len(x.key) == x.keyLen {
		prefix = len(b)
	}
	if len(b) > maxKeyBytes {
		return "", 0, false, keyTooLong(x.index.Name, len(b))
	}
	return string(b), prefix, true, nil
}

func (x *indexPlan) entryRow(row value.Row) value.Row {
	out := make(value.Row, 0, len(row))
	for _, c := range x.entry {
		out = out.AppendCell(row.Cell(c.Slot))
	}
	return out
}

func (tx *transaction) deleteRanges(s *step) error {
	for _, r := range s.del {
		for _, e := range rowsIn(s.plan.tree, string(r.Start), string(r.End)) {
			tx.mutations += int64(len(s.plan.indexes))
			if err := tx.deleteRow(s.plan, e.Key, e.Row); err != nil {
				return err
			}
		}
	}
	tx.mutations += int64(len(s.deleteSet.GetKeys()) + len(s.deleteSet.GetRanges()))
	if s.deleteSet.GetAll() {
		tx.mutations++
	}
	if s.plan.cascades() {
		tx.deleted[s.plan] = append(tx.deleted[s.plan], s.del...)
	}
	return nil
}

// rowsIn collects rows before they are changed.
func rowsIn(t *tree, start, end string) []Entry {
	var out []Entry
	t.liveIn(start, end, func(key string, row value.Row) bool {
		out = append(out, Entry{key, row})
		return true
	})
	return out
}

func (tx *transaction) deleteRow(p *plan, key string, row value.Row) error {
	if err := tx.deleteChildren(p, key, row, "DELETE"); err != nil {
		return err
	}
	tx.journal.delete(p, key, row)
	return tx.writeRow(p, key, row, nil)
}

// deleteChildren deletes the rows interleaved under a row, or refuses.
func (tx *transaction) deleteChildren(p *plan, key string, row value.Row, verb string) error {
	end := string(value.PrefixEnd([]byte(key)))
	for _, child := range p.children {
		if child.table.OnDelete == catalog.NoAction {
			if child.tree.anyLive(key, end) {
				return status.Errorf(codes.FailedPrecondition, "Integrity constraint violation during %s. Found child row for %s of table %s in table %s", verb, p.keyOf(row), p.table.Name, child.table.Name)
			}
			continue
		}
		for _, e := range rowsIn(child.tree, key, end) {
			tx.mutations += int64(len(child.indexes)) // the row itself is free
			if err := tx.deleteRow(child, e.Key, e.Row); err != nil {
				return err
			}
		}
	}
	return nil
}
