package postgres

import (
	"slices"
	"strings"

	"github.com/cloudspannerecosystem/memefish/ast"
	"github.com/cloudspannerecosystem/memefish/token"
)

func (p *parser) createTable(at token.Pos) ast.Statement {
	t := &ast.CreateTable{Create: at, PrimaryKeyRparen: token.InvalidPos, IfNotExists: p.ifNotExists(), Name: p.path()}
	if strings.HasPrefix(t.Name.Idents[len(t.Name.Idents)-1].Name, "pg_") {
		p.refused("'pg_' is not supported as a prefix for a table name.")
	}
	p.wantSign("(")
	if !p.isSign(")") {
		p.list(func() { p.tableElement(t) })
	}
	t.Rparen = p.tok().pos
	p.wantSign(")")
	p.tableTail(t)
	p.checkPrimaryKey(t)
	for _, c := range t.Columns {
		if c.PrimaryKey || slices.ContainsFunc(t.PrimaryKeys, func(k *ast.IndexKey) bool { return k.Name.Name == c.Name.Name }) {
			c.NotNull = true
		}
	}
	return t
}

// checkPrimaryKey refuses a second one, at a column or for the table.
func (p *parser) checkPrimaryKey(t *ast.CreateTable) {
	n := 0
	if t.PrimaryKeyRparen != token.InvalidPos {
		n = 1
	}
	for _, c := range t.Columns {
		if c.PrimaryKey {
			n++
		}
	}
	if n > 1 {
		p.refused("Primary key can be only defined once.")
	}
}

// tableTail reads INTERLEAVE IN and TTL, in any order, a comma before or not.
func (p *parser) tableTail(t *ast.CreateTable) {
	for p.err == nil {
		p.takeSign(",")
		switch at := p.tok().pos; {
		case t.Cluster == nil && p.takeWords("interleave", "in"):
			t.Cluster = &ast.Cluster{Comma: at, Enforced: p.parentWord(), TableName: p.path()}
			t.Cluster.OnDelete, t.Cluster.OnDeleteEnd = p.onDelete()
		case t.RowDeletionPolicy == nil && p.takeWords("ttl"):
			t.RowDeletionPolicy = &ast.CreateRowDeletionPolicy{Comma: at, RowDeletionPolicy: p.ttl()}
		default:
			return
		}
	}
}

// parentWord takes the PARENT of INTERLEAVE IN PARENT t, unless that is the
// name of the table.
func (p *parser) parentWord() bool {
	next := p.peek(1)
	if next.kind == kindEnd || next.kind == kindSign || next.kind == kindName && (next.text == "on" || next.text == "ttl" && p.peek(2).is(kindName, "interval")) {
		return false
	}
	return p.takeWords("parent")
}

func (p *parser) onDelete() (ast.OnDeleteAction, token.Pos) {
	if !p.takeWords("on", "delete") {
		return "", token.InvalidPos
	}
	if p.takeWords("cascade") {
		return ast.OnDeleteCascade, p.prevEnd()
	}
	p.wantWords("no", "action")
	return ast.OnDeleteNoAction, p.prevEnd()
}

// tableElement reads a column or a constraint of the table.
func (p *parser) tableElement(t *ast.CreateTable) {
	switch {
	case p.isWord("primary") && p.peek(1).is(kindName, "key"):
		p.primaryKey(t)
	case p.isWord("constraint", "check", "foreign"):
		t.TableConstraints = append(t.TableConstraints, p.tableConstraint())
	case p.isWord("unique", "like"):
		p.noConstraint()
	default:
		c := p.column(func(k *ast.TableConstraint) { t.TableConstraints = append(t.TableConstraints, k) })
		t.Columns = append(t.Columns, c)
	}
}

func (p *parser) primaryKey(t *ast.CreateTable) {
	p.wantWords("primary", "key")
	if t.PrimaryKeyRparen != token.InvalidPos {
		p.refused("Primary key can be only defined once.")
	}
	p.wantSign("(")
	if !p.isSign(")") {
		p.list(func() {
			t.PrimaryKeys = append(t.PrimaryKeys, &ast.IndexKey{DirPos: token.InvalidPos, Name: p.ident()})
		})
	}
	t.PrimaryKeyRparen = p.tok().pos
	p.wantSign(")")
	p.notDeferrable()
}

