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

// Longest STRING, in characters, and BYTES, in bytes.
const (
	MaxStringLength = 2_621_440
	MaxBytesLength  = 10_485_760
)

func (e *editor) column(table string, def *ast.ColumnDef) (*Column, error) {
	c := &Column{Name: def.Name.Name, NotNull: def.NotNull, Hidden: !def.Hidden.Invalid()}
	if err := e.checkName("Column", c.Name); err != nil {
		return nil, err
	}
	if err := e.setType(c, def.Type); err != nil {
		return nil, err
	}
	if err := e.setSemantics(c, def.DefaultSemantics); err != nil {
		return nil, err
	}
	if def.Options != nil {
		return c, setColumnOptions(c, table, def.Options)
	}
	return c, nil
}

func (e *editor) setType(c *Column, t ast.SchemaType) error {
	switch t := t.(type) {
	case *ast.ScalarSchemaType:
		typ, ok := value.ScalarType(string(t.Name))
		if !ok || typ == value.IntervalType {
			return status.Errorf(codes.InvalidArgument, "Column %s has unsupported type %s.", c.Name, t.Name)
		}
		if typ == value.StringType || typ == value.BytesType {
			return status.Errorf(codes.InvalidArgument, "Column %s: %s needs a length.", c.Name, t.Name)
		}
		c.Type = typ
		return nil
	case *ast.SizedSchemaType:
		return setSizedType(c, t)
	case *ast.ArraySchemaType:
		return e.setArrayType(c, t)
	case *ast.NamedType:
		if len(t.Path) == 1 && strings.EqualFold(t.Path[0].Name, "UUID") {
			c.Type = value.UUIDType
			return nil
		}
		if typ, ok := e.protoType(namedType(t)); ok {
			c.Type = typ
			return nil
		}
		if typ, ok := postgreSQLType(t.Path); ok {
			c.Type = typ
			return nil
		}
		return status.Errorf(codes.InvalidArgument, "Column %s: type %s is neither a type of Spanner nor in the PROTO BUNDLE.", c.Name, t.SQL())
	}
	return status.Errorf(codes.Unimplemented, "Column %s: type %s is not supported", c.Name, t.SQL())
}

func setSizedType(c *Column, t *ast.SizedSchemaType) error {
	c.Type, _ = value.ScalarType(string(t.Name))
	c.MaxLen = 0
	if t.Max {
		return nil
	}
	limit := int64(MaxStringLength)
	if c.Type == value.BytesType {
		limit = MaxBytesLength
	}
	n, err := strconv.ParseInt(t.Size.SQL(), 0, 64)
	if err != nil || n < 1 || n > limit {
		return status.Errorf(codes.InvalidArgument, "Invalid length for column: %s, found: %s, valid range: [1, %d].", c.Name, t.Size.SQL(), limit)
	}
	c.MaxLen = n
	return nil
}

func (e *editor) setArrayType(c *Column, t *ast.ArraySchemaType) error {
	if _, nested := t.Item.(*ast.ArraySchemaType); nested {
		return status.Errorf(codes.InvalidArgument, "Column %s: arrays of arrays are not allowed.", c.Name)
	}
	if err := e.setType(c, t.Item); err != nil {
		return err
	}
	c.Type = value.ArrayOf(c.Type)
	for _, arg := range t.NamedArgs {
		n, err := strconv.ParseInt(arg.Value.SQL(), 0, 64)
		if !strings.EqualFold(arg.Name.Name, "vector_length") || err != nil {
			return status.Errorf(codes.InvalidArgument, "Column %s: invalid array argument %s.", c.Name, arg.SQL())
		}
		c.VectorLength = n
	}
	return nil
}

func (e *editor) setSemantics(c *Column, sem ast.ColumnDefaultSemantics) error {
	switch d := sem.(type) {
	case nil:
	case *ast.ColumnDefaultExpr:
		c.Default = e.expr(d.Expr)
		if d.OnUpdate != nil {
			c.OnUpdate = e.expr(d.OnUpdate.Expr)
		}
	case *ast.GeneratedColumnExpr:
		c.Generated = e.expr(d.Expr)
		c.Stored = !d.Stored.Invalid()
	case *ast.AutoIncrement:
		return e.setIdentity(c, &Identity{AutoIncrement: true}, nil)
	case *ast.IdentityColumn:
		return e.setIdentity(c, &Identity{}, d.Params)
	}
	return nil
}

