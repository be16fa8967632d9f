package sql

import (
	"slices"
	"strconv"
	"strings"

	"github.com/cloudspannerecosystem/memefish"
	"github.com/cloudspannerecosystem/memefish/ast"
	"github.com/cloudspannerecosystem/memefish/token"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/value"
)

// grouping is GROUP BY, or the one group of a SELECT that aggregates without.
// The clauses after it see an env of the keys followed by the aggregates.
type grouping struct {
	scope *scope
	keys  []groupKey
	aggs  []*aggregate
	// explicit tells that there is a GROUP BY: without rows, no groups.
	explicit bool
}

// groupKey is one expression of GROUP BY. A column is recognised by what it
// is, anything else by its spelling.
type groupKey struct {
	x    expr
	rv   *rangeVar
	col  int
	text string
}

// groupBy analyses GROUP BY, if there is one or an aggregate asks for a group.
func (p *plan) groupBy(n *ast.Select) error {
	s := p.scope
	if n.GroupBy == nil && !selectAggregates(n) {
		return nil
	}
	g := &grouping{scope: s, explicit: n.GroupBy != nil}
	if n.GroupBy != nil {
		if !s.a.pg {
			s.aliases = s.a.selectAliases(n)
		}
		s.aliasesFirst, s.aggregates = true, "GROUP BY"
		for _, item := range n.GroupBy.Exprs {
			k, err := s.groupKey(n, item)
			if err != nil {
				return err
			}
			g.keys = append(g.keys, k)
		}
		s.aliases, s.aliasesFirst, s.aggregates = nil, false, ""
	}
	p.group, s.group = g, g
	return nil
}

func (s *scope) groupKey(n *ast.Select, item ast.Expr) (groupKey, error) {
	item, err := s.groupTarget(n, item)
	if err != nil {
		return groupKey{}, err
	}
	x, err := s.expr(item)
	if err == nil {
		x, err = s.a.settle(x)
	}
	if err != nil {
		return groupKey{}, err
	}
	if t := x.typ().Code; t == value.JSONCode || t == value.ArrayCode || t == value.StructCode || t == value.ProtoCode {
		return groupKey{}, s.a.invalidAt(item, "Grouping by expressions of type %s is not allowed", x.typ())
	}
	k := groupKey{x: x, text: s.a.spelling(item)}
	if c, ok := x.(*columnExpr); ok && c.depth == 0 {
		k.rv, k.col = s.columnOf(c.cell)
	}
	return k, nil
}

// groupTarget replaces an ordinal or a select list name by its expression.
func (s *scope) groupTarget(n *ast.Select, item ast.Expr) (ast.Expr, error) {
	switch x := item.(type) {
	case *ast.IntLiteral:
		i, err := strconv.Atoi(x.Value)
		if err != nil || i < 1 || i > len(n.Results) {
			return nil, s.a.invalidAt(item, "GROUP BY is out of SELECT column number range: %s", x.Value)
		}
		switch r := n.Results[i-1].(type) {
		case *ast.Alias:
			return r.Expr, nil
		case *ast.ExprSelectItem:
			return r.Expr, nil
		}
		return nil, s.a.invalidAt(item, "Cannot GROUP BY SELECT * by ordinal")
	case *ast.Ident:
		if s.a.pg {
			return s.pgGroupTarget(n, x)
		}
		if alias, ok := s.aliases[s.a.fold(x.Name)]; ok {
			return alias, nil
		}
	}
	return item, nil
}

// columnOf finds the column bound to a cell.
func (s *scope) columnOf(cell int) (*rangeVar, int) {
	for _, rv := range s.vars {
		for i, c := range rv.cols {
			if c.cell == cell {
				return rv, i
			}
		}
	}
	return nil, 0
}

// spelling is equal for expressions that are spelled alike but for the case of
// names where it does not matter.
func (a *analyzer) spelling(n ast.Expr) string {
	for {
		p, ok := n.(*ast.ParenExpr)
		if !ok {
			break
		}
		n = p.Expr
	}
	if a.pg {
		return n.SQL()
	}
	return foldNames(n.SQL())
}

