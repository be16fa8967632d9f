package cmd

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/emulator"
	"spanbulk/internal/output"
	"spanbulk/internal/randtest"
)

// everyForm is each format with each compression.
func everyForm() []exported {
	var all []exported
	for _, kind := range []string{"ndjson", "csv", "avro"} {
		for _, compression := range []string{"none", "gzip", "zstd"} {
			all = append(all, exported{kind, compression, exportedForms{delimiter: ','}})
		}
	}
	return all
}

func (e exported) args() []string {
	return []string{"--format", e.kind, "--compression", e.compression}
}

// checkWhole exports the table Table in each form and wants what a plain read
// gives.
func (s *testSpanner) checkWhole(t *testing.T, columns ...string) {
	t.Helper()
	want := s.read(t, &spannerpb.ReadRequest{Table: "Table", Columns: columns, KeySet: &spannerpb.KeySet{All: true}})
	for _, e := range everyForm() {
		t.Run(e.kind+"-"+e.compression, func(t *testing.T) {
			got := e.records(t, want.fields, s.mustExport(t, append(e.args(), "--table", "Table")...))
			if len(got) != len(want.rows) {
				t.Fatalf("%d records, want %d", len(got), len(want.rows))
			}
			byText := map[string]int{}
			for _, row := range want.rows {
				byText[e.recordText(t, want.fields, row)]++
			}
			for _, record := range got {
				if key := strings.Join(record, "\x00"); byText[key] > 0 {
					byText[key]--
				} else {
					t.Errorf("a record of %d bytes that was not read: %.80q", len(key), key)
				}
			}
		})
	}
}

func (e exported) recordText(t *testing.T, fields []*spannerpb.StructType_Field, row []*structpb.Value) string {
	t.Helper()
	values := make([]string, len(row))
	for i, v := range row {
		values[i] = e.wanted(t, fields[i].GetType(), v)
	}
	return strings.Join(values, "\x00")
}

// TestManyPartitions reads as many partitions as Spanner makes by default at
// most, a third more of them empty.
func TestManyPartitions(t *testing.T) {
	partitions := randtest.Size(10_000)
	s := startSpanner(t, emulator.Options{Partitions: partitions, Messages: emulator.Messages{TargetBytes: 100, MaxBytes: 100}}, thingsDDL)
	rows := make([][]*structpb.Value, partitions+10)
	for i := range rows {
		rows[i] = []*structpb.Value{text(strconv.Itoa(i)), text("x")}
	}
	s.insert(t, "Things", []string{"Id", "Name"}, rows)
	out := s.mustExport(t, "--table", "Things", "--format", "csv", "--csv-header=false", "--parallelism", "100")
	seen := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		seen[line] = true
	}
	if n := strings.Count(string(out), "\n"); n != len(rows) || len(seen) != n {
		t.Errorf("%d lines, %d of them different, want %d", n, len(seen), len(rows))
	}
	if reads := s.Faults(t).Calls("StreamingRead"); reads < partitions {
		t.Errorf("only %d partitions were read", reads)
	}
}

// TestManyColumns exports a table of a thousand columns, Spanner's limit is 1,024.
func TestManyColumns(t *testing.T) {
	var ddl strings.Builder
	ddl.WriteString("CREATE TABLE `Table` (\n")
	names := make([]string, 1000)
	filled, nulls := make([]*structpb.Value, len(names)), make([]*structpb.Value, len(names))
	for i := range names {
		names[i] = fmt.Sprintf("c%d", i)
		fmt.Fprintf(&ddl, "c%d %s,\n", i, []string{"STRING(MAX)", "BYTES(MAX)", "ARRAY<STRING(MAX)>"}[i%3])
		filled[i], nulls[i] = text("AAAA"), structpb.NewNullValue()
		if i%3 == 2 {
			filled[i] = structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{text("a"), text("b")}})
		}
	}
	ddl.WriteString(") PRIMARY KEY (c0)")
	s := startSpanner(t, emulator.Options{}, ddl.String())
	s.insert(t, "Table", names, [][]*structpb.Value{filled, nulls})
	s.checkWhole(t, names...)
}

// TestLargeCells exports cells of 10 MiB, Spanner's limit for a cell, which are
// larger than a chunk may be.
func TestLargeCells(t *testing.T) {
	s := startSpanner(t, emulator.Options{}, "CREATE TABLE `Table` (Id INT64, Text STRING(MAX), Raw BYTES(MAX)) PRIMARY KEY (Id)")
	size := randtest.Size(10<<20 - 16) // its encoding adds some bytes
	long, raw := strings.Repeat("🌍", size/4), base64.StdEncoding.EncodeToString(make([]byte, size))
	null := structpb.NewNullValue()
	s.insert(t, "Table", []string{"Id", "Text", "Raw"}, [][]*structpb.Value{
		{text("1"), text("short"), null}, {text("2"), text(long), null}, {text("3"), null, text(raw)}, {text("4"), text("short"), null},
	})
	for _, e := range everyForm() {
		if e.compression != "none" {
			continue // chunks are compressed whole, whatever their size
		}
		out := s.mustExport(t, append(e.args(), "--table", "Table", "--max-bytes-per-fetch", "64KiB")...)
		fields := []*spannerpb.StructType_Field{field("Id", spannerpb.TypeCode_INT64), field("Text", spannerpb.TypeCode_STRING), field("Raw", spannerpb.TypeCode_BYTES)}
		found := 0
		for _, record := range e.records(t, fields, out) {
			switch {
			case record[0] == "2" && record[1] == long, record[0] == "3" && record[2] == raw, record[1] == "short":
				found++
			}
		}
		if found != 4 {
			t.Errorf("%s %s: %d of 4 rows came as they are", e.kind, e.compression, found)
		}
	}
}

