package sql

import (
	"strings"
	"unicode/utf8"

	"github.com/cloudspannerecosystem/memefish/ast"

	"spanbulk/internal/emulator/value"
)

// likeExpr is LIKE on STRING or BYTES.
type likeExpr struct {
	l, pattern operand
	// fixed is the pattern read once, when it is a constant.
	fixed []likeToken
	isset bool
}

func (x *likeExpr) typ() *value.Type { return value.BoolType }

func (x *likeExpr) eval(e *env) (value.Value, error) {
	l, err := x.l.eval(e)
	if err != nil || l.IsNull() {
		return value.Null(value.BoolType), err
	}
	tokens := x.fixed
	if !x.isset {
		p, err := x.pattern.eval(e)
		if err != nil || p.IsNull() {
			return value.Null(value.BoolType), err
		}
		if tokens, err = parseLike(p.AsString()); err != nil {
			return value.Value{}, err
		}
	}
	return value.Bool(matchLike(tokens, l.AsString(), l.Type().Code == value.BytesCode)), nil
}

func (s *scope) like(n *ast.BinaryExpr) (expr, error) {
	ops, t, err := s.operands(n.Left, n.Right)
	if err == nil && t.Code != value.StringCode && t.Code != value.BytesCode {
		err = errMismatch
	}
	if err != nil {
		if ops == nil {
			return nil, err
		}
		return nil, s.a.orMismatch(err, n, "No matching signature for operator LIKE for argument types: %s, %s", ops[0], ops[1])
	}
	x := &likeExpr{l: ops[0], pattern: ops[1]}
	if v, ok := constant(x.pattern.expr); ok && !v.IsNull() {
		// A pattern that is wrong fails when it is used, as on any other row.
		x.fixed, err = parseLike(v.AsString())
		x.isset = err == nil
	}
	return not(x, n.Op == ast.OpNotLike), nil
}

// constant is the value of a literal or parameter.
func constant(x expr) (value.Value, bool) {
	switch x := x.(type) {
	case *literal:
		return x.v, true
	case *paramExpr:
		return x.p.v, x.p.t != nil
	}
	return value.Value{}, false
}

// likeToken is one element of a pattern: a text to be met exactly, one
// character (_), or any number of them (%).
type likeToken struct {
	text      string
	one, many bool
}

func parseLike(pattern string) ([]likeToken, error) {
	var tokens []likeToken
	var text []byte
	flush := func() {
		if len(text) > 0 {
			tokens = append(tokens, likeToken{text: string(text)})
			text = nil
		}
	}
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '%':
			flush()
			if len(tokens) == 0 || !tokens[len(tokens)-1].many {
				tokens = append(tokens, likeToken{many: true})
			}
		case '_':
			flush()
			tokens = append(tokens, likeToken{one: true})
		case '\\':
			if i++; i == len(pattern) {
				return nil, outOfRange("LIKE pattern ends with a backslash")
			}
			text = append(text, pattern[i])
		default:
			text = append(text, c)
		}
	}
	flush()
	return tokens, nil
}

// matchLike matches greedily with one point of return, the last %: what an
// earlier one took never has to be given back.
func matchLike(tokens []likeToken, s string, bytes bool) bool {
	at, t := 0, 0
	retryToken, retryAt := -1, 0
	for t < len(tokens) || at < len(s) {
		if t < len(tokens) {
			if tokens[t].many {
				t++
				retryToken, retryAt = t, at
				continue
			}
			if n, ok := tokens[t].match(s[at:], bytes); ok {
				at, t = at+n, t+1
				continue
			}
		}
		if retryToken < 0 || retryAt >= len(s) {
			return false
		}
		retryAt += charLen(s[retryAt:], bytes)
		at, t = retryAt, retryToken
	}
	return true
}

// match tells how much of s a text or _ takes.
func (k likeToken) match(s string, bytes bool) (int, bool) {
	if k.one {
		return charLen(s, bytes), s != ""
	}
	return len(k.text), strings.HasPrefix(s, k.text)
}

func charLen(s string, bytes bool) int {
	if bytes {
		return 1
	}
	_, n := utf8.DecodeRuneInString(s)
	return n
}
