package cmd

import (
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"github.com/twmb/avro"
	"github.com/twmb/avro/ocf"

	"spanbulk/internal/emulator"
	"spanbulk/internal/writer"
)

// TestImportEndsWhileThePipeIsIdle refuses a record, in each way there is, while
// the other end of stdin stays open and says nothing more.
func TestImportEndsWhileThePipeIsIdle(t *testing.T) {
	s := startSpanner(t, emulator.Options{}, "CREATE TABLE T (Id INT64 NOT NULL, Name STRING(5) NOT NULL) PRIMARY KEY (Id)")
	for name, c := range map[string]struct {
		input string
		args  []string
		want  string
	}{
		"unreadable":       {`{"Id":"x"}`, nil, "read stdin:2"},
		"jq":               {`{"Id":[]}`, []string{"--jq", "{Id: (.Id + 1), Name: .Name}"}, "run --jq on stdin:2"},
		"Spanner refuses":  {`{"Id":1,"Name":"there"}`, []string{"--operation", "insert"}, "write stdin:2 to table T: ALREADY_EXISTS"},
		"constraint":       {`{"Id":2,"Name":"too long"}`, nil, "write stdin:2 to table T: FAILED_PRECONDITION"},
		"no such row":      {`{"Id":99,"Name":"gone"}`, []string{"--operation", "update"}, "write stdin:2 to table T: NOT_FOUND"},
		"max-refused":      {`{"Id":"x"}`, []string{"--on-failure", "drop", "--max-refused", "0"}, "more than --max-refused 0"},
		"dead letter full": {`{"Id":"x"}`, []string{"--dead-letter", "/dev/full"}, "write /dev/full: the refused record of stdin:2 is not in it: no space left on device"},
	} {
		t.Run(name, func(t *testing.T) {
			s.deleteAll(t, "T")
			if stderr, code := importInto(t, s.target, strings.NewReader(`{"Id":1,"Name":"one"}`), "--quiet", "--table", "T"); code != exitDone {
				t.Fatal(stderr)
			}
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			defer w.Close()
			if _, err := w.WriteString(`{"Id":1,"Name":"one"}` + "\n" + c.input + "\n"); err != nil {
				t.Fatal(err)
			}
			if name == "Spanner refuses" { // the first record too
				c.want = "ALREADY_EXISTS"
			}
			ended := make(chan string, 1)
			go func() {
				stderr, code := importInto(t, s.target, r, append([]string{"--quiet", "--table", "T"}, c.args...)...)
				ended <- fmt.Sprintf("exit code %d: %s", code, stderr)
			}()
			select {
			case got := <-ended:
				if !strings.HasPrefix(got, "exit code 1: ") || !strings.Contains(got, c.want) {
					t.Errorf("got %s, want %s", got, c.want)
				}
			case <-time.After(time.Minute):
				w.Close()
				t.Errorf("it still waits for input; then: %s", <-ended)
			}
		})
	}
}

// TestDeadLettersAreThereAtOnce reads a dead letter while the import that wrote
// it still waits for input.
func TestDeadLettersAreThereAtOnce(t *testing.T) {
	s := startSpanner(t, emulator.Options{}, "CREATE TABLE T (Id INT64 NOT NULL) PRIMARY KEY (Id)")
	path := filepath.Join(t.TempDir(), "dead.ndjson")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ended := make(chan int, 1)
	go func() {
		_, code := importInto(t, s.target, r, "--quiet", "--table", "T", "--dead-letter", path)
		ended <- code
	}()
	if _, err := w.WriteString("{\"Id\":\"x\"}\n"); err != nil {
		t.Fatal(err)
	}
	var letter writer.Letter
	for deadline := time.Now().Add(time.Minute); ; {
		raw, _ := os.ReadFile(path)
		if json.Unmarshal(raw, &letter) == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no letter in a minute, but %q", raw)
		}
	}
	if letter.Line != 1 || letter.Table != "T" {
		t.Errorf("letter %+v", letter)
	}
	w.Close()
	if code := <-ended; code != exitRefused {
		t.Errorf("exit code %d", code)
	}
}

