package catalog

import (
	"slices"
	"strings"

	"github.com/cloudspannerecosystem/memefish/ast"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func (e *editor) createIndex(d *ast.CreateIndex) error {
	name := e.indexName(d)
	if _, _, exists := e.Index(name); exists && d.IfNotExists {
		return nil
	}
	if err := e.freeName("Index", name); err != nil {
		return err
	}
	t, err := e.table(d.TableName)
	if err != nil {
		return err
	}
	if !sameSchema(name, t.Name) {
		return status.Errorf(codes.InvalidArgument, "Index %s must be in the same schema as its table %s.", name, t.Name)
	}
	if len(t.Indexes) >= maxIndexesPerTable {
		return status.Errorf(codes.FailedPrecondition, "Table %s has too many indexes; the limit is %d.", t.Name, maxIndexesPerTable)
	}
	x := &Index{ID: e.newID(), Name: name, Table: t.Name, Unique: d.Unique, NullFiltered: d.NullFiltered}
	if x.Key, err = keyParts(t, d.Keys, "Index "+name); err != nil {
		return err
	}
	e.orderNulls(x.Key, d.Keys)
	x.Suffix = keySuffix(t, x.Key)
	if d.Storing != nil {
		if err := x.store(t, d.Storing.Columns); err != nil {
			return err
		}
	}
	if d.Where != nil {
		x.Where = e.expr(d.Where.Expr)
		if err := x.filter(t, d.Where.Expr); err != nil {
			return err
		}
	}
	if e.PostgreSQL && x.Unique {
		x.distinctNulls()
	}
	if d.InterleaveIn != nil {
		if err := e.interleaveIndex(t, x, d.InterleaveIn.TableName.Name); err != nil {
			return err
		}
	}
	return e.edit(t, func(t *Table) error {
		t.Indexes = append(t.Indexes, x)
		return nil
	})
}

// indexName is the whole name of a new index, which is in its table's schema. In
// the PostgreSQL dialect a statement cannot say so.
func (e *editor) indexName(d *ast.CreateIndex) string {
	name := pathName(d.Name)
	if schema, _ := splitName(pathName(d.TableName)); e.PostgreSQL && schema != "" {
		return schema + "." + name
	}
	return name
}

func sameSchema(a, b string) bool {
	schemaA, _ := splitName(a)
	schemaB, _ := splitName(b)
	return strings.EqualFold(schemaA, schemaB)
}

// keySuffix is the primary key parts that make an index entry's key unique.
func keySuffix(t *Table, key []KeyPart) []KeyPart {
	var suffix []KeyPart
	for _, k := range t.PrimaryKey {
		if !slices.ContainsFunc(key, func(p KeyPart) bool { return p.Column == k.Column }) {
			suffix = append(suffix, k)
		}
	}
	return suffix
}

func (x *Index) store(t *Table, columns []*ast.Ident) error {
	for _, id := range columns {
		c, ok := t.Column(id.Name)
		if !ok {
			return status.Errorf(codes.NotFound, "Index %s specifies stored column %s which does not exist in the index's base table %s.", x.Name, id.Name, t.Name)
		}
		if slices.Contains(x.EntryColumns(), c.Ordinal) {
			return status.Errorf(codes.FailedPrecondition, "Index %s specifies stored column %s which is a key of the index or of table %s.", x.Name, c.Name, t.Name)
		}
		x.Storing = append(x.Storing, c.Ordinal)
	}
	return nil
}

// filter reads `a IS NOT NULL [AND b IS NOT NULL ...]`, all that Spanner lets
// an index say.
func (x *Index) filter(t *Table, expr ast.Expr) error {
	switch n := expr.(type) {
	case *ast.ParenExpr:
		return x.filter(t, n.Expr)
	case *ast.BinaryExpr:
		if n.Op != ast.OpAnd {
			break
		}
		if err := x.filter(t, n.Left); err != nil {
			return err
		}
		return x.filter(t, n.Right)
	case *ast.IsNullExpr:
		id, ok := n.Left.(*ast.Ident)
		if !ok || !n.Not {
			break
		}
		c, ok := t.Column(id.Name)
		if !ok {
			return status.Errorf(codes.NotFound, "Column not found in table %s: %s", t.Name, id.Name)
		}
		x.NotNullColumns = append(x.NotNullColumns, c.Ordinal)
		return nil
	}
	return status.Errorf(codes.InvalidArgument, "Index %s: the WHERE clause may only contain column IS NOT NULL conditions joined by AND.", x.Name)
}

// distinctNulls keeps rows with a NULL in the key out of a unique index: to
// PostgreSQL no NULL is equal to another.
func (x *Index) distinctNulls() {
	for _, k := range x.Key {
		if !slices.Contains(x.NotNullColumns, k.Column) {
			x.NotNullColumns = append(x.NotNullColumns, k.Column)
		}
	}
}

func (e *editor) interleaveIndex(t *Table, x *Index, table string) error {
	parent, ok := e.Table(table)
	if !ok {
		return status.Errorf(codes.NotFound, "Table not found: %s", table)
	}
	if len(parent.PrimaryKey) > len(x.Key) {
		return status.Errorf(codes.FailedPrecondition, "Index %s cannot be interleaved within table %s: its key is shorter.", x.Name, parent.Name)
	}
	for i, p := range parent.PrimaryKey {
		want, have := parent.Columns[p.Column], t.Columns[x.Key[i].Column]
		if !strings.EqualFold(have.Name, want.Name) || !have.Type.Equal(want.Type) || x.Key[i].Desc != p.Desc {
			return status.Errorf(codes.FailedPrecondition, "Index %s cannot be interleaved within table %s: key column %s does not match %s in name, type or order.", x.Name, parent.Name, have.Name, want.Name)
		}
	}
	x.InterleaveIn = parent.Name
	return nil
}

func (e *editor) alterIndex(d *ast.AlterIndex) error {
	t, x, ok := e.Index(pathName(d.Name))
	if !ok {
		return status.Errorf(codes.NotFound, "Index not found: %s", pathName(d.Name))
	}
	c := *x
	// The entries have other cells afterwards: a new tree holds them.
	c.ID = e.newID()
	c.Storing = slices.Clone(x.Storing)
	switch a := d.IndexAlteration.(type) {
	case *ast.AddStoredColumn:
		if err := c.store(t, []*ast.Ident{a.Name}); err != nil {
			return err
		}
	case *ast.DropStoredColumn:
		col, ok := t.Column(a.Name.Name)
		if !ok || !slices.Contains(c.Storing, col.Ordinal) {
			return status.Errorf(codes.FailedPrecondition, "Column %s is not stored in index %s.", a.Name.Name, x.Name)
		}
		c.Storing = slices.DeleteFunc(c.Storing, func(n int) bool { return n == col.Ordinal })
	default:
		return status.Errorf(codes.Unimplemented, "ALTER INDEX %s is not supported", d.IndexAlteration.SQL())
	}
	return e.edit(t, func(t *Table) error {
		t.Indexes[slices.Index(t.Indexes, x)] = &c
		return nil
	})
}

func (e *editor) dropIndex(d *ast.DropIndex) error {
	t, x, ok := e.Index(pathName(d.Name))
	if !ok {
		if d.IfExists {
			return nil
		}
		return status.Errorf(codes.NotFound, "Index not found: %s", pathName(d.Name))
	}
	if x.Managed {
		return status.Errorf(codes.FailedPrecondition, "Cannot drop managed index `%s`.", x.Name)
	}
	return e.edit(t, func(t *Table) error {
		t.Indexes = slices.DeleteFunc(t.Indexes, func(o *Index) bool { return strings.EqualFold(o.Name, x.Name) })
		return nil
	})
}
