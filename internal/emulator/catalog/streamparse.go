package catalog

import (
	"strings"

	"github.com/cloudspannerecosystem/memefish"
	"github.com/cloudspannerecosystem/memefish/token"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// streamStatement is a CREATE, ALTER or DROP CHANGE STREAM statement. It is
// read here rather than by memefish, which knows neither IF [NOT] EXISTS nor
// tables in named schemas there, nor the PostgreSQL dialect.
type streamStatement struct {
	action streamAction
	name   string
	// ifClause is IF NOT EXISTS or IF EXISTS.
	ifClause bool
	watch    watchList
	options  []Option
}

type streamAction uint8

const (
	createStream streamAction = iota
	setStreamFor
	dropStreamFor
	setStreamOptions
	dropStream
)

// watchList is a FOR clause: nothing, ALL or tables.
type watchList struct {
	all    bool
	tables []WatchedTable
}

// streamParser reads one statement token by token.
type streamParser struct {
	lex *memefish.Lexer
	// postgreSQL: WITH and SET (...) in place of OPTIONS, names in double
	// quotes, others folded to lower case.
	postgreSQL bool
	err        error
}

// parseStreamStatement reads a statement about a change stream; nil, nil for
// any other.
func parseStreamStatement(source string, postgreSQL bool) (*streamStatement, error) {
	p := &streamParser{lex: &memefish.Lexer{File: &token.File{Buffer: source}}, postgreSQL: postgreSQL}
	if err := p.advance(); err != nil {
		return nil, nil // whoever reads other statements says what is wrong
	}
	verb := strings.ToUpper(p.lex.Token.Raw)
	if verb != "CREATE" && verb != "ALTER" && verb != "DROP" {
		return nil, nil
	}
	p.next()
	if p.err != nil || !p.take("CHANGE") || !p.take("STREAM") {
		return nil, nil
	}
	s := &streamStatement{}
	switch verb {
	case "CREATE":
		p.create(s)
	case "ALTER":
		p.alter(s)
	default:
		s.action = dropStream
		s.ifClause = p.take("IF") && p.expect("EXISTS")
		s.name = p.streamName()
	}
	if p.err == nil && p.lex.Token.Kind != token.TokenEOF {
		p.unexpected("end of statement")
	}
	return s, p.err
}

// streamName reads the name of a stream, which is in the default schema.
func (p *streamParser) streamName() string {
	name := p.ident()
	if !p.take(".") {
		return name
	}
	if p.postgreSQL && name == "public" {
		return p.ident()
	}
	if p.err == nil {
		p.err = status.Errorf(codes.InvalidArgument, "Change streams cannot be in a named schema: %s.%s.", name, p.ident())
	}
	return name
}

func (p *streamParser) create(s *streamStatement) {
	s.ifClause = p.take("IF") && p.expect("NOT") && p.expect("EXISTS")
	s.name = p.streamName()
	if p.take("FOR") {
		s.watch = p.watchList()
	}
	clause := "OPTIONS"
	if p.postgreSQL {
		clause = "WITH"
	}
	if p.take(clause) {
		s.options = p.options()
	}
}

func (p *streamParser) alter(s *streamStatement) {
	s.name = p.streamName()
	switch {
	case p.take("DROP"):
		s.action = dropStreamFor
		_ = p.expect("FOR") && p.expect("ALL")
	case p.postgreSQL && p.take("RESET"):
		s.action = setStreamOptions
		s.options = p.resets()
	case !p.expect("SET"):
	case p.take("FOR"):
		s.action = setStreamFor
		s.watch = p.watchList()
	default:
		s.action = setStreamOptions
		if p.postgreSQL || p.expect("OPTIONS") {
			s.options = p.options()
		}
	}
}

func (p *streamParser) watchList() watchList {
	if p.take("ALL") {
		return watchList{all: true}
	}
	var w watchList
	for {
		w.tables = append(w.tables, p.watchedTable())
		if !p.take(",") {
			return w
		}
	}
}

func (p *streamParser) watchedTable() WatchedTable {
	w := WatchedTable{Table: p.ident(), AllColumns: true}
	for p.take(".") {
		w.Table += "." + p.ident()
	}
	if p.postgreSQL {
		w.Table = strings.TrimPrefix(w.Table, "public.")
	}
	if !p.take("(") {
		return w
	}
	w.AllColumns = false
	if p.take(")") {
		return w
	}
	for {
		w.Columns = append(w.Columns, p.ident())
		if !p.take(",") {
			p.expect(")")
			return w
		}
	}
}

// options reads a parenthesised, comma-separated list of name = literal, which
// must not be empty. A NULL has the Value "".
func (p *streamParser) options() []Option {
	var out []Option
	p.expect("(")
	for p.err == nil {
		o := Option{Name: p.ident()}
		p.expect("=")
		o.Value = p.literal()
		out = p.addOption(out, o)
		if !p.take(",") {
			p.expect(")")
			break
		}
	}
	return out
}

// resets reads the names of RESET (a, b).
func (p *streamParser) resets() []Option {
	var out []Option
	p.expect("(")
	for p.err == nil {
		out = p.addOption(out, Option{Name: p.ident()})
		if !p.take(",") {
			p.expect(")")
			break
		}
	}
	return out
}

func (p *streamParser) addOption(list []Option, o Option) []Option {
	for _, other := range list {
		if strings.EqualFold(other.Name, o.Name) && p.err == nil {
			p.err = status.Errorf(codes.InvalidArgument, "Duplicate option: %s.", o.Name)
		}
	}
	return append(list, o)
}

func (p *streamParser) literal() string {
	if p.err != nil {
		return ""
	}
	t := p.lex.Token
	out := ""
	switch t.Kind {
	case token.TokenString:
		out = quote(t.AsString)
		if p.postgreSQL {
			out = booleanOr(out)
		}
	case token.TokenInt:
		out = t.Raw
	case "TRUE", "FALSE":
		out = strings.ToLower(t.Raw)
	case "NULL":
	default:
		p.unexpected("a literal")
		return ""
	}
	p.next()
	return out
}

// booleanOr reads the quoted booleans of PostgreSQL.
func booleanOr(literal string) string {
	switch text := strings.ToLower(literal); text {
	case "'true'", "'false'":
		return Unquote(text)
	}
	return literal
}

// ident reads a name.
func (p *streamParser) ident() string {
	if p.err != nil {
		return ""
	}
	t := p.lex.Token
	switch {
	case t.Kind == token.TokenIdent && p.postgreSQL:
		p.next()
		return strings.ToLower(t.AsString)
	case t.Kind == token.TokenIdent, p.postgreSQL && t.Kind == token.TokenString && t.Raw[0] == '"':
		p.next()
		return t.AsString
	}
	p.unexpected("an identifier")
	return ""
}

// take skips a keyword or sign if it comes next.
func (p *streamParser) take(word string) bool {
	if p.err != nil || !strings.EqualFold(p.lex.Token.Raw, word) {
		return false
	}
	p.next()
	return true
}

func (p *streamParser) expect(word string) bool {
	if p.take(word) {
		return true
	}
	p.unexpected(word)
	return false
}

func (p *streamParser) next() {
	if p.err == nil {
		p.err = p.advance()
	}
}

func (p *streamParser) advance() error {
	return Guard(unclosedLiteral(), func() error {
		if err := p.lex.NextToken(); err != nil {
			return syntaxError(err)
		}
		return nil
	})
}

func (p *streamParser) unexpected(want string) {
	if p.err != nil {
		return
	}
	found := p.lex.Token.Raw
	if p.lex.Token.Kind == token.TokenEOF {
		found = "end of statement"
	}
	line, column := p.lex.File.ResolvePos(p.lex.Token.Pos)
	p.err = status.Errorf(codes.InvalidArgument, "Error parsing Spanner DDL statement: Syntax error on line %d, column %d: Expecting %s but found %s", line+1, column+1, want, found)
}
