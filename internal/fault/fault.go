package fault

import (
	"errors"
	"strings"

	"google.golang.org/grpc/codes"
)

// Error is a failure as the user should hear of it. Op and Reason are always
// set by this module's code; the rest where there is something to say.
type Error struct {
	// Code is the status code Spanner gave, or the one that fits best.
	Code codes.Code
	// Op says what was being done, as a verb: "read", "open".
	Op string
	// Object is what it was done to: "table Singers", "out/orders.ndjson".
	Object string
	// Reason says why it failed. It never holds values of records.
	Reason string
	// Detail is text of Spanner's, or of a jq program, that can hold record
	// values or keys.
	// Only Text(true) shows it.
	Detail string
	// Hint says what the user can do next: "did you mean Singers?".
	Hint string
	// Err is the cause, for errors.Is and errors.As. Its text is not shown.
	Err error
}

// hiddenDetail stands where Detail would, so that the reader knows there is
// more to see and how to see it.
const hiddenDetail = "the message is hidden as it can hold record values (--show-values=true shows it)"

// Error returns the safe text on one line: no values of records.
func (e *Error) Error() string { return e.Text(false) }

// Text returns the error on one line, without the hint. showValues says whether
// text that can hold values of records may be in it.
func (e *Error) Text(showValues bool) string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Object != "" {
		b.WriteString(" " + e.Object)
	}
	reason := e.Reason
	if e.Detail != "" {
		detail := hiddenDetail
		if showValues {
			detail = e.Detail
		}
		reason = joinNonEmpty(reason, detail)
	}
	return OneLine(joinNonEmpty(b.String(), reason))
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// WithHint returns a copy of e whose hint is hint.
func (e *Error) WithHint(hint string) *Error {
	c := *e
	c.Hint = hint
	return &c
}

// New makes a fault that no RPC caused.
func New(code codes.Code, op, object, reason string) *Error {
	return &Error{Code: code, Op: op, Object: object, Reason: reason}
}

// Code returns the status code of the fault in err's chain, or the one that a
// gRPC status in it carries; codes.Unknown for any other error, codes.OK for nil.
func Code(err error) codes.Code {
	if err == nil {
		return codes.OK
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	if s := statusOf(err); s != nil {
		return s.Code()
	}
	return codes.Unknown
}

// Text returns the one line for any error: what the wrappers around a fault
// say, then the fault with or without values. An error without a fault in it
// gives its own text.
func Text(err error, showValues bool) string {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return OneLine(err.Error())
	}
	safe := e.Text(false)
	full := OneLine(err.Error())
	if !strings.Contains(full, safe) {
		return e.Text(showValues)
	}
	return strings.Replace(full, safe, e.Text(showValues), 1)
}

// Hint returns the hint of the outermost fault in err's chain that has one.
func Hint(err error) string {
	for err != nil {
		e, ok := errors.AsType[*Error](err)
		if !ok {
			return ""
		}
		if e.Hint != "" {
			return OneLine(e.Hint)
		}
		err = e.Err
	}
	return ""
}

func joinNonEmpty(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "":
		return a
	default:
		return a + ": " + b
	}
}
