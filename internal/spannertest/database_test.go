package spannertest_test

import (
	"testing"

	"go.uber.org/goleak"

	"spanbulk/internal/database"
	"spanbulk/internal/emulator"
	"spanbulk/internal/spannertest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

var ddl = []string{"CREATE TABLE T (Id INT64 NOT NULL) PRIMARY KEY (Id)"}

func countTables(t *testing.T, d *spannertest.Database) string {
	t.Helper()
	result, err := d.Open(t, 1).Query(t.Context(), database.Statement{SQL: "SELECT CAST(COUNT(*) AS STRING) FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_NAME = 'T'"})
	if err != nil {
		t.Fatal(err)
	}
	return result.Rows[0][0].GetStringValue()
}

func TestEmbedded(t *testing.T) {
	t.Setenv("SPANBULK_TEST_LIVE", "")
	d := spannertest.New(t, spannertest.Options{DDL: ddl})
	if got := countTables(t, d); got != "1" {
		t.Errorf("the schema has %s tables T, want 1", got)
	}
	if d.Embedded(t, "to see it") == nil {
		t.Error("there is no embedded server")
	}
}

// A live database is made on the server that runs elsewhere, beside others, and
// is gone after its test.
func TestLive(t *testing.T) {
	server, err := emulator.New(emulator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	endpoint, err := server.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("SPANBULK_TEST_LIVE", "1")
	t.Setenv("SPANNER_EMULATOR_HOST", endpoint)

	var used *spannertest.Database
	t.Run("test", func(t *testing.T) {
		used = spannertest.New(t, spannertest.Options{DDL: ddl})
		other := spannertest.New(t, spannertest.Options{DDL: ddl})
		if used.Name == other.Name || used.Endpoint != endpoint {
			t.Errorf("databases %s and %s at %s, want two at %s", used.Name, other.Name, used.Endpoint, endpoint)
		}
		if got := countTables(t, used); got != "1" {
			t.Errorf("the schema has %s tables T, want 1", got)
		}
	})
	t.Run("skips", func(t *testing.T) {
		d := spannertest.New(t, spannertest.Options{})
		defer func() {
			if !t.Skipped() {
				t.Error("a test that needs the embedded server was not skipped")
			}
		}()
		d.Embedded(t, "faults")
	})
	if conn, err := database.Open(t.Context(), database.Options{Name: used.Name, EmulatorEndpoint: endpoint}); err == nil {
		conn.Close()
		t.Errorf("%s is still there", used.Name)
	}
}
