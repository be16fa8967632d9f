package writer_test

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	"spanbulk/internal/fault"
	"spanbulk/internal/wire"
	"spanbulk/internal/writer"
)

var update = flag.Bool("update", false, "rewrite golden files")

// letters are refusals of every kind.
func letters() []writer.Refusal {
	csv := &writer.Source{Name: "orders.csv", Format: "csv", Context: "id,name", Flags: map[string]any{"csv-null": "-", "columns": []any{"id", "name"}}}
	return []writer.Refusal{
		{Source: source, Position: writer.Position{Source: "in.ndjson", Line: 3}, Raw: []byte(`{"id": 1.0, "name": "<é>\n"}`), Table: "T",
			Operation: wire.Insert, Sent: true, Code: codes.AlreadyExists, Message: `Row [1] in table T already exists`, UnknownOutcome: true},
		{Source: csv, Position: writer.Position{Source: "orders.csv", Line: 7}, Raw: []byte("1,\"two\r\nlines\"\r\n"), Table: "T",
			Operation: wire.Delete, Code: codes.InvalidArgument, Message: "too few fields"},
		{Source: csv, Position: writer.Position{Source: "orders.csv", Line: 9}, Raw: []byte("\xff\xfe"), Code: codes.InvalidArgument, Message: "bytes that are not UTF-8"},
		{Source: csv, Position: writer.Position{Source: "orders.csv", Line: 10}, Code: codes.InvalidArgument, Message: "larger than --max-record-bytes"},
		{Source: csv, Position: writer.Position{Source: "orders.csv", Number: 11}, Raw: []byte(`{"id":1}`), Made: true, Table: "T",
			Operation: wire.Replace, Code: codes.InvalidArgument, Message: "no"},
	}
}

func TestDeadLettersGoBackIn(t *testing.T) {
	var file bytes.Buffer
	synced := 0
	d := writer.DeadLetters("dead.ndjson", &file, func() error { synced++; return nil })
	all := letters()
	for i := range all {
		if err := d.Refuse(&all[i]); err != nil {
			t.Fatal(err)
		}
		if lines := bytes.Count(file.Bytes(), []byte{'\n'}); lines != i+1 {
			t.Fatalf("%d lines are in the file after %d letters: a process that is killed would lose the rest", lines, i+1)
		}
	}
	if err := d.Flush(); err != nil || synced != 1 {
		t.Fatalf("Flush returned %v, synced %d times", err, synced)
	}
	golden(t, "deadletters.ndjson", file.Bytes())
	r := writer.ReadLetters("dead.ndjson", &file)
	for i, want := range all {
		got, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		form, context := want.Source.Format, want.Source.Context
		if want.Made {
			form, context = "ndjson", ""
		}
		if got.Input != want.Source.Name || got.Format != form || got.Context != context || got.Made != want.Made || !reflect.DeepEqual(got.Flags, want.Source.Flags) ||
			got.Line != want.Position.Line || got.Number != want.Position.Number || got.Table != want.Table ||
			got.Status != fault.CodeName(want.Code) || got.Message != want.Message || got.UnknownOutcome != want.UnknownOutcome || r.Line() != int64(i+1) {
			t.Errorf("letter %d came back as %+v", i, got)
		}
		raw, err := got.Raw()
		if !bytes.Equal(raw, want.Raw) || (err != nil) != (want.Raw == nil) {
			t.Errorf("letter %d has the record %q (%v), want %q", i, raw, err, want.Raw)
		}
		if want.Operation != 0 && got.Operation != want.Operation.String() {
			t.Errorf("operation %q, want %v", got.Operation, want.Operation)
		}
	}
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("got %v after the last", err)
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func TestBadLetters(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON": "\n{\"a\":SECRET", "an array": "\n[]", "a record": "\n{\"id\":1}", "base64": "\n" + `{"status":"OK","recordBase64":"*"}`,
	} {
		_, err := writer.ReadLetters("dead.ndjson", strings.NewReader(text)).Next()
		if err == nil || !strings.HasPrefix(err.Error(), "read dead.ndjson:2: it is no dead letter") || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestTornLetter wants the letters before one that is cut off, and that said.
func TestTornLetter(t *testing.T) {
	whole := `{"input":"a","line":1,"status":"OK","record":"{}"}`
	for cut := range len(whole) {
		r := writer.ReadLetters("dead.ndjson", strings.NewReader(whole+"\n"+whole[:cut]))
		if l, err := r.Next(); err != nil || l.Line != 1 {
			t.Fatal(l, err)
		}
		_, err := r.Next()
		if cut == 0 && err != io.EOF || cut > 0 && !errors.Is(err, writer.ErrTorn) {
			t.Errorf("cut behind %d bytes: %v", cut, err)
		}
	}
	r := writer.ReadLetters("dead.ndjson", strings.NewReader(whole[:9]+"\n"+whole))
	if _, err := r.Next(); err == nil || errors.Is(err, writer.ErrTorn) {
		t.Errorf("a letter cut off before the last line is damage: %v", err)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// TestDeadLetterFileFails wants the run to fail with the file, at the latest at
// its end.
func TestDeadLetterFileFails(t *testing.T) {
	f := serve(t, &fake{})
	records := numbered(plainTable(t, 1), 3)
	records[1].Err = errors.New("bad")
	opt := quick(writer.Options{Refuser: writer.DeadLetters("dead.ndjson", fullDisk{}, nil)})
	_, err := write(t, connect(t, f.target), opt, records, 3)
	if err == nil || err.Error() != "write dead.ndjson: the refused record of in.ndjson:2 is not in it: no space left on device" {
		t.Errorf("got %v", err)
	}
}

func FuzzLetters(f *testing.F) {
	var file bytes.Buffer
	d := writer.DeadLetters("dead.ndjson", &file, nil)
	all := letters()
	for i := range all {
		if err := d.Refuse(&all[i]); err != nil {
			f.Fatal(err)
		}
	}
	if err := d.Flush(); err != nil {
		f.Fatal(err)
	}
	f.Add(file.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		r := writer.ReadLetters("f", bytes.NewReader(b))
		for range bytes.Count(b, []byte{'\n'}) + 1 {
			l, err := r.Next()
			if err != nil {
				return
			}
			if _, err := l.Raw(); err == nil && l.Record == nil && l.RecordBytes == nil {
				t.Error("a record out of nothing")
			}
		}
	})
}
