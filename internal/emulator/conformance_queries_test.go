package emulator_test

import (
	"strings"
	"testing"

	"cloud.google.com/go/spanner"
	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/emulator"
)

func params(fields map[string]*structpb.Value) *structpb.Struct {
	return &structpb.Struct{Fields: fields}
}

func TestConformanceQueries(t *testing.T) {
	f := start(t, emulator.Options{}, schemaU...)
	f.commit(t, insert("Users", "ID,Name", row(1, "a"), row(2, "b")))
	run := func(req *spannerpb.ExecuteSqlRequest) (*spannerpb.ResultSet, error) {
		req.Session = f.session
		return f.api().ExecuteSql(t.Context(), req)
	}
	const two = "SELECT ID, Name FROM Users WHERE ID < @max"
	given := params(map[string]*structpb.Value{"max": val(10)})
	t.Run("C28", func(t *testing.T) {
		rs, err := run(&spannerpb.ExecuteSqlRequest{Sql: two, QueryMode: spannerpb.ExecuteSqlRequest_PLAN, Params: given})
		if err != nil || len(rs.GetRows()) != 0 || len(rs.GetMetadata().GetRowType().GetFields()) != 2 || len(rs.GetStats().GetQueryPlan().GetPlanNodes()) == 0 {
			t.Fatalf("result %v, error %v", rs, err)
		}
		undeclared := rs.GetMetadata().GetUndeclaredParameters().GetFields()
		if len(undeclared) != 1 || undeclared[0].GetName() != "max" || undeclared[0].GetType().GetCode() != spannerpb.TypeCode_INT64 {
			t.Errorf("undeclared parameters %v", undeclared)
		}
	})
	t.Run("C29", func(t *testing.T) {
		rs, err := run(&spannerpb.ExecuteSqlRequest{Sql: two, QueryMode: spannerpb.ExecuteSqlRequest_PROFILE, Params: given})
		stats := rs.GetStats().GetQueryStats().GetFields()
		if err != nil || len(rs.GetRows()) != 2 || stats["rows_returned"].GetStringValue() != "2" || stats["elapsed_time"].GetStringValue() == "" {
			t.Errorf("result %v, error %v", rs, err)
		}
	})
	t.Run("C30", func(t *testing.T) {
		s := &spannerpb.Type{Code: spannerpb.TypeCode_STRUCT, StructType: &spannerpb.StructType{Fields: []*spannerpb.StructType_Field{{Name: "a", Type: &spannerpb.Type{Code: spannerpb.TypeCode_INT64}}}}}
		_, err := run(&spannerpb.ExecuteSqlRequest{Sql: "SELECT @p", Params: params(map[string]*structpb.Value{"p": val([]any{1})}), ParamTypes: map[string]*spannerpb.Type{"p": s}})
		wantCode(t, err, codes.Unimplemented, "Unsupported query shape")
	})
	t.Run("C31", func(t *testing.T) {
		name := strings.Repeat("p", 130)
		_, err := run(&spannerpb.ExecuteSqlRequest{Sql: "SELECT @" + name, Params: params(map[string]*structpb.Value{name: val(1)})})
		wantCode(t, err, codes.InvalidArgument)
	})
	t.Run("C32", func(t *testing.T) {
		_, err := run(&spannerpb.ExecuteSqlRequest{Sql: "SELECT @any"})
		wantCode(t, err, codes.InvalidArgument)
	})
	t.Run("C33", func(t *testing.T) {
		rs, err := run(&spannerpb.ExecuteSqlRequest{Sql: "SELECT @P = @q", Params: params(map[string]*structpb.Value{"p": val("str"), "q": val("str"), "unused": val(1)}),
			ParamTypes: map[string]*spannerpb.Type{"q": {Code: spannerpb.TypeCode_STRING}}})
		if err != nil || !rs.GetRows()[0].GetValues()[0].GetBoolValue() {
			t.Errorf("result %v, error %v", rs, err)
		}
	})
	t.Run("parameter limits", func(t *testing.T) {
		many := make(map[string]*structpb.Value)
		for i := range 951 {
			many[strings.Repeat("p", i%100+1)+string(rune('a'+i/100))] = val(1)
		}
		_, err := run(&spannerpb.ExecuteSqlRequest{Sql: "SELECT 1", Params: params(many)})
		wantCode(t, err, codes.InvalidArgument, "950")
		_, err = run(&spannerpb.ExecuteSqlRequest{Sql: "SELECT " + strings.Repeat(" ", 1_000_000) + "1"})
		wantCode(t, err, codes.InvalidArgument)
		_, err = run(&spannerpb.ExecuteSqlRequest{Sql: "SELECT @p + 1", Params: params(map[string]*structpb.Value{"p": val(true)}), ParamTypes: map[string]*spannerpb.Type{"p": {Code: spannerpb.TypeCode_INT64}}})
		wantCode(t, err, codes.InvalidArgument, "Invalid value for bind parameter p: Expected INT64.")
	})
}

