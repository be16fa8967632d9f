package sql

import (
	"github.com/cloudspannerecosystem/memefish/ast"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/value"
)

// plan is an analysed query expression.
type plan struct {
	scope *scope
	// root is nil without FROM: one row of no columns.
	root     source
	where    []expr
	group    *grouping
	having   expr
	out      []outColumn
	distinct bool
	order    []orderKey
	// inKeyOrder tells that rows come in the wanted order by themselves.
	inKeyOrder    bool
	limit, offset expr
	// correlated tells that it refers to queries around it.
	correlated bool
}

// outColumn is a column of a select list. Its name may be empty.
type outColumn struct {
	name string
	x    expr
}

// query analyses a query expression inside outer, which is nil at the top.
func (a *analyzer) query(n ast.QueryExpr, outer *scope, ctes *cte) (*plan, error) {
	if err := a.enter(n); err != nil {
		return nil, err
	}
	defer a.leave()
	switch n := n.(type) {
	case *ast.Select:
		return a.selectPlan(&ast.Query{Query: n}, n, outer, ctes)
	case *ast.SubQuery:
		return a.query(n.Query, outer, ctes)
	case *ast.Query:
		return a.fullQuery(n, outer, ctes)
	case *ast.CompoundQuery:
		return nil, unimplemented("set operation " + string(n.Op))
	case *ast.FromQuery:
		return nil, unimplemented("pipe query syntax")
	}
	return nil, unimplemented(constructName(n))
}

// fullQuery analyses WITH ... query ORDER BY ... LIMIT ....
func (a *analyzer) fullQuery(n *ast.Query, outer *scope, ctes *cte) (*plan, error) {
	if len(n.PipeOperators) > 0 {
		return nil, unimplemented("pipe query syntax")
	}
	ctes, err := a.with(n.With, outer, ctes)
	if err != nil {
		return nil, err
	}
	if sel, ok := n.Query.(*ast.Select); ok {
		return a.selectPlan(n, sel, outer, ctes)
	}
	if n.OrderBy == nil && n.Limit == nil {
		return a.query(n.Query, outer, ctes)
	}
	// (query) ORDER BY x is SELECT * FROM (query) ORDER BY x.
	star := &ast.Select{
		Results: []ast.SelectItem{&ast.Star{}},
		From:    &ast.From{Source: &ast.SubQueryTableExpr{Query: n.Query}},
	}
	return a.selectPlan(n, star, outer, ctes)
}

