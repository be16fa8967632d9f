package emulator_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"cloud.google.com/go/civil"
	"cloud.google.com/go/spanner"
	database "cloud.google.com/go/spanner/admin/database/apiv1"
	"cloud.google.com/go/spanner/admin/database/apiv1/databasepb"
	instance "cloud.google.com/go/spanner/admin/instance/apiv1"
	"cloud.google.com/go/spanner/admin/instance/apiv1/instancepb"
	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/iterator"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"

	"spanbulk/internal/emulator"
)

// singer is a row as client programs have it.
type singer struct {
	ID      int64              `spanner:"SingerId"`
	First   spanner.NullString `spanner:"FirstName"`
	Last    spanner.NullString `spanner:"LastName"`
	Born    spanner.NullDate   `spanner:"BirthDate"`
	Updated time.Time          `spanner:"Updated"`
}

var singersDDL = []string{
	`CREATE TABLE Singers (SingerId INT64 NOT NULL, FirstName STRING(1024), LastName STRING(1024), BirthDate DATE,
		Updated TIMESTAMP NOT NULL OPTIONS (allow_commit_timestamp = true)) PRIMARY KEY (SingerId)`,
	`CREATE TABLE Albums (SingerId INT64 NOT NULL, AlbumId INT64 NOT NULL, Title STRING(MAX)) PRIMARY KEY (SingerId, AlbumId), INTERLEAVE IN PARENT Singers ON DELETE CASCADE`,
	`CREATE INDEX SingersByLastName ON Singers(LastName)`,
}

// plainOptions connect the generated clients.
func plainOptions(endpoint string) []option.ClientOption {
	return []option.ClientOption{option.WithEndpoint(endpoint), option.WithoutAuthentication(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials()))}
}

