package postgres

import (
	"strconv"
	"strings"

	"github.com/cloudspannerecosystem/memefish/ast"
	"github.com/cloudspannerecosystem/memefish/token"
)

func intLiteral(n int64, pos, end token.Pos) *ast.IntLiteral {
	return &ast.IntLiteral{ValuePos: pos, ValueEnd: end, Base: 10, Value: strconv.FormatInt(n, 10)}
}

// identsOf are the parts of a name with dots, all at one place.
func identsOf(name string, pos token.Pos) []*ast.Ident {
	var out []*ast.Ident
	for part := range strings.SplitSeq(name, ".") {
		out = append(out, &ast.Ident{NamePos: pos, NameEnd: pos, Name: part})
	}
	return out
}

func (p *parser) operand() ast.Expr {
	t := p.tok()
	switch t.kind {
	case kindText:
		p.next()
		return &ast.StringLiteral{ValuePos: t.pos, ValueEnd: t.end, Value: t.text}
	case kindInteger:
		p.next()
		return integer(t)
	case kindDecimal:
		p.next()
		return decimal(t)
	case kindParam:
		p.next()
		return &ast.Param{Atmark: t.pos, Name: "p" + t.text}
	case kindSign:
		if t.text == "(" {
			return p.parenthesis()
		}
	case kindName:
		return p.word()
	case kindQuoted:
		return p.nameOrCall()
	}
	p.unexpected()
	return &ast.NullLiteral{}
}

// integer is a bigint, or a numeric if it is too large for one.
func integer(t lexeme) ast.Expr {
	if _, err := strconv.ParseInt(t.text, 10, 64); err != nil {
		return decimal(t)
	}
	text := strings.TrimLeft(t.text, "0")
	if text == "" {
		text = "0"
	}
	return &ast.IntLiteral{ValuePos: t.pos, ValueEnd: t.end, Base: 10, Value: text}
}

// decimal is a numeric, or the one bigint that is only one with its sign.
func decimal(t lexeme) ast.Expr {
	if _, err := strconv.ParseInt(t.text, 10, 64); err == nil {
		return &ast.IntLiteral{ValuePos: t.pos, ValueEnd: t.end, Base: 10, Value: t.text}
	}
	return &ast.FloatLiteral{ValuePos: t.pos, ValueEnd: t.end, Value: t.text}
}

func (p *parser) parenthesis() ast.Expr {
	open := p.tok().pos
	if p.isQueryAt(1) {
		p.next()
		q := p.query()
		x := &ast.ScalarSubQuery{Lparen: open, Rparen: p.tok().pos, Query: q}
		p.wantSign(")")
		return x
	}
	p.next()
	x := p.expr()
	if p.isSign(",") {
		p.fail(unimplemented("row constructor"))
	}
	paren := &ast.ParenExpr{Lparen: open, Rparen: p.tok().pos, Expr: x}
	p.wantSign(")")
	return paren
}

// word reads an operand that begins with a word.
func (p *parser) word() ast.Expr {
	t := p.tok()
	switch t.text {
	case "null":
		p.next()
		return &ast.NullLiteral{Null: t.pos}
	case "true", "false":
		p.next()
		return &ast.BoolLiteral{ValuePos: t.pos, Value: t.text == "true"}
	case "case":
		return p.caseExpr()
	case "cast":
		return p.cast()
	case "array":
		return p.array()
	case "exists":
		if p.peek(1).is(kindSign, "(") {
			return p.exists()
		}
	case "current_timestamp", "current_date":
		p.next()
		return p.label(&ast.CallExpr{Func: &ast.Path{Idents: identsOf(strings.ToUpper(t.text), t.pos)}, Rparen: t.end - 1}, label{name: t.text})
	case "extract":
		if p.peek(1).is(kindSign, "(") {
			return p.extract()
		}
	}
	if x, ok := p.typedText(); ok {
		return x
	}
	return p.nameOrCall()
}

