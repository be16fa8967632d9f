package postgres

import (
	"slices"
	"strings"

	"github.com/cloudspannerecosystem/memefish/ast"
	"github.com/cloudspannerecosystem/memefish/token"
)

// isQuery tells whether a query comes next, be it in parentheses.
func (p *parser) isQuery() bool { return p.isQueryAt(0) }

// isQueryAt tells whether a query begins at the n-th token. One in parentheses
// of its own may as well begin an expression, (SELECT 1) + 1, or a join.
func (p *parser) isQueryAt(n int) bool {
	depth := 0
	for p.peek(n).is(kindSign, "(") {
		n, depth = n+1, depth+1
	}
	if t := p.peek(n); t.kind != kindName || !slices.Contains([]string{"select", "with", "values"}, t.text) {
		return false
	}
	for inner := depth; depth > 0; n++ {
		switch t := p.peek(n); {
		case t.kind == kindEnd:
			return true
		case t.is(kindSign, "("):
			inner++
		case t.is(kindSign, ")"):
			if inner--; inner < depth {
				depth = inner
				if !p.peek(n + 1).followsQuery() {
					return false
				}
			}
		}
	}
	return true
}

// followsQuery tells of what may stand behind a query in parentheses that is
// part of another.
func (t lexeme) followsQuery() bool {
	switch t.kind {
	case kindEnd:
		return true
	case kindName:
		return slices.Contains([]string{"union", "except", "intersect", "order", "limit", "offset", "fetch", "for"}, t.text)
	}
	return t.is(kindSign, ")")
}

// query reads [WITH] SELECT [set operations] [ORDER BY] [LIMIT] [OFFSET].
func (p *parser) query() ast.QueryExpr {
	p.enter()
	defer p.leave()
	with := p.with()
	body := p.setOperations()
	q := &ast.Query{With: with, Query: body, OrderBy: p.orderBy(), Limit: p.limit()}
	if p.isWord("for") {
		p.fail(unimplemented("FOR UPDATE"))
	}
	if q.With == nil && q.OrderBy == nil && q.Limit == nil {
		return body
	}
	return q
}

func (p *parser) with() *ast.With {
	at := p.tok().pos
	if !p.takeWords("with") {
		return nil
	}
	if p.isWord("recursive") {
		p.fail(unsupported("WITH RECURSIVE"))
		return nil
	}
	w := &ast.With{With: at}
	p.list(func() {
		c := &ast.CTE{Name: p.ident()}
		if p.isSign("(") {
			p.fail(unimplemented("column names of a WITH query"))
		}
		p.wantWords("as")
		if !p.takeWords("materialized") {
			p.takeWords("not", "materialized")
		}
		p.wantSign("(")
		c.QueryExpr = p.query()
		c.Rparen = p.tok().pos
		p.wantSign(")")
		w.CTEs = append(w.CTEs, c)
	})
	return w
}

// setOperations reads queries joined by UNION, EXCEPT and INTERSECT, the last
// of which binds tighter.
func (p *parser) setOperations() ast.QueryExpr {
	left := p.intersections()
	for p.err == nil && p.isWord("union", "except") {
		op := ast.SetOpUnion
		if p.next().text == "except" {
			op = ast.SetOpExcept
		}
		left = p.compound(op, left, p.intersections)
	}
	return left
}

func (p *parser) intersections() ast.QueryExpr {
	left := p.simpleQuery()
	for p.err == nil && p.takeWords("intersect") {
		left = p.compound(ast.SetOpIntersect, left, p.simpleQuery)
	}
	return left
}

func (p *parser) compound(op ast.SetOp, left ast.QueryExpr, right func() ast.QueryExpr) ast.QueryExpr {
	which := ast.AllOrDistinctDistinct
	if p.takeWords("all") {
		which = ast.AllOrDistinctAll
	} else {
		p.takeWords("distinct")
	}
	return &ast.CompoundQuery{Op: op, AllOrDistinct: which, Queries: []ast.QueryExpr{left, right()}}
}

func (p *parser) simpleQuery() ast.QueryExpr {
	if open := p.tok().pos; p.takeSign("(") {
		q := &ast.SubQuery{Lparen: open, Query: p.query()}
		q.Rparen = p.tok().pos
		p.wantSign(")")
		return q
	}
	if p.isWord("values") {
		p.fail(unsupported("VALUES"))
	}
	return p.selectQuery()
}

func (p *parser) selectQuery() *ast.Select {
	s := &ast.Select{Select: p.tok().pos}
	p.wantWords("select")
	switch {
	case p.takeWords("distinct"):
		s.AllOrDistinct = ast.AllOrDistinctDistinct
		if p.isWord("on") {
			p.fail(unsupported("DISTINCT ON"))
		}
	case p.takeWords("all"):
	}
	p.list(func() { s.Results = append(s.Results, p.selectItem()) })
	if at := p.tok().pos; p.takeWords("from") {
		s.From = &ast.From{From: at, Source: p.fromList()}
	}
	if at := p.tok().pos; p.takeWords("where") {
		s.Where = &ast.Where{Where: at, Expr: p.expr()}
	}
	if at := p.tok().pos; p.takeWords("group", "by") {
		s.GroupBy = &ast.GroupBy{Group: at}
		p.list(func() { s.GroupBy.Exprs = append(s.GroupBy.Exprs, p.expr()) })
	}
	if at := p.tok().pos; p.takeWords("having") {
		s.Having = &ast.Having{Having: at, Expr: p.expr()}
	}
	if p.isWord("window") {
		p.fail(unsupported("WINDOW"))
	}
	return s
}