// foldNames puts all but the literals of a text in lower case.
func foldNames(text string) string {
	var out strings.Builder
	l := &memefish.Lexer{File: &token.File{Buffer: text}}
	for catalog.NextToken(l) == nil && l.Token.Kind != token.TokenEOF {
		raw := l.Token.Raw
		if l.Token.Kind != token.TokenString && l.Token.Kind != token.TokenBytes {
			raw = strings.ToLower(raw)
		}
		out.WriteString(l.Token.Space + raw)
	}
	return out.String()
}

// keyCell finds the key that is a column.
func (g *grouping) keyCell(rv *rangeVar, col int) (int, bool) {
	i := slices.IndexFunc(g.keys, func(k groupKey) bool { return k.rv == rv && k.col == col })
	return i, i >= 0
}

// keyExpr finds the key spelled like an expression.
func (g *grouping) keyExpr(n ast.Expr) (expr, bool) {
	text := ""
	for i, k := range g.keys {
		if k.rv != nil {
			continue
		}
		if text == "" {
			text = g.scope.a.spelling(n)
		}
		if k.text == text {
			return &columnExpr{cell: i, t: k.x.typ()}, true
		}
	}
	return nil, false
}

// selectAggregates tells whether a SELECT uses an aggregate function outside
// subqueries.
func selectAggregates(n *ast.Select) bool {
	found := n.Having != nil
	for _, item := range n.Results {
		ast.Inspect(item, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ScalarSubQuery, *ast.ArraySubQuery, *ast.ExistsSubQuery, *ast.SubQueryInCondition:
				return false
			case *ast.CountStarExpr:
				found = true
			case *ast.CallExpr:
				found = found || isAggregate(n)
			}
			return !found
		})
	}
	return found
}

// group is one group while its rows come in.
type group struct {
	keys   []value.Value
	states []accumulator
}

// run gives an env per group.
func (g *grouping) run(p *plan, rt *runtime, outer *env, yield func(e *env) error) error {
	groups, order, err := g.collect(p, rt, outer)
	if err != nil {
		return err
	}
	out := &env{rt: rt, cells: make([]cell, len(g.keys)+len(g.aggs)), outer: outer}
	for _, key := range order {
		if err := g.fill(out, groups[key]); err != nil {
			return err
		}
		if p.having != nil {
			ok, err := isTrue(out, p.having)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
		}
		if err := yield(out); err != nil {
			return err
		}
	}
	return nil
}

// collect reads all rows into groups, in order of first appearance.
func (g *grouping) collect(p *plan, rt *runtime, outer *env) (map[string]*group, []string, error) {
	groups := make(map[string]*group)
	var order []string
	if !g.explicit {
		groups[""], order = g.newGroup(nil), []string{""}
	}
	var key []byte
	keys := make([]value.Value, len(g.keys))
	err := p.input(rt, outer, func(e *env) error {
		key = key[:0]
		for i, k := range g.keys {
			v, err := k.x.eval(e)
			if err != nil {
				return err
			}
			keys[i], key = v, appendHash(key, v)
		}
		gr, ok := groups[string(key)]
		if !ok {
			gr = g.newGroup(slices.Clone(keys))
			groups[string(key)], order = gr, append(order, string(key))
		}
		return g.add(gr, e)
	})
	return groups, order, err
}

func (g *grouping) newGroup(keys []value.Value) *group {
	gr := &group{keys: keys, states: make([]accumulator, len(g.aggs))}
	for i, a := range g.aggs {
		gr.states[i] = a.start()
	}
	return gr
}

func (g *grouping) add(gr *group, e *env) error {
	for i, a := range g.aggs {
		if err := a.add(gr.states[i], e); err != nil {
			return err
		}
	}
	return nil
}

func (g *grouping) fill(e *env, gr *group) error {
	for i, v := range gr.keys {
		e.cells[i].setValue(v)
	}
	for i, a := range g.aggs {
		v, err := gr.states[i].result(a.t)
		if err != nil {
			return err
		}
		e.cells[len(g.keys)+i].setValue(v)
	}
	return nil
}
