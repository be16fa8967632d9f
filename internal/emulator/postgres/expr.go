package postgres

import (
	"slices"
	"strings"

	"github.com/cloudspannerecosystem/memefish/ast"
)

// expr reads an expression. The levels below follow PostgreSQL's precedence:
// OR, AND, NOT, IS, comparisons, LIKE BETWEEN IN, other operators, + -, * / %,
// signs, [ ], ::.
func (p *parser) expr() ast.Expr {
	p.enter()
	defer p.leave()
	x := p.conjunction()
	for p.takeWords("or") {
		x = &ast.BinaryExpr{Op: ast.OpOr, Left: x, Right: p.conjunction()}
	}
	return x
}

func (p *parser) conjunction() ast.Expr {
	x := p.negation()
	for p.takeWords("and") {
		x = &ast.BinaryExpr{Op: ast.OpAnd, Left: x, Right: p.negation()}
	}
	return x
}

func (p *parser) negation() ast.Expr {
	p.enter()
	defer p.leave()
	if at := p.tok().pos; p.takeWords("not") {
		return &ast.UnaryExpr{OpPos: at, Op: ast.OpNot, Expr: p.negation()}
	}
	return p.test()
}

// test is IS NULL, IS TRUE, IS DISTINCT FROM.
func (p *parser) test() ast.Expr {
	x := p.comparison()
	for p.err == nil {
		switch at := p.tok().pos; {
		case p.takeWords("isnull"):
			x = &ast.IsNullExpr{Null: at, Left: x}
		case p.takeWords("notnull"):
			x = &ast.IsNullExpr{Null: at, Not: true, Left: x}
		case p.takeWords("is"):
			x = p.isTest(x)
		default:
			return x
		}
	}
	return x
}

func (p *parser) isTest(x ast.Expr) ast.Expr {
	not := p.takeWords("not")
	switch at := p.tok().pos; {
	case p.takeWords("null"), p.takeWords("unknown"):
		return &ast.IsNullExpr{Null: p.prevEnd() - 4, Not: not, Left: x}
	case p.takeWords("true"):
		return &ast.IsBoolExpr{RightPos: at, Not: not, Left: x, Right: true}
	case p.takeWords("false"):
		return &ast.IsBoolExpr{RightPos: at, Not: not, Left: x}
	case p.takeWords("distinct", "from"):
		return p.distinctFrom(x, p.comparison(), not)
	}
	p.unexpected()
	return x
}

// distinctFrom is x IS [NOT] DISTINCT FROM y, which compares NULLs, too.
func (p *parser) distinctFrom(x, y ast.Expr, not bool) ast.Expr {
	call := p.callOf("PG.DISTINCT", x, y, x, y)
	if !not {
		return call
	}
	return &ast.UnaryExpr{OpPos: x.Pos(), Op: ast.OpNot, Expr: call}
}

// callOf is a call that stands for the text from first to last.
func (p *parser) callOf(name string, first, last ast.Node, args ...ast.Expr) *ast.CallExpr {
	call := &ast.CallExpr{
		Func:   &ast.Path{Idents: nameParts(name, first)},
		Rparen: last.End() - 1,
	}
	for _, x := range args {
		call.Args = append(call.Args, &ast.ExprArg{Expr: x})
	}
	return call
}

func nameParts(name string, at ast.Node) []*ast.Ident {
	return identsOf(name, at.Pos())
}

// comparison reads one: a < b < c is an error.
func (p *parser) comparison() ast.Expr {
	x := p.matching()
	op, ok := comparisonSign(p.tok())
	if !ok {
		return x
	}
	p.next()
	if p.isWord("any", "some", "all") {
		x = p.quantified(x, op)
	} else {
		x = &ast.BinaryExpr{Op: op, Left: x, Right: p.matching()}
	}
	if _, again := comparisonSign(p.tok()); again {
		p.unexpected()
	}
	return x
}

func comparisonSign(t lexeme) (ast.BinaryOp, bool) {
	if t.kind != kindSign {
		return "", false
	}
	switch t.text {
	case "=":
		return ast.OpEqual, true
	case "<>", "!=":
		return ast.OpNotEqual, true
	case "<":
		return ast.OpLess, true
	case "<=":
		return ast.OpLessEqual, true
	case ">":
		return ast.OpGreater, true
	case ">=":
		return ast.OpGreaterEqual, true
	}
	return "", false
}

// quantified is x = ANY (...) and x <> ALL (...): over an array or a query.
func (p *parser) quantified(x ast.Expr, op ast.BinaryOp) ast.Expr {
	word := p.next()
	all := word.text == "all"
	if !(op == ast.OpEqual && !all || op == ast.OpNotEqual && all) {
		p.fail(unimplemented(string(op) + " " + word.text))
		return x
	}
	open := p.tok().pos
	p.wantSign("(")
	in := &ast.InExpr{Not: all, Left: x}
	if p.isQuery() {
		q := p.query()
		in.Right = &ast.SubQueryInCondition{Lparen: open, Rparen: p.tok().pos, Query: q}
	} else {
		array := p.expr()
		in.Right = &ast.UnnestInCondition{Unnest: open, Rparen: p.tok().pos, Expr: array}
	}
	p.wantSign(")")
	return in
}

