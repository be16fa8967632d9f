package output_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"spanbulk/internal/output"
)

func needsLocks(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there is no flock")
	}
}

// open opens an output and writes a finished partition to it.
func open(t *testing.T, o output.Options) *output.Set {
	t.Helper()
	set, err := output.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Abort() })
	w, err := set.Partition(o.Tables[0].Name, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.WriteChunk([]byte("1\n"), 1), w.Close()); err != nil {
		t.Fatal(err)
	}
	return set
}

func TestOneExportAtATimeInADirectory(t *testing.T) {
	needsLocks(t)
	for name, tables := range map[string][]output.Table{"one table": {orders}, "two": {orders, table("Items")}} {
		t.Run(name, func(t *testing.T) {
			o := output.Options{Path: t.TempDir() + "/new/", Extension: ".csv", Tables: tables, Overwrite: true}
			first := open(t, o)
			_, err := output.Open(context.Background(), o)
			if err == nil || err.Error() != "another export is writing to "+o.Path {
				t.Fatalf("the second one: got error %v", err)
			}
			if err := first.Commit(context.Background(), output.Manifest{}); err != nil {
				t.Fatal(err)
			}
			if err := open(t, o).Abort(); err != nil {
				t.Fatal(err)
			}
			if err := open(t, o).Commit(context.Background(), output.Manifest{}); err != nil {
				t.Error(err)
			}
			if _, err := output.ReadManifest(o.Path); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestSweep leaves what a killed export has left, and finds it gone after the
// next; of an export that runs, finished partitions too, nothing is taken.
func TestSweep(t *testing.T) {
	needsLocks(t)
	for name, path := range map[string]string{"directory": "out/", "file": "out/orders.csv", "partitions": "out/{table}-{partition}.csv", "shards": "out/{shard}.csv"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			out := filepath.Join(dir, "out")
			if err := os.Mkdir(out, 0o777); err != nil {
				t.Fatal(err)
			}
			running := open(t, output.Options{Path: out + "/run-{partition}.csv", Tables: []output.Table{orders}})
			busy := tree(t, dir)
			if len(busy) != 1 {
				t.Fatalf("got %q", busy)
			}
			for _, name := range []string{".orders.csv.0123abcd.partial", ".orders.csv.0123abcd4567ef01.partial", ".mine.partial", ".x.0123ABCD.partial", "x.0123abcd.partial"} {
				if err := os.WriteFile(filepath.Join(out, name), []byte("x"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := export(t, output.Options{Path: dir + "/" + path, Extension: ".csv", Tables: []output.Table{orders}}, chunk{"Orders", 0, "1\n"}); err != nil {
				t.Fatal(err)
			}
			var left []string
			for name := range tree(t, dir) {
				if strings.HasSuffix(name, ".partial") && busy[name] == "" {
					left = append(left, name)
				}
			}
			if len(left) != 3 {
				t.Errorf("left %q", left)
			}
			if err := running.Commit(context.Background(), output.Manifest{}); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestOverwriteKeepsPermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no permission bits")
	}
	for name, path := range map[string]string{"file": "orders.csv", "directory": "out/", "template": "{partition}.csv"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			o := output.Options{Path: dir + "/" + path, Extension: ".csv", Tables: []output.Table{orders}, Overwrite: true}
			if _, err := export(t, o, someChunks[0]); err != nil {
				t.Fatal(err)
			}
			for name := range maps.Keys(tree(t, dir)) {
				if err := os.Chmod(filepath.Join(dir, name), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			set := open(t, o)
			checkPrivate(t, dir) // while it is written
			if err := set.Abort(); err != nil {
				t.Fatal(err)
			}
			if _, err := export(t, o, someChunks...); err != nil {
				t.Fatal(err)
			}
			checkPrivate(t, dir)
		})
	}
}

func checkPrivate(t *testing.T, dir string) {
	t.Helper()
	for name := range tree(t, dir) {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %s", name, info.Mode())
		}
	}
}
