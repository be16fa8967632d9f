package input_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"spanbulk/internal/fault"
	"spanbulk/internal/format"
	"spanbulk/internal/input"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// write makes files in a directory of the test's.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func gzipped(t *testing.T, parts ...string) string {
	t.Helper()
	var b bytes.Buffer
	for _, p := range parts {
		w := gzip.NewWriter(&b)
		if _, err := w.Write([]byte(p)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// readAll reads files and returns their chunks as text, marked with where they
// begin.
func readAll(t *testing.T, files []*input.File, o input.Options) (string, error) {
	t.Helper()
	var b strings.Builder
	o.Decoders = 3
	err := input.Read(t.Context(), files, o,
		func(_ int, batch *input.Batch) (string, error) {
			defer batch.Release()
			return fmt.Sprintf("%s:%d %s %q\n", filepath.Base(batch.File.Name()), batch.Chunk.Line, batch.Chunk.Kind, batch.Chunk.Data), nil
		},
		func(s string) error { b.WriteString(s); return nil })
	return b.String(), err
}

func find(t *testing.T, args ...string) []*input.File {
	t.Helper()
	files, err := input.Find(args)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestDetection tells format and compression by name, and by content where the
// name says nothing.
func TestDetection(t *testing.T) {
	dir := write(t, map[string]string{
		"a.ndjson":    "{}\n",
		"b.csv":       "x\n1\n",
		"c.ndjson.gz": gzipped(t, "{}\n", "{ }\n"),
		"d":           "\n {}\n",
		"e":           "x,y\n1,2\n",
		"f":           gzipped(t, "x\n1\n"),
		"g.csv":       gzipped(t, "x\n1\n"),
		"h.txt":       "",
		"i.ndjson.gz": "",
		"j":           "(1,2)\n(3,4)",
	})
	got, err := readAll(t, find(t, filepath.Join(dir, "*")), input.Options{})
	want := `a.ndjson:1 ndjson "{}\n"
b.csv:2 csv "1\n"
c.ndjson.gz:1 ndjson "{}\n{ }\n"
d:1 ndjson "\n {}\n"
e:2 csv "1,2\n"
f:2 csv "1\n"
g.csv:2 csv "1\n"
j:2 csv "(3,4)"
`
	if err != nil || got != want {
		t.Errorf("error %v, got\n%swant\n%s", err, got, want)
	}
	got, err = readAll(t, find(t, filepath.Join(dir, "b.csv")), input.Options{Kind: format.NDJSON})
	if want := "b.csv:1 ndjson \"x\\n1\\n\"\n"; err != nil || got != want {
		t.Errorf("error %v, got %s", err, got)
	}
}

// TestOrder delivers the chunks of a large input in its order, whatever the
// decoders do, and counts lines.
func TestOrder(t *testing.T) {
	var text strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&text, "{\"n\":%d}\n", i)
	}
	progress := new(input.Progress)
	o := input.Options{Stdin: strings.NewReader(text.String()), Decoders: 4, Progress: progress, Split: format.SplitOptions{ChunkBytes: 1000}}
	var got strings.Builder
	line := int64(1)
	err := input.Read(t.Context(), find(t), o,
		func(_ int, b *input.Batch) (*input.Batch, error) { return b, nil },
		func(b *input.Batch) error {
			if b.Chunk.Line != line {
				t.Errorf("a chunk begins at line %d, want %d", b.Chunk.Line, line)
			}
			line += int64(bytes.Count(b.Chunk.Data, []byte("\n")))
			got.Write(b.Chunk.Data)
			b.Release()
			return nil
		})
	if err != nil || got.String() != text.String() || progress.Bytes.Load() != int64(text.Len()) {
		t.Errorf("error %v, %d bytes of %d, %d counted", err, got.Len(), text.Len(), progress.Bytes.Load())
	}
}

// TestErrorsInOrder: the first error of the input is returned, after all before
// it was delivered.
func TestErrorsInOrder(t *testing.T) {
	dir := write(t, map[string]string{
		"a.csv":       "x\n1\n",
		"b.ndjson.gz": gzipped(t, "{}\n")[:20],
		"c.csv":       "x\n2\n",
	})
	got, err := readAll(t, find(t, filepath.Join(dir, "*")), input.Options{})
	if want := "a.csv:2 csv \"1\\n\"\nb.ndjson.gz:1 ndjson \"{}\\n\"\n"; got != want || !strings.HasSuffix(fmt.Sprint(err), "b.ndjson.gz:2: the gzip stream is cut off: unexpected EOF") {
		t.Errorf("got %s, error %v", got, err)
	}
	broken := errors.New("broken")
	for _, at := range []string{"decode", "deliver"} {
		delivered := 0
		err := input.Read(t.Context(), find(t, filepath.Join(dir, "[ac].csv")), input.Options{Decoders: 2, Split: format.SplitOptions{ChunkBytes: 1}},
			func(_ int, b *input.Batch) (bool, error) {
				if at == "decode" && strings.HasSuffix(b.File.Path, "c.csv") {
					return false, broken
				}
				return strings.HasSuffix(b.File.Path, "c.csv"), nil
			},
			func(last bool) error {
				if last {
					return broken
				}
				delivered++
				return nil
			})
		if delivered != 1 || err == nil || !strings.Contains(err.Error(), "broken") {
			t.Errorf("%s: %d delivered, error %v", at, delivered, err)
		}
	}
}

// TestDecodedBesideError delivers what was decoded before the error in a chunk.
func TestDecodedBesideError(t *testing.T) {
	dir := write(t, map[string]string{"a.ndjson": "{}\n{}\n", "b.ndjson": "{}\n"})
	broken := errors.New("broken")
	var got []string
	err := input.Read(t.Context(), find(t, filepath.Join(dir, "*")), input.Options{Decoders: 2},
		func(_ int, b *input.Batch) (string, error) { return filepath.Base(b.File.Name()), broken },
		func(s string) error { got = append(got, s); return nil })
	if len(got) != 1 || got[0] != "a.ndjson" || err == nil || !strings.HasSuffix(err.Error(), "a.ndjson: broken") {
		t.Errorf("got %q, error %v", got, err)
	}
}

// TestInterrupted ends while a pipe gives nothing.
func TestInterrupted(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	if _, err := w.WriteString("{}\n"); err != nil {
		t.Fatal(err)
	}
	err = input.Read(ctx, find(t), input.Options{Stdin: r, Decoders: 1},
		func(_ int, b *input.Batch) (string, error) { return string(b.Chunk.Data), nil },
		func(string) error { cancel(stopped); return nil })
	if !errors.Is(err, stopped) {
		t.Errorf("error %v", err)
	}
}

// TestExportDirectory reads a directory with a manifest, and notices what is not
// as the manifest says.
func TestExportDirectory(t *testing.T) {
	const file = "{\"Id\":1}\n"
	sum := sha256.Sum256([]byte(file))
	manifest := fmt.Sprintf(`{"version":1,"format":"ndjson","compression":"none","tables":[{"name":"s.Orders","files":[{"name":"Orders/0.ndjson","rows":1,"bytes":%d,"sha256":%q}]}]}`, len(file), hex.EncodeToString(sum[:]))
	dir := write(t, map[string]string{"manifest.json": manifest, "Orders/0.ndjson": file, "Orders/stray.ndjson": "{}\n"})
	files := find(t, dir)
	if len(files) != 1 || files[0].Table != "s.Orders" || input.TotalBytes(files) != int64(len(file)) || len(input.Tables(files)) != 1 {
		t.Fatalf("found %+v", files)
	}
	if got, err := readAll(t, files, input.Options{}); err != nil || got != "0.ndjson:1 ndjson \"{\\\"Id\\\":1}\\n\"\n" {
		t.Errorf("error %v, got %s", err, got)
	}
	damaged := write(t, map[string]string{"manifest.json": manifest, "Orders/0.ndjson": strings.Replace(file, "1", "2", 1)})
	if _, err := readAll(t, find(t, damaged), input.Options{}); err == nil || !strings.HasSuffix(err.Error(), "0.ndjson: the file's sha256 is not the one in the manifest: it was changed or damaged") {
		t.Errorf("error %v", err)
	}
	files = find(t, dir)
	if err := input.Verify(t.Context(), append(files, find(t, damaged)...), 2); err == nil || !strings.HasSuffix(err.Error(), "0.ndjson: the file's sha256 is not the one in the manifest: it was changed or damaged") {
		t.Errorf("error %v", err)
	}
	if err := input.Verify(t.Context(), files, 2); err != nil {
		t.Error(err)
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"foreign":   {map[string]string{"manifest.json": `{"name":"My App","icons":[]}`}, "manifest.json: it is no manifest of an export by spanbulk: it has no version"},
		"web":       {map[string]string{"manifest.json": `[1]`}, "manifest.json: it is no manifest of an export by spanbulk: it is not JSON of its form"},
		"newer":     {map[string]string{"manifest.json": `{"version":2}`}, "manifest.json: the manifest has version 2 and this spanbulk reads version 1"},
		"empty":     {map[string]string{"manifest.json": `{"version":1,"tables":[]}`}, "manifest.json: it is no manifest of an export by spanbulk: it names no tables"},
		"nameless":  {map[string]string{"manifest.json": `{"version":1,"tables":[{}]}`}, "its table 1 has no name"},
		"no tables": {map[string]string{"spanner-export.json": `{}`}, "spanner-export.json: it names no tables"},
		"short":     {map[string]string{"manifest.json": manifest, "Orders/0.ndjson": "{}\n"}, "the file has 3 bytes and the manifest says 9"},
		"missing":   {map[string]string{"manifest.json": manifest}, "no such file or directory"},
		"outside":   {map[string]string{"manifest.json": strings.Replace(manifest, "Orders/0", "../0", 1)}, `a manifest names "../0.ndjson", which is not in the directory`},
		"no JSON":   {map[string]string{"manifest.json": "{"}, "manifest.json"},
		"unwhole":   {map[string]string{"0.ndjson": file}, "the directory holds no whole export: it has neither manifest.json nor spanner-export.json"},
		"checksum":  {map[string]string{"manifest.json": strings.Replace(manifest, hex.EncodeToString(sum[:]), "zz", 1), "Orders/0.ndjson": file}, "the checksum of Orders/0.ndjson is none"},
	} {
		_, err := input.Find([]string{write(t, c.files)})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", name, err, c.want)
		}
	}
}

