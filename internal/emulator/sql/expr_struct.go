package sql

import (
	"github.com/cloudspannerecosystem/memefish/ast"

	"spanbulk/internal/emulator/value"
)

// structExpr makes a STRUCT.
type structExpr struct {
	fields []expr
	t      *value.Type
}

func (x *structExpr) typ() *value.Type { return x.t }

func (x *structExpr) eval(e *env) (value.Value, error) {
	fields, err := evalAll(e, x.fields)
	if err != nil {
		return value.Value{}, err
	}
	return value.Struct(x.t, fields), nil
}

// coerce takes field names and types from t.
func (x *structExpr) coerce(a *analyzer, t *value.Type) (expr, error) {
	if t.Code != value.StructCode || len(t.Fields) != len(x.fields) {
		return nil, errMismatch
	}
	out := &structExpr{t: t}
	for i, f := range x.fields {
		c, err := a.coerce(f, t.Fields[i].Type)
		if err != nil {
			return nil, err
		}
		out.fields = append(out.fields, c)
	}
	return out, nil
}

func (s *scope) structOf(names []string, nodes []ast.Expr) (expr, error) {
	fields, err := s.exprs(nodes)
	if err != nil {
		return nil, err
	}
	if fields, err = s.a.settleAll(fields); err != nil {
		return nil, err
	}
	t := &value.Type{Code: value.StructCode}
	for i, f := range fields {
		t.Fields = append(t.Fields, value.Field{Name: names[i], Type: f.typ()})
	}
	return &structExpr{fields: fields, t: t}, nil
}

func (s *scope) tuple(n *ast.TupleStructLiteral) (expr, error) {
	return s.structOf(make([]string, len(n.Values)), n.Values)
}

func (s *scope) typelessStruct(n *ast.TypelessStructLiteral) (expr, error) {
	var names []string
	var nodes []ast.Expr
	for _, v := range n.Values {
		switch v := v.(type) {
		case *ast.ExprArg:
			names, nodes = append(names, implicitName(v.Expr)), append(nodes, v.Expr)
		case *ast.Alias:
			names, nodes = append(names, v.As.Alias.Name), append(nodes, v.Expr)
		default:
			return nil, unimplemented(constructName(v))
		}
	}
	return s.structOf(names, nodes)
}

func (s *scope) typedStruct(n *ast.TypedStructLiteral) (expr, error) {
	t, err := s.a.structType(&ast.StructType{Struct: n.Struct, Fields: n.Fields})
	if err != nil {
		return nil, err
	}
	fields, err := s.exprs(n.Values)
	if err != nil {
		return nil, err
	}
	x, err := (&structExpr{fields: fields}).coerce(s.a, t)
	if err != nil {
		return nil, s.a.orMismatch(err, n, "STRUCT constructor arguments do not match type %s", t)
	}
	return x, nil
}

// fieldExpr is a field of a STRUCT.
type fieldExpr struct {
	x expr
	i int
}

func (x *fieldExpr) typ() *value.Type { return x.x.typ().Fields[x.i].Type }

func (x *fieldExpr) eval(e *env) (value.Value, error) {
	v, err := x.x.eval(e)
	if err != nil || v.IsNull() {
		return value.Null(x.typ()), err
	}
	return v.List()[x.i], nil
}

func (s *scope) selector(n *ast.SelectorExpr) (expr, error) {
	x, err := s.expr(n.Expr)
	if err != nil {
		return nil, err
	}
	return s.field(x, n.Ident)
}

// field analyses x.name on a STRUCT or JSON.
func (s *scope) field(x expr, name *ast.Ident) (expr, error) {
	switch {
	case isType(x, value.JSONCode):
		return jsonMember(x, name.Name), nil
	case !isType(x, value.StructCode):
		return nil, s.a.invalidAt(name, "Cannot access field %s on a value with type %s", name.Name, x)
	}
	found := -1
	for i, f := range x.typ().Fields {
		if !equalFold(f.Name, name.Name) {
			continue
		}
		if found >= 0 {
			return nil, s.a.invalidAt(name, "Field name %s is ambiguous", name.Name)
		}
		found = i
	}
	if found < 0 {
		return nil, s.a.invalidAt(name, "Field name %s does not exist in %s", name.Name, x.typ())
	}
	return &fieldExpr{x: x, i: found}, nil
}
