package sql_test

import (
	"context"
	"slices"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/emulator/relation"
	"spanbulk/internal/emulator/sql"
)

func TestPartition(t *testing.T) {
	m := shop(t)
	for _, c := range []struct {
		sql string
		// table is the driving table, "" for a query that is one partition.
		table  string
		refuse bool
	}{
		{sql: "SELECT Id, Name FROM Users", table: "Users"},
		{sql: "SELECT u.Id + 1 FROM Users u WHERE Name LIKE 'A%';", table: "Users"},
		{sql: "SELECT Id FROM Users@{FORCE_INDEX=UsersByName}", table: "Users"},
		{sql: "SELECT Tags FROM Users@{FORCE_INDEX=UsersByName}", refuse: true},
		{sql: "SELECT a FROM UNNEST([1,2,3]) AS a"},
		{sql: "SELECT a FROM UNNEST([1,2,3]) AS a WHERE a > 1"},
		{sql: "SELECT 1"},
		{sql: "SELECT TABLE_NAME FROM INFORMATION_SCHEMA.TABLES"},
		{sql: "SELECT u.Id, t FROM Users u, UNNEST(u.Tags) AS t", table: "Users"},
		{sql: "SELECT x FROM (SELECT Id AS x FROM Users) WHERE x > 1", table: "Users"},
		{sql: "SELECT u.Id, o.OrderId FROM Users u JOIN Orders o ON o.Id = u.Id", table: "Users"},
		{sql: "SELECT Id FROM Users ORDER BY Name", refuse: true},
		{sql: "SELECT COUNT(*) FROM Users", refuse: true},
		{sql: "@{spanner_emulator.disable_query_partitionability_check=true} SELECT COUNT(*) FROM Users"},
		{sql: "SELECT Id FROM Users LIMIT 1", refuse: true},
		{sql: "SELECT DISTINCT Age FROM Users", refuse: true},
		{sql: "SELECT ANY_VALUE(Amount), Id FROM Orders WHERE OrderId = 1 GROUP BY Id"},
		{sql: "SELECT COUNT(*) FROM Orders GROUP BY OrderId", refuse: true},
		{sql: "SELECT Id FROM Users WHERE EXISTS (SELECT 1 FROM Kinds)", refuse: true},
		{sql: "SELECT Id FROM Users WHERE Id IN (SELECT Id FROM Orders)", refuse: true},
		{sql: "SELECT ARRAY(SELECT K FROM Kinds) FROM Users", refuse: true},
		{sql: "SELECT u.Id FROM Users u, Kinds k", refuse: true},
		{sql: "SELECT u.Id FROM Users u, Users@{FORCE_INDEX=UsersByName} v", refuse: true},
		{sql: "SELECT x FROM (SELECT COUNT(*) AS x FROM Users)", refuse: true},
		{sql: "WITH w AS (SELECT Id FROM Users LIMIT 1) SELECT * FROM w", refuse: true},
	} {
		q, err := sql.Prepare(m, c.sql, nil)
		if err != nil {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		p, err := q.Partition()
		if (err != nil) != c.refuse {
			t.Errorf("%s: %v", c.sql, err)
		}
		table := ""
		if p.Table != nil {
			table = p.Table.Name
		}
		if table != c.table {
			t.Errorf("%s: driving table %q, want %q", c.sql, table, c.table)
		}
	}
}

func TestPartitionRefusalText(t *testing.T) {
	q, err := sql.Prepare(shop(t), "SELECT COUNT(*) FROM Users", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = q.Partition()
	st := status.Convert(err)
	want := "Query is not root partitionable since it does not have a DistributedUnion at the root. Please check the conditions for a query to be root-partitionable."
	if st.Code() != codes.InvalidArgument || st.Message() != want {
		t.Errorf("refused with %v", err)
	}
	help, ok := st.Details()[0].(*errdetails.Help)
	if !ok || help.GetLinks()[0].GetUrl() != "https://cloud.google.com/spanner/docs/reads#read_data_in_parallel" {
		t.Errorf("details: %v", st.Details())
	}
}

// TestRowsWithin cuts the driving table at every key: the parts together give
// each row once.
func TestRowsWithin(t *testing.T) {
	m := shop(t)
	for _, text := range []string{
		"SELECT Id, Name FROM Users WHERE Id != 3",
		"SELECT Id FROM Users WHERE Id > 1 AND Id < 4",
		"SELECT u.Id, o.OrderId FROM Users u LEFT JOIN Orders o ON o.Id = u.Id",
		"SELECT x FROM (SELECT Id AS x FROM Users) WHERE x IN (1, 2, 4)",
		"SELECT Name FROM Users@{FORCE_INDEX=UsersByName}",
	} {
		q, err := sql.Prepare(m, text, nil)
		if err != nil {
			t.Fatal(err)
		}
		p, err := q.Partition()
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		id := p.Table.ID
		if p.Index != nil {
			id = p.Index.ID
		}
		var got []string
		var start []byte
		for _, s := range append(m.tables[id], stored{}) {
			for row, err := range q.RowsWithin(context.Background(), []relation.KeyRange{{Start: start, End: s.key}}) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, render(q.Columns(), row))
			}
			start = s.key
		}
		if want := collect(t, m, text, nil); !slices.Equal(got, want) {
			t.Errorf("%s: parts give %v, want %v", text, got, want)
		}
	}
}
