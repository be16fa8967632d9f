package postgres

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cloudspannerecosystem/memefish/ast"
	"github.com/cloudspannerecosystem/memefish/token"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// maxNesting bounds the recursion of the parser.
const maxNesting = 300

// Statement is a statement of the PostgreSQL dialect.
type Statement struct {
	// Node is a query or a DDL statement; nil where Alter stands for it.
	Node ast.Statement
	// Alter is what ALTER TABLE does to a column where GoogleSQL would have to
	// repeat the column's definition.
	Alter *ColumnChange
	// NullsFirst says for the items of ORDER BY and the keys of indexes, an
	// *ast.OrderByItem or *ast.IndexKey, where NULLs go if the statement does;
	// by default they go last, and first with DESC.
	NullsFirst map[ast.Node]bool
}

// ColumnChange is one action of ALTER TABLE t ALTER COLUMN c.
type ColumnChange struct {
	Table, Column string
	// Type is set for TYPE, NotNull for SET and DROP NOT NULL.
	Type    ast.SchemaType
	NotNull *bool
	// CommitTimestamp tells that the type is spanner.commit_timestamp.
	CommitTimestamp bool
}

// parser reads the lexemes of one statement. After the first error every token
// is the end, so that all loops end and what is returned does not count.
type parser struct {
	text  string
	toks  []lexeme
	at    int
	depth int
	err   error
	out   Statement
	// labels name the columns of expressions; see columnName.
	labels map[ast.Expr]label
}

func newParser(text string) (*parser, error) {
	toks, err := lex(text)
	if err != nil {
		return nil, err
	}
	return &parser{text: text, toks: toks, out: Statement{NullsFirst: make(map[ast.Node]bool)}, labels: make(map[ast.Expr]label)}, nil
}

// Parse reads one statement.
func Parse(text string) (*Statement, error) {
	if strings.Trim(text, blanks) == "" {
		return nil, status.Error(codes.InvalidArgument, "Invalid request: the SQL statement is empty")
	}
	if !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0 {
		return nil, status.Error(codes.InvalidArgument, "invalid byte sequence for encoding \"UTF8\" in the SQL statement")
	}
	p, err := newParser(text)
	if err != nil {
		return nil, err
	}
	p.statement()
	if p.err == nil && p.tok().kind != kindEnd {
		p.unexpected()
	}
	if p.err != nil {
		return nil, p.err
	}
	return &p.out, nil
}

func (p *parser) statement() {
	switch {
	case p.isWord("select") || p.isWord("with") || p.isSign("("):
		q := &ast.QueryStatement{Hint: p.hint(), Query: p.query()}
		p.out.Node = q
	case p.isWord("insert", "update", "delete"):
		p.fail(status.Error(codes.Unimplemented, "DML statements are not served"))
	default:
		p.ddl()
	}
}

// IsDML tells whether a text begins as a statement that changes data.
func IsDML(text string) bool {
	toks, err := lex(text)
	return err == nil && toks[0].kind == kindName && slices.Contains([]string{"insert", "update", "delete", "merge"}, toks[0].text)
}

func (p *parser) tok() lexeme { return p.toks[p.at] }

// peek is the n-th token after this one.
func (p *parser) peek(n int) lexeme { return p.toks[min(p.at+n, len(p.toks)-1)] }

func (p *parser) next() lexeme {
	t := p.toks[p.at]
	if p.at < len(p.toks)-1 {
		p.at++
	}
	return t
}

// prevEnd is where the last token taken ends.
func (p *parser) prevEnd() token.Pos { return p.toks[max(p.at-1, 0)].end }

// fail keeps the first error and goes to the end.
func (p *parser) fail(err error) {
	if p.err == nil {
		p.err = err
	}
	p.at = len(p.toks) - 1
}

func (p *parser) failAt(pos token.Pos, message string) {
	p.fail(syntaxError(p.text, pos, message))
}

func (p *parser) unexpected() {
	t := p.tok()
	if t.kind == kindEnd {
		p.failAt(t.pos, "syntax error at end of input")
		return
	}
	p.failAt(t.pos, "syntax error at or near "+quoteForMessage(p.text[t.pos:t.end]))
}

// enter counts a level of nesting; the caller leaves it again.
func (p *parser) enter() {
	if p.depth++; p.depth > maxNesting && p.err == nil {
		p.fail(status.Errorf(codes.InvalidArgument, "Query is nested too deeply: the limit is %d levels", maxNesting))
	}
}

