package sql

import (
	"github.com/cloudspannerecosystem/memefish/ast"

	"spanbulk/internal/emulator/value"
)

// scope is what names mean while one SELECT is analysed.
type scope struct {
	a *analyzer
	// outer is the scope of the query around this one.
	outer *scope
	vars  []*rangeVar
	// owners are the leaves that fill the cells of the FROM clause's env.
	owners []*leaf
	ctes   *cte
	// group is set while the clauses after GROUP BY are analysed: columns then
	// mean cells of a group.
	group *grouping
	// aliases are select list names, visible in GROUP BY, HAVING and ORDER BY;
	// aliasesFirst lets them hide columns.
	aliases      map[string]ast.Expr
	aliasesFirst bool
	// aggregates says where an aggregate function would be misplaced.
	aggregates string
	// refs logs the cells of this scope's env as expressions refer to them.
	refs []int
	// correlated tells that something in the scope refers to an outer one.
	correlated bool
	// conjuncts are the conditions of WHERE and ON, until they are placed.
	conjuncts []conjunct
	// nullable is the outer join in whose NULL-extended side the analysis is.
	nullable *join
}

// rangeVar is a name of the FROM clause with its columns.
type rangeVar struct {
	name string
	cols []rangeCol
	leaf *leaf
	// hidden columns cannot be named without the range variable: those that
	// JOIN USING has merged into the other side's.
	hidden map[int]bool
	// exact tells that the case of names matters, as in PostgreSQL.
	exact bool
}

// rangeCol is a column a rangeVar offers.
type rangeCol struct {
	name string
	typ  *value.Type
	// cell is the position in the env, or -1 until something refers to it.
	cell int
	// unlisted columns are left out of *.
	unlisted bool
}

func newScope(a *analyzer, outer *scope) *scope {
	s := &scope{a: a, outer: outer}
	if outer != nil {
		s.ctes = outer.ctes
	}
	return s
}

// alloc makes room for a cell that leaf fills.
func (s *scope) alloc(l *leaf) int {
	s.owners = append(s.owners, l)
	return len(s.owners) - 1
}

// bind gives the cell of a column, telling its leaf to fill it.
func (s *scope) bind(rv *rangeVar, col int) int {
	c := &rv.cols[col]
	if c.cell < 0 {
		c.cell = s.alloc(rv.leaf)
		rv.leaf.want(col, c.cell, c.typ)
	}
	return c.cell
}

// columnRef is a column found by name.
type columnRef struct {
	scope *scope
	depth int
	rv    *rangeVar
	col   int
}

// expr makes the found column an expression of scope s.
func (r columnRef) expr(s *scope, n ast.Node) (expr, error) {
	for at := s; at != r.scope; at = at.outer {
		at.correlated = true
	}
	c := r.rv.cols[r.col]
	if g := r.scope.group; g != nil {
		cell, ok := g.keyCell(r.rv, r.col)
		if !ok {
			return nil, s.a.invalidAt(n, "Expression references column %s which is neither grouped nor aggregated", c.name)
		}
		return &columnExpr{depth: r.depth, cell: cell, t: c.typ}, nil
	}
	cell := r.scope.bind(r.rv, r.col)
	r.scope.refs = append(r.scope.refs, cell)
	return &columnExpr{depth: r.depth, cell: cell, t: c.typ}, nil
}

// find looks a single name up: a column of this query or of one around it,
// before stop.
func (s *scope) find(id *ast.Ident, stop *scope) (columnRef, bool, error) {
	depth := 0
	for at := s; at != stop; at, depth = at.outer, depth+1 {
		var found *columnRef
		for _, rv := range at.vars {
			col, n := rv.column(id.Name)
			if n == 0 || rv.hidden[col] {
				continue
			}
			if found != nil || n > 1 {
				return columnRef{}, false, s.a.invalidAt(id, "Column name %s is ambiguous", id.Name)
			}
			found = &columnRef{at, depth, rv, col}
		}
		if found != nil {
			return *found, true, nil
		}
	}
	return columnRef{}, false, nil
}

// column finds a column of a range variable and how many have the name.
func (rv *rangeVar) column(name string) (col, count int) {
	for i, c := range rv.cols {
		if sameName(c.name, name, rv.exact) {
			col, count = i, count+1
		}
	}
	return col, count
}

