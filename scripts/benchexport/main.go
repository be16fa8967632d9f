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
	spanbulk     string
	endpoint     string
	rows         int
	rounds       int
	partitions   int
	parallelism  int
	messageBytes int
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "benchexport:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("usage: benchexport compare|server|client|generic [flags]")
	}
	var o options
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.StringVar(&o.spanbulk, "spanbulk", "./spanbulk", "the binary to measure")
	flags.StringVar(&o.endpoint, "endpoint", "", "where the server is; for server, the embedded Spanner with the schema")
	flags.IntVar(&o.rows, "rows", 1_000_000, "rows of the table")
	flags.IntVar(&o.rounds, "rounds", 3, "counted runs of each reader")
	flags.IntVar(&o.partitions, "partitions", 16, "partitions of the table")
	flags.IntVar(&o.parallelism, "parallelism", 8, "partitions read at once")
	flags.IntVar(&o.messageBytes, "message-bytes", 256<<10, "bytes of a message")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch args[0] {
	case "server":
		return serve(ctx, o.endpoint, o.partitions, o.rows, o.messageBytes)
	case "client", "generic":
		// The same garbage collector settings as spanbulk's own.
		debug.SetGCPercent(400)
		encode := appendRow(bench.Columns())
		if args[0] == "generic" {
			encode = genericRow
		}
		return runClient(ctx, o.endpoint, database, o.parallelism, encode)
	case "compare":
		return runCompare(ctx, o)
	default:
		return fmt.Errorf("unknown command %q", args[0])
	}
}

func runCompare(ctx context.Context, o options) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "benchexport")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	schema := filepath.Join(dir, "schema.sql")
	if err := os.WriteFile(schema, []byte(bench.DDL+";\n"), 0o600); err != nil {
		return err
	}
	emulator, err := bench.Start(o.spanbulk, "emulator", "--listen", "127.0.0.1:0", "--database", database, "--ddl", schema)
	if err != nil {
		return err
	}
	defer emulator.Stop()
	server, err := bench.Start(self, "server", "-endpoint", emulator.Address, "-rows", strconv.Itoa(o.rows),
		"-partitions", strconv.Itoa(o.partitions), "-message-bytes", strconv.Itoa(o.messageBytes))
	if err != nil {
		return err
	}
	defer server.Stop()
	loop := func(name string) *bench.Contender {
		return &bench.Contender{Name: name, Args: []string{self, name, "-endpoint", server.Address, "-parallelism", strconv.Itoa(o.parallelism)}}
	}
	export := func(name string, args ...string) *bench.Contender {
		return &bench.Contender{Name: name, Args: append([]string{o.spanbulk, "export", "--emulator-endpoint", server.Address, "--database", database,
			"--table", bench.Table, "--parallelism", strconv.Itoa(o.parallelism), "--quiet"}, args...)}
	}
	ours := export("spanbulk")
	client, generic := loop("client"), loop("generic")
	contenders := []*bench.Contender{ours, client, generic}
	if err := compare(ctx, contenders, o.rows, o.rounds); err != nil {
		return err
	}
	bench.Report(contenders, o.rows)
	if err := compareFormats(ctx, o, export); err != nil {
		return err
	}
	if err := compareCompression(ctx, o, export); err != nil {
		return err
	}
	ratio := func(other *bench.Contender) float64 { return float64(ours.Median()) / float64(other.Median()) }
	fmt.Printf("ratio_client=%.2f ratio_generic=%.2f rss_mib=%d\n", ratio(client), ratio(generic), ours.RSS())
	return nil
}
