package sql

import (
	"github.com/cloudspannerecosystem/memefish/ast"

	"spanbulk/internal/emulator/value"
)

// choiceExpr is CASE and IF: the result of the first condition that is TRUE,
// else the last result. Only what is chosen is evaluated.
type choiceExpr struct {
	conds []expr
	// results has one more than conds.
	results []expr
	t       *value.Type
}

func (x *choiceExpr) typ() *value.Type { return x.t }

func (x *choiceExpr) eval(e *env) (value.Value, error) {
	for i, cond := range x.conds {
		ok, err := isTrue(e, cond)
		if err != nil {
			return value.Value{}, err
		}
		if ok {
			return x.results[i].eval(e)
		}
	}
	return x.results[len(x.conds)].eval(e)
}

func (s *scope) caseExpr(n *ast.CaseExpr) (expr, error) {
	results := make([]ast.Expr, 0, len(n.Whens)+1)
	for _, w := range n.Whens {
		results = append(results, w.Then)
	}
	if n.Else != nil {
		results = append(results, n.Else.Expr)
	} else {
		results = append(results, &ast.NullLiteral{Null: n.EndPos})
	}
	if n.Expr != nil {
		return s.switchExpr(n, results)
	}
	conds := make([]expr, len(n.Whens))
	for i, w := range n.Whens {
		var err error
		if conds[i], err = s.boolean(w.Cond, "WHEN condition"); err != nil {
			return nil, err
		}
	}
	return s.choice(n, "CASE", conds, results)
}

// switchExpr is CASE x WHEN ...: the result of the first value equal to x.
type switchExpr struct {
	x       expr
	values  []expr
	results []expr
	t       *value.Type
}

func (x *switchExpr) typ() *value.Type { return x.t }

func (x *switchExpr) eval(e *env) (value.Value, error) {
	v, err := x.x.eval(e)
	if err != nil {
		return value.Value{}, err
	}
	for i, when := range x.values {
		w, err := when.eval(e)
		if err != nil {
			return value.Value{}, err
		}
		if equal(v, w) {
			return x.results[i].eval(e)
		}
	}
	return x.results[len(x.values)].eval(e)
}

func (s *scope) switchExpr(n *ast.CaseExpr, results []ast.Expr) (expr, error) {
	nodes := []ast.Expr{n.Expr}
	for _, w := range n.Whens {
		nodes = append(nodes, w.Cond)
	}
	values, t, err := s.unified(n, "CASE", nodes)
	if err != nil {
		return nil, err
	}
	if !comparable(t, true) {
		return nil, s.a.invalidAt(n, "Equality is not defined for arguments of type %s", t)
	}
	xs, t, err := s.unified(n, "CASE", results)
	if err != nil {
		return nil, err
	}
	return &switchExpr{x: values[0], values: values[1:], results: xs, t: t}, nil
}

func (s *scope) ifExpr(n *ast.IfExpr) (expr, error) {
	cond, err := s.boolean(n.Expr, "IF condition")
	if err != nil {
		return nil, err
	}
	return s.choice(n, "IF", []expr{cond}, []ast.Expr{n.TrueResult, n.ElseResult})
}

func (s *scope) choice(n ast.Node, name string, conds []expr, results []ast.Expr) (expr, error) {
	xs, t, err := s.unified(n, name, results)
	if err != nil {
		return nil, err
	}
	return &choiceExpr{conds: conds, results: xs, t: t}, nil
}

// unified analyses expressions of one type, settled if nothing gives one.
func (s *scope) unified(n ast.Node, name string, nodes []ast.Expr) ([]expr, *value.Type, error) {
	xs, err := s.exprs(nodes)
	if err != nil {
		return nil, nil, err
	}
	out, t, err := s.a.unify(xs)
	if err != nil {
		return nil, nil, s.a.orMismatch(err, n, "No matching signature for %s: its arguments have no common type", name)
	}
	if t == nil {
		if out, err = s.a.settleAll(out); err != nil {
			return nil, nil, err
		}
		t = out[0].typ()
		out, err = s.a.coerceAll(out, t)
	}
	return out, t, err
}
