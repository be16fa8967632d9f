package emulator_test

import (
	"context"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/spanner"
	"cloud.google.com/go/spanner/admin/database/apiv1/databasepb"
	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"spanbulk/internal/emulator"
)

// clock is a server's clock that a test moves.
type clock struct{ nanos atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.nanos.Store(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano())
	return c
}

func (c *clock) now() time.Time          { return time.Unix(0, c.nanos.Load()).UTC() }
func (c *clock) advance(d time.Duration) { c.nanos.Add(int64(d)) }

// committedAt commits mutations and gives the commit timestamp.
func (f *fixture) committedAt(t testing.TB, m ...*spannerpb.Mutation) time.Time {
	t.Helper()
	resp, err := f.tryCommit(t, m...)
	if err != nil {
		t.Fatal(err)
	}
	return resp.GetCommitTimestamp().AsTime()
}

// metadata is that of a read or query, from its first message.
func firstMetadata(t testing.TB, stream grpc.ServerStreamingClient[spannerpb.PartialResultSet], err error) *spannerpb.ResultSetMetadata {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	m, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = stream.Recv()
	}
	if err != io.EOF {
		t.Fatal(err)
	}
	return m.GetMetadata()
}

func (f *fixture) readMetadata(t testing.TB, sel *spannerpb.TransactionSelector) *spannerpb.ResultSetMetadata {
	t.Helper()
	stream, err := f.api().StreamingRead(t.Context(), &spannerpb.ReadRequest{Session: f.session, Transaction: sel, Table: "Users", Columns: []string{"ID"}, KeySet: all()})
	return firstMetadata(t, stream, err)
}

