package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"spanbulk/internal/fault"
	"spanbulk/internal/output"
	"spanbulk/internal/pipe"
)

// testStreams are streams that remember, with an environment of their own.
func testStreams(env map[string]string) (Streams, *bytes.Buffer, *lockedBuffer) {
	out, err := &bytes.Buffer{}, &lockedBuffer{}
	return Streams{
		In: strings.NewReader(""), Out: out, Err: err,
		LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	}, out, err
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestReport(t *testing.T) {
	hidden := &fault.Error{Code: codes.AlreadyExists, Op: "write", Object: "table T", Detail: "Row [alice] exists", Hint: "look"}
	interrupted := &signalError{os.Interrupt}
	tests := map[string]struct {
		err      error
		cause    error
		terminal bool
		code     int
		stderr   string
	}{
		"done":                    {code: 0},
		"failed":                  {err: errors.New("disk full"), code: 1, stderr: "spanbulk: disk full\n"},
		"usage":                   {err: &usageError{err: errors.New("no table"), hint: "give one"}, code: 2, stderr: "spanbulk: no table; give one\n"},
		"sentence with a hint":    {err: &fault.Error{Code: codes.NotFound, Op: "plan", Object: "query", Reason: "It is not.", Hint: "look"}, code: 1, stderr: "spanbulk: plan query: It is not; look\n"},
		"refused":                 {err: fmt.Errorf("import: %w", &refusedError{3}), code: 3, stderr: "spanbulk: import: 3 records were refused\n"},
		"interrupted":             {err: errors.New("context canceled"), cause: interrupted, code: 130},
		"terminated":              {err: errors.New("context canceled"), cause: &signalError{syscall.SIGTERM}, code: 143},
		"done in spite of Ctrl-C": {cause: interrupted, code: 0},
		"nobody reads stdout":     {err: fmt.Errorf("write: %w", output.ErrReaderGone), code: 141},
		"values hidden":           {err: hidden, code: 1, stderr: "spanbulk: write table T: the message is hidden as it can hold record values (--show-values=true shows it); look\n"},
		"values at the terminal":  {err: hidden, terminal: true, code: 1, stderr: "spanbulk: write table T: Row [alice] exists; look\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, _, stderr := testStreams(nil)
			s.ErrIsTerminal = tt.terminal
			a := newApp(s)
			a.running, a.global.showValues = true, "auto"
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if tt.cause != nil {
				cancel(tt.cause)
			}
			if got := a.report(ctx, tt.err); got != tt.code {
				t.Errorf("exit code %d, want %d", got, tt.code)
			}
			if stderr.String() != tt.stderr {
				t.Errorf("stderr %q, want %q", stderr, tt.stderr)
			}
		})
	}
}

func TestSignals(t *testing.T) {
	signals, quit := make(chan os.Signal), make(chan struct{})
	ctx, cancel := context.WithCancelCause(t.Context())
	stderr, codes := &lockedBuffer{}, make(chan int, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		watchSignals(signals, quit, cancel, pipe.NewWriter(stderr, time.Second), func(code int) { codes <- code })
	}()
	signals <- os.Interrupt
	<-ctx.Done()
	if cause := context.Cause(ctx); cause == nil || cause.Error() != "interrupted" {
		t.Errorf("cause %v", cause)
	}
	signals <- syscall.SIGTERM
	if code := <-codes; code != 143 {
		t.Errorf("a second signal ends with %d, want 143", code)
	}
	<-done
	if want := "spanbulk: stopping; press Ctrl-C again to stop at once\n"; stderr.String() != want {
		t.Errorf("stderr %q, want %q", stderr, want)
	}
}

// TestSignalsWithStuckStderr interrupts a run whose stderr nobody reads.
func TestSignalsWithStuckStderr(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	stderr := pipe.NewWriter(w, 10*time.Millisecond)
	log := newApp(Streams{Err: stderr}).log
	logged := make(chan struct{})
	go func() {
		defer close(logged)
		for range 10_000 { // more than any pipe takes
			log.Info("a line of a log that nobody reads")
		}
	}()
	signals, quit := make(chan os.Signal), make(chan struct{})
	ctx, cancel := context.WithCancelCause(t.Context())
	codes, done := make(chan int, 1), make(chan struct{})
	go func() {
		defer close(done)
		watchSignals(signals, quit, cancel, stderr, func(code int) { codes <- code })
	}()
	signals <- os.Interrupt
	<-ctx.Done()
	<-logged
	signals <- os.Interrupt
	if code := <-codes; code != 130 {
		t.Errorf("a second signal ends with %d, want 130", code)
	}
	<-done
}

func TestCatchSignalsStops(t *testing.T) {
	ctx, stop := catchSignals(t.Context(), pipe.NewWriter(&lockedBuffer{}, time.Second), func(int) { t.Error("exit called") })
	stop()
	if _, ok := errors.AsType[*signalError](context.Cause(ctx)); ok {
		t.Error("stopping looks like a signal")
	}
}

