package writer

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/fault"
)

// firstEmulatorWithBatchWrite is the first release of Google's emulator that
// serves BatchWrite.
const firstEmulatorWithBatchWrite = "1.5.31"

// subject names a record in an error: where it came from and where it goes.
func (e *entry) subject() string {
	if e.table == nil {
		return e.position().String()
	}
	return e.position().String() + " to table " + e.table.name
}

// recordFault is the error of a record that Spanner answered with s.
func recordFault(e *entry, s *status.Status) error {
	err := fault.Writing(s.Err(), "write", e.subject())
	if hint := refusalHint(e, s.Code()); hint != "" {
		return withHint(err, hint)
	}
	return err
}

// unsentFault is the error of a record that was refused before it was sent. A
// decoder's fault says by itself where the record is.
func unsentFault(e *entry, code codes.Code) error {
	told, ok := errors.AsType[*fault.Error](e.err)
	switch {
	case !ok:
		return &fault.Error{Code: code, Op: "read", Object: e.position().String(), Reason: e.err.Error(), Err: e.err}
	case errors.Is(e.err, errUnsendable):
		at := *told
		at.Object = e.subject()
		return &at
	default:
		return e.err
	}
}

// errUnsendable is the cause of this package's own refusals.
var errUnsendable = errors.New("the record cannot be sent")

// unsendable refuses a record before it is sent; where it came from is added
// when it is known.
func unsendable(reason string) error {
	return &fault.Error{Code: codes.InvalidArgument, Op: "write", Object: "record", Reason: reason, Err: errUnsendable}
}

func refusalHint(e *entry, code codes.Code) string {
	switch code {
	case codes.AlreadyExists:
		if e.unknown {
			return "an earlier attempt at this record was not answered: it may exist because that one was applied"
		}
		return "--operation insert-or-update writes over rows that exist; --on-failure drop or dead-letter passes over them"
	case codes.InvalidArgument:
		return "--on-failure drop or dead-letter passes over refused records"
	case codes.FailedPrecondition, codes.OutOfRange:
		return "--constraint-violation-policy route-to-failure-handler hands such records to --on-failure"
	case codes.NotFound:
		return "the row to update, its parent row, the table or a column is missing: Spanner does not say which"
	default:
		return accessHint(code)
	}
}

func accessHint(code codes.Code) string {
	if code == codes.PermissionDenied {
		return "grant the account a role such as roles/spanner.databaseUser, or check --database-role"
	}
	return ""
}

// callFault is the error of a call that failed as a whole and left records
// undecided.
func callFault(left []*entry, method Method, err error) error {
	object := left[0].subject()
	if len(left) > 1 {
		object = fmt.Sprintf("%d records from %s on", len(left), left[0].position())
	}
	if method == BatchWrite && fault.Code(err) == codes.Unimplemented {
		return &fault.Error{
			Code: codes.Unimplemented, Op: "write", Object: object, Err: err,
			Reason: "the server does not serve BatchWrite",
			Hint:   "Google's emulator serves it since version " + firstEmulatorWithBatchWrite + "; --write-method commit does without it",
		}
	}
	out := fault.Writing(err, "write", object)
	if hint := accessHint(fault.Code(err)); hint != "" {
		return withHint(out, hint)
	}
	return out
}

// exhaustedFault is the error of a record that was tried often enough.
func exhaustedFault(e *entry, err error) error {
	out := &fault.Error{
		Code: fault.Code(err), Op: "write", Object: e.subject(), Err: err,
		Reason: fmt.Sprintf("undecided after %d attempts", e.attempts),
		Hint:   "--recovery-max-attempts and --recovery-max-backoff say how long to go on",
	}
	if told, ok := errors.AsType[*fault.Error](fault.Writing(err, "write", "")); ok {
		out.Reason += ", the last: " + told.Reason
		out.Detail = told.Detail
	}
	return out
}

func interruptedFault(ctx context.Context) error {
	return &fault.Error{Code: codes.Canceled, Op: "write", Object: "records", Reason: "interrupted", Err: context.Cause(ctx)}
}

// errShort stands for a stream that ended well before it answered for all.
var errShort = status.Error(codes.Unavailable, "the response stream ended before it answered for every group")

func withHint(err error, hint string) error {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f.WithHint(hint)
	}
	return err
}