// TestImportGoogleExport imports a directory of Google's own export.
func TestImportGoogleExport(t *testing.T) {
	const source = "../../shared/data/google-avro-export"
	if _, err := os.Stat(source); err != nil {
		t.Skipf("%s is not here", source)
	}
	dir := t.TempDir()
	copyTo := func(from, to string) {
		raw, err := os.ReadFile(filepath.Join(source, from))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, to), raw, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	export := `{"tables":[`
	for i, table := range []string{"EmptyTable", "Float32Table"} {
		copyTo(table+"-manifest.json", table+"-manifest.json")
		copyTo(table+".avro", table+".avro-00000-of-00001") // as its manifest calls it
		if i > 0 {
			export += ","
		}
		export += fmt.Sprintf(`{"name":%q,"manifestFile":"%s-manifest.json"}`, table, table)
	}
	if err := os.WriteFile(filepath.Join(dir, "spanner-export.json"), []byte(export+`],"dialect":"GOOGLE_STANDARD_SQL"}`), 0o666); err != nil {
		t.Fatal(err)
	}
	s := startSpanner(t, emulator.Options{}, "CREATE TABLE EmptyTable (id INT64 NOT NULL) PRIMARY KEY (id)", "CREATE TABLE Float32Table (Key STRING(MAX) NOT NULL, Float32Value FLOAT32) PRIMARY KEY (Key)")
	if stderr, code := importInto(t, s.target, strings.NewReader(""), "--quiet", dir); code != exitDone {
		t.Fatal(stderr)
	}
	rows := s.query(t, "SELECT Key, Float32Value FROM Float32Table").rows
	if len(rows) == 0 || len(s.query(t, "SELECT id FROM EmptyTable").rows) != 0 {
		t.Errorf("%d rows", len(rows))
	}
	// What is damaged is noticed before anything is written.
	s.deleteAll(t, "Float32Table")
	damaged := filepath.Join(dir, "EmptyTable.avro-00000-of-00001")
	raw, err := os.ReadFile(damaged)
	if err == nil {
		raw[len(raw)-1] ^= 1
		err = os.WriteFile(damaged, raw, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	stderr, code := importInto(t, s.target, strings.NewReader(""), "--quiet", dir)
	if code != exitFailed || !strings.Contains(stderr, "the file's md5 is not the one in the manifest") || len(s.query(t, "SELECT Key FROM Float32Table").rows) != 0 {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// TestImportAvroOfOthers imports a file of another writer: logical types, unions
// in any order, enums, a field too many.
func TestImportAvroOfOthers(t *testing.T) {
	schema, err := avro.Parse(`{"type":"record","name":"Order","fields":[
		{"name":"id","type":"long"},
		{"name":"state","type":{"type":"enum","name":"State","symbols":["open","shipped"]}},
		{"name":"when","type":[{"type":"long","logicalType":"timestamp-millis"},"null"]},
		{"name":"day","type":["null",{"type":"int","logicalType":"date"}]},
		{"name":"total","type":{"type":"bytes","logicalType":"decimal","precision":10,"scale":2}},
		{"name":"tags","type":["null",{"type":"array","items":"string"}]},
		{"name":"note","type":["null","string"]}]}`)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "orders.avro")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	out, err := ocf.NewWriter(file, schema)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 31, 12, 0, 0, 5e6, time.UTC)
	for _, r := range []map[string]any{
		{"id": int64(1), "state": "shipped", "when": at, "day": at, "total": big.NewRat(-1250, 100), "tags": []any{"a", "b"}, "note": "kept"},
		{"id": int64(2), "state": "open", "when": nil, "day": nil, "total": big.NewRat(0, 1), "tags": nil, "note": nil},
	} {
		if err := out.Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	s := startSpanner(t, emulator.Options{}, "CREATE TABLE Orders (Id INT64 NOT NULL, State STRING(MAX), `When` TIMESTAMP, Day DATE, Total NUMERIC, Tags ARRAY<STRING(MAX)>) PRIMARY KEY (Id)")
	if stderr, code := importInto(t, s.target, strings.NewReader(""), "--quiet", "--table", "Orders", "--unknown-fields", "ignore", path); code != exitDone {
		t.Fatal(stderr)
	}
	got := s.read(t, &spannerpb.ReadRequest{Table: "Orders", Columns: []string{"Id", "State", "When", "Day", "Total", "Tags"}, KeySet: &spannerpb.KeySet{All: true}})
	text := strings.Join(strings.Fields(fmt.Sprint(got.rows)), " ")
	for _, want := range []string{`"1"`, `"shipped"`, `"2026-01-31T12:00:00.005Z"`, `"2026-01-31"`, `"-12.5"`, `"a"`, `"open"`, `"0"`} {
		if !strings.Contains(text, "string_value:"+want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
}
