package writer

import (
	"errors"
	"math/rand/v2"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/wire"
)

// fate is what a status code means for a record.
type fate uint8

const (
	applied fate = iota
	undecided
	refused // to the Refuser
	fatal   // the run fails
)

// fateOf sorts the status of a group as the documents do. NOT_FOUND is fatal: it
// does not say whether a row or the table is missing.
func fateOf(code codes.Code, policy ConstraintPolicy) fate {
	switch code {
	case codes.OK:
		return applied
	case codes.Aborted, codes.Unavailable, codes.DeadlineExceeded, codes.ResourceExhausted:
		return undecided
	case codes.AlreadyExists, codes.InvalidArgument:
		return refused
	case codes.FailedPrecondition, codes.OutOfRange:
		if policy == RouteToFailureHandler {
			return refused
		}
	}
	return fatal
}

// ambiguous reports whether a group with this status may have been applied all
// the same: its commit was under way when the time ran out or the server went.
func ambiguous(code codes.Code) bool {
	return code == codes.Unavailable || code == codes.DeadlineExceeded
}

// transientCall reports whether a call that failed is worth another attempt.
// Besides the codes of groups that is INTERNAL where it stands for a broken
// connection.
func transientCall(err error) bool {
	if _, ok := wire.Transient(err); ok {
		return true
	}
	return fateOf(statusOf(err).Code(), FailJob) == undecided
}

// aboutData reports whether a Commit failed for what one of its mutations says,
// so that the others may be applied without it.
func aboutData(err error) bool {
	switch statusOf(err).Code() {
	case codes.AlreadyExists, codes.InvalidArgument, codes.FailedPrecondition, codes.OutOfRange:
		return true
	case codes.NotFound:
		return !isSessionMissing(statusOf(err))
	default:
		return false
	}
}

// isSessionMissing tells the NOT_FOUND of a session or database from that of a
// row, table or column.
func isSessionMissing(s *status.Status) bool {
	for _, d := range s.Details() {
		if info, ok := d.(*errdetails.ResourceInfo); ok {
			switch info.GetResourceType() {
			case "type.googleapis.com/google.spanner.v1.Session",
				"type.googleapis.com/google.spanner.admin.database.v1.Database",
				"type.googleapis.com/google.spanner.admin.instance.v1.Instance":
				return true
			}
		}
	}
	return false
}

// statusOf is the status an error carries, perhaps inside an APIError of the
// generated client.
func statusOf(err error) *status.Status {
	if carrier, ok := errors.AsType[interface {
		error
		GRPCStatus() *status.Status
	}](err); ok {
		return carrier.GRPCStatus()
	}
	return status.Convert(err)
}

// retryDelay is the pause a status asks for; 0 if it does not.
func retryDelay(s *status.Status) time.Duration {
	pause, _ := wire.RetryDelay(s)
	return pause
}

// backoff draws the pause after so many attempts: at random between the initial
// backoff and a bound that doubles with every attempt up to the maximum, so that
// what failed together does not come back together.
func (o *Options) backoff(attempts int32) time.Duration {
	bound := o.InitialBackoff
	for range attempts {
		if bound *= 2; bound >= o.MaxBackoff {
			bound = o.MaxBackoff
			break
		}
	}
	return o.InitialBackoff + rand.N(max(bound-o.InitialBackoff, 0)+1)
}
