package schema_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/database"
	"spanbulk/internal/fault"
	"spanbulk/internal/schema"
)

// informationSchema answers the catalog's queries from rows given as text:
// columns are parted by |, NULL is ~.
type informationSchema struct {
	t     *testing.T
	views map[string][]string // "TABLES", or "COLUMNS schema.table"
	// answers are the rows for statements that begin so, before views.
	answers map[string][]string
	fail    map[string]error
	// selected and types answer statements that read a table itself.
	selected error
	types    []*spannerpb.Type
	seen     []database.Statement
}

var readTime = time.Date(2026, 1, 31, 12, 0, 0, 123456000, time.UTC)

func (s *informationSchema) Query(_ context.Context, stmt database.Statement) (*database.Result, error) {
	s.seen = append(s.seen, stmt)
	if !strings.Contains(stmt.SQL, "INFORMATION_SCHEMA.") {
		return &database.Result{Types: s.types}, s.selected
	}
	selected, rest, ok := strings.Cut(strings.TrimPrefix(stmt.SQL, "SELECT "), " FROM INFORMATION_SCHEMA.")
	if !ok {
		s.t.Fatalf("unexpected statement %q", stmt.SQL)
	}
	key, _, _ := strings.Cut(rest, " ")
	if len(stmt.Params) > 0 {
		key += " " + stmt.Params["p1"] + "." + stmt.Params["p2"]
	}
	if err := s.fail[key]; err != nil {
		return nil, err
	}
	result := &database.Result{Columns: strings.Split(selected, ", "), ReadTimestamp: readTime}
	lines := s.views[key]
	for begin, rows := range s.answers {
		if strings.HasPrefix(stmt.SQL, begin) {
			lines = rows
		}
	}
	for _, line := range lines {
		var row []*structpb.Value
		for field := range strings.SplitSeq(line, "|") {
			switch field {
			case "~":
				row = append(row, structpb.NewNullValue())
			case "true", "false":
				row = append(row, structpb.NewBoolValue(field == "true"))
			default:
				row = append(row, structpb.NewStringValue(field))
			}
		}
		if len(row) != len(result.Columns) {
			s.t.Fatalf("%s: row %q has %d values for %v", key, line, len(row), result.Columns)
		}
		result.Rows = append(result.Rows, row)
	}
	return result, nil
}

func googleSQL(t *testing.T) *informationSchema {
	return &informationSchema{t: t, views: map[string][]string{
		"DATABASE_OPTIONS": {"GOOGLE_STANDARD_SQL"},
		"TABLES": {
			"INFORMATION_SCHEMA|TABLES|VIEW|~|~",
			"|Albums|BASE TABLE|Singers|CASCADE",
			"|Singers|BASE TABLE|~|~",
			"|Active|VIEW|~|~",
			"sales|Orders|BASE TABLE|~|~",
			"sales|Lines|BASE TABLE|sales.Orders|NO ACTION",
		},
		// Out of order, as without ORDER BY they may come.
		"COLUMNS .Albums": {
			"Title|3|STRING(MAX)|YES|NEVER|false|'none'|NO|~|~",
			"SingerId|1|INT64|NO|NEVER|false|~|NO|~|~",
			"AlbumId|2|INT64|NO|NEVER|false|~|YES|~|~",
			"Tokens|5|TOKENLIST|YES|ALWAYS|TRUE|~|NO|TOKENIZE_FULLTEXT(Title)|YES",
			"Updated|4|TIMESTAMP|YES|NEVER|false|~|NO|~|~",
			"Odd|6|QUATERNION|YES|NEVER|false|~|NO|~|~",
		},
		"COLUMN_OPTIONS .Albums": {"Updated|allow_commit_timestamp|TRUE"},
		"INDEXES .Albums": {
			"PRIMARY_KEY|PRIMARY_KEY|true|false|~|false",
			"ByTitle|INDEX|false|true|WRITE_ONLY|false",
		},
		"INDEX_COLUMNS .Albums": {
			"ByTitle|Updated|~|~",
			"ByTitle|Title|1|DESC",
			"PRIMARY_KEY|AlbumId|2|DESC",
			"PRIMARY_KEY|SingerId|1|ASC",
		},
	}}
}

