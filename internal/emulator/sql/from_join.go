package sql

import (
	"slices"
	"strings"

	"github.com/cloudspannerecosystem/memefish/ast"

	"spanbulk/internal/emulator/value"
)

// join runs its right side for every row of its left side. Conditions stand at
// the leaves they decide; see place.
type join struct {
	left, right source
	// outer joins extend a left row that nothing on the right matched by NULLs.
	outer bool
	// on holds conditions that must see the whole right side, NULL-extended
	// parts included.
	on    []expr
	nulls []*leaf
}

func (j *join) leaves(dst []*leaf) []*leaf { return j.right.leaves(j.left.leaves(dst)) }

func (j *join) run(e *env, yield func() error) error {
	return j.left.run(e, func() error {
		matched := false
		err := j.right.run(e, func() error {
			for _, cond := range j.on {
				if ok, err := isTrue(e, cond); err != nil || !ok {
					return err
				}
			}
			matched = true
			return yield()
		})
		if err != nil || matched || !j.outer {
			return err
		}
		for _, l := range j.nulls {
			l.setNull(e)
		}
		return yield()
	})
}

func (s *scope) join(n *ast.Join) (source, error) {
	j := &join{}
	switch n.Op {
	case ast.CommaJoin, ast.CrossJoin, ast.InnerJoin:
	case ast.LeftOuterJoin, ast.RightOuterJoin:
		j.outer = true
	default:
		return nil, unimplemented(string(n.Op))
	}
	first, err := s.joinSide(j, n.Left, n.Op == ast.RightOuterJoin)
	if err != nil {
		return nil, err
	}
	split := len(s.vars)
	second, err := s.joinSide(j, n.Right, n.Op == ast.LeftOuterJoin)
	if err != nil {
		return nil, err
	}
	// A right join is a left join seen from the other side.
	j.left, j.right = first, second
	if n.Op == ast.RightOuterJoin {
		j.left, j.right = second, first
	}
	if j.outer {
		j.nulls = j.right.leaves(nil)
	}
	return j, s.joinCondition(n, j, split)
}

// joinSide analyses one side of a join, noting if j may extend it by NULLs.
func (s *scope) joinSide(j *join, n ast.TableExpr, nullable bool) (source, error) {
	if nullable {
		saved := s.nullable
		s.nullable = j
		defer func() { s.nullable = saved }()
	}
	return s.from(n)
}

func (s *scope) joinCondition(n *ast.Join, j *join, split int) error {
	ctx := s.nullable
	if j.outer {
		ctx = j
	}
	switch cond := n.Cond.(type) {
	case *ast.On:
		return s.conditions(cond.Expr, "ON clause", j, ctx)
	case *ast.Using:
		for _, id := range cond.Idents {
			x, err := s.using(n, id, split)
			if err != nil {
				return err
			}
			s.conjuncts = append(s.conjuncts, conjunct{x: x, refs: append(slices.Clone(x.l.refs), x.r.refs...), join: j, ctx: ctx})
		}
	}
	return nil
}

// using is the condition for one column of USING; the column is then named
// without ambiguity, as that of the side that is not NULL-extended.
func (s *scope) using(n *ast.Join, id *ast.Ident, split int) (*compareExpr, error) {
	left, err := s.usingSide(id, s.vars[:split], "left")
	if err != nil {
		return nil, err
	}
	right, err := s.usingSide(id, s.vars[split:], "right")
	if err != nil {
		return nil, err
	}
	hide := right
	if n.Op == ast.RightOuterJoin {
		hide = left
	}
	if hide.rv.hidden == nil {
		hide.rv.hidden = make(map[int]bool)
	}
	hide.rv.hidden[hide.col] = true
	return s.usingEquality(id, left, right)
}

func (s *scope) usingSide(id *ast.Ident, vars []*rangeVar, side string) (columnRef, error) {
	for _, rv := range vars {
		if col, n := rv.column(id.Name); n == 1 && !rv.hidden[col] {
			return columnRef{scope: s, rv: rv, col: col}, nil
		}
	}
	return columnRef{}, s.a.invalidAt(id, "Column %s in USING clause not found on %s side of join", id.Name, side)
}

