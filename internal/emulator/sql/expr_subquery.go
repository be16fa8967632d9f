package sql

import (
	"github.com/cloudspannerecosystem/memefish/ast"

	"spanbulk/internal/emulator/value"
)

// nested analyses a query inside an expression, which sees this query's rows.
func (s *scope) nested(n ast.QueryExpr) (*plan, error) {
	if s.a.lookup == nil {
		return nil, s.a.invalidAt(n, "Subqueries are not allowed in this expression")
	}
	p, err := s.a.query(n, s, s.ctes)
	if err != nil {
		return nil, err
	}
	return p, p.settle(s.a)
}

// nestedColumn is nested for a query that must have one column.
func (s *scope) nestedColumn(n ast.QueryExpr, what string) (*plan, error) {
	p, err := s.nested(n)
	if err != nil {
		return nil, err
	}
	if len(p.out) != 1 {
		return nil, s.a.invalidAt(n, "%s must have only one output column", what)
	}
	return p, nil
}

// memoized computes once a run what no row has an influence on.
func memoized[T any](p *plan, e *env, key any, f func() (T, error)) (T, error) {
	if p.correlated {
		return f()
	}
	if v, ok := e.rt.memo[key]; ok {
		return v.(T), nil
	}
	v, err := f()
	if err == nil {
		e.rt.memo[key] = v
	}
	return v, err
}

// scalarExpr is a subquery used as a value: NULL without a row.
type scalarExpr struct{ p *plan }

func (x *scalarExpr) typ() *value.Type { return x.p.out[0].x.typ() }

func (x *scalarExpr) eval(e *env) (value.Value, error) {
	return memoized(x.p, e, x, func() (value.Value, error) {
		out, n := value.Null(x.typ()), 0
		err := x.p.run(e.rt, e, func(row []cell) error {
			if n++; n > 1 {
				return outOfRange("A scalar subquery returned more than one row.")
			}
			v, err := row[0].get(x.typ())
			out = v
			return err
		})
		return out, err
	})
}

func (s *scope) scalarSubquery(n *ast.ScalarSubQuery) (expr, error) {
	p, err := s.nestedColumn(n.Query, "Scalar subquery")
	return &scalarExpr{p}, err
}

// arrayOfExpr is ARRAY(query), in the query's order, never NULL.
type arrayOfExpr struct {
	p *plan
	t *value.Type
}

func (x *arrayOfExpr) typ() *value.Type { return x.t }

func (x *arrayOfExpr) eval(e *env) (value.Value, error) {
	return memoized(x.p, e, x, func() (value.Value, error) {
		items := []value.Value{}
		err := x.p.run(e.rt, e, func(row []cell) error {
			v, err := row[0].get(x.t.Elem)
			items = append(items, v)
			return err
		})
		return value.Array(x.t.Elem, items).WithType(x.t), err
	})
}

func (s *scope) arraySubquery(n *ast.ArraySubQuery) (expr, error) {
	p, err := s.nestedColumn(n.Query, "ARRAY subquery")
	if err != nil {
		return nil, err
	}
	elem := p.out[0].x.typ()
	if elem.Code == value.ArrayCode {
		return nil, s.a.invalidAt(n, "Cannot use array subquery with column of type %s because nested arrays are not supported", elem)
	}
	return &arrayOfExpr{p, value.ArrayOf(elem)}, nil
}

// existsExpr is EXISTS(query), which reads no more than one row.
type existsExpr struct{ p *plan }

func (x *existsExpr) typ() *value.Type { return value.BoolType }

func (x *existsExpr) eval(e *env) (value.Value, error) {
	return memoized(x.p, e, x, func() (value.Value, error) {
		found := false
		err := x.p.run(e.rt, e, func([]cell) error {
			found = true
			return errStop
		})
		if found && err == errStop {
			err = nil
		}
		return value.Bool(found), err
	})
}

func (s *scope) exists(n *ast.ExistsSubQuery) (expr, error) {
	p, err := s.nested(n.Query)
	return &existsExpr{p}, err
}

// inQueryExpr is x IN (query).
type inQueryExpr struct {
	l    expr
	p    *plan
	item *value.Type
	conv convert
}

// members are the values an IN looks among.
type members struct {
	byKey map[string][]value.Value
	any   bool
	null  bool
}

func (x *inQueryExpr) typ() *value.Type { return value.BoolType }

func (x *inQueryExpr) eval(e *env) (value.Value, error) {
	m, err := memoized(x.p, e, x, func() (*members, error) { return x.members(e) })
	if err != nil || !m.any {
		return value.Bool(false), err
	}
	l, err := x.l.eval(e)
	if err != nil || l.IsNull() {
		return value.Null(value.BoolType), err
	}
	for _, v := range m.byKey[hashText(l)] {
		if equal(l, v) {
			return value.Bool(true), nil
		}
	}
	return inVerdict(m.null), nil
}

func (x *inQueryExpr) members(e *env) (*members, error) {
	m := &members{byKey: make(map[string][]value.Value)}
	return m, x.p.run(e.rt, e, func(row []cell) error {
		v, err := row[0].get(x.item)
		if err == nil && x.conv != nil && !v.IsNull() {
			v, err = x.conv(v)
		}
		if err != nil {
			return err
		}
		m.any = true
		if v.IsNull() {
			m.null = true
			return nil
		}
		k := hashText(v)
		if len(m.byKey[k]) == 0 {
			m.byKey[k] = append(m.byKey[k], v)
		}
		return nil
	})
}

func (s *scope) inSubquery(n *ast.InExpr, query ast.QueryExpr) (expr, error) {
	l, err := s.expr(n.Left)
	if err != nil {
		return nil, err
	}
	p, err := s.nestedColumn(query, "Subquery of IN")
	if err != nil {
		return nil, err
	}
	x := &inQueryExpr{p: p, item: p.out[0].x.typ()}
	if x.l, err = s.a.coerce(l, x.item); err != nil {
		if l.typ() == nil || !widens(x.item, l.typ()) {
			return nil, s.a.orMismatch(err, n, "Cannot execute IN subquery with uncomparable types %s and %s", l, x.item)
		}
		x.l, x.conv = l, conversion(x.item, l.typ(), s.a.loc)
	}
	if !comparable(x.item, true) {
		return nil, s.a.invalidAt(n, "Cannot execute IN subquery with uncomparable type %s", x.item)
	}
	return not(x, n.Not), nil
}
