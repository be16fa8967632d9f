package writer

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"cloud.google.com/go/spanner/apiv1/spannerpb"

	"spanbulk/internal/schema"
	"spanbulk/internal/wire"
)

// Table is a table that records are written to: its columns as mutations name
// them, its key, and what a mutation costs in cells. It does not change once it
// is made and may serve several Writers.
type Table struct {
	name    string
	id      uint64 // of this process
	columns []string
	// weights are the cells of each column: one for the table and one for every
	// index that holds it.
	weights []int32
	// deleteCells are the cells of one row's delete.
	deleteCells int32
	key         []keyPart
	parent      *Table
	// apart says that the key cannot be compared with those of the ancestors,
	// since a part is generated in one table and written in the other.
	apart bool
}

// keyPart is one column of a primary key.
type keyPart struct {
	column int // position in the table's columns
	name   string
	code   spannerpb.TypeCode
	// generated parts are functions of other columns and never written; rows
	// that differ in them alone are taken for one.
	generated bool
	// defaulted says that Spanner gives the part a value where a row does not,
	// and unique that it is another one for every row.
	defaulted, unique bool
}

// tableIDs numbers tables, so that keys of different tables differ.
var tableIDs atomic.Uint64

// NewTable makes a Table of what the schema says, secondary indexes included.
// parent is the table that t is interleaved in if records may be written to
// both in one run, in whatever order they come: their rows then keep the order
// of the input among each other. Otherwise it is nil.
func NewTable(t *schema.Table, parent *Table) (*Table, error) {
	if t.View {
		return nil, fmt.Errorf("%s is a view, which cannot be written", t.Name)
	}
	out := &Table{name: t.Name.String(), id: tableIDs.Add(1), columns: t.ColumnNames(), deleteCells: 1, parent: parent}
	out.weights = slices.Repeat([]int32{1}, len(t.Columns))
	for _, x := range t.Indexes {
		out.deleteCells++
		for i, c := range t.Columns {
			if t.Declares(x, c.Name) {
				out.weights[i]++
			}
		}
	}
	for _, k := range t.PrimaryKey {
		part, err := newKeyPart(t, k.Column)
		if err != nil {
			return nil, err
		}
		out.key = append(out.key, part)
	}
	return out, out.checkAncestors()
}

func (t *Table) checkAncestors() error {
	for a := t.parent; a != nil; a = a.parent {
		if len(a.key) > len(t.key) {
			return fmt.Errorf("the key of %s does not begin with that of %s", t.name, a.name)
		}
		for i := range a.key {
			if a.key[i].generated != t.key[i].generated {
				t.apart = true
			}
		}
	}
	return nil
}

func newKeyPart(t *schema.Table, name string) (keyPart, error) {
	i := slices.IndexFunc(t.Columns, func(c schema.Column) bool { return t.Dialect.SameName(c.Name, name) })
	if i < 0 {
		return keyPart{}, fmt.Errorf("the key column %s of %s is not visible to this account", name, t.Name)
	}
	c := t.Columns[i]
	return keyPart{
		column: i, name: c.Name, code: c.Type.GetCode(),
		generated: c.Generated, defaulted: c.HasDefault, unique: makesUnique(c),
	}, nil
}

// makesUnique reports whether the column's default differs from row to row:
// that of an identity column, which has no expression, or one that makes keys up
// or takes the time.
func makesUnique(c schema.Column) bool {
	if !c.HasDefault {
		return false
	}
	expr := strings.ToUpper(c.Default)
	return expr == "" || slices.ContainsFunc([]string{"UUID", "SEQUENCE", "NEXTVAL", "CURRENT_TIMESTAMP", "COMMIT_TIMESTAMP", "NOW("},
		func(function string) bool { return strings.Contains(expr, function) })
}

// Name is the table's name as mutations spell it.
func (t *Table) Name() string { return t.name }

// Columns are the names of all columns, in the order that Record.Values has.
func (t *Table) Columns() []string { return t.columns }

// root is the topmost table of the hierarchy as far as the run writes to it.
func (t *Table) root() *Table {
	for t.parent != nil {
		t = t.parent
	}
	return t
}

// cells is what writing a row costs: a cell for each column written and each
// index that holds it; key columns count even where they are not given.
func (t *Table) cells(values []wire.Value) int32 {
	var n int32
	for i, v := range values {
		if v != nil {
			n += t.weights[i]
		}
	}
	for _, k := range t.key {
		if k.column >= len(values) || values[k.column] == nil {
			n += t.weights[k.column]
		}
	}
	return n
}