func (e *editor) setIdentity(c *Column, id *Identity, params []ast.SequenceParam) error {
	if c.Type.Code != value.Int64Code {
		return status.Errorf(codes.InvalidArgument, "Identity column %s must be of type %s.", c.Name, typeName(value.Int64Type, e.PostgreSQL))
	}
	c.Identity = id
	for _, p := range params {
		switch p := p.(type) {
		case *ast.BitReversedPositive:
			c.Identity.Kind = "BIT_REVERSED_POSITIVE"
		case *ast.StartCounterWith:
			c.Identity.StartWithCounter = intLiteral(p.Counter)
		case *ast.SkipRange:
			c.Identity.SkipRangeMin, c.Identity.SkipRangeMax = intLiteral(p.Min), intLiteral(p.Max)
		}
	}
	return e.checkSequenceKind(c)
}

// checkSequenceKind: an identity column that names no kind takes the
// database's.
func (e *editor) checkSequenceKind(c *Column) error {
	if _, set := e.Option("default_sequence_kind"); set || c.Identity.Kind != "" {
		return nil
	}
	return status.Errorf(codes.InvalidArgument, "The sequence kind of an identity column %s is not specified. Please specify the sequence kind explicitly or set the database option `default_sequence_kind`.", c.Name)
}

func intLiteral(l *ast.IntLiteral) *int64 {
	n, err := strconv.ParseInt(l.Value, 0, 64)
	if err != nil {
		return nil
	}
	return &n
}

func setColumnOptions(c *Column, table string, o *ast.Options) error {
	for _, r := range o.Records {
		if !strings.EqualFold(r.Name.Name, "allow_commit_timestamp") {
			return status.Errorf(codes.InvalidArgument, "Option: %s is unknown.", r.Name.Name)
		}
		if c.Type.Code != value.TimestampCode {
			return status.Errorf(codes.FailedPrecondition, "Option only allowed on TIMESTAMP columns: %s.%s.", table, c.Name)
		}
		switch v := r.Value.(type) {
		case *ast.BoolLiteral:
			c.AllowCommitTimestamp = v.Value
		case *ast.NullLiteral:
			c.AllowCommitTimestamp = false
		default:
			return status.Error(codes.InvalidArgument, "Unexpected value for option: allow_commit_timestamp. Supported option values are true, false, and null.")
		}
	}
	return nil
}

func (e *editor) alterAddColumn(t *Table, a *ast.AddColumn) error {
	if _, exists := t.Column(a.Column.Name.Name); exists && a.IfNotExists {
		return nil
	}
	if a.Column.PrimaryKey {
		return status.Errorf(codes.FailedPrecondition, "Cannot add primary key column %s to table %s.", a.Column.Name.Name, t.Name)
	}
	if a.Column.NotNull && a.Column.DefaultSemantics == nil {
		return status.Errorf(codes.InvalidArgument, "Cannot add NOT NULL column %s.%s to existing table %s.", t.Name, a.Column.Name.Name, t.Name)
	}
	err := e.edit(t, func(t *Table) error { return e.addColumn(t, a.Column) })
	if err != nil {
		return err
	}
	return e.checkGenerated(t.Name)
}

func (e *editor) alterColumn(t *Table, a *ast.AlterColumn) error {
	if _, ok := t.Column(a.Name.Name); !ok {
		return status.Errorf(codes.NotFound, "Column not found in table %s: %s", t.Name, a.Name.Name)
	}
	err := e.edit(t, func(t *Table) error {
		c, _ := t.Column(a.Name.Name)
		return e.changeColumn(t, c, a.Alteration)
	})
	if err != nil {
		return err
	}
	return e.checkGenerated(t.Name)
}

func (e *editor) changeColumn(t *Table, c *Column, alteration ast.ColumnAlteration) error {
	switch a := alteration.(type) {
	case *ast.AlterColumnType:
		return e.changeType(t, c, a)
	case *ast.AlterColumnSetOptions:
		return setColumnOptions(c, t.Name, a.Options)
	case *ast.AlterColumnSetDefault:
		if c.Generated != nil {
			return status.Errorf(codes.FailedPrecondition, "Cannot set default value on generated column `%s.%s`.", t.Name, c.Name)
		}
		return e.setSemantics(c, a.DefaultExpr)
	case *ast.AlterColumnDropDefault:
		c.Default = nil
		return nil
	case *ast.AlterColumnSetOnUpdate:
		c.OnUpdate = e.expr(a.OnUpdate.Expr)
		return nil
	case *ast.AlterColumnDropOnUpdate:
		c.OnUpdate = nil
		return nil
	case *ast.AlterColumnAlterIdentity:
		return alterIdentity(t, c, a.Alteration)
	}
	return status.Errorf(codes.Unimplemented, "ALTER COLUMN %s is not supported", alteration.SQL())
}

