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
	p.dropMode("DROP")
}

// dropMode reads RESTRICT, the only one there is.
func (p *parser) dropMode(verb string) {
	if !p.takeWords("restrict") && p.isWord("cascade") {
		p.refused("Only <RESTRICT> behavior is supported by <" + verb + "> statement.")
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
	p.takeWords("sql")
	p.wantWords("security")
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

// days reads INTERVAL '1 week 3 days' for a row deletion policy.
func (p *parser) days() *ast.IntLiteral {
	p.wantWords("interval")
	t := p.tok()
	if t.kind != kindText {
		p.unexpected()
		return intLiteral(0, 0, 0)
	}
	n, ok := wholeDays(strings.Fields(fold(t.text)))
	switch {
	case !ok:
		p.failAt(t.pos, "invalid input syntax for type interval: "+quoteForMessage(t.text)+", or no whole number of days")
	case n < 0:
		p.failAt(t.pos, "TTL interval must be greater than or equal to zero")
	}
	p.next()
	return intLiteral(n, t.pos, t.end)
}

// wholeDays adds up counts of days and weeks.
func wholeDays(words []string) (days int64, ok bool) {
	const most = 1 << 31
	for ; len(words) >= 2; words = words[2:] {
		n, err := strconv.ParseInt(words[0], 10, 32)
		switch words[1] {
		case "day", "days":
		case "week", "weeks":
			n *= 7
		default:
			return 0, false
		}
		if days += n; err != nil || days > most || days < -most {
			return 0, false
		}
		ok = true
	}
	return days, ok && len(words) == 0
}

// ttl reads INTERVAL '7 days' ON column.
func (p *parser) ttl() *ast.RowDeletionPolicy {
	policy := &ast.RowDeletionPolicy{Row: p.tok().pos, NumDays: p.days()}
	p.wantWords("on")
	policy.ColumnName = p.ident()
	policy.Rparen = p.prevEnd() - 1
	return policy
}