func TestConformanceSnapshots(t *testing.T) {
	c := newClock()
	f := start(t, emulator.Options{Now: c.now}, schemaU...)
	read := func(ro *spannerpb.TransactionOptions_ReadOnly) string {
		t.Helper()
		got, err := f.readIn(t, "Users", singleUse(ro))
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	staleness := func(d time.Duration) *spannerpb.TransactionOptions_ReadOnly {
		return &spannerpb.TransactionOptions_ReadOnly{TimestampBound: &spannerpb.TransactionOptions_ReadOnly_ExactStaleness{ExactStaleness: durationpb.New(d)}}
	}
	t.Run("B19", func(t *testing.T) {
		f.commit(t, insert("Users", "ID,Name", row(1, "val1")))
		c.advance(2 * time.Second)
		f.commit(t, insert("Users", "ID", row(2)))
		for _, ro := range []*spannerpb.TransactionOptions_ReadOnly{staleness(time.Second), atTime(c.now().Add(-time.Second))} {
			if got := read(ro); got != "1" {
				t.Errorf("%v: %s", ro, got)
			}
		}
	})
	t.Run("B21", func(t *testing.T) {
		got := read(&spannerpb.TransactionOptions_ReadOnly{TimestampBound: &spannerpb.TransactionOptions_ReadOnly_MaxStaleness{MaxStaleness: durationpb.New(10 * time.Minute)}})
		if got != "" && got != "1" && got != "1|2" {
			t.Errorf("read %s", got)
		}
	})
	t.Run("B11", func(t *testing.T) {
		committed := f.committedAt(t, upsert("Users", "ID", row(2)))
		meta := f.readMetadata(t, singleUse(&spannerpb.TransactionOptions_ReadOnly{TimestampBound: &spannerpb.TransactionOptions_ReadOnly_Strong{Strong: true}}))
		if at := meta.GetTransaction().GetReadTimestamp().AsTime(); at.Before(committed) || len(meta.GetTransaction().GetId()) != 0 {
			t.Errorf("read at %v as %v, committed at %v", at, meta.GetTransaction(), committed)
		}
	})
	t.Run("B12", func(t *testing.T) {
		tx := f.begin(t, readWrite())
		if meta := f.readMetadata(t, byID(tx.GetId())); tx.GetReadTimestamp() != nil || meta.GetTransaction() != nil {
			t.Errorf("transaction %v, metadata %v", tx, meta)
		}
		begun := f.readMetadata(t, &spannerpb.TransactionSelector{Selector: &spannerpb.TransactionSelector_Begin{Begin: readWrite()}})
		if len(begun.GetTransaction().GetId()) == 0 || begun.GetTransaction().GetReadTimestamp() != nil {
			t.Errorf("begun inline: %v", begun)
		}
	})
	t.Run("B13", func(t *testing.T) {
		first := f.committedAt(t, update("Users", "ID,Name", row(1, "val1")))
		f.commit(t, update("Users", "ID,Name", row(1, "val2")))
		got, err := f.sql(t, &spannerpb.ExecuteSqlRequest{Sql: "SELECT Name FROM Users WHERE ID = 1", Transaction: singleUse(&spannerpb.TransactionOptions_ReadOnly{
			TimestampBound: &spannerpb.TransactionOptions_ReadOnly_MinReadTimestamp{MinReadTimestamp: timestamppb.New(first)}})})
		if err != nil || got != "val2" {
			t.Errorf("read %s, error %v", got, err)
		}
	})
	// The schema is read at the timestamp of the data.
	t.Run("schema versions", func(t *testing.T) {
		before := c.now()
		c.advance(time.Second)
		f.ddl(t, "ALTER TABLE Users ADD COLUMN Born DATE", "ALTER TABLE Users DROP COLUMN Age", "CREATE TABLE Later (ID INT64) PRIMARY KEY (ID)")
		c.advance(time.Second)
		at := func(ts time.Time, columns string) codes.Code {
			_, err := f.sql(t, &spannerpb.ExecuteSqlRequest{Sql: "SELECT " + columns + " FROM Users", Transaction: singleUse(atTime(ts))})
			return statusCode(err)
		}
		for columns, want := range map[string][2]codes.Code{"Age": {codes.OK, codes.InvalidArgument}, "Born": {codes.InvalidArgument, codes.OK}} {
			if got := [2]codes.Code{at(before, columns), at(c.now(), columns)}; got != want {
				t.Errorf("%s before and after: %v, want %v", columns, got, want)
			}
		}
		_, err := f.readIn(t, "Later", singleUse(atTime(before)))
		wantCode(t, err, codes.NotFound, "Later")
		names, err := f.sql(t, &spannerpb.ExecuteSqlRequest{Sql: "SELECT table_name FROM information_schema.tables WHERE table_schema = ''", Transaction: singleUse(atTime(before))})
		if err != nil || names != "Users" {
			t.Errorf("tables %s, error %v", names, err)
		}
	})
	t.Run("B27", func(t *testing.T) {
		f.ddl(t, "ALTER DATABASE db SET OPTIONS (version_retention_period = '2h')")
		old := c.now()
		c.advance(2*time.Hour - time.Second)
		read(atTime(old))
		c.advance(time.Second)
		_, err := f.readIn(t, "Users", singleUse(atTime(old)))
		wantCode(t, err, codes.FailedPrecondition, "has exceeded the maximum timestamp staleness")
		db, err := databasepb.NewDatabaseAdminClient(f.conn).GetDatabase(t.Context(), &databasepb.GetDatabaseRequest{Name: databaseName})
		if err != nil || db.GetVersionRetentionPeriod() != "2h" || db.GetEarliestVersionTime().AsTime().Before(old) {
			t.Errorf("database %v, error %v", db, err)
		}
	})
	// SQL follows the server's clock, not the machine's.
	t.Run("clock", func(t *testing.T) {
		got, err := f.sql(t, &spannerpb.ExecuteSqlRequest{Sql: "SELECT CURRENT_TIMESTAMP()"})
		if err != nil || got != c.now().Format(time.RFC3339Nano) {
			t.Errorf("now is %s, error %v, want %v", got, err, c.now())
		}
	})
}

func TestConformanceTransactionRequests(t *testing.T) {
	f := start(t, emulator.Options{}, schemaU...)
	t.Run("B02", func(t *testing.T) {
		_, err := f.api().Rollback(t.Context(), &spannerpb.RollbackRequest{Session: f.session})
		wantCode(t, err, codes.InvalidArgument)
	})
	dml := func(sel *spannerpb.TransactionSelector) error {
		_, err := f.sql(t, &spannerpb.ExecuteSqlRequest{Sql: "INSERT INTO Users (ID) VALUES (1)", Transaction: sel})
		return err
	}
	t.Run("B06", func(t *testing.T) {
		tx := f.begin(t, readOnly(&spannerpb.TransactionOptions_ReadOnly{}))
		wantCode(t, dml(byID(tx.GetId())), codes.InvalidArgument, "read-write transaction")
	})
	t.Run("single-use DML", func(t *testing.T) {
		wantCode(t, dml(nil), codes.InvalidArgument, "DML statements may not be performed in single-use transactions, to avoid replay.")
	})
	t.Run("batch DML", func(t *testing.T) {
		tx := byID(f.begin(t, readWrite()).GetId())
		_, err := f.api().ExecuteBatchDml(t.Context(), &spannerpb.ExecuteBatchDmlRequest{Session: f.session, Transaction: tx})
		wantCode(t, err, codes.InvalidArgument)
		one := []*spannerpb.ExecuteBatchDmlRequest_Statement{{Sql: "DELETE FROM Users WHERE true"}}
		_, err = f.api().ExecuteBatchDml(t.Context(), &spannerpb.ExecuteBatchDmlRequest{Session: f.session, Transaction: tx, Statements: one})
		wantCode(t, err, codes.Unimplemented, "DML")
		wantCode(t, dml(tx), codes.Unimplemented, "DML")
	})
	t.Run("B14", func(t *testing.T) {
		tx := f.begin(t, readWrite())
		_, err := f.sql(t, &spannerpb.ExecuteSqlRequest{Sql: "SELECT 1 FROM Missing", Transaction: byID(tx.GetId())})
		wantCode(t, err, codes.InvalidArgument, "Missing")
		_, err = f.commitIn(t, tx.GetId(), insert("Users", "ID", row(14)))
		wantCode(t, err, codes.OK)
	})
	t.Run("B18", func(t *testing.T) {
		tx := f.begin(t, readOnly(&spannerpb.TransactionOptions_ReadOnly{}))
		_, err := f.api().Rollback(t.Context(), &spannerpb.RollbackRequest{Session: f.session, TransactionId: tx.GetId()})
		wantCode(t, err, codes.FailedPrecondition)
		_, err = f.readIn(t, "Users", byID(tx.GetId()))
		wantCode(t, err, codes.OK)
	})
	t.Run("B10", func(t *testing.T) {
		tx := f.begin(t, readWrite())
		_, err := f.commitIn(t, tx.GetId(), insert("Users", "ID", row(10)))
		wantCode(t, err, codes.OK)
		_, err = f.api().Rollback(t.Context(), &spannerpb.RollbackRequest{Session: f.session, TransactionId: tx.GetId()})
		wantCode(t, err, codes.FailedPrecondition)
		_, err = f.readIn(t, "Users", byID(tx.GetId()))
		wantCode(t, err, codes.FailedPrecondition, "after Commit() or Rollback()")
		_, err = f.sql(t, &spannerpb.ExecuteSqlRequest{Sql: "SELECT 1", Transaction: byID(tx.GetId())})
		wantCode(t, err, codes.FailedPrecondition)
	})
	t.Run("C34", func(t *testing.T) {
		where := &spannerpb.DirectedReadOptions{Replicas: &spannerpb.DirectedReadOptions_IncludeReplicas_{IncludeReplicas: &spannerpb.DirectedReadOptions_IncludeReplicas{}}}
		tx := byID(f.begin(t, readWrite()).GetId())
		const text = "Directed reads can only be performed in a read-only transaction"
		err := f.read(t, &receiver{t: t}, &spannerpb.ReadRequest{Table: "Users", Columns: []string{"ID"}, KeySet: all(), Transaction: tx, DirectedReadOptions: where})
		wantCode(t, err, codes.InvalidArgument, text)
		_, err = f.sql(t, &spannerpb.ExecuteSqlRequest{Sql: "SELECT 1", Transaction: tx, DirectedReadOptions: where})
		wantCode(t, err, codes.InvalidArgument, text)
		_, err = f.sql(t, &spannerpb.ExecuteSqlRequest{Sql: "SELECT 1", DirectedReadOptions: where})
		wantCode(t, err, codes.OK)
	})
	// A DML statement holds a lock as a read does here: one of the two loses.
	t.Run("E09", func(t *testing.T) {
		tx := f.begin(t, readWrite())
		_, err := f.readIn(t, "Users", byID(tx.GetId()))
		wantCode(t, err, codes.OK)
		got, err := f.batchWrite(t, f.session, ms(insert("Users", "ID", row(6))), ms(insert("Users", "ID", row(7))))
		wantCode(t, err, codes.OK)
		_, err = f.commitIn(t, tx.GetId(), upsert("Users", "ID,Name", row(6, "tx")))
		if (got[0] == codes.OK) == (statusCode(err) == codes.OK) || got[0] != codes.OK && got[0] != codes.Aborted {
			t.Errorf("groups %v, commit %v", got, err)
		}
	})
}

// The official client's side of the lines on sessions and timestamps.
func TestConformanceOfficialClient(t *testing.T) {
	f := start(t, emulator.Options{}, schemaU...)
	c := f.client()
	t.Run("B26", func(t *testing.T) {
		if ts, err := c.Apply(t.Context(), nil); err != nil || ts.IsZero() {
			t.Errorf("committed at %v, error %v", ts, err)
		}
	})
	t.Run("B24", func(t *testing.T) {
		tx := c.Single()
		defer tx.Close()
		if ts, err := tx.Timestamp(); err == nil {
			t.Errorf("timestamp %v before any row", ts)
		}
		if _, err := tx.ReadRow(t.Context(), "Users", spanner.Key{1}, []string{"ID"}); spanner.ErrCode(err) != codes.NotFound {
			t.Fatal(err)
		}
		if ts, err := tx.Timestamp(); err != nil || ts.IsZero() {
			t.Errorf("timestamp %v, error %v", ts, err)
		}
	})
	t.Run("B25", func(t *testing.T) {
		tx := c.ReadOnlyTransaction()
		defer tx.Close()
		it := tx.Read(t.Context(), "Users", spanner.AllKeys(), []string{"ID"})
		defer it.Stop()
		if ts, err := tx.Timestamp(); err != nil || ts.IsZero() {
			t.Errorf("timestamp %v, error %v", ts, err)
		}
	})
	t.Run("C27", func(t *testing.T) {
		f := start(t, emulator.Options{}, append(schemaU, "CREATE INDEX UsersByName ON Users(Name)")...)
		f.commit(t, insert("Users", "ID,Name", row(1, "twin"), row(2, "twin")))
		_, err := f.client().Single().ReadRowUsingIndex(t.Context(), "Users", "UsersByName", spanner.Key{"twin"}, []string{"ID"})
		if spanner.ErrCode(err) != codes.FailedPrecondition {
			t.Errorf("error %v", err)
		}
		if got := f.cells(t, "Users", "UsersByName", "ID", &spannerpb.KeySet{Keys: keyList(key("twin"))}); got != "1|2" {
			t.Errorf("read %s", got)
		}
	})
	t.Run("A08", func(t *testing.T) {
		missing, err := spanner.NewClientWithConfig(context.Background(), "projects/p/instances/i/databases/missing", spanner.ClientConfig{DisableNativeMetrics: true},
			option.WithEndpoint(f.endpoint), option.WithoutAuthentication(), option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())))
		if err != nil {
			t.Fatal(err)
		}
		defer missing.Close()
		if _, err := missing.Single().ReadRow(t.Context(), "Users", spanner.Key{1}, []string{"ID"}); spanner.ErrCode(err) != codes.NotFound {
			t.Errorf("error %v", err)
		}
	})
}