// partitionQuery plans a query in a new read-only transaction.
func (f *fixture) partitionQuery(t testing.TB, sql string) (tx []byte, tokens [][]byte, err error) {
	t.Helper()
	tx = f.begin(t, readOnly(&spannerpb.TransactionOptions_ReadOnly{})).GetId()
	resp, err := f.api().PartitionQuery(t.Context(), &spannerpb.PartitionQueryRequest{Session: f.session, Transaction: byID(tx), Sql: sql})
	for _, p := range resp.GetPartitions() {
		tokens = append(tokens, p.GetPartitionToken())
	}
	return tx, tokens, err
}

// runPartitions runs all tokens of a query and gives the rows.
func (f *fixture) runPartitions(t testing.TB, sql string, tx []byte, tokens [][]byte) map[string]int {
	t.Helper()
	rows := make(map[string]int)
	for _, token := range tokens {
		got, err := f.sql(t, &spannerpb.ExecuteSqlRequest{Sql: sql, Transaction: byID(tx), PartitionToken: token})
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		for r := range strings.SplitSeq(got, "|") {
			if r != "" {
				rows[r]++
			}
		}
	}
	return rows
}

func TestConformancePartitionedQueries(t *testing.T) {
	f := start(t, emulator.Options{}, append(schemaIL, `CREATE INDEX UsersByName ON Users(Name)`)...)
	var users, threads [][]any
	for i := range 20 {
		users = append(users, row(i, string(rune('a'+i))))
		threads = append(threads, row(i, 1, true))
	}
	f.commit(t, insert("Users", "UserId,Name", users...), insert("Threads", "UserId,ThreadId,Starred", threads...))
	for _, c := range []struct {
		id, sql string
		rows    int
	}{
		{"D05", "SELECT UserID, Name FROM Users", 20},
		{"D08a", "SELECT a FROM UNNEST([1,2,3]) AS a", 3},
		{"D08b", "SELECT a FROM UNNEST([1,2,3]) AS a WHERE a > 1", 2},
		{"D09c", "SELECT ANY_VALUE(Starred), UserId FROM Threads WHERE ThreadId=1 GROUP BY UserId", 20},
		{"D10a", "SELECT UserId FROM Users WHERE UserId >= 5", 15},
		{"D10b", "SELECT UserId FROM Users WHERE Name LIKE 'b%'", 1},
		{"D10c", "SELECT u.Name AS n FROM Users AS u", 20},
		{"D11", "@{spanner_emulator.disable_query_partitionability_check=true} SELECT COUNT(*) FROM Users", 1},
		{"D21", "SELECT * FROM Users;", 20},
	} {
		t.Run(c.id, func(t *testing.T) {
			tx, tokens, err := f.partitionQuery(t, c.sql)
			if err != nil || len(tokens) == 0 {
				t.Fatalf("%d partitions, error %v", len(tokens), err)
			}
			got := f.runPartitions(t, c.sql, tx, tokens)
			if len(got) != c.rows {
				t.Errorf("%d rows, want %d: %v", len(got), c.rows, got)
			}
			for r, n := range got {
				if n != 1 {
					t.Errorf("row %s %d times", r, n)
				}
			}
		})
	}
	for _, c := range []struct{ id, sql string }{
		{"D07", "SELECT UserId FROM Users ORDER BY Name"},
		{"D09b1", "SELECT UserId FROM Users u WHERE EXISTS (SELECT 1 FROM Threads t WHERE t.UserId = u.UserId)"},
		{"D09b2", "SELECT UserId FROM Users WHERE UserId IN (SELECT ThreadId FROM Threads)"},
		{"D09b3", "SELECT UserId, ARRAY(SELECT ThreadId FROM Threads) FROM Users"},
		{"D09b4", "SELECT a.UserId FROM Users a, Users@{FORCE_INDEX=UsersByName} b"},
		{"D09", "SELECT COUNT(*) FROM Users"},
	} {
		t.Run(c.id, func(t *testing.T) {
			_, _, err := f.partitionQuery(t, c.sql)
			wantCode(t, err, codes.InvalidArgument, "root partitionable")
			details := status.Convert(err).Details()
			if len(details) != 1 || details[0].(*errdetails.Help).GetLinks()[0].GetUrl() != "https://cloud.google.com/spanner/docs/reads#read_data_in_parallel" {
				t.Errorf("details %v", details)
			}
		})
	}
	t.Run("D09d", func(t *testing.T) {
		_, _, err := f.partitionQuery(t, "")
		wantCode(t, err, codes.InvalidArgument)
	})
	t.Run("D06", func(t *testing.T) {
		tx := byID(f.begin(t, readOnly(&spannerpb.TransactionOptions_ReadOnly{})).GetId())
		for range 2 {
			resp, err := f.api().PartitionQuery(t.Context(), &spannerpb.PartitionQueryRequest{Session: f.session, Transaction: tx, Sql: "SELECT UserId FROM Users"})
			if err != nil || len(resp.GetPartitions()) == 0 {
				t.Errorf("%v, error %v", resp, err)
			}
		}
	})
	const sql = "SELECT UserId FROM Users WHERE UserId >= @from"
	from := params(map[string]*structpb.Value{"from": val(0)})
	tx := byID(f.begin(t, readOnly(&spannerpb.TransactionOptions_ReadOnly{})).GetId())
	parts, err := f.api().PartitionQuery(t.Context(), &spannerpb.PartitionQueryRequest{Session: f.session, Transaction: tx, Sql: sql, Params: from})
	if err != nil {
		t.Fatal(err)
	}
	for id, change := range map[string]func(*spannerpb.ExecuteSqlRequest){
		"D15d": func(r *spannerpb.ExecuteSqlRequest) { r.Sql = "SELECT UserId FROM Users WHERE UserId >= @from + 0" },
		"D15e": func(r *spannerpb.ExecuteSqlRequest) { r.Params = params(map[string]*structpb.Value{"from": val(1)}) },
		"D15f": func(r *spannerpb.ExecuteSqlRequest) {
			r.ParamTypes = map[string]*spannerpb.Type{"from": {Code: spannerpb.TypeCode_INT64}}
		},
		"D16c": func(r *spannerpb.ExecuteSqlRequest) { r.Transaction = nil },
		"D16d": func(r *spannerpb.ExecuteSqlRequest) {
			r.Transaction = byID(f.begin(t, readOnly(&spannerpb.TransactionOptions_ReadOnly{})).GetId())
		},
		"D17b":  func(r *spannerpb.ExecuteSqlRequest) { r.PartitionToken = []byte("garbage") },
		"D18b1": func(r *spannerpb.ExecuteSqlRequest) { r.QueryMode = spannerpb.ExecuteSqlRequest_PLAN },
		"D18b2": func(r *spannerpb.ExecuteSqlRequest) { r.QueryMode = spannerpb.ExecuteSqlRequest_PROFILE },
	} {
		t.Run(id, func(t *testing.T) {
			req := &spannerpb.ExecuteSqlRequest{Sql: sql, Params: from, Transaction: tx, PartitionToken: parts.GetPartitions()[0].GetPartitionToken()}
			change(req)
			_, err := f.sql(t, req)
			wantCode(t, err, codes.InvalidArgument)
		})
	}
	t.Run("D16e", func(t *testing.T) {
		other, err := f.api().CreateSession(t.Context(), &spannerpb.CreateSessionRequest{Database: databaseName})
		wantCode(t, err, codes.OK)
		_, err = f.api().ExecuteSql(t.Context(), &spannerpb.ExecuteSqlRequest{Session: other.GetName(), Sql: sql, Params: from, Transaction: tx, PartitionToken: parts.GetPartitions()[0].GetPartitionToken()})
		wantCode(t, err, codes.InvalidArgument, "different session")
	})
	t.Run("D22b", func(t *testing.T) {
		_, err := f.sql(t, &spannerpb.ExecuteSqlRequest{Sql: "SELECT 1", DataBoostEnabled: true})
		wantCode(t, err, codes.InvalidArgument)
	})
}

