package store

import (
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/relation"
	"spanbulk/internal/emulator/value"
)

// finish makes the checks that Spanner makes on the final state: generated
// columns, CHECK, UNIQUE, foreign keys.
func (tx *transaction) finish() error {
	// Deleting referencing rows makes the log grow; go on until nothing is left.
	for from := 0; from < len(tx.log); {
		to := len(tx.log)
		if err := tx.recomputeRows(tx.log[from:to]); err != nil {
			return err
		}
		if err := tx.cascade(tx.log[from:to]); err != nil {
			return err
		}
		from = to
	}
	for _, c := range tx.log {
		if c.plan == nil || !c.plan.deferred() {
			continue
		}
		if err := tx.checkRow(c); err != nil {
			return err
		}
	}
	return tx.checkUniques()
}

func (tx *transaction) recomputeRows(log []change) error {
	for _, c := range log {
		if c.plan == nil || len(c.plan.computed) == 0 {
			continue
		}
		row := c.tree.live(c.key)
		if row == nil {
			continue
		}
		fresh, err := c.plan.recompute(row)
		if err != nil {
			return err
		}
		for _, g := range c.plan.computed {
			if c.plan.table.IsKey(g.column.Ordinal) && string(fresh.Cell(g.column.Slot)) != string(row.Cell(g.column.Slot)) {
				return status.Errorf(codes.OutOfRange, "The value of generated primary key column `%s.%s` cannot be changed.", c.plan.table.Name, g.column.Name)
			}
		}
		if string(fresh) == string(row) {
			continue
		}
		if err := tx.writeRow(c.plan, c.key, row, fresh); err != nil {
			return err
		}
	}
	return nil
}