func alterIdentity(t *Table, c *Column, alteration ast.IdentityAlteration) error {
	if c.Identity == nil {
		return status.Errorf(codes.FailedPrecondition, "Column `%s.%s` is not an identity column.", t.Name, c.Name)
	}
	id := *c.Identity
	switch a := alteration.(type) {
	case *ast.RestartCounterWith:
		id.StartWithCounter = intLiteral(a.Counter)
	case *ast.SetSkipRange:
		id.SkipRangeMin, id.SkipRangeMax = intLiteral(a.SkipRange.Min), intLiteral(a.SkipRange.Max)
	case *ast.SetNoSkipRange:
		id.SkipRangeMin, id.SkipRangeMax = nil, nil
	}
	c.Identity = &id
	return nil
}

// changeType allows what Spanner allows: another length, STRING to BYTES and
// back, NOT NULL on and off. Whether the rows fit is checked against the data.
func (e *editor) changeType(t *Table, c *Column, a *ast.AlterColumnType) error {
	old := *c
	if err := e.setType(c, a.Type); err != nil {
		return err
	}
	if !convertible(old.Type, c.Type) {
		return cannotChangeType(t, c, &old)
	}
	c.NotNull = a.NotNull
	if t.IsKey(c.Ordinal) && (c.NotNull != old.NotNull || !c.Type.Equal(old.Type)) {
		return status.Errorf(codes.FailedPrecondition, "Cannot change key column %s.", c.Name)
	}
	c.Default, c.OnUpdate = nil, nil
	if a.DefaultExpr != nil {
		return e.setSemantics(c, a.DefaultExpr)
	}
	if a.GeneratedExpr != nil {
		return e.setSemantics(c, a.GeneratedExpr)
	}
	if old.Generated != nil {
		return status.Errorf(codes.FailedPrecondition, "Cannot convert generated column `%s.%s` to a regular column.", t.Name, c.Name)
	}
	return nil
}

// convertible tells whether a column may change its type: between lengths and
// between text and bytes.
func convertible(from, to *value.Type) bool {
	return to.Equal(from) || textual(to) && textual(from) && to.Code == from.Code || isText(to) && isText(from)
}

func cannotChangeType(t *Table, c, old *Column) error {
	return status.Errorf(codes.FailedPrecondition, "Cannot change type of column `%s.%s` from `%s` to `%s`.", t.Name, c.Name, t.typeName(old.Type), t.typeName(c.Type))
}

// postgreSQLType is the type that the PostgreSQL dialect alone has under the
// name PG.x.
func postgreSQLType(path []*ast.Ident) (*value.Type, bool) {
	if len(path) != 2 || path[0].Name != "PG" {
		return nil, false
	}
	return value.PGType(path[1].Name)
}

func isText(t *value.Type) bool { return t.Code == value.StringCode || t.Code == value.BytesCode }

func textual(t *value.Type) bool {
	return isText(t) || t.Code == value.ArrayCode && isText(t.Elem)
}

func (e *editor) dropColumn(t *Table, name string) error {
	c, ok := t.Column(name)
	if !ok {
		return status.Errorf(codes.NotFound, "Column not found in table %s: %s", t.Name, name)
	}
	if err := e.columnDroppable(t, c); err != nil {
		return err
	}
	return e.edit(t, func(t *Table) error {
		t.Columns = slices.Delete(t.Columns, c.Ordinal, c.Ordinal+1)
		t.shiftOrdinals(c.Ordinal)
		return nil
	})
}

// shiftOrdinals renumbers references to columns behind a dropped one.
func (t *Table) shiftOrdinals(dropped int) {
	shift := func(n *int) {
		if *n > dropped {
			*n--
		}
	}
	shiftKey := func(key []KeyPart) []KeyPart {
		key = slices.Clone(key)
		for i := range key {
			shift(&key[i].Column)
		}
		return key
	}
	shiftAll := func(list []int) []int {
		list = slices.Clone(list)
		for i := range list {
			shift(&list[i])
		}
		return list
	}
	t.PrimaryKey = shiftKey(t.PrimaryKey)
	for i, x := range t.Indexes {
		c := *x
		c.Key, c.Suffix = shiftKey(x.Key), shiftKey(x.Suffix)
		c.Storing, c.NotNullColumns = shiftAll(x.Storing), shiftAll(x.NotNullColumns)
		t.Indexes[i] = &c
	}
	for i, f := range t.ForeignKeys {
		c := *f
		c.Columns = shiftAll(f.Columns)
		t.ForeignKeys[i] = &c
	}
}

