package cdc_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/cdc"
	"spanbulk/internal/randtest"
)

// line is what the checks read of a line of output.
type line struct {
	Commit      string `json:"commit_timestamp"`
	Sequence    string `json:"record_sequence"`
	Transaction string `json:"server_transaction_id"`
	Table       string `json:"table_name"`
	Partition   string `json:"partition_token"`
	ModType     string `json:"mod_type"`
	Mods        []struct {
		Keys map[string]string `json:"keys"`
	} `json:"mods"`
}

func (l *line) id() string { return l.Transaction + "/" + l.Sequence + "/" + l.Partition }

func parseLines(t *testing.T, lines []string) []*line {
	t.Helper()
	var out []*line
	for _, text := range lines {
		l := &line{}
		if err := json.Unmarshal([]byte(text), l); err != nil {
			t.Fatalf("line %q: %v", text, err)
		}
		out = append(out, l)
	}
	return out
}

// checkHistory wants the history in the output: every record, none that is not
// in it, those of a key in commit order, and, unless repeats are allowed, each
// once.
func checkHistory(t *testing.T, w *world, lines []*line, repeats bool) {
	t.Helper()
	known := map[string]*change{}
	place := map[string]int{} // in the history
	for i, c := range w.changes {
		known[c.id()] = c
		place[c.id()] = i
	}
	seen := map[string]bool{}
	last := map[string]int{} // by table and key: the latest place in the history
	for _, l := range lines {
		c := known[l.id()]
		if c == nil {
			t.Fatalf("record %s was never committed", l.id())
		}
		if l.Commit != c.at.String() || l.Table != c.table || l.ModType != c.modType || l.Mods[0].Keys["Id"] != fmt.Sprint(c.key) {
			t.Fatalf("record %s is not what was committed: %+v", l.id(), l)
		}
		if seen[l.id()] {
			if !repeats {
				t.Fatalf("record %s came twice", l.id())
			}
			continue
		}
		seen[l.id()] = true
		row := fmt.Sprint(c.table, c.key)
		if before, ok := last[row]; ok && before > place[l.id()] {
			t.Fatalf("record %s came after a later one of its key", l.id())
		}
		last[row] = place[l.id()]
	}
	if len(seen) != len(w.changes) {
		for _, c := range w.changes {
			if !seen[c.id()] {
				t.Fatalf("%d of %d records are missing, the first of them %s at %v", len(w.changes)-len(seen), len(w.changes), c.id(), c.at)
			}
		}
	}
}

func checkCommitOrder(t *testing.T, lines []*line) {
	t.Helper()
	for i := 1; i < len(lines); i++ {
		a, b := lines[i-1], lines[i]
		if a.Commit > b.Commit && len(a.Commit) == len(b.Commit) {
			t.Fatalf("record %s of %s came before %s of %s", a.id(), a.Commit, b.id(), b.Commit)
		}
	}
}

// breaks makes queries break off at random, with errors that are worth a retry.
func breaks(r *rand.Rand, chance float64) func(cdc.Query) (int, error) {
	transient := []error{
		status.Error(codes.Unavailable, "try again"), status.Error(codes.Internal, "stream terminated by RST_STREAM"),
		status.Error(codes.DeadlineExceeded, "too slow"), status.Error(codes.Aborted, "aborted"), status.Error(codes.Canceled, "moved"),
	}
	return func(cdc.Query) (int, error) {
		if r.Float64() >= chance {
			return 0, nil
		}
		return r.IntN(12), transient[r.IntN(len(transient))]
	}
}

// TestModel reads random histories through random breaks and kills: whatever
// happens, the output is the history.
func TestModel(t *testing.T) {
	r := randtest.New(t)
	for round := range randtest.Rounds(12) {
		f := form(round % 3)
		seed := r.Uint64()
		t.Run(fmt.Sprintf("%v/%d", f, round), func(t *testing.T) {
			t.Parallel()
			modelRound(t, rand.New(rand.NewPCG(seed, 1)), f)
		})
	}
}

