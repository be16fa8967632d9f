package cmd_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"spanbulk/cmd"
)

// setupScript gives a script a home of its own and a database name.
func setupScript(e *testscript.Env) error {
	e.Setenv("HOME", e.WorkDir)
	e.Setenv("DB", "projects/p/instances/i/databases/shop")
	e.Values[serverKey{}] = &scriptServer{t: e.T()}
	return nil
}

// cmdExitCode runs a program that is to end with a certain exit code:
//
//	exitcode 2 spanbulk export --tabel X
//
// What it wrote is for the stdout and stderr commands to look at.
func cmdExitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exitcode CODE PROGRAM ARGUMENTS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%s: %v", strings.Join(args[1:], " "), err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%s: exit code %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

// cmdEmptyDir checks that a directory holds nothing, hidden files included.
func cmdEmptyDir(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: [!] emptydir DIRECTORY")
	}
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	if (len(entries) == 0) == neg {
		ts.Fatalf("%s holds %v", args[0], entries)
	}
}

// cmdCmpSorted compares the lines of two files in whatever order they are: an
// export's is open. stdout stands for what the last program wrote.
func cmdCmpSorted(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: cmpsorted FILE FILE")
	}
	got, want := sortedLines(ts.ReadFile(args[0])), sortedLines(ts.ReadFile(args[1]))
	if got != want {
		ts.Fatalf("%s and %s differ (-want +got):\n%s", args[0], args[1], cmp.Diff(want, got))
	}
}

func sortedLines(text string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// cmdRun runs spanbulk in this process, which is quick, and expects an exit code:
//
//	run 0 export --table X
//
// Relative paths are not the script's there: it is for command lines that touch
// no files, or name them with $WORK.
func cmdRun(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: run CODE ARGUMENTS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	streams := cmd.Streams{
		In: strings.NewReader(""), Out: ts.Stdout(), Err: ts.Stderr(),
		LookupEnv: func(name string) (string, bool) { v := ts.Getenv(name); return v, v != "" },
	}
	if code := cmd.Run(context.Background(), streams, args[1:]); code != want {
		ts.Fatalf("spanbulk %s: exit code %d, want %d", strings.Join(args[1:], " "), code, want)
	}
}

// cmdRefuse is cmdRun that expects a command line to be refused.
func cmdRefuse(ts *testscript.TestScript, neg bool, args []string) {
	cmdRun(ts, neg, append([]string{"2"}, args...))
}