func open(t *testing.T, q schema.Querier, at time.Time) *schema.Catalog {
	t.Helper()
	c, err := schema.Open(t.Context(), q, at)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func typeOf(code spannerpb.TypeCode) *spannerpb.Type { return &spannerpb.Type{Code: code} }

func TestTableGoogleSQL(t *testing.T) {
	q := googleSQL(t)
	c := open(t, q, time.Time{})
	got, err := c.Table(t.Context(), schema.Name{Name: "albums"})
	if err != nil {
		t.Fatal(err)
	}
	want := &schema.Table{
		Name: schema.Name{Name: "Albums"}, Parent: schema.Name{Name: "Singers"}, OnDeleteCascade: true,
		Columns: []schema.Column{
			{Name: "SingerId", Type: typeOf(spannerpb.TypeCode_INT64), SpannerType: "INT64", NotNull: true},
			{Name: "AlbumId", Type: typeOf(spannerpb.TypeCode_INT64), SpannerType: "INT64", NotNull: true, HasDefault: true},
			{Name: "Title", Type: typeOf(spannerpb.TypeCode_STRING), SpannerType: "STRING(MAX)", HasDefault: true, Default: "'none'"},
			{Name: "Updated", Type: typeOf(spannerpb.TypeCode_TIMESTAMP), SpannerType: "TIMESTAMP", CommitTimestamp: true},
			{Name: "Tokens", Type: &spannerpb.Type{}, SpannerType: "TOKENLIST", Generated: true, Generation: "TOKENIZE_FULLTEXT(Title)", Stored: true, Hidden: true},
			{Name: "Odd", SpannerType: "QUATERNION"},
		},
		PrimaryKey: []schema.KeyPart{{Column: "SingerId"}, {Column: "AlbumId", Descending: true}},
		Indexes: []schema.Index{{
			Name: "ByTitle", Type: "INDEX", NullFiltered: true, State: "WRITE_ONLY",
			Key: []schema.KeyPart{{Column: "Title", Descending: true}}, Storing: []string{"Updated"},
		}},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("table differs (-want +got):\n%s", diff)
	}
	if again, _ := c.Table(t.Context(), schema.Name{Name: "ALBUMS"}); again != got {
		t.Error("the table was read twice")
	}
	for i, stmt := range q.seen[1:] {
		if !stmt.At.Equal(readTime) {
			t.Errorf("query %d reads at %v, not at the first query's timestamp", i+1, stmt.At)
		}
	}
	covered := map[string]bool{"Title": true, "updated": true, "AlbumId": true, "Tokens": false}
	for column, want := range covered {
		if got.Covers(got.Indexes[0], column) != want {
			t.Errorf("Covers(%s) = %v", column, !want)
		}
	}
	if tokens, _ := got.Column("Tokens"); tokens.Readable() {
		t.Error("a TOKENLIST column must not be readable")
	}
}

func TestCatalogAtTimestamp(t *testing.T) {
	q := googleSQL(t)
	at := readTime.Add(-time.Hour)
	c := open(t, q, at)
	if !c.ReadTimestamp().Equal(at) {
		t.Errorf("ReadTimestamp = %v", c.ReadTimestamp())
	}
	for _, stmt := range q.seen {
		if !stmt.At.Equal(at) {
			t.Errorf("%q reads at %v", stmt.SQL, stmt.At)
		}
	}
}

func TestBaseTablesParentsFirst(t *testing.T) {
	c := open(t, googleSQL(t), time.Time{})
	want := []schema.Name{{Name: "Singers"}, {Name: "Albums"}, {Schema: "sales", Name: "Orders"}, {Schema: "sales", Name: "Lines"}}
	if diff := cmp.Diff(want, c.BaseTables()); diff != "" {
		t.Errorf("order differs (-want +got):\n%s", diff)
	}
}

func TestUnknownNames(t *testing.T) {
	c := open(t, googleSQL(t), time.Time{})
	albums, err := c.Table(t.Context(), schema.Name{Name: "Albums"})
	if err != nil {
		t.Fatal(err)
	}
	table := func(name schema.Name) error { _, err := c.Table(t.Context(), name); return err }
	column := func(name string) error { _, err := schema.FindColumn(albums, name); return err }
	index := func(name schema.Name) error { _, err := schema.FindIndex(albums, name); return err }
	tests := []struct {
		err        error
		text, hint string
	}{
		{table(schema.Name{Name: "Singer"}), "find table Singer: the database has no such table", "did you mean Singers?"},
		{table(schema.Name{Schema: "sales", Name: "Order"}), "find table sales.Order: the database has no such table", "did you mean sales.Orders?"},
		{table(schema.Name{Name: "TABLES"}), "find table TABLES: the database has no such table", ""},
		{column("Titel"), "find column Titel of table Albums: the table has no such column", "did you mean Title?"},
		{index(schema.Name{Schema: "sales", Name: "ByTitle"}), "find index sales.ByTitle of table Albums: the table has no such index", "did you mean ByTitle?"},
		{index(schema.Name{Name: "ByTitel"}), "find index ByTitel of table Albums: the table has no such index", "did you mean ByTitle?"},
	}
	for _, tt := range tests {
		if tt.err == nil {
			t.Errorf("no error where %q was wanted", tt.text)
			continue
		}
		if fault.Text(tt.err, false) != tt.text || fault.Hint(tt.err) != tt.hint || fault.Code(tt.err) != codes.NotFound {
			t.Errorf("got %q, hint %q, want %q, hint %q", tt.err, fault.Hint(tt.err), tt.text, tt.hint)
		}
	}
}

func TestPostgreSQL(t *testing.T) {
	q := &informationSchema{t: t, views: map[string][]string{
		"DATABASE_OPTIONS":             {"POSTGRESQL"},
		"TABLES":                       {"pg_catalog|pg_class|VIEW|~|~", "public|orders|BASE TABLE|~|~", "public|Orders|BASE TABLE|~|~"},
		"COLUMNS public.orders":        {"id|1|bigint|NO|NEVER|NO|~|NO|~|~", "at|2|spanner.commit_timestamp|YES|NEVER|NO|~|NO|~|~"},
		"INDEXES public.orders":        {"PRIMARY_KEY|PRIMARY_KEY|YES|NO|~|NO"},
		"INDEX_COLUMNS public.orders":  {"PRIMARY_KEY|id|1|ASC"},
		"COLUMN_OPTIONS public.orders": {},
	}}
	c := open(t, q, time.Time{})
	got, err := c.Table(t.Context(), schema.Name{Schema: "public", Name: "ORDERS"})
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != (schema.Name{Name: "orders"}) || !got.Columns[1].CommitTimestamp || !got.IsKey("id") || got.IsKey("ID") {
		t.Errorf("got %+v", got)
	}
	if quoted, err := c.Resolve(schema.Name{Name: "Orders"}); err != nil || quoted.Name != "Orders" {
		t.Errorf("Resolve(Orders) = %v, %v: the exact spelling comes first", quoted, err)
	}
	if last := q.seen[len(q.seen)-1].SQL; !strings.Contains(last, "TABLE_SCHEMA = $1 AND TABLE_NAME = $2") {
		t.Errorf("parameters in %q are not PostgreSQL's", last)
	}
}

func TestQueryFailureNamesTheTable(t *testing.T) {
	q := googleSQL(t)
	q.fail = map[string]error{"INDEXES .Albums": status.Error(codes.FailedPrecondition, "Read timestamp is past the version retention period")}
	c := open(t, q, time.Time{})
	_, err := c.Table(t.Context(), schema.Name{Name: "Albums"})
	const want = "read the schema of table Albums: Read timestamp is past the version retention period"
	if err == nil || fault.Text(err, false) != want || fault.Code(err) != codes.FailedPrecondition {
		t.Errorf("got %v, want %q", err, want)
	}
	q.fail = map[string]error{"DATABASE_OPTIONS": status.Error(codes.PermissionDenied, "no")}
	if _, err := schema.Open(t.Context(), q, time.Time{}); fault.Code(err) != codes.PermissionDenied {
		t.Errorf("Open: %v", err)
	}
}

// TestEnumsAreToldByAQuery takes what INFORMATION_SCHEMA names without saying
// whether it is a message or an enum for what a query says, and for a message
// where the role may not read the table.
func TestEnumsAreToldByAQuery(t *testing.T) {
	enum := &spannerpb.Type{Code: spannerpb.TypeCode_ENUM, ProtoTypeFqn: "shop.Colour"}
	for name, c := range map[string]struct {
		err  error
		want spannerpb.TypeCode
		code codes.Code
	}{
		"told":            {nil, spannerpb.TypeCode_ENUM, codes.OK},
		"role may not":    {status.Error(codes.PermissionDenied, "Role writer does not have required privileges"), spannerpb.TypeCode_PROTO, codes.OK},
		"may not, deeper": {fault.Reading(status.Error(codes.PermissionDenied, "no"), "query", "table Albums"), spannerpb.TypeCode_PROTO, codes.OK},
		"failed":          {status.Error(codes.FailedPrecondition, "too old"), 0, codes.FailedPrecondition},
	} {
		t.Run(name, func(t *testing.T) {
			q := googleSQL(t)
			q.views["COLUMNS .Albums"] = append(q.views["COLUMNS .Albums"], "Colour|7|shop.Colour|YES|NEVER|false|~|NO|~|~")
			q.types, q.selected = []*spannerpb.Type{enum}, c.err
			table, err := open(t, q, time.Time{}).Table(t.Context(), schema.Name{Name: "Albums"})
			if fault.Code(err) != c.code {
				t.Fatalf("got %v, want code %v", err, c.code)
			}
			if err != nil {
				return
			}
			got := table.Columns[len(table.Columns)-1]
			if got.Name != "Colour" || got.Type.GetCode() != c.want || got.Type.GetProtoTypeFqn() != "shop.Colour" {
				t.Errorf("column %s is %v, want code %v", got.Name, got.Type, c.want)
			}
		})
	}
}
