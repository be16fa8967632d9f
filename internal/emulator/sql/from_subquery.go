package sql

import (
	"github.com/cloudspannerecosystem/memefish/ast"

	"spanbulk/internal/emulator/value"
)

// planScan gives the rows of a subquery in FROM.
type planScan struct {
	plan  *plan
	wants []wanted
	// cte is set for a WITH query, whose rows are kept for all who name it.
	shared bool
}

func (p *planScan) want(col, cell int, _ *value.Type) {
	p.wants = append(p.wants, wanted{col, cell})
}

func (p *planScan) scan(e *env, yield func() error) error {
	fill := func(row []cell) error {
		for _, w := range p.wants {
			e.cells[w.cell] = row[w.slot]
		}
		return yield()
	}
	if !p.shared || p.plan.correlated {
		return p.plan.run(e.rt, e.outer, fill)
	}
	rows, err := p.plan.keptRows(e.rt, e.outer)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if err := fill(row); err != nil {
			return err
		}
	}
	return nil
}

// keptRows runs an uncorrelated plan once and keeps its rows for the run.
func (p *plan) keptRows(rt *runtime, outer *env) ([][]cell, error) {
	if rows, ok := rt.memo[p]; ok {
		return rows.([][]cell), nil
	}
	rows := [][]cell{}
	err := p.run(rt, outer, func(row []cell) error {
		rows = append(rows, keep(row))
		return nil
	})
	if err == nil {
		rt.memo[p] = rows
	}
	return rows, err
}

func (s *scope) subqueryTable(n *ast.SubQueryTableExpr) (source, error) {
	p, err := s.sibling(n.Query)
	if err != nil {
		return nil, err
	}
	return s.planVar(n, &planScan{plan: p}, aliasOr(n.As, ""))
}

// sibling analyses a query that sees what is outside this one but not its FROM
// clause.
func (s *scope) sibling(n ast.QueryExpr) (*plan, error) {
	p, err := s.a.query(n, s.outer, s.ctes)
	if err != nil {
		return nil, err
	}
	s.correlated = s.correlated || p.correlated
	return p, p.settle(s.a)
}

func (s *scope) planVar(n ast.Node, p *planScan, name string) (source, error) {
	var cols []rangeCol
	for _, f := range p.plan.columns() {
		cols = append(cols, rangeCol{name: f.Name, typ: f.Type})
	}
	rv, err := s.addVar(n, name, p, cols)
	if err != nil {
		return nil, err
	}
	rv.leaf.fixed = !p.plan.correlated
	return rv.leaf, nil
}
