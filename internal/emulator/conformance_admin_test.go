package emulator_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	"cloud.google.com/go/spanner/admin/database/apiv1/databasepb"
	"cloud.google.com/go/spanner/admin/instance/apiv1/instancepb"
	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"spanbulk/internal/emulator"
)

func wantCode(t testing.TB, err error, code codes.Code, text ...string) {
	t.Helper()
	if status.Code(err) != code {
		t.Errorf("error %v, want %v", err, code)
		return
	}
	for _, s := range text {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("error %v does not say %q", err, s)
		}
	}
}

func TestConformanceAdmin(t *testing.T) {
	f := start(t, emulator.Options{}, schemaU...)
	ctx := t.Context()
	api, dbs, ops := f.api(), databasepb.NewDatabaseAdminClient(f.conn), longrunningpb.NewOperationsClient(f.conn)
	t.Run("A01", func(t *testing.T) {
		s, err := api.CreateSession(ctx, &spannerpb.CreateSessionRequest{Database: databaseName})
		if err != nil || !strings.HasPrefix(s.GetName(), databaseName+"/sessions/") || s.GetCreateTime() == nil || s.GetApproximateLastUseTime() == nil {
			t.Errorf("session %v, error %v", s, err)
		}
	})
	for id, name := range map[string]string{"A02a": "projects/p/instances/no/databases/db", "A02b": "projects/p/instances/i/databases/no"} {
		t.Run(id, func(t *testing.T) {
			_, err := api.CreateSession(ctx, &spannerpb.CreateSessionRequest{Database: name})
			wantCode(t, err, codes.NotFound)
		})
	}
	t.Run("A03", func(t *testing.T) {
		_, err := api.CreateSession(ctx, &spannerpb.CreateSessionRequest{Database: "database/test-database"})
		wantCode(t, err, codes.InvalidArgument)
	})
	t.Run("A04", func(t *testing.T) {
		_, err := api.GetSession(ctx, &spannerpb.GetSessionRequest{})
		wantCode(t, err, codes.InvalidArgument)
		_, err = api.DeleteSession(ctx, &spannerpb.DeleteSessionRequest{})
		wantCode(t, err, codes.InvalidArgument)
	})
	t.Run("A05", func(t *testing.T) {
		s, err := api.CreateSession(ctx, &spannerpb.CreateSessionRequest{Database: databaseName})
		wantCode(t, err, codes.OK)
		for range 2 {
			_, err = api.DeleteSession(ctx, &spannerpb.DeleteSessionRequest{Name: s.GetName()})
			wantCode(t, err, codes.OK)
		}
		_, err = api.GetSession(ctx, &spannerpb.GetSessionRequest{Name: s.GetName()})
		wantCode(t, err, codes.NotFound, "Session not found")
	})
	t.Run("A06", func(t *testing.T) {
		_, err := api.BatchCreateSessions(ctx, &spannerpb.BatchCreateSessionsRequest{Database: databaseName, SessionCount: -1})
		wantCode(t, err, codes.InvalidArgument)
		resp, err := api.BatchCreateSessions(ctx, &spannerpb.BatchCreateSessionsRequest{Database: databaseName, SessionCount: 300})
		if err != nil || len(resp.GetSession()) != 100 {
			t.Errorf("%d sessions, error %v", len(resp.GetSession()), err)
		}
	})
	t.Run("A07", func(t *testing.T) {
		_, err := api.DeleteSession(ctx, &spannerpb.DeleteSessionRequest{Name: f.session})
		wantCode(t, err, codes.InvalidArgument)
	})
	t.Run("A10", func(t *testing.T) {
		op, err := dbs.UpdateDatabaseDdl(ctx, &databasepb.UpdateDatabaseDdlRequest{Database: databaseName, OperationId: "a_abc123", Statements: []string{"CREATE TABLE A10 (K INT64) PRIMARY KEY (K)"}})
		if err != nil || !strings.HasSuffix(op.GetName(), "/operations/a_abc123") || !op.GetDone() {
			t.Fatalf("operation %v, error %v", op, err)
		}
		_, err = ops.GetOperation(ctx, &longrunningpb.GetOperationRequest{Name: op.GetName()})
		wantCode(t, err, codes.OK)
	})
	t.Run("A11", func(t *testing.T) {
		for _, id := range []string{"a_A", "a-123", "a", strings.Repeat("a", 150)} {
			_, err := dbs.UpdateDatabaseDdl(ctx, &databasepb.UpdateDatabaseDdlRequest{Database: databaseName, OperationId: id, Statements: []string{"CREATE TABLE A11 (K INT64) PRIMARY KEY (K)"}})
			wantCode(t, err, codes.InvalidArgument)
		}
	})
	t.Run("A12", func(t *testing.T) {
		_, err := ops.GetOperation(ctx, &longrunningpb.GetOperationRequest{Name: databaseName + "/operations/nope"})
		wantCode(t, err, codes.NotFound)
	})
	t.Run("A13", func(t *testing.T) {
		f.commit(t, insert("Users", "ID,Name", row(1, "same"), row(2, "same")))
		op, err := dbs.UpdateDatabaseDdl(ctx, &databasepb.UpdateDatabaseDdlRequest{Database: databaseName, Statements: []string{
			"CREATE TABLE A13 (K INT64) PRIMARY KEY (K)", "CREATE UNIQUE INDEX A13ByName ON Users(Name)"}})
		if err != nil || codes.Code(op.GetError().GetCode()) != codes.FailedPrecondition || !strings.Contains(op.GetError().GetMessage(), "uniqueness violation") {
			t.Fatalf("operation %v, error %v", op, err)
		}
		var meta databasepb.UpdateDatabaseDdlMetadata
		if err := op.GetMetadata().UnmarshalTo(&meta); err != nil || len(meta.GetStatements()) != 2 || len(meta.GetCommitTimestamps()) != 1 {
			t.Errorf("metadata %v, error %v", &meta, err)
		}
		f.commit(t, insert("A13", "K", row(1)))
		err = f.read(t, &receiver{t: t}, &spannerpb.ReadRequest{Table: "Users", Index: "A13ByName", Columns: []string{"Name"}, KeySet: all()})
		wantCode(t, err, codes.NotFound)
	})
	t.Run("A14", func(t *testing.T) {
		for _, name := range []string{"projects/p/instances/no/databases/db", "projects/p/instances/i/databases/no"} {
			_, err := dbs.UpdateDatabaseDdl(ctx, &databasepb.UpdateDatabaseDdlRequest{Database: name, Statements: []string{"CREATE TABLE X (K INT64) PRIMARY KEY (K)"}})
			wantCode(t, err, codes.NotFound)
		}
	})
	t.Run("A15", func(t *testing.T) {
		f := start(t, emulator.Options{}, `CREATE TABLE test_table (
			int64_col INT64 NOT NULL, string_col STRING(MAX), ts TIMESTAMP OPTIONS (allow_commit_timestamp=true)
		) PRIMARY KEY (int64_col)`)
		resp, err := databasepb.NewDatabaseAdminClient(f.conn).GetDatabaseDdl(ctx, &databasepb.GetDatabaseDdlRequest{Database: databaseName})
		const want = "CREATE TABLE test_table (\n  int64_col INT64 NOT NULL,\n  string_col STRING(MAX),\n  ts TIMESTAMP OPTIONS (\n    allow_commit_timestamp = true\n  ),\n) PRIMARY KEY(int64_col)"
		if err != nil || len(resp.GetStatements()) != 1 || resp.GetStatements()[0] != want {
			t.Errorf("got %q, error %v", resp.GetStatements(), err)
		}
	})
	t.Run("A16", func(t *testing.T) {
		_, err := dbs.CreateDatabase(ctx, &databasepb.CreateDatabaseRequest{Parent: "projects/p/instances/i", CreateStatement: `CREATE DATABASE "pgdb"`, DatabaseDialect: databasepb.DatabaseDialect_POSTGRESQL})
		wantCode(t, err, codes.OK)
		db, err := dbs.GetDatabase(ctx, &databasepb.GetDatabaseRequest{Name: "projects/p/instances/i/databases/pgdb"})
		if err != nil || db.GetDatabaseDialect() != databasepb.DatabaseDialect_POSTGRESQL || db.GetVersionRetentionPeriod() != "1h" {
			t.Errorf("database %v, error %v", db, err)
		}
	})
	t.Run("A17", func(t *testing.T) {
		_, err := dbs.CreateDatabase(ctx, &databasepb.CreateDatabaseRequest{Parent: "projects/p/instances/i", CreateStatement: "CREATE DATABASE `db`"})
		wantCode(t, err, codes.AlreadyExists)
	})
	t.Run("A18", func(t *testing.T) {
		for range 2 {
			_, err := dbs.DropDatabase(ctx, &databasepb.DropDatabaseRequest{Database: "projects/p/instances/i/databases/pgdb"})
			wantCode(t, err, codes.OK)
		}
	})
	t.Run("instances", func(t *testing.T) {
		in := instancepb.NewInstanceAdminClient(f.conn)
		op, err := in.CreateInstance(ctx, &instancepb.CreateInstanceRequest{Parent: "projects/p", InstanceId: "other", Instance: &instancepb.Instance{NodeCount: 1}})
		if err != nil || !op.GetDone() {
			t.Fatalf("operation %v, error %v", op, err)
		}
		list, err := in.ListInstances(ctx, &instancepb.ListInstancesRequest{Parent: "projects/p"})
		if err != nil || len(list.GetInstances()) != 2 {
			t.Errorf("instances %v, error %v", list, err)
		}
		_, err = in.UpdateInstance(ctx, &instancepb.UpdateInstanceRequest{})
		wantCode(t, err, codes.Unimplemented, "UpdateInstance")
	})
	t.Run("A09", func(t *testing.T) {
		_, err := dbs.DropDatabase(ctx, &databasepb.DropDatabaseRequest{Database: databaseName})
		wantCode(t, err, codes.OK)
		read := &spannerpb.ReadRequest{Table: "Users", Columns: []string{"ID"}, KeySet: all()}
		wantCode(t, f.read(t, &receiver{t: t}, read), codes.NotFound, "Database not found")
		wantCode(t, f.srv.CreateDatabase(ctx, databaseName, databasepb.DatabaseDialect_GOOGLE_STANDARD_SQL), codes.OK)
		wantCode(t, f.read(t, &receiver{t: t}, read), codes.NotFound, "Session not found")
	})
}

