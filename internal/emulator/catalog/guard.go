package catalog

import (
	"github.com/cloudspannerecosystem/memefish"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Guard runs f, which reads a text by memefish, and returns refusal if it
// panics: where a text ends within an escape, that is memefish's way of
// refusing it. Whatever reads texts of users by it stands behind a Guard.
func Guard(refusal error, f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = refusal
		}
	}()
	return f()
}

// NextToken is the lexer's, behind a Guard.
func NextToken(lex *memefish.Lexer) error { return Guard(unclosedLiteral(), lex.NextToken) }

// Split cuts a GoogleSQL script at the semicolons that end statements.
func Split(text string) ([]string, error) {
	var out []string
	err := Guard(unclosedLiteral(), func() error {
		parts, err := memefish.SplitRawStatements("", text)
		if err != nil {
			return syntaxError(err)
		}
		for _, p := range parts {
			out = append(out, p.Statement)
		}
		return nil
	})
	return out, err
}

func unclosedLiteral() error {
	return status.Error(codes.InvalidArgument, "Error parsing Spanner DDL statement: Syntax error: a literal is not closed")
}
