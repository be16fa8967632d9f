package sql

import (
	"math"
	"math/big"

	"github.com/cloudspannerecosystem/memefish/ast"

	"spanbulk/internal/emulator/value"
)

func int64Arithmetic(op ast.BinaryOp, a, b int64) (value.Value, error) {
	if op == ast.OpDiv && b == 0 {
		return value.Value{}, outOfRange("division by zero")
	}
	n, ok := int64Checked(op, a, b)
	if !ok {
		return value.Value{}, outOfRange("int64 overflow: %d %s %d", a, op, b)
	}
	return value.Int64(n), nil
}

func int64Checked(op ast.BinaryOp, a, b int64) (int64, bool) {
	switch op {
	case ast.OpAdd:
		n := a + b
		return n, (n > a) == (b > 0)
	case ast.OpSub:
		n := a - b
		return n, (n < a) == (b > 0)
	case ast.OpDiv:
		return a / b, !(a == math.MinInt64 && b == -1)
	default:
		if a == 0 || b == 0 {
			return 0, true
		}
		n := a * b
		return n, n/b == a && !(a == -1 && b == math.MinInt64) && !(b == -1 && a == math.MinInt64)
	}
}

func float64Arithmetic(op ast.BinaryOp, a, b float64) (value.Value, error) {
	var f float64
	switch op {
	case ast.OpAdd:
		f = a + b
	case ast.OpSub:
		f = a - b
	case ast.OpMul:
		f = a * b
	case ast.OpDiv:
		if b == 0 {
			return value.Value{}, outOfRange("division by zero: %v / %v", a, b)
		}
		f = a / b
	}
	if math.IsInf(f, 0) && !math.IsInf(a, 0) && !math.IsInf(b, 0) {
		return value.Value{}, outOfRange("double overflow: %v %s %v", a, op, b)
	}
	return value.Float64(f), nil
}

func numericArithmetic(op ast.BinaryOp, a, b value.Value) (value.Value, error) {
	x, y := a.AsNumeric(), b.AsNumeric()
	switch op {
	case ast.OpAdd:
		x.Add(x, y)
	case ast.OpSub:
		x.Sub(x, y)
	case ast.OpMul:
		x.Mul(x, y)
	case ast.OpDiv:
		if y.Sign() == 0 {
			return value.Value{}, outOfRange("division by zero: %s / %s", quoted(a), quoted(b))
		}
		x.Quo(x, y)
	}
	v, err := roundNumeric(x)
	if err != nil {
		return value.Value{}, outOfRange("numeric overflow: %s %s %s", quoted(a), op, quoted(b))
	}
	return v, nil
}

// roundNumeric rounds to NUMERIC's nine fractional digits, halves away from
// zero.
func roundNumeric(r *big.Rat) (value.Value, error) { return value.Numeric(roundRat(r, 9)) }

// roundRat rounds to a number of fractional digits, which may be negative,
// halves away from zero.
func roundRat(r *big.Rat, digits int64) *big.Rat {
	scale := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(max(digits, -digits)), nil))
	if digits < 0 {
		scale.Inv(scale)
	}
	scaled := new(big.Rat).Mul(r, scale)
	half := big.NewRat(int64(scaled.Sign()), 2)
	scaled.Add(scaled, half)
	whole := new(big.Int).Quo(scaled.Num(), scaled.Denom())
	return scaled.Quo(new(big.Rat).SetInt(whole), scale)
}

func int64Bitwise(op ast.BinaryOp, a, b int64) (value.Value, error) {
	switch op {
	case ast.OpBitAnd:
		return value.Int64(a & b), nil
	case ast.OpBitOr:
		return value.Int64(a | b), nil
	case ast.OpBitXor:
		return value.Int64(a ^ b), nil
	}
	if b < 0 {
		return value.Value{}, outOfRange("Bitwise shift by negative offset.")
	}
	if b >= 64 {
		return value.Int64(0), nil
	}
	if op == ast.OpBitLeftShift {
		return value.Int64(a << b), nil
	}
	return value.Int64(int64(uint64(a) >> b)), nil
}
