package postgres

import (
	"github.com/cloudspannerecosystem/memefish/ast"
	"github.com/cloudspannerecosystem/memefish/token"
)

func (p *parser) fromList() ast.TableExpr {
	left := p.joined()
	for p.err == nil && p.takeSign(",") {
		left = &ast.Join{Left: left, Op: ast.CommaJoin, Right: p.joined()}
	}
	return left
}

func (p *parser) joined() ast.TableExpr {
	p.enter()
	defer p.leave()
	left := p.tableExpr()
	for p.err == nil {
		op, ok := p.joinOp()
		if !ok {
			return left
		}
		j := &ast.Join{Left: left, Op: op, Right: p.tableExpr()}
		if op != ast.CrossJoin {
			j.Cond = p.joinCondition()
		}
		left = j
	}
	return left
}

func (p *parser) joinOp() (ast.JoinOp, bool) {
	op := ast.InnerJoin
	switch {
	case p.takeWords("join"):
		return op, true
	case p.takeWords("cross"):
		op = ast.CrossJoin
	case p.takeWords("inner"):
	case p.takeWords("left"):
		op = ast.LeftOuterJoin
	case p.takeWords("right"):
		op = ast.RightOuterJoin
	case p.takeWords("full"):
		op = ast.FullOuterJoin
	case p.isWord("natural"):
		p.fail(unimplemented("NATURAL JOIN"))
		return "", false
	default:
		return "", false
	}
	if op != ast.InnerJoin && op != ast.CrossJoin {
		p.takeWords("outer")
	}
	p.wantWords("join")
	return op, true
}

func (p *parser) joinCondition() ast.JoinCondition {
	at := p.tok().pos
	if p.takeWords("using") {
		u := &ast.Using{Using: at, Idents: p.idents()}
		u.Rparen = p.prevEnd() - 1
		return u
	}
	p.wantWords("on")
	return &ast.On{On: at, Expr: p.expr()}
}

func (p *parser) tableExpr() ast.TableExpr {
	if p.isWord("lateral") {
		p.fail(unsupported("LATERAL"))
	}
	if open := p.tok().pos; p.isSign("(") {
		return p.tableParenthesis(open)
	}
	p.takeWords("only")
	idents := []*ast.Ident{p.ident()}
	for p.takeSign(".") {
		idents = append(idents, p.anyName())
	}
	if p.isSign("(") {
		return p.tableFunction(idents)
	}
	p.takeSign("*")
	idents = p.plainNames(withoutPublic(idents))
	hint := p.hint()
	as := p.tableAlias()
	if hint == nil {
		hint = p.hint()
	}
	if len(idents) == 1 {
		return &ast.TableName{Table: idents[0], Hint: hint, As: as}
	}
	return &ast.PathTableExpr{Path: &ast.Path{Idents: idents}, Hint: hint, As: as}
}

func (p *parser) tableParenthesis(open token.Pos) ast.TableExpr {
	if p.isQueryAt(1) {
		p.next()
		q := p.query()
		s := &ast.SubQueryTableExpr{Lparen: open, Rparen: p.tok().pos, Query: q}
		p.wantSign(")")
		s.As = p.tableAlias()
		return s
	}
	p.next()
	t := &ast.ParenTableExpr{Lparen: open, Source: p.joined()}
	t.Rparen = p.tok().pos
	p.wantSign(")")
	return t
}

// tableAlias reads [AS] name; names of columns are for unnest alone.
func (p *parser) tableAlias() *ast.AsAlias {
	at := p.tok().pos
	var as *ast.AsAlias
	if p.takeWords("as") {
		as = &ast.AsAlias{As: at, Alias: p.ident()}
	} else if t := p.tok(); t.isAlias() {
		as = &ast.AsAlias{As: token.InvalidPos, Alias: p.anyName()}
	}
	if as != nil && p.isSign("(") {
		p.fail(unimplemented("column names of a table alias"))
	}
	return as
}

// tableFunction reads unnest(array), or a function that is to be the read
// function of a change stream.
func (p *parser) tableFunction(name []*ast.Ident) ast.TableExpr {
	open := p.next().pos
	if len(name) != 1 || name[0].Name != "unnest" {
		call := &ast.TVFCallExpr{Name: &ast.Path{Idents: name}}
		if !p.isSign(")") {
			p.list(func() { call.Args = append(call.Args, p.argument()) })
		}
		call.Rparen = p.tok().pos
		p.wantSign(")")
		if p.tableAlias() != nil {
			p.fail(unimplemented("an alias of a table function"))
		}
		return call
	}
	u := &ast.Unnest{Unnest: open, Expr: p.expr()}
	u.Rparen = p.tok().pos
	p.wantSign(")")
	u.As = p.unnestAlias()
	return u
}

// unnestAlias is the name of the one column: AS x, or AS t(x).
func (p *parser) unnestAlias() *ast.AsAlias {
	at := p.tok().pos
	named := p.takeWords("as")
	t := p.tok()
	if !named && !t.isAlias() {
		return &ast.AsAlias{As: token.InvalidPos, Alias: &ast.Ident{NamePos: at, NameEnd: at, Name: "unnest"}}
	}
	as := &ast.AsAlias{As: at, Alias: p.ident()}
	if p.takeSign("(") {
		as.Alias = p.ident()
		p.wantSign(")")
	}
	return as
}

// hint reads what a /*@ ... */ before the token says; nil if there is none.
func (p *parser) hint() *ast.Hint {
	t := p.tok()
	if t.hint == "" {
		return nil
	}
	inner, err := newParser(t.hint)
	if err != nil {
		p.fail(err)
		return nil
	}
	h := &ast.Hint{Atmark: t.pos, Rbrace: t.pos}
	inner.list(func() {
		key := &ast.Path{Idents: []*ast.Ident{inner.anyName()}}
		for inner.takeSign(".") {
			key.Idents = append(key.Idents, inner.anyName())
		}
		inner.wantSign("=")
		h.Records = append(h.Records, &ast.HintRecord{Key: key, Value: inner.hintValue()})
	})
	if inner.err == nil && inner.tok().kind != kindEnd {
		inner.unexpected()
	}
	if inner.err != nil {
		p.failAt(t.pos, "invalid hint")
		return nil
	}
	return h
}

func (p *parser) hintValue() ast.Expr {
	t := p.tok()
	switch {
	case t.kind == kindText:
		p.next()
		return &ast.StringLiteral{Value: t.text}
	case t.kind == kindInteger:
		p.next()
		return integer(t)
	case p.takeWords("true"), p.takeWords("false"):
		return &ast.BoolLiteral{Value: t.text == "true"}
	}
	path := &ast.Path{Idents: []*ast.Ident{p.anyName()}}
	for p.takeSign(".") {
		path.Idents = append(path.Idents, p.anyName())
	}
	if len(path.Idents) == 1 {
		return path.Idents[0]
	}
	return path
}
