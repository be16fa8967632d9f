package transform

import "context"

// Append runs the program on one record, JSON without a newline, and appends
// what it makes of it to dst, a record a line, and returns how many they are. It
// may be called by many goroutines at once. Its error is an *Error, or the cause
// of ctx's end.
func (p *Program) Append(ctx context.Context, dst, record []byte) (out []byte, records int, err error) {
	r := run{Program: p}
	return r.append(ctx, dst, record)
}

// Reason says why the program failed, without the record's number and without
// values.
func (e *Error) Reason() string { return withoutValues(e.Cause) }

// Detail is why the program failed with the values of the record that belong to
// it; empty if Reason says it all.
func (e *Error) Detail() string {
	if text := e.Cause.Error(); text != e.Reason() {
		return text
	}
	return ""
}