// Batch transactions as the official client has them.
func TestConformanceBatchClient(t *testing.T) {
	f := start(t, emulator.Options{}, append(schemaU, "CREATE INDEX UsersByName ON Users(Name)")...)
	c := f.client()
	insertUsers(t, c, 100)
	tx, err := c.BatchReadOnlyTransaction(t.Context(), spanner.StrongRead())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Close()
	insertLate(t, c)
	run := func(tx *spanner.BatchReadOnlyTransaction, parts []*spanner.Partition) map[int64]bool {
		got := make(map[int64]bool)
		for _, p := range parts {
			for _, id := range ids(t, tx.Execute(t.Context(), p)) {
				if got[id] {
					t.Errorf("row %d twice", id)
				}
				got[id] = true
			}
		}
		return got
	}
	stmt := spanner.NewStatement("SELECT ID FROM Users")
	queried, err := tx.PartitionQuery(t.Context(), stmt, spanner.PartitionOptions{MaxPartitions: 3})
	if err != nil {
		t.Fatal(err)
	}
	read, err := tx.PartitionRead(t.Context(), "Users", spanner.AllKeys(), []string{"ID"}, spanner.PartitionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	indexed, err := tx.PartitionReadUsingIndex(t.Context(), "Users", "UsersByName", spanner.AllKeys(), []string{"ID"}, spanner.PartitionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("D12", func(t *testing.T) {
		other := f.client().BatchReadOnlyTransactionFromID(tx.ID)
		if got := run(other, queried); len(got) != 100 {
			t.Errorf("%d rows", len(got))
		}
		if got := run(other, read); len(got) != 100 {
			t.Errorf("%d rows", len(got))
		}
	})
	t.Run("D13", func(t *testing.T) {
		for range 2 {
			if got := run(tx, queried); len(got) != 100 {
				t.Errorf("%d rows", len(got))
			}
		}
	})
	t.Run("D14", func(t *testing.T) {
		if got := run(tx, read); len(got) != 100 {
			t.Errorf("%d rows", len(got))
		}
		if got := ids(t, tx.Query(t.Context(), stmt)); len(got) != 100 {
			t.Errorf("%d rows by an ordinary query", len(got))
		}
	})
	t.Run("D19", func(t *testing.T) {
		if got := run(tx, indexed); len(got) != 100 {
			t.Errorf("%d rows", len(got))
		}
	})
}

func insertLate(t testing.TB, c *spanner.Client) {
	t.Helper()
	if _, err := c.Apply(t.Context(), []*spanner.Mutation{spanner.Insert("Users", []string{"ID"}, []any{1_000_000})}); err != nil {
		t.Fatal(err)
	}
}
