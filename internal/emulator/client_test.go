package emulator_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/spanner"
	"google.golang.org/api/iterator"
	"google.golang.org/grpc/codes"

	"spanbulk/internal/emulator"
)

const usersDDL = `CREATE TABLE Users (ID INT64 NOT NULL, Name STRING(MAX), Age INT64) PRIMARY KEY (ID)`

func insertUsers(t testing.TB, c *spanner.Client, n int) time.Time {
	t.Helper()
	var ms []*spanner.Mutation
	for i := range n {
		ms = append(ms, spanner.Insert("Users", []string{"ID", "Name", "Age"}, []any{i, fmt.Sprintf("user %d", i), i % 90}))
	}
	ts, err := c.Apply(t.Context(), ms)
	if err != nil {
		t.Fatal(err)
	}
	return ts
}

func ids(t testing.TB, it *spanner.RowIterator) []int64 {
	t.Helper()
	var out []int64
	err := it.Do(func(r *spanner.Row) error {
		var id int64
		if err := r.ColumnByName("ID", &id); err != nil {
			return err
		}
		out = append(out, id)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The APIs of the official client that need no SQL.
func TestOfficialClient(t *testing.T) {
	f := start(t, emulator.Options{}, usersDDL, "CREATE INDEX UsersByName ON Users(Name)")
	c := f.client()
	written := insertUsers(t, c, 100)

	t.Run("single read", func(t *testing.T) {
		txn := c.Single()
		row, err := txn.ReadRow(t.Context(), "Users", spanner.Key{7}, []string{"Name"})
		if err != nil {
			t.Fatal(err)
		}
		var name string
		if err := row.Columns(&name); err != nil || name != "user 7" {
			t.Fatalf("name %q, error %v", name, err)
		}
		if ts, err := txn.Timestamp(); err != nil || ts.Before(written) {
			t.Fatalf("read timestamp %v before commit %v, error %v", ts, written, err)
		}
	})
	t.Run("index", func(t *testing.T) {
		it := c.Single().ReadUsingIndex(t.Context(), "Users", "UsersByName", spanner.KeyRange{Start: spanner.Key{"user 1"}, End: spanner.Key{"user 2"}}, []string{"ID"})
		if got, want := ids(t, it), []int64{1, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}; !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
	t.Run("stale", func(t *testing.T) {
		before := c.Single().WithTimestampBound(spanner.ReadTimestamp(written.Add(-time.Microsecond)))
		if got := ids(t, before.Read(t.Context(), "Users", spanner.AllKeys(), []string{"ID"})); len(got) != 0 {
			t.Fatalf("rows before the commit: %v", got)
		}
		at := c.Single().WithTimestampBound(spanner.ReadTimestamp(written))
		if got := ids(t, at.Read(t.Context(), "Users", spanner.AllKeys(), []string{"ID"})); len(got) != 100 {
			t.Fatalf("%d rows at the commit, want 100", len(got))
		}
	})
	t.Run("partitions", func(t *testing.T) { readPartitions(t, f, c) })
	t.Run("read-write", func(t *testing.T) {
		_, err := c.ReadWriteTransaction(t.Context(), func(ctx context.Context, tx *spanner.ReadWriteTransaction) error {
			row, err := tx.ReadRow(ctx, "Users", spanner.Key{3}, []string{"Age"})
			if err != nil {
				return err
			}
			var age int64
			if err := row.Columns(&age); err != nil {
				return err
			}
			return tx.BufferWrite([]*spanner.Mutation{spanner.Update("Users", []string{"ID", "Age"}, []any{3, age + 1})})
		})
		if err != nil {
			t.Fatal(err)
		}
		row, err := c.Single().ReadRow(t.Context(), "Users", spanner.Key{3}, []string{"Age", "Name"})
		if err != nil {
			t.Fatal(err)
		}
		var age int64
		var name string
		if err := row.Columns(&age, &name); err != nil || age != 4 || name != "user 3" {
			t.Fatalf("age %d, name %q, error %v", age, name, err)
		}
	})
	t.Run("rollback", func(t *testing.T) {
		want := errors.New("no")
		_, err := c.ReadWriteTransaction(t.Context(), func(ctx context.Context, tx *spanner.ReadWriteTransaction) error {
			if _, err := tx.ReadRow(ctx, "Users", spanner.Key{3}, []string{"Age"}); err != nil {
				return err
			}
			return want
		})
		if !errors.Is(err, want) {
			t.Fatalf("error %v", err)
		}
	})
	t.Run("batch write", func(t *testing.T) { batchWrite(t, c) })
	t.Run("errors", func(t *testing.T) {
		_, err := c.Apply(t.Context(), []*spanner.Mutation{spanner.Insert("Users", []string{"ID"}, []any{1})})
		if spanner.ErrCode(err) != codes.AlreadyExists {
			t.Errorf("insert of an existing row: %v", err)
		}
		if err := c.Single().Read(t.Context(), "Nothing", spanner.AllKeys(), []string{"ID"}).Do(func(*spanner.Row) error { return nil }); spanner.ErrCode(err) != codes.NotFound {
			t.Errorf("read of a missing table: %v", err)
		}
		if _, err := c.Apply(t.Context(), nil); err != nil {
			t.Errorf("empty Apply: %v", err)
		}
	})
}

func readPartitions(t *testing.T, f *fixture, c *spanner.Client) {
	tx, err := c.BatchReadOnlyTransaction(t.Context(), spanner.StrongRead())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Close()
	parts, err := tx.PartitionRead(t.Context(), "Users", spanner.AllKeys(), []string{"ID"}, spanner.PartitionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(parts) < 2 {
		t.Fatalf("%d partitions", len(parts))
	}
	// Another client runs the partitions, twice.
	other := f.client().BatchReadOnlyTransactionFromID(tx.ID)
	for _, run := range []*spanner.BatchReadOnlyTransaction{tx, other, other} {
		var all []int64
		empty := 0
		for _, p := range parts {
			got := ids(t, run.Execute(t.Context(), p))
			if len(got) == 0 {
				empty++
			}
			all = append(all, got...)
		}
		slices.Sort(all)
		if len(all) != 100 || len(slices.Compact(all)) != 100 || empty == 0 {
			t.Fatalf("%d rows, %d empty partitions", len(all), empty)
		}
	}
}

func batchWrite(t *testing.T, c *spanner.Client) {
	group := func(ms ...*spanner.Mutation) *spanner.MutationGroup { return &spanner.MutationGroup{Mutations: ms} }
	ins := func(id int) *spanner.Mutation { return spanner.Insert("Users", []string{"ID"}, []any{id}) }
	it := c.BatchWrite(t.Context(), []*spanner.MutationGroup{group(ins(1000)), group(ins(1001), ins(1)), group(ins(1002))})
	defer it.Stop()
	got := make(map[int32]codes.Code)
	for {
		resp, err := it.Next()
		if errors.Is(err, iterator.Done) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range resp.GetIndexes() {
			got[i] = codes.Code(resp.GetStatus().GetCode())
		}
	}
	if len(got) != 3 || got[0] != codes.OK || got[1] != codes.AlreadyExists || got[2] != codes.OK {
		t.Fatalf("statuses by group: %v", got)
	}
	if _, err := c.Single().ReadRow(t.Context(), "Users", spanner.Key{1001}, []string{"ID"}); spanner.ErrCode(err) != codes.NotFound {
		t.Fatalf("row of a failed group: %v", err)
	}
}
