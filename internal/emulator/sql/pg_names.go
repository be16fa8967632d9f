package sql

import (
	"slices"

	"github.com/cloudspannerecosystem/memefish/ast"
)

// pgColumn is a column by its name alone, all that a path can be that names no
// table.
func (s *scope) pgColumn(n ast.Node, ids []*ast.Ident) (expr, []*ast.Ident, error) {
	ref, ok, err := s.find(ids[0], nil)
	if err == nil && (!ok || len(ids) > 1) {
		err = s.a.noPGName(ids)
	}
	if err != nil {
		return nil, nil, err
	}
	x, err := ref.expr(s, n)
	return x, nil, err
}

// noPGName says as PostgreSQL does that a name means nothing.
func (a *analyzer) noPGName(ids []*ast.Ident) error {
	if len(ids) > 1 {
		return a.invalidAt(ids[0], "missing FROM-clause entry for table %q", ids[0].Name)
	}
	return a.invalidAt(ids[0], "column %q does not exist", ids[0].Name)
}

// pgOutput finds the column of the select list that an item of ORDER BY names.
// In PostgreSQL a name alone means a column of the result before one of the
// tables; within an expression it never does.
func (p *plan) pgOutput(item *ast.OrderByItem) (expr, bool, error) {
	id, ok := item.Expr.(*ast.Ident)
	if !ok {
		return nil, false, nil
	}
	var found expr
	for _, out := range p.out {
		if out.name != id.Name {
			continue
		}
		if found != nil && !sameColumn(found, out.x) {
			return nil, false, p.scope.a.invalidAt(id, "ORDER BY %q is ambiguous", id.Name)
		}
		found = out.x
	}
	return found, found != nil, nil
}

// sameColumn tells whether two expressions are one column of the tables.
func sameColumn(x, y expr) bool {
	a, ok := x.(*columnExpr)
	b, also := y.(*columnExpr)
	return ok && also && *a == *b
}

// pgGroupTarget is what a name in GROUP BY means: in PostgreSQL a column of the
// tables before one of the select list.
func (s *scope) pgGroupTarget(n *ast.Select, id *ast.Ident) (ast.Expr, error) {
	if _, ok, err := s.find(id, s.outer); ok || err != nil {
		return id, err
	}
	if alias, ok := s.a.selectAliases(n)[id.Name]; ok {
		return alias, nil
	}
	return id, nil
}

// pgDistinctOrder refuses to sort distinct rows by what is not one of their
// columns.
func (p *plan) pgDistinctOrder(n *ast.Select, order *ast.OrderBy) error {
	if !p.distinct || !p.scope.a.pg {
		return nil
	}
	for i, key := range p.order {
		node := order.Items[i].Expr
		listed := slices.ContainsFunc(p.out, func(out outColumn) bool { return out.x == key.x || sameColumn(out.x, key.x) })
		for _, item := range n.Results {
			if alias, ok := item.(*ast.Alias); ok {
				listed = listed || p.scope.a.spelling(alias.Expr) == p.scope.a.spelling(node)
			}
		}
		if !listed {
			return p.scope.a.invalidAt(node, "for SELECT DISTINCT, ORDER BY expressions must appear in select list")
		}
	}
	return nil
}
