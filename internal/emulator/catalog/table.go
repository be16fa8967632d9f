package catalog

import (
	"slices"
	"strconv"
	"strings"

	"github.com/cloudspannerecosystem/memefish/ast"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/emulator/value"
)

// Limits of the service.
const (
	maxColumns         = 1024
	maxKeyColumns      = 16
	maxIndexesPerTable = 128
	maxInterleaveDepth = 7
)

func (e *editor) createTable(d *ast.CreateTable) error {
	name := pathName(d.Name)
	if _, exists := e.Table(name); exists && d.IfNotExists {
		return nil
	}
	if err := e.freeName("Table", name); err != nil {
		return err
	}
	if len(d.Synonyms) > 0 {
		return status.Error(codes.Unimplemented, "Table synonyms are not supported")
	}
	t := &Table{ID: e.newID(), Name: name, exact: e.PostgreSQL}
	for _, def := range d.Columns {
		if err := e.addColumn(t, def); err != nil {
			return err
		}
	}
	t.index()
	if err := setPrimaryKey(t, d); err != nil {
		return err
	}
	if err := e.interleave(t, d.Cluster); err != nil {
		return err
	}
	if d.RowDeletionPolicy != nil {
		if err := setRowDeletionPolicy(t, d.RowDeletionPolicy.RowDeletionPolicy); err != nil {
			return err
		}
	}
	e.Tables = append(e.Tables, t)
	e.reindex()
	for _, c := range d.TableConstraints {
		if err := e.addConstraint(name, c); err != nil {
			return err
		}
	}
	return e.checkGenerated(name)
}

func (e *editor) addColumn(t *Table, def *ast.ColumnDef) error {
	c, err := e.column(t.Name, def)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(t.Columns, func(o *Column) bool { return strings.EqualFold(o.Name, c.Name) }) {
		return status.Errorf(codes.FailedPrecondition, "Duplicate column name %s.%s.", t.Name, c.Name)
	}
	if len(t.Columns) == maxColumns {
		return status.Errorf(codes.FailedPrecondition, "Table %s has too many columns; the limit is %d.", t.Name, maxColumns)
	}
	c.Ordinal, c.Slot = len(t.Columns), t.Slots
	t.Slots++
	t.Columns = append(t.Columns, c)
	return nil
}

func setPrimaryKey(t *Table, d *ast.CreateTable) error {
	keys := slices.Clone(d.PrimaryKeys)
	for _, def := range d.Columns {
		if !def.PrimaryKey {
			continue
		}
		if len(keys) > 0 || !d.PrimaryKeyRparen.Invalid() {
			return status.Errorf(codes.InvalidArgument, "Error parsing Spanner DDL statement: table %s has more than one PRIMARY KEY clause", t.Name)
		}
		keys = append(keys, &ast.IndexKey{Name: def.Name})
	}
	if len(keys) == 0 && d.PrimaryKeyRparen.Invalid() {
		return status.Errorf(codes.InvalidArgument, "Error parsing Spanner DDL statement: table %s has no PRIMARY KEY clause", t.Name)
	}
	var err error
	t.PrimaryKey, err = keyParts(t, keys, "Table "+t.Name)
	return err
}

// keyParts resolves the columns of a primary or index key.
func keyParts(t *Table, keys []*ast.IndexKey, owner string) ([]KeyPart, error) {
	if len(keys) > maxKeyColumns {
		return nil, status.Errorf(codes.InvalidArgument, "%s has too many keys (%d); the limit is %d.", owner, len(keys), maxKeyColumns)
	}
	var parts []KeyPart
	for _, k := range keys {
		c, ok := t.Column(k.Name.Name)
		if !ok {
			return nil, status.Errorf(codes.InvalidArgument, "%s references nonexistent key column %s.", owner, k.Name.Name)
		}
		if slices.ContainsFunc(parts, func(p KeyPart) bool { return p.Column == c.Ordinal }) {
			return nil, status.Errorf(codes.InvalidArgument, "%s specifies key column %s more than once.", owner, c.Name)
		}
		if !keyable(c.Type) {
			return nil, status.Errorf(codes.InvalidArgument, "%s has type %s, but is part of the key of %s.", c.Name, t.typeName(c.Type), owner)
		}
		parts = append(parts, KeyPart{Column: c.Ordinal, Desc: k.Dir == ast.DirectionDesc})
	}
	return parts, nil
}

func (t *Table) typeName(of *value.Type) string { return typeName(of, t.exact) }

// typeName is what a dialect calls a type.
func typeName(t *value.Type, postgreSQL bool) string {
	if postgreSQL {
		return t.PostgreSQL(0)
	}
	return t.String()
}

func keyable(t *value.Type) bool {
	if t.IsPGNumeric() {
		return false
	}
	switch t.Code {
	case value.ArrayCode, value.StructCode, value.JSONCode, value.ProtoCode, value.TokenListCode, value.IntervalCode:
		return false
	}
	return true
}

func (e *editor) interleave(t *Table, c *ast.Cluster) error {
	if c == nil {
		return nil
	}
	parent, err := e.table(c.TableName)
	if err != nil {
		return err
	}
	t.Parent = parent.Name
	t.Interleave = InLocality
	if c.Enforced {
		t.Interleave = InParent
	}
	if c.OnDelete == ast.OnDeleteCascade {
		t.OnDelete = Cascade
	}
	if err := checkParentKey(t, parent); err != nil {
		return err
	}
	depth := 1
	for p := parent; p.Parent != ""; depth++ {
		p, _ = e.Table(p.Parent)
	}
	if depth > maxInterleaveDepth {
		return status.Errorf(codes.FailedPrecondition, "Table %s is too deeply nested; the limit is %d tables.", t.Name, maxInterleaveDepth)
	}
	return nil
}