// cascade deletes the rows that refer, with ON DELETE CASCADE, to rows that
// the transaction took away.
func (tx *transaction) cascade(log []change) error {
	for _, c := range log {
		if c.plan == nil || c.old == nil || c.old.row() == nil {
			continue
		}
		for _, fk := range c.plan.incoming {
			if fk.def.OnDelete != catalog.Cascade || fk.to.stillThere(fk.toIdx, fk.toCols, c.old.row()) {
				continue
			}
			for _, e := range fk.from.matching(fk.fromIdx, fk.fromCols, c.old.row(), fk.toCols) {
				// What the transaction itself wrote is not swept away: its reference
				// is wrong.
				if tx.written[fk.from][e.Key] {
					return fk.violated()
				}
				if err := tx.deleteRow(fk.from, e.Key, e.Row); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (tx *transaction) checkRow(c change) error {
	row := c.tree.live(c.key)
	if row != nil {
		if err := c.plan.checkEvaluated(row); err != nil {
			return err
		}
		if err := c.plan.checkConstraints(row); err != nil {
			return err
		}
		if err := c.plan.checkOutgoing(row); err != nil {
			return err
		}
	}
	if err := tx.checkWrittenAndDeleted(c, row); err != nil {
		return err
	}
	if c.old == nil || c.old.row() == nil {
		return nil
	}
	return c.plan.checkIncoming(c.old.row())
}

// checkEvaluated holds values that may come from expressions against their
// columns. A NOT NULL column may be NULL until here.
func (p *plan) checkEvaluated(row value.Row) error {
	for _, c := range p.evaluated {
		if err := checkCell(p.table, c, row.Cell(c.Slot)); err != nil {
			return err
		}
	}
	return nil
}

func (p *plan) checkConstraints(row value.Row) error {
	for _, k := range p.checks {
		v, err := k.expr(func(c *catalog.Column) []byte { return row.Cell(c.Slot) })
		if err != nil {
			return err
		}
		if !v.IsNull() && !v.AsBool() {
			return status.Errorf(codes.OutOfRange, "Check constraint `%s`.`%s` is violated for key %s", p.table.Name, k.name, p.keyOf(row))
		}
	}
	return nil
}

func (p *plan) checkOutgoing(row value.Row) error {
	for _, fk := range p.outgoing {
		if hasNull(row, fk.fromCols) {
			continue
		}
		if len(fk.to.matching(fk.toIdx, fk.toCols, row, fk.fromCols)) == 0 {
			return fk.violated()
		}
	}
	return nil
}

func (fk *foreignKey) violated() error {
	return status.Errorf(codes.FailedPrecondition, "Foreign key constraint `%s` is violated on table `%s`. Cannot find referenced values in %s(%s).",
		fk.def.Name, fk.from.table.Name, fk.to.table.Name, columnNames(fk.toCols))
}

// checkIncoming: values that a row gave up must be referenced no more, unless
// another row has them.
func (p *plan) checkIncoming(old value.Row) error {
	for _, fk := range p.incoming {
		if hasNull(old, fk.toCols) || p.stillThere(fk.toIdx, fk.toCols, old) {
			continue
		}
		if len(fk.from.matching(fk.fromIdx, fk.fromCols, old, fk.toCols)) > 0 {
			return status.Errorf(codes.FailedPrecondition, "Foreign key constraint violation when deleting or updating referenced row(s): referencing row(s) found in table `%s`.", fk.from.table.Name)
		}
	}
	return nil
}

// checkWrittenAndDeleted: a key that a foreign key with ON DELETE CASCADE
// refers to may not be written and deleted in one transaction.
func (tx *transaction) checkWrittenAndDeleted(c change, row value.Row) error {
	i := slices.IndexFunc(c.plan.incoming, func(fk *foreignKey) bool { return fk.def.OnDelete == catalog.Cascade })
	if i < 0 || row == nil && !tx.written[c.plan][c.key] || !covers(tx.deleted[c.plan], c.key) {
		return nil
	}
	return status.Errorf(codes.FailedPrecondition, "Cannot write a value for the referenced column `%s.%s` and delete it in the same transaction.", c.plan.table.Name, c.plan.incoming[i].toCols[0].Name)
}

// covers tells whether a key is in one of sorted, disjoint ranges.
func covers(ranges []relation.KeyRange, key string) bool {
	i, found := slices.BinarySearchFunc(ranges, key, func(r relation.KeyRange, key string) int { return strings.Compare(asKey(r.Start), key) })
	if found {
		return true
	}
	return i > 0 && (len(ranges[i-1].End) == 0 || key < asKey(ranges[i-1].End))
}

// stillThere tells whether some row has the values that old has in cols.
func (p *plan) stillThere(x *indexPlan, cols []*catalog.Column, old value.Row) bool {
	return len(p.matching(x, cols, old, cols)) > 0
}

// matching finds the rows of p whose cols have the values that the row other
// has in its columns otherCols, through an index or the primary key.
func (p *plan) matching(x *indexPlan, cols []*catalog.Column, other value.Row, otherCols []*catalog.Column) []Entry {
	cellFor := func(c *catalog.Column) []byte { return other.Cell(otherCols[slices.Index(cols, c)].Slot) }
	var prefix []byte
	if x == nil {
		for _, k := range p.table.PrimaryKey[:len(cols)] {
			c := p.table.Columns[k.Column]
			prefix = value.AppendKey(prefix, c.Type, cellFor(c), k.Order())
		}
		return rowsIn(p.tree, string(prefix), string(value.PrefixEnd(prefix)))
	}
	for _, k := range x.key[:x.keyLen] {
		prefix = value.AppendKey(prefix, k.column.Type, cellFor(k.column), k.order)
	}
	var out []Entry
	for _, e := range rowsIn(x.tree, string(prefix), string(value.PrefixEnd(prefix))) {
		key := p.keyFromEntry(x, e.Row)
		out = append(out, Entry{key, p.tree.live(key)})
	}
	return out
}

// keyFromEntry is the primary key of the row that an index entry stands for.
func (p *plan) keyFromEntry(x *indexPlan, entry value.Row) string {
	var key []byte
	for _, k := range p.table.PrimaryKey {
		c := p.table.Columns[k.Column]
		key = value.AppendKey(key, c.Type, entry.Cell(slices.Index(x.entry, c)), k.Order())
	}
	return string(key)
}

func (tx *transaction) checkUniques() error {
	for _, u := range tx.uniques {
		if u.index.tree.live(u.key) == nil {
			continue
		}
		if err := u.check(); err != nil {
			return err
		}
	}
	return nil
}

// check refuses a second entry with the same index columns.
func (u uniqueEntry) check() error {
	prefix := u.key[:u.prefix]
	n := 0
	var row value.Row
	u.index.tree.liveIn(prefix, string(value.PrefixEnd([]byte(prefix))), func(_ string, r value.Row) bool {
		n++
		row = r
		return n < 2
	})
	if n < 2 {
		return nil
	}
	return status.Errorf(codes.AlreadyExists, "Unique index violation on index %s at index key %s. It conflicts with another row in table %s.",
		u.index.index.Name, u.index.keyText(row), u.plan.table.Name)
}

// keyText spells an entry's index columns: [1,a].
func (x *indexPlan) keyText(entry value.Row) string {
	cols := make([]*catalog.Column, x.keyLen)
	for i, c := range x.entry[:x.keyLen] {
		at := *c
		at.Slot = i
		cols[i] = &at
	}
	return cellsText(entry, cols)
}

func hasNull(row value.Row, cols []*catalog.Column) bool {
	return slices.ContainsFunc(cols, func(c *catalog.Column) bool { return value.IsNullWire(row.Cell(c.Slot)) })
}

func columnNames(cols []*catalog.Column) string {
	text := ""
	for i, c := range cols {
		if i > 0 {
			text += ", "
		}
		text += c.Name
	}
	return text
}
