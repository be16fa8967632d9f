package emulator_test

import (
	"strings"
	"testing"

	"cloud.google.com/go/spanner/admin/database/apiv1/databasepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/emulator"
)

// streams are the printed change streams, blanks folded.
func (f *fixture) streams(t testing.TB) string {
	t.Helper()
	resp, err := databasepb.NewDatabaseAdminClient(f.conn).GetDatabaseDdl(t.Context(), &databasepb.GetDatabaseDdlRequest{Database: databaseName})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, stmt := range resp.GetStatements() {
		if strings.HasPrefix(stmt, "CREATE CHANGE STREAM") {
			out = append(out, strings.Join(strings.Fields(stmt), " "))
		}
	}
	return strings.Join(out, "\n")
}

func TestConformanceStreamDDL(t *testing.T) {
	users := `CREATE TABLE Users (UserId INT64 NOT NULL, Name STRING(MAX), Len INT64 AS (LENGTH(Name)) STORED) PRIMARY KEY (UserId)`
	quoted := "CREATE TABLE `ALL` (K INT64) PRIMARY KEY (K)"
	named := []string{"CREATE SCHEMA s", "CREATE TABLE s.T (K INT64, V INT64) PRIMARY KEY (K)"}
	streams := func(n int, clause string) []string {
		out := []string{users, `CREATE TABLE Other (K INT64) PRIMARY KEY (K)`}
		for i := range n {
			out = append(out, "CREATE CHANGE STREAM S"+string(rune('0'+i))+clause)
		}
		return out
	}
	const create = "CREATE CHANGE STREAM S"
	for _, c := range []struct {
		id     string
		schema []string
		stmt   string
		code   codes.Code
		text   string // of the error, or of what is printed
	}{
		{"H01a", []string{users}, create + " FOR Users", codes.OK, create + " FOR Users"},
		{"H01b", []string{users}, create + " FOR Users(Name)", codes.OK, create + " FOR Users(Name)"},
		{"H01c", []string{users}, create + " FOR Users()", codes.OK, create + " FOR Users()"},
		{"H01d", []string{users}, create + " for all", codes.OK, create + " FOR ALL"},
		{"H01e", nil, create, codes.OK, create},
		{"H01f", []string{quoted}, create + " FOR `ALL`", codes.OK, create + " FOR `ALL`"},
		{"H01g", named, create + " FOR s.T(V)", codes.OK, create + " FOR s.T(V)"},
		{"H01h", []string{users}, "CREATE CHANGE STREAM IF NOT EXISTS S FOR Users OPTIONS (retention_period = '36h', exclude_insert = true);", codes.OK, create + " FOR Users OPTIONS ( retention_period = '36h', exclude_insert = true )"},
		{"H01i", streams(1, " FOR Users"), "CREATE CHANGE STREAM IF NOT EXISTS s0 FOR ALL", codes.OK, create + "0 FOR Users"},
		{"H01j", nil, create + " OPTIONS (value_capture_type = NULL)", codes.OK, create},
		{"H02a", []string{users}, create + " FOR ALL(Name)", codes.InvalidArgument, "Error parsing"},
		{"H02b", nil, create + " FOR ALL()", codes.InvalidArgument, "Error parsing"},
		{"H02c", []string{users}, create + " FOR Users, ALL", codes.InvalidArgument, "Error parsing"},
		{"H02d", []string{users}, create + " FOR Users(ALL)", codes.InvalidArgument, "Error parsing"},
		{"H02e", nil, create + " FOR", codes.InvalidArgument, "Error parsing"},
		{"H02f", nil, create + " OPTIONS ()", codes.InvalidArgument, "Error parsing"},
		{"H02g", nil, create + " OPTIONS (retention_period = '24h', retention_period = '36h')", codes.InvalidArgument, "Duplicate option"},
		{"H02h", nil, create + " OPTIONS (allow = true)", codes.InvalidArgument, "allow"},
		{"H02i", nil, create + " OPTIONS (retention_period = true)", codes.InvalidArgument, "retention_period"},
		{"H02j", nil, create + " OPTIONS (exclude_insert = 1)", codes.InvalidArgument, "exclude_insert"},
		{"H03", []string{users}, create + " FOR Users(UserId)", codes.FailedPrecondition, "should not list the primary key column UserId"},
		{"H04", []string{users}, create + " FOR Users,Users", codes.FailedPrecondition, "should not list Table Users more than once"},
		{"H04b", []string{users}, create + " FOR Users(Name, Name)", codes.FailedPrecondition, "should not list Column Name more than once"},
		{"H05a", []string{users}, create + " FOR bar", codes.FailedPrecondition, "this Table does not exist"},
		{"H05b", []string{users}, create + " FOR Users(Age)", codes.FailedPrecondition, "does not exist in Table Users"},
		{"H05c", streams(1, ""), create + " FOR S0", codes.FailedPrecondition, "does not support tracking Change Stream S0"},
		{"H05d", []string{users}, create + " FOR Users(Len)", codes.FailedPrecondition, "generated column Len"},
		{"H05e", []string{users, "CREATE INDEX ByName ON Users(Name)"}, create + " FOR ByName", codes.FailedPrecondition, "does not support tracking Index ByName"},
		{"H06a", streams(3, " FOR Users"), create + " FOR Users", codes.FailedPrecondition, "not allowed to have more than 3 Change Streams"},
		{"H06b", streams(3, " FOR Users(Name)"), create + " FOR Users(Name)", codes.FailedPrecondition, "not allowed to have more than 3 Change Streams"},
		{"H06c", streams(3, " FOR Users"), create + " FOR ALL", codes.FailedPrecondition, "not allowed to have more than 3 Change Streams"},
		{"H06d", streams(3, " FOR ALL"), create + " FOR Users(Name)", codes.FailedPrecondition, "not allowed to have more than 3 Change Streams"},
		{"H06e", append(streams(3, " FOR Users"), create), "ALTER CHANGE STREAM S SET FOR Users", codes.FailedPrecondition, "not allowed to have more than 3 Change Streams"},
		{"H06f", streams(3, " FOR Users"), create + " FOR Other", codes.OK, ""},
		{"H07", streams(10, ""), create, codes.FailedPrecondition, "maximum number of Change Streams per Database"},
		{"H08a", streams(2, " FOR Users(Name)"), "DROP TABLE Users", codes.FailedPrecondition, "Cannot drop table Users. Table Users is tracked by 2 Change Stream: S0, S1."},
		{"H08b", []string{`CREATE TABLE Users (UserId INT64, Name STRING(MAX)) PRIMARY KEY (UserId)`, create + " FOR Users(Name)"}, "ALTER TABLE Users DROP COLUMN Name", codes.FailedPrecondition, "cannot be dropped"},
		{"H08c", streams(1, " FOR ALL"), "DROP TABLE Users", codes.OK, ""},
		{"H09a", nil, create + " OPTIONS (retention_period = '50d')", codes.FailedPrecondition, "Invalid retention_period"},
		{"H09b", nil, create + " OPTIONS (value_capture_type = 'FooBar')", codes.FailedPrecondition, "Invalid value_capture_type"},
		{"H09c", nil, create + " OPTIONS (retention_period = '23h')", codes.FailedPrecondition, "Invalid retention_period"},
		{"H09d", nil, create + " OPTIONS (retention_period = 'week')", codes.FailedPrecondition, "Invalid retention_period"},
		{"H09e", nil, create + " OPTIONS (partition_mode = 'OTHER')", codes.FailedPrecondition, "Invalid partition_mode"},
		{"H09f", streams(1, ""), "ALTER CHANGE STREAM S0 SET OPTIONS (partition_mode = 'MUTABLE_KEY_RANGE')", codes.FailedPrecondition, "partition_mode"},
		{"H10", streams(1, ""), "ALTER CHANGE STREAM S0 DROP FOR ALL", codes.FailedPrecondition, "because it does not have a FOR clause"},
		{"H11a", []string{"CREATE CHANGE STREAM foo"}, "CREATE TABLE READ_foo (K INT64) PRIMARY KEY (K)", codes.FailedPrecondition, "Duplicate name in schema: READ_foo"},
		{"H11b", []string{"CREATE TABLE READ_S (K INT64) PRIMARY KEY (K)"}, create, codes.FailedPrecondition, "Duplicate name in schema: READ_S"},
		{"H11c", []string{users}, "CREATE CHANGE STREAM Users", codes.FailedPrecondition, "Duplicate name in schema: Users"},
		{"H12a", nil, "DROP CHANGE STREAM S", codes.NotFound, "Change Stream not found: S"},
		{"H12b", nil, "ALTER CHANGE STREAM S DROP FOR ALL", codes.NotFound, "Change Stream not found: S"},
		{"H12c", nil, "DROP CHANGE STREAM IF EXISTS S", codes.OK, ""},
		{"H12d", streams(1, ""), "DROP CHANGE STREAM IF EXISTS S0", codes.OK, ""},
		{"H13", []string{create + " OPTIONS (value_capture_type = 'NEW_ROW', retention_period = '36h', exclude_update = true)"}, "ALTER CHANGE STREAM S SET OPTIONS (value_capture_type = NULL, retention_period = NULL)", codes.OK, create + " OPTIONS ( exclude_update = true )"},
		{"H14", streams(1, " FOR ALL"), "ALTER CHANGE STREAM S0 SET FOR Users, Other", codes.OK, "CREATE CHANGE STREAM S0 FOR Users, Other"},
	} {
		t.Run(c.id, func(t *testing.T) {
			f := start(t, emulator.Options{}, c.schema...)
			before := f.streams(t)
			_, err := databasepb.NewDatabaseAdminClient(f.conn).UpdateDatabaseDdl(t.Context(), &databasepb.UpdateDatabaseDdlRequest{Database: databaseName, Statements: []string{c.stmt}})
			if status.Code(err) != c.code || err != nil && (!strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "\n")) {
				t.Fatalf("%s: %v, want %v %q", c.stmt, err, c.code, c.text)
			}
			switch got := f.streams(t); {
			case err != nil && got != before:
				t.Errorf("changed by a statement that failed: %s", got)
			case err == nil && c.text != "" && got != c.text:
				t.Errorf("printed %q, want %q", got, c.text)
			}
		})
	}
}