// typedText reads a type followed by a string: date '2024-02-29'.
func (p *parser) typedText() (ast.Expr, bool) {
	_, simple := typeAlias(p.tok().text)
	two := p.tok().text == "double" && p.peek(1).is(kindName, "precision") || p.tok().text == "timestamp" && p.peek(1).is(kindName, "with")
	if two && p.peek(2).kind != kindText && p.peek(4).kind != kindText || !two && (!simple || p.peek(1).kind != kindText) {
		return nil, false
	}
	start := p.tok().pos
	t := p.typeName()
	text := p.operand()
	p.noIntervalFields(t)
	return p.label(&ast.CastExpr{Cast: start, Rparen: text.End() - 1, Expr: text, Type: p.castType(t)}, label{t.word, text}), true
}

func (p *parser) caseExpr() ast.Expr {
	c := &ast.CaseExpr{Case: p.next().pos}
	if !p.isWord("when") {
		c.Expr = p.expr()
	}
	for at := p.tok().pos; p.takeWords("when"); at = p.tok().pos {
		when := &ast.CaseWhen{When: at, Cond: p.expr()}
		p.wantWords("then")
		when.Then = p.expr()
		c.Whens = append(c.Whens, when)
	}
	if len(c.Whens) == 0 {
		p.unexpected()
	}
	if at := p.tok().pos; p.takeWords("else") {
		c.Else = &ast.CaseElse{Else: at, Expr: p.expr()}
	}
	c.EndPos = p.tok().pos
	p.wantWords("end")
	return c
}

func (p *parser) cast() ast.Expr {
	start := p.next().pos
	p.wantSign("(")
	x := p.expr()
	p.wantWords("as")
	t := p.typeName()
	c := p.castTo(x, t)
	p.wantSign(")")
	if c, ok := c.(*ast.CastExpr); ok {
		c.Cast, c.Rparen = start, p.prevEnd()-1
	}
	return c
}

func (p *parser) array() ast.Expr {
	start := p.next().pos
	if open := p.tok().pos; p.takeSign("[") {
		a := &ast.ArrayLiteral{Array: start, Lbrack: open}
		if !p.isSign("]") {
			p.list(func() { a.Values = append(a.Values, p.expr()) })
		}
		a.Rbrack = p.tok().pos
		p.wantSign("]")
		return a
	}
	p.wantSign("(")
	if !p.isQuery() {
		p.unexpected()
		return &ast.NullLiteral{}
	}
	q := p.query()
	a := &ast.ArraySubQuery{Array: start, Rparen: p.tok().pos, Query: q}
	p.wantSign(")")
	return a
}

func (p *parser) exists() ast.Expr {
	start := p.next().pos
	p.wantSign("(")
	if !p.isQuery() {
		p.unexpected()
		return &ast.NullLiteral{}
	}
	q := p.query()
	x := &ast.ExistsSubQuery{Exists: start, Rparen: p.tok().pos, Query: q}
	p.wantSign(")")
	return x
}

// extract is EXTRACT(part FROM x), whose part is a word or a string.
func (p *parser) extract() ast.Expr {
	start := p.next().pos
	p.wantSign("(")
	t := p.tok()
	if t.kind != kindName && t.kind != kindText && t.kind != kindQuoted {
		p.unexpected()
	}
	p.next()
	p.wantWords("from")
	part := &ast.StringLiteral{ValuePos: t.pos, ValueEnd: t.end, Value: fold(t.text)}
	c := p.callOf("PG.EXTRACT", part, part, part, p.expr())
	c.Func.Idents = identsOf("PG.EXTRACT", start)
	c.Rparen = p.tok().pos
	p.wantSign(")")
	return p.label(c, label{name: "extract"})
}

// nameOrCall reads a column, a.b or a.*, or the call of a function.
func (p *parser) nameOrCall() ast.Expr {
	first := p.tok()
	if first.kind == kindName && reserved(first.text) && !(functionOnly(first.text) && p.peek(1).is(kindSign, "(")) {
		p.unexpected()
		return &ast.NullLiteral{}
	}
	idents := []*ast.Ident{p.anyName()}
	for p.isSign(".") && !p.peek(1).is(kindSign, "*") {
		p.next()
		idents = append(idents, p.anyName())
	}
	if p.isSign("(") {
		return p.call(idents)
	}
	if len(idents) == 1 {
		return idents[0]
	}
	if len(idents) > 2 {
		idents = withoutPublic(idents)
	}
	return &ast.Path{Idents: idents}
}
