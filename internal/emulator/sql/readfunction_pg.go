package sql

import (
	"strings"

	"github.com/cloudspannerecosystem/memefish/ast"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/emulator/catalog"
)

// Names of the read functions in the PostgreSQL dialect, in the schema spanner.
// Which of the two there is depends on the stream's partition mode.
const (
	pgJSONPrefix  = "read_json_"
	pgProtoPrefix = "read_proto_bytes_"
)

// findPostgreSQLCall recognises SELECT * FROM spanner.read_json_s(...).
func findPostgreSQLCall(schema *catalog.Schema, text string) (*ReadFunctionCall, error) {
	if len(schema.ChangeStreams) == 0 || !strings.Contains(strings.ToLower(text), "read_") {
		return nil, nil
	}
	stmt, _, err := parsePostgreSQL(text)
	if err != nil {
		return nil, nil
	}
	call, column := pureCall(stmt.Query, func(column string, call *ast.TVFCallExpr) bool { return column == pgFunctionName(call.Name) })
	if call == nil {
		return nil, nil
	}
	function := pgFunctionName(call.Name)
	stream, ok := pgStream(schema, function)
	if !ok {
		return nil, nil
	}
	c := &readCall{text: text, schema: schema, function: function}
	return &ReadFunctionCall{Stream: stream, Column: column, Arguments: c.arguments}, c.bind(call)
}

// pgFunctionName is the name of a function that may stand behind its schema.
func pgFunctionName(p *ast.Path) string {
	if len(p.Idents) == 2 && p.Idents[0].Name == "spanner" {
		return p.Idents[1].Name
	}
	return pathText(p)
}

// pgStream is the stream that a function reads.
func pgStream(schema *catalog.Schema, function string) (*catalog.ChangeStream, bool) {
	for _, s := range schema.ChangeStreams {
		prefix := pgJSONPrefix
		if s.PartitionMode() == catalog.MutableKeyRange {
			prefix = pgProtoPrefix
		}
		if prefix+s.Name == function {
			return s, true
		}
	}
	return nil, false
}

// pgTableFunction refuses a read function among other SQL.
func (s *scope) pgTableFunction(n *ast.TVFCallExpr) error {
	name := pgFunctionName(n.Name)
	if _, ok := pgStream(s.a.schema, name); ok {
		return status.Errorf(codes.Unimplemented, "Change stream TVF must not be combined with any other SQL statements. Use: SELECT * FROM spanner.%s(...).", name)
	}
	return s.a.invalidAt(n, "function %s does not exist", pathText(n.Name))
}
