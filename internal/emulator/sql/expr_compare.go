package sql

import (
	"math"

	"github.com/cloudspannerecosystem/memefish/ast"

	"spanbulk/internal/emulator/value"
)

// operand is an expression with the cells of its scope that it refers to.
type operand struct {
	expr
	refs []int
}

// compareExpr is = != < <= > >=, NULL if an operand is.
type compareExpr struct {
	op   ast.BinaryOp
	l, r operand
	pg   bool
}

func (x *compareExpr) typ() *value.Type { return value.BoolType }

func (x *compareExpr) eval(e *env) (value.Value, error) {
	l, err := x.l.eval(e)
	if err != nil || l.IsNull() {
		return value.Null(value.BoolType), err
	}
	r, err := x.r.eval(e)
	if err != nil || r.IsNull() {
		return value.Null(value.BoolType), err
	}
	if x.pg {
		return pgComparison(x.op, l, r), nil
	}
	return compareValues(x.op, l, r), nil
}

// compareValues compares values that are not NULL. NaN is unequal to and not
// less or greater than anything.
func compareValues(op ast.BinaryOp, l, r value.Value) value.Value {
	if isNaN(l) || isNaN(r) {
		return value.Bool(op == ast.OpNotEqual)
	}
	if l.Type().Code == value.StructCode || l.Type().Code == value.ArrayCode {
		if v, decided := compareFields(op, l, r); decided {
			return v
		}
	}
	return comparison(op, value.Compare(l, r))
}

// comparison is what an operator says of two values that compare as c.
func comparison(op ast.BinaryOp, c int) value.Value {
	switch op {
	case ast.OpEqual:
		return value.Bool(c == 0)
	case ast.OpNotEqual:
		return value.Bool(c != 0)
	case ast.OpLess:
		return value.Bool(c < 0)
	case ast.OpLessEqual:
		return value.Bool(c <= 0)
	case ast.OpGreater:
		return value.Bool(c > 0)
	default:
		return value.Bool(c >= 0)
	}
}

// compareFields decides = and != of STRUCTs and ARRAYs: unequal if a pair of
// fields is, else NULL if one of them is NULL.
func compareFields(op ast.BinaryOp, l, r value.Value) (v value.Value, decided bool) {
	if op != ast.OpEqual && op != ast.OpNotEqual || len(l.List()) != len(r.List()) {
		return value.Value{}, false
	}
	null := false
	for i := range l.List() {
		a, b := l.List()[i], r.List()[i]
		if a.IsNull() || b.IsNull() {
			null = true
			continue
		}
		eq := compareValues(ast.OpEqual, a, b)
		if eq.IsNull() {
			null = true
		} else if !eq.AsBool() {
			return value.Bool(op == ast.OpNotEqual), true
		}
	}
	if null {
		return value.Null(value.BoolType), true
	}
	return value.Bool(op == ast.OpEqual), true
}

func isNaN(v value.Value) bool {
	t := v.Type()
	return (t.Code == value.Float64Code || t.Code == value.Float32Code) && math.IsNaN(v.AsFloat64())
}

// equal is = on two values that may be NULL: NULL counts as unequal.
func equal(a, b value.Value) bool {
	if a.IsNull() || b.IsNull() {
		return false
	}
	v := compareValues(ast.OpEqual, a, b)
	return !v.IsNull() && v.AsBool()
}

// operands analyses expressions that are to have one type, noting what each
// refers to.
func (s *scope) operands(nodes ...ast.Expr) ([]operand, *value.Type, error) {
	xs := make([]expr, len(nodes))
	out := make([]operand, len(nodes))
	for i, n := range nodes {
		mark := len(s.refs)
		x, err := s.expr(n)
		if err != nil {
			return nil, nil, err
		}
		xs[i], out[i].refs = x, s.refs[mark:]
	}
	unified, t, err := s.a.unify(xs)
	if err != nil {
		for i, x := range xs {
			out[i].expr = x
		}
		return out, nil, err
	}
	if unified, err = s.a.settleAll(unified); err != nil {
		return nil, nil, err
	}
	for i, x := range unified {
		out[i].expr = x
	}
	if t == nil {
		t = out[0].typ()
	}
	return out, t, nil
}

func (s *scope) compare(n *ast.BinaryExpr) (expr, error) {
	ops, t, err := s.operands(n.Left, n.Right)
	if err != nil {
		if ops == nil {
			return nil, err
		}
		return nil, s.a.orNoOperator(err, n, ops[0], ops[1])
	}
	equality := n.Op == ast.OpEqual || n.Op == ast.OpNotEqual
	if !comparable(t, equality) {
		return nil, s.a.invalidAt(n, "%s is not defined for arguments of type %s", n.Op, t)
	}
	return &compareExpr{op: n.Op, l: ops[0], r: ops[1], pg: s.a.pg}, nil
}

// comparable tells whether values of a type can be compared for equality, or
// for order.
func comparable(t *value.Type, equality bool) bool {
	switch t.Code {
	case value.JSONCode, value.ProtoCode, value.TokenListCode:
		return false
	case value.ArrayCode:
		return equality && comparable(t.Elem, true)
	case value.StructCode:
		for _, f := range t.Fields {
			if !comparable(f.Type, true) {
				return false
			}
		}
		return equality
	}
	return true
}