// TestDirectoryWithoutManifest suggests the files that are there.
func TestDirectoryWithoutManifest(t *testing.T) {
	for name, c := range map[string]struct {
		files []string
		want  string // with DIR for the directory
	}{
		"NDJSON":   {[]string{"a.ndjson", "b.ndjson"}, "name the files: DIR/*.ndjson"},
		"Avro":     {[]string{"Orders-00.avro", "Orders-manifest.json"}, "name the files: DIR/*.avro"},
		"Google's": {[]string{"T.avro-00000-of-00001"}, "name the files: DIR/*.avro-*"},
		"CSV":      {[]string{"a.CSV.gz", "README.txt", "x.gz"}, "name the files: DIR/*.CSV.gz"},
		"below":    {[]string{"Orders/0.csv.zst", "Orders/1.csv.zst"}, "name the files: DIR/Orders/*.csv.zst"},
		"many":     {[]string{"a.avro", "a.csv", "a.jsonl", "b/a.ndjson"}, "name the files: DIR/*.avro DIR/*.csv DIR/*.jsonl"},
		"none":     {[]string{"README.txt", ".keep"}, "name the files with the records"},
	} {
		files := map[string]string{}
		for _, f := range c.files {
			files[f] = ""
		}
		dir := write(t, files)
		_, err := input.Find([]string{dir})
		want := strings.ReplaceAll(filepath.FromSlash(c.want), "DIR", dir)
		if got := fault.Hint(err); got != want {
			t.Errorf("%s: hint %q, want %q", name, got, want)
		}
	}
}

