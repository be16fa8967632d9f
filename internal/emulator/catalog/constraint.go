package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cloudspannerecosystem/memefish/ast"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func (e *editor) addConstraint(table string, c *ast.TableConstraint) error {
	t, _ := e.Table(table)
	name := ""
	if c.Name != nil {
		name = c.Name.Name
		if err := e.freeName("Constraint", name); err != nil {
			return err
		}
	}
	switch k := c.Constraint.(type) {
	case *ast.Check:
		return e.edit(t, func(t *Table) error { return e.addCheck(t, name, k) })
	case *ast.ForeignKey:
		return e.addForeignKey(t, name, k)
	}
	return status.Errorf(codes.Unimplemented, "Constraint %s is not supported", c.Constraint.SQL())
}

func (e *editor) addCheck(t *Table, name string, k *ast.Check) error {
	check := &Check{Name: name, Expr: e.expr(k.Expr)}
	if name == "" {
		check.Generated = true
		check.Name = unusedName(fmt.Sprintf("CK_%s_%s", t.LocalName(), hash16(t.Name, check.Expr.Text)), func(n string) bool {
			return slices.ContainsFunc(t.Checks, func(o *Check) bool { return o.Name == n })
		})
	}
	t.Checks = append(t.Checks, check)
	return nil
}

// unusedName appends the smallest number, from 1, that makes a name unused.
func unusedName(stem string, used func(string) bool) string {
	for n := 1; ; n++ {
		if name := fmt.Sprintf("%s_%d", stem, n); !used(name) {
			return name
		}
	}
}

func (e *editor) addForeignKey(t *Table, name string, k *ast.ForeignKey) error {
	ref, ok := e.Table(pathName(k.ReferenceTable))
	if !ok {
		return status.Errorf(codes.NotFound, "Table not found: %s", pathName(k.ReferenceTable))
	}
	f := &ForeignKey{Name: name, ReferencedTable: ref.Name, Enforced: k.Enforcement != ast.NotEnforced}
	if k.OnDelete == ast.OnDeleteCascade {
		f.OnDelete = Cascade
	}
	if err := f.resolve(t, ref, k); err != nil {
		return err
	}
	if name == "" {
		f.Generated = true
		f.Name = unusedName(fmt.Sprintf("FK_%s_%s_%s", t.LocalName(), ref.LocalName(), hash16(t.Name, k.SQL())), func(n string) bool {
			return slices.ContainsFunc(t.ForeignKeys, func(o *ForeignKey) bool { return o.Name == n })
		})
	}
	if f.Enforced {
		if err := e.addBackingIndexes(t, ref, f); err != nil {
			return err
		}
		t, _ = e.Table(t.Name)
	}
	return e.edit(t, func(t *Table) error {
		t.ForeignKeys = append(t.ForeignKeys, f)
		return nil
	})
}

func (f *ForeignKey) resolve(t, ref *Table, k *ast.ForeignKey) error {
	if len(k.Columns) != len(k.ReferenceColumns) {
		return status.Errorf(codes.FailedPrecondition, "Number of columns in the foreign key on table `%s` does not match the number of referenced columns.", t.Name)
	}
	for i, id := range k.Columns {
		c, ok := t.Column(id.Name)
		if !ok {
			return status.Errorf(codes.NotFound, "Column not found in table %s: %s", t.Name, id.Name)
		}
		r, ok := ref.Column(k.ReferenceColumns[i].Name)
		if !ok {
			return status.Errorf(codes.NotFound, "Column not found in table %s: %s", ref.Name, k.ReferenceColumns[i].Name)
		}
		if !c.Type.Equal(r.Type) || !keyable(c.Type) {
			return status.Errorf(codes.FailedPrecondition, "The type of column `%s`.`%s` does not match `%s`.`%s`, or cannot be part of a foreign key.", t.Name, c.Name, ref.Name, r.Name)
		}
		f.Columns = append(f.Columns, c.Ordinal)
		f.ReferencedColumns = append(f.ReferencedColumns, r.Name)
	}
	return nil
}

// addBackingIndexes creates the indexes that make a foreign key's two look-ups
// quick: by referenced values unless they are the primary key, and by
// referencing values unless the primary key starts with them.
func (e *editor) addBackingIndexes(t, ref *Table, f *ForeignKey) error {
	refs := make([]int, len(f.ReferencedColumns))
	for i, name := range f.ReferencedColumns {
		c, _ := ref.Column(name)
		refs[i] = c.Ordinal
	}
	if len(refs) != len(ref.PrimaryKey) || !keyStartsWith(ref, refs) {
		if err := e.addManaged(ref, refs, true); err != nil {
			return err
		}
		t, _ = e.Table(t.Name)
	}
	if !keyStartsWith(t, f.Columns) {
		return e.addManaged(t, f.Columns, false)
	}
	return nil
}

