package sql

import (
	"cmp"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/cloudspannerecosystem/memefish/ast"
	"google.golang.org/grpc/status"

	"spanbulk/internal/emulator/postgres"
	"spanbulk/internal/emulator/value"
)

// parsePostgreSQL parses a statement of the PostgreSQL dialect that has to be
// a query.
func parsePostgreSQL(text string) (*ast.QueryStatement, map[ast.Node]bool, error) {
	if len(text) > maxQueryText && utf8.RuneCountInString(text) > maxQueryText {
		return nil, nil, invalid("Query string length exceeds maximum allowed length of %d", maxQueryText)
	}
	stmt, err := postgres.Parse(text)
	if err != nil {
		return nil, nil, err
	}
	if q, ok := stmt.Node.(*ast.QueryStatement); ok {
		return q, stmt.NullsFirst, nil
	}
	return nil, nil, unimplemented("a DDL statement in place of a query")
}

func classifyPostgreSQL(text string) Kind {
	if postgres.IsDML(text) {
		return DMLKind
	}
	stmt, err := postgres.Parse(text)
	switch {
	case err != nil:
		return InvalidKind
	case stmt.Alter != nil:
		return DDLKind
	}
	if _, ok := stmt.Node.(*ast.QueryStatement); ok {
		return QueryKind
	}
	return DDLKind
}

// pgCompare orders values that are not NULL as PostgreSQL does, which takes
// NaN for the greatest number.
func pgCompare(a, b value.Value) int {
	switch a.Type().Code {
	case value.Float64Code, value.Float32Code:
		x, y := a.AsFloat64(), b.AsFloat64()
		if math.IsNaN(x) || math.IsNaN(y) {
			return cmp.Compare(nanRank(x), nanRank(y))
		}
	}
	return value.Compare(a, b)
}

// pgArithmeticErrors says in PostgreSQL's words that a result is out of range.
func pgArithmeticErrors(t *value.Type, f func([]value.Value) (value.Value, error)) func([]value.Value) (value.Value, error) {
	if t.IsPGNumeric() {
		return f
	}
	return func(v []value.Value) (value.Value, error) {
		out, err := f(v)
		switch {
		case err == nil:
			return out, nil
		case strings.HasPrefix(status.Convert(err).Message(), "division by zero"):
			return out, outOfRange("division by zero")
		case isFloat(t):
			return out, outOfRange("value out of range: overflow")
		}
		return out, outOfRange("%s out of range", t.PostgreSQL(0))
	}
}

func nanRank(f float64) int {
	if math.IsNaN(f) {
		return 1
	}
	return 0
}

// pgComparison is compareValues by PostgreSQL's rules.
func pgComparison(op ast.BinaryOp, l, r value.Value) value.Value {
	if !isNaN(l) && !isNaN(r) {
		return compareValues(op, l, r)
	}
	return comparison(op, pgCompare(l, r))
}

// isFloat tells of the types whose NaN PostgreSQL orders otherwise than keys
// are ordered.
func isFloat(t *value.Type) bool { return t.Code == value.Float64Code || t.Code == value.Float32Code }
