package emulator_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/spanner/admin/database/apiv1/databasepb"
	"cloud.google.com/go/spanner/admin/instance/apiv1/instancepb"
	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc/codes"

	"spanbulk/internal/emulator"
)

// Of several who create a database at once, one does.
func TestCreateDatabaseOnce(t *testing.T) {
	f := start(t, emulator.Options{})
	var made atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			err := f.srv.CreateDatabase(t.Context(), "projects/p/instances/i/databases/once", databasepb.DatabaseDialect_GOOGLE_STANDARD_SQL,
				"CREATE TABLE T (K INT64, G INT64 AS (K + 1) STORED) PRIMARY KEY (K)", "CREATE INDEX I ON T(G)")
			switch statusCode(err) {
			case codes.OK:
				made.Add(1)
			case codes.AlreadyExists:
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := made.Load(); n != 1 {
		t.Errorf("%d made the database", n)
	}
}

// What reads the change streams of a database ends with its instance, and a new
// database of the name knows nothing of the old one's operations.
func TestDeleteInstanceEndsReaders(t *testing.T) {
	f := start(t, emulator.Options{}, "CREATE TABLE T (K INT64) PRIMARY KEY (K)", "CREATE CHANGE STREAM S FOR ALL")
	tokens := f.tokens(t, "S", f.now(t))
	stream, err := f.api().ExecuteStreamingSql(t.Context(), &spannerpb.ExecuteSqlRequest{Session: f.session, Sql: readSQL("S", f.now(t), time.Time{}, tokens[0], 100)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil { // a heartbeat: it is running
		t.Fatal(err)
	}
	admin := databasepb.NewDatabaseAdminClient(f.conn)
	update := &databasepb.UpdateDatabaseDdlRequest{Database: databaseName, OperationId: "op_1", Statements: []string{"CREATE TABLE U (K INT64) PRIMARY KEY (K)"}}
	if _, err := admin.UpdateDatabaseDdl(t.Context(), update); err != nil {
		t.Fatal(err)
	}
	if _, err := instancepb.NewInstanceAdminClient(f.conn).DeleteInstance(t.Context(), &instancepb.DeleteInstanceRequest{Name: "projects/p/instances/i"}); err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = stream.Recv()
	}
	wantCode(t, err, codes.NotFound)
	if err := f.srv.CreateDatabase(t.Context(), databaseName, databasepb.DatabaseDialect_GOOGLE_STANDARD_SQL); err != nil {
		t.Fatal(err)
	}
	_, err = admin.UpdateDatabaseDdl(t.Context(), update)
	wantCode(t, err, codes.OK)
}

// A transaction belongs to its session.
func TestTransactionOfAnotherSession(t *testing.T) {
	f := start(t, emulator.Options{}, "CREATE TABLE T (K INT64) PRIMARY KEY (K)")
	other, err := f.api().CreateSession(t.Context(), &spannerpb.CreateSessionRequest{Database: databaseName})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := f.api().BeginTransaction(t.Context(), &spannerpb.BeginTransactionRequest{Session: other.GetName(), Options: &spannerpb.TransactionOptions{
		Mode: &spannerpb.TransactionOptions_ReadWrite_{ReadWrite: &spannerpb.TransactionOptions_ReadWrite{}}}})
	if err != nil {
		t.Fatal(err)
	}
	commit := func(session string) error {
		_, err := f.api().Commit(t.Context(), &spannerpb.CommitRequest{Session: session, Transaction: &spannerpb.CommitRequest_TransactionId{TransactionId: tx.GetId()}})
		return err
	}
	wantCode(t, commit(f.session), codes.InvalidArgument)
	wantCode(t, commit(other.GetName()), codes.OK)
}
