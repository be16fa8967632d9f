package sql

import (
	"github.com/cloudspannerecosystem/memefish/ast"

	"spanbulk/internal/emulator/value"
)

func (s *scope) subscript(n *ast.IndexExpr) (expr, error) {
	x, err := s.expr(n.Expr)
	if err == nil {
		x, err = s.a.settle(x)
	}
	if err != nil {
		return nil, err
	}
	var node ast.Expr
	keyword := ast.PositionKeyword("")
	switch i := n.Index.(type) {
	case *ast.ExprArg:
		node = i.Expr
	case *ast.SubscriptSpecifierKeyword:
		node, keyword = i.Expr, i.Keyword
	}
	index, err := s.expr(node)
	if err != nil {
		return nil, err
	}
	if isType(x, value.JSONCode) && keyword == "" {
		return s.jsonSubscript(n, x, index)
	}
	index, err = s.a.coerce(index, value.Int64Type)
	if err != nil {
		return nil, s.a.orMismatch(err, n, "Array position must be coercible to INT64 type")
	}
	if x.typ().Code != value.ArrayCode {
		return nil, s.a.invalidAt(n, "Subscript access is not supported for type %s", x.typ())
	}
	if keyword == "" {
		keyword = ast.PositionKeywordOffset
	}
	return &strictExpr{args: []expr{x, index}, t: x.typ().Elem, f: elementAt(keyword)}, nil
}

func elementAt(keyword ast.PositionKeyword) func([]value.Value) (value.Value, error) {
	ordinal := keyword == ast.PositionKeywordOrdinal || keyword == ast.PositionKeywordSafeOrdinal
	safe := keyword == ast.PositionKeywordSafeOffset || keyword == ast.PositionKeywordSafeOrdinal
	return func(v []value.Value) (value.Value, error) {
		list, i := v[0].List(), v[1].AsInt64()
		if ordinal {
			i--
		}
		switch {
		case i >= 0 && i < int64(len(list)):
			return list[i], nil
		case safe:
			return value.Null(v[0].Type().Elem), nil
		}
		return value.Value{}, outOfRange("Array index %d is out of bounds", v[1].AsInt64())
	}
}
