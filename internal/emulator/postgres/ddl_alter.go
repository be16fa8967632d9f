package postgres

import (
	"strings"

	"github.com/cloudspannerecosystem/memefish/ast"
	"github.com/cloudspannerecosystem/memefish/token"
)

// alterTable reads ALTER TABLE t and one action.
func (p *parser) alterTable(at token.Pos) {
	name := p.path()
	action := p.tok().pos
	switch {
	case p.takeWords("alter", "ttl"):
		p.out.Node = &ast.AlterTable{Alter: at, Name: name, TableAlteration: &ast.ReplaceRowDeletionPolicy{Replace: action, RowDeletionPolicy: p.ttl()}}
	case p.takeWords("alter"):
		p.takeWords("column")
		p.alterColumn(at, name)
	default:
		p.out.Node = &ast.AlterTable{Alter: at, Name: name, TableAlteration: p.tableAlteration(action)}
	}
}

func (p *parser) tableAlteration(at token.Pos) ast.TableAlteration {
	switch {
	case p.takeWords("add", "ttl"):
		return &ast.AddRowDeletionPolicy{Add: at, RowDeletionPolicy: p.ttl()}
	case p.isWord("add") && (p.peek(1).is(kindName, "constraint") || p.peek(1).is(kindName, "check") || p.peek(1).is(kindName, "foreign")):
		p.next()
		return &ast.AddTableConstraint{Add: at, TableConstraint: p.tableConstraint()}
	case p.isWord("add") && (p.peek(1).is(kindName, "primary") || p.peek(1).is(kindName, "unique") || p.peek(1).is(kindName, "exclude")):
		p.refused("Constraint type is not supported.")
	case p.takeWords("add"):
		return p.addColumn(at)
	case p.takeWords("drop", "ttl"):
		return &ast.DropRowDeletionPolicy{Drop: at, Policy: p.prevEnd() - 6}
	case p.takeWords("drop", "constraint"):
		name := p.alteredName()
		p.dropMode("ALTER")
		return &ast.DropConstraint{Drop: at, Name: name}
	case p.takeWords("drop"):
		p.takeWords("column")
		name := p.alteredName()
		p.dropMode("ALTER")
		return &ast.DropColumn{Drop: at, Name: name}
	case p.isWord("set") && p.peek(1).is(kindName, "on"):
		p.next()
		s := &ast.SetOnDelete{Set: at}
		s.OnDelete, s.OnDeleteEnd = p.onDelete()
		return s
	case p.takeWords("set", "interleave", "in"):
		s := &ast.SetInterleaveIn{Set: at, Enforced: p.parentWord(), TableName: p.path()}
		s.OnDelete, s.OnDeleteEnd = p.onDelete()
		return s
	}
	p.unexpected()
	return nil
}

func (p *parser) addColumn(at token.Pos) ast.TableAlteration {
	p.takeWords("column")
	a := &ast.AddColumn{Add: at, IfNotExists: p.ifNotExists()}
	a.Column = p.column(func(k *ast.TableConstraint) {
		what := "Foreign key"
		if _, check := k.Constraint.(*ast.Check); check {
			what = "Check constraint"
		}
		p.refused(what + " creation is not supported in <ALTER TABLE ADD COLUMN> statement.")
	})
	if a.Column.PrimaryKey {
		p.refused("Primary keys cannot be added via <ALTER TABLE> statement.")
	}
	return a
}

// alteredName reads the name of what ALTER drops, for which there is no
// IF EXISTS.
func (p *parser) alteredName() *ast.Ident {
	if p.isWord("if") && p.peek(1).is(kindName, "exists") {
		p.refused("<IF [NOT] EXISTS> is not supported in <ALTER> statement operations.")
	}
	return p.ident()
}

