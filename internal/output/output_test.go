package output_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"spanbulk/internal/output"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var orders = output.Table{
	Name:       "Orders",
	Header:     []byte("id\n"),
	Columns:    []output.Column{{Name: "id", Type: "INT64"}},
	PrimaryKey: []output.KeyPart{{Column: "id", Order: "ASC"}},
}

func table(name string) output.Table {
	t := orders
	t.Name = name
	return t
}

// chunk is what a test hands to one partition.
type chunk struct {
	table     string
	partition int
	text      string
}

// export runs an export of chunks into o, closing each partition after its last.
func export(t *testing.T, o output.Options, chunks ...chunk) (*output.Set, error) {
	t.Helper()
	set, err := output.Open(context.Background(), o)
	if err != nil {
		return nil, err
	}
	type key struct {
		table     string
		partition int
	}
	writers := map[key]*output.Writer{}
	for _, c := range chunks {
		k := key{c.table, c.partition}
		if writers[k] == nil {
			if writers[k], err = set.Partition(c.table, c.partition); err != nil {
				t.Fatal(err)
			}
		}
		if err := writers[k].WriteChunk([]byte(c.text), strings.Count(c.text, "\n")); err != nil {
			return set, errors.Join(err, set.Abort())
		}
	}
	for _, w := range writers {
		if err := w.Close(); err != nil {
			return set, errors.Join(err, set.Abort())
		}
	}
	return set, set.Commit(context.Background(), output.Manifest{SnapshotTimestamp: time.Unix(1e9, 123456789).UTC(), Format: "csv"})
}

// tree returns the files below dir with their text, hidden ones included.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(rel)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func wantTree(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	got := tree(t, dir)
	delete(got, output.ManifestName)
	if !maps.Equal(got, want) {
		t.Errorf("got files %q, want %q", got, want)
	}
}

var someChunks = []chunk{
	{"Orders", 0, "1\n2\n"}, {"Orders", 2, "3\n"}, {"Orders", 0, "4\n"}, {"Orders", 1, ""},
}

func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		name   string
		path   string // below the test's directory
		o      output.Options
		chunks []chunk
		want   map[string]string
	}{
		{name: "file", path: "orders.csv", chunks: someChunks,
			want: map[string]string{"orders.csv": "id\n1\n2\n3\n4\n"}},
		{name: "file without rows", path: "orders.csv",
			want: map[string]string{"orders.csv": "id\n"}},
		{name: "directory", path: "out/", chunks: someChunks,
			want: map[string]string{"out/Orders-00000.csv": "id\n1\n2\n4\n", "out/Orders-00002.csv": "id\n3\n"}},
		{name: "several tables", path: "out", o: output.Options{Tables: []output.Table{orders, table("sales.Items")}},
			chunks: []chunk{{"Orders", 0, "1\n"}, {"sales.Items", 0, "2\n"}},
			want:   map[string]string{"out/Orders/Orders-00000.csv": "id\n1\n", "out/sales.Items/sales.Items-00000.csv": "id\n2\n"}},
		{name: "template", path: "a/{table}-{shard}-{partition}.txt", o: output.Options{Shard: 3}, chunks: someChunks,
			want: map[string]string{"a/Orders-00003-00000.txt": "id\n1\n2\n4\n", "a/Orders-00003-00002.txt": "id\n3\n"}},
		{name: "template of a file a table", path: "{table}.csv", o: output.Options{Tables: []output.Table{orders, table("Items")}},
			chunks: []chunk{{"Orders", 0, "1\n"}, {"Orders", 1, "2\n"}},
			want:   map[string]string{"Orders.csv": "id\n1\n2\n", "Items.csv": "id\n"}},
		{name: "template of directories", path: "p{partition}/{table}.csv", chunks: someChunks,
			want: map[string]string{"p00000/Orders.csv": "id\n1\n2\n4\n", "p00002/Orders.csv": "id\n3\n"}},
		{name: "rolling file", path: "orders.csv", o: output.Options{MaxFileSize: 8}, chunks: someChunks,
			want: map[string]string{"orders-00000.csv": "id\n1\n2\n", "orders-00001.csv": "id\n3\n4\n"}},
		{name: "rolling file by its own extension", path: "orders.csv.out", o: output.Options{MaxFileSize: 1}, chunks: someChunks[1:2],
			want: map[string]string{"orders.csv-00000.out": "id\n3\n"}},
		{name: "rolling directory", path: "out/", o: output.Options{MaxFileSize: 1}, chunks: someChunks,
			want: map[string]string{"out/Orders-00000-00000.csv": "id\n1\n2\n", "out/Orders-00000-00001.csv": "id\n4\n", "out/Orders-00002-00000.csv": "id\n3\n"}},
		{name: "letters that globs know", path: "a[1]*?}x/orders-{partition}.csv", chunks: someChunks[1:2],
			want: map[string]string{"a[1]*?}x/orders-00002.csv": "id\n3\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			o := c.o
			o.Path, o.Extension = dir+"/"+c.path, ".csv"
			if o.Tables == nil {
				o.Tables = []output.Table{orders}
			}
			if _, err := export(t, o, c.chunks...); err != nil {
				t.Fatal(err)
			}
			got := tree(t, dir)
			delete(got, "out/"+output.ManifestName)
			if !maps.Equal(got, c.want) {
				t.Errorf("got files %q, want %q", got, c.want)
			}

			// Once more: refused, and then allowed.
			if len(c.want) > 0 {
				if _, err := export(t, o, c.chunks...); !errors.Is(err, output.ErrExists) {
					t.Errorf("the second time: got error %v, want ErrExists", err)
				}
				o.Overwrite = true
				if _, err := export(t, o, c.chunks...); err != nil {
					t.Error(err)
				}
				again := tree(t, dir)
				delete(again, "out/"+output.ManifestName)
				if !maps.Equal(again, c.want) {
					t.Errorf("overwritten: got files %q, want %q", again, c.want)
				}
			}
		})
	}
}

