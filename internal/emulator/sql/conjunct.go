package sql

import (
	"slices"

	"github.com/cloudspannerecosystem/memefish/ast"
)

// conjunct is one condition of a chain of ANDs in WHERE or ON.
type conjunct struct {
	x expr
	// refs are the cells it refers to.
	refs []int
	// join is the join whose ON it stands in, nil for WHERE; ctx is the
	// innermost outer join on whose NULL-extended side it holds.
	join, ctx *join
}

// conditions analyses a condition and notes its conjuncts.
func (s *scope) conditions(n ast.Expr, clause string, j, ctx *join) error {
	for _, operand := range chain(ast.OpAnd, n) {
		mark := len(s.refs)
		x, err := s.boolean(operand, clause)
		if err != nil {
			return err
		}
		s.conjuncts = append(s.conjuncts, conjunct{x: x, refs: slices.Clone(s.refs[mark:]), join: j, ctx: ctx})
	}
	return nil
}

// place moves every conjunct to the first point where all it refers to is
// there, so that rows are dropped early and scans can use it; it returns those
// for which that is the end of the FROM clause.
func (s *scope) place(root source) (rest []expr, err error) {
	all := root.leaves(nil)
	for i, l := range all {
		l.ord = i
	}
	for _, c := range s.conjuncts {
		last := s.lastRef(c.refs)
		if c.join != nil && c.join.outer {
			last = max(last, c.join.right.leaves(nil)[0].ord)
		}
		target := all[max(last, 0)]
		switch {
		case target.nullable == c.ctx:
			target.filters = append(target.filters, c)
		case c.join != nil:
			c.join.on = append(c.join.on, c.x)
		default:
			rest = append(rest, c.x)
		}
	}
	for _, l := range all {
		if err := s.checkNullFiltered(l); err != nil {
			return nil, err
		}
		s.plan(l)
	}
	return rest, nil
}

// checkNullFiltered refuses, as the service does, to read a NULL_FILTERED
// index whose missing rows the query might ask for.
func (s *scope) checkNullFiltered(l *leaf) error {
	scan, ok := l.producer.(*tableScan)
	if !ok || scan.index == nil || !scan.index.NullFiltered || scan.unchecked {
		return nil
	}
	for _, k := range scan.index.Key {
		c := scan.table.Columns[k.Column]
		col := &keyColumn{scope: s, leaf: l, column: k.Column}
		if !c.NotNull && !slices.ContainsFunc(l.filters, func(f conjunct) bool { return col.excludesNull(f.x) }) {
			return invalid("The NULL_FILTERED index %s cannot be used to answer the query because it does not exclude rows with NULL in column %s: add %s IS NOT NULL", scan.index.Name, c.Name, c.Name)
		}
	}
	return nil
}

// excludesNull tells whether a condition is never true where the column is
// NULL.
func (k *keyColumn) excludesNull(x expr) bool {
	switch x := x.(type) {
	case *notExpr:
		isNull, ok := x.x.(*isNullExpr)
		return ok && k.is(isNull.x.expr)
	case *compareExpr:
		return k.is(x.l.expr) || k.is(x.r.expr)
	case *betweenExpr:
		return k.is(x.x.expr)
	case *likeExpr:
		return k.is(x.l.expr)
	case *inListExpr:
		return k.is(x.l.expr)
	case *inArrayExpr:
		return k.is(x.l.expr)
	}
	return false
}

// lastRef is the position of the last leaf that cells belong to, or -1.
func (s *scope) lastRef(refs []int) int {
	last := -1
	for _, cell := range refs {
		last = max(last, s.owners[cell].ord)
	}
	return last
}

// refersTo tells whether an operand needs cells of a leaf.
func (s *scope) refersTo(l *leaf, o operand) bool {
	return slices.ContainsFunc(o.refs, func(cell int) bool { return s.owners[cell] == l })
}

// plan decides how a leaf finds its rows: a scan of the keys its filters allow,
// or, when it will be run again and again, rows kept in memory.
func (s *scope) plan(l *leaf) {
	scan, isTable := l.producer.(*tableScan)
	if isTable {
		scan.seek = s.seekFor(l, scan)
	}
	again := l.ord > 0 || s.correlated
	if !l.fixed || !again || isTable && scan.seek != nil && scan.seek.followsRow() {
		return
	}
	l.kept = true
	if isTable && scan.seek != nil && !scan.seek.constant() {
		// Kept rows must not depend on the row they are first read for.
		scan.seek = nil
	}
	for _, f := range l.filters {
		if l.key = s.hashKeyFor(l, f.x); l.key != nil {
			return
		}
	}
}

// hashKeyFor recognises leafColumn = something known before the leaf.
func (s *scope) hashKeyFor(l *leaf, x expr) *hashKey {
	c, ok := x.(*compareExpr)
	if !ok || c.op != ast.OpEqual {
		return nil
	}
	for _, sides := range [][2]operand{{c.l, c.r}, {c.r, c.l}} {
		col, ok := sides[0].expr.(*columnExpr)
		if ok && col.depth == 0 && s.owners[col.cell] == l && !s.refersTo(l, sides[1]) && hashable(col) {
			return &hashKey{column: col, probe: sides[1].expr}
		}
	}
	return nil
}

// hashable leaves out types whose equality is not that of their spelling.
func hashable(x expr) bool { return comparable(x.typ(), false) }
