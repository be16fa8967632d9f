package cmd_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/spanner/admin/database/apiv1/databasepb"
	"github.com/cloudspannerecosystem/memefish"
	"github.com/rogpeppe/go-internal/testscript"
	rpccode "google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc/codes"

	"spanbulk/internal/emulator"
	"spanbulk/internal/emulator/postgres"
	"spanbulk/internal/spannertest"
)

// serverKey is where a script keeps its scriptServer.
type serverKey struct{}

// scriptServer is what a script talks to, once its spanner command has run.
type scriptServer struct {
	t  testscript.T
	db *spannertest.Database
}

func serverOf(ts *testscript.TestScript) *scriptServer { return ts.Value(serverKey{}).(*scriptServer) }

// embedded returns the embedded server for what no other can do, and skips the
// script where the server is another.
func (s *scriptServer) embedded(ts *testscript.TestScript, why string) *emulator.Server {
	var server *emulator.Server
	switch {
	case s.db == nil:
		ts.Fatalf("%s need a running spanner", why)
	case spannertest.Live():
		s.t.Skip("needs the embedded server: " + why)
	default:
		s.db.Trouble(func(e *emulator.Server) { server = e })
	}
	return server
}

// cmdSpanner makes a database, sets $DB to its name and points
// SPANNER_EMULATOR_HOST at its server:
//
//	spanner [-postgresql] DDL-FILE [DATA-DIRECTORY]
//
// It ends with the script.
func cmdSpanner(ts *testscript.TestScript, neg bool, args []string) {
	args, dialect := dialectFlag(args)
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: spanner [-postgresql] DDL-FILE [DATA-DIRECTORY]")
	}
	db, end, err := spannertest.Create(context.Background(), spannertest.Options{Dialect: dialect, DDL: splitDDL(ts, dialect, args[0])})
	ts.Check(err)
	ts.Defer(func() { ts.Check(end()) })
	serverOf(ts).db = db
	ts.Setenv("DB", db.Name.String())
	if db.Endpoint != "" {
		ts.Setenv("SPANNER_EMULATOR_HOST", db.Endpoint)
	}
	if len(args) == 2 {
		load(ts, args[1])
	}
}

// load brings the rows in a directory into $DB, without spanbulk where that can
// be.
func load(ts *testscript.TestScript, dir string) {
	if spannertest.Live() {
		loadLive(ts, dir)
		return
	}
	_, err := emulator.Load(context.Background(), serverOf(ts).embedded(ts, "rows"), ts.Getenv("DB"), ts.MkAbs(dir))
	ts.Check(err)
}

// loadLive imports files that are named after their tables, as Orders.csv.
func loadLive(ts *testscript.TestScript, dir string) {
	files, err := os.ReadDir(ts.MkAbs(dir))
	ts.Check(err)
	for _, f := range files {
		table := strings.TrimSuffix(f.Name(), filepath.Ext(f.Name()))
		ts.Check(ts.Exec("spanbulk", "import", "-d", ts.Getenv("DB"), "--quiet", "--table", table, filepath.Join(dir, f.Name())))
	}
}

func dialectFlag(args []string) ([]string, databasepb.DatabaseDialect) {
	if len(args) > 0 && args[0] == "-postgresql" {
		return args[1:], databasepb.DatabaseDialect_POSTGRESQL
	}
	return args, databasepb.DatabaseDialect_GOOGLE_STANDARD_SQL
}

func splitDDL(ts *testscript.TestScript, dialect databasepb.DatabaseDialect, file string) []string {
	split := postgres.Split
	if dialect == databasepb.DatabaseDialect_GOOGLE_STANDARD_SQL {
		split = splitGoogleSQL
	}
	ddl, err := split(ts.ReadFile(file))
	ts.Check(err)
	return ddl
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
	if neg || len(args) != 2 {
		ts.Fatalf("usage: database [-postgresql] NAME DDL-FILE, with a running spanner")
	}
	server := serverOf(ts).embedded(ts, "a second database on the server")
	ts.Check(server.CreateDatabase(context.Background(), args[0], dialect, splitDDL(ts, dialect, args[1])...))
}

// cmdFault gives every n-th call of a method a fault from now on; `fault none`
// takes all away:
//
//	fault METHOD CODE EVERY MESSAGE
func cmdFault(ts *testscript.TestScript, neg bool, args []string) {
	server := serverOf(ts).embedded(ts, "faults")
	switch {
	case !neg && len(args) == 1 && args[0] == "none":
		server.Faults().Clear()
	case !neg && len(args) == 4:
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
	load(ts, dir)
}

// cmdStall holds every call of a method: stall METHOD.
func cmdStall(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: stall METHOD")
	}
	server := serverOf(ts).embedded(ts, "faults")
	server.Faults().Set(emulator.Rule{Method: args[0], Every: 1, Fault: emulator.Fault{Stall: time.Hour}})
}