func (s *scope) usingEquality(id *ast.Ident, left, right columnRef) (*compareExpr, error) {
	var ops [2]operand
	var xs []expr
	for i, r := range []columnRef{left, right} {
		mark := len(s.refs)
		x, err := r.expr(s, id)
		if err != nil {
			return nil, err
		}
		xs = append(xs, x)
		ops[i].refs = s.refs[mark:]
	}
	xs, t, err := s.a.unify(xs)
	if err != nil || t == nil || !comparable(t, true) {
		return nil, s.a.invalidAt(id, "Column %s in USING clause has incompatible types on either side of the join", id.Name)
	}
	ops[0].expr, ops[1].expr = xs[0], xs[1]
	return &compareExpr{op: ast.OpEqual, l: ops[0], r: ops[1]}, nil
}

// hashKey finds kept rows by an equality instead of trying each.
type hashKey struct {
	column *columnExpr
	probe  expr
}

// keptRows are a leaf's rows, held in memory for one run of the query.
type keptRows struct {
	rows [][]cell
	// byKey lists rows by hashKey.column; rows with NULL are in none.
	byKey map[string][]int
}

func (l *leaf) runKept(e *env, yield func() error) error {
	kept, err := l.keepRows(e)
	if err != nil {
		return err
	}
	if l.key == nil {
		for _, row := range kept.rows {
			l.restore(e, row)
			if err := yield(); err != nil {
				return err
			}
		}
		return nil
	}
	v, err := l.key.probe.eval(e)
	if err != nil || v.IsNull() {
		return err
	}
	for _, i := range kept.byKey[hashText(v)] {
		l.restore(e, kept.rows[i])
		if err := yield(); err != nil {
			return err
		}
	}
	return nil
}

func (l *leaf) restore(e *env, row []cell) {
	for i, b := range l.cells {
		e.cells[b.cell] = row[i]
	}
}

// keepRows reads the leaf's rows into memory the first time.
func (l *leaf) keepRows(e *env) (*keptRows, error) {
	if kept, ok := e.rt.memo[l]; ok {
		return kept.(*keptRows), nil
	}
	kept := &keptRows{byKey: make(map[string][]int)}
	err := l.scan(e, func() error {
		row := make([]cell, len(l.cells))
		for i, b := range l.cells {
			row[i] = e.cells[b.cell]
		}
		kept.rows = append(kept.rows, keep(row))
		if l.key == nil {
			return nil
		}
		v, err := l.key.column.eval(e)
		if err == nil && !v.IsNull() {
			k := hashText(v)
			kept.byKey[k] = append(kept.byKey[k], len(kept.rows)-1)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	e.rt.memo[l] = kept
	return kept, nil
}

// hashText is the same text for values that are equal, or that GROUP BY and
// DISTINCT take as one.
func hashText(v value.Value) string { return string(appendHash(nil, v)) }

// withoutTrailingZeros spells PostgreSQL's numerics that are equal alike.
func withoutTrailingZeros(v value.Value) value.Value {
	if text := v.AsString(); v.Type().IsPGNumeric() && strings.Contains(text, ".") {
		return value.PGNumeric(strings.TrimSuffix(strings.TrimRight(text, "0"), "."))
	}
	return v
}

func appendHash(dst []byte, v value.Value) []byte {
	if v.IsNull() {
		return append(dst, 0)
	}
	switch v.Type().Code {
	case value.NumericCode:
		v = withoutTrailingZeros(v)
	case value.Float64Code, value.Float32Code:
		if v.AsFloat64() == 0 {
			v = value.Float64(0)
		}
	case value.ArrayCode, value.StructCode:
		dst = append(dst, 'L')
		for _, item := range v.List() {
			dst = appendHash(dst, item)
		}
		return append(dst, 1)
	}
	return value.Row(append(dst, 'V')).AppendValue(v)
}
