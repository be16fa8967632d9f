package sql

import (
	"github.com/cloudspannerecosystem/memefish/ast"

	"spanbulk/internal/emulator/value"
)

// isNullExpr is IS NULL.
type isNullExpr struct{ x operand }

func (x *isNullExpr) typ() *value.Type { return value.BoolType }

func (x *isNullExpr) eval(e *env) (value.Value, error) {
	if c, ok := x.x.expr.(*columnExpr); ok {
		return value.Bool(c.at(e).isNull()), nil
	}
	v, err := x.x.eval(e)
	return value.Bool(v.IsNull()), err
}

func (s *scope) isNull(n *ast.IsNullExpr) (expr, error) {
	mark := len(s.refs)
	x, err := s.expr(n.Left)
	if a, ok := x.(*arrayExpr); ok && err == nil {
		x, err = s.a.settle(a)
	}
	if err != nil {
		return nil, err
	}
	return not(&isNullExpr{operand{x, s.refs[mark:]}}, n.Not), nil
}

// isBoolExpr is IS TRUE and IS FALSE, never NULL.
type isBoolExpr struct {
	x    expr
	want bool
}

func (x *isBoolExpr) typ() *value.Type { return value.BoolType }

func (x *isBoolExpr) eval(e *env) (value.Value, error) {
	v, err := x.x.eval(e)
	return value.Bool(!v.IsNull() && v.AsBool() == x.want), err
}

func (s *scope) isBool(n *ast.IsBoolExpr) (expr, error) {
	x, err := s.boolean(n.Left, "IS TRUE operand")
	if err != nil {
		return nil, err
	}
	return not(&isBoolExpr{x, n.Right}, n.Not), nil
}
