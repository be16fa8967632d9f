package keyset

import (
	"slices"
	"strings"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"github.com/cloudspannerecosystem/memefish"
	"github.com/cloudspannerecosystem/memefish/ast"
	"google.golang.org/protobuf/types/known/structpb"
)

// maxKeys bounds the keys and ranges that one condition becomes: IN lists over
// several columns multiply.
const maxKeys = 10_000

// Param is the value of a query parameter.
type Param struct {
	Type  *spannerpb.Type
	Value *structpb.Value
}

// FromCondition turns a GoogleSQL condition into the key set of the rows that
// it holds for. ok is false where the condition is about anything but the
// leading columns of the key, says something a key set cannot say, or is not
// plain enough to be sure: it then has to go to Spanner as SQL.
//
// Understood are =, <, <=, >, >=, BETWEEN and IN with literals and parameters
// (by their names without @), joined by AND: equalities on the first columns of
// the key and then, if at all, a range of the next one.
func FromCondition(columns []Column, condition string, params map[string]Param) (set *spannerpb.KeySet, ok bool) {
	defer func() {
		if r := recover(); r != nil { // the parser's, where a text ends within an escape
			set, ok = nil, false
		}
	}()
	expr, err := memefish.ParseExpr("", condition)
	if err != nil {
		return nil, false
	}
	c := &conditionReader{columns: columns, params: params, limits: make([]limits, len(columns))}
	if !c.read(expr) {
		return nil, false
	}
	return c.keySet()
}

// conditionReader collects what the terms of a condition say of each column.
type conditionReader struct {
	columns []Column
	params  map[string]Param
	limits  []limits
}

// limits is what a column may be.
type limits struct {
	isGiven      bool
	equal        []part // one of these; nil if only bounds are given
	lower, upper *bound
}

type bound struct {
	part
	inclusive bool
}

func (c *conditionReader) read(expr ast.Expr) bool {
	switch e := expr.(type) {
	case *ast.ParenExpr:
		return c.read(e.Expr)
	case *ast.BinaryExpr:
		if e.Op == ast.OpAnd {
			return c.read(e.Left) && c.read(e.Right)
		}
		return c.readComparison(e.Left, e.Op, e.Right) || c.readComparison(e.Right, mirrored(e.Op), e.Left)
	case *ast.BetweenExpr:
		return !e.Not && c.readComparison(e.Left, ast.OpGreaterEqual, e.RightStart) &&
			c.readComparison(e.Left, ast.OpLessEqual, e.RightEnd)
	case *ast.InExpr:
		values, isList := e.Right.(*ast.ValuesInCondition)
		return isList && !e.Not && c.readList(e.Left, values.Exprs)
	default:
		return false
	}
}

// mirrored is the operator with its sides exchanged.
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
	default:
		return op
	}
}

func (c *conditionReader) readComparison(left ast.Expr, op ast.BinaryOp, right ast.Expr) bool {
	i := c.column(left)
	if i < 0 {
		return false
	}
	p, ok := c.literal(c.columns[i].Type, right)
	if !ok {
		return false
	}
	l := &c.limits[i]
	l.isGiven = true
	switch op {
	case ast.OpEqual:
		l.oneOf([]part{p})
	case ast.OpGreater, ast.OpGreaterEqual:
		l.raise(&bound{p, op == ast.OpGreaterEqual})
	case ast.OpLess, ast.OpLessEqual:
		l.lowerTo(&bound{p, op == ast.OpLessEqual})
	default:
		return false
	}
	return true
}

func (c *conditionReader) readList(left ast.Expr, values []ast.Expr) bool {
	i := c.column(left)
	if i < 0 || len(values) > maxKeys {
		return false
	}
	parts := make([]part, 0, len(values))
	for _, v := range values {
		p, ok := c.literal(c.columns[i].Type, v)
		if !ok {
			return false
		}
		parts = append(parts, p)
	}
	slices.SortFunc(parts, func(a, b part) int { return compareParts(a.sort, b.sort) })
	parts = slices.CompactFunc(parts, func(a, b part) bool { return compareParts(a.sort, b.sort) == 0 })
	c.limits[i].isGiven = true
	c.limits[i].oneOf(parts)
	return true
}

// column returns the place of the key column that expr names, -1 if it names
// none.
func (c *conditionReader) column(expr ast.Expr) int {
	switch e := expr.(type) {
	case *ast.ParenExpr:
		return c.column(e.Expr)
	case *ast.Ident:
		return slices.IndexFunc(c.columns, func(k Column) bool { return strings.EqualFold(k.Name, e.Name) })
	default:
		return -1
	}
}

