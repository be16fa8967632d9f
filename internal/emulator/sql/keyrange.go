package sql

import (
	"bytes"
	"slices"
	"strings"

	"github.com/cloudspannerecosystem/memefish/ast"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/relation"
	"spanbulk/internal/emulator/value"
)

// maxRanges bounds how many points a chain of INs may multiply to.
const maxRanges = 10_000

// seek narrows a scan to key ranges. It may allow more than the filters it
// comes from, never less: the filters are checked on every row.
type seek struct {
	// points fix leading key parts, one element per part.
	points []keyPoint
	// bounds limit the key part after them.
	bounds []keyBound
	order  value.KeyOrder
	t      *value.Type
}

// keyPoint is the values a key part may have.
type keyPoint struct {
	// items are the values; array, if set, holds them instead.
	items []operand
	array *operand
	null  bool
	order value.KeyOrder
	t     *value.Type
}

// keyBound is one end of an interval, or a prefix of text.
type keyBound struct {
	op ast.BinaryOp
	x  operand
	// prefix is the constant start of a LIKE pattern.
	prefix string
}

// followsRow tells that the leading key part is given by other rows.
func (k *seek) followsRow() bool {
	return len(k.points) > 0 && !k.points[0].constant()
}

// constant tells that nothing but literals and parameters decides.
func (k *seek) constant() bool {
	for _, p := range k.points {
		if !p.constant() {
			return false
		}
	}
	for _, b := range k.bounds {
		if b.x.expr != nil && !isConstant(b.x) {
			return false
		}
	}
	return true
}

func (p *keyPoint) constant() bool {
	return !slices.ContainsFunc(p.items, func(o operand) bool { return !isConstant(o) }) && (p.array == nil || isConstant(*p.array))
}

func isConstant(o operand) bool {
	_, ok := constant(o.expr)
	return ok
}

// keyColumns are the key parts of what is scanned.
func (t *tableScan) keyColumns() []catalog.KeyPart {
	if t.index != nil {
		return append(slices.Clone(t.index.Key), t.index.Suffix...)
	}
	return t.table.PrimaryKey
}

// seekFor derives the ranges of a scan from its filters.
func (s *scope) seekFor(l *leaf, scan *tableScan) *seek {
	if scan.table.Virtual {
		return nil
	}
	k := &seek{}
	for _, part := range scan.keyColumns() {
		t := scan.table.Columns[part.Column].Type
		if s.a.pg && isFloat(t) {
			break // its NaN is the greatest value, but not in keys
		}
		col := &keyColumn{scope: s, leaf: l, column: part.Column, scan: scan}
		if p := col.point(l.filters); p != nil {
			p.order, p.t = part.Order(), t
			k.points = append(k.points, *p)
			continue
		}
		k.bounds, k.order, k.t = col.bounds(l.filters), part.Order(), t
		break
	}
	if len(k.points) == 0 && len(k.bounds) == 0 {
		return nil
	}
	return k
}

// keyColumn recognises conditions on one key column of a scan.
type keyColumn struct {
	scope  *scope
	leaf   *leaf
	scan   *tableScan
	column int
}

// is tells whether an expression is the column itself.
func (k *keyColumn) is(x expr) bool {
	c, ok := x.(*columnExpr)
	if !ok || c.depth != 0 || k.scope.owners[c.cell] != k.leaf {
		return false
	}
	for _, rv := range k.scope.vars {
		if rv.leaf == k.leaf {
			return rv.cols[k.column].cell == c.cell
		}
	}
	return false
}

// known tells whether an operand has its value before the scan starts.
func (k *keyColumn) known(o operand) bool { return !k.scope.refersTo(k.leaf, o) }

// point finds a condition that lists the column's values.
func (k *keyColumn) point(filters []conjunct) *keyPoint {
	for _, f := range filters {
		switch x := f.x.(type) {
		case *compareExpr:
			if op, other, ok := k.comparison(x); ok && op == ast.OpEqual {
				return &keyPoint{items: []operand{other}}
			}
		case *isNullExpr:
			if k.is(x.x.expr) {
				return &keyPoint{null: true}
			}
		case *inListExpr:
			if k.is(x.l.expr) && !slices.ContainsFunc(x.items, func(o operand) bool { return !k.known(o) }) {
				return &keyPoint{items: x.items}
			}
		case *inArrayExpr:
			if k.is(x.l.expr) && k.known(x.array) {
				return &keyPoint{array: &x.array}
			}
		}
	}
	return nil
}

