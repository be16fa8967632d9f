package sql

import (
	"slices"

	"github.com/cloudspannerecosystem/memefish/ast"

	"spanbulk/internal/emulator/value"
)

// strictExpr applies f to its arguments and is NULL if one of them is.
type strictExpr struct {
	args []expr
	t    *value.Type
	f    func(args []value.Value) (value.Value, error)
}

func (x *strictExpr) typ() *value.Type { return x.t }

func (x *strictExpr) eval(e *env) (value.Value, error) {
	var room [4]value.Value
	args := room[:0]
	for _, a := range x.args {
		v, err := a.eval(e)
		if err != nil {
			return value.Value{}, err
		}
		if v.IsNull() {
			return value.Null(x.t), nil
		}
		args = append(args, v)
	}
	return x.f(args)
}

func (s *scope) binary(n *ast.BinaryExpr) (expr, error) {
	switch n.Op {
	case ast.OpAnd, ast.OpOr:
		return s.logic(n)
	case ast.OpEqual, ast.OpNotEqual, ast.OpLess, ast.OpLessEqual, ast.OpGreater, ast.OpGreaterEqual:
		return s.compare(n)
	case ast.OpLike, ast.OpNotLike:
		return s.like(n)
	}
	args, err := s.exprs([]ast.Expr{n.Left, n.Right})
	if err != nil {
		return nil, err
	}
	x, err := s.operator(n.Op, args)
	if err != nil {
		return nil, s.a.orNoOperator(err, n, args[0], args[1])
	}
	return x, nil
}

func (s *scope) operator(op ast.BinaryOp, args []expr) (expr, error) {
	switch op {
	case ast.OpConcat:
		return s.concat(args)
	case ast.OpBitOr, ast.OpBitXor, ast.OpBitAnd, ast.OpBitLeftShift, ast.OpBitRightShift:
		return s.bitwise(op, args)
	}
	if s.a.pg {
		if x, err := s.intervalArithmetic(op, args); x != nil || err != nil {
			return x, err
		}
	}
	if x, err := s.dateArithmetic(op, args); x != nil || err != nil {
		return x, err
	}
	return s.arithmetic(op, args)
}

// dateArithmetic is DATE + INT64 and DATE - INT64, in days, and in PostgreSQL
// the days from one date to another.
func (s *scope) dateArithmetic(op ast.BinaryOp, args []expr) (expr, error) {
	date, days := args[0], args[1]
	if s.a.pg && op == ast.OpSub && isType(date, value.DateCode) && isType(days, value.DateCode) {
		f := func(v []value.Value) (value.Value, error) { return value.Int64(v[0].AsInt64() - v[1].AsInt64()), nil }
		return &strictExpr{args: args, t: value.Int64Type, f: f}, nil
	}
	if op == ast.OpAdd && isType(days, value.DateCode) {
		date, days = days, date
	}
	if !isType(date, value.DateCode) || op != ast.OpAdd && op != ast.OpSub || isType(days, value.DateCode) {
		return nil, nil
	}
	days, err := s.a.coerce(days, value.Int64Type)
	if err != nil {
		return nil, err
	}
	f := func(v []value.Value) (value.Value, error) {
		n := v[1].AsInt64()
		if op == ast.OpSub {
			n = -n
		}
		return addDays(v[0].AsInt64(), n)
	}
	return &strictExpr{args: []expr{date, days}, t: value.DateType, f: f}, nil
}

func isType(x expr, code value.Code) bool { return x.typ() != nil && x.typ().Code == code }

// arithmetic is + - * / on numbers; / on INT64 is FLOAT64, in PostgreSQL the
// whole part of the quotient.
func (s *scope) arithmetic(op ast.BinaryOp, args []expr) (expr, error) {
	args, t, err := s.a.unify(args)
	if err != nil {
		return nil, err
	}
	if t == nil {
		t = value.Int64Type
	}
	if t.Code == value.Float32Code || t.Code == value.Int64Code && op == ast.OpDiv && !s.a.pg {
		t = value.Float64Type
	}
	if args, err = s.a.coerceAll(args, t); err != nil {
		return nil, err
	}
	f := arithmeticOn(op, t)
	if f == nil {
		return nil, errMismatch
	}
	if s.a.pg {
		f = pgArithmeticErrors(t, f)
	}
	return &strictExpr{args: args, t: t, f: f}, nil
}

func arithmeticOn(op ast.BinaryOp, t *value.Type) func([]value.Value) (value.Value, error) {
	switch t.Code {
	case value.Int64Code:
		return func(v []value.Value) (value.Value, error) { return int64Arithmetic(op, v[0].AsInt64(), v[1].AsInt64()) }
	case value.Float64Code:
		return func(v []value.Value) (value.Value, error) {
			return float64Arithmetic(op, v[0].AsFloat64(), v[1].AsFloat64())
		}
	case value.NumericCode:
		if t.IsPGNumeric() {
			return pgArithmetic(op)
		}
		return func(v []value.Value) (value.Value, error) { return numericArithmetic(op, v[0], v[1]) }
	}
	return nil
}

// bitwise works on two INT64 or two BYTES of one length; shifts take any BYTES
// by an INT64.
func (s *scope) bitwise(op ast.BinaryOp, args []expr) (expr, error) {
	args, err := s.a.coerceAll(args, value.Int64Type)
	if err != nil {
		return nil, err
	}
	f := func(v []value.Value) (value.Value, error) { return int64Bitwise(op, v[0].AsInt64(), v[1].AsInt64()) }
	return &strictExpr{args: args, t: value.Int64Type, f: f}, nil
}

// asTexts makes text of what PostgreSQL joins to a text.
func (s *scope) asTexts(args []expr) []expr {
	isText := func(x expr) bool { return isType(x, value.StringCode) }
	if !slices.ContainsFunc(args, isText) {
		return args
	}
	out := make([]expr, len(args))
	for i, x := range args {
		out[i] = x
		if x.typ() == nil || isText(x) || x.typ().Code == value.ArrayCode || x.typ().Code == value.BytesCode {
			continue
		}
		if conv := s.a.conversion(x.typ(), value.StringType); conv != nil {
			out[i] = &castExpr{x: x, t: value.StringType, conv: conv}
		}
	}
	return out
}

// concat is || on STRING, BYTES and ARRAY.
func (s *scope) concat(args []expr) (expr, error) {
	if s.a.pg {
		args = s.asTexts(args)
	}
	args, t, err := s.a.unify(args)
	if err != nil {
		return nil, err
	}
	if t == nil {
		t = value.StringType
		if args, err = s.a.coerceAll(args, t); err != nil {
			return nil, err
		}
	}
	switch t.Code {
	case value.StringCode:
		return &strictExpr{args: args, t: t, f: concatStrings(value.String)}, nil
	case value.BytesCode:
		return &strictExpr{args: args, t: t, f: concatStrings(value.Bytes)}, nil
	case value.ArrayCode:
		return &strictExpr{args: args, t: t, f: concatArrays(t)}, nil
	}
	return nil, errMismatch
}
