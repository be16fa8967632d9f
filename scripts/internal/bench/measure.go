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

	cpu []time.Duration // of every counted run
	rss int64           // the largest, in KiB
}

// Run executes the contender once and returns its processor time, user and
// system together.
func (c *Contender) Run(ctx context.Context, out io.Writer) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	cmd.Stdout = out
	if c.Input != "" {
		in, err := os.Open(c.Input)
		if err != nil {
			return 0, err
		}
		defer in.Close()
		cmd.Stdin = in
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("%s: %w: %s", c.Name, err, bytes.TrimSpace(stderr.Bytes()))
	}
	c.rss = max(c.rss, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// Median is the median processor time of the counted runs.
func (c *Contender) Median() time.Duration {
	sorted := slices.Sorted(slices.Values(c.cpu))
	return sorted[len(sorted)/2]
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

// Compare runs the contenders in turn, rounds times, after one run each that is
// not counted.
func Compare(ctx context.Context, contenders []*Contender, rounds int) error {
	for round := range rounds + 1 {
		for _, c := range contenders {
			cpu, err := c.Run(ctx, nil)
			if err != nil {
				return err
			}
			if round > 0 {
				c.cpu = append(c.cpu, cpu)
			}
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
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%.2f\t%d\n", c.Name, perRow(c.Median()),
			perRow(slices.Min(c.cpu)), perRow(slices.Max(c.cpu)), c.RSS())
	}
	w.Flush()
}
