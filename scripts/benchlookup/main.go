package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

const database = "projects/bench/instances/bench/databases/bench"

type options struct {
	spanbulk    string
	endpoint    string
	input       string
	rows        int
	records     int
	sample      int
	rounds      int
	parallelism int
	batchKeys   int
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "benchlookup:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("usage: benchlookup compare|client [flags]")
	}
	var o options
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.StringVar(&o.spanbulk, "spanbulk", "./spanbulk", "the binary to measure")
	flags.StringVar(&o.endpoint, "endpoint", "", "for client: where Spanner is")
	flags.StringVar(&o.input, "input", "", "for client: the file with the records")
	flags.IntVar(&o.rows, "rows", 1_000_000, "rows of the table")
	flags.IntVar(&o.records, "records", 1_000_000, "records to look up")
	flags.IntVar(&o.sample, "sample", 20_000, "records for the client's loop")
	flags.IntVar(&o.rounds, "rounds", 3, "counted runs of each")
	flags.IntVar(&o.parallelism, "parallelism", 8, "batches that spanbulk reads at once")
	flags.IntVar(&o.batchKeys, "batch-keys", 100, "keys of a batch; for client: records of a read")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch args[0] {
	case "client":
		// The same garbage collector settings as spanbulk's own.
		debug.SetGCPercent(400)
		return runClient(ctx, o.endpoint, o.input, o.batchKeys)
	case "compare":
		return compare(ctx, o)
	default:
		return fmt.Errorf("unknown command %q", args[0])
	}
}
