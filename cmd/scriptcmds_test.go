package cmd_test

import (
	"errors"
	"os/exec"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// setupScript gives a script a home of its own and a database name.
func setupScript(e *testscript.Env) error {
	e.Setenv("HOME", e.WorkDir)
	e.Setenv("DB", "projects/p/instances/i/databases/d")
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
