package cdc_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"spanbulk/internal/cdc"
)

func someState() *cdc.SavedState {
	return &cdc.SavedState{
		Database: "projects/p/instances/i/databases/d", Stream: "S", Saved: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Watermark: at(5),
		Output: []byte(`{"path":"/out","bytes":12}`),
		Partitions: []cdc.Partition{
			{Token: "a", Start: at(0), End: at(9), Position: at(9), State: cdc.Finished},
			{Token: "b", Parents: []string{"a", ""}, Start: at(1), Position: at(5), State: cdc.Running, Boundary: []cdc.Identity{{Transaction: "t", Sequence: "00000001"}}, MovedOut: []string{"c"}},
			{Token: "c", Start: at(5), Position: at(6), State: cdc.Created, Awaits: []cdc.Await{{Token: "b", Until: at(6)}}},
		},
	}
}

func TestStateSurvives(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	want := someState()
	for range 2 { // it is replaced, too
		if err := want.Write(path); err != nil {
			t.Fatal(err)
		}
	}
	got, err := cdc.ReadState(path, want.Database, want.Stream)
	if err != nil {
		t.Fatal(err)
	}
	squeeze := cmp.Transformer("squeeze", func(m json.RawMessage) string { return strings.Join(strings.Fields(string(m)), "") })
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(cdc.Partition{}), squeeze); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("left in the directory: %v, %v", entries, err)
	}
}

func TestStateRefused(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state.json")
	s := someState()
	if err := s.Write(path); err != nil {
		t.Fatal(err)
	}
	whole := readFile(t, path)
	tests := map[string]struct{ content, stream, want string }{
		"other stream":  {whole, "Other", "it belongs to change stream S"},
		"cut short":     {whole[:len(whole)/2], "S", "cut short"},
		"empty":         {"", "S", "cut short"},
		"other version": {strings.Replace(whole, `"version": 1`, `"version": 2`, 1), "S", "version 2"},
		"other kind":    {strings.Replace(whole, "change stream state", "shopping list", 1), "S", "not the state"},
		"unknown field": {strings.Replace(whole, `"version": 1`, `"version": 1, "extra": true`, 1), "S", "damaged"},
		"unknown state": {strings.Replace(whole, "RUNNING", "SLEEPING", 1), "S", "no known state"},
		"more behind":   {whole + "{}", "S", "follows"},
		"no partition":  {`{"kind":"spanbulk change stream state","version":1,"changeStream":"S","database":"projects/p/instances/i/databases/d"}`, "S", "damaged"},
		"bad time":      {strings.Replace(whole, `"position": "2026`, `"position": "year 2026`, 1), "S", "damaged"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(path, []byte(tt.content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := cdc.ReadState(path, s.Database, tt.stream)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %q on one line", err, tt.want)
			}
			if readFile(t, path) != tt.content {
				t.Error("the file was changed")
			}
		})
	}
	if _, err := cdc.ReadState(path, "projects/p/instances/i/databases/other", "S"); err == nil {
		t.Error("the state of another database was taken")
	}
	if s, err := cdc.ReadState(filepath.Join(dir, "none"), s.Database, "S"); s != nil || err != nil {
		t.Errorf("without a file: %v, %v", s, err)
	}
}

func FuzzReadState(f *testing.F) {
	path := filepath.Join(f.TempDir(), "seed")
	if err := someState().Write(path); err != nil {
		f.Fatal(err)
	}
	f.Add(readFile(f, path))
	f.Add("{}")
	f.Fuzz(func(t *testing.T, content string) {
		path := filepath.Join(t.TempDir(), "state")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := cdc.ReadState(path, someState().Database, "S")
		if err != nil {
			return
		}
		if err := s.Write(path); err != nil { // what is taken can be written and read again
			t.Fatal(err)
		}
		if _, err := cdc.ReadState(path, someState().Database, "S"); err != nil {
			t.Fatal(err)
		}
	})
}

// TestOneTailAtATime refuses a second tail on a state or an output, and ends one
// whose state another one has replaced.
func TestOneTailAtATime(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no flock")
	}
	dir := t.TempDir()
	path, out := filepath.Join(dir, "state"), filepath.Join(dir, "out")
	state := &cdc.SavedState{Database: "d", Stream: "S", Saved: epoch.Time(), Watermark: epoch,
		Partitions: []cdc.Partition{{Token: "p", Start: epoch, Position: epoch, State: cdc.Scheduled}}}
	open := func() (*cdc.StateFile, error) {
		file, _, err := cdc.OpenState(path, "d", "S")
		return file, err
	}
	first, err := open()
	if err == nil {
		err = first.Save(state)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Save(state); err != nil {
		t.Error("the second time:", err)
	}
	if _, err := open(); err == nil || err.Error() != "use state "+path+": another tail uses it" {
		t.Errorf("got %v", err)
	}
	if err := state.Write(path); err != nil { // as a tail where there are no locks
		t.Fatal(err)
	}
	if err := first.Save(state); err == nil || err.Error() != "use state "+path+": another tail uses it" {
		t.Errorf("got %v", err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if again, err := open(); err != nil || again.Close() != nil {
		t.Errorf("after the first has ended: %v", err)
	}

	file, err := cdc.OpenFile(out, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Write([]byte("1\n"), 1); err != nil {
		t.Fatal(err)
	}
	if _, err := cdc.OpenFile(out, nil, true); err == nil || err.Error() != "write "+out+": another tail writes it" {
		t.Errorf("got %v", err)
	}
	if err := file.Close(); err != nil || readFile(t, out) != "1\n" {
		t.Errorf("the output was touched: %v", err)
	}
}

// TestUntouchedState begins with the earliest records again where nothing has
// been read: where they begin has moved meanwhile.
func TestUntouchedState(t *testing.T) {
	s := newScript(manyChanges(3)...)
	opt := s.options()
	opt.Start = cdc.Earliest()
	opt.State = &cdc.SavedState{Partitions: []cdc.Partition{{Start: 1, Position: 1, State: cdc.Scheduled}}}
	if n := len(runTail(t, s, opt)); n != 3 {
		t.Errorf("%d lines, want 3", n)
	}
}
