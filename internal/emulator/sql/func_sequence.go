package sql

import (
	"github.com/cloudspannerecosystem/memefish/ast"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/value"
)

// sequenceExpr is GET_NEXT_SEQUENCE_VALUE(SEQUENCE s).
type sequenceExpr struct{ counter catalog.Counter }

func (*sequenceExpr) typ() *value.Type { return int64T }

func (x *sequenceExpr) eval(*env) (value.Value, error) { return value.Int64(x.counter.Next()), nil }

// nextInSequence analyses GET_NEXT_SEQUENCE_VALUE where rows are written. A
// query would need a read-write transaction, which only DML has a use for.
func (s *scope) nextInSequence(n *ast.CallExpr) (expr, error) {
	if s.a.lookup != nil {
		return nil, unimplemented("function GET_NEXT_SEQUENCE_VALUE in a query")
	}
	if len(n.Args) == 1 && s.a.schema != nil {
		if arg, ok := n.Args[0].(*ast.SequenceArg); ok {
			q, ok := s.a.schema.Sequence(catalog.SequenceName(arg))
			if !ok {
				return nil, s.a.invalidAt(n, "Sequence not found: %s", catalog.SequenceName(arg))
			}
			s.a.volatile = true
			return &sequenceExpr{q.Counter}, nil
		}
	}
	return nil, s.a.invalidAt(n, "GET_NEXT_SEQUENCE_VALUE expects one argument, SEQUENCE name")
}
