package sql

import (
	"github.com/google/uuid"

	"spanbulk/internal/emulator/value"
)

// conditionalBinders are the functions that choose among their arguments.
var conditionalBinders = map[string]binder{
	"COALESCE":      bindCoalesce,
	"IFNULL":        func(s *scope, args []expr) (expr, error) { return bindN(2, bindCoalesce, s, args) },
	"NULLIF":        func(s *scope, args []expr) (expr, error) { return bindN(2, bindNullIf, s, args) },
	"GREATEST":      bindMost(1),
	"LEAST":         bindMost(-1),
	"GENERATE_UUID": bindGenerateUUID,
}

// bindN is bind for exactly n arguments.
func bindN(n int, bind binder, s *scope, args []expr) (expr, error) {
	if len(args) != n {
		return nil, errMismatch
	}
	return bind(s, args)
}

// coalesceExpr is the first argument that is not NULL; the rest is not
// evaluated.
type coalesceExpr struct {
	args []expr
	t    *value.Type
}

func (x *coalesceExpr) typ() *value.Type { return x.t }

func (x *coalesceExpr) eval(e *env) (value.Value, error) {
	for _, a := range x.args {
		if v, err := a.eval(e); err != nil || !v.IsNull() {
			return v, err
		}
	}
	return value.Null(x.t), nil
}

// oneType unifies and settles arguments, of which there must be some.
func (s *scope) oneType(args []expr) ([]expr, *value.Type, error) {
	if len(args) == 0 {
		return nil, nil, errMismatch
	}
	args, t, err := s.a.unify(args)
	if err != nil || t != nil {
		return args, t, err
	}
	if args, err = s.a.settleAll(args); err != nil {
		return nil, nil, err
	}
	t = args[0].typ()
	args, err = s.a.coerceAll(args, t)
	return args, t, err
}

func bindCoalesce(s *scope, args []expr) (expr, error) {
	args, t, err := s.oneType(args)
	return &coalesceExpr{args, t}, err
}

// nullIfExpr is NULL if its two arguments are equal, else the first.
type nullIfExpr struct{ args []expr }

func (x *nullIfExpr) typ() *value.Type { return x.args[0].typ() }

func (x *nullIfExpr) eval(e *env) (value.Value, error) {
	v, err := evalAll(e, x.args)
	if err != nil || equal(v[0], v[1]) {
		return value.Null(x.typ()), err
	}
	return v[0], nil
}

func bindNullIf(s *scope, args []expr) (expr, error) {
	args, t, err := s.oneType(args)
	if err == nil && !comparable(t, true) {
		err = errMismatch
	}
	return &nullIfExpr{args}, err
}

func bindMost(sign int) binder {
	return func(s *scope, args []expr) (expr, error) {
		args, t, err := s.oneType(args)
		if err != nil {
			return nil, err
		}
		if !comparable(t, false) {
			return nil, errMismatch
		}
		f := func(v []value.Value) (value.Value, error) {
			most := v[0]
			for _, x := range v[1:] {
				most = extreme(sign, most, x)
			}
			return most, nil
		}
		return &strictExpr{args: args, t: t, f: f}, nil
	}
}

func bindGenerateUUID(s *scope, args []expr) (expr, error) {
	if len(args) != 0 {
		return nil, errMismatch
	}
	s.a.volatile = true
	f := func([]value.Value) (value.Value, error) {
		id, err := uuid.NewRandom()
		return value.String(id.String()), err
	}
	return &strictExpr{t: value.StringType, f: f}, nil
}
