package cdc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/spanner/admin/database/apiv1/databasepb"

	"spanbulk/internal/database"
	"spanbulk/internal/emulator"
	"spanbulk/internal/randtest"
)

// programDirectory is where the real programs of these tests are; TestMain
// removes it.
var programDirectory = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "spanbulk-test") })

// spanbulk builds the program, once, and returns its path.
var spanbulk = sync.OnceValues(func() (string, error) {
	dir, err := programDirectory()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "spanbulk")
	if out, err := exec.Command("go", "build", "-o", path, "spanbulk").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return path, nil
})

// process is a running program.
type process struct {
	*exec.Cmd
	stdout, stderr bytes.Buffer
	done           chan error
}

// start starts a program in an environment that only points at the server.
func (s *server) start(t *testing.T, program string, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(program, args...), done: make(chan error, 1)}
	p.Env = []string{"PATH=" + filepath.Dir(program) + ":" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "SPANNER_EMULATOR_HOST=" + s.Endpoint}
	p.Dir = t.TempDir()
	p.Stdout, p.Stderr = &p.stdout, &p.stderr
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.done <- p.Wait() }()
	return p
}

// kill is kill -9, whatever the process does, or has done.
func (p *process) kill(t *testing.T) {
	t.Helper()
	_ = p.Process.Kill()
	err := <-p.done
	if exit, ok := errors.AsType[*exec.ExitError](err); err == nil || !ok || exit.ExitCode() >= 0 {
		t.Fatalf("the process was not killed, but ended: %v\n%s", err, p.stderr.String())
	}
}

func (p *process) finish(t *testing.T) {
	t.Helper()
	if err := <-p.done; err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(p.Args, " "), err, p.stderr.String())
	}
}

// TestKilledProcess kills the real program at random moments, while the
// partitions of the stream change, and begins it again.
func TestKilledProcess(t *testing.T) {
	program, err := spanbulk()
	if err != nil {
		t.Fatal(err)
	}
	r := randtest.New(t)
	for round := range randtest.Rounds(3) {
		seed := r.Uint64()
		k := killedRound{program: program, stream: [...]string{"Changes", "Moving"}[round%2], toFile: round%4 < 3, ordered: round%3 == 0}
		t.Run(fmt.Sprintf("%s/%d", k.stream, round), func(t *testing.T) {
			t.Parallel()
			k.run(t, rand.New(rand.NewPCG(seed, 0)))
		})
	}
}

type killedRound struct {
	program, stream string
	toFile, ordered bool
}

func (k *killedRound) run(t *testing.T, r *rand.Rand) {
	srv := startServer(t, databasepb.DatabaseDialect_GOOGLE_STANDARD_SQL, emulator.Options{ChangeStreams: emulator.ChangeStreams{Partitions: 1 + r.IntN(4)}})
	source := srv.open(t, k.stream)
	begin, err := source.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	out := filepath.Join(dir, "out.ndjson")
	args := []string{"tail", k.stream, "-d", srv.conn.Name().String(), "--state", filepath.Join(dir, "state"), "--state-interval", "20ms",
		"--start-position", begin.Format(time.RFC3339Nano), "--metadata", "all,partition-token", "--max-concurrent-queries", fmt.Sprint(2 + r.IntN(30)), "--quiet"}
	if k.toFile {
		args = append(args, "--output", out)
	}
	if k.ordered {
		args = append(args, "--order", "commit-timestamp")
	}
	var want []event
	var lines []string
	rows := map[string]bool{}
	for range 2 + r.IntN(4) {
		p := srv.start(t, k.program, args...)
		moment := time.NewTimer(time.Duration(r.IntN(700)) * time.Millisecond)
		for killed := false; !killed; {
			want = append(want, srv.workload(t, r, 1+r.IntN(10), rows, k.stream)...)
			select {
			case <-moment.C:
				p.kill(t)
				killed = true
			default:
			}
		}
		lines = append(lines, wholeLines(p.stdout.String())...)
	}
	end, err := source.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	last := srv.start(t, k.program, append(args, "--end-position", end.Format(time.RFC3339Nano))...)
	last.finish(t)
	lines = append(lines, wholeLines(last.stdout.String())...)
	if k.toFile {
		lines = splitLines(readFile(t, out))
		checkNoRepeats(t, lines)
	}
	checkEvents(t, events(t, lines), want)
	if k.ordered && k.toFile {
		checkCommitOrder(t, parseLines(t, lines))
	}
}

