package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"spanbulk/scripts/internal/bench"
)

const (
	project    = "bench"
	database   = "projects/" + project + "/instances/" + project + "/databases/" + project
	streamName = "Changes"
)

type options struct {
	spanbulk   string
	peer       string
	endpoint   string
	begin      instant
	rows       int
	partitions int
	perMessage int
	rounds     int
}

// instant is a time as a flag.
type instant time.Time

func (i *instant) at() time.Time { return time.Time(*i) }

func (i *instant) String() string { return i.at().Format(time.RFC3339Nano) }

func (i *instant) Set(text string) error {
	t, err := time.Parse(time.RFC3339Nano, text)
	*i = instant(t)
	return err
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "benchtail:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("usage: benchtail compare|server [flags]")
	}
	// Records are an hour old, so that the end is past and nobody waits for it.
	o := options{begin: instant(time.Now().Add(-time.Hour).UTC().Truncate(time.Second))}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.StringVar(&o.spanbulk, "spanbulk", "./spanbulk", "the binary to measure")
	flags.StringVar(&o.peer, "peer", "spanner-change-streams-tail", "the public tool")
	flags.StringVar(&o.endpoint, "endpoint", "", "for server: the embedded Spanner with the schema")
	flags.Var(&o.begin, "begin", "the first commit timestamp")
	flags.IntVar(&o.rows, "rows", 1_000_000, "data change records, of all partitions")
	flags.IntVar(&o.partitions, "partitions", 4, "partitions of the stream")
	flags.IntVar(&o.perMessage, "per-message", 10, "records of a message")
	flags.IntVar(&o.rounds, "rounds", 1, "counted runs of each contender")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if o.rows < 1 || o.partitions < 1 || o.rows%o.partitions != 0 || o.perMessage < 1 {
		return errors.New("-rows must be a multiple of -partitions, and -per-message positive")
	}
	switch args[0] {
	case "server":
		return serve(ctx, o)
	case "compare":
		return compare(ctx, o)
	default:
		return fmt.Errorf("unknown command %q", args[0])
	}
}

func compare(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "benchtail")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	schema := filepath.Join(dir, "schema.sql")
	ddl := bench.DDL + ";\nCREATE CHANGE STREAM " + streamName + " FOR ALL OPTIONS (value_capture_type = 'NEW_ROW_AND_OLD_VALUES');\n"
	if err := os.WriteFile(schema, []byte(ddl), 0o600); err != nil {
		return err
	}
	emulator, err := bench.Start(o.spanbulk, "emulator", "--listen", "127.0.0.1:0", "--database", database, "--ddl", schema)
	if err != nil {
		return err
	}
	defer emulator.Stop()
	server, err := o.startServer(emulator.Address)
	if err != nil {
		return err
	}
	defer server.Stop()
	contenders, err := o.contenders(server.Address)
	if err != nil {
		return err
	}
	// These runs are not counted; they show that both read everything.
	for _, c := range contenders {
		lines := &lineCounter{}
		if err := c.Run(ctx, lines); err != nil {
			return err
		}
		if lines.n != o.rows {
			return fmt.Errorf("%s wrote %d lines of %d records", c.Name, lines.n, o.rows)
		}
	}
	if err := bench.Measure(ctx, contenders, o.rounds); err != nil {
		return err
	}
	bench.Report(contenders, o.rows)
	fmt.Printf("ratio_peer=%.2f rss_mib=%d\n", float64(contenders[0].Median())/float64(contenders[1].Median()), contenders[0].RSS())
	return nil
}

func (o *options) startServer(emulator string) (*bench.Server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return bench.Start(self, "server", "-endpoint", emulator, "-begin", o.begin.String(),
		"-rows", strconv.Itoa(o.rows), "-partitions", strconv.Itoa(o.partitions), "-per-message", strconv.Itoa(o.perMessage))
}

// contenders are spanbulk and the public tool, reading the same time of the same
// stream.
func (o *options) contenders(endpoint string) ([]*bench.Contender, error) {
	// The tool knows no flag for it.
	if err := os.Setenv("SPANNER_EMULATOR_HOST", endpoint); err != nil {
		return nil, err
	}
	start := o.begin.String()
	end := o.begin.at().Add(time.Duration(o.rows) * interval).Add(time.Second).Format(time.RFC3339Nano)
	ours := &bench.Contender{Name: "spanbulk tail", Args: []string{o.spanbulk, "tail", streamName, "--database", database,
		"--start-position", start, "--end-position", end, "--quiet"}}
	peer := &bench.Contender{Name: "spanner-change-streams-tail, JSON", Args: []string{o.peer,
		"-p", project, "-i", project, "-d", project, "-s", streamName, "-f", "json", "--start", start, "--end", end}}
	return []*bench.Contender{ours, peer}, nil
}

// lineCounter counts the lines written to it.
type lineCounter struct{ n int }

func (c *lineCounter) Write(p []byte) (int, error) {
	c.n += bytes.Count(p, []byte{'\n'})
	return len(p), nil
}
