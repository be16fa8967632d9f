package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"text/tabwriter"
	"time"

	"spanbulk/scripts/internal/bench"
)

// contender is one way to look the records up, and how many it does.
type contender struct {
	*bench.Contender
	records int
}

// perRecord is a time for one record, in microseconds.
func (c *contender) perRecord(d time.Duration) float64 {
	return float64(d.Nanoseconds()) / 1000 / float64(c.records)
}

func compare(ctx context.Context, o options) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "benchlookup")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := writeData(dir, o); err != nil {
		return err
	}
	spanner, err := bench.Start(o.spanbulk, "emulator", "--listen", "127.0.0.1:0", "--database", database,
		"--ddl", filepath.Join(dir, "schema.sql"), "--data", filepath.Join(dir, "rows"))
	if err != nil {
		return err
	}
	defer spanner.Stop()
	ours := &contender{&bench.Contender{Name: "spanbulk lookup", Args: []string{o.spanbulk, "lookup", "--emulator-endpoint", spanner.Address,
		"--database", database, "--table", table, "--key", "CustomerId=customer", "--batch-keys", strconv.Itoa(o.batchKeys),
		"--parallelism", strconv.Itoa(o.parallelism), "--quiet", filepath.Join(dir, "records.ndjson")}}, o.records}
	loop := func(name, input string, records, batch int) *contender {
		return &contender{&bench.Contender{Name: name, Args: []string{self, "client", "-endpoint", spanner.Address,
			"-input", filepath.Join(dir, input), "-batch-keys", strconv.Itoa(batch)}}, records}
	}
	client := loop("client, one by one", "sample.ndjson", min(o.sample, o.records), 1)
	batches := loop("client, in batches", "records.ndjson", o.records, o.batchKeys)
	if err := sameOutput(ctx, ours, client, batches); err != nil {
		return err
	}
	if err := bench.Measure(ctx, []*bench.Contender{ours.Contender, client.Contender, batches.Contender}, o.rounds); err != nil {
		return err
	}
	report(ours, client, batches)
	fmt.Printf("speedup=%.0f ratio_cpu=%.2f rss_mib=%d\n", client.perRecord(client.Shortest())/ours.perRecord(ours.Shortest()),
		ours.perRecord(ours.Median())/client.perRecord(client.Median()), ours.RSS())
	return nil
}

// sameOutput runs all once, uncounted, and wants the lines of the client to be
// the first of spanbulk's, which are as many as there are records, and those of
// the client in batches to be the same. It keeps little of them: what this
// process has in memory counts as the contenders' memory, since they begin as
// its copies.
func sameOutput(ctx context.Context, ours, client, batches *contender) error {
	var first bytes.Buffer
	if err := client.Run(ctx, &first); err != nil {
		return err
	}
	check, our, their := &prefixCheck{want: first.Bytes()}, sha256.New(), sha256.New()
	if err := ours.Run(ctx, io.MultiWriter(check, our)); err != nil {
		return err
	}
	if err := batches.Run(ctx, their); err != nil {
		return err
	}
	switch {
	case check.differs || len(check.want) > 0 || !bytes.Equal(our.Sum(nil), their.Sum(nil)):
		return errors.New("spanbulk and the client wrote different lines")
	case check.lines != ours.records:
		return fmt.Errorf("spanbulk wrote %d lines of %d records", check.lines, ours.records)
	}
	return nil
}

// prefixCheck counts lines and compares what is written with what must come first.
type prefixCheck struct {
	want    []byte
	differs bool
	lines   int
}

func (p *prefixCheck) Write(b []byte) (int, error) {
	n := min(len(b), len(p.want))
	p.differs = p.differs || !bytes.Equal(b[:n], p.want[:n])
	p.want = p.want[n:]
	p.lines += bytes.Count(b, []byte{'\n'})
	return len(b), nil
}

func report(contenders ...*contender) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "lookup\trecords\trecords/s (best)\tcpu µs/record (median)\trss MiB")
	for _, c := range contenders {
		fmt.Fprintf(w, "%s\t%d\t%.0f\t%.2f\t%d\n", c.Name, c.records, 1e6/c.perRecord(c.Shortest()), c.perRecord(c.Median()), c.RSS())
	}
	w.Flush()
}
