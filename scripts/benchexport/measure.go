package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"syscall"
	"text/tabwriter"
	"time"
)

// contender is one way to export the table.
type contender struct {
	name string
	args []string
	cpu  []time.Duration // of every counted run
	wall []time.Duration // likewise
	rss  int64           // the largest, in KiB
}

// run executes the contender once and returns its processor time, user and
// system together, and the time it took.
func (c *contender) run(ctx context.Context, out io.Writer) (cpu, wall time.Duration, err error) {
	cmd := exec.CommandContext(ctx, c.args[0], c.args[1:]...)
	cmd.Stdout = out
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, 0, fmt.Errorf("%s: %w: %s", c.name, err, bytes.TrimSpace(stderr.Bytes()))
	}
	wall = time.Since(start)
	c.rss = max(c.rss, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), wall, nil
}

// median is the median processor time of the counted runs.
func (c *contender) median() time.Duration {
	sorted := slices.Sorted(slices.Values(c.cpu))
	return sorted[len(sorted)/2]
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

// fingerprint is a hash of lines that does not depend on their order.
type fingerprint struct {
	sum   uint64
	lines int
	rest  []byte
}

func (f *fingerprint) Write(p []byte) (int, error) {
	n := len(p)
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			f.rest = append(f.rest, p...)
			return n, nil
		}
		h := fnv.New64a()
		h.Write(f.rest)
		h.Write(p[:i])
		f.sum += h.Sum64()
		f.lines++
		f.rest, p = f.rest[:0], p[i+1:]
	}
}

// compare runs the contenders in turn, rounds times, after one run each whose
// output is checked: the first two write the same lines, all as many.
func compare(ctx context.Context, contenders []*contender, rows, rounds int) error {
	var prints []fingerprint
	for _, c := range contenders {
		var f fingerprint
		if _, _, err := c.run(ctx, &f); err != nil {
			return err
		}
		if f.lines != rows {
			return fmt.Errorf("%s wrote %d lines, want %d", c.name, f.lines, rows)
		}
		prints = append(prints, f)
	}
	if prints[0].sum != prints[1].sum {
		return fmt.Errorf("%s and %s wrote different lines", contenders[0].name, contenders[1].name)
	}
	return measure(ctx, contenders, rounds)
}

// measure counts so many runs of each contender, in turn.
func measure(ctx context.Context, contenders []*contender, rounds int) error {
	for range rounds {
		for _, c := range contenders {
			cpu, wall, err := c.run(ctx, nil)
			if err != nil {
				return err
			}
			c.cpu, c.wall = append(c.cpu, cpu), append(c.wall, wall)
		}
	}
	return nil
}

func report(contenders []*contender, rows int) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "reader\tcpu µs/row (median)\tmin\tmax\trss MiB")
	perRow := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 / float64(rows) }
	for _, c := range contenders {
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%.2f\t%d\n", c.name, perRow(c.median()),
			perRow(slices.Min(c.cpu)), perRow(slices.Max(c.cpu)), c.rss/1024)
	}
	w.Flush()
}