// notDeferrable reads what says of a constraint that it is checked at once,
// as all are.
func (p *parser) notDeferrable() {
	for p.takeWords("not", "deferrable") || p.takeWords("initially", "immediate") {
	}
	if p.isWord("deferrable", "initially") {
		p.refused("<DEFERRABLE> constraints are not supported.")
	}
}

// noConstraint refuses a constraint that Spanner does not know.
func (p *parser) noConstraint() {
	switch {
	case p.isWord("unique"):
		p.refused("<UNIQUE> constraint is not supported, create a unique index instead.")
	case p.isWord("like"):
		p.refused("<LIKE> clause is not supported in <CREATE TABLE> statement.")
	case p.isWord("primary"):
		p.refused("Setting a name of a <PRIMARY KEY> constraint is not supported.")
	case p.isWord("not"):
		p.refused("Setting a name of a <NOT NULL> constraint is not supported.")
	case p.isWord("exclude"):
		p.refused("Constraint type is not supported.")
	default:
		p.unexpected()
	}
}

// column reads a column; constraints written at it go to the table.
func (p *parser) column(constraint func(*ast.TableConstraint)) *ast.ColumnDef {
	c := &ast.ColumnDef{Null: token.InvalidPos, Key: token.InvalidPos, Hidden: token.InvalidPos, Name: p.ident()}
	p.plainNames([]*ast.Ident{c.Name})
	t := p.typeName()
	c.Type = p.schemaType(t)
	if t.name == "spanner.commit_timestamp" {
		c.Options = commitTimestamp(t)
	}
	if t.name == "bigserial" {
		c.DefaultSemantics = &ast.IdentityColumn{Generated: t.pos, Identity: t.pos, Rparen: token.InvalidPos}
	}
	if p.takeWords("vector") {
		p.wantWords("length")
		n := p.wholeNumber()
		if array, ok := c.Type.(*ast.ArraySchemaType); ok {
			array.NamedArgs = []*ast.NamedArg{{Name: &ast.Ident{Name: "vector_length"}, Value: n}}
		} else {
			p.failAt(n.Pos(), "VECTOR LENGTH is for arrays")
		}
	}
	null := false
	for p.err == nil && p.columnConstraint(c, &null, constraint) {
	}
	switch {
	case null && c.PrimaryKey:
		p.refused("Nullable <PRIMARY KEY> columns are not supported.")
	case null && c.NotNull:
		p.failAt(c.Name.Pos(), `conflicting NULL/NOT NULL declarations for column "`+c.Name.Name+`"`)
	}
	return c
}

func commitTimestamp(t typeName) *ast.Options {
	return &ast.Options{Options: t.pos, Rparen: t.end - 1, Records: []*ast.OptionsDef{{
		Name:  &ast.Ident{NamePos: t.pos, NameEnd: t.end, Name: "allow_commit_timestamp"},
		Value: &ast.BoolLiteral{ValuePos: t.pos, Value: true},
	}}}
}

// columnConstraint reads one of NOT NULL, DEFAULT, GENERATED, PRIMARY KEY,
// CHECK and REFERENCES; false if none comes. null becomes true where it is NULL.
func (p *parser) columnConstraint(c *ast.ColumnDef, null *bool, constraint func(*ast.TableConstraint)) bool {
	switch at := p.tok().pos; {
	case p.takeWords("not", "null"):
		c.NotNull, c.Null = true, p.prevEnd()-4
	case p.takeWords("null"):
		*null = true
	case p.takeWords("primary", "key"):
		c.PrimaryKey, c.Key = true, p.prevEnd()-3
		p.notDeferrable()
	case p.takeWords("hidden"):
		c.Hidden = at
	case p.takeWords("default"):
		c.DefaultSemantics = p.defaultExpr(at)
	case p.takeWords("generated"):
		p.generated(c, at)
	case p.isWord("check"), p.isWord("constraint") && p.peek(2).is(kindName, "check"):
		constraint(p.tableConstraint())
	case p.isWord("references"):
		constraint(p.columnReference(c, nil))
	case p.isWord("constraint") && p.peek(2).is(kindName, "references"):
		p.next()
		constraint(p.columnReference(c, p.plainNames([]*ast.Ident{p.ident()})[0]))
	case p.takeWords("constraint"):
		p.ident()
		p.noConstraint()
	case p.isWord("unique"):
		p.noConstraint()
	case p.isWord("collate"):
		p.refused("<COLLATE> clause is not supported in column definition.")
	default:
		return false
	}
	return true
}

