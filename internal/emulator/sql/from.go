package sql

import (
	"github.com/cloudspannerecosystem/memefish/ast"

	"spanbulk/internal/emulator/value"
)

// source produces rows: for each it fills its cells of e and calls yield. An
// error of yield ends it.
type source interface {
	run(e *env, yield func() error) error
	// leaves appends what the source is made of, in order of execution.
	leaves(dst []*leaf) []*leaf
}

// producer is what a leaf gets its rows from.
type producer interface {
	// want asks for column col to be put into a cell.
	want(col, cell int, t *value.Type)
	scan(e *env, yield func() error) error
}

// leaf is one table, array or subquery of a FROM clause.
type leaf struct {
	producer
	// ord is the position in order of execution.
	ord     int
	filters []conjunct
	cells   []boundCell
	// nullable is the outer join that may extend the leaf with NULLs.
	nullable *join
	// fixed tells that the rows do not depend on the env, so that they can be
	// kept for the next time.
	fixed bool
	// kept is set when the rows are kept in memory, hashed by key if there is
	// one.
	kept bool
	key  *hashKey
}

// boundCell is a cell and the type of what it holds.
type boundCell struct {
	cell int
	t    *value.Type
}

func (l *leaf) want(col, cell int, t *value.Type) {
	l.cells = append(l.cells, boundCell{cell, t})
	l.producer.want(col, cell, t)
}

func (l *leaf) leaves(dst []*leaf) []*leaf { return append(dst, l) }

func (l *leaf) run(e *env, yield func() error) error {
	check := func() error {
		if err := e.rt.step(); err != nil {
			return err
		}
		for i := range l.filters {
			ok, err := isTrue(e, l.filters[i].x)
			if err != nil || !ok {
				return err
			}
		}
		return yield()
	}
	if l.kept {
		return l.runKept(e, check)
	}
	return l.scan(e, check)
}

func (l *leaf) setNull(e *env) {
	for _, b := range l.cells {
		e.cells[b.cell].setNull(b.t)
	}
}

// from analyses a FROM clause, adding its range variables to the scope.
func (s *scope) from(n ast.TableExpr) (source, error) {
	if err := s.a.enter(n); err != nil {
		return nil, err
	}
	defer s.a.leave()
	switch n := n.(type) {
	case *ast.TableName:
		if n.Sample != nil {
			return nil, unimplemented("TABLESAMPLE")
		}
		return s.table(n, []*ast.Ident{n.Table}, n.Hint, n.As)
	case *ast.PathTableExpr:
		return s.pathTable(n)
	case *ast.Unnest:
		return s.unnest(n, n.Expr, n.As, n.WithOffset, n.Sample)
	case *ast.SubQueryTableExpr:
		if n.Sample != nil {
			return nil, unimplemented("TABLESAMPLE")
		}
		return s.subqueryTable(n)
	case *ast.ParenTableExpr:
		if n.Sample != nil {
			return nil, unimplemented("TABLESAMPLE")
		}
		return s.from(n.Source)
	case *ast.Join:
		return s.join(n)
	case *ast.TVFCallExpr:
		return nil, s.tableFunction(n)
	}
	return nil, unimplemented(constructName(n))
}

// addVar adds a range variable with its leaf.
func (s *scope) addVar(n ast.Node, name string, p producer, cols []rangeCol) (*rangeVar, error) {
	if name != "" {
		for _, rv := range s.vars {
			if sameName(rv.name, name, s.a.pg) {
				return nil, s.a.invalidAt(n, "Duplicate table alias %s in the same FROM clause", name)
			}
		}
	}
	for i := range cols {
		cols[i].cell = -1
	}
	rv := &rangeVar{name: name, cols: cols, leaf: &leaf{producer: p, nullable: s.nullable}, exact: s.a.pg}
	s.vars = append(s.vars, rv)
	return rv, nil
}

// aliasOr is the alias if there is one.
func aliasOr(as *ast.AsAlias, name string) string {
	if as != nil {
		return as.Alias.Name
	}
	return name
}