// checkParentKey: a child's primary key starts with its parent's, part by part.
func checkParentKey(t, parent *Table) error {
	for i, p := range parent.PrimaryKey {
		want := parent.Columns[p.Column]
		if i >= len(t.PrimaryKey) {
			return status.Errorf(codes.FailedPrecondition, "Interleaved table %s must have the primary key of its parent as a prefix; %s is missing.", t.Name, want.Name)
		}
		k := t.PrimaryKey[i]
		have := t.Columns[k.Column]
		if !strings.EqualFold(have.Name, want.Name) || !have.Type.Equal(want.Type) || k.Desc != p.Desc ||
			have.MaxLen != want.MaxLen || t.Interleave == InParent && have.NotNull != want.NotNull {
			return status.Errorf(codes.FailedPrecondition, "Interleaving of table %s within parent table %s: key column %s does not match %s in type, length, order or nullability.", t.Name, parent.Name, have.Name, want.Name)
		}
	}
	return nil
}

func setRowDeletionPolicy(t *Table, p *ast.RowDeletionPolicy) error {
	c, ok := t.Column(p.ColumnName.Name)
	if !ok || c.Type.Code != value.TimestampCode {
		return status.Errorf(codes.FailedPrecondition, "Invalid ROW DELETION POLICY: column %s of table %s must exist and be a TIMESTAMP.", p.ColumnName.Name, t.Name)
	}
	days, err := strconv.ParseInt(p.NumDays.Value, 0, 64)
	if err != nil {
		return status.Errorf(codes.InvalidArgument, "Invalid ROW DELETION POLICY: %s is no number of days.", p.NumDays.Value)
	}
	t.RowDeletionPolicy = &RowDeletionPolicy{Column: c.Name, Days: days}
	return nil
}

func (e *editor) dropTable(d *ast.DropTable) error {
	t, err := e.table(d.Name)
	if err != nil {
		if d.IfExists {
			return nil
		}
		return err
	}
	if err := e.droppable(t); err != nil {
		return err
	}
	e.Tables = slices.DeleteFunc(e.Tables, func(o *Table) bool { return o == t })
	for _, f := range t.ForeignKeys {
		e.dropReferencedIndex(f)
	}
	return nil
}

// droppable: nothing else may hang on the table.
func (e *editor) droppable(t *Table) error {
	if children := e.Children(t); len(children) > 0 {
		return status.Errorf(codes.FailedPrecondition, "Cannot drop table %s with interleaved tables.\n%s", t.Name, children[0].Name)
	}
	for _, x := range t.Indexes {
		if !x.Managed {
			return status.Errorf(codes.FailedPrecondition, "Cannot drop table %s with indices: %s.", t.Name, x.Name)
		}
	}
	for _, o := range e.Tables {
		for _, f := range o.ForeignKeys {
			if o != t && strings.EqualFold(f.ReferencedTable, t.Name) {
				return status.Errorf(codes.FailedPrecondition, "Cannot drop table `%s`. It is referenced by one or more foreign keys: `%s`.", t.Name, f.Name)
			}
		}
	}
	return e.untracked(t)
}

func (e *editor) alterTable(d *ast.AlterTable) error {
	t, err := e.table(d.Name)
	if err != nil {
		return err
	}
	switch a := d.TableAlteration.(type) {
	case *ast.AddColumn:
		return e.alterAddColumn(t, a)
	case *ast.DropColumn:
		return e.dropColumn(t, a.Name.Name)
	case *ast.AlterColumn:
		return e.alterColumn(t, a)
	case *ast.AddTableConstraint:
		return e.addConstraint(t.Name, a.TableConstraint)
	case *ast.DropConstraint:
		return e.dropConstraint(t, a.Name.Name)
	case *ast.SetOnDelete:
		return e.edit(t, func(t *Table) error { return setOnDelete(t, a.OnDelete) })
	case *ast.SetInterleaveIn:
		return e.setInterleave(t, a)
	case *ast.AddRowDeletionPolicy:
		return e.edit(t, func(t *Table) error { return setRowDeletionPolicy(t, a.RowDeletionPolicy) })
	case *ast.ReplaceRowDeletionPolicy:
		return e.edit(t, func(t *Table) error { return setRowDeletionPolicy(t, a.RowDeletionPolicy) })
	case *ast.DropRowDeletionPolicy:
		return e.edit(t, func(t *Table) error { t.RowDeletionPolicy = nil; return nil })
	}
	return status.Errorf(codes.Unimplemented, "ALTER TABLE %s is not supported", d.TableAlteration.SQL())
}

func setOnDelete(t *Table, action ast.OnDeleteAction) error {
	if t.Interleave != InParent {
		return status.Errorf(codes.FailedPrecondition, "Cannot set ON DELETE on table %s, which is not interleaved in a parent.", t.Name)
	}
	t.OnDelete = NoAction
	if action == ast.OnDeleteCascade {
		t.OnDelete = Cascade
	}
	return nil
}

// setInterleave moves a table between INTERLEAVE IN and INTERLEAVE IN PARENT
// of the parent it has; the service changes nothing else either.
func (e *editor) setInterleave(t *Table, a *ast.SetInterleaveIn) error {
	if !strings.EqualFold(t.Parent, pathName(a.TableName)) {
		return status.Errorf(codes.FailedPrecondition, "Cannot change the parent of table %s.", t.Name)
	}
	return e.edit(t, func(t *Table) error {
		return e.interleave(t, &ast.Cluster{TableName: a.TableName, Enforced: a.Enforced, OnDelete: a.OnDelete})
	})
}
