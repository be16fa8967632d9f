package sql

import (
	"github.com/cloudspannerecosystem/memefish/ast"

	"spanbulk/internal/emulator/value"
)

// expr is an analysed expression. Expressions are immutable once their query
// is prepared, and safe to evaluate concurrently in different envs.
type expr interface {
	// typ is nil while it is not known: NULL, [], an undeclared parameter.
	typ() *value.Type
	eval(e *env) (value.Value, error)
}

// expr analyses an expression in the scope.
func (s *scope) expr(n ast.Expr) (expr, error) {
	if err := s.a.enter(n); err != nil {
		return nil, err
	}
	defer s.a.leave()
	if s.group != nil {
		if x, ok := s.group.keyExpr(n); ok {
			return x, nil
		}
	}
	return s.exprKind(n)
}

// exprs analyses several expressions.
func (s *scope) exprs(nodes []ast.Expr) ([]expr, error) {
	out := make([]expr, len(nodes))
	for i, n := range nodes {
		x, err := s.expr(n)
		if err != nil {
			return nil, err
		}
		out[i] = x
	}
	return out, nil
}

func (s *scope) exprKind(n ast.Expr) (expr, error) {
	switch n := n.(type) {
	case *ast.ParenExpr:
		return s.expr(n.Expr)
	case *ast.Ident:
		return s.path(n, []*ast.Ident{n})
	case *ast.Path:
		return s.path(n, n.Idents)
	case *ast.SelectorExpr:
		return s.selector(n)
	case *ast.Param:
		return s.param(n)
	case *ast.BinaryExpr:
		return s.binary(n)
	case *ast.UnaryExpr:
		return s.unary(n)
	case *ast.InExpr:
		return s.in(n)
	case *ast.BetweenExpr:
		return s.between(n)
	case *ast.IsNullExpr:
		return s.isNull(n)
	case *ast.IsBoolExpr:
		return s.isBool(n)
	case *ast.CaseExpr:
		return s.caseExpr(n)
	case *ast.IfExpr:
		return s.ifExpr(n)
	case *ast.CastExpr:
		return s.cast(n)
	case *ast.CallExpr:
		return s.call(n)
	case *ast.CountStarExpr:
		return s.countStar(n)
	case *ast.ExtractExpr:
		return s.extract(n)
	case *ast.IndexExpr:
		return s.subscript(n)
	}
	return s.constructor(n)
}

// constructor analyses literals, arrays, structs and subqueries.
func (s *scope) constructor(n ast.Expr) (expr, error) {
	switch n := n.(type) {
	case *ast.ArrayLiteral:
		return s.array(n)
	case *ast.TupleStructLiteral:
		return s.tuple(n)
	case *ast.TypelessStructLiteral:
		return s.typelessStruct(n)
	case *ast.TypedStructLiteral:
		return s.typedStruct(n)
	case *ast.ScalarSubQuery:
		return s.scalarSubquery(n)
	case *ast.ArraySubQuery:
		return s.arraySubquery(n)
	case *ast.ExistsSubQuery:
		return s.exists(n)
	case *ast.NullLiteral, *ast.BoolLiteral, *ast.IntLiteral, *ast.FloatLiteral, *ast.StringLiteral, *ast.BytesLiteral,
		*ast.DateLiteral, *ast.TimestampLiteral, *ast.NumericLiteral, *ast.JSONLiteral:
		return s.a.literal(n)
	}
	return nil, unimplemented(constructName(n))
}

// evalAll evaluates expressions in order.
func evalAll(e *env, xs []expr) ([]value.Value, error) {
	out := make([]value.Value, len(xs))
	for i, x := range xs {
		v, err := x.eval(e)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// isTrue evaluates a condition: NULL counts as false.
func isTrue(e *env, cond expr) (bool, error) {
	v, err := cond.eval(e)
	return err == nil && !v.IsNull() && v.AsBool(), err
}

// boolean analyses a condition of the named clause.
func (s *scope) boolean(n ast.Expr, clause string) (expr, error) {
	x, err := s.expr(n)
	if err != nil {
		return nil, err
	}
	b, err := s.a.coerce(x, value.BoolType)
	if err != nil {
		return nil, s.a.orMismatch(err, n, "%s should return type %s, but returns %s", clause, value.BoolType, x)
	}
	return b, nil
}
