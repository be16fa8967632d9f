package spannertest

import (
	"context"
	"fmt"
	"os"
	"testing"

	"cloud.google.com/go/spanner/admin/database/apiv1/databasepb"

	"spanbulk/internal/database"
	"spanbulk/internal/emulator"
)

// Options say what a test's database is like.
type Options struct {
	// Emulator are the embedded server's options. A live server has its own.
	Emulator emulator.Options
	// Dialect is GoogleSQL where it is not said.
	Dialect databasepb.DatabaseDialect
	// DDL makes the schema.
	DDL []string
}

// Database is one test's database.
type Database struct {
	// Name is the database's full name.
	Name database.Name
	// Endpoint is the emulator's host:port; empty is the service.
	Endpoint string

	embedded *emulator.Server // nil where the server is another
}

// Live reports whether the databases are on a server that runs elsewhere.
func Live() bool { return os.Getenv("SPANBULK_TEST_LIVE") != "" }

// New makes a database that lasts as long as the test.
func New(t testing.TB, o Options) *Database {
	t.Helper()
	d, end, err := Create(context.WithoutCancel(t.Context()), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// Create is New for what is no test of its own, as a script. The caller calls
// end.
func Create(ctx context.Context, o Options) (d *Database, end func() error, err error) {
	if o.Dialect == databasepb.DatabaseDialect_DATABASE_DIALECT_UNSPECIFIED {
		o.Dialect = databasepb.DatabaseDialect_GOOGLE_STANDARD_SQL
	}
	if Live() {
		return createLive(ctx, o)
	}
	server, err := emulator.New(o.Emulator)
	if err != nil {
		return nil, nil, err
	}
	name := database.Name{Project: "p", Instance: "i", Database: "db"}
	endpoint := ""
	if err = server.CreateDatabase(ctx, name.String(), o.Dialect, o.DDL...); err == nil {
		endpoint, err = server.Start("127.0.0.1:0")
	}
	if err != nil {
		server.Close()
		return nil, nil, fmt.Errorf("%w in %q", err, o.DDL)
	}
	return &Database{Name: name, Endpoint: endpoint, embedded: server}, func() error { server.Close(); return nil }, nil
}

// Embedded returns the embedded server, for what no other can do: why says what
// that is. Where the server is another, it skips the test with that reason.
func (d *Database) Embedded(t testing.TB, why string) *emulator.Server {
	t.Helper()
	if d.embedded == nil {
		t.Skip("needs the embedded server: " + why)
	}
	return d.embedded
}

// Faults returns the embedded server's faults; where the server is another, it
// skips the test.
func (d *Database) Faults(t testing.TB) *emulator.Faults {
	t.Helper()
	return d.Embedded(t, "faults").Faults()
}

// Trouble lets a test that also says something without it set faults and message
// sizes of the embedded server. It does nothing where the server is another.
func (d *Database) Trouble(set func(*emulator.Server)) {
	if d.embedded != nil {
		set(d.embedded)
	}
}

// Open opens a connection that lasts as long as the test.
func (d *Database) Open(t testing.TB, channels int) *database.Conn {
	t.Helper()
	conn, err := database.Open(t.Context(), database.Options{Name: d.Name, EmulatorEndpoint: d.Endpoint, Channels: channels})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}
