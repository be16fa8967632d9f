package cmd

import (
	"context"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"spanbulk/internal/pipe"
)

// Streams are what a run of the program has of its process.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer

	// Each stream by itself: output may go to a pipe while Err is a terminal.
	InIsTerminal, OutIsTerminal, ErrIsTerminal bool
	// OutIsClosed says that Out leads nowhere: there was no stdout at the start.
	OutIsClosed bool
	// Columns is the width of the terminal, 0 if unknown.
	Columns int

	LookupEnv func(string) (string, bool)
}

func processStreams() Streams {
	s := Streams{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		InIsTerminal:  term.IsTerminal(int(os.Stdin.Fd())),
		OutIsTerminal: term.IsTerminal(int(os.Stdout.Fd())),
		ErrIsTerminal: term.IsTerminal(int(os.Stderr.Fd())),
		OutIsClosed:   wasClosed(os.Stdout),
		LookupEnv:     os.LookupEnv,
	}
	if s.OutIsTerminal {
		s.Columns, _, _ = term.GetSize(int(os.Stdout.Fd()))
	}
	return s
}

// Execute runs the program on the process it is in and returns its exit code.
func Execute() int {
	s := processStreams()
	tuneMemory(s.LookupEnv)
	// Whoever reads them may have stopped to: that must not hold up the end.
	out, err := pipe.NewWriter(s.Out, pipe.Patience), pipe.NewWriter(s.Err, time.Second)
	s.Out, s.Err = out, err
	ctx, stop := catchSignals(context.Background(), err, os.Exit)
	defer stop()
	defer context.AfterFunc(ctx, out.Hurry)()
	return Run(ctx, s, os.Args[1:])
}

// Run runs the program with args (without the program's name) and returns its
// exit code. Ending ctx with a signalError as its cause is a Ctrl-C.
func Run(ctx context.Context, s Streams, args []string) int { return newApp(s).run(ctx, args) }

func (a *app) run(ctx context.Context, args []string) int {
	root := newRootCommand(a)
	root.SetArgs(args)
	root.SetIn(a.streams.In)
	root.SetOut(a.streams.Out)
	root.SetErr(a.console)
	return a.report(ctx, root.ExecuteContext(ctx))
}