func TestManifest(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	o := output.Options{Path: dir, Extension: ".csv", Tables: []output.Table{orders, table("Empty")}}
	set, err := export(t, o, someChunks...)
	if err != nil {
		t.Fatal(err)
	}
	m, err := output.ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	if want := time.Unix(1e9, 123456789); !m.SnapshotTimestamp.Equal(want) || m.Version != 1 || m.Format != "csv" {
		t.Errorf("got %+v", m)
	}
	if len(m.Tables) != 2 || m.Tables[0].Name != "Orders" || m.Tables[0].Rows != 4 || len(m.Tables[0].Files) != 2 ||
		!slices.Equal(m.Tables[0].Columns, orders.Columns) || !slices.Equal(m.Tables[0].PrimaryKey, orders.PrimaryKey) {
		t.Errorf("got tables %+v", m.Tables)
	}
	if empty := m.Tables[1]; empty.Rows != 0 || empty.Files == nil || len(empty.Files) != 0 {
		t.Errorf("got empty table %+v", empty)
	}
	for _, f := range m.Tables[0].Files {
		b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(f.Name)))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(b)
		if f.Bytes != int64(len(b)) || f.SHA256 != hex.EncodeToString(sum[:]) || f.Rows != int64(bytes.Count(b, []byte("\n"))-1) {
			t.Errorf("file %+v holds %q", f, b)
		}
	}
	if files := set.Files(); len(files) != 2 || files[0].Name != filepath.Join(dir, "Orders", "Orders-00000.csv") {
		t.Errorf("got files %+v", files)
	}
}

// TestOverwriteReplacesAll lets a smaller export replace a larger one, beside
// files that are not part of it.
func TestOverwriteReplacesAll(t *testing.T) {
	dir := t.TempDir()
	o := output.Options{Path: dir, Extension: ".csv", Tables: []output.Table{orders}, Overwrite: true}
	if _, err := export(t, o, someChunks...); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"README", "Orders-1.csv", "Orders-00000.csv.gz"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := export(t, o, chunk{"Orders", 7, "8\n"}); err != nil {
		t.Fatal(err)
	}
	wantTree(t, dir, map[string]string{
		"Orders-00007.csv": "id\n8\n", "README": "mine", "Orders-1.csv": "mine", "Orders-00000.csv.gz": "mine"})
	m, err := output.ReadManifest(dir)
	if err != nil || len(m.Tables[0].Files) != 1 {
		t.Errorf("got manifest %+v, error %v", m, err)
	}
}

