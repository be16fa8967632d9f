package sql

import (
	"errors"
	"slices"
	"strings"

	"github.com/cloudspannerecosystem/memefish/token"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/emulator/postgres"
	"spanbulk/internal/emulator/value"
)

// invalid is the status of a statement that can never be run.
func invalid(format string, args ...any) error {
	return status.Errorf(codes.InvalidArgument, format, args...)
}

// outOfRange is the status of an evaluation that failed on its data.
func outOfRange(format string, args ...any) error {
	return status.Errorf(codes.OutOfRange, format, args...)
}

// unimplemented names a construct this package does not evaluate.
func unimplemented(construct string) error {
	return status.Errorf(codes.Unimplemented, "Unsupported: %s is not supported by this in-memory Spanner", construct)
}

// positioned is a part of a statement that an error can point at.
type positioned interface{ Pos() token.Pos }

// invalid is invalid about types, which the dialects call by other names.
func (a *analyzer) invalid(format string, args ...any) error {
	return invalid(format, a.spellTypes(args)...)
}

// spellTypes replaces types, and expressions by theirs, in the arguments of a
// message.
func (a *analyzer) spellTypes(args []any) []any {
	out := slices.Clone(args)
	for i, arg := range args {
		switch arg := arg.(type) {
		case *value.Type:
			out[i] = a.typeName(arg)
		case expr:
			out[i] = a.typeName(arg.typ())
		case []expr:
			names := make([]string, len(arg))
			for j, x := range arg {
				names[j] = a.typeName(x.typ())
			}
			out[i] = strings.Join(names, ", ")
		}
	}
	return out
}

// typeName is what the statement's dialect calls a type.
func (a *analyzer) typeName(t *value.Type) string {
	switch {
	case t == nil && a.pg:
		return "unknown"
	case t == nil:
		return "an unknown type"
	case a.pg:
		return t.PostgreSQL(0)
	}
	return t.String()
}

// invalidAt is invalid with the place in the statement, which Spanner gives as
// line and column from 1.
func (a *analyzer) invalidAt(n positioned, format string, args ...any) error {
	args = a.spellTypes(args)
	pos := n.Pos()
	if pos < 0 || int(pos) > len(a.text) {
		return invalid(format, args...)
	}
	line, column := postgres.Place(a.text, pos)
	return invalid(format+" [at %d:%d]", append(args, line, column)...)
}

// errStop ends a run early without being an error to anyone.
var errStop = errors.New("enough rows")