// selectPlan analyses a SELECT with the ORDER BY and LIMIT that q puts on it.
func (a *analyzer) selectPlan(q *ast.Query, n *ast.Select, outer *scope, ctes *cte) (*plan, error) {
	s := newScope(a, outer)
	s.ctes = ctes
	p := &plan{scope: s, distinct: n.AllOrDistinct == ast.AllOrDistinctDistinct}
	steps := []func() error{
		func() error { return p.fromWhere(n) },
		func() error { return p.groupBy(n) },
		func() error { return p.selectList(n) },
		func() error { return p.havingClause(n) },
		func() error { return p.orderBy(q.OrderBy) },
		func() error { return p.pgDistinctOrder(n, q.OrderBy) },
		func() error { return p.limits(q.Limit) },
		func() error { return p.selectAs(n.As) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	s.aliases = nil
	p.correlated = s.correlated
	if p.root != nil {
		rest, err := s.place(p.root)
		if err != nil {
			return nil, err
		}
		p.where = append(p.where, rest...)
		p.inKeyOrder = p.ordered()
	}
	return p, nil
}

func (p *plan) fromWhere(n *ast.Select) error {
	s := p.scope
	if n.From != nil {
		root, err := s.from(n.From.Source)
		if err != nil {
			return err
		}
		p.root = root
	}
	if n.Where == nil {
		return nil
	}
	s.aggregates = "WHERE clause"
	defer func() { s.aggregates = "" }()
	if p.root != nil {
		return s.conditions(n.Where.Expr, "WHERE clause", nil, nil)
	}
	cond, err := s.boolean(n.Where.Expr, "WHERE clause")
	p.where = []expr{cond}
	return err
}

func (p *plan) havingClause(n *ast.Select) error {
	if n.Having == nil {
		return nil
	}
	if p.group == nil {
		return p.scope.a.invalidAt(n.Having, "The HAVING clause requires GROUP BY or aggregation to be present")
	}
	cond, err := p.scope.boolean(n.Having.Expr, "HAVING clause")
	p.having = cond
	return err
}

// selectList analyses the select list and makes its names visible to the
// clauses after it.
func (p *plan) selectList(n *ast.Select) error {
	saved := p.scope.aliases
	p.scope.aliases = nil
	for _, item := range n.Results {
		if err := p.selectItem(n, item); err != nil {
			return err
		}
	}
	p.scope.aliases = saved
	if p.scope.aliases == nil && !p.scope.a.pg {
		p.scope.aliases = p.scope.a.selectAliases(n)
	}
	return nil
}

// selectAliases are the names that a select list gives to expressions.
func (a *analyzer) selectAliases(n *ast.Select) map[string]ast.Expr {
	names := make(map[string]ast.Expr)
	for _, item := range n.Results {
		if alias, ok := item.(*ast.Alias); ok {
			names[a.fold(alias.As.Alias.Name)] = alias.Expr
		}
	}
	return names
}

func (p *plan) selectItem(n *ast.Select, item ast.SelectItem) error {
	switch item := item.(type) {
	case *ast.Star:
		if n.From == nil {
			return p.scope.a.invalidAt(item, "SELECT * must have a FROM clause")
		}
		return p.star(item, item.Except, item.Replace, func() ([]outColumn, error) { return p.allColumns(item) })
	case *ast.DotStar:
		return p.star(item, item.Except, item.Replace, func() ([]outColumn, error) { return p.dotStar(item) })
	case *ast.Alias:
		return p.addOut(item.As.Alias.Name, item.Expr)
	case *ast.ExprSelectItem:
		return p.addOut(implicitName(item.Expr), item.Expr)
	}
	return unimplemented(constructName(item))
}

// implicitName is what a column is called without an alias: the last part of
// a path, else nothing.
func implicitName(n ast.Expr) string {
	switch n := n.(type) {
	case *ast.Ident:
		return n.Name
	case *ast.Path:
		return n.Idents[len(n.Idents)-1].Name
	case *ast.SelectorExpr:
		return n.Ident.Name
	case *ast.ParenExpr:
		return implicitName(n.Expr)
	}
	return ""
}

func (p *plan) addOut(name string, n ast.Expr) error {
	x, err := p.scope.expr(n)
	p.out = append(p.out, outColumn{name, x})
	return err
}

// star expands * or x.*, with EXCEPT and REPLACE.
func (p *plan) star(n ast.Node, except *ast.StarModifierExcept, replace *ast.StarModifierReplace, columns func() ([]outColumn, error)) error {
	cols, err := columns()
	if err != nil {
		return err
	}
	drop := make(map[string]bool)
	if except != nil {
		for _, id := range except.Columns {
			drop[catalog.Fold(id.Name)] = true
		}
	}
	swap := make(map[string]ast.Expr)
	if replace != nil {
		for _, r := range replace.Columns {
			swap[catalog.Fold(r.Name.Name)] = r.Expr
		}
	}
	before := len(p.out)
	for _, c := range cols {
		name := catalog.Fold(c.name)
		if drop[name] {
			continue
		}
		if by, ok := swap[name]; ok {
			if c.x, err = p.scope.expr(by); err != nil {
				return err
			}
		}
		p.out = append(p.out, c)
	}
	if len(p.out) == before {
		return p.scope.a.invalidAt(n, "SELECT * expands to zero columns")
	}
	return nil
}

func (p *plan) allColumns(n ast.Node) ([]outColumn, error) {
	var out []outColumn
	for _, rv := range p.scope.vars {
		cols, err := p.varColumns(n, rv, p.scope, 0)
		if err != nil {
			return nil, err
		}
		out = append(out, cols...)
	}
	return out, nil
}

func (p *plan) varColumns(n ast.Node, rv *rangeVar, at *scope, depth int) ([]outColumn, error) {
	var out []outColumn
	for i, c := range rv.cols {
		if rv.hidden[i] || c.unlisted {
			continue
		}
		x, err := columnRef{at, depth, rv, i}.expr(p.scope, n)
		if err != nil {
			return nil, err
		}
		out = append(out, outColumn{c.name, x})
	}
	return out, nil
}

// dotStar expands x.*: the columns of a range variable or the fields of a
// STRUCT.
func (p *plan) dotStar(n *ast.DotStar) ([]outColumn, error) {
	if id, ok := n.Expr.(*ast.Ident); ok {
		if rv, at, depth := p.scope.findVar(id.Name); rv != nil {
			return p.varColumns(n, rv, at, depth)
		}
	}
	x, err := p.scope.expr(n.Expr)
	if err != nil {
		return nil, err
	}
	if !isType(x, value.StructCode) {
		return nil, p.scope.a.invalidAt(n, "Dot-star is not supported for type %s", x)
	}
	var out []outColumn
	for i, f := range x.typ().Fields {
		out = append(out, outColumn{f.Name, &fieldExpr{x: x, i: i}})
	}
	return out, nil
}

// selectAs turns the columns into one for SELECT AS STRUCT.
func (p *plan) selectAs(as ast.SelectAs) error {
	switch as := as.(type) {
	case nil:
		return nil
	case *ast.AsStruct:
		st := &structExpr{t: &value.Type{Code: value.StructCode}}
		for i := range p.out {
			x, err := p.scope.a.settle(p.out[i].x)
			if err != nil {
				return err
			}
			st.fields = append(st.fields, x)
			st.t.Fields = append(st.t.Fields, value.Field{Name: p.out[i].name, Type: x.typ()})
		}
		p.out = []outColumn{{"", st}}
		return nil
	case *ast.AsValue:
		if len(p.out) != 1 {
			return p.scope.a.invalidAt(as, "SELECT AS VALUE query must have exactly one column")
		}
		return nil
	}
	return unimplemented(constructName(as))
}

// settle gives every column a type.
func (p *plan) settle(a *analyzer) error {
	for i := range p.out {
		x, err := a.settle(p.out[i].x)
		if err != nil {
			return err
		}
		p.out[i].x = x
	}
	return nil
}

// columns are the names and types of the result.
func (p *plan) columns() []value.Field {
	out := make([]value.Field, len(p.out))
	for i, c := range p.out {
		out[i] = value.Field{Name: c.name, Type: c.x.typ()}
	}
	return out
}
