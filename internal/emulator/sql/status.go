package sql

import (
	"errors"

	"github.com/cloudspannerecosystem/memefish/token"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
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

// invalidAt is invalid with the place in the statement, which Spanner gives as
// line and column from 1.
func (a *analyzer) invalidAt(n positioned, format string, args ...any) error {
	file := token.File{Buffer: a.text}
	pos := n.Pos()
	if pos < 0 || int(pos) > len(a.text) {
		return invalid(format, args...)
	}
	line, column := file.ResolvePos(pos)
	return invalid(format+" [at %d:%d]", append(args, line+1, column+1)...)
}

// errStop ends a run early without being an error to anyone.
var errStop = errors.New("enough rows")
