package emulator_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/emulator"
)

func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestLoad(t *testing.T) {
	parent := `CREATE TABLE Parents (K INT64 NOT NULL, S STRING(MAX) DEFAULT ('d'), F FLOAT64, B BOOL, J JSON, A ARRAY<STRING(MAX)>, N NUMERIC, T TIMESTAMP) PRIMARY KEY (K)`
	child := `CREATE TABLE Children (K INT64 NOT NULL, L INT64 NOT NULL) PRIMARY KEY (K, L), INTERLEAVE IN PARENT Parents`
	f := start(t, emulator.Options{}, parent, child)
	dir := writeFiles(t, map[string]string{
		"Children.csv": "\xef\xbb\xbfk,L\r\n1,1\r\n2,1\r\n",
		"Parents.csv": "K,S,F,B,J,A,N,T\n" +
			`1,"a ""quoted"", text` + "\nof two lines" + `",1.5,true,"{""b"":1,""a"":null}","[""x"",null]",1.50,2026-01-02T03:04:05Z` + "\n" +
			`2,"",NaN,false,null,[],,` + "\n\n" + `3,,,,,,,`,
		"Parents/more-0001.ndjson": `{"K":4,"S":"caf\u00e9","F":2,"B":true,"J":{"$json":null},"A":["y"],"N":7,"T":null}` + "\n" + ` {"J": {"z": [1, 2]} , "K": "5"}`,
		"manifest.json":            "{}",
	})
	loaded, err := emulator.Load(t.Context(), f.srv, databaseName, dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []emulator.Loaded{{Table: "Parents", Rows: 2}, {Table: "Parents", Rows: 3}, {Table: "Children", Rows: 2}}
	if len(loaded) == 3 && loaded[0].Rows == 3 {
		want[0], want[1] = want[1], want[0]
	}
	if d := cmp.Diff(want, loaded); d != "" {
		t.Errorf("loaded (-want +got)\n%s", d)
	}
	got := strings.Split(f.cells(t, "Parents", "", "K,S,F,B,J,N,T", all()), "|")
	rows := []string{
		"1,a \"quoted\", text\nof two lines,1.5,true,{\"a\":null,\"b\":1},1.5,2026-01-02T03:04:05Z",
		"2,,NaN,false,null,-,-",
		"3,-,-,-,-,-,-",
		"4,café,2,true,null,7,-",
		`5,d,-,-,{"z":[1,2]},-,-`,
	}
	if d := cmp.Diff(rows, got); d != "" {
		t.Errorf("rows (-want +got)\n%s", d)
	}
	if got := f.cells(t, "Children", "", "K,L", all()); got != "1,1|2,1" {
		t.Errorf("children %s", got)
	}
}

func TestLoadErrorsNameFileAndLine(t *testing.T) {
	for name, c := range map[string]struct{ file, text, want string }{
		"unknown table":   {"Nope.csv", "K\n1\n", "no table Nope"},
		"unknown column":  {"Users.csv", "ID,Nope\n1,2\n", "line 1"},
		"fields":          {"Users.csv", "ID,Name\n1,a\n2\n", "line 3"},
		"open quote":      {"Users.csv", "ID,Name\n1,\"a\n", "not closed"},
		"stray quote":     {"Users.csv", "ID,Name\n1,a\"b\"\n", "bare field"},
		"json":            {"Users.ndjson", "{\"ID\":1}\n{\"ID\":\n", "line 2"},
		"field twice":     {"Users.ndjson", "{\"ID\":1,\"ID\":2}\n", "twice"},
		"trailing":        {"Users.ndjson", "{\"ID\":1} x\n", "after the JSON object"},
		"number for text": {"Users.ndjson", "{\"ID\":1,\"Name\":5}\n", "line 1"},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, emulator.Options{}, schemaU...)
			_, err := emulator.Load(t.Context(), f.srv, databaseName, writeFiles(t, map[string]string{c.file: c.text}))
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.file) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
	f := start(t, emulator.Options{}, schemaU...)
	_, err := emulator.Load(t.Context(), f.srv, databaseName, writeFiles(t, map[string]string{"Users.csv": "ID\n1\n1\n"}))
	if status.Code(err) != codes.InvalidArgument && status.Code(err) != codes.AlreadyExists {
		t.Errorf("a key twice: %v", err)
	}
}

// World cities: names in many scripts.
func TestLoadWorldCities(t *testing.T) {
	const source = "../../../shared/data/world-cities/world-cities.csv"
	text, err := os.ReadFile(source)
	if err != nil {
		t.Skipf("%s is not there", source)
	}
	header, _, _ := strings.Cut(string(text), "\n")
	var columns []string
	for name := range strings.SplitSeq(strings.TrimSpace(header), ",") {
		columns = append(columns, name+" STRING(MAX)")
	}
	key := strings.Split(strings.TrimSpace(header), ",")
	f := start(t, emulator.Options{}, "CREATE TABLE Cities ("+strings.Join(columns, ", ")+") PRIMARY KEY ("+key[len(key)-1]+", "+key[0]+")")
	loaded, err := emulator.Load(t.Context(), f.srv, databaseName, writeFiles(t, map[string]string{"Cities.csv": string(text)}))
	if err != nil {
		t.Fatal(err)
	}
	if len(loaded) != 1 || loaded[0].Rows != 34_032 {
		t.Errorf("loaded %v", loaded)
	}
}
