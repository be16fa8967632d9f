package sql

import (
	"strings"

	"github.com/cloudspannerecosystem/memefish/ast"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/relation"
	"spanbulk/internal/emulator/value"
)

// ReadFunctionCall is a query that is a call of a change stream's read function
// and nothing else: SELECT ChangeRecord FROM READ_s(...).
type ReadFunctionCall struct {
	Stream *catalog.ChangeStream
	// Column is the result's name where the query spells it.
	Column string
	// Arguments evaluates the arguments, which have to be literals or
	// parameters.
	Arguments func(params map[string]relation.Param) (ReadArguments, error)
}

// ReadArguments are the arguments of a read function, NULL where they are not
// given.
type ReadArguments struct {
	Start, End, Token, Heartbeat, Options value.Value
}

// readParameters are the function's parameters in order, and their types.
func readParameters() []value.Field {
	return []value.Field{
		{Name: "start_timestamp", Type: value.TimestampType},
		{Name: "end_timestamp", Type: value.TimestampType},
		{Name: "partition_token", Type: value.StringType},
		{Name: "heartbeat_milliseconds", Type: value.Int64Type},
		{Name: "read_options", Type: value.ArrayOf(value.StringType)},
	}
}

// FindReadFunctionCall recognises the call of a read function; nil for every
// other statement, also one that is wrong. A read function among other SQL is
// for Prepare to refuse.
func FindReadFunctionCall(schema *catalog.Schema, text string) (*ReadFunctionCall, error) {
	if schema.PostgreSQL {
		return findPostgreSQLCall(schema, text)
	}
	if len(schema.ChangeStreams) == 0 || !strings.Contains(strings.ToUpper(text), "READ_") {
		return nil, nil
	}
	stmt, text, err := parseQuery(text)
	if err != nil {
		return nil, nil
	}
	call, column := pureCall(stmt.Query, func(column string, _ *ast.TVFCallExpr) bool { return equalFold(column, "ChangeRecord") })
	if call == nil || len(call.Name.Idents) != 1 {
		return nil, nil
	}
	stream, ok := schema.ChangeStreamByFunction(call.Name.Idents[0].Name)
	if !ok {
		return nil, nil
	}
	c := &readCall{text: text, schema: schema, function: call.Name.Idents[0].Name}
	return &ReadFunctionCall{Stream: stream, Column: column, Arguments: c.arguments}, c.bind(call)
}

// readCall is a call with its arguments not yet evaluated.
type readCall struct {
	text     string
	schema   *catalog.Schema
	function string
	args     map[string]ast.Expr
	// position is the number of an argument as written, from 1.
	position map[string]int
}

// pureCall is the table function of SELECT * or SELECT ChangeRecord FROM f(...),
// with the column as spelled; isColumn knows the column's name.
func pureCall(q ast.QueryExpr, isColumn func(column string, call *ast.TVFCallExpr) bool) (*ast.TVFCallExpr, string) {
	if outer, ok := q.(*ast.Query); ok {
		if outer.With != nil || outer.OrderBy != nil || outer.Limit != nil || outer.ForUpdate != nil || len(outer.PipeOperators) > 0 {
			return nil, ""
		}
		q = outer.Query
	}
	s, ok := q.(*ast.Select)
	if !ok || s.From == nil || s.AllOrDistinct != "" || s.As != nil || s.Where != nil || s.GroupBy != nil || s.Having != nil || len(s.Results) != 1 {
		return nil, ""
	}
	call, ok := s.From.Source.(*ast.TVFCallExpr)
	if !ok || call.Hint != nil || call.Sample != nil {
		return nil, ""
	}
	switch item := s.Results[0].(type) {
	case *ast.Star:
		if item.Except == nil && item.Replace == nil {
			return call, ""
		}
	case *ast.ExprSelectItem:
		if id, ok := item.Expr.(*ast.Ident); ok && isColumn(id.Name, call) {
			return call, id.Name
		}
	}
	return nil, ""
}