// A program makes its instance and database through the admin clients, as
// those of the official library do it, and drops them again.
func TestAdminClients(t *testing.T) {
	f := start(t, emulator.Options{})
	ctx := t.Context()
	instances, err := instance.NewInstanceAdminClient(ctx, plainOptions(f.endpoint)...)
	if err != nil {
		t.Fatal(err)
	}
	defer instances.Close()
	databases, err := database.NewDatabaseAdminClient(ctx, plainOptions(f.endpoint)...)
	if err != nil {
		t.Fatal(err)
	}
	defer databases.Close()
	made, err := instances.CreateInstance(ctx, &instancepb.CreateInstanceRequest{Parent: "projects/p", InstanceId: "made-here", Instance: &instancepb.Instance{DisplayName: "made", NodeCount: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if in, err := made.Wait(ctx); err != nil || in.GetState() != instancepb.Instance_READY {
		t.Fatalf("instance %v, error %v", in, err)
	}
	created, err := databases.CreateDatabase(ctx, &databasepb.CreateDatabaseRequest{Parent: "projects/p/instances/made-here", CreateStatement: "CREATE DATABASE `music-1`", ExtraStatements: singersDDL})
	if err != nil {
		t.Fatal(err)
	}
	db, err := created.Wait(ctx)
	if err != nil || db.GetName() != "projects/p/instances/made-here/databases/music-1" || db.GetState() != databasepb.Database_READY {
		t.Fatalf("database %v, error %v", db, err)
	}
	changed, err := databases.UpdateDatabaseDdl(ctx, &databasepb.UpdateDatabaseDdlRequest{Database: db.GetName(), Statements: []string{"CREATE INDEX AlbumsByTitle ON Albums(Title)"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := changed.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	if meta, err := changed.Metadata(); err != nil || len(meta.GetCommitTimestamps()) != 1 {
		t.Errorf("metadata %v, error %v", meta, err)
	}
	if again := databases.UpdateDatabaseDdlOperation(changed.Name()); again.Wait(ctx) != nil {
		t.Error("the operation cannot be found by its name")
	}
	if ddl, err := databases.GetDatabaseDdl(ctx, &databasepb.GetDatabaseDdlRequest{Database: db.GetName()}); err != nil || len(ddl.GetStatements()) != 4 {
		t.Errorf("statements %q, error %v", ddl.GetStatements(), err)
	}
	list := databases.ListDatabases(ctx, &databasepb.ListDatabasesRequest{Parent: "projects/p/instances/made-here", PageSize: 1})
	if one, err := list.Next(); err != nil || one.GetName() != db.GetName() {
		t.Errorf("listed %v, error %v", one, err)
	}
	if _, err := list.Next(); !errors.Is(err, iterator.Done) {
		t.Errorf("a second database: %v", err)
	}
	if err := databases.DropDatabase(ctx, &databasepb.DropDatabaseRequest{Database: db.GetName()}); err != nil {
		t.Error(err)
	}
	if err := instances.DeleteInstance(ctx, &instancepb.DeleteInstanceRequest{Name: "projects/p/instances/made-here"}); err != nil {
		t.Error(err)
	}
}

// music is a database with singers and a client of it.
func music(t *testing.T) (*fixture, *spanner.Client) {
	f := start(t, emulator.Options{}, singersDDL...)
	c := f.client()
	cols := []string{"SingerId", "FirstName", "LastName", "BirthDate", "Updated"}
	born := civil.Date{Year: 1970, Month: 9, Day: 3}
	insertStruct, err := spanner.InsertStruct("Singers", singer{ID: 3, First: spanner.NullString{StringVal: "Alice", Valid: true}, Last: spanner.NullString{StringVal: "Trentor", Valid: true}, Updated: spanner.CommitTimestamp})
	if err != nil {
		t.Fatal(err)
	}
	ms := []*spanner.Mutation{
		spanner.Insert("Singers", cols, []any{1, "Marc", "Richards", born, spanner.CommitTimestamp}),
		spanner.InsertMap("Singers", map[string]any{"SingerId": 2, "FirstName": "Catalina", "LastName": "Smith", "BirthDate": nil, "Updated": spanner.CommitTimestamp}),
		insertStruct,
		spanner.InsertOrUpdate("Albums", []string{"SingerId", "AlbumId", "Title"}, []any{1, 1, "Total Junk"}),
		spanner.InsertOrUpdateMap("Albums", map[string]any{"SingerId": 1, "AlbumId": 2, "Title": "Go, Go, Go"}),
		spanner.Replace("Albums", []string{"SingerId", "AlbumId", "Title"}, []any{2, 1, "Green"}),
	}
	if _, err := c.Apply(t.Context(), ms, spanner.Priority(spannerpb.RequestOptions_PRIORITY_LOW), spanner.TransactionTag("loading")); err != nil {
		t.Fatal(err)
	}
	return f, c
}

// texts gives the first column of each row, as text.
func texts(t *testing.T, it *spanner.RowIterator) []string {
	t.Helper()
	var out []string
	err := it.Do(func(r *spanner.Row) error {
		var v spanner.GenericColumnValue
		if err := r.Column(0, &v); err != nil {
			return err
		}
		out = append(out, fmt.Sprint(v.Value.AsInterface()))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestClientReads(t *testing.T) {
	_, c := music(t)
	ctx := t.Context()
	t.Run("rows", func(t *testing.T) {
		row, err := c.Single().ReadRow(ctx, "Singers", spanner.Key{1}, []string{"SingerId", "FirstName", "LastName", "BirthDate", "Updated"})
		if err != nil {
			t.Fatal(err)
		}
		var s singer
		if err := row.ToStruct(&s); err != nil || s.Last.StringVal != "Richards" || s.Born.Date.Year != 1970 || time.Since(s.Updated) > time.Minute {
			t.Errorf("singer %+v, error %v", s, err)
		}
		if i, err := row.ColumnIndex("LastName"); err != nil || i != 2 || row.Size() != 5 || row.ColumnNames()[1] != "FirstName" {
			t.Errorf("column %d, error %v", i, err)
		}
		row, err = c.Single().ReadRowUsingIndex(ctx, "Singers", "SingersByLastName", spanner.Key{"Smith"}, []string{"SingerId"})
		var id int64
		if err != nil || row.Columns(&id) != nil || id != 2 {
			t.Errorf("singer %d, error %v", id, err)
		}
		var lenient struct{ SingerId int64 }
		if err := row.ToStructLenient(&lenient); err != nil || lenient.SingerId != 2 {
			t.Errorf("lenient %+v, error %v", lenient, err)
		}
	})
	t.Run("key sets", func(t *testing.T) {
		albums := func(ks spanner.KeySet) []string {
			return texts(t, c.Single().Read(ctx, "Albums", ks, []string{"Title"}))
		}
		same(t, albums(spanner.Key{1, 2}), "Go, Go, Go")
		same(t, albums(spanner.Key{1}.AsPrefix()), "Total Junk", "Go, Go, Go")
		same(t, albums(spanner.KeySets(spanner.Key{2, 1}, spanner.Key{1, 1})), "Total Junk", "Green")
		same(t, albums(spanner.KeyRange{Start: spanner.Key{1, 1}, End: spanner.Key{2}, Kind: spanner.OpenClosed}), "Go, Go, Go", "Green")
		same(t, texts(t, c.Single().ReadWithOptions(ctx, "Albums", spanner.AllKeys(), []string{"AlbumId"}, &spanner.ReadOptions{Limit: 2, Priority: spannerpb.RequestOptions_PRIORITY_HIGH, RequestTag: "r"})), "1", "2")
		same(t, texts(t, c.Single().ReadWithOptions(ctx, "Singers", spanner.AllKeys(), []string{"LastName"}, &spanner.ReadOptions{Index: "SingersByLastName"})), "Richards", "Smith", "Trentor")
		same(t, texts(t, c.Single().ReadUsingIndex(ctx, "Singers", "SingersByLastName", spanner.KeyRange{Start: spanner.Key{"S"}, End: spanner.Key{"U"}}, []string{"LastName"})), "Smith", "Trentor")
	})
	t.Run("select all", func(t *testing.T) {
		var all []*singer
		if err := spanner.SelectAll(c.Single().Query(ctx, spanner.NewStatement("SELECT * FROM Singers ORDER BY SingerId")), &all); err != nil || len(all) != 3 || all[2].First.StringVal != "Alice" {
			t.Errorf("%d singers, error %v", len(all), err)
		}
	})
	t.Run("bounds", func(t *testing.T) {
		for _, b := range []spanner.TimestampBound{spanner.StrongRead(), spanner.MaxStaleness(time.Minute), spanner.MinReadTimestamp(time.Now().Add(-time.Minute)), spanner.ReadTimestamp(time.Now())} {
			tx := c.Single().WithTimestampBound(b)
			same(t, texts(t, tx.Read(ctx, "Singers", spanner.Key{1}, []string{"FirstName"})), "Marc")
			if at, err := tx.Timestamp(); err != nil || time.Since(at) > time.Minute {
				t.Errorf("%v: read at %v, error %v", b, at, err)
			}
		}
		tx := c.ReadOnlyTransaction().WithTimestampBound(spanner.ExactStaleness(time.Nanosecond))
		defer tx.Close()
		same(t, texts(t, tx.Read(ctx, "Singers", spanner.AllKeys(), []string{"SingerId"})), "1", "2", "3")
		same(t, texts(t, tx.Query(ctx, spanner.NewStatement("SELECT COUNT(*) FROM Albums"))), "3")
		inline := c.ReadOnlyTransaction().WithBeginTransactionOption(spanner.InlinedBeginTransaction)
		defer inline.Close()
		same(t, texts(t, inline.Query(ctx, spanner.NewStatement("SELECT COUNT(*) FROM Singers"))), "3")
		if _, err := inline.Timestamp(); err != nil {
			t.Error(err)
		}
	})
}

func TestClientQueries(t *testing.T) {
	_, c := music(t)
	ctx := t.Context()
	query := func(sql string, params map[string]any) []string {
		t.Helper()
		return texts(t, c.Single().Query(ctx, spanner.Statement{SQL: sql, Params: params}))
	}
	type name struct{ FirstName, LastName string }
	same(t, query("SELECT FirstName FROM Singers WHERE LastName LIKE @l", map[string]any{"l": "R%"}), "Marc")
	same(t, query("SELECT FirstName FROM Singers WHERE REGEXP_CONTAINS(LastName, @r) ORDER BY 1", map[string]any{"r": "t"}), "Alice", "Catalina")
	same(t, query("SELECT SingerId FROM Singers WHERE STRUCT<FirstName STRING, LastName STRING>(FirstName, LastName) = @s", map[string]any{"s": name{"Marc", "Richards"}}), "1")
	same(t, query("SELECT SingerId FROM Singers WHERE (FirstName, LastName) IN UNNEST(@s) ORDER BY SingerId", map[string]any{"s": []name{{"Marc", "Richards"}, {"Alice", "Trentor"}}}), "1", "3")
	same(t, query("SELECT SingerId FROM Singers WHERE SingerId IN UNNEST(@ids) ORDER BY SingerId DESC", map[string]any{"ids": []int64{1, 3, 9}}), "3", "1")
	same(t, query("SELECT s.LastName FROM Singers AS s JOIN Albums AS a ON s.SingerId = a.SingerId GROUP BY s.LastName HAVING COUNT(*) > 1", nil), "Richards")
	same(t, query("SELECT ARRAY(SELECT AS STRUCT a.Title FROM Albums a WHERE a.SingerId = s.SingerId ORDER BY a.AlbumId) FROM Singers s WHERE SingerId = 1", nil), "[[Total Junk] [Go, Go, Go]]")
	it := c.Single().QueryWithStats(ctx, spanner.NewStatement("SELECT SingerId FROM Singers"))
	same(t, texts(t, it), "1", "2", "3")
	if it.QueryStats["rows_returned"] != "3" || it.QueryPlan == nil {
		t.Errorf("stats %v, plan %v", it.QueryStats, it.QueryPlan)
	}
	plan, err := c.Single().AnalyzeQuery(ctx, spanner.NewStatement("SELECT SingerId FROM Singers WHERE LastName = 'x'"))
	if err != nil || len(plan.GetPlanNodes()) == 0 {
		t.Errorf("plan %v, error %v", plan, err)
	}
	mode := spannerpb.ExecuteSqlRequest_NORMAL
	same(t, texts(t, c.Single().QueryWithOptions(ctx, spanner.NewStatement("SELECT 1"), spanner.QueryOptions{Mode: &mode, RequestTag: "q"})), "1")
}

func TestClientWrites(t *testing.T) {
	f, c := music(t)
	ctx := t.Context()
	last := func(id int64) string {
		t.Helper()
		return texts(t, c.Single().Read(ctx, "Singers", spanner.Key{id}, []string{"LastName"}))[0]
	}
	t.Run("at least once", func(t *testing.T) {
		m := spanner.UpdateMap("Singers", map[string]any{"SingerId": 1, "LastName": "once"})
		if _, err := c.Apply(ctx, []*spanner.Mutation{m}, spanner.ApplyAtLeastOnce()); err != nil || last(1) != "once" {
			t.Errorf("name %s, error %v", last(1), err)
		}
	})
	t.Run("read-write", func(t *testing.T) {
		resp, err := c.ReadWriteTransactionWithOptions(ctx, func(ctx context.Context, tx *spanner.ReadWriteTransaction) error {
			titles := texts(t, tx.Query(ctx, spanner.NewStatement("SELECT Title FROM Albums WHERE SingerId = 1 ORDER BY AlbumId")))
			update, err := spanner.UpdateStruct("Singers", struct {
				SingerId int64
				LastName string
			}{2, titles[0]})
			if err != nil {
				return err
			}
			return tx.BufferWrite([]*spanner.Mutation{update, spanner.Delete("Albums", spanner.Key{1, 2})})
		}, spanner.TransactionOptions{CommitOptions: spanner.CommitOptions{ReturnCommitStats: true, MaxCommitDelay: new(10 * time.Millisecond)}, TransactionTag: "tag"})
		if err != nil || last(2) != "Total Junk" || resp.CommitStats.GetMutationCount() != 4 {
			t.Errorf("name %s, stats %v, error %v", last(2), resp.CommitStats, err)
		}
	})
	t.Run("statement based", func(t *testing.T) {
		tx, err := spanner.NewReadWriteStmtBasedTransaction(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ReadRow(ctx, "Singers", spanner.Key{3}, []string{"LastName"}); err != nil {
			t.Fatal(err)
		}
		if err := tx.BufferWrite([]*spanner.Mutation{spanner.Update("Singers", []string{"SingerId", "LastName"}, []any{3, "by statement"})}); err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Commit(ctx); err != nil || last(3) != "by statement" {
			t.Errorf("name %s, error %v", last(3), err)
		}
		given, err := spanner.NewReadWriteStmtBasedTransaction(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		texts(t, given.Read(ctx, "Singers", spanner.AllKeys(), []string{"SingerId"}))
		given.Rollback(ctx)
	})
	t.Run("conflict", func(t *testing.T) {
		attempts := 0
		_, err := c.ReadWriteTransaction(ctx, func(ctx context.Context, tx *spanner.ReadWriteTransaction) error {
			attempts++
			old := texts(t, tx.Read(ctx, "Singers", spanner.Key{1}, []string{"LastName"}))[0]
			if attempts == 1 {
				if _, err := c.Apply(t.Context(), []*spanner.Mutation{spanner.Update("Singers", []string{"SingerId", "LastName"}, []any{1, "meanwhile"})}); err != nil {
					return err
				}
			}
			return tx.BufferWrite([]*spanner.Mutation{spanner.Update("Singers", []string{"SingerId", "LastName"}, []any{1, old + "+"})})
		})
		if err != nil || attempts != 2 || last(1) != "meanwhile+" {
			t.Errorf("%d attempts, name %s, error %v", attempts, last(1), err)
		}
	})
	t.Run("repeatable read", func(t *testing.T) {
		_, err := c.ReadWriteTransactionWithOptions(ctx, func(ctx context.Context, tx *spanner.ReadWriteTransaction) error {
			texts(t, tx.Read(ctx, "Singers", spanner.Key{1}, []string{"LastName"}))
			return nil
		}, spanner.TransactionOptions{IsolationLevel: spannerpb.TransactionOptions_REPEATABLE_READ})
		if err != nil {
			t.Error(err)
		}
	})
	t.Run("delete", func(t *testing.T) {
		ms := []*spanner.Mutation{spanner.Delete("Singers", spanner.KeyRange{Start: spanner.Key{2}, End: spanner.Key{3}, Kind: spanner.ClosedClosed})}
		if _, err := c.Apply(ctx, ms); err != nil {
			t.Fatal(err)
		}
		same(t, texts(t, c.Single().Read(ctx, "Albums", spanner.AllKeys(), []string{"Title"})), "Total Junk")
		if _, err := c.Single().ReadRow(ctx, "Singers", spanner.Key{2}, []string{"SingerId"}); spanner.ErrCode(err) != codes.NotFound || !errors.Is(err, spanner.ErrRowNotFound) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("compressed", func(t *testing.T) {
		zipped, err := spanner.NewClientWithConfig(ctx, databaseName, spanner.ClientConfig{DisableNativeMetrics: true, Compression: "gzip"}, plainOptions(f.endpoint)...)
		if err != nil {
			t.Fatal(err)
		}
		defer zipped.Close()
		same(t, texts(t, zipped.Single().Read(ctx, "Singers", spanner.AllKeys(), []string{"SingerId"})), "1")
	})
}