// defaultExpr reads what follows DEFAULT. Parentheses stay, as without them a
// comparison or a NOT would be none of it, but for those around a literal.
func (p *parser) defaultExpr(at token.Pos) *ast.ColumnDefaultExpr {
	x := p.operators()
	d := &ast.ColumnDefaultExpr{Default: at, Expr: x, Rparen: p.prevEnd() - 1}
	for paren, ok := x.(*ast.ParenExpr); ok; paren, ok = x.(*ast.ParenExpr) {
		x = paren.Expr
	}
	switch x.(type) {
	case *ast.IntLiteral, *ast.FloatLiteral, *ast.StringLiteral, *ast.BoolLiteral, *ast.NullLiteral:
		d.Expr = x
	}
	return d
}

// generated reads ALWAYS AS (expr) STORED, or BY DEFAULT AS IDENTITY (...).
func (p *parser) generated(c *ast.ColumnDef, at token.Pos) {
	if p.takeWords("by", "default", "as", "identity") {
		id := &ast.IdentityColumn{Generated: at, Identity: p.prevEnd() - 8, Rparen: token.InvalidPos}
		if p.takeSign("(") {
			id.Params = p.sequenceParams()
			id.Rparen = p.tok().pos
			p.wantSign(")")
		}
		c.DefaultSemantics = id
		return
	}
	p.wantWords("always", "as")
	p.wantSign("(")
	g := &ast.GeneratedColumnExpr{As: at, Stored: token.InvalidPos, Expr: p.expr()}
	g.Rparen = p.tok().pos
	p.wantSign(")")
	if p.takeWords("stored") {
		g.Stored = p.prevEnd() - 6
	} else {
		p.takeWords("virtual")
	}
	c.DefaultSemantics = g
}

// columnReference is a foreign key of one column.
func (p *parser) columnReference(c *ast.ColumnDef, name *ast.Ident) *ast.TableConstraint {
	k := &ast.ForeignKey{Foreign: p.tok().pos, Columns: []*ast.Ident{c.Name}}
	p.references(k)
	return &ast.TableConstraint{ConstraintPos: k.Foreign, Name: name, Constraint: k}
}

func (p *parser) tableConstraint() *ast.TableConstraint {
	c := &ast.TableConstraint{ConstraintPos: token.InvalidPos}
	if at := p.tok().pos; p.takeWords("constraint") {
		c.ConstraintPos, c.Name = at, p.ident()
		p.plainNames([]*ast.Ident{c.Name})
	}
	switch at := p.tok().pos; {
	case p.takeWords("check"):
		p.wantSign("(")
		k := &ast.Check{Check: at, Expr: p.expr()}
		k.Rparen = p.tok().pos
		p.wantSign(")")
		c.Constraint = k
	case p.takeWords("foreign", "key"):
		k := &ast.ForeignKey{Foreign: at, Columns: p.idents()}
		p.references(k)
		c.Constraint = k
	default:
		p.noConstraint()
	}
	return c
}

// noUpdate reads ON UPDATE NO ACTION, which is what happens.
func (p *parser) noUpdate() {
	if p.takeWords("on", "update") && !p.takeWords("no", "action") {
		p.refused("<ON UPDATE> action of a foreign key can only be <NO ACTION>.")
	}
}

func (p *parser) references(k *ast.ForeignKey) {
	k.OnDeleteEnd, k.Enforced = token.InvalidPos, token.InvalidPos
	p.wantWords("references")
	k.ReferenceTable = p.path()
	k.ReferenceColumns = p.idents()
	k.Rparen = p.prevEnd() - 1
	p.takeWords("match", "simple")
	p.noUpdate()
	k.OnDelete, k.OnDeleteEnd = p.onDelete()
	p.noUpdate()
	p.notDeferrable()
	switch {
	case p.takeWords("not", "enforced"):
		k.Enforcement, k.Enforced = ast.NotEnforced, p.prevEnd()-8
	case p.takeWords("enforced"):
		k.Enforcement, k.Enforced = ast.Enforced, p.prevEnd()-8
	}
}