// bind matches arguments, positional ones first, with parameters.
func (c *readCall) bind(call *ast.TVFCallExpr) error {
	params := readParameters()
	c.args, c.position = make(map[string]ast.Expr), make(map[string]int)
	put := func(name string, x ast.Expr) error {
		if _, twice := c.args[name]; twice {
			return invalid("Argument %s of table-valued function %s is given more than once", name, c.function)
		}
		c.args[name] = x
		c.position[name] = len(c.args)
		return nil
	}
	if len(call.Args) > len(params) {
		return c.noSignature()
	}
	for i, arg := range call.Args {
		x, ok := arg.(*ast.ExprArg)
		if !ok {
			return c.noSignature()
		}
		if err := put(params[i].Name, x.Expr); err != nil {
			return err
		}
	}
	for _, arg := range call.NamedArgs {
		name := strings.ToLower(arg.Name.Name)
		known := false
		for _, p := range params {
			known = known || p.Name == name
		}
		if !known {
			return invalid("Named argument %s not found in signature for call to table-valued function %s", arg.Name.Name, c.function)
		}
		if err := put(name, arg.Value); err != nil {
			return err
		}
	}
	if c.args["start_timestamp"] == nil || c.args["heartbeat_milliseconds"] == nil {
		return c.noSignature()
	}
	return nil
}

func (c *readCall) noSignature() error {
	return invalid("No matching signature for table-valued function %s: it takes (start_timestamp TIMESTAMP, end_timestamp TIMESTAMP, partition_token STRING, heartbeat_milliseconds INT64, [read_options ARRAY<STRING>])", c.function)
}

func (c *readCall) arguments(params map[string]relation.Param) (ReadArguments, error) {
	a, err := newAnalyzer(c.text, c.schema, params)
	if err != nil {
		return ReadArguments{}, asInvalid(err)
	}
	var out ReadArguments
	for i, target := range []*value.Value{&out.Start, &out.End, &out.Token, &out.Heartbeat, &out.Options} {
		p := readParameters()[i]
		if *target, err = c.argument(a, p); err != nil {
			return out, asInvalid(err)
		}
	}
	return out, nil
}

func (c *readCall) argument(a *analyzer, p value.Field) (value.Value, error) {
	node, ok := c.args[p.Name]
	if !ok {
		return value.Null(p.Type), nil
	}
	if !literalOrParam(node, a.pg) {
		return value.Value{}, invalid("Invalid argument of change stream TVF %s. Argument %d is not a literal or parameter.", c.function, c.position[p.Name])
	}
	x, err := newScope(a, nil).expr(node)
	if err != nil {
		return value.Value{}, err
	}
	if x, err = a.coerce(x, p.Type); err != nil {
		if err == errMismatch {
			err = invalid("Argument %d of table-valued function %s is not of type %s", c.position[p.Name], c.function, p.Type)
		}
		return value.Value{}, err
	}
	return x.eval(nil)
}

// literalOrParam takes for literals what GoogleSQL folds into one: signs, and
// casts of literals. PostgreSQL's clients cast parameters, too.
func literalOrParam(n ast.Expr, pg bool) bool {
	switch n := n.(type) {
	case *ast.Param, *ast.NullLiteral, *ast.BoolLiteral, *ast.IntLiteral, *ast.FloatLiteral, *ast.StringLiteral, *ast.BytesLiteral, *ast.TimestampLiteral, *ast.DateLiteral, *ast.NumericLiteral:
		return true
	case *ast.UnaryExpr:
		_, number := n.Expr.(*ast.IntLiteral)
		return number
	case *ast.ParenExpr:
		return literalOrParam(n.Expr, pg)
	case *ast.CastExpr:
		_, param := n.Expr.(*ast.Param)
		return (pg || !param) && literalOrParam(n.Expr, pg)
	case *ast.ArrayLiteral:
		for _, v := range n.Values {
			if !literalOrParam(v, pg) {
				return false
			}
		}
		return true
	}
	return false
}

// tableFunction refuses a table-valued function in FROM: read functions of
// change streams, the only ones there are, may not be combined with other SQL.
func (s *scope) tableFunction(n *ast.TVFCallExpr) error {
	if s.a.pg && s.a.schema != nil {
		return s.pgTableFunction(n)
	}
	name := pathText(n.Name)
	if s.a.schema != nil {
		if _, ok := s.a.schema.ChangeStreamByFunction(name); ok {
			return status.Errorf(codes.Unimplemented, "Change stream TVF must not be combined with any other SQL statements. Use: SELECT ChangeRecord FROM %s(...).", name)
		}
	}
	return s.a.invalidAt(n, "Table-valued function not found: %s", name)
}

func pathText(p *ast.Path) string {
	parts := make([]string, len(p.Idents))
	for i, id := range p.Idents {
		parts[i] = id.Name
	}
	return strings.Join(parts, ".")
}