// TestAbort ends exports early in every place and looks for what is left.
// directoryIn makes an empty directory. That of a subtest has its name in its own,
// and where this has braces output takes them for its template.
func directoryIn(tb testing.TB, parent string) string {
	tb.Helper()
	dir, err := os.MkdirTemp(parent, "")
	if err != nil {
		tb.Fatal(err)
	}
	return dir
}

func TestAbort(t *testing.T) {
	parent := t.TempDir()
	for _, path := range []string{"orders.csv", "new/", "new/deep/{table}-{partition}.csv", "{partition}/x.csv"} {
		for _, earlier := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s earlier=%t", path, earlier), func(t *testing.T) {
				dir := directoryIn(t, parent)
				o := output.Options{Path: dir + "/" + path, Extension: ".csv", Tables: []output.Table{orders}}
				if earlier {
					if _, err := export(t, o, someChunks...); err != nil {
						t.Fatal(err)
					}
					o.Overwrite = true
				}
				before := tree(t, dir)
				set, err := output.Open(context.Background(), o)
				if err != nil {
					t.Fatal(err)
				}
				for i := range 3 {
					w, err := set.Partition("Orders", i)
					if err != nil {
						t.Fatal(err)
					}
					if err := w.WriteChunk([]byte("9\n"), 1); err != nil {
						t.Fatal(err)
					}
					if i == 0 {
						if err := w.Close(); err != nil {
							t.Fatal(err)
						}
					}
				}
				if err := set.Abort(); err != nil {
					t.Error(err)
				}
				if after := tree(t, dir); !maps.Equal(before, after) {
					t.Errorf("before %q, after %q", before, after)
				}
				if _, err := os.Stat(filepath.Join(dir, "new")); !earlier && err == nil {
					t.Error("the new directory is still there")
				}
				if err := set.Abort(); err != nil {
					t.Errorf("the second time: %v", err)
				}
			})
		}
	}
}