func readWrite() *spannerpb.TransactionOptions {
	return &spannerpb.TransactionOptions{Mode: &spannerpb.TransactionOptions_ReadWrite_{ReadWrite: &spannerpb.TransactionOptions_ReadWrite{}}}
}

func readOnly(ro *spannerpb.TransactionOptions_ReadOnly) *spannerpb.TransactionOptions {
	ro.ReturnReadTimestamp = true
	return &spannerpb.TransactionOptions{Mode: &spannerpb.TransactionOptions_ReadOnly_{ReadOnly: ro}}
}

func atTime(ts time.Time) *spannerpb.TransactionOptions_ReadOnly {
	return &spannerpb.TransactionOptions_ReadOnly{TimestampBound: &spannerpb.TransactionOptions_ReadOnly_ReadTimestamp{ReadTimestamp: timestamppb.New(ts)}}
}

func singleUse(ro *spannerpb.TransactionOptions_ReadOnly) *spannerpb.TransactionSelector {
	return &spannerpb.TransactionSelector{Selector: &spannerpb.TransactionSelector_SingleUse{SingleUse: readOnly(ro)}}
}

func byID(id []byte) *spannerpb.TransactionSelector {
	return &spannerpb.TransactionSelector{Selector: &spannerpb.TransactionSelector_Id{Id: id}}
}

