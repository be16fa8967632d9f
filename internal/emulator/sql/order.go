package sql

import (
	"slices"
	"strconv"

	"github.com/cloudspannerecosystem/memefish/ast"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/value"
)

// orderKey is one key of an ORDER BY. In GoogleSQL NULL is the smallest value,
// in PostgreSQL the greatest unless the statement says otherwise.
type orderKey struct {
	x          expr
	desc       bool
	nullsFirst bool
	pg         bool
}

func (a *analyzer) orderKey(item *ast.OrderByItem, x expr) orderKey {
	k := orderKey{x: x, desc: item.Dir == ast.DirectionDesc, pg: a.pg}
	k.nullsFirst = k.desc == a.pg
	if first, said := a.nullsFirst[item]; said {
		k.nullsFirst = first
	}
	return k
}

func (k orderKey) compare(a, b value.Value) int {
	if a.IsNull() || b.IsNull() {
		switch {
		case a.IsNull() && b.IsNull():
			return 0
		case a.IsNull() == k.nullsFirst:
			return -1
		}
		return 1
	}
	c := 0
	if k.pg {
		c = pgCompare(a, b)
	} else {
		c = value.Compare(a, b)
	}
	if k.desc {
		return -c
	}
	return c
}

func (p *plan) orderBy(n *ast.OrderBy) error {
	if n == nil {
		return nil
	}
	keys, err := p.scope.orderKeys(n, p)
	p.order = keys
	return err
}

// orderKeys analyses ORDER BY, of a query p or of an aggregate function.
func (s *scope) orderKeys(n *ast.OrderBy, p *plan) ([]orderKey, error) {
	s.aliasesFirst = true
	defer func() { s.aliasesFirst = false }()
	var keys []orderKey
	for _, item := range n.Items {
		if item.Collate != nil {
			return nil, unimplemented("COLLATE")
		}
		x, err := s.orderKey(item, p)
		if err != nil {
			return nil, err
		}
		if x, err = s.a.settle(x); err != nil {
			return nil, err
		}
		if !comparable(x.typ(), false) {
			return nil, s.a.invalidAt(item, "ORDER BY does not support expressions of type %s", x.typ())
		}
		keys = append(keys, s.a.orderKey(item, x))
	}
	return keys, nil
}

func (s *scope) orderKey(item *ast.OrderByItem, p *plan) (expr, error) {
	if p != nil && s.a.pg {
		if x, ok, err := p.pgOutput(item); ok || err != nil {
			return x, err
		}
	}
	lit, ok := item.Expr.(*ast.IntLiteral)
	if !ok || p == nil {
		return s.expr(item.Expr)
	}
	if i, err := strconv.Atoi(lit.Value); err == nil && i >= 1 && i <= len(p.out) {
		return p.out[i-1].x, nil
	}
	return nil, s.a.invalidAt(item, "ORDER BY is out of SELECT column number range: %s", lit.Value)
}

// sortable is a row held back for sorting.
type sortable struct {
	keys []value.Value
	row  []cell
}

func (p *plan) sorted(rt *runtime, outer *env, yield func(row []cell) error) error {
	var held []sortable
	row := make([]cell, len(p.out))
	seen := p.newSet()
	err := p.rows(rt, outer, func(e *env) error {
		if err := p.project(e, row); err != nil {
			return err
		}
		if fresh, err := p.isFresh(seen, row); err != nil || !fresh {
			return err
		}
		keys, err := evalKeys(e, p.order)
		held = append(held, sortable{keys, keep(row)})
		return err
	})
	if err != nil {
		return err
	}
	slices.SortStableFunc(held, func(a, b sortable) int { return compareKeys(p.order, a.keys, b.keys) })
	for i := range held {
		if err := yield(held[i].row); err != nil {
			return err
		}
	}
	return nil
}

func evalKeys(e *env, order []orderKey) ([]value.Value, error) {
	keys := make([]value.Value, len(order))
	for i, k := range order {
		v, err := k.x.eval(e)
		if err != nil {
			return nil, err
		}
		keys[i] = v
	}
	return keys, nil
}

func compareKeys(order []orderKey, a, b []value.Value) int {
	for i, k := range order {
		if c := k.compare(a[i], b[i]); c != 0 {
			return c
		}
	}
	return 0
}

// ordered tells that a scan already gives the wanted order: its key columns,
// in their direction, one after another.
func (p *plan) ordered() bool {
	l, ok := p.root.(*leaf)
	if !ok || p.group != nil || l.kept {
		return false
	}
	scan, ok := l.producer.(*tableScan)
	if !ok || scan.table.Virtual {
		return false
	}
	key := scan.keyColumns()
	if len(p.order) == 0 || len(p.order) > len(key) {
		return false
	}
	for i, k := range p.order {
		col := &keyColumn{scope: p.scope, leaf: l, column: key[i].Column}
		if !col.is(k.x) || k.desc != key[i].Desc || !k.followsKey(scan.table.Columns[key[i].Column], key[i]) {
			return false
		}
	}
	return true
}

// followsKey tells whether NULLs and NaNs stand in a key of a column where the
// ORDER BY wants them.
func (k orderKey) followsKey(c *catalog.Column, part catalog.KeyPart) bool {
	keyFirst := part.Desc == part.NullsReversed
	return (c.NotNull || k.nullsFirst == keyFirst) && !(k.pg && isFloat(c.Type))
}

func (p *plan) limits(n *ast.Limit) error {
	if n == nil {
		return nil
	}
	var err error
	if p.limit, err = p.scope.intValue(n.Count); err != nil || n.Offset == nil {
		return err
	}
	p.offset, err = p.scope.intValue(n.Offset.Value)
	return err
}

// intValue analyses the operand of LIMIT or OFFSET.
func (s *scope) intValue(n ast.IntValue) (expr, error) {
	node := n
	if c, ok := n.(*ast.CastIntValue); ok {
		node = c.Expr
	}
	x, err := s.expr(node.(ast.Expr))
	if err != nil {
		return nil, err
	}
	x, err = s.a.coerce(x, value.Int64Type)
	if err != nil {
		return nil, s.a.orMismatch(err, n, "LIMIT and OFFSET expect an integer literal or parameter")
	}
	return x, nil
}
