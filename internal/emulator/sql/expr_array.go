package sql

import (
	"github.com/cloudspannerecosystem/memefish/ast"

	"spanbulk/internal/emulator/value"
)

// arrayExpr is an ARRAY literal.
type arrayExpr struct {
	items []expr
	// t is nil for [] until its place gives it a type.
	t *value.Type
	// typed tells that the element type was written down.
	typed bool
}

func (x *arrayExpr) typ() *value.Type { return x.t }

func (x *arrayExpr) eval(e *env) (value.Value, error) {
	items, err := evalAll(e, x.items)
	if err != nil {
		return value.Value{}, err
	}
	return value.Array(x.t.Elem, items).WithType(x.t), nil
}

// loose tells whether the elements would take their type from the place.
func (x *arrayExpr) loose() bool {
	if x.typed {
		return false
	}
	for _, item := range x.items {
		if !isLoose(item) {
			return false
		}
	}
	return true
}

func (x *arrayExpr) coerce(a *analyzer, t *value.Type) (expr, error) {
	if t.Code != value.ArrayCode || x.typed {
		return nil, errMismatch
	}
	items, err := a.coerceAll(x.items, t.Elem)
	if err != nil {
		return nil, err
	}
	return &arrayExpr{items: items, t: t}, nil
}

func (s *scope) array(n *ast.ArrayLiteral) (expr, error) {
	items, err := s.exprs(n.Values)
	if err != nil {
		return nil, err
	}
	if n.Type != nil {
		return s.typedArray(n, items)
	}
	if len(items) == 0 {
		return &arrayExpr{}, nil
	}
	written := items
	items, t, err := s.a.unify(items)
	if err != nil {
		return nil, s.a.orMismatch(err, n, "Array elements of types %s do not have a common supertype", written)
	}
	if t == nil {
		if items, err = s.a.settleAll(items); err != nil {
			return nil, err
		}
		t = items[0].typ()
		if items, err = s.a.coerceAll(items, t); err != nil {
			return nil, s.a.orMismatch(err, n, "Array elements do not have a common supertype")
		}
	}
	if t.Code == value.ArrayCode {
		return nil, s.a.invalidAt(n, "Cannot construct array with element type %s because nested arrays are not supported", t)
	}
	return &arrayExpr{items: items, t: value.ArrayOf(t)}, nil
}

// typedArray is ARRAY<T>[...].
func (s *scope) typedArray(n *ast.ArrayLiteral, items []expr) (expr, error) {
	elem, err := s.a.castType(n.Type)
	if err != nil {
		return nil, err
	}
	items, err = s.a.coerceAll(items, elem)
	if err != nil {
		return nil, s.a.orMismatch(err, n, "Array element does not have type %s", elem)
	}
	return &arrayExpr{items: items, t: value.ArrayOf(elem), typed: true}, nil
}
