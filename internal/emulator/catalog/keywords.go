package catalog

import (
	"regexp"
	"strings"

	"github.com/cloudspannerecosystem/memefish"
	"github.com/cloudspannerecosystem/memefish/token"
)

// The functions LEFT and RIGHT under the names that they are parsed by; see
// ParseableFunctions.
const (
	LeftFunction  = "LEF_"
	RightFunction = "RIGH_"
)

var keywordCall = regexp.MustCompile(`(?i)\b(left|right)\s*\(`)

// ParseableFunctions renames calls of LEFT and RIGHT in a statement: the grammar
// knows these words as kinds of JOIN alone, which no parenthesis follows. All
// positions stay what they are.
func ParseableFunctions(text string) string {
	if !keywordCall.MatchString(text) {
		return text
	}
	out := []byte(text)
	lex := &memefish.Lexer{File: &token.File{Buffer: text}}
	for {
		before := lex.Token
		if err := NextToken(lex); err != nil || lex.Token.Kind == token.TokenEOF {
			return string(out) // the parser says what is wrong
		}
		if lex.Token.Kind != "(" {
			continue
		}
		switch before.Kind {
		case "LEFT":
			copy(out[before.Pos:], LeftFunction)
		case "RIGHT":
			copy(out[before.Pos:], RightFunction)
		}
	}
}

var plainSequence = regexp.MustCompile(`(?i)^\s*CREATE\s+SEQUENCE\s`)

// parseable is a DDL statement as the grammar knows it: with functions that it
// can read, and OPTIONS on every CREATE SEQUENCE.
func parseable(statement string) string {
	if plainSequence.MatchString(statement) && !strings.Contains(strings.ToUpper(statement), "OPTIONS") {
		statement += "\nOPTIONS (sequence_kind = NULL)"
	}
	return ParseableFunctions(statement)
}