func (f *fixture) begin(t testing.TB, opts *spannerpb.TransactionOptions) *spannerpb.Transaction {
	t.Helper()
	tx, err := f.api().BeginTransaction(t.Context(), &spannerpb.BeginTransactionRequest{Session: f.session, Options: opts})
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

func (f *fixture) commitIn(t testing.TB, id []byte, m ...*spannerpb.Mutation) (*spannerpb.CommitResponse, error) {
	return f.api().Commit(t.Context(), &spannerpb.CommitRequest{Session: f.session, Transaction: &spannerpb.CommitRequest_TransactionId{TransactionId: id}, Mutations: m})
}

func (f *fixture) readIn(t testing.TB, table string, sel *spannerpb.TransactionSelector) (string, error) {
	r := &receiver{t: t}
	err := f.read(t, r, &spannerpb.ReadRequest{Table: table, Columns: []string{"ID"}, KeySet: all(), Transaction: sel})
	return spell(r), err
}

func TestConformanceTransactions(t *testing.T) {
	f := start(t, emulator.Options{}, schemaU...)
	rollback := func(id []byte) error {
		_, err := f.api().Rollback(t.Context(), &spannerpb.RollbackRequest{Session: f.session, TransactionId: id})
		return err
	}
	t.Run("B01", func(t *testing.T) {
		tx := f.begin(t, readOnly(&spannerpb.TransactionOptions_ReadOnly{}))
		_, err := f.commitIn(t, tx.GetId())
		wantCode(t, err, codes.FailedPrecondition)
		wantCode(t, rollback(tx.GetId()), codes.FailedPrecondition)
	})
	t.Run("B03", func(t *testing.T) {
		_, err := f.readIn(t, "Users", singleUse(&spannerpb.TransactionOptions_ReadOnly{TimestampBound: &spannerpb.TransactionOptions_ReadOnly_MinReadTimestamp{
			MinReadTimestamp: timestamppb.New(time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC))}}))
		wantCode(t, err, codes.InvalidArgument)
	})
	t.Run("B04", func(t *testing.T) {
		resp, err := f.tryCommit(t, insert("Users", "ID", row(1)))
		if err != nil {
			t.Fatal(err)
		}
		at := resp.GetCommitTimestamp().AsTime()
		for want, ts := range map[string]time.Time{"1": at, "": at.Add(-time.Microsecond)} {
			if got, err := f.readIn(t, "Users", singleUse(atTime(ts))); err != nil || got != want {
				t.Errorf("at %v: %q, error %v", ts, got, err)
			}
		}
	})
	t.Run("B05", func(t *testing.T) {
		ts := time.Now().Add(2 * time.Hour).UTC()
		if tx := f.begin(t, readOnly(atTime(ts))); !tx.GetReadTimestamp().AsTime().Equal(ts) {
			t.Errorf("read timestamp %v", tx.GetReadTimestamp())
		}
	})
	t.Run("B07", func(t *testing.T) {
		tx := f.begin(t, readWrite())
		wantCode(t, rollback(tx.GetId()), codes.OK)
		wantCode(t, rollback(tx.GetId()), codes.OK)
		_, err := f.commitIn(t, tx.GetId())
		wantCode(t, err, codes.FailedPrecondition)
		_, err = f.readIn(t, "Users", byID(tx.GetId()))
		wantCode(t, err, codes.FailedPrecondition)
	})
	t.Run("B08", func(t *testing.T) {
		tx := f.begin(t, readWrite())
		_, err := f.commitIn(t, tx.GetId(), insert("Users", "ID,Name,Age", row(7, "x")))
		wantCode(t, err, codes.InvalidArgument)
		_, err = f.commitIn(t, tx.GetId(), insert("Users", "ID", row(7)))
		wantCode(t, err, codes.InvalidArgument)
		_, err = f.readIn(t, "Users", byID(tx.GetId()))
		wantCode(t, err, codes.FailedPrecondition)
	})
	t.Run("B09", func(t *testing.T) {
		tx := f.begin(t, readWrite())
		_, err := f.readIn(t, "Missing", byID(tx.GetId()))
		wantCode(t, err, codes.NotFound)
		_, err = f.commitIn(t, tx.GetId(), insert("Users", "ID", row(9)))
		wantCode(t, err, codes.OK)
		// Committing again repeats the answer.
		_, err = f.commitIn(t, tx.GetId(), insert("Users", "ID", row(9)))
		wantCode(t, err, codes.OK)
	})
	t.Run("conflict", func(t *testing.T) {
		tx := f.begin(t, readWrite())
		_, err := f.readIn(t, "Users", byID(tx.GetId()))
		wantCode(t, err, codes.OK)
		f.commit(t, upsert("Users", "ID,Age", row(1, 3)))
		_, err = f.commitIn(t, tx.GetId(), upsert("Users", "ID,Age", row(1, 4)))
		wantCode(t, err, codes.Aborted)
		if len(status.Convert(err).Details()) == 0 {
			t.Error("no RetryInfo")
		}
	})
	t.Run("B20", func(t *testing.T) {
		begun := time.Now()
		_, err := f.readIn(t, "Users", singleUse(atTime(begun.Add(100*time.Millisecond))))
		wantCode(t, err, codes.OK)
		if d := time.Since(begun); d < 90*time.Millisecond {
			t.Errorf("answered after %v", d)
		}
	})
	t.Run("B23", func(t *testing.T) {
		for _, ro := range []*spannerpb.TransactionOptions_ReadOnly{
			{TimestampBound: &spannerpb.TransactionOptions_ReadOnly_MinReadTimestamp{MinReadTimestamp: timestamppb.Now()}},
			{TimestampBound: &spannerpb.TransactionOptions_ReadOnly_MaxStaleness{MaxStaleness: durationpb.New(time.Second)}},
		} {
			_, err := f.api().BeginTransaction(t.Context(), &spannerpb.BeginTransactionRequest{Session: f.session, Options: readOnly(ro)})
			wantCode(t, err, codes.InvalidArgument, "single use")
		}
	})
	t.Run("B22", func(t *testing.T) {
		before, err := f.tryCommit(t, upsert("Users", "ID", row(1)))
		wantCode(t, err, codes.OK)
		_, err = databasepb.NewDatabaseAdminClient(f.conn).UpdateDatabaseDdl(t.Context(), &databasepb.UpdateDatabaseDdlRequest{Database: databaseName, Statements: []string{"DROP TABLE Users"}})
		wantCode(t, err, codes.OK)
		if got, err := f.readIn(t, "Users", singleUse(atTime(before.GetCommitTimestamp().AsTime()))); err != nil || got != "1|9" {
			t.Errorf("got %q, error %v", got, err)
		}
		_, err = f.readIn(t, "Users", nil)
		wantCode(t, err, codes.NotFound)
	})
}