// keyStartsWith tells whether the first parts of the primary key are the given
// columns, in any order.
func keyStartsWith(t *Table, ordinals []int) bool {
	if len(ordinals) > len(t.PrimaryKey) {
		return false
	}
	for _, k := range t.PrimaryKey[:len(ordinals)] {
		if !slices.Contains(ordinals, k.Column) {
			return false
		}
	}
	return true
}

func (e *editor) addManaged(t *Table, ordinals []int, unique bool) error {
	if _, found := t.managedIndex(ordinals, unique); found {
		return nil
	}
	var names []string
	x := &Index{ID: e.newID(), Table: t.Name, Unique: unique, NullFiltered: true, Managed: true}
	for _, n := range ordinals {
		names = append(names, t.Columns[n].Name)
		x.Key = append(x.Key, KeyPart{Column: n})
	}
	kind := "N"
	if unique {
		kind = "U"
	}
	cols := strings.Join(names, "_")
	x.Name = fmt.Sprintf("IDX_%s_%s_%s_%s", t.LocalName(), cols, kind, hash16(t.Name, cols, kind))
	x.Suffix = keySuffix(t, x.Key)
	return e.edit(t, func(t *Table) error {
		t.Indexes = append(t.Indexes, x)
		return nil
	})
}

func (t *Table) managedIndex(ordinals []int, unique bool) (*Index, bool) {
	for _, x := range t.Indexes {
		same := x.Managed && x.Unique == unique && slices.EqualFunc(x.Key, ordinals, func(k KeyPart, n int) bool { return k.Column == n })
		if same {
			return x, true
		}
	}
	return nil, false
}

// LookupIndex is how to find rows of t by the values of some columns: through
// a foreign key's backing index, or, when nil, through the primary key, which
// then starts with these columns.
func (t *Table) LookupIndex(ordinals []int) *Index {
	if keyStartsWith(t, ordinals) {
		return nil
	}
	for _, unique := range []bool{true, false} {
		if x, ok := t.managedIndex(ordinals, unique); ok {
			return x
		}
	}
	return nil
}

func (e *editor) dropConstraint(t *Table, name string) error {
	isName := func(n string) bool { return strings.EqualFold(n, name) }
	if i := slices.IndexFunc(t.Checks, func(c *Check) bool { return isName(c.Name) }); i >= 0 {
		return e.edit(t, func(t *Table) error {
			t.Checks = slices.Delete(t.Checks, i, i+1)
			return nil
		})
	}
	i := slices.IndexFunc(t.ForeignKeys, func(f *ForeignKey) bool { return isName(f.Name) })
	if i < 0 {
		return status.Errorf(codes.NotFound, "%s is not a constraint in %s.", name, t.Name)
	}
	f := t.ForeignKeys[i]
	err := e.edit(t, func(t *Table) error {
		t.ForeignKeys = slices.Delete(t.ForeignKeys, i, i+1)
		t.dropUnusedManaged(f.Columns, false)
		return nil
	})
	if err != nil {
		return err
	}
	e.dropReferencedIndex(f)
	return nil
}

// dropUnusedManaged drops the backing index of a referencing side unless
// another foreign key of the table uses it.
func (t *Table) dropUnusedManaged(ordinals []int, unique bool) {
	x, ok := t.managedIndex(ordinals, unique)
	if !ok || slices.ContainsFunc(t.ForeignKeys, func(f *ForeignKey) bool { return f.Enforced && slices.Equal(f.Columns, ordinals) }) {
		return
	}
	t.Indexes = slices.DeleteFunc(t.Indexes, func(o *Index) bool { return o == x })
}

// dropReferencedIndex drops the backing index of a referenced side unless
// another foreign key uses it.
func (e *editor) dropReferencedIndex(f *ForeignKey) {
	e.reindex()
	ref, ok := e.Table(f.ReferencedTable)
	if !ok {
		return
	}
	for _, t := range e.Tables {
		for _, o := range t.ForeignKeys {
			if o.Enforced && strings.EqualFold(o.ReferencedTable, ref.Name) && slices.EqualFunc(o.ReferencedColumns, f.ReferencedColumns, strings.EqualFold) {
				return
			}
		}
	}
	refs := make([]int, len(f.ReferencedColumns))
	for i, name := range f.ReferencedColumns {
		c, _ := ref.Column(name)
		refs[i] = c.Ordinal
	}
	if x, ok := ref.managedIndex(refs, true); ok {
		// edit fails only if its function does.
		_ = e.edit(ref, func(t *Table) error {
			t.Indexes = slices.DeleteFunc(t.Indexes, func(o *Index) bool { return o.Name == x.Name })
			return nil
		})
	}
}
