package cmd

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/spanner/admin/database/apiv1/databasepb"
	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/emulator"
	"spanbulk/internal/randtest"
)

// importInto runs spanbulk import in this process.
func importInto(t *testing.T, to target, stdin io.Reader, args ...string) (stderr string, code int) {
	t.Helper()
	s, out, errs := testStreams(nil)
	s.In = stdin
	code = newApp(s).run(t.Context(), append([]string{"import", "-d", to.database, "--emulator-endpoint", to.endpoint, "--show-values", "true"}, args...))
	if out.Len() > 0 {
		t.Errorf("import wrote to stdout: %.100q", out)
	}
	return errs.String(), code
}

// TestImportOfExport makes up tables with rows of every type, exports them in
// random ways, imports that into an empty table of the same schema in random
// ways, and compares the wire bytes of full reads of both.
func TestImportOfExport(t *testing.T) {
	r := randtest.New(t)
	for round := range randtest.Rounds(4) {
		g := generate(r, round%2 == 1)
		g.fill(r.IntN(120))
		ok := t.Run(fmt.Sprintf("%d/%v", round, g.dialect()), func(t *testing.T) {
			from := startSpannerIn(t, g.dialect(), emulator.Options{Partitions: 1 + r.IntN(9)}, g.ddl()...)
			to := startSpannerIn(t, g.dialect(), emulator.Options{}, g.ddl()...)
			from.insert(t, g.tableName(), g.names(), g.rows)
			for trip := range 6 {
				roundTrip(t, g, from, to, [...]string{"ndjson", "csv", "avro"}[trip%3])
			}
		})
		if !ok {
			return
		}
	}
}

// roundTrip takes the rows of one Spanner to the other and empties that again.
func roundTrip(t *testing.T, g *generated, from, to *testSpanner, kind string) {
	x := &trial{generated: g, s: from, args: []string{"--table", g.tableName()}}
	x.wholeTable(t)
	x.chooseFormat(kind)
	place := pick(g.r, "out/", "out.bin", "-")
	path := filepath.Join(t.TempDir(), place)
	if strings.HasSuffix(place, "/") {
		path += "/"
	}
	args := importFlags(x)
	var stdin io.Reader = strings.NewReader("")
	if place == "-" {
		stdin = bytes.NewReader(from.mustExport(t, x.args...))
		args = append(args, "--table", g.tableName(), "--format", x.form.kind)
	} else {
		from.mustExport(t, append(x.args, "--output", path)...)
		if args = append(args, path); place == "out.bin" {
			args = append(args, "--table", g.tableName(), "--format", x.form.kind)
		}
	}
	if stderr, code := importInto(t, to.target, stdin, args...); code != exitDone {
		t.Fatalf("export %q, import %q: exit code %d: %s", x.args, args, code, stderr)
	}
	all := &spannerpb.KeySet{All: true}
	compareRows(t, x.want, to.read(t, &spannerpb.ReadRequest{Table: g.tableName(), Columns: g.names(), KeySet: all}), fmt.Sprint(x.args, args))
	to.deleteAll(t, g.tableName())
}

// importFlags are what the form of the export has to be told of, and any of the
// ways to write.
func importFlags(x *trial) []string {
	r, f := x.r, x.form.flags
	args := []string{"--quiet", "--parallelism", pick(r, "1", "4", "9"), "--max-batch-mutations", pick(r, "1", "7", "500"),
		"--key-order", pick(r, "preserve", "none"), "--write-method", pick(r, "batch-write", "commit"),
		"--operation", pick(r, "insert", "insert-or-update", "replace")}
	if f.json == "string" && x.form.kind != "avro" {
		args = append(args, "--json", "string")
	}
	if x.form.kind == "csv" {
		args = append(args, "--csv-delimiter", string(f.delimiter), "--csv-null", f.null, fmt.Sprintf("--csv-header=%v", !f.noHeader))
	}
	return args
}

