package sql

import (
	"github.com/cloudspannerecosystem/memefish/ast"

	"spanbulk/internal/emulator/value"
)

// betweenExpr is x BETWEEN low AND high: x >= low AND x <= high.
type betweenExpr struct{ x, low, high operand }

func (x *betweenExpr) typ() *value.Type { return value.BoolType }

func (x *betweenExpr) eval(e *env) (value.Value, error) {
	v, err := evalAll(e, []expr{x.x.expr, x.low.expr, x.high.expr})
	if err != nil {
		return value.Value{}, err
	}
	null := false
	for i, op := range []ast.BinaryOp{ast.OpGreaterEqual, ast.OpLessEqual} {
		if v[0].IsNull() || v[i+1].IsNull() {
			null = true
		} else if r := compareValues(op, v[0], v[i+1]); !r.AsBool() {
			return r, nil
		}
	}
	if null {
		return value.Null(value.BoolType), nil
	}
	return value.Bool(true), nil
}

func (s *scope) between(n *ast.BetweenExpr) (expr, error) {
	ops, t, err := s.operands(n.Left, n.RightStart, n.RightEnd)
	if err == nil && !comparable(t, false) {
		err = errMismatch
	}
	if err != nil {
		if ops == nil {
			return nil, err
		}
		return nil, s.a.orMismatch(err, n, "No matching signature for operator BETWEEN for argument types: %s, %s, %s", ops[0], ops[1], ops[2])
	}
	return not(&betweenExpr{x: ops[0], low: ops[1], high: ops[2]}, n.Not), nil
}
