package sql

import (
	"github.com/cloudspannerecosystem/memefish/ast"

	"spanbulk/internal/emulator/value"
)

// logicExpr is a chain of ANDs, decided by the first FALSE, or of ORs, decided
// by the first TRUE; otherwise NULL if an operand is.
type logicExpr struct {
	operands []expr
	or       bool
}

func (x *logicExpr) typ() *value.Type { return value.BoolType }

func (x *logicExpr) eval(e *env) (value.Value, error) {
	null := false
	for _, operand := range x.operands {
		v, err := operand.eval(e)
		switch {
		case err != nil:
			return value.Value{}, err
		case v.IsNull():
			null = true
		case v.AsBool() == x.or:
			return v, nil
		}
	}
	if null {
		return value.Null(value.BoolType), nil
	}
	return value.Bool(!x.or), nil
}

func (s *scope) logic(n *ast.BinaryExpr) (expr, error) {
	x := &logicExpr{or: n.Op == ast.OpOr}
	for _, operand := range chain(n.Op, n) {
		b, err := s.boolean(operand, string(n.Op)+" operand")
		if err != nil {
			return nil, err
		}
		x.operands = append(x.operands, b)
	}
	return x, nil
}

// chain lists the operands of a op b op c, which the parser nests to the left.
func chain(op ast.BinaryOp, n ast.Expr) []ast.Expr {
	var reversed []ast.Expr
	for {
		if p, ok := n.(*ast.ParenExpr); ok {
			if b, ok := p.Expr.(*ast.BinaryExpr); ok && b.Op == op {
				n = b
				continue
			}
		}
		b, ok := n.(*ast.BinaryExpr)
		if !ok || b.Op != op {
			break
		}
		reversed = append(reversed, b.Right)
		n = b.Left
	}
	out := make([]ast.Expr, 0, len(reversed)+1)
	out = append(out, n)
	for i := len(reversed) - 1; i >= 0; i-- {
		out = append(out, reversed[i])
	}
	return out
}

// notExpr is NOT.
type notExpr struct{ x expr }

func (x *notExpr) typ() *value.Type { return value.BoolType }

func (x *notExpr) eval(e *env) (value.Value, error) {
	v, err := x.x.eval(e)
	if err != nil || v.IsNull() {
		return v, err
	}
	return value.Bool(!v.AsBool()), nil
}

// not negates a condition if wanted: for NOT IN, NOT LIKE, NOT BETWEEN.
func not(x expr, negate bool) expr {
	if negate {
		return &notExpr{x}
	}
	return x
}
