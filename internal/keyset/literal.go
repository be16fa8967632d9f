package keyset

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"github.com/cloudspannerecosystem/memefish/ast"
	"google.golang.org/protobuf/types/known/structpb"
)

// literal reads a literal or a parameter that stands beside a column of type t.
// It is not ok for NULL and NaN, which no comparison holds for, and for whatever
// GoogleSQL would convert in a way that takes more than t to know, such as a
// TIMESTAMP without a zone.
func (c *conditionReader) literal(t *spannerpb.Type, expr ast.Expr) (p part, ok bool) {
	element := c.element(t.GetCode(), expr)
	if element == nil {
		return part{}, false
	}
	p, err := parsePart(t, element)
	if isNaN(p) {
		return part{}, false
	}
	return p, err == nil && p.sort != nil
}

// element returns the JSON value that a key would have in the place of expr, nil
// if there is none.
func (c *conditionReader) element(code spannerpb.TypeCode, expr ast.Expr) any {
	switch e := expr.(type) {
	case *ast.ParenExpr:
		return c.element(code, e.Expr)
	case *ast.Param:
		return c.paramElement(code, e.Name)
	case *ast.UnaryExpr:
		if number, ok := c.element(code, e.Expr).(json.Number); ok && e.Op == ast.OpMinus {
			return json.Number(negated(number.String()))
		}
		return nil
	case *ast.IntLiteral:
		return intElement(code, e)
	case *ast.FloatLiteral:
		f, err := strconv.ParseFloat(e.Value, 64) // which takes .5 and 1. too
		return only(err == nil && code == spannerpb.TypeCode_FLOAT64, json.Number(strconv.FormatFloat(f, 'g', -1, 64)))
	case *ast.BoolLiteral:
		return only(code == spannerpb.TypeCode_BOOL, e.Value)
	case *ast.BytesLiteral:
		return only(code == spannerpb.TypeCode_BYTES, base64.StdEncoding.EncodeToString(e.Value))
	case *ast.StringLiteral:
		// Beside a DATE or TIMESTAMP a string literal is one of these.
		isText := code == spannerpb.TypeCode_STRING || code == spannerpb.TypeCode_DATE || code == spannerpb.TypeCode_TIMESTAMP
		return only(isText, e.Value)
	case *ast.DateLiteral:
		return only(code == spannerpb.TypeCode_DATE, e.Value.Value)
	case *ast.TimestampLiteral:
		return only(code == spannerpb.TypeCode_TIMESTAMP, e.Value.Value)
	case *ast.NumericLiteral:
		return only(code == spannerpb.TypeCode_NUMERIC, e.Value.Value)
	default:
		return nil
	}
}

func only[T any](fits bool, element T) any {
	if fits {
		return element
	}
	return nil
}

func negated(number string) string {
	if rest, isNegative := strings.CutPrefix(number, "-"); isNegative {
		return rest
	}
	return "-" + number
}

func intElement(code spannerpb.TypeCode, e *ast.IntLiteral) any {
	switch code {
	case spannerpb.TypeCode_INT64, spannerpb.TypeCode_NUMERIC, spannerpb.TypeCode_FLOAT64:
	default:
		return nil
	}
	if e.Base == 10 {
		return json.Number(e.Value)
	}
	n, err := strconv.ParseInt(e.Value, 0, 64)
	return only(err == nil, json.Number(strconv.FormatInt(n, 10)))
}

// paramElement takes a parameter only of the column's own type.
func (c *conditionReader) paramElement(code spannerpb.TypeCode, name string) any {
	for n, p := range c.params {
		if !strings.EqualFold(n, name) || p.Type.GetCode() != code {
			continue
		}
		switch v := p.Value.GetKind().(type) {
		case *structpb.Value_StringValue:
			return v.StringValue
		case *structpb.Value_BoolValue:
			return v.BoolValue
		case *structpb.Value_NumberValue:
			return json.Number(strconv.FormatFloat(v.NumberValue, 'g', -1, 64))
		}
	}
	return nil
}