// TestGoogleDirectory reads a directory as Google's export lays it out.
func TestGoogleDirectory(t *testing.T) {
	source := filepath.Join("..", "..", "..", "shared", "data", "google-avro-export")
	avro, err := os.ReadFile(filepath.Join(source, "Float32Table.avro"))
	if err != nil {
		t.Skip("no file of Google's export beside the project: ", err)
	}
	manifest, err := os.ReadFile(filepath.Join(source, "Float32Table-manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	const export = `{"tables":[{"name":"Float32Table","manifestFile":"Float32Table-manifest.json"}],"dialect":"GOOGLE_STANDARD_SQL"}`
	dir := write(t, map[string]string{"spanner-export.json": export, "Float32Table-manifest.json": string(manifest), "Float32Table.avro-00000-of-00001": string(avro)})
	files := find(t, dir)
	if len(files) != 1 || files[0].Table != "Float32Table" || files[0].Kind != format.Avro {
		t.Fatalf("found %+v", files)
	}
	if _, err := readAll(t, files, input.Options{}); err != nil {
		t.Error(err)
	}
	sum := md5.Sum([]byte("something else"))
	other := fmt.Sprintf(`{"files":[{"name":"Float32Table.avro-00000-of-00001","md5":%q}]}`, base64.StdEncoding.EncodeToString(sum[:]))
	if err := os.WriteFile(filepath.Join(dir, "Float32Table-manifest.json"), []byte(other), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := readAll(t, find(t, dir), input.Options{}); err == nil || !strings.Contains(err.Error(), "the file's md5 is not the one in the manifest") {
		t.Errorf("error %v", err)
	}
}

func TestFindRefuses(t *testing.T) {
	dir := write(t, map[string]string{"a.csv": "", "b.csv": ""})
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{filepath.Join(dir, "none.csv")}, "none.csv: no such file or directory"},
		{[]string{filepath.Join(dir, "*.avro")}, "*.avro: no file matches"},
		{[]string{filepath.Join(dir, "a.csv"), filepath.Join(dir, "?.csv")}, "a.csv: the input is named twice"},
		{[]string{filepath.Join(dir, "a.csv"), dir + "/./a.csv"}, "a.csv: the input is named twice"},
		{[]string{"-", "-"}, "read stdin: the input is named twice"},
	} {
		if _, err := input.Find(c.args); err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%v: error %v, want %s", c.args, err, c.want)
		}
	}
}

