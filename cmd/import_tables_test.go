package cmd

import (
	"context"
	"testing"
	"time"

	"cloud.google.com/go/spanner/admin/database/apiv1/databasepb"

	"spanbulk/internal/database"
	"spanbulk/internal/emulator"
	"spanbulk/internal/format"
	"spanbulk/internal/schema"
	"spanbulk/internal/writer"
)

// TestTablesThatComeLater wants a table that comes up late to be read as it is
// then: it may have been made since, and the schema of the beginning may be too
// old to be read.
func TestTablesThatComeLater(t *testing.T) {
	s := startSpanner(t, emulator.Options{}, "CREATE TABLE First (Id INT64) PRIMARY KEY (Id)")
	conn, err := database.Open(t.Context(), database.Options{
		Name: s.Name, EmulatorEndpoint: s.endpoint, Channels: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	now, opened := time.Now(), 0
	tables := &importTables{
		open: func(ctx context.Context) (*schema.Catalog, error) {
			opened++
			return schema.Open(ctx, conn, time.Time{})
		},
		now: func() time.Time { return now }, decode: &format.DecodeOptions{},
		tables: map[schema.Name]*importTable{}, written: map[*format.Target]*writer.Table{},
	}
	resolve := func(name string, want bool) {
		t.Helper()
		target, err := tables.resolve(t.Context(), name, false)
		if err != nil || (target != nil) != want {
			t.Fatalf("%s: got %v, %v", name, target, err)
		}
	}
	if err := tables.refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	resolve("first", true)
	s.updateDDL(t, "CREATE TABLE Later (Id INT64) PRIMARY KEY (Id)", "ALTER TABLE First ADD COLUMN Name STRING(MAX)")
	for range 10 { // bad names do not read the schema each time
		resolve("Later", false)
	}
	now = now.Add(2 * schemaAge)
	resolve("Later", true)
	resolve("later", true)
	resolve("first", true)
	if opened != 2 {
		t.Errorf("the schema was read %d times, want twice", opened)
	}
}

func (s *testSpanner) updateDDL(t *testing.T, statements ...string) {
	t.Helper()
	op, err := databasepb.NewDatabaseAdminClient(s.conn).UpdateDatabaseDdl(t.Context(), &databasepb.UpdateDatabaseDdlRequest{
		Database: s.database, Statements: statements,
	})
	if err != nil || op.GetError() != nil {
		t.Fatal(err, op.GetError())
	}
}