// selectItem reads an item of a select list. What GoogleSQL would leave
// without a name gets the one that PostgreSQL gives it.
func (p *parser) selectItem() ast.SelectItem {
	if at := p.tok().pos; p.takeSign("*") {
		return &ast.Star{Star: at}
	}
	x := p.expr()
	if p.isSign(".") && p.peek(1).is(kindSign, "*") {
		p.next()
		return &ast.DotStar{Star: p.next().pos, Expr: x}
	}
	if at := p.tok().pos; p.takeWords("as") {
		return &ast.Alias{Expr: x, As: &ast.AsAlias{As: at, Alias: p.anyName()}}
	}
	if t := p.tok(); t.isAlias() {
		return &ast.Alias{Expr: x, As: &ast.AsAlias{As: token.InvalidPos, Alias: p.anyName()}}
	}
	switch x := x.(type) {
	case *ast.Ident, *ast.Path:
		return &ast.ExprSelectItem{Expr: x}
	}
	name, _ := p.columnName(x)
	return &ast.Alias{Expr: x, As: &ast.AsAlias{As: token.InvalidPos, Alias: &ast.Ident{NamePos: x.End(), NameEnd: x.End(), Name: name}}}
}

func (p *parser) orderBy() *ast.OrderBy {
	at := p.tok().pos
	if !p.takeWords("order", "by") {
		return nil
	}
	o := &ast.OrderBy{Order: at}
	p.list(func() {
		item := &ast.OrderByItem{DirPos: token.InvalidPos, Expr: p.expr()}
		item.Dir, item.DirPos = p.direction()
		p.nulls(item)
		o.Items = append(o.Items, item)
	})
	return o
}

func (p *parser) direction() (ast.Direction, token.Pos) {
	switch at := p.tok().pos; {
	case p.takeWords("asc"):
		return ast.DirectionAsc, at
	case p.takeWords("desc"):
		return ast.DirectionDesc, at
	case p.isWord("using"):
		p.fail(unsupported("ORDER BY ... USING"))
	}
	return "", token.InvalidPos
}

// nulls reads NULLS FIRST and NULLS LAST.
func (p *parser) nulls(of ast.Node) {
	switch {
	case p.takeWords("nulls", "first"):
		p.out.NullsFirst[of] = true
	case p.takeWords("nulls", "last"):
		p.out.NullsFirst[of] = false
	}
}

// limit reads LIMIT and OFFSET in either order.
func (p *parser) limit() *ast.Limit {
	at := p.tok().pos
	var count, offset ast.IntValue
	var offsetAt token.Pos
	for p.err == nil {
		switch here := p.tok().pos; {
		case count == nil && p.takeWords("limit"):
			if !p.takeWords("all") {
				count = p.intValue()
			}
		case count == nil && p.isWord("fetch"):
			count = p.fetch()
		case offset == nil && p.takeWords("offset"):
			offset, offsetAt = p.intValue(), here
			if !p.takeWords("row") {
				p.takeWords("rows")
			}
		default:
			return limitOf(at, count, offset, offsetAt)
		}
	}
	return nil
}

func limitOf(at token.Pos, count, offset ast.IntValue, offsetAt token.Pos) *ast.Limit {
	if count == nil && offset == nil {
		return nil
	}
	l := &ast.Limit{Limit: at, Count: count}
	if count == nil {
		l.Count = &ast.IntLiteral{ValuePos: at, ValueEnd: at, Base: 10, Value: "9223372036854775807"}
	}
	if offset != nil {
		l.Offset = &ast.Offset{Offset: offsetAt, Value: offset}
	}
	return l
}

// fetch reads FETCH FIRST n ROWS ONLY.
func (p *parser) fetch() ast.IntValue {
	p.next()
	if !p.takeWords("first") {
		p.wantWords("next")
	}
	var n ast.IntValue = intLiteral(1, p.prevEnd(), p.prevEnd())
	if !p.isWord("row", "rows") {
		n = p.intValue()
	}
	if !p.takeWords("row") {
		p.wantWords("rows")
	}
	p.wantWords("only")
	return n
}

func (p *parser) intValue() ast.IntValue {
	x := p.signed()
	if c, ok := x.(*ast.CastExpr); ok {
		x = c.Expr
	}
	switch x := x.(type) {
	case *ast.IntLiteral:
		if strings.HasPrefix(x.Value, "-") {
			p.failAt(x.Pos(), "LIMIT and OFFSET must not be negative")
		}
		return x
	case *ast.Param:
		return x
	}
	if p.err == nil {
		p.fail(unimplemented("LIMIT or OFFSET of an expression"))
	}
	return intLiteral(0, 0, 0)
}