func (e *editor) columnDroppable(t *Table, c *Column) error {
	if t.IsKey(c.Ordinal) {
		return status.Errorf(codes.FailedPrecondition, "Cannot drop key column %s from table %s.", c.Name, t.Name)
	}
	for _, x := range t.Indexes {
		if slices.Contains(x.EntryColumns(), c.Ordinal) || slices.Contains(x.NotNullColumns, c.Ordinal) {
			return status.Errorf(codes.FailedPrecondition, "Cannot drop column %s from table %s because it is used by index %s.", c.Name, t.Name, x.Name)
		}
	}
	for _, f := range t.ForeignKeys {
		if slices.Contains(f.Columns, c.Ordinal) {
			return status.Errorf(codes.FailedPrecondition, "Cannot drop column `%s` from table `%s` because it is used by foreign key `%s`.", c.Name, t.Name, f.Name)
		}
	}
	for _, o := range e.Tables {
		for _, f := range o.ForeignKeys {
			if strings.EqualFold(f.ReferencedTable, t.Name) && containsFold(f.ReferencedColumns, c.Name) {
				return status.Errorf(codes.FailedPrecondition, "Cannot drop column `%s` from table `%s` because it is used by foreign key `%s`.", c.Name, t.Name, f.Name)
			}
		}
	}
	for _, k := range t.Checks {
		if containsFold(Columns(k.Expr.Node), c.Name) {
			return status.Errorf(codes.FailedPrecondition, "Cannot drop column %s from table %s because it is used by check constraint %s.", c.Name, t.Name, k.Name)
		}
	}
	for _, o := range t.Columns {
		if o.Generated != nil && containsFold(Columns(o.Generated.Node), c.Name) {
			return status.Errorf(codes.FailedPrecondition, "Cannot drop column %s from table %s because it is referenced by generated column %s.", c.Name, t.Name, o.Name)
		}
	}
	if p := t.RowDeletionPolicy; p != nil && strings.EqualFold(p.Column, c.Name) {
		return status.Errorf(codes.FailedPrecondition, "Cannot drop column %s from table %s because it is used by the row deletion policy.", c.Name, t.Name)
	}
	return e.untrackedColumn(t, c)
}

// Columns lists the column names an expression from DDL refers to, as they are
// written there, each once.
func Columns(expr ast.Expr) []string {
	var names []string
	ast.Inspect(expr, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			// The function's own name is a path, too.
			for _, arg := range n.Args {
				if a, ok := arg.(*ast.ExprArg); ok {
					for _, c := range Columns(a.Expr) {
						if !containsFold(names, c) {
							names = append(names, c)
						}
					}
				}
			}
			return false
		case ast.Type:
			return false
		case *ast.Ident:
			if !containsFold(names, n.Name) {
				names = append(names, n.Name)
			}
		}
		return true
	})
	return names
}

// checkGenerated: no generated column depends on itself through others, and only
// columns that may hold commit timestamps take one by default.
func (e *editor) checkGenerated(table string) error {
	t, _ := e.Table(table)
	for _, c := range t.Columns {
		if (c.Default.IsPendingCommitTimestamp() || c.OnUpdate.IsPendingCommitTimestamp()) && !c.AllowCommitTimestamp {
			return status.Errorf(codes.FailedPrecondition, "Cannot use PENDING_COMMIT_TIMESTAMP() as a value of column `%s.%s`, which does not set allow_commit_timestamp.", t.Name, c.Name)
		}
		if c.OnUpdate != nil && c.Default == nil {
			return status.Errorf(codes.FailedPrecondition, "Column `%s.%s` has ON UPDATE without DEFAULT.", t.Name, c.Name)
		}
		if c.Generated == nil {
			continue
		}
		if err := t.checkReferences(c, c, 0); err != nil {
			return err
		}
	}
	return nil
}

func (t *Table) checkReferences(start, c *Column, depth int) error {
	if depth > len(t.Columns) {
		return status.Errorf(codes.FailedPrecondition, "Generated column `%s.%s` depends on itself.", t.Name, start.Name)
	}
	for _, name := range Columns(c.Generated.Node) {
		dep, ok := t.Column(name)
		if !ok {
			continue // a date part or a field name; compiling the expression tells
		}
		if dep.Generated != nil {
			if err := t.checkReferences(start, dep, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}
