package postgres

import (
	"strconv"
	"strings"

	"github.com/cloudspannerecosystem/memefish/ast"
	"github.com/cloudspannerecosystem/memefish/token"
)

// ddl reads a DDL statement. Those about change streams are read elsewhere.
func (p *parser) ddl() {
	at := p.tok().pos
	switch {
	case p.takeWords("create"):
		p.create(at)
	case p.takeWords("alter"):
		p.alter(at)
	case p.takeWords("drop"):
		p.drop(at)
	case p.takeWords("analyze"):
		p.out.Node = &ast.Analyze{Analyze: at}
	default:
		p.unexpected()
	}
}

func (p *parser) create(at token.Pos) {
	replace := p.takeWords("or", "replace")
	switch {
	case p.takeWords("view"):
		p.out.Node = p.createView(at, replace)
	case replace:
		p.unexpected()
	case p.takeWords("table"):
		p.out.Node = p.createTable(at)
	case p.isWord("index", "unique"):
		p.out.Node = p.createIndex(at)
	case p.takeWords("schema"):
		p.out.Node = &ast.CreateSchema{Create: at, IfNotExists: p.ifNotExists(), Name: p.ident()}
	case p.takeWords("sequence"):
		p.out.Node = p.createSequence(at)
	default:
		p.notServed("CREATE")
	}
}

// notServed names the statement: CREATE ROLE.
func (p *parser) notServed(verb string) {
	if p.tok().kind != kindName {
		p.unexpected()
		return
	}
	p.fail(unimplemented("DDL statement " + verb + " " + strings.ToUpper(p.tok().text)))
}

func (p *parser) ifNotExists() bool { return p.takeWords("if", "not", "exists") }
func (p *parser) ifExists() bool    { return p.takeWords("if", "exists") }

func (p *parser) drop(at token.Pos) {
	switch {
	case p.takeWords("table"):
		p.out.Node = &ast.DropTable{Drop: at, IfExists: p.ifExists(), Name: p.path()}
	case p.takeWords("index"):
		p.out.Node = &ast.DropIndex{Drop: at, IfExists: p.ifExists(), Name: p.path()}
	case p.takeWords("schema"):
		p.out.Node = &ast.DropSchema{Drop: at, IfExists: p.ifExists(), Name: p.ident()}
	case p.takeWords("sequence"):
		p.out.Node = &ast.DropSequence{Drop: at, IfExists: p.ifExists(), Name: p.path()}
	case p.takeWords("view"):
		p.out.Node = &ast.DropView{Drop: at, IfExists: p.ifExists(), Name: p.path()}
	default:
		p.notServed("DROP")
	}
	if !p.takeWords("restrict") && p.isWord("cascade") {
		p.fail(unimplemented("DROP ... CASCADE"))
	}
}

func (p *parser) alter(at token.Pos) {
	switch {
	case p.takeWords("table"):
		p.alterTable(at)
	case p.takeWords("database"):
		p.out.Node = p.alterDatabase(at)
	case p.takeWords("index"):
		p.out.Node = p.alterIndex(at)
	default:
		p.notServed("ALTER")
	}
}

// alterDatabase reads ALTER DATABASE d SET spanner.option = value.
func (p *parser) alterDatabase(at token.Pos) ast.Statement {
	d := &ast.AlterDatabase{Alter: at, Name: p.ident(), Options: &ast.Options{}}
	reset := p.takeWords("reset")
	if !reset {
		p.wantWords("set")
	}
	p.wantWords("spanner")
	p.wantSign(".")
	def := &ast.OptionsDef{Name: p.anyName(), Value: &ast.NullLiteral{}}
	if !reset {
		if !p.takeSign("=") {
			p.wantWords("to")
		}
		if !p.takeWords("default") {
			def.Value = p.signed()
		}
	}
	d.Options.Records = append(d.Options.Records, def)
	return d
}

func (p *parser) createView(at token.Pos, replace bool) ast.Statement {
	v := &ast.CreateView{Create: at, OrReplace: replace, Name: p.path(), SecurityType: ast.SecurityTypeInvoker}
	p.wantWords("sql", "security")
	if p.takeWords("definer") {
		v.SecurityType = ast.SecurityTypeDefiner
	} else {
		p.wantWords("invoker")
	}
	p.wantWords("as")
	v.Query = p.query()
	return v
}

func (p *parser) createSequence(at token.Pos) ast.Statement {
	q := &ast.CreateSequence{Create: at, IfNotExists: p.ifNotExists(), Name: p.path()}
	q.Params = p.sequenceParams()
	return q
}

// sequenceParams reads BIT_REVERSED_POSITIVE SKIP RANGE 1 10 START COUNTER 5.
func (p *parser) sequenceParams() []ast.SequenceParam {
	var out []ast.SequenceParam
	for p.err == nil {
		switch at := p.tok().pos; {
		case p.takeWords("bit_reversed_positive"):
			out = append(out, &ast.BitReversedPositive{BitReversedPositive: at})
		case p.takeWords("skip", "range"):
			r := &ast.SkipRange{Skip: at, Min: p.wholeNumber()}
			p.takeSign(",")
			r.Max = p.wholeNumber()
			out = append(out, r)
		case p.takeWords("no", "skip", "range"):
		case p.takeWords("start", "counter"):
			p.takeWords("with")
			out = append(out, &ast.StartCounterWith{Start: at, Counter: p.wholeNumber()})
		default:
			return out
		}
	}
	return out
}

func (p *parser) wholeNumber() *ast.IntLiteral {
	if x, ok := p.signed().(*ast.IntLiteral); ok {
		return x
	}
	p.unexpected()
	return intLiteral(0, 0, 0)
}

// days reads INTERVAL '7 days' for a row deletion policy.
func (p *parser) days() *ast.IntLiteral {
	p.wantWords("interval")
	t := p.tok()
	count, unit, _ := strings.Cut(strings.TrimSpace(fold(t.text)), " ")
	n, err := strconv.ParseInt(count, 10, 64)
	unit = strings.TrimSpace(unit)
	if t.kind != kindText || err != nil || unit != "day" && unit != "days" {
		p.failAt(t.pos, "TTL takes an INTERVAL of whole days")
		return intLiteral(0, 0, 0)
	}
	p.next()
	return intLiteral(n, t.pos, t.end)
}

// ttl reads INTERVAL '7 days' ON column.
func (p *parser) ttl() *ast.RowDeletionPolicy {
	policy := &ast.RowDeletionPolicy{Row: p.tok().pos, NumDays: p.days()}
	p.wantWords("on")
	policy.ColumnName = p.ident()
	policy.Rparen = p.prevEnd() - 1
	return policy
}
