package postgres

import "github.com/cloudspannerecosystem/memefish/ast"

const unnamedColumn = "?column?"

// label is what PostgreSQL calls the column of an expression whose node in
// GoogleSQL's tree does not tell: of a call, or of a cast, which gives its
// type's name where the expression of has none.
type label struct {
	name string
	of   ast.Expr
}

func (p *parser) label(x ast.Expr, l label) ast.Expr {
	p.labels[x] = l
	return x
}

// columnName is what PostgreSQL calls the column of an expression without an
// alias. A weak name gives way to that of a cast or CASE around it.
func (p *parser) columnName(x ast.Expr) (name string, strong bool) {
	if l, ok := p.labels[x]; ok {
		if l.of == nil {
			return l.name, true
		}
		if name, strong := p.columnName(l.of); strong {
			return name, true
		}
		return l.name, false
	}
	switch x := x.(type) {
	case *ast.ParenExpr:
		return p.columnName(x.Expr)
	case *ast.Ident:
		return x.Name, true
	case *ast.Path:
		return x.Idents[len(x.Idents)-1].Name, true
	case *ast.IndexExpr:
		return p.columnName(x.Expr)
	case *ast.ScalarSubQuery:
		return p.queryName(x.Query), true
	case *ast.CaseExpr:
		if x.Else != nil {
			if name, strong := p.columnName(x.Else.Expr); strong {
				return name, true
			}
		}
		return "case", false
	case *ast.ArrayLiteral, *ast.ArraySubQuery:
		return "array", true
	case *ast.ExistsSubQuery:
		return "exists", true
	}
	return unnamedColumn, false
}

// queryName is the name of a query's first column.
func (p *parser) queryName(q ast.QueryExpr) string {
	switch q := q.(type) {
	case *ast.Query:
		return p.queryName(q.Query)
	case *ast.SubQuery:
		return p.queryName(q.Query)
	case *ast.CompoundQuery:
		return p.queryName(q.Queries[0])
	case *ast.Select:
		if len(q.Results) == 0 { // an error came before the select list
			break
		}
		switch item := q.Results[0].(type) {
		case *ast.Alias:
			return item.As.Alias.Name
		case *ast.ExprSelectItem:
			name, _ := p.columnName(item.Expr)
			return name
		}
	}
	return unnamedColumn
}

// internalTypeName is what PostgreSQL calls a type of one word within.
func internalTypeName(word string) string {
	switch word {
	case "boolean":
		return "bool"
	case "bigint":
		return "int8"
	case "int", "integer":
		return "int4"
	case "smallint":
		return "int2"
	case "real":
		return "float4"
	case "double", "float":
		return "float8"
	case "decimal", "dec":
		return "numeric"
	case "character":
		return "varchar"
	case "timestamp":
		return "timestamptz"
	}
	return word
}

// isTypesOwnName reports whether a type goes by the name in quotes, too: not by
// one that only the grammar has.
func isTypesOwnName(name string) bool {
	switch name {
	case "float", "dec", "double", "serial", "bigserial", "serial4", "serial8":
		return false
	}
	return internalTypeName(name) == name
}