func modelRound(t *testing.T, r *rand.Rand, f form) {
	w := newWorld(r, f, 20+r.IntN(200))
	w.fault = breaks(rand.New(rand.NewPCG(r.Uint64(), 2)), 0.3)
	w.chunk = 1 + r.IntN(5)
	state := &memoryState{}
	opt := cdc.Options{
		Start: cdc.At(w.begin.Time()), End: w.now.Time(), Metadata: []string{"all", "partition-token"},
		MaxQueries: 1 + r.IntN(4), ChunkBytes: 1 + r.IntN(4000), OrderBytes: 1 + r.IntN(20_000), Heartbeat: time.Second,
	}
	if r.IntN(2) == 0 {
		opt.Order = cdc.ByCommit
	}
	opt.NoDeduplicate = r.IntN(4) == 0
	toFile := r.IntN(2) == 0
	if toFile {
		state.path = filepath.Join(t.TempDir(), "state.json")
	}
	all := &collector{}
	path := filepath.Join(t.TempDir(), "out.ndjson")
	kills := r.IntN(4)
	for {
		var kill func() error
		if kills > 0 {
			kill = killAfter(r.IntN(40))
		}
		kills--
		err := modelRun(t, w, opt, state, path, toFile, all, kill)
		if err == nil {
			break
		}
		if !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
	}
	lines := all.lines()
	if toFile {
		lines = splitLines(readFile(t, path))
	}
	parsed := parseLines(t, lines)
	checkHistory(t, w, parsed, !toFile || opt.NoDeduplicate)
	if opt.Order == cdc.ByCommit && toFile && !opt.NoDeduplicate {
		checkCommitOrder(t, parsed)
	}
}

// memoryState keeps a state, in a file if it has a path: making files safe takes
// most of the time of a round.
type memoryState struct {
	path  string
	state *cdc.SavedState
}

func (m *memoryState) read(s *cdc.Stream) (*cdc.SavedState, error) {
	if m.path == "" {
		return m.state, nil
	}
	return cdc.ReadState(m.path, s.Database, s.Name)
}

func (m *memoryState) write(s *cdc.SavedState) error {
	if m.path == "" {
		m.state = s
		return nil
	}
	return s.Write(m.path)
}

var errKilled = errors.New("killed")

// killAfter returns a function that fails from the n-th call on.
func killAfter(n int) func() error {
	return func() error {
		if n == 0 {
			return errKilled
		}
		n--
		return nil
	}
}

// modelRun runs a tail once, from the state that is there. With kill, the
// output dies at some time, and nothing is saved from then on.
func modelRun(t *testing.T, w *world, opt cdc.Options, state *memoryState, path string, toFile bool, all *collector, kill func() error) error {
	var killed bool
	var mu sync.Mutex
	saved, err := state.read(w.stream)
	if err != nil {
		t.Fatal(err)
	}
	opt.State = saved
	opt.SaveEvery = 2 * time.Millisecond
	if toFile {
		opt.SaveEvery = 20 * time.Millisecond // it takes its time
	}
	opt.Save = func(s *cdc.SavedState) error {
		mu.Lock()
		defer mu.Unlock()
		if killed {
			return nil
		}
		return state.write(s)
	}
	all.fail = func([]byte) error {
		mu.Lock()
		defer mu.Unlock()
		if kill == nil {
			return nil
		}
		err := kill()
		killed = killed || err != nil
		return err
	}
	var out cdc.Output = all
	if toFile {
		var mark json.RawMessage
		if saved != nil {
			mark = saved.Output
		}
		file, err := cdc.OpenFile(path, mark, saved == nil)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		out = &killedFile{file, all.fail}
	}
	return newTail(t, w, opt).Run(t.Context(), out)
}

// killedFile writes a part of a chunk and then dies.
type killedFile struct {
	*cdc.FileOutput
	fail func([]byte) error
}

func (k *killedFile) Write(chunk []byte, records int) error {
	if err := k.fail(chunk); err != nil {
		return errors.Join(err, k.FileOutput.Write(chunk[:len(chunk)/2], 0))
	}
	return k.FileOutput.Write(chunk, records)
}