func TestConformancePartitions(t *testing.T) {
	f := start(t, emulator.Options{}, schemaIX...)
	f.commit(t, insert("Users", "ID,Name,Age", row(1, "a", 1), row(2, "b", 2), row(3, "c", 3)))
	tx := f.begin(t, readOnly(&spannerpb.TransactionOptions_ReadOnly{}))
	partition := func(change func(*spannerpb.PartitionReadRequest)) (*spannerpb.PartitionResponse, error) {
		req := &spannerpb.PartitionReadRequest{Session: f.session, Transaction: byID(tx.GetId()), Table: "Users", Columns: []string{"ID"}, KeySet: all()}
		change(req)
		return f.api().PartitionRead(t.Context(), req)
	}
	for id, change := range map[string]func(*spannerpb.PartitionReadRequest){
		"D01a": func(r *spannerpb.PartitionReadRequest) { r.Session = "" },
		"D01b": func(r *spannerpb.PartitionReadRequest) { r.Transaction = nil },
		"D02": func(r *spannerpb.PartitionReadRequest) {
			r.Transaction = singleUse(&spannerpb.TransactionOptions_ReadOnly{})
		},
		"D03a": func(r *spannerpb.PartitionReadRequest) { r.Transaction = byID(f.begin(t, readWrite()).GetId()) },
		"D03b": func(r *spannerpb.PartitionReadRequest) {
			r.Transaction = &spannerpb.TransactionSelector{Selector: &spannerpb.TransactionSelector_Begin{Begin: readWrite()}}
		},
		"D04a": func(r *spannerpb.PartitionReadRequest) {
			r.PartitionOptions = &spannerpb.PartitionOptions{PartitionSizeBytes: -1}
		},
		"D04b": func(r *spannerpb.PartitionReadRequest) {
			r.PartitionOptions = &spannerpb.PartitionOptions{MaxPartitions: -1}
		},
	} {
		t.Run(id, func(t *testing.T) {
			_, err := partition(change)
			wantCode(t, err, codes.InvalidArgument)
		})
	}
	parts, err := partition(func(*spannerpb.PartitionReadRequest) {})
	if err != nil {
		t.Fatal(err)
	}
	run := func(change func(*spannerpb.ReadRequest)) (string, error) {
		var out []string
		for _, p := range parts.GetPartitions() {
			req := &spannerpb.ReadRequest{Transaction: byID(tx.GetId()), Table: "Users", Columns: []string{"ID"}, KeySet: all(), PartitionToken: p.GetPartitionToken()}
			change(req)
			r := &receiver{t: t}
			if err := f.read(t, r, req); err != nil {
				return "", err
			}
			if s := spell(r); s != "" {
				out = append(out, s)
			}
		}
		return strings.Join(out, "|"), nil
	}
	t.Run("D20", func(t *testing.T) {
		f.commit(t, insert("Users", "ID,Name", row(0, "late")))
		for range 2 { // D13
			if got, err := run(func(*spannerpb.ReadRequest) {}); err != nil || got != "1|2|3" {
				t.Errorf("got %q, error %v", got, err)
			}
		}
	})
	for id, change := range map[string]func(*spannerpb.ReadRequest){
		"D15a": func(r *spannerpb.ReadRequest) { r.Columns = []string{"Name"} },
		"D15b": func(r *spannerpb.ReadRequest) { r.Index = "UsersByName" },
		"D15c": func(r *spannerpb.ReadRequest) { r.KeySet = &spannerpb.KeySet{} },
		"D16a": func(r *spannerpb.ReadRequest) {
			r.Transaction = byID(f.begin(t, readOnly(&spannerpb.TransactionOptions_ReadOnly{})).GetId())
		},
		"D16b": func(r *spannerpb.ReadRequest) { r.Transaction = nil },
		"D17":  func(r *spannerpb.ReadRequest) { r.PartitionToken = []byte("garbage") },
		"D18":  func(r *spannerpb.ReadRequest) { r.Limit = 100 },
	} {
		t.Run(id, func(t *testing.T) {
			_, err := run(change)
			wantCode(t, err, codes.InvalidArgument)
		})
	}
	t.Run("D09", func(t *testing.T) {
		for _, text := range []string{"SELECT COUNT(*) FROM Users", "SELECT ID FROM Users ORDER BY Name", "SELECT ID FROM Users LIMIT 1"} {
			_, err := f.api().PartitionQuery(t.Context(), &spannerpb.PartitionQueryRequest{Session: f.session, Transaction: byID(tx.GetId()), Sql: text})
			wantCode(t, err, codes.InvalidArgument, "root partitionable")
		}
	})
	t.Run("D23", func(t *testing.T) {
		f := start(t, emulator.Options{}, schemaU...)
		tx := f.begin(t, readOnly(&spannerpb.TransactionOptions_ReadOnly{}))
		parts, err := f.api().PartitionRead(t.Context(), &spannerpb.PartitionReadRequest{Session: f.session, Transaction: byID(tx.GetId()), Table: "Users", Columns: []string{"ID"}, KeySet: all()})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range parts.GetPartitions() {
			r := &receiver{t: t}
			err := f.read(t, r, &spannerpb.ReadRequest{Transaction: byID(tx.GetId()), Table: "Users", Columns: []string{"ID"}, KeySet: all(), PartitionToken: p.GetPartitionToken()})
			if err != nil || len(r.values) != 0 || r.width != 1 {
				t.Errorf("%d values, error %v", len(r.values), err)
			}
		}
	})
}