// alterColumn reads what follows ALTER COLUMN.
func (p *parser) alterColumn(at token.Pos, table *ast.Path) {
	column := p.ident()
	change := &ColumnChange{Table: joined(table.Idents), Column: column.Name}
	alteration := func(a ast.ColumnAlteration) {
		p.out.Node = &ast.AlterTable{Alter: at, Name: table, TableAlteration: &ast.AlterColumn{Alter: at, Name: column, Alteration: a}}
	}
	notNull := true
	switch here := p.tok().pos; {
	case p.takeWords("type"), p.takeWords("set", "data", "type"):
		t := p.typeName()
		change.Type, change.CommitTimestamp = p.schemaType(t), t.name == "spanner.commit_timestamp"
		p.out.Alter = change
		if p.isWord("using") {
			p.refused("<USING> clause is not supported in <ALTER TABLE ALTER COLUMN TYPE> statement")
		}
		p.alterNullToo(change)
	case p.takeWords("set", "not", "null"):
		change.NotNull, p.out.Alter = &notNull, change
	case p.takeWords("drop", "not", "null"):
		notNull = false
		change.NotNull, p.out.Alter = &notNull, change
	case p.takeWords("set", "default"):
		alteration(&ast.AlterColumnSetDefault{Set: here, DefaultExpr: p.defaultExpr(here)})
	case p.takeWords("drop", "default"):
		alteration(&ast.AlterColumnDropDefault{Drop: here, Default: p.prevEnd() - 7})
	case p.takeWords("restart", "counter"):
		p.takeWords("with")
		alteration(&ast.AlterColumnAlterIdentity{Alter: here, Alteration: &ast.RestartCounterWith{Restart: here, Counter: p.wholeNumber()}})
	case p.takeWords("set", "no", "skip", "range"):
		alteration(&ast.AlterColumnAlterIdentity{Alter: here, Alteration: &ast.SetNoSkipRange{Set: here, NoSkipRange: &ast.NoSkipRange{No: here, Range: p.prevEnd() - 5}}})
	case p.takeWords("set", "skip", "range"):
		r := &ast.SkipRange{Skip: here, Min: p.wholeNumber()}
		p.takeSign(",")
		r.Max = p.wholeNumber()
		alteration(&ast.AlterColumnAlterIdentity{Alter: here, Alteration: &ast.SetSkipRange{Set: here, SkipRange: r}})
	default:
		p.unexpected()
	}
}

// alterNullToo reads the second action that a change of type may have.
func (p *parser) alterNullToo(change *ColumnChange) {
	if !p.takeSign(",") {
		return
	}
	p.wantWords("alter")
	p.takeWords("column")
	if same := p.ident(); p.err == nil && same.Name != change.Column {
		p.refused("Both actions (<SET DATA TYPE> and <{SET|DROP} NOT NULL>) of <ALTER TABLE ALTER COLUMN> statement should be applied to the same column.")
	}
	set := p.takeWords("set")
	if !set {
		p.wantWords("drop")
	}
	p.wantWords("not", "null")
	change.NotNull = &set
}

func joined(idents []*ast.Ident) string {
	parts := make([]string, len(idents))
	for i, id := range idents {
		parts[i] = id.Name
	}
	return strings.Join(parts, ".")
}

func (p *parser) createIndex(at token.Pos) ast.Statement {
	x := &ast.CreateIndex{Create: at, Unique: p.takeWords("unique")}
	p.wantWords("index")
	x.IfNotExists = p.ifNotExists()
	if p.isWord("concurrently") {
		p.refused("Concurrent index creation is not supported in <CREATE INDEX> statement.")
	}
	if p.isWord("on") {
		p.refused("Index name is mandatory in <CREATE INDEX> statement.")
	}
	x.Name = &ast.Path{Idents: []*ast.Ident{p.ident()}} // without a schema: it is in the table's
	p.wantWords("on")
	x.TableName = p.path()
	p.takeSign("*")
	if p.takeWords("using") && !p.takeWords("btree") {
		p.refused("Setting access method is not supported in <CREATE INDEX> statement.")
	}
	p.wantSign("(")
	p.list(func() {
		k := &ast.IndexKey{Name: p.ident()}
		k.Dir, k.DirPos = p.direction()
		p.nulls(k)
		if p.isSign("(") || p.isWord("collate") {
			p.refused("Expressions and collations are not supported in <CREATE INDEX> statement.")
		}
		x.Keys = append(x.Keys, k)
	})
	x.Rparen = p.tok().pos
	p.wantSign(")")
	p.indexTail(x)
	return x
}

func (p *parser) indexTail(x *ast.CreateIndex) {
	for p.err == nil {
		p.takeSign(",")
		switch at := p.tok().pos; {
		case x.Storing == nil && p.takeWords("include"):
			x.Storing = &ast.Storing{Storing: at, Columns: p.idents()}
			x.Storing.Rparen = p.prevEnd() - 1
		case x.InterleaveIn == nil && x.Where == nil && p.takeWords("interleave", "in"):
			path := p.path()
			x.InterleaveIn = &ast.InterleaveIn{Comma: at, TableName: &ast.Ident{
				NamePos: path.Pos(), NameEnd: path.End(), Name: joined(path.Idents)}}
		case x.Where == nil && p.takeWords("where"):
			x.Where = &ast.Where{Where: at, Expr: p.expr()}
		default:
			return
		}
	}
}

// alterIndex reads ALTER INDEX i ADD INCLUDE COLUMN c.
func (p *parser) alterIndex(at token.Pos) ast.Statement {
	x := &ast.AlterIndex{Alter: at, Name: p.path()}
	here := p.tok().pos
	switch {
	case p.takeWords("add", "include", "column"):
		x.IndexAlteration = &ast.AddStoredColumn{Add: here, Name: p.alteredName()}
	case p.takeWords("drop", "include", "column"):
		x.IndexAlteration = &ast.DropStoredColumn{Drop: here, Name: p.alteredName()}
	default:
		p.unexpected()
	}
	return x
}