// compareRows compares the bytes that two reads sent.
func compareRows(t *testing.T, want, got *resultSet, what string) {
	t.Helper()
	encoded := func(r *resultSet) [][]byte {
		rows := make([][]byte, len(r.rows))
		for i, row := range r.rows {
			var err error
			if rows[i], err = (proto.MarshalOptions{Deterministic: true}).Marshal(&structpb.ListValue{Values: row}); err != nil {
				t.Fatal(err)
			}
		}
		slices.SortFunc(rows, bytes.Compare)
		return rows
	}
	w, g := encoded(want), encoded(got)
	if len(w) != len(g) {
		t.Fatalf("%s: %d rows became %d", what, len(w), len(g))
	}
	for i := range w {
		if !bytes.Equal(w[i], g[i]) {
			t.Fatalf("%s: a row became another:\n%.2000q\n%.2000q", what, w[i], g[i])
		}
	}
}

func (s *testSpanner) deleteAll(t *testing.T, table string) {
	t.Helper()
	_, err := s.client.Commit(t.Context(), &spannerpb.CommitRequest{
		Session: s.session,
		Transaction: &spannerpb.CommitRequest_SingleUseTransaction{SingleUseTransaction: &spannerpb.TransactionOptions{
			Mode: &spannerpb.TransactionOptions_ReadWrite_{ReadWrite: &spannerpb.TransactionOptions_ReadWrite{}},
		}},
		Mutations: []*spannerpb.Mutation{{Operation: &spannerpb.Mutation_Delete_{Delete: &spannerpb.Mutation_Delete{Table: table, KeySet: &spannerpb.KeySet{All: true}}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// edges is a table of values at the edges of every type of a dialect. The last
// row has a large text and large bytes.
type edges struct {
	dialect databasepb.DatabaseDialect
	ddl     string
	columns []string
	rows    [][]*structpb.Value
}

func edgesOf(dialect databasepb.DatabaseDialect, size int) edges {
	null, number := structpb.NewNullValue(), structpb.NewNumberValue
	list := func(values ...*structpb.Value) *structpb.Value {
		return structpb.NewListValue(&structpb.ListValue{Values: values})
	}
	// What the dialects have in common: NUMERIC and JSON are theirs.
	e := edges{dialect: dialect, columns: []string{"Id", "F", "F32", "S", "B", "T", "D", "A", "AF", "N", "J", "AN"}, rows: [][]*structpb.Value{
		{text("1"), text("NaN"), text("NaN"), text(""), text(""), text("0001-01-01T00:00:00Z"), text("0001-01-01"), list(), list()},
		{text("-9223372036854775808"), text("Infinity"), text("-Infinity"), text("\x00\r\n\"',\\\u2028🌍\r"), null,
			text("9999-12-31T23:59:59.999999999Z"), text("9999-12-31"), list(null, text(""), text("\"\n")), list(text("NaN"), null, number(math.Copysign(0, -1)))},
		{text("9223372036854775807"), number(math.Copysign(0, -1)), number(math.Copysign(0, -1)), text("\r"), text("AA=="), null, null, null, null},
		{text("3"), null, null, null, null, null, null, null, null},
		{text("2"), number(math.SmallestNonzeroFloat64), number(math.MaxFloat32), text(strings.Repeat("🌍", size/4)), text(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{0, 0xff, 7}, size/3))),
			text("1970-01-01T00:00:00.000000001Z"), text("2024-02-29"), list(text("\\N"), text("NULL")), list(number(1e21))},
	}}
	own := [][]*structpb.Value{
		{text("99999999999999999999999999999.999999999"), text("null"), list()},
		{text("-99999999999999999999999999999.999999999"), text(`{"a":[{},[],""],"m":1e+300,"n":12345678901234567890}`), list(text("0.000000001"), null)},
		{text("0.000000001"), text(`{"$json":{"$json":null}}`), null},
		{null, null, null},
		{null, null, null},
	}
	e.ddl = "CREATE TABLE Edges (Id INT64 NOT NULL, F FLOAT64, F32 FLOAT32, S STRING(MAX), B BYTES(MAX), T TIMESTAMP, D DATE, A ARRAY<STRING(MAX)>, AF ARRAY<FLOAT64>, N NUMERIC, J JSON, AN ARRAY<NUMERIC>) PRIMARY KEY (Id)"
	if dialect == databasepb.DatabaseDialect_POSTGRESQL {
		e.ddl = `CREATE TABLE "Edges" ("Id" bigint PRIMARY KEY, "F" float8, "F32" real, "S" varchar, "B" bytea, "T" timestamptz, "D" date, "A" text[], "AF" float8[], "N" numeric, "J" jsonb, "AN" numeric[])`
		own = [][]*structpb.Value{
			{text("NaN"), text("null"), list()},
			{text("-" + strings.Repeat("9", 131072) + "." + strings.Repeat("0", 16382) + "1"), text(`{"a": [{}, [], ""], "mm": 1.50, "nnn": 12345678901234567890}`), list(text("NaN"), null, text("0.00"), text("1.5000"))},
			{text("0.0"), text(`{"$json": {"$json": null}}`), null},
			{null, null, null},
			{text("0." + strings.Repeat("0", 16382) + "1"), null, null},
		}
	}
	for i := range e.rows {
		e.rows[i] = append(e.rows[i], own[i]...)
	}
	return e
}

// TestImportOfExtremes takes values at the edges of every type through every
// format and compression, in both dialects.
func TestImportOfExtremes(t *testing.T) {
	size := 1 << 20
	if randtest.Factor() > 1 && !randtest.RaceDetector {
		size = 10 << 20 // the most that a value can have
	}
	for _, dialect := range []databasepb.DatabaseDialect{databasepb.DatabaseDialect_GOOGLE_STANDARD_SQL, databasepb.DatabaseDialect_POSTGRESQL} {
		t.Run(dialect.String(), func(t *testing.T) { importOfExtremes(t, edgesOf(dialect, size)) })
	}
}

func importOfExtremes(t *testing.T, e edges) {
	from, to := startSpannerIn(t, e.dialect, emulator.Options{}, e.ddl), startSpannerIn(t, e.dialect, emulator.Options{}, e.ddl)
	req := func() *spannerpb.ReadRequest {
		return &spannerpb.ReadRequest{Table: "Edges", Columns: e.columns, KeySet: &spannerpb.KeySet{All: true}}
	}
	trip := func(kind, compression string) {
		t.Helper()
		want := from.readChunked(t, req())
		throughDirectory(t, from, to, kind, compression)
		compareRows(t, want, to.readChunked(t, req()), kind+" "+compression)
		to.deleteAll(t, "Edges")
	}
	small := len(e.rows) - 1
	from.insert(t, "Edges", e.columns, e.rows[:small])
	for _, kind := range []string{"ndjson", "csv", "avro"} {
		for _, compression := range []string{"none", "gzip", "zstd"} {
			trip(kind, compression)
		}
	}
	from.insert(t, "Edges", e.columns, e.rows[small:])
	trip("ndjson", "none") // the large values once for each is enough
	trip("csv", "gzip")
	trip("avro", "zstd")
}

func throughDirectory(t *testing.T, from, to *testSpanner, kind, compression string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out") + "/"
	from.mustExport(t, "--table", "Edges", "--output", dir, "--format", kind, "--compression", compression)
	if stderr, code := importInto(t, to.target, strings.NewReader(""), "--quiet", dir); code != exitDone {
		t.Fatalf("%s, %s: exit code %d: %s", kind, compression, code, stderr)
	}
}

// readChunked is read for values that may be cut.
func (s *testSpanner) readChunked(t *testing.T, req *spannerpb.ReadRequest) *resultSet {
	t.Helper()
	req.Session = s.session
	answer, err := s.client.Read(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	out := &resultSet{fields: answer.GetMetadata().GetRowType().GetFields()}
	for _, row := range answer.GetRows() {
		out.rows = append(out.rows, row.GetValues())
	}
	return out
}
