package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"syscall"

	"spanbulk/scripts/internal/bench"
)

const database = "projects/bench/instances/bench/databases/bench"

type options struct {
	spanbulk    string
	endpoint    string
	rows        int
	rounds      int
	parallelism int
	pipeMiB     int64
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "benchimport:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("usage: benchimport compare|server|client [flags]")
	}
	var o options
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.StringVar(&o.spanbulk, "spanbulk", "./spanbulk", "the binary to measure")
	flags.StringVar(&o.endpoint, "endpoint", "", "where the server is; for server, the embedded Spanner with the schema")
	flags.IntVar(&o.rows, "rows", 500_000, "records of the input; 0 for the pipe alone")
	flags.IntVar(&o.rounds, "rounds", 3, "counted runs of each contender")
	flags.IntVar(&o.parallelism, "parallelism", 4, "calls in flight")
	flags.Int64Var(&o.pipeMiB, "pipe-mib", 0, "MiB to import from a pipe with -rows 0, for its memory")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch args[0] {
	case "server":
		return serve(ctx, o.endpoint)
	case "client":
		// The same garbage collector settings as spanbulk's own.
		debug.SetGCPercent(400)
		return importNDJSON(ctx, o.endpoint, database, o.parallelism, os.Stdin)
	case "compare":
		return compare(ctx, o)
	default:
		return fmt.Errorf("unknown command %q", args[0])
	}
}

func compare(ctx context.Context, o options) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "benchimport")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	schema, ndjson, csvPath := filepath.Join(dir, "schema.sql"), filepath.Join(dir, "rows.ndjson"), filepath.Join(dir, "rows.csv")
	if err := os.WriteFile(schema, []byte(bench.DDL+";\n"), 0o600); err != nil {
		return err
	}
	if err := writeInputs(ndjson, csvPath, o.rows); err != nil {
		return err
	}
	emulator, err := bench.Start(o.spanbulk, "emulator", "--listen", "127.0.0.1:0", "--database", database, "--ddl", schema)
	if err != nil {
		return err
	}
	defer emulator.Stop()
	server, err := bench.Start(self, "server", "-endpoint", emulator.Address)
	if err != nil {
		return err
	}
	defer server.Stop()
	endpoint := server.Address
	if o.rows == 0 {
		return pipe(ctx, o.spanbulk, endpoint, o.pipeMiB<<20)
	}

	parallelism := strconv.Itoa(o.parallelism)
	ours := func(name, input string, flags ...string) *bench.Contender {
		args := append([]string{o.spanbulk, "import", "--emulator-endpoint", endpoint, "--database", database,
			"--table", bench.Table, "--parallelism", parallelism, "--quiet"}, flags...)
		return &bench.Contender{Name: name, Args: args, Input: input}
	}
	preserve := ours("spanbulk, NDJSON", ndjson, "--format", "ndjson")
	csvImport := ours("spanbulk, CSV", csvPath, "--format", "csv")
	none := ours("spanbulk, NDJSON, --key-order none", ndjson, "--format", "ndjson", "--key-order", "none")
	client := &bench.Contender{Name: "official client, encoding/json", Input: ndjson,
		Args: []string{self, "client", "-endpoint", endpoint, "-parallelism", parallelism}}
	contenders := []*bench.Contender{preserve, csvImport, none, client}
	if err := bench.Compare(ctx, contenders, o.rounds); err != nil {
		return err
	}
	if got, want := server.Stop(), groupsLine(o.rows*len(contenders)*(o.rounds+1)); got != want {
		return fmt.Errorf("the server counted %q, want %q", got, want)
	}
	bench.Report(contenders, o.rows)
	ratio := func(a, b *bench.Contender) float64 { return float64(a.Median()) / float64(b.Median()) }
	fmt.Printf("ratio_client=%.2f ratio_csv=%.2f ratio_key_order=%.2f rss_mib=%d\n",
		ratio(preserve, client), ratio(csvImport, preserve), ratio(preserve, none), max(preserve.RSS(), csvImport.RSS()))
	return nil
}