func TestConformanceBatchWrite(t *testing.T) {
	schema := append(append([]string(nil), schemaIX...), schemaFK...)
	schema = append(schema, `CREATE TABLE Checked (K INT64 NOT NULL, S STRING(3) NOT NULL, V INT64, CONSTRAINT pos CHECK (V > 0)) PRIMARY KEY (K)`)
	f := start(t, emulator.Options{}, schema...)
	f.commit(t, insert("Users", "ID,Name,Age", row(1, "Adam", 20)))
	batch := func(session string, groups ...[]*spannerpb.Mutation) (map[int32]codes.Code, error) {
		return f.batchWrite(t, session, groups...)
	}
	t.Run("E05", func(t *testing.T) {
		want := []codes.Code{codes.AlreadyExists, codes.AlreadyExists, codes.FailedPrecondition, codes.FailedPrecondition, codes.FailedPrecondition,
			codes.OutOfRange, codes.NotFound, codes.NotFound, codes.NotFound, codes.OK, codes.OK}
		got, err := batch(f.session,
			ms(insert("Users", "ID,Name", row(1, "x"))),
			ms(insert("Users", "ID,Name,Age", row(2, "Adam", 20))),
			ms(insert("Checked", "K,S", row(1, nil))),
			ms(insert("Checked", "K,S", row(1, "long"))),
			ms(insert("U", "X,Y,Z", row(1, 1, 1))),
			ms(insert("Checked", "K,S,V", row(1, "a", 0))),
			ms(insert("Users", "ID,Nope", row(3, 3))),
			ms(insert("Nope", "ID", row(3))),
			ms(update("Users", "ID,Age", row(9, 9))),
			ms(deleteKeys("Users", key(9))),
			ms(insert("Users", "ID,Name,Age", row(7, "seven", 7))))
		if err != nil || len(got) != len(want) {
			t.Fatalf("%v, error %v", got, err)
		}
		for i, c := range want {
			if got[int32(i)] != c {
				t.Errorf("group %d: %v, want %v", i, got[int32(i)], c)
			}
		}
	})
	t.Run("E01", func(t *testing.T) {
		got, err := batch(f.session, ms(insert("Users", "ID,Name,Age", row(50, "fifty", 50))))
		if err != nil || len(got) != 1 || got[0] != codes.OK {
			t.Errorf("%v, error %v", got, err)
		}
	})
	t.Run("E02", func(t *testing.T) {
		got, err := batch(f.session, ms(insert("Users", "ID,Name", row(51, "a51"))), ms(insert("Users", "ID,Name", row(1, "a1"))), ms(insert("Users", "ID,Name", row(52, "a52"))))
		if err != nil || got[0] != codes.OK || got[1] != codes.AlreadyExists || got[2] != codes.OK {
			t.Errorf("%v, error %v", got, err)
		}
	})
	t.Run("E04", func(t *testing.T) {
		one := func(id int) []*spannerpb.Mutation {
			return ms(upsert("Users", "ID,Name", row(id, fmt.Sprint("u", id))))
		}
		got, err := batch(f.session, one(51), one(52), one(53), one(54))
		if err != nil || len(got) != 4 {
			t.Errorf("%v, error %v", got, err)
		}
	})
	t.Run("E08", func(t *testing.T) {
		gone := &spannerpb.KeySet{Keys: keyList(key(50), key(51), key(52), key(53), key(54))}
		got, err := batch(f.session, ms(deleteSet("Users", gone)))
		if rows := f.cells(t, "Users", "", "ID", gone); err != nil || got[0] != codes.OK || rows != "" {
			t.Errorf("%v, error %v, rows %s", got, err, rows)
		}
	})
	t.Run("E03", func(t *testing.T) {
		got, err := batch(f.session, ms(insert("Users", "ID,Name", row(60, "s")), insert("Users", "ID,Name", row(1, "t"))), ms(insert("Users", "ID,Name", row(70, "u"))))
		if err != nil || got[0] != codes.AlreadyExists || got[1] != codes.OK {
			t.Fatalf("%v, error %v", got, err)
		}
		if got := f.cells(t, "Users", "", "ID", all()); got != "1|7|70" {
			t.Errorf("rows %s", got)
		}
	})
	t.Run("E06", func(t *testing.T) {
		got, err := batch(databaseName+"/sessions/nope", ms(insert("Users", "ID", row(80))))
		wantCode(t, err, codes.NotFound)
		if len(got) != 0 {
			t.Errorf("answers %v", got)
		}
	})
	t.Run("E07", func(t *testing.T) {
		text := strings.Repeat("x", 2_000_000)
		var groups [][]*spannerpb.Mutation
		for i := range 6 {
			// Names are indexed, and a key that long is refused: the request is
			// accepted, its groups are not.
			groups = append(groups, ms(insert("Users", "ID,Name", row(100+i, text))))
		}
		got, err := batch(f.session, groups...)
		if err != nil || len(got) != 6 {
			t.Errorf("%v, error %v", got, err)
		}
		stream, err := f.conn.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true}, spannerpb.Spanner_BatchWrite_FullMethodName, grpc.ForceCodecV2(newDrain()))
		if err == nil {
			_ = stream.SendMsg(prepared(make([]byte, 110<<20))) // RecvMsg tells why it fails
			err = stream.RecvMsg(&counted{})
		}
		wantCode(t, err, codes.ResourceExhausted, "104857600")
	})
}

