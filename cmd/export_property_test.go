package cmd

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/emulator"
	"spanbulk/internal/randtest"
)

// TestExportEqualsPlainRead makes up tables with rows of every type, exports them
// in random ways from a server that cuts messages anywhere and breaks streams,
// reads the output back, and compares it with a plain read.
func TestExportEqualsPlainRead(t *testing.T) {
	r := randtest.New(t)
	for round := range randtest.Rounds(6) {
		g := generate(r, round%2 == 1)
		g.fill(r.IntN(120))
		ok := t.Run(fmt.Sprintf("%d/%v", round, g.dialect()), func(t *testing.T) {
			s := startSpannerIn(t, g.dialect(), emulator.Options{Partitions: 1 + r.IntN(9), NoEmptyPartitions: r.IntN(2) == 0}, g.ddl()...)
			s.insert(t, g.tableName(), g.names(), g.rows)
			for range 8 {
				newTrial(g, s, t).run(t)
			}
		})
		if !ok {
			return
		}
	}
}

// trial is one export with what it has to come to.
type trial struct {
	*generated
	s    *testSpanner
	args []string
	form exported
	want *resultSet
	path string // of the output; empty for stdout
}

func newTrial(g *generated, s *testSpanner, t *testing.T) *trial {
	x := &trial{generated: g, s: s, args: []string{"--table", g.tableName()}}
	x.s.Trouble(func(s *emulator.Server) {
		s.Faults().Clear()
		s.SetMessages(emulator.Messages{})
	})
	pick(g.r, x.wholeTable, x.ofColumns, x.ofIndex, x.ofKeys, x.ofKeyRange, x.ofPrefix, x.ofCondition, x.ofCondition, x.ofQuery)(t)
	x.chooseFormat(pick(g.r, "ndjson", "ndjson", "csv", "avro"))
	x.chooseOutput(t)
	x.args = append(x.args, "--parallelism", fmt.Sprint(1+g.r.IntN(9)), "--max-rows-per-fetch", pick(g.r, "1", "7", "1000"),
		"--max-bytes-per-fetch", pick(g.r, "1", "500", "12MiB"))
	return x
}

func (x *trial) add(args ...string) { x.args = append(x.args, args...) }

func (x *trial) wholeTable(t *testing.T) { x.want = x.read(t, &spannerpb.KeySet{All: true}) }

func (x *trial) read(t *testing.T, keys *spannerpb.KeySet) *resultSet {
	return x.s.read(t, &spannerpb.ReadRequest{Table: x.tableName(), Columns: x.names(), KeySet: keys})
}

func (x *trial) ofColumns(t *testing.T) {
	names := x.names()
	x.r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	names = names[:1+x.r.IntN(len(names))]
	list := strings.Join(names, ",")
	if !x.pg {
		list = strings.ToUpper(list) // as GoogleSQL's names match in any case
	}
	x.add("--columns", list)
	x.want = x.s.read(t, &spannerpb.ReadRequest{Table: x.tableName(), Columns: names, KeySet: &spannerpb.KeySet{All: true}})
}

func (x *trial) ofIndex(t *testing.T) {
	if x.index == nil {
		x.wholeTable(t)
		return
	}
	names := append(slices.Clone(x.storing), x.columns[0].name)
	index := "byindex"
	if x.pg {
		index = "ByIndex"
	}
	x.add("--index", index, "--columns", strings.Join(names, ","))
	_, index = x.in("ByIndex")
	x.want = x.s.read(t, &spannerpb.ReadRequest{Table: x.tableName(), Index: index, Columns: names, KeySet: &spannerpb.KeySet{All: true}})
}

// keyOf returns the first n parts of a row's key.
func keyOf(row []*structpb.Value, n int) *structpb.ListValue {
	return &structpb.ListValue{Values: row[:n]}
}

