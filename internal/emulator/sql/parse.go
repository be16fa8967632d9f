package sql

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/cloudspannerecosystem/memefish"
	"github.com/cloudspannerecosystem/memefish/ast"
	"github.com/cloudspannerecosystem/memefish/token"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/postgres"
)

const (
	// maxQueryText is Spanner's limit on a statement, in characters.
	maxQueryText = 1_000_000
)

// Kind tells what sort of statement a text is.
type Kind int

// The kinds of statements. Invalid texts are reported by Prepare.
const (
	InvalidKind Kind = iota
	QueryKind
	DMLKind
	DDLKind
	OtherKind
)

// Classify tells what sort of statement text is, without a schema.
func Classify(text string, postgreSQL bool) Kind {
	if postgreSQL {
		return classifyPostgreSQL(text)
	}
	stmt, _, err := parseStatement(text)
	if err != nil {
		return InvalidKind
	}
	switch stmt.(type) {
	case *ast.QueryStatement:
		return QueryKind
	case ast.DML:
		return DMLKind
	case ast.DDL:
		return DDLKind
	}
	return OtherKind
}

// parseQuery parses a statement that has to be a query.
func parseQuery(text string) (*ast.QueryStatement, string, error) {
	stmt, text, err := parseStatement(text)
	if err != nil {
		return nil, "", err
	}
	if q, ok := stmt.(*ast.QueryStatement); ok {
		return q, text, nil
	}
	return nil, "", unimplemented(constructName(stmt))
}

// constructName names a node by its type in the syntax tree: "Insert".
func constructName(n ast.Node) string {
	return strings.TrimPrefix(fmt.Sprintf("%T", n), "*ast.")
}

// parseStatement returns the statement and the text its positions refer to.
func parseStatement(text string) (stmt ast.Statement, single string, err error) {
	if text == "" {
		return nil, "", invalid("Invalid request: the SQL statement is empty")
	}
	if len(text) > maxQueryText && utf8.RuneCountInString(text) > maxQueryText {
		return nil, "", invalid("Query string length exceeds maximum allowed length of %d", maxQueryText)
	}
	if !utf8.ValidString(text) {
		return nil, "", invalid("Invalid UTF-8 in the SQL statement")
	}
	err = catalog.Guard(invalid("Syntax error: the statement cannot be parsed"), func() error {
		if single, err = singleStatement(text); err != nil {
			return err
		}
		if err := catalog.CheckNesting(single); err != nil {
			return err
		}
		if stmt, err = memefish.ParseStatement("", catalog.ParseableFunctions(single)); err != nil {
			return syntaxErrorIn(single, err)
		}
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	return stmt, single, nil
}

// syntaxErrorIn is syntaxError, but for what is correct and merely unknown to
// the parser.
func syntaxErrorIn(text string, err error) error {
	var list memefish.MultiError
	if errors.As(err, &list) && len(list) > 0 && list[0].Position != nil {
		at := int(list[0].Position.Pos)
		if at >= 0 && at+4 <= len(text) && strings.EqualFold(text[at:at+4], "OVER") {
			return unimplemented("window function (OVER)")
		}
	}
	return syntaxError(text, err)
}

func syntaxError(text string, err error) error {
	var list memefish.MultiError
	var one *memefish.Error
	if errors.As(err, &list) && len(list) > 0 {
		one = list[0]
	} else if !errors.As(err, &one) {
		return invalid("Syntax error: %v", err)
	}
	if one.Position == nil {
		return invalid("Syntax error: %s", one.Message)
	}
	line, column := postgres.Place(text, one.Position.Pos)
	return invalid("Syntax error: %s [at %d:%d]", one.Message, line, column)
}

// singleStatement drops a final semicolon, which Spanner accepts and memefish
// does not.
func singleStatement(text string) (string, error) {
	if !strings.Contains(text, ";") {
		return text, nil
	}
	parts, err := memefish.SplitRawStatements("", text)
	if err != nil {
		return "", syntaxError(text, err)
	}
	for _, p := range parts[min(1, len(parts)):] {
		if _, empty := firstToken(p.Statement); !empty {
			return "", invalid("Syntax error: Expected end of input after `;`, only one statement can be executed at a time")
		}
	}
	if len(parts) == 0 {
		return text, nil
	}
	return parts[0].Statement, nil
}

func firstToken(text string) (token.TokenKind, bool) {
	lex := &memefish.Lexer{File: &token.File{Buffer: text}}
	if err := catalog.NextToken(lex); err != nil {
		return "", false
	}
	return lex.Token.Kind, lex.Token.Kind == token.TokenEOF
}