func field(name string, code spannerpb.TypeCode) *spannerpb.StructType_Field {
	return &spannerpb.StructType_Field{Name: name, Type: &spannerpb.Type{Code: code}}
}

// TestPlainTables exports a table of only key columns, rows of only NULLs, and no
// rows at all, which leave a file with nothing but a header.
func TestPlainTables(t *testing.T) {
	null := structpb.NewNullValue()
	for name, tt := range map[string]struct {
		ddl     string
		columns []string
		rows    [][]*structpb.Value
	}{
		"only key columns": {"CREATE TABLE `Table` (A INT64, B STRING(MAX)) PRIMARY KEY (A, B DESC)", []string{"A", "B"}, [][]*structpb.Value{{text("1"), text("x")}, {null, text("y")}}},
		"only NULLs":       {"CREATE TABLE `Table` (A INT64, B STRING(MAX)) PRIMARY KEY (A)", []string{"A", "B"}, [][]*structpb.Value{{null, null}}},
		"no key":           {"CREATE TABLE `Table` (A INT64, B STRING(MAX)) PRIMARY KEY ()", []string{"A", "B"}, [][]*structpb.Value{{text("1"), null}}},
		"no rows":          {"CREATE TABLE `Table` (A INT64, B STRING(MAX)) PRIMARY KEY (A)", []string{"A", "B"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := startSpanner(t, emulator.Options{}, tt.ddl)
			s.insert(t, "Table", tt.columns, tt.rows)
			s.checkWhole(t, tt.columns...)
			dir := t.TempDir() + "/all/"
			s.mustExport(t, "--table", "Table", "--output", dir)
			m, err := output.ReadManifest(dir)
			if err != nil || m.Tables[0].Rows != int64(len(tt.rows)) || len(m.Tables[0].Files) > len(tt.rows) {
				t.Errorf("manifest %+v, %v", m, err)
			}
		})
	}
}

// TestFilesKeepToTheirSize wants files of at most --max-file-size, though a chunk
// might be larger, but for a row that is larger by itself.
func TestFilesKeepToTheirSize(t *testing.T) {
	s := startSpanner(t, emulator.Options{}, thingsDDL)
	names := make([]string, 9)
	for i := range names {
		names[i] = strings.Repeat("x", 100)
	}
	names[4] = strings.Repeat("y", 5000)
	s.insert(t, "Things", []string{"Id", "Name"}, things(names...))
	path := t.TempDir() + "/out.ndjson"
	s.mustExport(t, "--table", "Things", "--output", path, "--max-file-size", "300", "--parallelism", "1")
	files := outputFiles(t, strings.Replace(path, ".ndjson", "-*.ndjson", 1))
	records := 0
	for _, f := range files {
		n := strings.Count(string(f), "\n")
		records += n
		if len(f) > 300 && n > 1 {
			t.Errorf("a file of %d bytes with %d records", len(f), n)
		}
	}
	if records != 9 || len(files) < 4 {
		t.Errorf("%d records in %d files", records, len(files))
	}
}

// TestFilesCountWhatJQMakes wants the manifest to count the records of each file,
// though rows become none or several, and a chunk ends before a row that has
// been through the program already.
func TestFilesCountWhatJQMakes(t *testing.T) {
	s := startSpanner(t, emulator.Options{Partitions: 1, NoEmptyPartitions: true}, thingsDDL)
	names := make([]string, 9)
	for i := range names {
		names[i] = strings.Repeat("x", 10*i)
	}
	s.insert(t, "Things", []string{"Id", "Name"}, things(names...))
	dir := t.TempDir() + "/all/"
	s.mustExport(t, "--table", "Things", "--output", dir, "--max-file-size", "250", "--jq", "range(.Id % 4) as $i | {Id, Name, $i}")
	m, err := output.ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i, file := range outputFiles(t, dir) {
		if n := strings.Count(string(file), "\n"); int64(n) != m.Tables[0].Files[i].Rows {
			t.Errorf("%s has %d records, its manifest says %d", m.Tables[0].Files[i].Name, n, m.Tables[0].Files[i].Rows)
		}
	}
	if m.Tables[0].Rows != 13 {
		t.Errorf("the manifest counts %d records", m.Tables[0].Rows)
	}
}
