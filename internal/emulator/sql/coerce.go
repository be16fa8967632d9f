package sql

import (
	"errors"

	"github.com/cloudspannerecosystem/memefish/ast"

	"spanbulk/internal/emulator/value"
)

// errMismatch tells that an expression cannot stand for a type. Callers say
// what was expected where; see orMismatch.
var errMismatch = errors.New("type mismatch")

// orMismatch replaces errMismatch by a message about the place; other errors
// pass.
func (a *analyzer) orMismatch(err error, n ast.Node, format string, args ...any) error {
	if errors.Is(err, errMismatch) {
		return a.invalidAt(n, format, args...)
	}
	return err
}

// orNoOperator is orMismatch for an operator with no meaning for its operands.
func (a *analyzer) orNoOperator(err error, n *ast.BinaryExpr, l, r expr) error {
	if a.pg {
		return a.orMismatch(err, n, "operator does not exist: %s %s %s", l, n.Op, r)
	}
	return a.orMismatch(err, n, "No matching signature for operator %s for argument types: %s, %s", n.Op, l, r)
}

// coerce makes x an expression of type t where GoogleSQL does so by itself:
// widening of numbers, and literals and parameters taking their type from the
// place they stand in.
func (a *analyzer) coerce(x expr, t *value.Type) (expr, error) {
	if x.typ() != nil && x.typ().Equal(t) {
		return x, nil
	}
	switch x := x.(type) {
	case *literal:
		return x.coerce(a, t)
	case *paramExpr:
		return x.coerce(a, t)
	case *arrayExpr:
		return x.coerce(a, t)
	case *structExpr:
		return x.coerce(a, t)
	}
	if x.typ() == nil || !widens(x.typ(), t) {
		return nil, errMismatch
	}
	return &castExpr{x: x, t: t, conv: a.conversion(x.typ(), t)}, nil
}

// coerceAll coerces every expression to t.
func (a *analyzer) coerceAll(xs []expr, t *value.Type) ([]expr, error) {
	out := make([]expr, len(xs))
	for i, x := range xs {
		c, err := a.coerce(x, t)
		if err != nil {
			return nil, err
		}
		out[i] = c
	}
	return out, nil
}

// widens tells whether any value of from becomes a to without being asked.
func widens(from, to *value.Type) bool {
	switch from.Code {
	case value.Int64Code:
		return to.Code == value.NumericCode || to.Code == value.Float64Code
	case value.NumericCode, value.Float32Code:
		return to.Code == value.Float64Code
	case value.StructCode:
		return sameFieldTypes(from, to)
	}
	return false
}

func sameFieldTypes(a, b *value.Type) bool {
	if a.Code != value.StructCode || b.Code != value.StructCode || len(a.Fields) != len(b.Fields) {
		return false
	}
	for i := range a.Fields {
		if !a.Fields[i].Type.Equal(b.Fields[i].Type) {
			return false
		}
	}
	return true
}

// common is the type that both types become without being asked, or nil.
func common(a, b *value.Type) *value.Type {
	switch {
	case a == nil:
		return b
	case b == nil || a.Equal(b) || widens(b, a):
		return a
	case widens(a, b):
		return b
	case isNumber(a) && isNumber(b):
		return value.Float64Type
	}
	return nil
}

func isNumber(t *value.Type) bool {
	switch t.Code {
	case value.Int64Code, value.Float64Code, value.Float32Code, value.NumericCode:
		return true
	}
	return false
}

// unify gives several expressions one type: that of those which are no
// literals, if the literals follow, else one wide enough for all. Expressions
// without any type stay as they are and t is nil.
func (a *analyzer) unify(xs []expr) (out []expr, t *value.Type, err error) {
	var firm, loose *value.Type
	for _, x := range xs {
		if x.typ() == nil {
			continue
		}
		if isLoose(x) {
			if loose = common(loose, x.typ()); loose == nil {
				loose = x.typ()
			}
		} else if firm = common(firm, x.typ()); firm == nil {
			return nil, nil, errMismatch
		}
	}
	for _, t := range []*value.Type{firm, loose, common(firm, loose)} {
		if t == nil {
			continue
		}
		if out, err = a.coerceAll(xs, t); err == nil || !errors.Is(err, errMismatch) {
			return out, t, err
		}
	}
	if firm == nil && loose == nil {
		return xs, nil, nil
	}
	return nil, nil, errMismatch
}

// isLoose tells whether an expression takes its type from its neighbours.
func isLoose(x expr) bool {
	switch x := x.(type) {
	case *literal:
		return x.loose
	case *paramExpr:
		return true
	case *arrayExpr:
		return x.loose()
	}
	return false
}

// settle gives an expression without a type the one Spanner gives it in the
// end: INT64 or PostgreSQL's text for NULL, and for an undeclared parameter
// what its value looks like.
func (a *analyzer) settle(x expr) (expr, error) {
	if x.typ() != nil {
		return x, nil
	}
	switch x := x.(type) {
	case *paramExpr:
		return x.coerce(a, x.p.guess(a))
	case *arrayExpr:
		if a.pg && len(x.items) == 0 {
			return nil, invalid("cannot determine type of empty array: cast it to the desired type, for example ARRAY[]::bigint[]")
		}
		return x.coerce(a, value.ArrayOf(a.unknownType()))
	}
	out, err := a.coerce(x, a.unknownType())
	if err != nil {
		return nil, invalid("The type of an expression cannot be determined")
	}
	return out, nil
}

func (a *analyzer) unknownType() *value.Type {
	if a.pg {
		return value.StringType
	}
	return value.Int64Type
}

func (a *analyzer) settleAll(xs []expr) ([]expr, error) {
	out := make([]expr, len(xs))
	for i, x := range xs {
		s, err := a.settle(x)
		if err != nil {
			return nil, err
		}
		out[i] = s
	}
	return out, nil
}
