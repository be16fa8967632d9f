package sql

import (
	"slices"
	"strings"

	"github.com/cloudspannerecosystem/memefish/ast"

	"spanbulk/internal/emulator/value"
)

// aggregate is a call of an aggregate function. Its arguments see the rows of
// the group, its result stands in the group's env.
type aggregate struct {
	t *value.Type
	// args are evaluated for each row; the first decides about NULL.
	args []expr
	// keepNulls passes rows whose first argument is NULL on to the function.
	keepNulls bool
	distinct  bool
	order     []orderKey
	limit     expr
	start     func() accumulator
}

// accumulator gathers what a group's aggregate needs of its rows.
type accumulator interface {
	// add takes the arguments for one row.
	add(args []value.Value, order []value.Value) error
	result(t *value.Type) (value.Value, error)
}

func (a *aggregate) add(state accumulator, e *env) error {
	args, err := evalAll(e, a.args)
	if err != nil {
		return err
	}
	if !a.keepNulls && len(args) > 0 && args[0].IsNull() {
		return nil
	}
	var order []value.Value
	if len(a.order) > 0 {
		if order, err = evalKeys(e, a.order); err != nil {
			return err
		}
	}
	return state.add(args, order)
}

func isAggregate(n *ast.CallExpr) bool {
	if len(n.Func.Idents) != 1 {
		return false
	}
	_, ok := aggregateFunctions[strings.ToUpper(n.Func.Idents[0].Name)]
	return ok
}

// inGroup analyses what belongs to an aggregate's arguments, which see rows
// rather than groups.
func (s *scope) inGroup(n ast.Node, name string, f func() error) error {
	if s.group == nil || s.aggregates != "" {
		where := s.aggregates
		if where == "" {
			where = "this expression"
		}
		return s.a.invalidAt(n, "Aggregate function %s not allowed in %s", name, where)
	}
	g, aliases := s.group, s.aliases
	s.group, s.aliases, s.aggregates = nil, nil, "an aggregate function"
	defer func() { s.group, s.aliases, s.aggregates = g, aliases, "" }()
	return f()
}

// column is the cell of the group's env in which an aggregate ends up.
func (g *grouping) column(a *aggregate) expr {
	g.aggs = append(g.aggs, a)
	return &columnExpr{cell: len(g.keys) + len(g.aggs) - 1, t: a.t}
}

func (s *scope) countStar(n *ast.CountStarExpr) (expr, error) {
	if err := s.inGroup(n, "COUNT", func() error { return nil }); err != nil {
		return nil, err
	}
	a := &aggregate{t: value.Int64Type, start: func() accumulator { return new(counter) }}
	return s.group.column(a), nil
}

func (s *scope) aggregateCall(n *ast.CallExpr, name string) (expr, error) {
	if n.Having != nil {
		return nil, unimplemented("HAVING MAX/MIN in an aggregate function")
	}
	a := &aggregate{distinct: n.Distinct}
	err := s.inGroup(n, name, func() error {
		args, err := s.arguments(n)
		if err != nil {
			return err
		}
		a.args = args
		if n.OrderBy != nil {
			a.order, err = s.orderKeys(n.OrderBy, nil)
		}
		if err == nil && n.Limit != nil {
			a.limit, err = s.intValue(n.Limit.Count)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := s.bindAggregate(n, name, a); err != nil {
		return nil, err
	}
	return s.group.column(a), nil
}

// bindAggregate finds the function and dresses it with DISTINCT, ORDER BY and
// LIMIT.
func (s *scope) bindAggregate(n *ast.CallExpr, name string, a *aggregate) error {
	if err := aggregateFunctions[name](s.a, a); err != nil {
		return s.a.orMismatch(err, n, "No matching signature for aggregate function %s for argument types: %s", name, a.args)
	}
	if _, ok := n.NullHandling.(*ast.IgnoreNulls); ok {
		a.keepNulls = false
	}
	inner := a.start
	if a.distinct {
		if len(a.args) == 0 || !comparable(a.args[0].typ(), true) {
			return s.a.invalidAt(n, "Aggregate functions with DISTINCT cannot be used with arguments of type %s", a.args)
		}
		distinct := inner
		inner = func() accumulator { return &distinctRows{inner: distinct(), seen: make(map[string]struct{})} }
	}
	if len(a.order) > 0 || a.limit != nil {
		ordered := inner
		limit, err := s.aggregateLimit(a)
		if err != nil {
			return err
		}
		inner = func() accumulator { return &orderedRows{inner: ordered(), order: a.order, limit: limit} }
	}
	a.start = inner
	return nil
}

func (s *scope) aggregateLimit(a *aggregate) (int64, error) {
	if a.limit == nil {
		return -1, nil
	}
	v, _ := constant(a.limit)
	if v.IsNull() || v.AsInt64() < 0 {
		return 0, invalid("LIMIT expects a non-negative integer literal or parameter")
	}
	return v.AsInt64(), nil
}

// distinctRows passes on rows whose first argument has not been seen.
type distinctRows struct {
	inner accumulator
	seen  map[string]struct{}
}

func (d *distinctRows) add(args, order []value.Value) error {
	key := hashText(args[0])
	if _, old := d.seen[key]; old {
		return nil
	}
	d.seen[key] = struct{}{}
	return d.inner.add(args, order)
}

func (d *distinctRows) result(t *value.Type) (value.Value, error) { return d.inner.result(t) }

// orderedRows holds rows back to pass them on in order, up to a limit.
type orderedRows struct {
	inner accumulator
	order []orderKey
	limit int64
	rows  []heldArgs
}

type heldArgs struct{ args, order []value.Value }

func (o *orderedRows) add(args, order []value.Value) error {
	o.rows = append(o.rows, heldArgs{args, order})
	return nil
}

func (o *orderedRows) result(t *value.Type) (value.Value, error) {
	slices.SortStableFunc(o.rows, func(a, b heldArgs) int { return compareKeys(o.order, a.order, b.order) })
	rows := o.rows
	if o.limit >= 0 && int64(len(rows)) > o.limit {
		rows = rows[:o.limit]
	}
	for _, r := range rows {
		if err := o.inner.add(r.args, nil); err != nil {
			return value.Value{}, err
		}
	}
	return o.inner.result(t)
}