// comparison puts the column on the left.
func (k *keyColumn) comparison(x *compareExpr) (ast.BinaryOp, operand, bool) {
	if k.is(x.l.expr) && k.known(x.r) {
		return x.op, x.r, true
	}
	if k.is(x.r.expr) && k.known(x.l) {
		return mirrored(x.op), x.l, true
	}
	return "", operand{}, false
}

func mirrored(op ast.BinaryOp) ast.BinaryOp {
	switch op {
	case ast.OpLess:
		return ast.OpGreater
	case ast.OpLessEqual:
		return ast.OpGreaterEqual
	case ast.OpGreater:
		return ast.OpLess
	case ast.OpGreaterEqual:
		return ast.OpLessEqual
	}
	return op
}

// bounds finds conditions that limit the column from either side.
func (k *keyColumn) bounds(filters []conjunct) []keyBound {
	var out []keyBound
	for _, f := range filters {
		switch x := f.x.(type) {
		case *compareExpr:
			if op, other, ok := k.comparison(x); ok && op != ast.OpEqual && op != ast.OpNotEqual {
				out = append(out, keyBound{op: op, x: other})
			}
		case *betweenExpr:
			if k.is(x.x.expr) && k.known(x.low) && k.known(x.high) {
				out = append(out, keyBound{op: ast.OpGreaterEqual, x: x.low}, keyBound{op: ast.OpLessEqual, x: x.high})
			}
		case *likeExpr:
			if k.is(x.l.expr) && x.isset && len(x.fixed) > 0 && x.fixed[0].text != "" {
				out = append(out, keyBound{prefix: x.fixed[0].text})
			}
		}
	}
	return out
}

// ranges evaluates the seek: sorted ranges that do not overlap.
func (k *seek) ranges(e *env) ([]relation.KeyRange, error) {
	prefixes := [][]byte{nil}
	for i := range k.points {
		parts, err := k.points[i].encode(e)
		if err != nil {
			return nil, err
		}
		if len(prefixes)*len(parts) > maxRanges {
			// The bounds are on a part behind these: without it they say nothing.
			return ranges(prefixes, nil, nil), nil
		}
		next := make([][]byte, 0, len(prefixes)*len(parts))
		for _, p := range prefixes {
			for _, part := range parts {
				next = append(next, slices.Concat(p, part))
			}
		}
		prefixes = next
	}
	start, end, err := k.interval(e)
	if err != nil {
		return nil, err
	}
	return ranges(prefixes, start, end), nil
}

// ranges are the keys that start with one of the prefixes and go on from start
// to end; nil ends are open.
func ranges(prefixes [][]byte, start, end []byte) []relation.KeyRange {
	out := make([]relation.KeyRange, 0, len(prefixes))
	for _, p := range prefixes {
		r := relation.KeyRange{Start: slices.Concat(p, start), End: value.PrefixEnd(p)}
		if end != nil {
			r.End = slices.Concat(p, end)
		}
		if len(r.End) == 0 || bytes.Compare(r.Start, r.End) < 0 {
			out = append(out, r)
		}
	}
	return merge(out)
}

// encode lists the encoded values of one key part.
func (p *keyPoint) encode(e *env) ([][]byte, error) {
	if p.null {
		return [][]byte{value.AppendKeyValue(nil, value.Null(p.t), p.order)}, nil
	}
	var values []value.Value
	if p.array != nil {
		v, err := p.array.eval(e)
		if err != nil {
			return nil, err
		}
		values = v.List()
	}
	for _, item := range p.items {
		v, err := item.eval(e)
		if err != nil {
			return nil, err
		}
		values = append(values[:len(values):len(values)], v)
	}
	out := make([][]byte, 0, len(values))
	for _, v := range values {
		if !v.IsNull() && !isNaN(v) {
			out = append(out, value.AppendKeyValue(nil, v, p.order))
		}
	}
	return out, nil
}

