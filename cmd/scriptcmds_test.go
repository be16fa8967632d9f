package cmd_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/spanner/admin/database/apiv1/databasepb"
	"github.com/cloudspannerecosystem/memefish"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
	rpccode "google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc/codes"

	"spanbulk/cmd"
	"spanbulk/internal/emulator"
	"spanbulk/internal/emulator/postgres"
)

// setupScript gives a script a home of its own and a database name.
func setupScript(e *testscript.Env) error {
	e.Setenv("HOME", e.WorkDir)
	e.Setenv("DB", "projects/p/instances/i/databases/shop")
	e.Values[serverKey{}] = new(*emulator.Server)
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

// serverKey is where a script keeps its emulator.
type serverKey struct{}

// cmdSpanner starts an embedded Spanner with the database $DB and points
// SPANNER_EMULATOR_HOST at it:
//
//	spanner [-postgresql] DDL-FILE [DATA-DIRECTORY]
//
// It ends with the script.
func cmdSpanner(ts *testscript.TestScript, neg bool, args []string) {
	args, dialect := dialectFlag(args)
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: spanner [-postgresql] DDL-FILE [DATA-DIRECTORY]")
	}
	server, err := emulator.New(emulator.Options{})
	ts.Check(err)
	ts.Defer(server.Close)
	createDatabase(ts, server, ts.Getenv("DB"), dialect, args[0])
	if len(args) == 2 {
		_, err := emulator.Load(context.Background(), server, ts.Getenv("DB"), ts.MkAbs(args[1]))
		ts.Check(err)
	}
	endpoint, err := server.Start("127.0.0.1:0")
	ts.Check(err)
	ts.Setenv("SPANNER_EMULATOR_HOST", endpoint)
	*ts.Value(serverKey{}).(**emulator.Server) = server
}

func dialectFlag(args []string) ([]string, databasepb.DatabaseDialect) {
	if len(args) > 0 && args[0] == "-postgresql" {
		return args[1:], databasepb.DatabaseDialect_POSTGRESQL
	}
	return args, databasepb.DatabaseDialect_GOOGLE_STANDARD_SQL
}

func createDatabase(ts *testscript.TestScript, server *emulator.Server, name string, dialect databasepb.DatabaseDialect, ddlFile string) {
	split := postgres.Split
	if dialect == databasepb.DatabaseDialect_GOOGLE_STANDARD_SQL {
		split = splitGoogleSQL
	}
	ddl, err := split(ts.ReadFile(ddlFile))
	ts.Check(err)
	ts.Check(server.CreateDatabase(context.Background(), name, dialect, ddl...))
}

func splitGoogleSQL(script string) ([]string, error) {
	statements, err := memefish.SplitRawStatements("", script)
	var ddl []string
	for _, s := range statements {
		if text := strings.TrimSpace(s.Statement); text != "" {
			ddl = append(ddl, text)
		}
	}
	return ddl, err
}

// cmdDatabase makes another database on the server that runs:
//
//	database [-postgresql] NAME DDL-FILE
func cmdDatabase(ts *testscript.TestScript, neg bool, args []string) {
	args, dialect := dialectFlag(args)
	server := *ts.Value(serverKey{}).(**emulator.Server)
	if neg || server == nil || len(args) != 2 {
		ts.Fatalf("usage: database [-postgresql] NAME DDL-FILE, with a running spanner")
	}
	createDatabase(ts, server, args[0], dialect, args[1])
}

// cmdFault gives every n-th call of a method a fault from now on; `fault none`
// takes all away:
//
//	fault METHOD CODE EVERY MESSAGE
func cmdFault(ts *testscript.TestScript, neg bool, args []string) {
	server := *ts.Value(serverKey{}).(**emulator.Server)
	switch {
	case neg || server == nil:
		ts.Fatalf("fault needs a running spanner")
	case len(args) == 1 && args[0] == "none":
		server.Faults().Clear()
	case len(args) == 4:
		code, known := rpccode.Code_value[args[1]]
		every, err := strconv.Atoi(args[2])
		if !known || err != nil {
			ts.Fatalf("fault: unknown code %s or bad number %s", args[1], args[2])
		}
		server.Faults().Set(emulator.Rule{Method: args[0], From: every, Every: every, Fault: emulator.Fault{Code: codes.Code(code), Message: args[3]}})
	default:
		ts.Fatalf("usage: fault METHOD CODE EVERY MESSAGE")
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

// cmdRows commits N rows of a table (Id INT64, Text STRING): rows TABLE N.
func cmdRows(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: rows TABLE N")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	var text strings.Builder
	text.WriteString("Id,Text\n")
	for i := range n {
		fmt.Fprintf(&text, "%d,text of row %d\n", i, i)
	}
	dir := ts.MkAbs("generated-rows")
	ts.Check(os.MkdirAll(dir, 0o777))
	ts.Check(os.WriteFile(filepath.Join(dir, args[0]+".csv"), []byte(text.String()), 0o666))
	_, err = emulator.Load(context.Background(), *ts.Value(serverKey{}).(**emulator.Server), ts.Getenv("DB"), dir)
	ts.Check(err)
}

// cmdStall holds every call of a method: stall METHOD.
func cmdStall(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: stall METHOD")
	}
	server := *ts.Value(serverKey{}).(**emulator.Server)
	server.Faults().Set(emulator.Rule{Method: args[0], Every: 1, Fault: emulator.Fault{Stall: time.Hour}})
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
