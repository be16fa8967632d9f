package catalog

import (
	"strings"

	"github.com/cloudspannerecosystem/memefish"
	"github.com/cloudspannerecosystem/memefish/token"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// maxNesting bounds the recursion of parser and analysis.
const maxNesting = 300

// CheckNesting refuses statements whose nesting would drive the recursive parser
// too deep. Texts that cannot nest so deep are not looked at twice.
func CheckNesting(text string) error {
	openers := strings.Count(text, "(") + strings.Count(text, "[") + strings.Count(text, "{") + strings.Count(text, "<")
	if openers < maxNesting && len(text) < 20*maxNesting {
		return nil
	}
	lex := &memefish.Lexer{File: &token.File{Buffer: text}}
	depth, prefixes := 0, 0
	for {
		if err := NextToken(lex); err != nil {
			return nil // the parser says what is wrong
		}
		prefixes++
		switch lex.Token.Kind {
		case token.TokenEOF:
			return nil
		case "(", "[", "{", "CASE":
			depth++
		case ")", "]", "}", "END":
			depth--
		case "-", "+", "~", "NOT", "INTERVAL", "<", "ARRAY", "STRUCT":
			// Operators before an operand nest without brackets.
		default:
			prefixes = 0
		}
		if depth > maxNesting || prefixes > maxNesting {
			return status.Errorf(codes.InvalidArgument, "Query is nested too deeply: the limit is %d levels", maxNesting)
		}
	}
}
