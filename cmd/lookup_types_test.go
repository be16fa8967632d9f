package cmd

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLookupOfTypes looks up rows of every type in both dialects, in every format
// and form of values: by the keys of an export it comes to what an export of the
// rows is.
func TestLookupOfTypes(t *testing.T) {
	forms := [][]string{
		{"--format", "ndjson"},
		{"--format", "ndjson", "--int64", "string", "--numeric", "number", "--json", "string"},
		{"--format", "csv"},
		{"--format", "csv", "--int64", "string", "--numeric", "number", "--json", "string", "--csv-null", `\N`},
		{"--format", "avro"},
		{"--format", "avro", "--avro-timestamp", "nanos", "--avro-date", "days", "--avro-numeric", "google", "--avro-codec", "snappy"},
	}
	for _, y := range typedTables {
		t.Run(y.dialect.String(), func(t *testing.T) {
			s := y.start(t)
			for _, row := range y.rows {
				y.importLine(t, s, row)
			}
			fields := y.fields(t, s)[1:] // without __op
			for _, form := range forms {
				records := func(file []byte) []string {
					if form[1] != "avro" {
						return slices.Sorted(strings.Lines(string(file)))
					}
					var lines []string
					for _, record := range (exported{kind: "avro"}).records(t, fields, file) {
						lines = append(lines, strings.Join(record, "|"))
					}
					slices.Sort(lines)
					return lines
				}
				table := []string{"--table", y.name}
				keys := s.mustExport(t, slices.Concat(table, []string{"--columns", "Id"}, form)...)
				want := s.mustExport(t, slices.Concat(table, form)...)
				got := lookUp(t, s.target, keys, slices.Concat(table, form)...)
				if d := cmp.Diff(records(want), records(got)); d != "" || len(records(want)) < len(y.rows) {
					t.Errorf("%q (-export +lookup)\n%s", form, d)
				}
			}
		})
	}
}

// lookUp runs spanbulk lookup in this process, which reads records of the format
// that it writes.
func lookUp(t *testing.T, from target, stdin []byte, args ...string) []byte {
	t.Helper()
	s, out, errs := testStreams(nil)
	s.In = bytes.NewReader(stdin)
	args = append([]string{"lookup", "-d", from.database, "--emulator-endpoint", from.endpoint, "--quiet"}, args...)
	if code := newApp(s).run(t.Context(), args); code != exitDone {
		t.Fatalf("%q: exit code %d: %s", args, code, errs)
	}
	return out.Bytes()
}
