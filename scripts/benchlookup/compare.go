package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"
	"text/tabwriter"
	"time"
)

// contender is one way to look the records up.
type contender struct {
	name    string
	args    []string
	records int
	wall    []time.Duration // of every counted run
	cpu     []time.Duration // likewise, user and system together
	rss     int64           // the largest, in KiB
}

func (c *contender) run(ctx context.Context, out io.Writer) error {
	cmd := exec.CommandContext(ctx, c.args[0], c.args[1:]...)
	cmd.Stdout = out
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", c.name, err, bytes.TrimSpace(stderr.Bytes()))
	}
	c.wall = append(c.wall, time.Since(began))
	c.cpu = append(c.cpu, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	c.rss = max(c.rss, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
	return nil
}

// perRecord is the median of times, for one record, in microseconds.
func (c *contender) perRecord(times []time.Duration) float64 {
	sorted := slices.Sorted(slices.Values(times))
	return float64(sorted[len(sorted)/2].Nanoseconds()) / 1000 / float64(c.records)
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
	endpoint, stop, err := background(o.spanbulk, "emulator", "--listen", "127.0.0.1:0", "--database", database,
		"--ddl", filepath.Join(dir, "schema.sql"), "--data", filepath.Join(dir, "rows"))
	if err != nil {
		return err
	}
	defer stop()
	ours := &contender{name: "spanbulk lookup", records: o.records, args: []string{o.spanbulk, "lookup", "--emulator-endpoint", endpoint,
		"--database", database, "--table", table, "--key", "CustomerId=customer", "--batch-keys", strconv.Itoa(o.batchKeys),
		"--parallelism", strconv.Itoa(o.parallelism), "--quiet", filepath.Join(dir, "records.ndjson")}}
	client := &contender{name: "client, one by one", records: min(o.sample, o.records),
		args: []string{self, "client", "-endpoint", endpoint, "-input", filepath.Join(dir, "sample.ndjson")}}
	if err := sameOutput(ctx, ours, client); err != nil {
		return err
	}
	for range o.rounds {
		for _, c := range []*contender{ours, client} {
			if err := c.run(ctx, nil); err != nil {
				return err
			}
		}
	}
	report(ours, client)
	fmt.Printf("speedup=%.0f ratio_cpu=%.2f rss_mib=%d\n", client.perRecord(client.wall)/ours.perRecord(ours.wall),
		ours.perRecord(ours.cpu)/client.perRecord(client.cpu), ours.rss/1024)
	return nil
}

// sameOutput runs both once, uncounted, and wants the lines of the client to be
// the first of spanbulk's, which are as many as there are records.
func sameOutput(ctx context.Context, ours, client *contender) error {
	var theirs bytes.Buffer
	if err := client.run(ctx, &theirs); err != nil {
		return err
	}
	check := &prefixCheck{want: theirs.Bytes()}
	if err := ours.run(ctx, check); err != nil {
		return err
	}
	switch {
	case check.differs || len(check.want) > 0:
		return errors.New("spanbulk and the client wrote different lines")
	case check.lines != ours.records:
		return fmt.Errorf("spanbulk wrote %d lines of %d records", check.lines, ours.records)
	}
	for _, c := range []*contender{ours, client} {
		c.wall, c.cpu = nil, nil
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
	fmt.Fprintln(w, "lookup\trecords\trecords/s\tcpu µs/record\trss MiB")
	for _, c := range contenders {
		fmt.Fprintf(w, "%s\t%d\t%.0f\t%.2f\t%d\n", c.name, c.records, 1e6/c.perRecord(c.wall), c.perRecord(c.cpu), c.rss/1024)
	}
	w.Flush()
}

var address = regexp.MustCompile(`127\.0\.0\.1:[0-9]+`)

// background starts a server and returns the address it prints when ready, and
// a function that ends it.
func background(args ...string) (at string, stop func(), err error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		cmd.Process.Signal(syscall.SIGTERM)
		io.Copy(io.Discard, out)
		cmd.Wait()
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if at := address.FindString(lines.Text()); at != "" {
			return at, stop, nil
		}
	}
	stop()
	return "", nil, errors.Join(fmt.Errorf("%s printed no address", args[0]), lines.Err())
}
