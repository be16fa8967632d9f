package sql

import (
	"github.com/cloudspannerecosystem/memefish/ast"
)

// cte is a query of a WITH clause; names are searched from the last backwards.
type cte struct {
	name string
	plan *plan
	prev *cte
	// outer is the scope that the query's outer references count from.
	outer *scope
}

func (c *cte) find(name string) *cte {
	for ; c != nil; c = c.prev {
		if equalFold(c.name, name) {
			return c
		}
	}
	return nil
}

// with analyses the queries of a WITH clause, each seeing those before it.
func (a *analyzer) with(n *ast.With, outer *scope, ctes *cte) (*cte, error) {
	if n == nil {
		return ctes, nil
	}
	first := ctes
	for _, c := range n.CTEs {
		for seen := ctes; seen != first; seen = seen.prev {
			if equalFold(seen.name, c.Name.Name) {
				return nil, a.invalidAt(c, "Duplicate alias %s for WITH subquery", c.Name.Name)
			}
		}
		p, err := a.query(c.QueryExpr, outer, ctes)
		if err == nil {
			err = p.settle(a)
		}
		if err != nil {
			return nil, err
		}
		ctes = &cte{name: c.Name.Name, plan: p, prev: ctes, outer: outer}
	}
	return ctes, nil
}

// cteTable is a WITH query named in FROM.
func (s *scope) cteTable(n ast.Node, c *cte, name string) (source, error) {
	if c.plan.correlated && s.outer != c.outer {
		return nil, unimplemented("a correlated WITH query used inside another subquery")
	}
	s.correlated = s.correlated || c.plan.correlated
	return s.planVar(n, &planScan{plan: c.plan, shared: true}, name)
}
