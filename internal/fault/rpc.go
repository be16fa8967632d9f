package fault

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Reading turns the failure of an RPC that reads (schema, plan, rows) into a
// fault. Spanner's text is shown but for OUT_OF_RANGE, where SQL quotes the
// value it could not work with. A fault in err's chain is returned as it is,
// and nil gives nil.
func Reading(err error, op, object string) error {
	return fromRPC(err, op, object, codes.OutOfRange)
}

// Writing turns the failure of an RPC that writes into a fault. The text of
// every code that Spanner uses for the data itself is kept from view: it names
// keys and, for a value of the wrong type, the value.
func Writing(err error, op, object string) error {
	return fromRPC(err, op, object,
		codes.InvalidArgument, codes.NotFound, codes.AlreadyExists,
		codes.FailedPrecondition, codes.OutOfRange, codes.Unknown, codes.Internal)
}

func fromRPC(err error, op, object string, private ...codes.Code) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok && e != nil {
		return err
	}
	e := &Error{Op: op, Object: object, Err: err}
	s := statusOf(err)
	switch {
	case errors.Is(err, context.Canceled):
		e.Code, e.Reason = codes.Canceled, "interrupted"
		return e
	case s == nil:
		e.Code, e.Reason = codes.Unknown, err.Error()
		return e
	}
	e.Code = s.Code()
	e.Hint = hintFor(e.Code)
	message := connectionReason(s.Message())
	for _, c := range private {
		if e.Code == c {
			e.Reason, e.Detail = CodeName(e.Code), message
			return e
		}
	}
	e.Reason = message
	if message == "" {
		e.Reason = CodeName(e.Code)
	}
	return e
}

// statusOf returns the gRPC status in err's chain, nil when there is none.
func statusOf(err error) *status.Status {
	if errors.Is(err, context.DeadlineExceeded) {
		return status.New(codes.DeadlineExceeded, "no answer in time")
	}
	carrier, ok := errors.AsType[interface {
		error
		GRPCStatus() *status.Status
	}](err)
	if !ok || carrier.GRPCStatus() == nil || carrier.GRPCStatus().Code() == codes.OK {
		return nil
	}
	return carrier.GRPCStatus()
}

// hintFor is what a user can do about a code whatever was being done.
func hintFor(c codes.Code) string {
	switch c {
	case codes.Unauthenticated:
		return "check the credentials: gcloud auth application-default login, or --service-account-key-file"
	case codes.PermissionDenied:
		return "grant the account a role such as roles/spanner.databaseReader, or check --database-role"
	default:
		return ""
	}
}

// connectionReason takes gRPC's own wrapping off a message about a connection:
// `connection error: desc = "transport: Error while dialing: dial tcp ...: connection refused"`
// becomes `dial tcp ...: connection refused`.
func connectionReason(message string) string {
	const desc = `connection error: desc = "`
	if _, inner, ok := strings.Cut(message, desc); ok {
		message = strings.TrimSuffix(inner, `"`)
	}
	for _, prefix := range []string{"transport: Error while dialing: ", "transport: "} {
		message = strings.TrimPrefix(message, prefix)
	}
	return message
}

// CodeName spells a status code the way Spanner's documents do: NOT_FOUND.
func CodeName(c codes.Code) string {
	if name, ok := code.Code_name[int32(c)]; ok {
		return name
	}
	return fmt.Sprintf("code %d", c)
}
