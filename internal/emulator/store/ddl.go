package store

import (
	"maps"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/value"
)

// ApplyDDL applies statements one after the other, each with its backfill or
// validation of data, and stops at the first that fails. It gives the commit
// timestamps of those applied.
func (s *Store) ApplyDDL(statements []string) ([]time.Time, error) {
	return s.ApplyDDLWith(statements, nil)
}

// CheckDDL applies statements to the schema alone, so that one that cannot work,
// whatever the data, is found before anything is changed.
func (s *Store) CheckDDL(statements []string, descriptors []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	schema := s.current()
	for _, stmt := range statements {
		var err error
		if schema, err = s.nextSchema(schema, stmt, descriptors); err != nil {
			return err
		}
	}
	_, err := s.newPlans(schema, nil)
	return err
}

// nextSchema is the schema after a statement, with its views analysed.
func (s *Store) nextSchema(schema *catalog.Schema, stmt string, descriptors []byte) (*catalog.Schema, error) {
	next, err := schema.ApplyWith(stmt, descriptors)
	if err != nil {
		return nil, err
	}
	return next, next.DescribeViews(func(v *catalog.View) ([]value.Field, error) {
		if s.compiler == nil {
			return nil, status.Error(codes.Unimplemented, "Views are not supported")
		}
		return s.compiler.View(next, v)
	})
}

// ApplyDDLWith is ApplyDDL with the proto_descriptors of the request.
func (s *Store) ApplyDDLWith(statements []string, descriptors []byte) ([]time.Time, error) {
	var applied []time.Time
	for _, stmt := range statements {
		ts, err := s.applyStatement(stmt, descriptors)
		if err != nil {
			return applied, err
		}
		applied = append(applied, ts)
	}
	return applied, nil
}

func (s *Store) applyStatement(stmt string, descriptors []byte) (time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.current()
	next, err := s.nextSchema(old, stmt, descriptors)
	if err != nil {
		return time.Time{}, err
	}
	trees := maps.Clone(s.trees)
	used := storageIDs(next)
	for id := range used {
		if trees[id] == nil {
			trees[id] = newTree()
		}
	}
	plans, err := s.newPlans(next, trees)
	if err != nil {
		return time.Time{}, err
	}
	tx := &transaction{store: s, batch: &batch{plans: plans}, ts: s.commitTimestamp()}
	if err := tx.migrate(old, next); err != nil {
		tx.undo()
		return time.Time{}, err
	}
	for id, t := range trees {
		if !used[id] && t.dropped == 0 {
			t.dropped = tx.ts
		}
	}
	s.trees, s.plans, s.last = trees, plans, tx.ts
	s.versions = append(s.versions, schemaVersion{from: tx.ts, schema: next})
	s.changes.SetSchema(next, time.UnixMicro(tx.ts).UTC(), s.cuts)
	s.discard(tx)
	return time.UnixMicro(tx.ts).UTC(), nil
}

func storageIDs(schema *catalog.Schema) map[int]bool {
	ids := make(map[int]bool)
	for _, t := range schema.Tables {
		ids[t.ID] = true
		for _, x := range t.Indexes {
			ids[x.ID] = true
		}
	}
	return ids
}

// migrate brings the rows of changed tables in line with the new schema.
func (tx *transaction) migrate(old, next *catalog.Schema) error {
	for _, t := range next.Tables {
		i := slices.IndexFunc(old.Tables, func(o *catalog.Table) bool { return o.ID == t.ID })
		if i < 0 || old.Tables[i] == t {
			continue
		}
		p, _ := tx.batch.plans.table(t.Name)
		if err := tx.migrateTable(p, old.Tables[i]); err != nil {
			return err
		}
	}
	return nil
}

func (tx *transaction) migrateTable(p *plan, old *catalog.Table) error {
	fresh := p.freshIndexes(old)
	rewrite := columnsChanged(old, p.table)
	validate := rewrite || len(p.table.Checks) > len(old.Checks) || len(p.table.ForeignKeys) > len(old.ForeignKeys)
	if len(fresh) == 0 && !validate {
		return nil
	}
	for _, e := range rowsIn(p.tree, "", "") {
		row := e.Row
		if rewrite {
			var err error
			if row, err = tx.migrateRow(p, old, e); err != nil {
				return err
			}
		}
		for _, x := range fresh {
			if err := tx.reindex(p, x, nil, row); err != nil {
				return err
			}
		}
	}
	if err := tx.checkBackfill(); err != nil {
		return err
	}
	if !validate {
		return nil
	}
	for _, e := range rowsIn(p.tree, "", "") {
		if err := p.checkConstraints(e.Row); err != nil {
			return err
		}
		if err := p.checkOutgoing(e.Row); err != nil {
			return err
		}
	}
	return nil
}

