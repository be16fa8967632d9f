package postgres

import (
	"strings"

	"github.com/cloudspannerecosystem/memefish/ast"
)

// call reads the arguments of a function and finds what GoogleSQL calls it.
func (p *parser) call(name []*ast.Ident) ast.Expr {
	p.enter()
	defer p.leave()
	parts := make([]string, len(name))
	for i, id := range name {
		parts[i] = id.Name
	}
	full := strings.TrimPrefix(strings.Join(parts, "."), "pg_catalog.")
	c := &ast.CallExpr{Func: &ast.Path{Idents: name}}
	p.wantSign("(")
	if p.isSign("*") && full == "count" {
		p.next()
		end := p.tok().pos
		p.wantSign(")")
		p.afterCall()
		return p.label(&ast.CountStarExpr{Count: name[0].NamePos, Rparen: end}, label{name: full})
	}
	if !p.isSign(")") {
		p.callArguments(c, full)
	}
	c.Rparen = p.tok().pos
	p.wantSign(")")
	p.afterCall()
	called := name[len(name)-1].Name
	if full == "trim" {
		called = c.Func.Idents[0].Name
	}
	return p.label(p.respell(c, full), label{name: called})
}

func (p *parser) callArguments(c *ast.CallExpr, name string) {
	switch name {
	case "trim":
		p.trimArguments(c)
		return
	case "position":
		p.positionArguments(c)
		return
	case "substring":
		p.substringArguments(c)
		return
	}
	c.Distinct = p.takeWords("distinct")
	p.takeWords("all")
	p.list(func() { c.Args = append(c.Args, p.argument()) })
	c.OrderBy = p.orderBy()
}

func (p *parser) argument() *ast.ExprArg { return &ast.ExprArg{Expr: p.expr()} }

// trimArguments are [BOTH | LEADING | TRAILING] [characters] FROM text.
func (p *parser) trimArguments(c *ast.CallExpr) {
	c.Func = &ast.Path{Idents: c.Func.Idents}
	side := "btrim"
	switch {
	case p.takeWords("leading"):
		side = "ltrim"
	case p.takeWords("trailing"):
		side = "rtrim"
	default:
		p.takeWords("both")
	}
	c.Func.Idents = identsOf(side, c.Func.Idents[0].NamePos)
	if p.takeWords("from") {
		c.Args = append(c.Args, p.argument())
		return
	}
	first := p.argument()
	switch {
	case p.takeWords("from"):
		c.Args = append(c.Args, p.argument(), first)
	case p.takeSign(","):
		c.Args = append(c.Args, first, p.argument())
	default:
		c.Args = append(c.Args, first)
	}
}

// positionArguments are text IN text, whose first has no IN of its own.
func (p *parser) positionArguments(c *ast.CallExpr) {
	part := &ast.ExprArg{Expr: p.operators()}
	p.wantWords("in")
	c.Args = append(c.Args, p.argument(), part)
}

// substringArguments are text FROM n FOR m, or plain ones.
func (p *parser) substringArguments(c *ast.CallExpr) {
	c.Args = append(c.Args, p.argument())
	if p.takeSign(",") {
		p.list(func() { c.Args = append(c.Args, p.argument()) })
		return
	}
	if p.takeWords("from") {
		c.Args = append(c.Args, p.argument())
	}
	if p.takeWords("for") {
		if len(c.Args) == 1 {
			c.Args = append(c.Args, &ast.ExprArg{Expr: intLiteral(1, p.prevEnd(), p.prevEnd())})
		}
		c.Args = append(c.Args, p.argument())
	}
}

// afterCall refuses what makes another thing of a call.
func (p *parser) afterCall() {
	switch {
	case p.isWord("over"):
		p.fail(unsupported("a window function (OVER)"))
	case p.isWord("filter") && p.peek(1).is(kindSign, "("):
		p.fail(unsupported("FILTER in an aggregate function"))
	case p.isWord("within"):
		p.fail(unsupported("WITHIN GROUP"))
	}
}

// UnknownFunction begins the name of a function that this package knows
// nothing of, so that it is none of those that the parser itself puts there.
const UnknownFunction = "PG.UNKNOWN."