func TestRunInProcess(t *testing.T) {
	s, out, stderr := testStreams(map[string]string{"SPANBULK_TABLE": "Singers", "SPANNER_DATABASE_ID": "projects/p/instances/i/databases/d", "SPANNER_EMULATOR_HOST": "127.0.0.1:1"})
	if code := Run(t.Context(), s, []string{"export", "--quiet"}); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	if out.Len() > 0 || !strings.HasPrefix(stderr.String(), "spanbulk: connect to 127.0.0.1:1: ") {
		t.Errorf("stdout %q, stderr %q", out, stderr)
	}
}

func TestBinaryToTerminalIsRefused(t *testing.T) {
	args := []string{"export", "-d", "projects/p/instances/i/databases/d", "--table", "T", "--emulator-endpoint", "127.0.0.1:1", "--quiet", "--format", "avro"}
	s, _, stderr := testStreams(nil)
	s.OutIsTerminal = true
	if code := Run(t.Context(), s, args); code != exitUsage || stderr.String() != "spanbulk: avro is binary and stdout is a terminal; give --output FILE, or --output - to write it there all the same\n" {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	if code := Run(t.Context(), s, append(args, "--output", "-")); code != exitFailed {
		t.Errorf("with --output -: exit code %d", code)
	}
}

func TestProgressLogsWithoutTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, stderr := testStreams(nil)
		a := newApp(s)
		p := a.startProgress(progressAuto, func() progressState {
			return progressState{done: 1, total: 4, part: "partitions", rows: 3000, bytes: 1 << 20}
		})
		time.Sleep(logEvery + time.Second)
		p.stop(a)
		want := `level=INFO msg=progress partitions=1 of=4 rows=3000 bytes=1048576 rowsPerSecond=100`
		if got := stderr.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, want) {
			t.Errorf("stderr %q, want one line with %q", got, want)
		}
	})
}

func TestProgressBarAndLinesDoNotMix(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, stderr := testStreams(nil)
		s.ErrIsTerminal = true
		a := newApp(s)
		p := a.startProgress(progressAuto, func() progressState {
			return progressState{done: 2, total: 4, part: "partitions", rows: 1234567, bytes: 5 << 20}
		})
		time.Sleep(3 * drawEvery)
		synctest.Wait()
		a.log.Warn("a line")
		time.Sleep(2 * drawEvery)
		p.stop(a)
		got := stderr.String()
		if !strings.Contains(got, "2/4 partitions, 1,234,567 rows, 5.0 MiB") {
			t.Errorf("no bar in %q", got)
		}
		before, _, _ := strings.Cut(got, "time=")
		if !strings.HasSuffix(strings.TrimRight(before, " "), "\r") {
			t.Errorf("the line is written into the bar: %q", before)
		}
		if !strings.HasSuffix(strings.TrimRight(got, " "), "\r") {
			t.Errorf("the bar stays at the end: %q", got[max(len(got)-100, 0):])
		}
	})
}

func TestBarIsForTerminals(t *testing.T) {
	tests := []struct {
		mode            progressMode
		terminal, quiet bool
		term            string
		want            bool
	}{
		{mode: progressAuto, terminal: true, want: true},
		{mode: progressAuto},
		{mode: progressAuto, terminal: true, term: "dumb"},
		{mode: progressAuto, terminal: true, quiet: true},
		{mode: progressAlways, want: true},
		{mode: progressNever, terminal: true},
	}
	for _, tt := range tests {
		s, _, _ := testStreams(map[string]string{"TERM": tt.term})
		s.ErrIsTerminal = tt.terminal
		a := newApp(s)
		a.global.quiet = tt.quiet
		if got := a.wantsBar(tt.mode); got != tt.want {
			t.Errorf("%+v: bar %v", tt, got)
		}
	}
}

func TestAvailableMemory(t *testing.T) {
	tests := map[string]struct {
		files map[string]string
		want  int64
	}{
		"machine":  {map[string]string{"/proc/meminfo": "MemTotal:       16384 kB\nMemFree: 1 kB\n"}, 16 << 20},
		"cgroup":   {map[string]string{"/proc/meminfo": "MemTotal: 16384 kB\n", "/sys/fs/cgroup/memory.max": "1048576\n"}, 1 << 20},
		"no limit": {map[string]string{"/proc/meminfo": "MemTotal: 16384 kB\n", "/sys/fs/cgroup/memory.max": "max\n"}, 16 << 20},
		"unknown":  {nil, math.MaxInt64},
	}
	for name, tt := range tests {
		got := availableMemory(func(path string) ([]byte, error) {
			if text, ok := tt.files[path]; ok {
				return []byte(text), nil
			}
			return nil, os.ErrNotExist
		})
		if got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}

// Every flag belongs to a group of the help and every group is shown.
func TestFlagsAreGrouped(t *testing.T) {
	root := newRootCommand(newApp(Streams{LookupEnv: func(string) (string, bool) { return "", false }}))
	for _, c := range root.Commands() {
		c.Flags().VisitAll(func(f *pflagFlag) {
			if g := f.Annotations[groupKey]; len(g) > 0 && !slices.Contains(groupOrder(), g[0]) {
				t.Errorf("%s --%s is in group %q, which help does not show", c.Name(), f.Name, g[0])
			}
			if strings.HasSuffix(f.Usage, ".") || f.Usage == "" {
				t.Errorf("%s --%s: usage %q", c.Name(), f.Name, f.Usage)
			}
		})
	}
}