// interval is the encoded range of the key part after the points; nil ends are
// open. NULL, which no comparison is true for, is left out.
func (k *seek) interval(e *env) (start, end []byte, err error) {
	if len(k.bounds) == 0 {
		return nil, nil, nil
	}
	null := value.AppendKeyValue(nil, value.Null(k.t), k.order)
	if k.order.Desc != k.order.NullsReversed {
		end = null
	} else {
		start = value.PrefixEnd(null)
	}
	for _, b := range k.bounds {
		lo, hi, err := b.encode(e, k.t, k.order.Desc)
		if err != nil {
			return nil, nil, err
		}
		if lo != nil && bytes.Compare(lo, start) > 0 {
			start = lo
		}
		if hi != nil && (end == nil || bytes.Compare(hi, end) < 0) {
			end = hi
		}
	}
	return start, end, nil
}

// encode is the range of encoded key parts one bound allows.
func (b keyBound) encode(e *env, t *value.Type, desc bool) (lo, hi []byte, err error) {
	if b.x.expr == nil {
		return encodePrefix(b.prefix, t, desc)
	}
	v, err := b.x.eval(e)
	if err != nil {
		return nil, nil, err
	}
	if v.IsNull() {
		// Nothing compares with NULL: an empty range.
		return []byte{0xFF, 0xFF}, []byte{}, nil
	}
	key := value.AppendKeyValue(nil, v, value.KeyOrder{Desc: desc})
	after := value.PrefixEnd(key)
	switch op := b.op; {
	case op == ast.OpGreaterEqual && !desc, op == ast.OpLessEqual && desc:
		return key, nil, nil
	case op == ast.OpGreater && !desc, op == ast.OpLess && desc:
		return after, nil, nil
	case op == ast.OpLess && !desc, op == ast.OpGreater && desc:
		return nil, key, nil
	default:
		return nil, after, nil
	}
}

// encodePrefix is the range of texts that start with prefix. An encoded text
// ends in two bytes that a longer one does not have.
func encodePrefix(prefix string, t *value.Type, desc bool) (lo, hi []byte, err error) {
	v := value.String(prefix)
	if t.Code == value.BytesCode {
		v = value.Bytes(prefix)
	}
	if strings.IndexByte(prefix, 0) >= 0 {
		return nil, nil, nil
	}
	key := value.AppendKeyValue(nil, v, value.KeyOrder{Desc: desc})
	key = key[:len(key)-2]
	return key, value.PrefixEnd(key), nil
}

// merge sorts ranges and joins those that touch.
func merge(ranges []relation.KeyRange) []relation.KeyRange {
	slices.SortFunc(ranges, func(a, b relation.KeyRange) int { return bytes.Compare(a.Start, b.Start) })
	out := ranges[:0]
	for _, r := range ranges {
		if n := len(out); n > 0 && (len(out[n-1].End) == 0 || bytes.Compare(r.Start, out[n-1].End) <= 0) {
			if len(out[n-1].End) > 0 && (len(r.End) == 0 || bytes.Compare(r.End, out[n-1].End) > 0) {
				out[n-1].End = r.End
			}
			continue
		}
		out = append(out, r)
	}
	return out
}

// intersect is what two sorted lists of ranges have in common; nil stands for
// everything.
func intersect(a, b []relation.KeyRange) []relation.KeyRange {
	if a == nil {
		return b
	}
	out := []relation.KeyRange{}
	for _, x := range a {
		for _, y := range b {
			r := relation.KeyRange{Start: x.Start, End: x.End}
			if bytes.Compare(y.Start, r.Start) > 0 {
				r.Start = y.Start
			}
			if len(r.End) == 0 || len(y.End) > 0 && bytes.Compare(y.End, r.End) < 0 {
				r.End = y.End
			}
			if len(r.End) == 0 || bytes.Compare(r.Start, r.End) < 0 {
				out = append(out, r)
			}
		}
	}
	return out
}
