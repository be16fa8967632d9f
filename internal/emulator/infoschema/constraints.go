package infoschema

import (
	"slices"

	"spanbulk/internal/emulator/catalog"
)

// constraintKind is a CONSTRAINT_TYPE.
type constraintKind string

const (
	kindPrimary constraintKind = "PRIMARY KEY"
	kindUnique  constraintKind = "UNIQUE"
	kindForeign constraintKind = "FOREIGN KEY"
	kindCheck   constraintKind = "CHECK"
)

// constraint is one row of TABLE_CONSTRAINTS, and what the other views need.
type constraint struct {
	table    *catalog.Table
	name     string
	kind     constraintKind
	columns  []int
	enforced bool
	clause   string
	foreign  *catalog.ForeignKey
}

func (f *filler) constraints(each func(constraint)) {
	for _, t := range f.schema.Tables {
		each(constraint{table: t, name: "PK_" + t.LocalName(), kind: kindPrimary, columns: keyColumns(t.PrimaryKey), enforced: true})
		for _, c := range t.Columns {
			if c.NotNull {
				each(constraint{table: t, name: "CK_IS_NOT_NULL_" + t.LocalName() + "_" + c.Name, kind: kindCheck,
					columns: []int{c.Ordinal}, enforced: true, clause: c.Name + " IS NOT NULL"})
			}
		}
		for _, k := range t.Checks {
			each(constraint{table: t, name: k.Name, kind: kindCheck, columns: usedColumns(t, k), enforced: true, clause: k.Expr.Text})
		}
		for _, x := range t.Indexes {
			if x.Managed && x.Unique {
				each(constraint{table: t, name: x.Name, kind: kindUnique, columns: keyColumns(x.Key), enforced: true})
			}
		}
		for _, k := range t.ForeignKeys {
			each(constraint{table: t, name: k.Name, kind: kindForeign, columns: k.Columns, enforced: k.Enforced, foreign: k})
		}
	}
}

func keyColumns(key []catalog.KeyPart) []int {
	out := make([]int, len(key))
	for i, k := range key {
		out[i] = k.Column
	}
	return out
}

func usedColumns(t *catalog.Table, k *catalog.Check) []int {
	var out []int
	for _, name := range catalog.Columns(k.Expr.Node) {
		if c, ok := t.Column(name); ok && !slices.Contains(out, c.Ordinal) {
			out = append(out, c.Ordinal)
		}
	}
	return out
}

func tableConstraints(f *filler) {
	f.constraints(func(c constraint) {
		f.emit("", c.table.SchemaName(), c.name, "", c.table.SchemaName(), c.table.LocalName(), string(c.kind), "NO", "NO", yesNo(c.enforced))
	})
}

func keyColumnUsage(f *filler) {
	f.constraints(func(c constraint) {
		if c.kind == kindCheck {
			return
		}
		for i, n := range c.columns {
			var position any
			if c.foreign != nil {
				position = int64(i + 1)
			}
			f.emit("", c.table.SchemaName(), c.name, "", c.table.SchemaName(), c.table.LocalName(), c.table.Columns[n].Name, int64(i+1), position)
		}
	})
}

// referenced finds the table a foreign key refers to, the columns there, and
// the name of the constraint that makes them unique: a backing index or the
// primary key.
func (f *filler) referenced(k *catalog.ForeignKey) (t *catalog.Table, ordinals []int, unique string) {
	t, _ = f.schema.Table(k.ReferencedTable)
	for _, name := range k.ReferencedColumns {
		if c, ok := t.Column(name); ok {
			ordinals = append(ordinals, c.Ordinal)
		}
	}
	if x := t.LookupIndex(ordinals); x != nil {
		return t, ordinals, x.Name
	}
	return t, ordinals, "PK_" + t.LocalName()
}

func referentialConstraints(f *filler) {
	f.constraints(func(c constraint) {
		if c.foreign == nil {
			return
		}
		t, _, unique := f.referenced(c.foreign)
		f.emit("", c.table.SchemaName(), c.name, "", t.SchemaName(), unique, "SIMPLE", "NO ACTION", c.foreign.OnDelete.String(), "COMMITTED")
	})
}

func checkConstraints(f *filler) {
	f.constraints(func(c constraint) {
		if c.kind == kindCheck {
			f.emit("", c.table.SchemaName(), c.name, c.clause, "COMMITTED")
		}
	})
}

func constraintTableUsage(f *filler) {
	f.constraints(func(c constraint) {
		t := c.table
		if c.foreign != nil {
			t, _, _ = f.referenced(c.foreign)
		}
		f.emit("", t.SchemaName(), t.LocalName(), "", c.table.SchemaName(), c.name)
	})
}

func constraintColumnUsage(f *filler) {
	f.constraints(func(c constraint) {
		t, ordinals := c.table, c.columns
		if c.foreign != nil {
			t, ordinals, _ = f.referenced(c.foreign)
		}
		for _, n := range ordinals {
			f.emit("", t.SchemaName(), t.LocalName(), t.Columns[n].Name, "", c.table.SchemaName(), c.name)
		}
	})
}
