package sql

import (
	"github.com/cloudspannerecosystem/memefish/ast"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/value"
)

// parameter is a query parameter, shared by all places that name it.
type parameter struct {
	name string
	wire []byte
	// t is the declared type, or the one the first place that had one gave.
	t        *value.Type
	declared bool
	used     bool
	v        value.Value
	read     bool
}

// paramExpr is a use of a parameter.
type paramExpr struct{ p *parameter }

func (x *paramExpr) typ() *value.Type { return x.p.t }

func (x *paramExpr) eval(*env) (value.Value, error) { return x.p.v, nil }

func (s *scope) param(n *ast.Param) (expr, error) {
	p, ok := s.a.params[catalog.Fold(n.Name)]
	if !ok {
		return nil, s.a.invalidAt(n, "No parameter found for binding: %s", n.Name)
	}
	p.used = true
	if p.t != nil {
		if err := p.decode(s.a); err != nil {
			return nil, err
		}
	}
	return &paramExpr{p}, nil
}

// decode reads the sent value by the parameter's type.
func (p *parameter) decode(a *analyzer) error {
	if p.read {
		return nil
	}
	v, err := value.FromWire(p.t, p.wire)
	if err != nil {
		return a.invalid("Invalid value for bind parameter %s: Expected %s.", p.name, p.t)
	}
	p.v, p.read = v, true
	return nil
}

// coerce gives an undeclared parameter its type. A declared one follows like a
// literal: STRING becomes DATE, INT64 becomes FLOAT64.
func (x *paramExpr) coerce(a *analyzer, t *value.Type) (expr, error) {
	if x.p.t == nil {
		x.p.t = t
		return x, x.p.decode(a)
	}
	if x.p.t.Equal(t) {
		return x, nil
	}
	if !widens(x.p.t, t) && !literalFits(x.p.t, t) {
		if !x.p.declared {
			return nil, a.invalid("Undeclared parameter '%s' is used assuming different types (%s vs %s)", x.p.name, x.p.t, t)
		}
		return nil, errMismatch
	}
	v, err := a.conversion(x.p.t, t)(x.p.v)
	if err != nil {
		return nil, a.invalid("Invalid value for bind parameter %s: Expected %s.", x.p.name, t)
	}
	return &literal{v: v}, nil
}

// guess is the type of an undeclared parameter that nothing else gives one.
func (p *parameter) guess(a *analyzer) *value.Type {
	if value.IsNullWire(p.wire) {
		return a.unknownType()
	}
	for _, t := range []*value.Type{value.StringType, value.BoolType, value.Float64Type} {
		if _, err := value.FromWire(t, p.wire); err == nil {
			return t
		}
		if _, err := value.FromWire(value.ArrayOf(t), p.wire); err == nil {
			return value.ArrayOf(t)
		}
	}
	return a.unknownType()
}

// settleParams gives a type to undeclared parameters that were used where any
// would do, such as in IS NULL.
func (a *analyzer) settleParams() error {
	for _, p := range a.params {
		if p.used && p.t == nil {
			p.t = p.guess(a)
			if err := p.decode(a); err != nil {
				return err
			}
		}
	}
	return nil
}
