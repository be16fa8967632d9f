package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"google.golang.org/grpc/codes"

	"spanbulk/internal/fault"
	"spanbulk/internal/output"
)

// The exit codes. They are a contract with scripts; `spanbulk help exit-codes`
// documents them.
const (
	exitDone       = 0
	exitFailed     = 1
	exitUsage      = 2
	exitRefused    = 3
	exitSignalBase = 128 // plus the number of the signal, as in a shell
)

const exitCodesHelp = `Spanbulk ends with one of these codes:

  0    done
  1    failed: the last line on stderr says why
  2    wrong usage: a flag, a variable or the config file; nothing was opened
  3    done, but records were refused and handed to --on-failure
  129  the terminal was closed (SIGHUP)
  130  interrupted by Ctrl-C (SIGINT)
  141  the reader of stdout went away, as in "spanbulk export ... | head";
       nothing is said, files that were being written are removed
  143  terminated (SIGTERM)

Ctrl-C once stops cleanly: state and summary are written. Writes that Spanner has
not answered are waited for 10 seconds, a reader of stdout or of a named pipe that
takes nothing 5. Ctrl-C again stops at once.
`

// usageError is a mistake in flags, environment or config file.
type usageError struct {
	err  error
	hint string
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) *usageError {
	return &usageError{err: fmt.Errorf(format, args...)}
}

// refusedError ends a run that is done but had records refused.
type refusedError struct{ records int64 }

func (e *refusedError) Error() string {
	if e.records == 1 {
		return "1 record was refused"
	}
	return fmt.Sprintf("%d records were refused", e.records)
}

// exitCode maps the outcome of a run to the code the process ends with.
func (a *app) exitCode(ctx context.Context, err error) int {
	switch {
	case err == nil:
		return exitDone
	case is[*usageError](err), !a.running:
		return exitUsage
	case isReaderGone(err):
		return exitSignalBase + int(syscall.SIGPIPE)
	}
	if sig, ok := errors.AsType[*signalError](context.Cause(ctx)); ok {
		return sig.exitCode()
	}
	if is[*refusedError](err) {
		return exitRefused
	}
	return exitFailed
}

func is[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}

// isReaderGone recognises that stdout is a pipe nobody reads any more.
func isReaderGone(err error) bool {
	return errors.Is(err, output.ErrReaderGone) || errors.Is(err, syscall.EPIPE)
}

// report prints err, if there is anything to say, and returns the exit code.
func (a *app) report(ctx context.Context, err error) int {
	code := a.exitCode(ctx, err)
	if err == nil || code > exitSignalBase {
		// Of a signal or a closed pipe the user knows; the summary has told
		// what was done until then.
		return code
	}
	a.printError(err)
	return code
}

// printError writes the one line: program, what failed, what to do.
func (a *app) printError(err error) {
	text, hint := fault.Text(err, a.showValues()), fault.Hint(err)
	if u, ok := errors.AsType[*usageError](err); ok && hint == "" {
		hint = u.hint
	}
	if a.global.logFormat == logJSON {
		attrs := []any{"code", codeName(err)}
		if hint != "" {
			attrs = append(attrs, "hint", hint)
		}
		a.log.Error(text, attrs...)
		return
	}
	if hint != "" {
		text = strings.TrimSuffix(text, ".") + "; " + hint // Spanner's sentences end
	}
	fmt.Fprintf(a.console, "spanbulk: %s\n", text)
}

func codeName(err error) string {
	if is[*usageError](err) {
		return fault.CodeName(codes.InvalidArgument)
	}
	return fault.CodeName(fault.Code(err))
}

// errorText is err as a log line may show it.
func (a *app) errorText(err error) string { return fault.Text(err, a.showValues()) }
