package sql

import (
	"github.com/cloudspannerecosystem/memefish/ast"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/emulator/value"
)

// convert turns a value that is not NULL into one of another type.
type convert func(value.Value) (value.Value, error)

// castExpr is CAST and SAFE_CAST, and the widening that needs no CAST.
type castExpr struct {
	x    expr
	t    *value.Type
	conv convert
	safe bool
}

func (x *castExpr) typ() *value.Type { return x.t }

func (x *castExpr) eval(e *env) (value.Value, error) {
	v, err := x.x.eval(e)
	if err != nil {
		return value.Value{}, err
	}
	if v.IsNull() {
		return value.Null(x.t), nil
	}
	out, err := x.conv(v)
	if err != nil && x.safe && isDataError(err) {
		return value.Null(x.t), nil
	}
	return out, err
}

// isDataError tells what SAFE_CAST and SAFE functions turn into NULL.
func isDataError(err error) bool { return status.Code(err) == codes.OutOfRange }

func (s *scope) cast(n *ast.CastExpr) (expr, error) {
	t, err := s.a.castType(n.Type)
	if err != nil {
		return nil, err
	}
	x, err := s.expr(n.Expr)
	if err != nil {
		return nil, err
	}
	if x.typ() == nil {
		return s.a.castUntyped(n, x, t)
	}
	if x.typ().Equal(t) {
		return x, nil
	}
	if a, ok := x.(*arrayExpr); ok && a.loose() && t.Code == value.ArrayCode {
		if c, err := s.a.coerce(a, t); err == nil {
			return c, nil
		}
	}
	conv := s.a.conversion(x.typ(), t)
	if conv == nil {
		return nil, s.a.invalidAt(n, "Invalid cast from %s to %s", x.typ(), t)
	}
	return &castExpr{x: x, t: t, conv: conv, safe: n.Safe}, nil
}

func (a *analyzer) castUntyped(n ast.Node, x expr, t *value.Type) (expr, error) {
	c, err := a.coerce(x, t)
	if err != nil {
		return nil, a.orMismatch(err, n, "Invalid cast to %s", t)
	}
	return c, nil
}

// castType reads a type as written in CAST or ARRAY<...>.
func (a *analyzer) castType(n ast.Type) (*value.Type, error) {
	switch n := n.(type) {
	case *ast.SimpleType:
		t, ok := value.ScalarType(string(n.Name))
		if !ok || t.Code == value.TokenListCode {
			return nil, unimplemented("type " + string(n.Name))
		}
		return t, nil
	case *ast.ArrayType:
		elem, err := a.castType(n.Item)
		if err != nil {
			return nil, err
		}
		if elem.Code == value.ArrayCode {
			return nil, a.invalidAt(n, "Arrays of arrays are not supported")
		}
		return value.ArrayOf(elem), nil
	case *ast.StructType:
		return a.structType(n)
	case *ast.NamedType:
		if len(n.Path) == 1 {
			if t, ok := value.ScalarType(n.Path[0].Name); ok {
				return t, nil
			}
		}
		if len(n.Path) == 2 && n.Path[0].Name == "PG" && a.pg {
			if t, ok := value.PGType(n.Path[1].Name); ok {
				return t, nil
			}
		}
		return nil, a.invalidAt(n, "Type not found: %s", n.SQL())
	}
	return nil, unimplemented(constructName(n))
}

func (a *analyzer) structType(n *ast.StructType) (*value.Type, error) {
	var fields []value.Field
	for _, f := range n.Fields {
		t, err := a.castType(f.Type)
		if err != nil {
			return nil, err
		}
		name := ""
		if f.Ident != nil {
			name = f.Ident.Name
		}
		fields = append(fields, value.Field{Name: name, Type: t})
	}
	return value.StructOf(fields...), nil
}
