package emulator_test

import (
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/spanner"
	"google.golang.org/grpc/codes"

	"spanbulk/internal/emulator"
)

func TestQueries(t *testing.T) {
	f := start(t, emulator.Options{}, usersDDL, "CREATE INDEX UsersByName ON Users(Name)")
	c := f.client()
	insertUsers(t, c, 1000)
	query := func(text string, params map[string]any) []int64 {
		t.Helper()
		return ids(t, c.Single().Query(t.Context(), spanner.Statement{SQL: text, Params: params}))
	}
	t.Run("where", func(t *testing.T) {
		if got := query("SELECT ID FROM Users WHERE ID BETWEEN @a AND 12 ORDER BY ID", map[string]any{"a": 10}); !slices.Equal(got, []int64{10, 11, 12}) {
			t.Fatalf("got %v", got)
		}
	})
	t.Run("information schema", func(t *testing.T) {
		var names []string
		err := c.Single().Query(t.Context(), spanner.NewStatement("SELECT column_name FROM information_schema.columns WHERE table_name = 'Users' ORDER BY ordinal_position")).Do(func(r *spanner.Row) error {
			var n string
			err := r.Columns(&n)
			names = append(names, n)
			return err
		})
		if err != nil || strings.Join(names, ",") != "ID,Name,Age" {
			t.Fatalf("columns %v, error %v", names, err)
		}
	})
	t.Run("unknown table", func(t *testing.T) {
		err := c.Single().Query(t.Context(), spanner.NewStatement("SELECT 1 FROM Nothing")).Do(func(*spanner.Row) error { return nil })
		if spanner.ErrCode(err) != codes.InvalidArgument {
			t.Fatalf("error %v", err)
		}
	})
	t.Run("partitions", func(t *testing.T) {
		tx, err := c.BatchReadOnlyTransaction(t.Context(), spanner.StrongRead())
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Close()
		for text, want := range map[string]int{
			"SELECT ID FROM Users WHERE Age < 45 AND ID >= 100":       450,
			"SELECT ID FROM Users;":                                   1000,
			"SELECT ID FROM UNNEST([7, 8]) AS ID":                     2,
			"SELECT ID FROM Users@{FORCE_INDEX=UsersByName}":          1000,
			"SELECT u.ID FROM Users AS u WHERE u.Name LIKE 'user 1%'": 111,
		} {
			parts, err := tx.PartitionQuery(t.Context(), spanner.NewStatement(text), spanner.PartitionOptions{})
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			var all []int64
			for _, p := range parts {
				all = append(all, ids(t, tx.Execute(t.Context(), p))...)
			}
			slices.Sort(all)
			if len(slices.Compact(all)) != want || len(all) != want {
				t.Errorf("%s: %d rows, want %d", text, len(all), want)
			}
		}
		_, err = tx.PartitionQuery(t.Context(), spanner.NewStatement("SELECT COUNT(*) FROM Users"), spanner.PartitionOptions{})
		if spanner.ErrCode(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "root partitionable") {
			t.Errorf("COUNT(*): %v", err)
		}
	})
}

func TestExpressionsInDDL(t *testing.T) {
	f := start(t, emulator.Options{}, `CREATE TABLE T (
		K INT64 NOT NULL,
		D1 INT64 NOT NULL DEFAULT (1),
		G1 INT64 AS (D1 + 1) STORED,
		V INT64,
		CONSTRAINT v_gt_zero CHECK (V > 0)
	) PRIMARY KEY (K)`)
	c := f.client()
	apply := func(ms ...*spanner.Mutation) error {
		_, err := c.Apply(t.Context(), ms)
		return err
	}
	read := func(k int64) (d1, g1 int64) {
		row, err := c.Single().ReadRow(t.Context(), "T", spanner.Key{k}, []string{"D1", "G1"})
		if err != nil {
			t.Fatal(err)
		}
		if err := row.Columns(&d1, &g1); err != nil {
			t.Fatal(err)
		}
		return d1, g1
	}
	cols := []string{"K", "V"}
	if err := apply(spanner.Insert("T", cols, []any{1, 10})); err != nil {
		t.Fatal(err)
	}
	if d1, g1 := read(1); d1 != 1 || g1 != 2 {
		t.Errorf("default %d, generated %d", d1, g1)
	}
	if err := apply(spanner.Update("T", []string{"K", "D1"}, []any{1, 7})); err != nil {
		t.Fatal(err)
	}
	if d1, g1 := read(1); d1 != 7 || g1 != 8 {
		t.Errorf("after update: %d, generated %d", d1, g1)
	}
	err := apply(spanner.Insert("T", cols, []any{2, -1}))
	if spanner.ErrCode(err) != codes.OutOfRange || !strings.Contains(err.Error(), "Check constraint `T`.`v_gt_zero` is violated") {
		t.Errorf("check: %v", err)
	}
	err = apply(spanner.Insert("T", cols, []any{2, -1}), spanner.Update("T", cols, []any{2, 1}))
	if err != nil {
		t.Errorf("check repaired in the same commit: %v", err)
	}
	err = apply(spanner.Insert("T", []string{"K", "G1"}, []any{3, 1}))
	if spanner.ErrCode(err) != codes.FailedPrecondition {
		t.Errorf("write of a generated column: %v", err)
	}
}