func TestCommitOfWhatFailed(t *testing.T) {
	dir := t.TempDir()
	open := func() (*output.Set, *output.Writer) {
		set, err := output.Open(context.Background(), output.Options{Path: dir + "/o-{partition}.csv", Tables: []output.Table{orders}})
		if err != nil {
			t.Fatal(err)
		}
		w, err := set.Partition("Orders", 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.WriteChunk([]byte("1\n"), 1); err != nil {
			t.Fatal(err)
		}
		return set, w
	}
	check := func(what string, err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want one with %q", what, err, want)
		}
		if files := tree(t, dir); len(files) != 0 {
			t.Errorf("%s: left %q", what, files)
		}
	}

	set, _ := open()
	check("open partition", set.Commit(context.Background(), output.Manifest{}), "not closed")

	set, w := open()
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("interrupted"))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	check("cancelled", set.Commit(ctx, output.Manifest{}), "interrupted")

	set, w = open()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	err := w.WriteChunk([]byte("2\n"), 1)
	if err == nil {
		t.Error("a chunk was taken after Close")
	}
	check("failed chunk", set.Commit(context.Background(), output.Manifest{}), err.Error())

	// Something took the name while the export ran.
	set, w = open()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "o-00000.csv")
	if err := os.WriteFile(name, []byte("theirs"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := set.Commit(context.Background(), output.Manifest{}); !errors.Is(err, output.ErrExists) {
		t.Errorf("got error %v, want ErrExists", err)
	}
	if files := tree(t, dir); !maps.Equal(files, map[string]string{"o-00000.csv": "theirs"}) {
		t.Errorf("left %q", files)
	}
}

// TestSamePartitionTwice would put two partitions' rows under one name.
func TestSamePartitionTwice(t *testing.T) {
	set, err := output.Open(context.Background(), output.Options{Path: t.TempDir(), Tables: []output.Table{orders}})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Abort()
	for i := range 2 {
		w, err := set.Partition("Orders", 4)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.WriteChunk([]byte("1\n"), 1); (err == nil) != (i == 0) {
			t.Errorf("chunk %d: error %v", i, err)
		}
	}
}

func TestConcurrentChunks(t *testing.T) {
	parent := t.TempDir()
	for _, path := range []string{"one.csv", "many-{partition}.csv", "dir/"} {
		t.Run(path, func(t *testing.T) {
			dir := directoryIn(t, parent)
			set, err := output.Open(context.Background(), output.Options{Path: dir + "/" + path, Extension: ".csv", Tables: []output.Table{orders}, MaxFileSize: 4096})
			if err != nil {
				t.Fatal(err)
			}
			const partitions, chunks = 8, 100
			var wg sync.WaitGroup
			for p := range partitions {
				wg.Go(func() {
					w, err := set.Partition("Orders", p)
					if err != nil {
						t.Error(err)
						return
					}
					var b []byte
					for c := range chunks {
						b = fmt.Appendf(b[:0], "begin %d %d\nend %d %d\n", p, c, p, c)
						if err := w.WriteChunk(b, 2); err != nil {
							t.Error(err)
						}
					}
					if err := w.Close(); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if err := set.Commit(context.Background(), output.Manifest{}); err != nil {
				t.Fatal(err)
			}
			seen, rows := map[string]bool{}, int64(0)
			for _, f := range set.Files() {
				b, err := os.ReadFile(f.Name)
				if err != nil {
					t.Fatal(err)
				}
				if int64(len(b)) != f.Bytes || f.Bytes > 4096 {
					t.Errorf("%+v has %d bytes", f, len(b))
				}
				rows += f.Rows
				lines := strings.Split(strings.TrimPrefix(string(b), "id\n"), "\n")
				for i := 0; i+1 < len(lines); i += 2 {
					id, ok := strings.CutPrefix(lines[i], "begin ")
					if !ok || lines[i+1] != "end "+id || seen[id] {
						t.Fatalf("%s: chunk torn or twice at %q, %q", f.Name, lines[i], lines[i+1])
					}
					seen[id] = true
				}
			}
			if len(seen) != partitions*chunks || rows != 2*partitions*chunks {
				t.Errorf("%d chunks and %d rows came back", len(seen), rows)
			}
		})
	}
}

func TestStdout(t *testing.T) {
	for _, path := range []string{"", "-"} {
		var b bytes.Buffer
		set, err := export(t, output.Options{Path: path, Stdout: &b, Tables: []output.Table{orders}}, someChunks...)
		if err != nil {
			t.Fatal(err)
		}
		if got := b.String(); got != "id\n1\n2\n3\n4\n" {
			t.Errorf("got %q", got)
		}
		if files := set.Files(); len(files) != 1 || files[0].Rows != 4 || files[0].Bytes != int64(b.Len()) {
			t.Errorf("got files %+v", files)
		}
	}
	var b bytes.Buffer
	if _, err := export(t, output.Options{Stdout: &b, Tables: []output.Table{orders}}); err != nil || b.String() != "id\n" {
		t.Errorf("no rows: got %q, error %v", b.String(), err)
	}
}

func TestReaderGone(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r.Close()
	_, err = export(t, output.Options{Stdout: w, Tables: []output.Table{orders}}, someChunks...)
	if !errors.Is(err, output.ErrReaderGone) || runtime.GOOS != "windows" && !errors.Is(err, syscall.EPIPE) {
		t.Errorf("got error %v, want ErrReaderGone", err)
	}
}

func TestFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full")
	}
	_, err := export(t, output.Options{Path: "/dev/full", Tables: []output.Table{orders}}, someChunks...)
	if !errors.Is(err, syscall.ENOSPC) || !strings.HasPrefix(err.Error(), "write /dev/full: ") {
		t.Errorf("got error %v, want ENOSPC", err)
	}
	// The directory cannot take a file.
	_, err = output.Open(context.Background(), output.Options{Path: "/proc/self/x.csv", Tables: []output.Table{orders}})
	if err == nil || !strings.HasPrefix(err.Error(), "create /proc/self/x.csv: ") {
		t.Errorf("got error %v", err)
	}
}

func TestLinkIsFollowed(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	if err := os.WriteFile(target, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Skip(err)
	}
	if _, err := export(t, output.Options{Path: link, Tables: []output.Table{orders}, Overwrite: true}, someChunks[1]); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(target); err != nil || string(b) != "id\n3\n" {
		t.Errorf("the target holds %q, error %v", b, err)
	}
}

func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	write := func(name string) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("google/spanner-export.json")
	write("broken/manifest.json")
	if err := os.WriteFile(filepath.Join(dir, "broken", "manifest.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	write("file.csv")
	write("stale/orders-00012.csv")
	two := []output.Table{orders, table("Items")}
	for _, c := range []struct {
		name string
		o    output.Options
		want string
	}{
		{"no tables", output.Options{}, "nothing to export"},
		{"table twice", output.Options{Tables: []output.Table{orders, orders}}, "table Orders is named twice"},
		{"name with a slash", output.Options{Path: "x", Tables: []output.Table{table("../x")}}, `"../x" cannot be a file name`},
		{"two tables on stdout", output.Options{Tables: two}, "standard output can take only one table"},
		{"size on stdout", output.Options{Tables: two[:1], MaxFileSize: 1}, "no files"},
		{"negative size", output.Options{Tables: two[:1], MaxFileSize: -1}, "negative"},
		{"unknown placeholder", output.Options{Path: "x-{date}", Tables: two[:1]}, "unknown placeholder {date}"},
		{"unclosed placeholder", output.Options{Path: "x-{partition}-{shard.csv", Tables: two[:1]}, "a { is not closed"},
		{"two tables in one file", output.Options{Path: "x-{partition}", Tables: two}, "several tables need {table}"},
		{"file as directory", output.Options{Path: dir + "/file.csv", Tables: two}, "a directory is needed"},
		{"file below a file", output.Options{Path: dir + "/file.csv/x", Tables: two[:1]}, "create "},
		{"file in no directory", output.Options{Path: dir + "/none/x.csv", Tables: two[:1]}, "no such file or directory"},
		{"file that exists", output.Options{Path: dir + "/file.csv", Tables: two[:1]}, "file.csv exists already"},
		{"Google's export", output.Options{Path: dir + "/google", Tables: two[:1], Overwrite: true}, "Google's tools"},
		{"unreadable manifest", output.Options{Path: dir + "/broken", Tables: two[:1], Overwrite: true}, "manifest.json: "},
		{"other partitions' files", output.Options{Path: dir + "/stale/orders-{partition}.csv", Tables: two[:1]}, "orders-00012.csv exists already"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := tree(t, dir)
			_, err := output.Open(context.Background(), c.o)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v, want one with %q", err, c.want)
			}
			if strings.Contains(fmt.Sprint(err), "\n") {
				t.Errorf("the error has several lines: %v", err)
			}
			if after := tree(t, dir); !maps.Equal(before, after) {
				t.Errorf("before %q, after %q", before, after)
			}
		})
	}
}

// TestOtherShardsStay lets shards share a template without taking each other's
// files for their own.
func TestOtherShardsStay(t *testing.T) {
	dir := t.TempDir()
	o := output.Options{Path: dir + "/{shard}-{partition}.csv", Tables: []output.Table{orders}, Overwrite: true}
	for o.Shard = range 3 {
		if _, err := export(t, o, someChunks[1]); err != nil {
			t.Fatal(err)
		}
	}
	wantTree(t, dir, map[string]string{"00000-00002.csv": "id\n3\n", "00001-00002.csv": "id\n3\n", "00002-00002.csv": "id\n3\n"})
}

func BenchmarkWriteChunk(b *testing.B) {
	for _, path := range []string{"one.ndjson", "dir/"} {
		b.Run(path, func(b *testing.B) {
			set, err := output.Open(context.Background(), output.Options{Path: b.TempDir() + "/" + path, Tables: []output.Table{{Name: "T"}}})
			if err != nil {
				b.Fatal(err)
			}
			defer set.Abort()
			w, err := set.Partition("T", 0)
			if err != nil {
				b.Fatal(err)
			}
			chunk := bytes.Repeat([]byte("x"), 256<<10)
			b.SetBytes(int64(len(chunk)))
			b.ReportAllocs()
			for b.Loop() {
				if err := w.WriteChunk(chunk, 1000); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
