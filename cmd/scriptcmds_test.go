package cmd_test

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
)

// setupScript gives a script a home of its own and a database name.
func setupScript(e *testscript.Env) error {
	e.Setenv("HOME", e.WorkDir)
	e.Setenv("DB", "projects/p/instances/i/databases/shop")
	// Else each program under the race detector sleeps a second before it ends.
	e.Setenv("GORACE", strings.TrimSpace("atexit_sleep_ms=0 "+os.Getenv("GORACE")))
	e.Values[serverKey{}] = &scriptServer{t: e.T()}
	e.Values[workerKey{}] = &workerOfScript{env: slices.Clone(e.Vars)}
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

// workerKey is where a script keeps its workerOfScript.
type workerKey struct{}

// workerOfScript is a script's worker, which the first run starts.
type workerOfScript struct {
	env []string
	*scriptWorker
}

// cmdRun runs spanbulk in the script's worker, which is quick, and expects an
// exit code:
//
//	run 0 export --table X
//
// Its stdin is empty, and a variable of the environment that is empty is none.
// What is about either, signals or the process itself is for exec and exitcode.
func cmdRun(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: run CODE ARGUMENTS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	w := ts.Value(workerKey{}).(*workerOfScript)
	if w.scriptWorker == nil {
		w.scriptWorker = startWorker(ts, w.env)
	}
	got := w.run(ts, args[1:])
	_, err = ts.Stdout().Write(got.Stdout)
	ts.Check(err)
	_, err = ts.Stderr().Write(got.Stderr)
	ts.Check(err)
	if got.Code != want || got.Failure != "" {
		ts.Fatalf("spanbulk %s: exit code %d, want %d; %s", strings.Join(args[1:], " "), got.Code, want, got.Failure)
	}
}

// cmdRefuse is cmdRun that expects a command line to be refused.
func cmdRefuse(ts *testscript.TestScript, neg bool, args []string) {
	cmdRun(ts, neg, append([]string{"2"}, args...))
}
