package cmd

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/spanner/admin/database/apiv1/databasepb"
	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"github.com/google/go-cmp/cmp"

	"spanbulk/internal/emulator"
)

var update = flag.Bool("update", false, "rewrite golden files")

// typedTable is a table of every type that columns have in a dialect, which a
// change stream of each partition mode watches. Its columns are the scalars
// followed by an array of each.
type typedTable struct {
	dialect databasepb.DatabaseDialect
	name    string
	ddl     []string
	// rows are what is imported, one after another; the first is then written over
	// with changed, and the second deleted.
	rows    []string
	changed string
}

var typedTables = []typedTable{
	{
		dialect: databasepb.DatabaseDialect_GOOGLE_STANDARD_SQL, name: "select.Types",
		ddl: []string{
			"CREATE PROTO BUNDLE (music.Singer, music.Genre)", "CREATE SCHEMA `select`",
			"CREATE TABLE `select`.Types (Id INT64 NOT NULL, B BOOL, I INT64, F32 FLOAT32, F64 FLOAT64, N NUMERIC, S STRING(MAX), Y BYTES(MAX), T TIMESTAMP, D DATE, J JSON, U UUID, E music.Genre, P music.Singer, " +
				"Bs ARRAY<BOOL>, `Is` ARRAY<INT64>, F32s ARRAY<FLOAT32>, F64s ARRAY<FLOAT64>, Ns ARRAY<NUMERIC>, Ss ARRAY<STRING(MAX)>, Ys ARRAY<BYTES(MAX)>, Ts ARRAY<TIMESTAMP>, Ds ARRAY<DATE>, Js ARRAY<JSON>, Us ARRAY<UUID>, Es ARRAY<music.Genre>, Ps ARRAY<music.Singer>) PRIMARY KEY (Id)",
			"CREATE CHANGE STREAM Immutable FOR ALL OPTIONS (value_capture_type = 'NEW_ROW_AND_OLD_VALUES')",
			"CREATE CHANGE STREAM Mutable FOR ALL OPTIONS (value_capture_type = 'NEW_ROW_AND_OLD_VALUES', partition_mode = 'MUTABLE_KEY_RANGE')",
		},
		rows: []string{
			`{"Id":1,"B":true,"I":-9223372036854775808,"F32":3.14,"F64":1e300,"N":"-0.000000001","S":"a, \"b\"\té","Y":"//4=","T":"2026-01-31T12:00:00.123456789Z","D":"0001-01-01","J":{"a":[1,null,"x"]},"U":"123e4567-e89b-12d3-a456-42661417abcd","E":7,"P":"CgFh",` +
				`"Bs":[true,null],"Is":[1,null],"F32s":[3.14,"-Infinity",null],"F64s":["NaN",null,-0.0],"Ns":["1.5",null],"Ss":["",null,"[1]"],"Ys":["",null],"Ts":["2026-01-31T12:00:00Z",null],"Ds":["2024-02-29",null],"Js":[{"$json":null},null,"s",{"b":1}],"Us":["123e4567-e89b-12d3-a456-42661417abcd",null],"Es":[0,null,-1],"Ps":["CgFh",null,""]}`,
			`{"Id":2,"B":false,"I":0,"F32":"NaN","F64":"-Infinity","N":"0","S":"","Y":"","J":{"$json":null},"E":0,"P":"","Bs":[],"Is":[],"F32s":[],"F64s":[],"Ns":[],"Ss":[],"Ys":[],"Ts":[],"Ds":[],"Js":[],"Us":[],"Es":[],"Ps":[]}`,
			`{"Id":3}`,
		},
		changed: `{"Id":1,"F32":-1.5,"J":"text","E":null,"P":"","Js":null}`,
	},
	{
		dialect: databasepb.DatabaseDialect_POSTGRESQL, name: "select.Types",
		ddl: []string{
			`CREATE SCHEMA "select"`,
			`CREATE TABLE "select"."Types" ("Id" bigint PRIMARY KEY, "B" boolean, "I" bigint, "F32" real, "F64" float8, "N" numeric, "S" varchar, "Y" bytea, "T" timestamptz, "D" date, "J" jsonb, "U" uuid, ` +
				`"Bs" boolean[], "Is" bigint[], "F32s" real[], "F64s" float8[], "Ns" numeric[], "Ss" text[], "Ys" bytea[], "Ts" timestamptz[], "Ds" date[], "Js" jsonb[], "Us" uuid[])`,
			`CREATE CHANGE STREAM immutable FOR ALL WITH (value_capture_type = 'NEW_ROW_AND_OLD_VALUES')`,
			`CREATE CHANGE STREAM mutable FOR ALL WITH (value_capture_type = 'NEW_ROW_AND_OLD_VALUES', partition_mode = 'MUTABLE_KEY_RANGE')`,
		},
		rows: []string{
			`{"Id":1,"B":true,"I":-9223372036854775808,"F32":3.14,"F64":1e300,"N":"-0.0000000000000000000010","S":"a, \"b\"\té","Y":"//4=","T":"2026-01-31T12:00:00.123456789Z","D":"0001-01-01","J":{"bb":1.50,"a":[1,null,"x"]},"U":"123e4567-e89b-12d3-a456-42661417abcd",` +
				`"Bs":[true,null],"Is":[1,null],"F32s":[3.14,"-Infinity",null],"F64s":["NaN",null,-0.0],"Ns":["1.50","NaN",null],"Ss":["",null,"[1]"],"Ys":["",null],"Ts":["2026-01-31T12:00:00Z",null],"Ds":["2024-02-29",null],"Js":[{"$json":null},null,"s",{"b":1}],"Us":["123e4567-e89b-12d3-a456-42661417abcd",null]}`,
			`{"Id":2,"B":false,"I":0,"F32":"NaN","F64":"-Infinity","N":"NaN","S":"","Y":"","J":{"$json":null},"Bs":[],"Is":[],"F32s":[],"F64s":[],"Ns":[],"Ss":[],"Ys":[],"Ts":[],"Ds":[],"Js":[],"Us":[]}`,
			`{"Id":3}`,
		},
		changed: `{"Id":1,"F32":-1.5,"N":"1.00","J":"text","Js":null}`,
	},
}