// findVar looks a range variable up by its name.
func (s *scope) findVar(name string) (rv *rangeVar, at *scope, depth int) {
	for at = s; at != nil; at, depth = at.outer, depth+1 {
		for _, rv := range at.vars {
			if sameName(rv.name, name, rv.exact) {
				return rv, at, depth
			}
		}
	}
	return nil, nil, 0
}

// path analyses a.b.c: a column, a range variable's column, or a field of
// either.
func (s *scope) path(n ast.Node, ids []*ast.Ident) (expr, error) {
	x, rest, err := s.pathHead(n, ids)
	for err == nil && len(rest) > 0 {
		x, err = s.field(x, rest[0])
		rest = rest[1:]
	}
	return x, err
}

// pathHead analyses the longest start of a path that is not a field access.
func (s *scope) pathHead(n ast.Node, ids []*ast.Ident) (expr, []*ast.Ident, error) {
	alias, hasAlias := s.aliases[s.a.fold(ids[0].Name)]
	if hasAlias && s.aliasesFirst {
		x, err := s.aliased(alias)
		return x, ids[1:], err
	}
	rv, at, depth := s.findVar(ids[0].Name)
	if s.a.pg && (rv == nil) == (len(ids) > 1) {
		// Neither a field of a column nor a row as a value is there.
		return s.pgColumn(n, ids)
	}
	// In a.b an alias a goes before a column a of the same FROM clause.
	stop := (*scope)(nil)
	if rv != nil && len(ids) > 1 {
		stop = at
	}
	ref, ok, err := s.find(ids[0], stop)
	if err != nil {
		return nil, nil, err
	}
	if rv != nil && !ok {
		return s.varPath(rv, at, depth, n, ids)
	}
	if ok {
		x, err := ref.expr(s, n)
		return x, ids[1:], err
	}
	if hasAlias {
		x, err := s.aliased(alias)
		return x, ids[1:], err
	}
	if s.a.pg {
		return nil, nil, s.a.noPGName(ids)
	}
	return nil, nil, s.a.invalidAt(ids[0], "Unrecognized name: %s", ids[0].Name)
}

// aliased analyses the expression behind a select list name, in which names
// are those of the FROM clause again.
func (s *scope) aliased(n ast.Expr) (expr, error) {
	saved := s.aliases
	s.aliases = nil
	defer func() { s.aliases = saved }()
	return s.expr(n)
}

// varPath analyses rv or rv.column.
func (s *scope) varPath(rv *rangeVar, at *scope, depth int, n ast.Node, ids []*ast.Ident) (expr, []*ast.Ident, error) {
	if len(ids) == 1 {
		x, err := s.wholeRow(rv, at, depth, n)
		return x, nil, err
	}
	col, count := rv.column(ids[1].Name)
	switch {
	case count == 0:
		if s.a.pg {
			return nil, nil, s.a.invalidAt(ids[0], "column %s.%s does not exist", ids[0].Name, ids[1].Name)
		}
		return nil, nil, s.a.invalidAt(ids[1], "Name %s not found inside %s", ids[1].Name, ids[0].Name)
	case count > 1:
		return nil, nil, s.a.invalidAt(ids[1], "Column name %s is ambiguous", ids[1].Name)
	}
	x, err := columnRef{at, depth, rv, col}.expr(s, n)
	return x, ids[2:], err
}

// wholeRow is a range variable used as a value: a STRUCT of its columns.
func (s *scope) wholeRow(rv *rangeVar, at *scope, depth int, n ast.Node) (expr, error) {
	st := &structExpr{t: &value.Type{Code: value.StructCode}}
	for i, c := range rv.cols {
		x, err := columnRef{at, depth, rv, i}.expr(s, n)
		if err != nil {
			return nil, err
		}
		st.fields = append(st.fields, x)
		st.t.Fields = append(st.t.Fields, value.Field{Name: c.name, Type: c.typ})
	}
	return st, nil
}

// columnExpr is a cell of the env, depth queries out.
type columnExpr struct {
	depth, cell int
	t           *value.Type
}

func (x *columnExpr) typ() *value.Type { return x.t }

func (x *columnExpr) at(e *env) *cell {
	for range x.depth {
		e = e.outer
	}
	return &e.cells[x.cell]
}

func (x *columnExpr) eval(e *env) (value.Value, error) { return x.at(e).get(x.t) }
