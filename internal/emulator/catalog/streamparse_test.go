package catalog

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestParseStreamStatementPostgreSQL(t *testing.T) {
	for _, c := range []struct {
		text string
		want *streamStatement
	}{
		{"CREATE CHANGE STREAM S", &streamStatement{name: "s"}},
		{`create change stream "S" for all`, &streamStatement{name: "S", watch: watchList{all: true}}},
		{`CREATE CHANGE STREAM s FOR public.Table1, "T2"(a, "B"), x()`, &streamStatement{name: "s", watch: watchList{tables: []WatchedTable{
			{Table: "table1", AllColumns: true}, {Table: "T2", Columns: []string{"a", "B"}}, {Table: "x"}}}}},
		{"CREATE CHANGE STREAM s WITH (exclude_update='true', retention_period = '36h')", &streamStatement{name: "s", options: []Option{{"exclude_update", "true"}, {"retention_period", "'36h'"}}}},
		{"ALTER CHANGE STREAM s SET (exclude_insert = FALSE)", &streamStatement{action: setStreamOptions, name: "s", options: []Option{{"exclude_insert", "false"}}}},
		{"ALTER CHANGE STREAM s RESET (exclude_insert, retention_period)", &streamStatement{action: setStreamOptions, name: "s", options: []Option{{"exclude_insert", ""}, {"retention_period", ""}}}},
		{"ALTER CHANGE STREAM s SET FOR t", &streamStatement{action: setStreamFor, name: "s", watch: watchList{tables: []WatchedTable{{Table: "t", AllColumns: true}}}}},
		{"ALTER CHANGE STREAM s DROP FOR ALL", &streamStatement{action: dropStreamFor, name: "s"}},
		{"DROP CHANGE STREAM IF EXISTS s", &streamStatement{action: dropStream, name: "s", ifClause: true}},
		{"SELECT 1", nil},
		{"CREATE TABLE s (k bigint primary key)", nil},
	} {
		got, err := parseStreamStatement(c.text, true)
		if d := cmp.Diff(c.want, got, cmp.AllowUnexported(streamStatement{}, watchList{})); d != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", c.text, err, d)
		}
	}
	for _, text := range []string{
		"CREATE CHANGE STREAM s OPTIONS (exclude_update = true)",
		"CREATE CHANGE STREAM s WITH ()",
		"ALTER CHANGE STREAM s RESET ()",
		"ALTER CHANGE STREAM s SET OPTIONS (exclude_update = true)",
		"CREATE CHANGE STREAM s FOR all, t",
		"CREATE CHANGE STREAM 's'",
		`CREATE CHANGE STREAM "s`,
	} {
		if got, err := parseStreamStatement(text, true); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %+v, error %v", text, got, err)
		}
	}
}

func FuzzParseStreamStatement(f *testing.F) {
	for _, s := range []string{"CREATE CHANGE STREAM IF NOT EXISTS s FOR t(a, b), u() OPTIONS (retention_period = '1d', x = NULL)", `ALTER CHANGE STREAM "S" RESET (a)`, "DROP CHANGE STREAM s", `"\0`} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, text string, postgreSQL bool) {
		if s, err := parseStreamStatement(text, postgreSQL); err == nil && s != nil && s.name == "" {
			t.Errorf("%q: a statement without a name", text)
		}
	})
}
