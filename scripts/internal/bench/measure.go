package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"syscall"
	"text/tabwriter"
	"time"
)

// Contender is one way to do the work that is measured, as a process of its own.
type Contender struct {
	Name string
	Args []string
	// Input, if set, is the path of the file that is its standard input.
	Input string

	costs []cost // of every counted run
	rss   int64  // the largest, in KiB
}

// cost is what one run took: processor time, user and system together, and time
// on the clock.
type cost struct{ cpu, wall time.Duration }

// Run executes the contender once, without counting it.
func (c *Contender) Run(ctx context.Context, out io.Writer) error {
	_, err := c.run(ctx, out)
	return err
}

func (c *Contender) run(ctx context.Context, out io.Writer) (cost, error) {
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	cmd.Stdout = out
	if c.Input != "" {
		in, err := os.Open(c.Input)
		if err != nil {
			return cost{}, err
		}
		defer in.Close()
		cmd.Stdin = in
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	begun := time.Now()
	if err := cmd.Run(); err != nil {
		return cost{}, fmt.Errorf("%s: %w: %s", c.Name, err, bytes.TrimSpace(stderr.Bytes()))
	}
	c.rss = max(c.rss, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
	return cost{cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), time.Since(begun)}, nil
}

// Median is the median processor time of the counted runs.
func (c *Contender) Median() time.Duration {
	sorted := c.cpu()
	return sorted[len(sorted)/2]
}

// cpu is the processor times of the counted runs, sorted.
func (c *Contender) cpu() []time.Duration {
	times := make([]time.Duration, len(c.costs))
	for i, cost := range c.costs {
		times[i] = cost.cpu
	}
	slices.Sort(times)
	return times
}

// Shortest is the least time on the clock of a counted run: that which others
// on the machine disturbed least.
func (c *Contender) Shortest() time.Duration {
	least := c.costs[0].wall
	for _, cost := range c.costs {
		least = min(least, cost.wall)
	}
	return least
}

var address = regexp.MustCompile(`127\.0\.0\.1:[0-9]+`)

// Server is a process that serves the contenders.
type Server struct {
	// Address is where it listens.
	Address string

	cmd *exec.Cmd
	out *bufio.Scanner
}

// Start starts a server, which prints its address when it is ready.
func Start(args ...string) (*Server, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &Server{cmd: cmd, out: bufio.NewScanner(out)}
	for s.out.Scan() {
		if s.Address = address.FindString(s.out.Text()); s.Address != "" {
			return s, nil
		}
	}
	s.Stop()
	return nil, errors.Join(fmt.Errorf("%s printed no address", args[0]), s.out.Err())
}

// Stop ends the server and returns the last line it printed, if any since its
// address. Only the first call does anything.
func (s *Server) Stop() (last string) {
	if s.cmd == nil {
		return ""
	}
	s.cmd.Process.Signal(syscall.SIGTERM)
	for s.out.Scan() {
		last = s.out.Text()
	}
	s.cmd.Wait()
	s.cmd = nil
	return last
}

// RSS is the largest resident memory of all runs, in MiB.
func (c *Contender) RSS() int64 { return c.rss / 1024 }

// Compare is Measure after one run each that is not counted.
func Compare(ctx context.Context, contenders []*Contender, rounds int) error {
	for _, c := range contenders {
		if err := c.Run(ctx, nil); err != nil {
			return err
		}
	}
	return Measure(ctx, contenders, rounds)
}

// Measure runs the contenders in turn, rounds times, and counts every run.
func Measure(ctx context.Context, contenders []*Contender, rounds int) error {
	for range rounds {
		for _, c := range contenders {
			took, err := c.run(ctx, nil)
			if err != nil {
				return err
			}
			c.costs = append(c.costs, took)
		}
	}
	return nil
}

// Report prints what each contender cost per row.
func Report(contenders []*Contender, rows int) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "measured\tcpu µs/row (median)\tmin\tmax\trss MiB")
	perRow := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 / float64(rows) }
	for _, c := range contenders {
		cpu := c.cpu()
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%.2f\t%d\n", c.Name, perRow(c.Median()), perRow(cpu[0]), perRow(cpu[len(cpu)-1]), c.RSS())
	}
	w.Flush()
}