func TestConformanceInformationSchema(t *testing.T) {
	f := start(t, emulator.Options{},
		`ALTER DATABASE db SET OPTIONS (default_sequence_kind = 'bit_reversed_positive')`,
		`CREATE TABLE Base (key1 INT64, key2 STRING(256) NOT NULL, v1 INT64 DEFAULT (100), g INT64 AS (key1 + 1) STORED, virt INT64 AS (LENGTH(key2)), now TIMESTAMP DEFAULT (CURRENT_TIMESTAMP()), vec ARRAY<FLOAT32>(vector_length=>2),
			ts TIMESTAMP OPTIONS (allow_commit_timestamp = true), id INT64 GENERATED BY DEFAULT AS IDENTITY (BIT_REVERSED_POSITIVE SKIP RANGE 2222, 3333 START COUNTER WITH 1111), CHECK (v1 > 0)) PRIMARY KEY (key1, key2 DESC)`,
		`CREATE TABLE Casc (key1 INT64, key2 STRING(256) NOT NULL, k3 INT64) PRIMARY KEY (key1, key2 DESC, k3), INTERLEAVE IN PARENT Base ON DELETE CASCADE`,
		`CREATE TABLE Loc (key1 INT64, key2 STRING(256) NOT NULL, k3 INT64) PRIMARY KEY (key1, key2 DESC, k3), INTERLEAVE IN Base`,
		`CREATE TABLE Plain (id INT64 GENERATED BY DEFAULT AS IDENTITY, a INT64) PRIMARY KEY (id)`,
		`CREATE INDEX CascByK ON Casc(key1, key2 DESC, k3), INTERLEAVE IN Base`,
		`CREATE UNIQUE NULL_FILTERED INDEX BaseByV ON Base(v1 DESC, key1) STORING (ts)`,
		`CREATE TABLE Ref (k INT64 NOT NULL, b INT64, CONSTRAINT fk FOREIGN KEY (b) REFERENCES Base (v1)) PRIMARY KEY (k)`,
		`CREATE CHANGE STREAM S FOR Base(v1), Casc OPTIONS (retention_period = '36h')`)
	query := func(text string, params map[string]any) string {
		t.Helper()
		r := &receiver{t: t}
		req := &spannerpb.ExecuteSqlRequest{Sql: text}
		if params != nil {
			req.Params = &structpb.Struct{Fields: map[string]*structpb.Value{}}
			for k, v := range params {
				req.Params.Fields[k] = val(v)
			}
		}
		if err := f.query(t, r, req); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return spell(r)
	}
	for _, c := range []struct {
		id, sql, want string
		params        map[string]any
	}{
		{"K01", "SELECT option_type, option_value FROM information_schema.database_options WHERE option_name = 'database_dialect'", "STRING,GOOGLE_STANDARD_SQL", nil},
		{"K02", "SELECT schema_name FROM INFORMATION_SCHEMA.SCHEMATA ORDER BY 1", "|INFORMATION_SCHEMA|SPANNER_SYS", nil},
		{"K03", "SELECT table_name, parent_table_name, on_delete_action, interleave_type FROM INFORMATION_SCHEMA.TABLES WHERE table_schema = '' ORDER BY table_name",
			"Base,-,-,-|Casc,Base,CASCADE,IN PARENT|Loc,Base,-,IN|Plain,-,-,-|Ref,-,-,-", nil},
		{"K04", "SELECT column_name, is_nullable, spanner_type FROM INFORMATION_SCHEMA.COLUMNS WHERE table_name = 'Casc' ORDER BY ordinal_position",
			"key1,YES,INT64|key2,NO,STRING(256)|k3,YES,INT64", nil},
		{"K05", "SELECT is_generated, generation_expression, is_stored FROM INFORMATION_SCHEMA.COLUMNS WHERE table_name = 'Base' AND column_name = 'g'", "ALWAYS,key1 + 1,YES", nil},
		{"K05b", "SELECT is_generated, generation_expression, is_stored FROM INFORMATION_SCHEMA.COLUMNS WHERE table_name = 'Base' AND column_name = 'virt'", "ALWAYS,LENGTH(key2),NO", nil},
		{"K05c", "SELECT is_generated, generation_expression, is_stored FROM INFORMATION_SCHEMA.COLUMNS WHERE table_name = 'Base' AND column_name = 'v1'", "NEVER,-,-", nil},
		{"K06", "SELECT column_default FROM INFORMATION_SCHEMA.COLUMNS WHERE table_name = 'Base' AND column_name = 'v1'", "100", nil},
		{"K06b", "SELECT column_default FROM INFORMATION_SCHEMA.COLUMNS WHERE table_name = 'Base' AND column_name = 'now'", "CURRENT_TIMESTAMP()", nil},
		{"K07", "SELECT is_identity, identity_generation, identity_kind, identity_start_with_counter, identity_skip_range_min, identity_skip_range_max, column_default FROM INFORMATION_SCHEMA.COLUMNS WHERE table_name = 'Base' AND column_name = 'id'",
			"YES,BY DEFAULT,BIT_REVERSED_POSITIVE_SEQUENCE,1111,2222,3333,-", nil},
		{"K07b", "SELECT column_name, is_identity, identity_generation, identity_kind FROM INFORMATION_SCHEMA.COLUMNS WHERE table_name = 'Plain' ORDER BY 1", "a,NO,-,-|id,YES,BY DEFAULT,-", nil},
		{"K08", "SELECT index_name, index_type, is_unique, is_null_filtered, index_state, spanner_is_managed FROM INFORMATION_SCHEMA.INDEXES WHERE table_name = 'Base' AND NOT spanner_is_managed ORDER BY index_name",
			"BaseByV,INDEX,true,true,READ_WRITE,false|PRIMARY_KEY,PRIMARY_KEY,true,false,-,false", nil},
		{"K08b", "SELECT index_name, parent_table_name FROM INFORMATION_SCHEMA.INDEXES WHERE table_name = 'Casc' ORDER BY 1", "CascByK,Base|PRIMARY_KEY,", nil},
		{"K08c", "SELECT table_name, REGEXP_CONTAINS(index_name, r'^IDX_Base_v1_U_[0-9A-F]{16}$') OR REGEXP_CONTAINS(index_name, r'^IDX_Ref_b_N_[0-9A-F]{16}$'), is_unique FROM INFORMATION_SCHEMA.INDEXES WHERE spanner_is_managed ORDER BY 1",
			"Base,true,true|Ref,true,false", nil},
		{"K09", "SELECT column_name, ordinal_position, column_ordering, is_nullable FROM INFORMATION_SCHEMA.INDEX_COLUMNS WHERE index_name = @i ORDER BY ordinal_position",
			"ts,-,-,YES|v1,1,DESC,NO|key1,2,ASC,NO", map[string]any{"i": "BaseByV"}},
		{"K10", "SELECT column_name, option_name, option_type, option_value FROM INFORMATION_SCHEMA.COLUMN_OPTIONS", "ts,allow_commit_timestamp,BOOL,TRUE", nil},
		{"K11", "SELECT `ALL` FROM INFORMATION_SCHEMA.CHANGE_STREAMS WHERE CHANGE_STREAM_CATALOG = '' AND CHANGE_STREAM_SCHEMA = '' AND CHANGE_STREAM_NAME = @p", "false", map[string]any{"p": "S"}},
		{"K12", "SELECT table_name, all_columns FROM INFORMATION_SCHEMA.CHANGE_STREAM_TABLES ORDER BY 1", "Base,false|Casc,true", nil},
		{"K13", "SELECT table_name, column_name FROM INFORMATION_SCHEMA.CHANGE_STREAM_COLUMNS", "Base,v1", nil},
		{"K14", "SELECT option_name, option_value FROM INFORMATION_SCHEMA.CHANGE_STREAM_OPTIONS", "retention_period,36h", nil},
		{"K15", "SELECT constraint_type, COUNT(*) FROM INFORMATION_SCHEMA.TABLE_CONSTRAINTS WHERE table_name IN ('Base', 'Ref') GROUP BY constraint_type ORDER BY 1",
			"CHECK,3|FOREIGN KEY,1|PRIMARY KEY,2|UNIQUE,1", nil},
		{"K15b", "SELECT constraint_name FROM INFORMATION_SCHEMA.TABLE_CONSTRAINTS WHERE table_name IN ('Base', 'Ref') AND NOT REGEXP_CONTAINS(constraint_name, r'^(CK_Base_[0-9A-F]{16}_1|IDX_Base_v1_U_[0-9A-F]{16})$') ORDER BY 1",
			"CK_IS_NOT_NULL_Base_key2|CK_IS_NOT_NULL_Ref_k|PK_Base|PK_Ref|fk", nil},
		{"K16", "SELECT spanner_type FROM INFORMATION_SCHEMA.COLUMNS WHERE column_name = 'vec'", "ARRAY<FLOAT32>(vector_length=>2)", nil},
		{"K17", "SELECT * FROM spanner_sys.SUPPORTED_OPTIMIZER_VERSIONS", "true,2023-09-19,42", nil},
	} {
		t.Run(c.id, func(t *testing.T) {
			if got := query(c.sql, c.params); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
