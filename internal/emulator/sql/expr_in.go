package sql

import (
	"github.com/cloudspannerecosystem/memefish/ast"

	"spanbulk/internal/emulator/value"
)

// inListExpr is x IN (a, b, c).
type inListExpr struct {
	l     operand
	items []operand
}

func (x *inListExpr) typ() *value.Type { return value.BoolType }

func (x *inListExpr) eval(e *env) (value.Value, error) {
	l, err := x.l.eval(e)
	if err != nil || l.IsNull() {
		return value.Null(value.BoolType), err
	}
	null := false
	for _, item := range x.items {
		v, err := item.eval(e)
		if err != nil {
			return value.Value{}, err
		}
		if equal(l, v) {
			return value.Bool(true), nil
		}
		null = null || v.IsNull()
	}
	return inVerdict(null), nil
}

// inVerdict is IN's answer when no item was equal: NULL if one might have been.
func inVerdict(null bool) value.Value {
	if null {
		return value.Null(value.BoolType)
	}
	return value.Bool(false)
}

// inArrayExpr is x IN UNNEST(array). An array that is NULL is empty.
type inArrayExpr struct{ l, array operand }

func (x *inArrayExpr) typ() *value.Type { return value.BoolType }

func (x *inArrayExpr) eval(e *env) (value.Value, error) {
	array, err := x.array.eval(e)
	if err != nil || array.IsNull() || len(array.List()) == 0 {
		return value.Bool(false), err
	}
	l, err := x.l.eval(e)
	if err != nil || l.IsNull() {
		return value.Null(value.BoolType), err
	}
	null := false
	for _, v := range array.List() {
		if equal(l, v) {
			return value.Bool(true), nil
		}
		null = null || v.IsNull()
	}
	return inVerdict(null), nil
}

func (s *scope) in(n *ast.InExpr) (expr, error) {
	switch right := n.Right.(type) {
	case *ast.ValuesInCondition:
		return s.inList(n, right.Exprs)
	case *ast.UnnestInCondition:
		return s.inArray(n, right.Expr)
	case *ast.SubQueryInCondition:
		return s.inSubquery(n, right.Query)
	}
	return nil, unimplemented(constructName(n.Right))
}

func (s *scope) inList(n *ast.InExpr, items []ast.Expr) (expr, error) {
	ops, t, err := s.operands(append([]ast.Expr{n.Left}, items...)...)
	if err == nil && !comparable(t, true) {
		err = errMismatch
	}
	if err != nil {
		return nil, s.a.orMismatch(err, n, "No matching signature for operator IN for the types of its arguments")
	}
	return not(&inListExpr{l: ops[0], items: ops[1:]}, n.Not), nil
}

func (s *scope) inArray(n *ast.InExpr, array ast.Expr) (expr, error) {
	mark := len(s.refs)
	l, err := s.expr(n.Left)
	if err != nil {
		return nil, err
	}
	middle := len(s.refs)
	r, err := s.expr(array)
	if err != nil {
		return nil, err
	}
	l, r, err = s.matchElement(l, r)
	if err != nil {
		return nil, s.a.orMismatch(err, n, "No matching signature for operator IN UNNEST for argument types: %s, %s", l, r)
	}
	x := &inArrayExpr{l: operand{l, s.refs[mark:middle]}, array: operand{r, s.refs[middle:]}}
	return not(x, n.Not), nil
}

// matchElement gives a value and the elements of an array one type.
func (s *scope) matchElement(l, r expr) (expr, expr, error) {
	if l.typ() == nil && r.typ() != nil && r.typ().Code == value.ArrayCode {
		x, err := s.a.coerce(l, r.typ().Elem)
		return x, r, err
	}
	settled, err := s.a.settle(l)
	if err != nil {
		return l, r, err
	}
	if x, err := s.a.coerce(r, value.ArrayOf(settled.typ())); err == nil {
		return settled, x, nil
	}
	if r.typ() == nil || r.typ().Code != value.ArrayCode {
		return l, r, errMismatch
	}
	x, err := s.a.coerce(settled, r.typ().Elem)
	if err != nil {
		return l, r, err
	}
	return x, r, nil
}
