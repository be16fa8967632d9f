package emulator_test

import (
	"testing"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	"spanbulk/internal/emulator"
)

func TestNamedSchemas(t *testing.T) {
	f := start(t, emulator.Options{}, "CREATE SCHEMA sales", `CREATE TABLE sales.Orders (K INT64 NOT NULL, V INT64) PRIMARY KEY (K)`,
		`CREATE TABLE sales.Lines (K INT64 NOT NULL, L INT64 NOT NULL) PRIMARY KEY (K, L), INTERLEAVE IN PARENT sales.Orders ON DELETE CASCADE`,
		`CREATE INDEX sales.OrdersByV ON sales.Orders(V)`, `CREATE TABLE Orders (K INT64) PRIMARY KEY (K)`)
	f.commit(t, insert("sales.Orders", "K,V", row(1, 10), row(2, 5)), insert("SALES.lines", "K,L", row(1, 1)))
	if got := f.cells(t, "sales.Orders", "sales.OrdersByV", "V,K", all()); got != "5,2|10,1" {
		t.Errorf("index holds %s", got)
	}
	for sql, want := range map[string]string{
		"SELECT o.V FROM sales.Orders AS o JOIN sales.Lines AS l ON o.K = l.K":                                                                                            "10",
		"SELECT COUNT(*) FROM Orders":                                                                                                                                     "0",
		"SELECT V FROM sales.Orders@{FORCE_INDEX=sales.OrdersByV} WHERE V < 6":                                                                                            "5",
		"SELECT table_name, parent_table_name FROM information_schema.tables WHERE table_schema = 'sales' ORDER BY 1":                                                     "Lines,Orders|Orders,-",
		"SELECT index_name, table_name FROM information_schema.indexes WHERE table_schema = 'sales' AND index_type = 'INDEX'":                                             "OrdersByV,Orders",
		"SELECT schema_name FROM information_schema.schemata WHERE schema_name = 'sales'":                                                                                 "sales",
		"SELECT used_bytes FROM spanner_sys.table_sizes_stats_1hour":                                                                                                      "",
		"SELECT constraint_schema, constraint_name FROM information_schema.table_constraints WHERE table_schema = 'sales' AND constraint_type = 'PRIMARY KEY' ORDER BY 2": "sales,PK_Lines|sales,PK_Orders",
	} {
		if got, err := f.sql(t, &spannerpb.ExecuteSqlRequest{Sql: sql}); err != nil || got != want {
			t.Errorf("%s: %s, error %v, want %s", sql, got, err, want)
		}
	}
	f.commit(t, deleteKeys("sales.Orders", key(1)))
	if got := f.cells(t, "sales.Lines", "", "K", all()); got != "" {
		t.Errorf("lines %s are left", got)
	}
}

// What no transaction may read, and how long commits may be put off.
func TestRefusedRequests(t *testing.T) {
	f := start(t, emulator.Options{}, schemaU...)
	_, err := f.sql(t, &spannerpb.ExecuteSqlRequest{Sql: "SELECT 1 FROM information_schema.tables", Transaction: byID(f.begin(t, readWrite()).GetId())})
	wantCode(t, err, codes.InvalidArgument, "INFORMATION_SCHEMA")
	err = f.read(t, &receiver{t: t}, &spannerpb.ReadRequest{Table: "INFORMATION_SCHEMA.TABLES", Columns: []string{"TABLE_NAME"}, KeySet: all()})
	wantCode(t, err, codes.NotFound)
	for _, d := range []time.Duration{-time.Millisecond, 501 * time.Millisecond} {
		_, err = f.api().Commit(t.Context(), &spannerpb.CommitRequest{Session: f.session, MaxCommitDelay: durationpb.New(d), Transaction: &spannerpb.CommitRequest_TransactionId{TransactionId: f.begin(t, readWrite()).GetId()}})
		wantCode(t, err, codes.InvalidArgument)
	}
	_, err = f.api().Commit(t.Context(), &spannerpb.CommitRequest{Session: f.session, Transaction: &spannerpb.CommitRequest_TransactionId{TransactionId: []byte("none")}})
	wantCode(t, err, codes.InvalidArgument)
	_, err = f.readIn(t, "Users", &spannerpb.TransactionSelector{Selector: &spannerpb.TransactionSelector_SingleUse{SingleUse: readWrite()}})
	wantCode(t, err, codes.InvalidArgument)
}

// Sessions that nobody uses end: after an hour, or 28 days for multiplexed ones.
func TestSessionsExpire(t *testing.T) {
	c := newClock()
	f := start(t, emulator.Options{Now: c.now}, schemaU...)
	plain, err := f.api().CreateSession(t.Context(), &spannerpb.CreateSessionRequest{Database: databaseName})
	if err != nil {
		t.Fatal(err)
	}
	get := func(name string) error {
		_, err := f.api().GetSession(t.Context(), &spannerpb.GetSessionRequest{Name: name})
		return err
	}
	c.advance(time.Hour)
	wantCode(t, get(plain.GetName()), codes.OK)
	c.advance(time.Hour + time.Second)
	wantCode(t, get(plain.GetName()), codes.NotFound)
	wantCode(t, get(f.session), codes.OK)
	c.advance(28*24*time.Hour + time.Second)
	wantCode(t, get(f.session), codes.NotFound)
}

// Transactions that nobody can use any more are forgotten, however many begin.
func TestOldTransactionsAreForgotten(t *testing.T) {
	c := newClock()
	f := start(t, emulator.Options{Now: c.now}, schemaU...)
	begin := func() []byte {
		tx, err := f.api().BeginTransaction(t.Context(), &spannerpb.BeginTransactionRequest{Session: f.session, Options: &spannerpb.TransactionOptions{Mode: &spannerpb.TransactionOptions_ReadOnly_{ReadOnly: strongRead()}}})
		if err != nil {
			t.Fatal(err)
		}
		return tx.GetId()
	}
	old := begin()
	use := func() error {
		_, err := f.readIn(t, "Users", &spannerpb.TransactionSelector{Selector: &spannerpb.TransactionSelector_Id{Id: old}})
		return err
	}
	wantCode(t, use(), codes.OK)
	c.advance(time.Hour + time.Minute)
	wantCode(t, use(), codes.FailedPrecondition, "has exceeded the maximum timestamp staleness")
	c.advance(time.Hour)
	for range 1100 {
		begin()
	}
	wantCode(t, use(), codes.InvalidArgument, "not found")
}