func keyText(t *testing.T, key *structpb.ListValue) string {
	t.Helper()
	b, err := json.Marshal(key.AsSlice())
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func (x *trial) ofKeys(t *testing.T) {
	set := &spannerpb.KeySet{}
	for range min(len(x.rows), 3) {
		key := keyOf(pick(x.r, x.rows...), x.keyLen)
		set.Keys = append(set.Keys, key)
		x.add("--key", keyText(t, key))
	}
	if len(set.Keys) == 0 {
		set.All = true
	}
	x.want = x.read(t, set)
}

func (x *trial) ofPrefix(t *testing.T) {
	if len(x.rows) == 0 {
		x.wholeTable(t)
		return
	}
	key := keyOf(pick(x.r, x.rows...), 1+x.r.IntN(x.keyLen))
	x.add("--key-prefix", keyText(t, key))
	x.want = x.read(t, &spannerpb.KeySet{Ranges: []*spannerpb.KeyRange{{
		StartKeyType: &spannerpb.KeyRange_StartClosed{StartClosed: key}, EndKeyType: &spannerpb.KeyRange_EndClosed{EndClosed: key},
	}}})
}

// ofKeyRange takes two rows, in the order of the key, as the ends.
func (x *trial) ofKeyRange(t *testing.T) {
	sorted := x.read(t, &spannerpb.KeySet{All: true}).rows
	if len(sorted) == 0 {
		x.wholeTable(t)
		return
	}
	i, j := x.r.IntN(len(sorted)), x.r.IntN(len(sorted))
	n := 1 + x.r.IntN(x.keyLen)
	start, end := keyOf(sorted[min(i, j)], n), keyOf(sorted[max(i, j)], n)
	key := &spannerpb.KeyRange{StartKeyType: &spannerpb.KeyRange_StartOpen{StartOpen: start}, EndKeyType: &spannerpb.KeyRange_EndOpen{EndOpen: end}}
	open, closing := "(", ")"
	if x.r.IntN(2) == 0 {
		open, key.StartKeyType = "[", &spannerpb.KeyRange_StartClosed{StartClosed: start}
	}
	if x.r.IntN(2) == 0 {
		closing, key.EndKeyType = "]", &spannerpb.KeyRange_EndClosed{EndClosed: end}
	}
	x.add("--key-range", open+keyText(t, start)+","+keyText(t, end)+closing)
	x.want = x.read(t, &spannerpb.KeySet{Ranges: []*spannerpb.KeyRange{key}})
}

// ofCondition makes up a condition, mostly one about the first columns of the
// key, which becomes a key set; the server works it out as SQL.
func (x *trial) ofCondition(t *testing.T) {
	var terms []string
	for i := range 1 + x.r.IntN(x.keyLen) {
		if term, ok := x.term(i); ok {
			terms = append(terms, term)
		}
	}
	if x.r.IntN(4) == 0 {
		terms = append(terms, pick(x.r, "c1 IS NOT NULL", "c0 IS NULL"))
	}
	if len(terms) == 0 {
		terms = []string{"TRUE"}
	}
	x.r.Shuffle(len(terms), func(i, j int) { terms[i], terms[j] = terms[j], terms[i] })
	where := strings.Join(terms, " AND ")
	x.add("--where", where)
	x.want = x.s.query(t, "SELECT * FROM "+x.tableSQL()+" WHERE "+where)
}

// term compares the i-th column of the key with values that it has.
func (x *trial) term(i int) (sql string, ok bool) {
	name := x.quoted(x.columns[i].name)
	value := func() string {
		if len(x.rows) == 0 {
			return ""
		}
		v := pick(x.r, x.rows...)[i]
		if _, isNull := v.GetKind().(*structpb.Value_NullValue); isNull {
			return ""
		}
		literal, _ := x.literal(x.columns[i], v)
		return literal
	}
	a, b := value(), value()
	if a == "" || b == "" {
		return "", false
	}
	switch x.r.IntN(7) {
	case 0, 1, 2:
		return name + " = " + a, true
	case 3:
		return fmt.Sprintf("%s IN (%s, %s)", name, a, b), true
	case 4:
		return fmt.Sprintf("%s BETWEEN %s AND %s", name, a, b), true
	case 5:
		return fmt.Sprintf("(%s %s %s AND %s %s %s)", name, pick(x.r, ">", ">="), a, name, pick(x.r, "<", "<="), b), true
	default:
		return fmt.Sprintf("%s %s %s", a, pick(x.r, "<", "<=", ">", ">="), name), true
	}
}

// ofQuery selects STRUCTs, which only queries have, and in PostgreSQL a cast.
func (x *trial) ofQuery(t *testing.T) {
	key := x.quoted(x.columns[0].name)
	sql := "SELECT " + key + " AS k, [STRUCT(" + key + " AS a, c5 AS b, c3 AS c, c9 AS d), NULL] AS s, c7 FROM " + x.tableSQL()
	if x.pg {
		sql = "SELECT " + key + `, c4 AS "Numeric", ` + key + "::varchar AS text, c9, c7 FROM " + x.tableSQL()
	}
	x.args = []string{"--query", sql}
	x.want = x.s.query(t, sql)
}

func (x *trial) chooseFormat(kind string) {
	r, f := x.r, &x.form
	f.kind, f.compression = kind, pick(r, "none", "none", "gzip", "zstd")
	f.flags = exportedForms{int64: pick(r, "number", "string"), numeric: pick(r, "string", "number"), json: pick(r, "value", "string"), delimiter: ','}
	x.add("--format", f.kind, "--compression", f.compression)
	if f.kind != "avro" {
		x.add("--int64", f.flags.int64, "--numeric", f.flags.numeric, "--json", f.flags.json)
	}
	switch f.kind {
	case "csv":
		f.flags.delimiter, f.flags.null, f.flags.noHeader = pick(r, ',', ';', '\t'), pick(r, "", "", `\N`, "NULL"), r.IntN(3) == 0
		if len(x.want.fields) == 1 {
			f.flags.null = `\N` // an empty line is no record to encoding/csv
		}
		x.add("--csv-delimiter", string(f.flags.delimiter), "--csv-null", f.flags.null, fmt.Sprintf("--csv-header=%v", !f.flags.noHeader),
			fmt.Sprintf("--csv-crlf=%v", r.IntN(3) == 0))
	case "avro":
		if r.IntN(3) == 0 {
			x.add("--avro-codec", pick(r, "null", "deflate", "snappy", "zstandard"))
		}
		x.add("--avro-date", pick(r, "string", "days"))
		if x.pg && r.IntN(2) == 0 {
			x.add("--avro-numeric", pick(r, "string", "google"))
		}
		if x.coarse {
			x.add("--avro-timestamp", pick(r, "string", "micros", "nanos"))
		}
	}
}

func (x *trial) chooseOutput(t *testing.T) {
	dir := t.TempDir()
	switch x.r.IntN(4) {
	case 0:
	case 1:
		x.path = filepath.Join(dir, "file")
	case 2:
		x.path = filepath.Join(dir, "all") + "/"
	default:
		x.path = filepath.Join(dir, "{table}-{partition}.part")
	}
	if x.path == "" {
		return
	}
	x.add("--output", x.path)
	if x.r.IntN(2) == 0 {
		x.add("--max-file-size", pick(x.r, "100", "10KiB"))
		if x.path == filepath.Join(dir, "file") {
			x.path += "-*"
		}
	}
	x.path = strings.NewReplacer("{table}", "*", "{partition}", "*").Replace(x.path)
}

func (x *trial) run(t *testing.T) {
	t.Helper()
	r := x.r
	x.s.Trouble(func(s *emulator.Server) {
		s.SetMessages(emulator.Messages{
			MaxBytes: pick(r, 3, 100, 0), MaxRows: pick(r, 1, 5, 0), NoLast: r.IntN(2) == 0,
			TokenEvery: pick(r, 1, 3), Tokens: pick(r, emulator.TokensOnRows, emulator.NoTokens),
		})
		s.Faults().SetFunc(randomFaults(r, r.IntN(6)))
	})
	stdout := x.s.mustExport(t, x.args...)
	files := [][]byte{stdout}
	if x.path != "" {
		files = x.files(t)
	}
	var got [][]string
	for _, file := range files {
		got = append(got, x.form.records(t, x.want.fields, file)...)
	}
	var want [][]string
	for _, row := range x.want.rows {
		record := make([]string, len(row))
		for i, v := range row {
			record[i] = x.form.wanted(t, x.want.fields[i].GetType(), v)
		}
		want = append(want, record)
	}
	slices.SortFunc(got, slices.Compare)
	slices.SortFunc(want, slices.Compare)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("export %q of %s differs from a plain read (-want +got):\n%s", x.args, x.ddl(), diff)
	}
}

// files reads the output. A template that no partition with rows has expanded
// leaves none.
func (x *trial) files(t *testing.T) [][]byte {
	t.Helper()
	if len(x.want.rows) == 0 && strings.Contains(x.path, "*.part") {
		return nil
	}
	return outputFiles(t, x.path)
}

// randomFaults breaks so many calls, after some messages.
func randomFaults(r *rand.Rand, most int) func(string, int) *emulator.Fault {
	var mu sync.Mutex
	at := time.Nanosecond
	return func(method string, _ int) *emulator.Fault {
		mu.Lock()
		defer mu.Unlock()
		isStream := method == "StreamingRead" || method == "ExecuteStreamingSql"
		if most == 0 || !isStream || r.IntN(3) > 0 {
			return nil
		}
		most--
		return &emulator.Fault{Code: pick(r, codes.Unavailable, codes.ResourceExhausted), Message: "try again", RetryDelay: &at, AfterMessages: r.IntN(6)}
	}
}