// matching is LIKE, BETWEEN and IN.
func (p *parser) matching() ast.Expr {
	x := p.operators()
	not := p.isWord("not") && matchingWord(p.peek(1))
	if not {
		p.next()
	}
	switch {
	case p.takeWords("like"):
		return p.like(x, not)
	case p.takeWords("between"):
		return p.between(x, not)
	case p.takeWords("in"):
		return &ast.InExpr{Not: not, Left: x, Right: p.inList()}
	case p.isWord("ilike"), p.isWord("similar"):
		p.fail(unsupported("operator " + strings.ToUpper(p.tok().text)))
	}
	return x
}

func matchingWord(t lexeme) bool {
	return t.kind == kindName && slices.Contains([]string{"like", "between", "in", "ilike", "similar"}, t.text)
}

func (p *parser) between(x ast.Expr, not bool) ast.Expr {
	if p.isWord("symmetric") {
		p.fail(unsupported("BETWEEN SYMMETRIC"))
	}
	p.takeWords("asymmetric")
	low := p.operators()
	p.wantWords("and")
	return &ast.BetweenExpr{Not: not, Left: x, RightStart: low, RightEnd: p.operators()}
}

func (p *parser) like(x ast.Expr, not bool) ast.Expr {
	op := ast.OpLike
	if not {
		op = ast.OpNotLike
	}
	pattern := p.operators()
	if p.isWord("escape") {
		p.fail(unsupported("LIKE with ESCAPE"))
	}
	return &ast.BinaryExpr{Op: op, Left: x, Right: pattern}
}

func (p *parser) inList() ast.InCondition {
	open := p.tok().pos
	p.wantSign("(")
	if p.isQuery() {
		q := p.query()
		cond := &ast.SubQueryInCondition{Lparen: open, Rparen: p.tok().pos, Query: q}
		p.wantSign(")")
		return cond
	}
	cond := &ast.ValuesInCondition{Lparen: open}
	p.list(func() { cond.Exprs = append(cond.Exprs, p.expr()) })
	cond.Rparen = p.tok().pos
	p.wantSign(")")
	return cond
}

func (p *parser) sum() ast.Expr {
	x := p.product()
	for p.err == nil {
		switch {
		case p.takeSign("+"):
			x = &ast.BinaryExpr{Op: ast.OpAdd, Left: x, Right: p.product()}
		case p.takeSign("-"):
			x = &ast.BinaryExpr{Op: ast.OpSub, Left: x, Right: p.product()}
		default:
			return x
		}
	}
	return x
}

func (p *parser) product() ast.Expr {
	x := p.signed()
	for p.err == nil {
		switch {
		case p.takeSign("*"):
			x = &ast.BinaryExpr{Op: ast.OpMul, Left: x, Right: p.signed()}
		case p.takeSign("/"):
			x = &ast.BinaryExpr{Op: ast.OpDiv, Left: x, Right: p.signed()}
		case p.takeSign("%"):
			y := p.signed()
			x = p.callOf("MOD", x, y, x, y)
		case p.isSign("^"):
			p.fail(unsupported("operator ^"))
		default:
			return x
		}
	}
	return x
}

func (p *parser) signed() ast.Expr {
	p.enter()
	defer p.leave()
	at := p.tok().pos
	switch {
	case p.takeSign("-"):
		x := p.signed()
		if lit, ok := x.(*ast.IntLiteral); ok && lit.Value[0] != '-' {
			return &ast.IntLiteral{ValuePos: at, ValueEnd: lit.ValueEnd, Base: 10, Value: "-" + lit.Value}
		}
		if lit, ok := x.(*ast.FloatLiteral); ok && lit.Value[0] != '-' {
			return decimal(lexeme{text: "-" + lit.Value, pos: at, end: lit.ValueEnd})
		}
		return &ast.UnaryExpr{OpPos: at, Op: ast.OpMinus, Expr: x}
	case p.takeSign("+"):
		return &ast.UnaryExpr{OpPos: at, Op: ast.OpPlus, Expr: p.signed()}
	case p.takeSign("~"):
		// It binds as operators do: ~ a + b is ~ (a + b).
		return &ast.UnaryExpr{OpPos: at, Op: ast.OpBitNot, Expr: p.sum()}
	}
	return p.postfix()
}

// postfix is an operand with the subscripts and casts after it.
func (p *parser) postfix() ast.Expr {
	x := p.operand()
	for p.err == nil {
		switch {
		case p.takeSign("::"):
			x = p.castTo(x, p.typeName())
		case p.takeSign("["):
			index := p.expr()
			close := p.tok().pos
			p.wantSign("]")
			// PostgreSQL counts from 1 and gives NULL beside the array.
			x = &ast.IndexExpr{Rbrack: close, Expr: x, Index: &ast.SubscriptSpecifierKeyword{
				KeywordPos: index.Pos(), Rparen: close, Keyword: ast.PositionKeywordSafeOrdinal, Expr: index}}
		case p.takeWords("at", "time", "zone"):
			p.fail(unsupported("AT TIME ZONE"))
		case p.isWord("collate"):
			p.fail(unsupported("COLLATE"))
		default:
			return x
		}
	}
	return x
}

// castTo is x::t.
func (p *parser) castTo(x ast.Expr, t typeName) ast.Expr {
	named := label{t.word, x}
	cast := &ast.CastExpr{Cast: x.Pos(), Rparen: t.end - 1, Expr: x, Type: p.castType(t)}
	if t.length == 0 || t.array {
		return p.label(cast, named)
	}
	// An explicit cast to varchar(n) cuts the text.
	return p.label(p.callOf("PG.LEFT", cast, cast, cast, intLiteral(t.length, t.pos, t.end)), named)
}