func (p *parser) leave() { p.depth-- }

// isWord tells whether the token is one of the keywords, which are not quoted.
func (p *parser) isWord(words ...string) bool {
	return p.tok().kind == kindName && slices.Contains(words, p.tok().text)
}

func (p *parser) isSign(sign string) bool { return p.tok().is(kindSign, sign) }

// takeWords takes a sequence of keywords if all of them come next.
func (p *parser) takeWords(words ...string) bool {
	for i, w := range words {
		if !p.peek(i).is(kindName, w) {
			return false
		}
	}
	for range words {
		p.next()
	}
	return true
}

func (p *parser) takeSign(sign string) bool {
	if !p.isSign(sign) {
		return false
	}
	p.next()
	return true
}

func (p *parser) wantWords(words ...string) {
	if !p.takeWords(words...) {
		for len(words) > 0 && p.takeWords(words[0]) {
			words = words[1:]
		}
		p.unexpected()
	}
}

func (p *parser) wantSign(sign string) {
	if !p.takeSign(sign) {
		p.unexpected()
	}
}

// list reads items separated by commas.
func (p *parser) list(item func()) {
	for p.err == nil {
		item()
		if !p.takeSign(",") {
			return
		}
	}
}

// ident reads a name: a quoted one, or a word that is not reserved.
func (p *parser) ident() *ast.Ident {
	t := p.tok()
	if t.kind != kindQuoted && (t.kind != kindName || reserved(t.text)) {
		p.unexpected()
		return &ast.Ident{Name: "?"}
	}
	p.next()
	return &ast.Ident{NamePos: t.pos, NameEnd: t.end, Name: t.text}
}

// anyName reads a name where keywords are welcome: after a dot or AS.
func (p *parser) anyName() *ast.Ident {
	t := p.tok()
	if t.kind != kindQuoted && t.kind != kindName {
		p.unexpected()
		return &ast.Ident{Name: "?"}
	}
	p.next()
	return &ast.Ident{NamePos: t.pos, NameEnd: t.end, Name: t.text}
}

func (p *parser) idents() []*ast.Ident {
	var out []*ast.Ident
	p.wantSign("(")
	p.list(func() { out = append(out, p.ident()) })
	p.wantSign(")")
	return out
}

// path reads the name of an object, which public. may precede.
func (p *parser) path() *ast.Path {
	idents := []*ast.Ident{p.ident()}
	for p.takeSign(".") {
		idents = append(idents, p.anyName())
	}
	return &ast.Path{Idents: p.plainNames(withoutPublic(idents))}
}

// plainNames refuses names that hold a dot or a quote: Spanner has none such,
// and a dot in a name would be taken for that after a schema.
func (p *parser) plainNames(idents []*ast.Ident) []*ast.Ident {
	for _, id := range idents {
		if strings.ContainsAny(id.Name, ".\"`'") {
			p.failAt(id.NamePos, "invalid name "+quoteForMessage(id.Name)+": names in Spanner have no dots and no quotes")
		}
	}
	if len(idents) > 2 {
		p.failAt(idents[0].NamePos, "improper qualified name (too many dotted names)")
	}
	return idents
}

func withoutPublic(idents []*ast.Ident) []*ast.Ident {
	if len(idents) > 1 && idents[0].Name == "public" {
		return idents[1:]
	}
	return idents
}

// Split cuts a script into its statements, without those that are empty. A
// semicolon in quotes or a comment ends none.
func Split(text string) ([]string, error) {
	if !utf8.ValidString(text) {
		return nil, status.Error(codes.InvalidArgument, "invalid byte sequence for encoding \"UTF8\"")
	}
	l := &lexer{text: text}
	var out []string
	start, some := 0, false
	for {
		if err := l.blanks(); err != nil {
			return nil, err
		}
		if l.at == len(text) {
			break
		}
		if !some {
			start = l.at
		}
		t, err := l.lexeme()
		if err != nil {
			return nil, err
		}
		if !t.is(kindSign, ";") {
			some = true
			continue
		}
		if some {
			out = append(out, strings.TrimRight(text[start:l.at-1], blanks))
		}
		some = false
	}
	if some {
		out = append(out, strings.TrimRight(text[start:], blanks))
	}
	return out, nil
}
