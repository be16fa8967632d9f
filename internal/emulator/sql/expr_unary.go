package sql

import (
	"math"
	"math/big"

	"github.com/cloudspannerecosystem/memefish/ast"

	"spanbulk/internal/emulator/value"
)

func (s *scope) unary(n *ast.UnaryExpr) (expr, error) {
	if n.Op == ast.OpNot {
		x, err := s.boolean(n.Expr, "NOT operand")
		if err != nil {
			return nil, err
		}
		return &notExpr{x}, nil
	}
	x, err := s.expr(n.Expr)
	if err != nil {
		return nil, err
	}
	if x.typ() == nil {
		if x, err = s.a.coerce(x, value.Int64Type); err != nil {
			return nil, err
		}
	}
	f := unaryOn(n.Op, x.typ())
	if f == nil {
		if s.a.pg {
			return nil, s.a.invalidAt(n, "operator does not exist: %s %s", n.Op, x)
		}
		return nil, s.a.invalidAt(n, "No matching signature for operator %s for argument type: %s", n.Op, x)
	}
	if s.a.pg {
		f = pgArithmeticErrors(x.typ(), f)
	}
	return &strictExpr{args: []expr{x}, t: x.typ(), f: f}, nil
}

func unaryOn(op ast.UnaryOp, t *value.Type) func([]value.Value) (value.Value, error) {
	switch {
	case op == ast.OpBitNot && t.Code == value.Int64Code:
		return func(v []value.Value) (value.Value, error) { return value.Int64(^v[0].AsInt64()), nil }
	case op == ast.OpPlus && isNumber(t):
		return func(v []value.Value) (value.Value, error) { return v[0], nil }
	case op == ast.OpMinus && isNumber(t):
		return negate
	}
	return nil
}

func negate(v []value.Value) (value.Value, error) {
	switch v[0].Type().Code {
	case value.Int64Code:
		if v[0].AsInt64() == math.MinInt64 {
			return value.Value{}, outOfRange("int64 overflow: -(%d)", v[0].AsInt64())
		}
		return value.Int64(-v[0].AsInt64()), nil
	case value.Float32Code:
		return value.Float32(float32(-v[0].AsFloat64())), nil
	case value.Float64Code:
		return value.Float64(-v[0].AsFloat64()), nil
	}
	if v[0].Type().IsPGNumeric() {
		return pgNegate(v[0])
	}
	return value.Numeric(new(big.Rat).Neg(v[0].AsNumeric()))
}
