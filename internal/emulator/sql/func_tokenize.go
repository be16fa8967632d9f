package sql

import (
	"encoding/base64"
	"strings"

	"github.com/cloudspannerecosystem/memefish/ast"

	"spanbulk/internal/emulator/value"
)

// isTokenizer tells of the functions that make a TOKENLIST.
func isTokenizer(name string) bool { return strings.HasPrefix(name, "TOKENIZE_") || name == "TOKEN" }

// tokenizeExpr is a TOKENLIST. What is in it is not told by Spanner, and there
// are no search indexes here: it holds the text of its first argument.
type tokenizeExpr struct{ x expr }

func (*tokenizeExpr) typ() *value.Type { return value.TokenListType }

func (t *tokenizeExpr) eval(e *env) (value.Value, error) {
	v, err := t.x.eval(e)
	if err != nil || v.IsNull() {
		return value.Null(value.TokenListType), err
	}
	return value.TokenList(base64.StdEncoding.EncodeToString(v.AppendText(nil))), nil
}

// tokenize analyses a call of a tokenizer. Options, which are named arguments,
// make no difference.
func (s *scope) tokenize(n *ast.CallExpr) (expr, error) {
	xs, err := s.arguments(n)
	if err != nil {
		return nil, err
	}
	if len(xs) == 0 {
		return nil, s.a.invalidAt(n, "No matching signature for function %s for no arguments", n.Func.SQL())
	}
	x, err := s.a.settle(xs[0])
	return &tokenizeExpr{x}, err
}