// wholeLines are the lines of what a killed process has written, without the
// beginning of another one.
func wholeLines(text string) []string {
	return splitLines(text[:strings.LastIndexByte(text, '\n')+1])
}

func checkNoRepeats(t *testing.T, lines []string) {
	t.Helper()
	seen := map[string]bool{}
	for _, l := range parseLines(t, lines) {
		if seen[l.id()] {
			t.Fatalf("record %s is in the file twice", l.id())
		}
		seen[l.id()] = true
	}
}

// TestCopyTable keeps a copy of a table with scripts/copy-table.sh, whose
// processes are killed at random moments, and wants the copy to be one.
func TestCopyTable(t *testing.T) {
	program, err := spanbulk()
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"bash", "pgrep"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is needed", tool)
		}
	}
	r := randtest.New(t)
	for round := range randtest.Factor() {
		seed := r.Uint64()
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			t.Parallel()
			copyRound(t, rand.New(rand.NewPCG(seed, 0)), program)
		})
	}
}

func copyRound(t *testing.T, r *rand.Rand, program string) {
	srv := startServer(t, databasepb.DatabaseDialect_GOOGLE_STANDARD_SQL, emulator.Options{})
	name := srv.conn.Name()
	copyName := database.Name{Project: name.Project, Instance: name.Instance, Database: "copy"}
	if err := srv.Embedded(t, "a second database on the server").CreateDatabase(t.Context(), copyName.String(), databasepb.DatabaseDialect_GOOGLE_STANDARD_SQL, googleDDL[0]); err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs("../../scripts/copy-table.sh")
	if err != nil {
		t.Fatal(err)
	}
	stream := [...]string{"Changes", "Moving"}[r.IntN(2)]
	args := []string{"ROUND=300ms", "RETRY=0.01", "bash", script, name.String(), copyName.String(), stream, "Orders", filepath.Join(t.TempDir(), "copy")}
	path := "PATH=" + filepath.Dir(program) + ":" + os.Getenv("PATH")
	run := func(more ...string) *process {
		return srv.start(t, "env", append(append([]string{path}, args...), more...)...)
	}
	rows := map[string]bool{}
	srv.workload(t, r, 30, rows, stream) // rows that are there before
	var stderr strings.Builder
	kills := 0
	for kills < 4 {
		copying := run()
		enough := time.NewTimer(time.Duration(r.IntN(1500)) * time.Millisecond)
		for ended := false; !ended; {
			srv.workload(t, r, 1+r.IntN(10), rows, stream)
			if r.IntN(20) == 0 && killChild(r, copying.Process.Pid) {
				kills++
			}
			select {
			case <-enough.C:
				_ = copying.Process.Kill()
			case <-copying.done: // or by itself: one of its first programs was killed
				ended = true
			default:
			}
		}
		stderr.WriteString(copying.stderr.String())
	}
	now, err := srv.open(t, stream).Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	run(now.Format(time.RFC3339Nano)).finish(t)
	want, got := srv.table(t, name), srv.table(t, copyName)
	if want == "" || got != want {
		t.Errorf("the copy is not one:\ngot\n%s\nwant\n%s\n%s", got, want, stderr.String())
	}
}

// killChild kills one of the programs that a shell runs, if it runs any.
func killChild(r *rand.Rand, shell int) bool {
	out, _ := exec.Command("pgrep", "-P", fmt.Sprint(shell), "spanbulk").Output()
	children := strings.Fields(string(out))
	return len(children) > 0 && exec.Command("kill", "-KILL", children[r.IntN(len(children))]).Run() == nil
}

// table is the rows of Orders in a database.
func (s *server) table(t *testing.T, name database.Name) string {
	t.Helper()
	conn, err := database.Open(context.WithoutCancel(t.Context()), database.Options{Name: name, EmulatorEndpoint: s.Endpoint, Channels: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	result, err := conn.Query(t.Context(), database.Statement{SQL: "SELECT Id, Value, Note FROM Orders ORDER BY Id"})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, row := range result.Rows {
		fmt.Fprintln(&b, row)
	}
	return b.String()
}