// start makes the table, without rows.
func (y typedTable) start(t *testing.T) *testSpanner {
	t.Helper()
	s := startSpannerIn(t, y.dialect, emulator.Options{})
	request := &databasepb.UpdateDatabaseDdlRequest{Database: s.database, Statements: y.ddl}
	if y.dialect == databasepb.DatabaseDialect_GOOGLE_STANDARD_SQL {
		request.ProtoDescriptors = musicDescriptors(t)
	}
	if _, err := databasepb.NewDatabaseAdminClient(s.conn).UpdateDatabaseDdl(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	return s
}

// write makes five changes of the rows, each in a transaction of its own.
func (y typedTable) write(t *testing.T, s *testSpanner) {
	t.Helper()
	for _, row := range y.rows {
		y.importLine(t, s, row)
	}
	y.importLine(t, s, y.changed)
	y.importLine(t, s, `{"Id":2}`, "--operation", "delete")
}

func (y typedTable) importLine(t *testing.T, s *testSpanner, line string, args ...string) {
	t.Helper()
	if stderr, code := importInto(t, s.target, strings.NewReader(line), append([]string{"--quiet", "--table", y.name}, args...)...); code != exitDone {
		t.Fatalf("import %s: exit code %d: %s", line, code, stderr)
	}
}

const typedChanges = 5

func (y typedTable) tail(t *testing.T, s *testSpanner, stream string, args ...string) []byte {
	t.Helper()
	streams, out, errs := testStreams(nil)
	args = append([]string{"tail", stream, "-d", s.database, "--emulator-endpoint", s.endpoint, "--quiet", "--start-position", "earliest", "--max-records", fmt.Sprint(typedChanges)}, args...)
	if code := newApp(streams).run(t.Context(), args); code != exitDone {
		t.Fatalf("%q: exit code %d: %s", args, code, errs)
	}
	return out.Bytes()
}

// fields are __op and the columns of the rows.
func (y typedTable) fields(t *testing.T, s *testSpanner) []*spannerpb.StructType_Field {
	t.Helper()
	name := "`select`.Types"
	if y.dialect == databasepb.DatabaseDialect_POSTGRESQL {
		name = `"select"."Types"`
	}
	op := &spannerpb.StructType_Field{Name: "__op", Type: &spannerpb.Type{Code: spannerpb.TypeCode_STRING}}
	return append([]*spannerpb.StructType_Field{op}, s.query(t, "SELECT * FROM "+name).fields...)
}

// tailForm is one of the things that tail writes.
type tailForm struct {
	name string
	args []string
	// imported are the flags of import that takes it.
	imported []string
}

func (y typedTable) forms() []tailForm {
	return []tailForm{
		{"column types", []string{"--metadata", "table", "--jq", ".column_types[]", "--max-records", "1"}, nil},
		{"records", []string{"--metadata", "table,mod-type", "--jq", "del(.column_types)"}, nil},
		{"records as text", []string{"--format", "text"}, nil},
		{"full", []string{"--changelog-mode", "full", "--table", y.name}, []string{"--table", y.name}},
		{"full, numbers and texts in the other form", []string{"--changelog-mode", "full", "--table", y.name, "--int64", "string", "--numeric", "number", "--json", "string"},
			[]string{"--table", y.name, "--json", "string"}},
		{"full as csv", []string{"--changelog-mode", "full", "--table", y.name, "--format", "csv"}, []string{"--table", y.name, "--format", "csv"}},
		{"full as avro", []string{"--changelog-mode", "full", "--table", y.name, "--format", "avro"}, []string{"--table", y.name, "--format", "avro"}},
		{"full as avro of numbers", []string{"--changelog-mode", "full", "--table", y.name, "--format", "avro", "--avro-timestamp", "nanos", "--avro-date", "days", "--avro-numeric", "google"},
			[]string{"--table", y.name, "--format", "avro"}},
		{"upsert", []string{"--changelog-mode", "upsert", "--metadata", "table"}, []string{"--table-field", "__table"}},
	}
}

var leadingTime = regexp.MustCompile(`(?m)^20\S+Z `)

// shown is an output as the golden file has it: lines in order, without times.
func (y typedTable) shown(t *testing.T, s *testSpanner, f tailForm, out []byte) string {
	t.Helper()
	if strings.Contains(f.name, "avro") {
		var lines []string
		for _, record := range (exported{kind: "avro"}).records(t, y.fields(t, s), out) {
			lines = append(lines, strings.Join(record, " | ")+"\n")
		}
		slices.Sort(lines)
		return strings.Join(lines, "")
	}
	lines := strings.SplitAfter(leadingTime.ReplaceAllString(string(out), ""), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// TestTailOfTypes has a change of every type in everything that tail writes, in
// both partition modes, as a golden file for each dialect; and import makes the
// same rows of it, to the byte.
func TestTailOfTypes(t *testing.T) {
	for _, y := range typedTables {
		t.Run(y.dialect.String(), func(t *testing.T) {
			from, to := y.start(t), y.start(t)
			y.write(t, from)
			all := func() *spannerpb.ReadRequest {
				var columns []string
				for _, f := range y.fields(t, from)[1:] {
					columns = append(columns, f.GetName())
				}
				return &spannerpb.ReadRequest{Table: y.name, Columns: columns, KeySet: &spannerpb.KeySet{All: true}}
			}
			want := from.read(t, all())
			var golden bytes.Buffer
			for _, f := range y.forms() {
				out := y.tail(t, from, "immutable", f.args...)
				shown := y.shown(t, from, f, out)
				fmt.Fprintf(&golden, "# %s\n%s\n", f.name, shown)
				other := y.shown(t, from, f, y.tail(t, from, "mutable", f.args...))
				if f.imported == nil { // as Spanner sends them
					fmt.Fprintf(&golden, "# %s, MUTABLE_KEY_RANGE\n%s\n", f.name, other)
					continue
				}
				if other != shown {
					t.Errorf("%s: the partition modes differ (-immutable +mutable)\n%s", f.name, cmp.Diff(shown, other))
				}
				if stderr, code := importInto(t, to.target, bytes.NewReader(out), append([]string{"--quiet", "--changelog"}, f.imported...)...); code != exitDone {
					t.Errorf("import of %s: exit code %d: %s", f.name, code, stderr)
					continue
				}
				compareRows(t, want, to.read(t, all()), f.name)
				to.deleteAll(t, y.name)
			}
			compareGolden(t, filepath.Join("testdata", "tail-types-"+strings.ToLower(y.dialect.String())+".golden"), golden.Bytes())
		})
	}
}

func compareGolden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s (-want +got):\n%s", path, d)
	}
}