func (p *plan) freshIndexes(old *catalog.Table) []*indexPlan {
	var out []*indexPlan
	for _, x := range p.indexes {
		if !slices.ContainsFunc(old.Indexes, func(o *catalog.Index) bool { return o.ID == x.index.ID }) {
			out = append(out, x)
		}
	}
	return out
}

func (tx *transaction) checkBackfill() error {
	for _, u := range tx.uniques {
		if u.check() != nil {
			return status.Errorf(codes.FailedPrecondition, "Found uniqueness violation on index %s, duplicate key: %s.", u.index.index.Name, u.index.keyText(u.index.tree.live(u.key)))
		}
	}
	tx.uniques = nil
	return nil
}

func columnsChanged(old, next *catalog.Table) bool {
	for _, c := range next.Columns {
		o := columnAt(old, c.Slot)
		if o == nil {
			if c.Default != nil || c.Generated != nil || c.NotNull || c.Identity != nil {
				return true
			}
			continue
		}
		if !o.Type.Equal(c.Type) || o.MaxLen != c.MaxLen || o.NotNull != c.NotNull || o.Generated != c.Generated || c.AllowCommitTimestamp && !o.AllowCommitTimestamp {
			return true
		}
	}
	return false
}

func columnAt(t *catalog.Table, slot int) *catalog.Column {
	for _, c := range t.Columns {
		if c.Slot == slot {
			return c
		}
	}
	return nil
}

// migrateRow gives new columns their values and existing ones their new form,
// and checks the result.
func (tx *transaction) migrateRow(p *plan, old *catalog.Table, e Entry) (value.Row, error) {
	row := e.Row
	for _, c := range p.table.Columns {
		cell, err := tx.migrateCell(p, columnAt(old, c.Slot), c, row)
		if err != nil {
			return nil, err
		}
		if cell != nil {
			row = withCell(row, c.Slot, cell, p.table.Slots)
		}
	}
	row, err := p.recompute(row)
	if err != nil {
		return nil, err
	}
	for _, c := range p.table.Columns {
		err := checkCell(p.table, c, row.Cell(c.Slot))
		if err == nil {
			err = checkFuture(c, row.Cell(c.Slot), tx.ts)
		}
		if err != nil {
			return nil, status.Errorf(codes.FailedPrecondition, "Schema change failed on existing data: %s", status.Convert(err).Message())
		}
	}
	if string(row) == string(e.Row) {
		return row, nil
	}
	tx.put(p, p.tree, e.Key, row)
	for _, x := range p.indexes {
		if slices.ContainsFunc(old.Indexes, func(o *catalog.Index) bool { return o.ID == x.index.ID }) {
			if err := tx.reindex(p, x, e.Row, row); err != nil {
				return nil, err
			}
		}
	}
	return row, nil
}

// migrateCell is the new value of one column, nil if it stays.
func (tx *transaction) migrateCell(p *plan, old, c *catalog.Column, row value.Row) ([]byte, error) {
	switch {
	case old == nil && p.defaults[c.Slot] != nil:
		return p.defaults[c.Slot].cell(tx.ts)
	case old == nil && c.Identity != nil:
		return value.Int64(p.identity[c.Slot].Next()).AppendWire(nil), nil
	case old != nil && !old.Type.Equal(c.Type):
		v, err := value.FromWire(old.Type, row.Cell(c.Slot))
		if err != nil {
			return nil, err
		}
		return convertText(v, c.Type)
	}
	return nil, nil
}

// convertText turns a STRING into BYTES and back, as ALTER COLUMN may.
func convertText(v value.Value, to *value.Type) ([]byte, error) {
	if v.IsNull() {
		return value.Null(to).AppendWire(nil), nil
	}
	if to.Code == value.BytesCode {
		return value.Bytes(v.AsString()).AppendWire(nil), nil
	}
	out := value.String(v.AsString()).AppendWire(nil)
	if _, err := value.FromWire(to, out); err != nil {
		return nil, status.Error(codes.FailedPrecondition, "Schema change failed on existing data: BYTES that are no valid UTF-8 cannot become a STRING.")
	}
	return out, nil
}