// respell gives the function of GoogleSQL that does the same, or a function
// PG.f.
func (p *parser) respell(c *ast.CallExpr, name string) ast.Expr {
	if len(c.Func.Idents) == 1 && name == "trim" {
		name = c.Func.Idents[0].Name
	}
	rename := func(to string) ast.Expr {
		c.Func = &ast.Path{Idents: identsOf(to, c.Func.Idents[0].NamePos)}
		return c
	}
	if to, ok := sameFunction(name); ok {
		return rename(to)
	}
	switch name {
	case "concat":
		// NULLs count as empty, and anything has a text.
		for i, arg := range c.Args {
			x := arg.(*ast.ExprArg).Expr
			text := &ast.CastExpr{Cast: x.Pos(), Rparen: x.End() - 1, Expr: x, Type: &ast.SimpleType{NamePos: x.Pos(), Name: ast.StringTypeName}}
			c.Args[i] = &ast.ExprArg{Expr: p.callOf("COALESCE", x, x, text, &ast.StringLiteral{ValuePos: x.Pos(), ValueEnd: x.End()})}
		}
		return rename("CONCAT")
	case "array_length", "array_upper":
		if len(c.Args) != 2 {
			p.failAt(c.Pos(), "function "+name+" takes an array and a dimension")
			return c
		}
		c.Args = c.Args[:1]
		rename("ARRAY_LENGTH")
		return p.callOf("NULLIF", c, c, c, intLiteral(0, c.Pos(), c.End()))
	case "gen_random_uuid":
		rename("GENERATE_UUID")
		return &ast.CastExpr{Cast: c.Pos(), Rparen: c.End() - 1, Expr: c, Type: &ast.NamedType{Path: identsOf("UUID", c.Pos())}}
	case "nextval":
		return p.nextval(c)
	case "unnest", "generate_series":
		p.fail(unimplemented("function " + name + " outside FROM"))
	}
	return rename(UnknownFunction + name)
}

// nextval names a sequence by a string.
func (p *parser) nextval(c *ast.CallExpr) ast.Expr {
	var name *ast.StringLiteral
	if len(c.Args) == 1 {
		name, _ = c.Args[0].(*ast.ExprArg).Expr.(*ast.StringLiteral)
	}
	if name == nil {
		p.failAt(c.Pos(), "function nextval takes the name of a sequence as a string")
		return c
	}
	inner, err := newParser(name.Value)
	if err != nil {
		p.fail(err)
		return c
	}
	path := inner.path()
	if inner.err != nil || inner.tok().kind != kindEnd {
		p.failAt(name.ValuePos, "invalid name of a sequence")
		return c
	}
	for _, id := range path.Idents {
		id.NamePos, id.NameEnd = name.ValuePos, name.ValueEnd
	}
	c.Func = &ast.Path{Idents: identsOf("GET_NEXT_SEQUENCE_VALUE", c.Func.Idents[0].NamePos)}
	c.Args = []ast.Arg{&ast.SequenceArg{Sequence: name.ValuePos, Expr: path}}
	return c
}

// sameFunction names the functions that GoogleSQL has with another name or the
// same, and those that it has with another meaning, as PG.f.
func sameFunction(name string) (string, bool) {
	switch name {
	case "lower", "upper", "length", "reverse", "replace", "strpos", "starts_with", "abs", "ceil", "ceiling", "floor", "mod", "sign", "sqrt", "exp",
		"ln", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "pow", "power", "div", "repeat", "lpad", "rpad", "coalesce", "nullif",
		"sha256", "sha512", "count", "sum", "avg", "min", "max", "array_agg", "string_agg", "bit_and", "bit_or", "array_to_string", "any_value":
		return strings.ToUpper(name), true
	case "char_length", "character_length":
		return "LENGTH", true
	case "octet_length":
		return "BYTE_LENGTH", true
	case "position":
		return "STRPOS", true
	case "btrim":
		return "PG.BTRIM", true
	case "ltrim":
		return "PG.LTRIM", true
	case "rtrim":
		return "PG.RTRIM", true
	case "every", "bool_and":
		return "LOGICAL_AND", true
	case "bool_or":
		return "LOGICAL_OR", true
	case "now", "statement_timestamp", "transaction_timestamp", "clock_timestamp":
		return "CURRENT_TIMESTAMP", true
	case "substr", "substring":
		return "PG.SUBSTR", true
	case "left":
		return "PG.LEFT", true
	case "right":
		return "PG.RIGHT", true
	case "greatest":
		return "PG.GREATEST", true
	case "least":
		return "PG.LEAST", true
	case "round":
		return "PG.ROUND", true
	case "trunc":
		return "PG.TRUNC", true
	case "date_trunc":
		return "PG.DATE_TRUNC", true
	case "jsonb_typeof":
		return "PG.JSONB_TYPEOF", true
	case "spanner.pending_commit_timestamp":
		return "PENDING_COMMIT_TIMESTAMP", true
	case "spanner.generate_uuid":
		return "GENERATE_UUID", true
	case "spanner.bit_reverse":
		return "BIT_REVERSE", true
	case "spanner.date", "make_date":
		return "DATE", true
	case "spanner.timestamp_from_unix_micros":
		return "TIMESTAMP_MICROS", true
	case "spanner.timestamp_from_unix_millis":
		return "TIMESTAMP_MILLIS", true
	case "to_timestamp":
		return "TIMESTAMP_SECONDS", true
	case "log":
		return "LOG10", true
	}
	return "", false
}
