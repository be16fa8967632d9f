package sql

import (
	"math"
	"strconv"

	"github.com/cloudspannerecosystem/memefish/ast"
	"google.golang.org/grpc/status"

	"spanbulk/internal/emulator/value"
)

// literal is a constant. A loose one, written as a plain number, string or
// NULL, takes the type its place asks for.
type literal struct {
	v     value.Value
	loose bool
}

func (x *literal) typ() *value.Type               { return x.v.Type() }
func (x *literal) eval(*env) (value.Value, error) { return x.v, nil }

// coerce converts a loose literal, at analysis, as CAST would at run time.
func (x *literal) coerce(a *analyzer, t *value.Type) (expr, error) {
	if x.v.IsNull() && (x.loose || x.v.Type() == nil) {
		return &literal{v: value.Null(t), loose: x.loose}, nil
	}
	if x.v.Type() == nil {
		return nil, errMismatch
	}
	if !x.loose || !a.literalFits(x.v.Type(), t) {
		if !widens(x.v.Type(), t) {
			return nil, errMismatch
		}
	}
	v, err := a.conversion(x.v.Type(), t)(x.v)
	if err != nil {
		return nil, a.badLiteral(err, x.v, t)
	}
	return &literal{v: v, loose: x.loose}, nil
}

// badLiteral tells that a literal cannot be read as a type.
func (a *analyzer) badLiteral(err error, v value.Value, t *value.Type) error {
	if a.pg {
		return invalid("%s", status.Convert(err).Message())
	}
	return invalid("Could not cast literal %s to type %s", quoted(v), t)
}

// literalFits lists what a literal may become beyond widening.
func literalFits(from, to *value.Type) bool {
	switch from.Code {
	case value.Int64Code:
		return to.Code == value.Float32Code || to.Code == value.EnumCode
	case value.Float64Code:
		return to.Code == value.NumericCode || to.Code == value.Float32Code
	case value.StringCode:
		switch to.Code {
		case value.DateCode, value.TimestampCode, value.UUIDCode, value.BytesCode:
			return true
		}
	}
	return false
}

// quoted spells a value for a message.
func quoted(v value.Value) string {
	if v.Type().Code == value.StringCode {
		return strconv.Quote(v.AsString())
	}
	return string(v.AppendText(nil))
}

func (a *analyzer) literal(n ast.Expr) (expr, error) {
	switch n := n.(type) {
	case *ast.NullLiteral:
		return &literal{loose: true}, nil
	case *ast.BoolLiteral:
		return &literal{v: value.Bool(n.Value)}, nil
	case *ast.IntLiteral:
		i, err := strconv.ParseInt(n.Value, 0, 64)
		if n.Base == 10 {
			i, err = strconv.ParseInt(n.Value, 10, 64)
		}
		if err != nil {
			return nil, a.invalidAt(n, "Invalid integer literal: %s", n.Value)
		}
		return &literal{v: value.Int64(i), loose: true}, nil
	case *ast.FloatLiteral:
		if a.pg {
			v, ok := value.ParsePGNumeric(n.Value)
			if !ok {
				return nil, a.invalidAt(n, "value overflows numeric format")
			}
			return &literal{v: v, loose: true}, nil
		}
		f, err := strconv.ParseFloat(n.Value, 64)
		if err != nil || math.IsInf(f, 0) {
			return nil, a.invalidAt(n, "Invalid floating point literal: %s", n.Value)
		}
		return &literal{v: value.Float64(f), loose: true}, nil
	case *ast.StringLiteral:
		return &literal{v: value.String(n.Value), loose: true}, nil
	case *ast.BytesLiteral:
		return &literal{v: value.Bytes(string(n.Value))}, nil
	}
	return a.typedLiteral(n)
}

// typedLiteral analyses DATE '...', TIMESTAMP '...', NUMERIC '...', JSON '...'.
func (a *analyzer) typedLiteral(n ast.Expr) (expr, error) {
	var t *value.Type
	var text string
	switch n := n.(type) {
	case *ast.DateLiteral:
		t, text = value.DateType, n.Value.Value
	case *ast.TimestampLiteral:
		t, text = value.TimestampType, n.Value.Value
	case *ast.NumericLiteral:
		t, text = value.NumericType, n.Value.Value
	case *ast.JSONLiteral:
		t, text = value.JSONType, n.Value.Value
	}
	var v value.Value
	var err error
	if t == value.JSONType {
		v, err = parseJSON(text)
	} else {
		v, err = conversion(value.StringType, t, a.loc)(value.String(text))
	}
	if err != nil {
		return nil, a.invalidAt(n, "Invalid %s literal", t)
	}
	return &literal{v: v}, nil
}
