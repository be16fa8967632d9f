package cmd

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"spanbulk/internal/pipe"
)

// signalError is the cause of a context that a signal ended.
type signalError struct{ signal os.Signal }

func (e *signalError) Error() string {
	switch e.signal {
	case os.Interrupt:
		return "interrupted"
	case syscall.SIGHUP:
		return "the terminal went away"
	default:
		return "terminated"
	}
}

func (e *signalError) exitCode() int {
	if s, ok := e.signal.(syscall.Signal); ok {
		return exitSignalBase + int(s)
	}
	return exitFailed
}

// catchSignals returns a context that the first SIGINT, SIGTERM or SIGHUP ends; a
// second calls exit at once. The first also hurries what is written to err. stop
// gives the signals back and waits for the goroutine.
//
// SIGPIPE is caught too: otherwise the runtime would end the process in the
// middle of the first write to a stdout that nobody reads, and files being
// written would stay behind. Caught, the write fails with EPIPE, everything is
// cleaned up, and the process ends with the code the signal would have given it.
func catchSignals(parent context.Context, err *pipe.Writer, exit func(int)) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	broken := make(chan os.Signal, 1) // never received from
	signal.Notify(broken, syscall.SIGPIPE)

	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		watchSignals(signals, quit, cancel, err, exit)
	}()
	return ctx, func() {
		signal.Stop(signals)
		signal.Stop(broken)
		close(quit)
		<-done
		cancel(nil)
	}
}

func watchSignals(signals <-chan os.Signal, quit <-chan struct{}, cancel context.CancelCauseFunc, err *pipe.Writer, exit func(int)) {
	var first *signalError
	for {
		select {
		case <-quit:
			return
		case s := <-signals:
			if first != nil {
				exit((&signalError{s}).exitCode())
				return
			}
			first = &signalError{s}
			err.Hurry()
			if s == os.Interrupt {
				fmt.Fprintln(err, "spanbulk: stopping; press Ctrl-C again to stop at once")
			}
			cancel(first)
		}
	}
}