// oneOf confines the column to parts, which are not equal to each other.
func (l *limits) oneOf(parts []part) {
	if l.equal != nil {
		parts = slices.DeleteFunc(parts, func(p part) bool {
			return !slices.ContainsFunc(l.equal, func(q part) bool { return compareParts(p.sort, q.sort) == 0 })
		})
	}
	l.equal = parts
}

func (l *limits) raise(b *bound) {
	if l.lower == nil || tighter(compareParts(b.sort, l.lower.sort), b) {
		l.lower = b
	}
}

func (l *limits) lowerTo(b *bound) {
	if l.upper == nil || tighter(compareParts(l.upper.sort, b.sort), b) {
		l.upper = b
	}
}

// tighter reports whether b takes the place of a bound on the same side, from
// which it lies inwards if order is above 0.
func tighter(order int, b *bound) bool { return order > 0 || order == 0 && !b.inclusive }

// admits reports whether p is within the bounds.
func (l *limits) admits(p part) bool {
	if l.lower != nil {
		if order := compareParts(p.sort, l.lower.sort); order < 0 || order == 0 && !l.lower.inclusive {
			return false
		}
	}
	if l.upper != nil {
		if order := compareParts(p.sort, l.upper.sort); order > 0 || order == 0 && !l.upper.inclusive {
			return false
		}
	}
	return true
}

// isEmpty reports whether the bounds leave nothing between them.
func (l *limits) isEmpty() bool {
	if l.lower == nil || l.upper == nil {
		return false
	}
	order := compareParts(l.lower.sort, l.upper.sort)
	return order > 0 || order == 0 && !(l.lower.inclusive && l.upper.inclusive)
}

// keySet puts together what was read. A condition that nothing can meet goes to
// Spanner too: a key set without keys has no form there.
func (c *conditionReader) keySet() (*spannerpb.KeySet, bool) {
	prefixes := [][]part{nil}
	i := 0
	for ; i < len(c.columns) && c.limits[i].equal != nil; i++ {
		values := slices.DeleteFunc(c.limits[i].equal, func(p part) bool { return !c.limits[i].admits(p) })
		if prefixes = product(prefixes, values); len(prefixes) == 0 || len(prefixes) > maxKeys {
			return nil, false
		}
	}
	set := &spannerpb.KeySet{}
	switch {
	case i == len(c.columns):
		for _, key := range prefixes {
			set.Keys = append(set.Keys, wireOf(key))
		}
		return set, i > 0
	case !c.limits[i].isGiven:
		for _, prefix := range prefixes {
			set.Ranges = append(set.Ranges, keyRange(true, true, wireOf(prefix), wireOf(prefix)))
		}
	case c.limits[i].isEmpty():
		return nil, false
	default:
		for _, prefix := range prefixes {
			set.Ranges = append(set.Ranges, c.limits[i].keyRange(c.columns[i], prefix))
		}
	}
	beyond := slices.ContainsFunc(c.limits[i+1:], func(l limits) bool { return l.isGiven })
	return set, !beyond
}

func product(prefixes [][]part, values []part) [][]part {
	if len(prefixes)*len(values) > maxKeys {
		return nil
	}
	longer := make([][]part, 0, len(prefixes)*len(values))
	for _, prefix := range prefixes {
		for _, v := range values {
			longer = append(longer, append(slices.Clone(prefix), v))
		}
	}
	return longer
}

// keyRange is the range of the keys that begin with prefix and whose next
// column is within the limits. Where a side is open, it still leaves out NULL,
// and NaN, which no comparison holds for.
func (l *limits) keyRange(column Column, prefix []part) *spannerpb.KeyRange {
	lower, lowerClosed := append(slices.Clone(prefix), part{wire: structpb.NewNullValue()}), false
	switch {
	case l.lower != nil:
		lower[len(prefix)], lowerClosed = l.lower.part, l.lower.inclusive
	case column.Type.GetCode() == spannerpb.TypeCode_FLOAT64, column.Type.GetCode() == spannerpb.TypeCode_FLOAT32:
		lower[len(prefix)], lowerClosed = part{wire: structpb.NewStringValue("-Infinity")}, true
	}
	upper, upperClosed := prefix, true
	if l.upper != nil {
		upper, upperClosed = append(slices.Clone(prefix), l.upper.part), l.upper.inclusive
	}
	if column.Descending {
		return keyRange(upperClosed, lowerClosed, wireOf(upper), wireOf(lower))
	}
	return keyRange(lowerClosed, upperClosed, wireOf(lower), wireOf(upper))
}