// TestLayoutError names the place of a header that cannot be used.
func TestLayoutError(t *testing.T) {
	dir := write(t, map[string]string{"a.csv": "x,x\n1,2\n"})
	_, err := readAll(t, find(t, filepath.Join(dir, "a.csv")), input.Options{})
	var f *fault.Error
	if !errors.As(err, &f) || !strings.Contains(err.Error(), "a.csv:1:3: field 2 of the header has the name of field 1: the message is hidden") ||
		!strings.HasSuffix(f.Text(true), `it is "x"`) || !strings.Contains(f.Hint, "--csv-header=false") {
		t.Errorf("error %v", err)
	}
}

func BenchmarkRead(b *testing.B) {
	line := []byte(strings.Repeat("x", 199) + "\n")
	text := bytes.Repeat(line, 100_000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		err := input.Read(b.Context(), []*input.File{{Path: input.Stdin}}, input.Options{Stdin: bytes.NewReader(text), Kind: format.NDJSON, Compression: format.None, Decoders: 2},
			func(_ int, batch *input.Batch) (*input.Batch, error) { return batch, nil },
			func(batch *input.Batch) error { batch.Release(); return nil })
		if err != nil && err != io.EOF {
			b.Fatal(err)
		}
	}
}

// TestHugeRecords: behind a record that is larger than all that may be held,
// none is read until it is released, whether its chunk was let go before or not.
func TestHugeRecords(t *testing.T) {
	const size, records = 2 << 20, 6
	text := strings.Repeat(strings.Repeat("x", size-1)+"\n", records)
	progress := new(input.Progress)
	o := input.Options{Stdin: strings.NewReader(text), Kind: format.NDJSON, HoldBytes: 1 << 20, Decoders: 2, Progress: progress}
	delivered := 0
	err := input.Read(t.Context(), find(t), o,
		func(_ int, b *input.Batch) (*input.Batch, error) {
			if !b.Large() || len(b.Chunk.Data) != size {
				t.Errorf("a chunk of %d bytes, large: %v", len(b.Chunk.Data), b.Large())
			}
			if b.Chunk.Line%2 == 0 {
				b.LetGo()
				if len(b.Chunk.Data) > 0 {
					t.Error("the chunk is still there")
				}
			}
			return b, nil
		},
		func(b *input.Batch) error {
			delivered++
			if ahead := progress.Bytes.Load() - int64(delivered*size); ahead > size {
				t.Errorf("%d bytes are read behind record %d, which is still held", ahead, delivered)
			}
			b.Release()
			return nil
		})
	if err != nil || delivered != records {
		t.Errorf("%d records, error %v", delivered, err)
	}
}
