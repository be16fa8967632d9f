package emulator_test

import (
	"bytes"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/avro"
	"github.com/twmb/avro/ocf"
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
		"half character":  {"Users.ndjson", "{\"ID\":1,\"Name\":\"a\"}\n{\"ID\":2,\"Name\":\"\\ud800\"}\n", "line 2"},
		"commit":          {"Users.csv", "ID,Name\n1,a\n1,b\n", "Users.csv: records 1 to 2"},
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

const avroSchema = `{"type":"record","name":"T","namespace":"spannerexport","fields":[
	{"name":"K","type":"long"},{"name":"S","type":["null","string"]},{"name":"F","type":["null","double"]},{"name":"F32","type":["null","float"]},
	{"name":"B","type":["null","boolean"]},{"name":"Y","type":["null","bytes"]},{"name":"J","type":["null","string"]},
	{"name":"N","type":["null",{"type":"bytes","logicalType":"decimal","precision":38,"scale":9}]},
	{"name":"D","type":["null",{"type":"int","logicalType":"date"}]},{"name":"T","type":["null",{"type":"long","logicalType":"timestamp-micros"}]},
	{"name":"Text","type":["null","string"]},{"name":"U","type":["null",{"type":"string","logicalType":"uuid"}]},
	{"name":"A","type":["null",{"type":"array","items":["null","long"]}]},{"name":"G","type":["null","long"]}]}`

const avroDDL = `CREATE TABLE T (K INT64 NOT NULL, S STRING(MAX), F FLOAT64, F32 FLOAT32, B BOOL, Y BYTES(MAX), J JSON, N NUMERIC, D DATE, T TIMESTAMP,
	Text TIMESTAMP, U UUID, A ARRAY<INT64>, G INT64 AS (K + 1) STORED) PRIMARY KEY (K)`

func writeAvro(t testing.TB, path, schema string, codec ocf.WriterOpt, records ...map[string]any) {
	t.Helper()
	var out bytes.Buffer
	w, err := ocf.NewWriter(&out, avro.MustParse(schema), codec)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if err := w.Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Every type, in each codec that an export may have.
func TestLoadAvro(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678000, time.UTC)
	full := map[string]any{"K": int64(1), "S": "é", "F": math.NaN(), "F32": float32(3.14), "B": true, "Y": []byte("\x00\xff"), "J": `{"b":1,"a":null}`,
		"N": big.NewRat(-123, 100), "D": at, "T": at, "Text": "2026-01-02T03:04:05.000000067Z", "U": "9d4f7c7e-0b1a-4c39-a6a1-6e6f0f1b2c3d", "A": []any{int64(1), nil, int64(-7)}, "G": int64(2)}
	empty := map[string]any{"K": int64(2)}
	for name := range full {
		if name != "K" {
			empty[name] = nil
		}
	}
	const want = `1,é,NaN,3.140000104904175,true,AP8=,{"a":null,"b":1},-1.23,2026-01-02,2026-01-02T03:04:05.000678Z,2026-01-02T03:04:05.000000067Z,9d4f7c7e-0b1a-4c39-a6a1-6e6f0f1b2c3d,[1 <nil> -7],2|2,-,-,-,-,-,-,-,-,-,-,-,-,3`
	zstd, err := ocf.ZstdCodec(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, codec := range map[string]ocf.Codec{"deflate": ocf.DeflateCodec(6), "snappy": ocf.SnappyCodec(), "zstandard": zstd} {
		t.Run(name, func(t *testing.T) {
			f := start(t, emulator.Options{}, avroDDL)
			dir := t.TempDir()
			writeAvro(t, filepath.Join(dir, "T-0000.avro"), avroSchema, ocf.WithCodec(codec), full, empty)
			loaded, err := emulator.Load(t.Context(), f.srv, databaseName, dir)
			if err != nil || len(loaded) != 1 || loaded[0].Rows != 2 {
				t.Fatalf("loaded %v, error %v", loaded, err)
			}
			if got := f.cells(t, "T", "", "K,S,F,F32,B,Y,J,N,D,T,Text,U,A,G", all()); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// What the manifest of an export lists is read, and nothing else.
func TestLoadManifest(t *testing.T) {
	const m = `{"version":1,"database":"projects/x/instances/y/databases/z","format":"ndjson","tables":[{"name":"Users","rows":3,"files":[` +
		`{"name":"Users/Users-0000.ndjson","rows":2,"bytes":20},{"name":"Users/Users-0001.ndjson","rows":1,"bytes":10}]}]}`
	files := map[string]string{
		"manifest.json":           m,
		"Users/Users-0000.ndjson": "{\"ID\":1}\n{\"ID\":2}\n",
		"Users/Users-0001.ndjson": "{\"ID\":3}\n",
		"Users/Users-0002.ndjson": "left over",
		"Other.csv":               "no table",
	}
	f := start(t, emulator.Options{}, schemaU...)
	loaded, err := emulator.Load(t.Context(), f.srv, databaseName, writeFiles(t, files))
	if err != nil || len(loaded) != 2 {
		t.Fatalf("loaded %v, error %v", loaded, err)
	}
	if got := f.cells(t, "Users", "", "ID", all()); got != "1|2|3" {
		t.Errorf("rows %s", got)
	}
	for name, c := range map[string]struct{ manifest, want string }{
		"fewer rows": {strings.Replace(m, `"rows":2`, `"rows":5`, 1), "it has 2 rows, and the manifest says 5"},
		"missing":    {strings.Replace(m, "Users-0001", "Users-0009", 1), "no such file"},
		"outside":    {strings.Replace(m, "Users/Users-0001", "../Users-0001", 1), "is not in the directory"},
		"unknown":    {strings.Replace(m, `"Users","rows"`, `"Nobody","rows"`, 1), "the database has no table Nobody"},
		"broken":     {`{"version":`, "it is no manifest"},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, emulator.Options{}, schemaU...)
			files["manifest.json"] = c.manifest
			_, err := emulator.Load(t.Context(), f.srv, databaseName, writeFiles(t, files))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// An export holds the values of generated columns, which no mutation may.
func TestLoadLeavesOutGeneratedColumns(t *testing.T) {
	f := start(t, emulator.Options{}, `CREATE TABLE G (K INT64 NOT NULL, G INT64 AS (K + 1) STORED, V INT64) PRIMARY KEY (K)`)
	dir := writeFiles(t, map[string]string{"G.csv": "G,K,V\n9,1,5\n", "G-1.ndjson": `{"K":2,"G":9,"V":6}` + "\n" + `{"G":9,"K":3}` + "\n"})
	if _, err := emulator.Load(t.Context(), f.srv, databaseName, dir); err != nil {
		t.Fatal(err)
	}
	if got := f.cells(t, "G", "", "K,G,V", all()); got != "1,2,5|2,3,6|3,4,-" {
		t.Errorf("rows %s", got)
	}
}
