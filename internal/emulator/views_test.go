package emulator_test

import (
	"testing"

	"cloud.google.com/go/spanner/admin/database/apiv1/databasepb"
	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc/codes"

	"spanbulk/internal/emulator"
)

// tryDDL applies statements, of which one may fail in the call or in the
// operation.
func (f *fixture) tryDDL(t testing.TB, code codes.Code, text string, statements ...string) {
	t.Helper()
	op, err := databasepb.NewDatabaseAdminClient(f.conn).UpdateDatabaseDdl(t.Context(), &databasepb.UpdateDatabaseDdlRequest{Database: databaseName, Statements: statements})
	if err == nil && op.GetError() != nil {
		t.Fatalf("%q failed in the operation: %v", statements, op.GetError())
	}
	wantCode(t, err, code, text)
}

func (f *fixture) wantSQL(t testing.TB, sql, want string) {
	t.Helper()
	if got, err := f.sql(t, &spannerpb.ExecuteSqlRequest{Sql: sql}); got != want || err != nil {
		t.Errorf("%s: %s, error %v, want %s", sql, got, err, want)
	}
}

func viewFixture(t *testing.T) *fixture {
	f := start(t, emulator.Options{},
		"CREATE TABLE T (K INT64 NOT NULL, V STRING(MAX), W INT64) PRIMARY KEY (K)",
		"CREATE VIEW Big SQL SECURITY INVOKER AS SELECT t.K, t.V AS Word FROM T AS t WHERE t.K > 1",
		"CREATE VIEW Words SQL SECURITY DEFINER AS SELECT b.Word, COUNT(*) AS n FROM Big AS b GROUP BY b.Word")
	f.commit(t, insert("T", "K,V,W", row(1, "a", 1), row(2, "b", 1), row(3, "b", 1), row(4, "c", 1)))
	return f
}

func TestViews(t *testing.T) {
	f := viewFixture(t)
	f.wantSQL(t, "SELECT * FROM Big WHERE Word = 'b' ORDER BY K", "2,b|3,b")
	f.wantSQL(t, "SELECT w.Word, w.n, T.K FROM words w JOIN T ON T.V = w.Word WHERE w.n = 1", "c,1,4")
	f.wantSQL(t, "SELECT table_name, table_type, spanner_state IS NULL FROM information_schema.tables WHERE table_schema = '' ORDER BY 1", "Big,VIEW,true|T,BASE TABLE,false|Words,VIEW,true")
	f.wantSQL(t, "SELECT column_name, ordinal_position, is_nullable, spanner_type, is_generated FROM information_schema.columns WHERE table_name = 'Words' ORDER BY 2", "Word,1,YES,STRING(MAX),NEVER|n,2,YES,INT64,NEVER")
	f.wantSQL(t, "SELECT table_name, view_definition, security_type FROM information_schema.views ORDER BY 1",
		"Big,SELECT t.K, t.V AS Word FROM T AS t WHERE t.K > 1,INVOKER|Words,SELECT b.Word, COUNT(*) AS n FROM Big AS b GROUP BY b.Word,DEFINER")
	f.ddl(t, "CREATE OR REPLACE VIEW Big SQL SECURITY INVOKER AS SELECT t.K, t.V AS Word, t.W FROM T AS t")
	f.wantSQL(t, "SELECT COUNT(*) FROM Big WHERE W = 1", "4")
	f.ddl(t, "DROP VIEW Words", "DROP VIEW Big", "DROP VIEW IF EXISTS Big", "DROP TABLE T")
}

func TestViewsThatSpannerRefuses(t *testing.T) {
	f := viewFixture(t)
	const invoker = " SQL SECURITY INVOKER AS "
	f.tryDDL(t, codes.InvalidArgument, "Table not found: Nope", "CREATE VIEW X"+invoker+"SELECT 1 AS a FROM Nope")
	f.tryDDL(t, codes.InvalidArgument, "no name", "CREATE VIEW X"+invoker+"SELECT 1")
	f.tryDDL(t, codes.InvalidArgument, "more than one column", "CREATE VIEW X"+invoker+"SELECT 1 AS a, 2 AS A")
	f.tryDDL(t, codes.InvalidArgument, "", "CREATE VIEW X"+invoker+"SELECT @p AS a")
	f.tryDDL(t, codes.FailedPrecondition, "Duplicate name", "CREATE VIEW T"+invoker+"SELECT 1 AS a")
	f.tryDDL(t, codes.FailedPrecondition, "Duplicate name", "CREATE TABLE Big (K INT64) PRIMARY KEY (K)")
	f.tryDDL(t, codes.FailedPrecondition, "view `Big` depends", "DROP TABLE T")
	f.tryDDL(t, codes.FailedPrecondition, "view `Big` depends", "ALTER TABLE T DROP COLUMN V")
	f.tryDDL(t, codes.FailedPrecondition, "view `Words` depends", "DROP VIEW Big")
	f.tryDDL(t, codes.FailedPrecondition, "view `Words` depends", "CREATE OR REPLACE VIEW Big"+invoker+"SELECT t.K FROM T AS t")
	f.tryDDL(t, codes.InvalidArgument, "depends on itself", "CREATE OR REPLACE VIEW Big"+invoker+"SELECT b.Word FROM Words AS b")
	f.ddl(t, "ALTER TABLE T DROP COLUMN W")
	f.wantSQL(t, "SELECT n FROM Words WHERE Word = 'b'", "2")
}

// A view of one table can be partitioned as its query can.
func TestPartitionedView(t *testing.T) {
	f := viewFixture(t)
	partition := func(sql string) (*spannerpb.PartitionResponse, error) {
		return f.api().PartitionQuery(t.Context(), &spannerpb.PartitionQueryRequest{Session: f.session, Sql: sql, Transaction: &spannerpb.TransactionSelector{
			Selector: &spannerpb.TransactionSelector_Begin{Begin: &spannerpb.TransactionOptions{Mode: &spannerpb.TransactionOptions_ReadOnly_{ReadOnly: strongRead()}}}}})
	}
	const sql = "SELECT K FROM Big"
	resp, err := partition(sql)
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, p := range resp.GetPartitions() {
		r := &receiver{t: t}
		if err := f.query(t, r, &spannerpb.ExecuteSqlRequest{Sql: sql, PartitionToken: p.GetPartitionToken(), Transaction: &spannerpb.TransactionSelector{
			Selector: &spannerpb.TransactionSelector_Id{Id: resp.GetTransaction().GetId()}}}); err != nil {
			t.Fatal(err)
		}
		rows += len(r.values)
	}
	if rows != 3 {
		t.Errorf("%d rows in %d partitions", rows, len(resp.GetPartitions()))
	}
	_, err = partition("SELECT * FROM Words")
	wantCode(t, err, codes.InvalidArgument, "root partitionable")
}

// What is wrong with a statement, whatever the data, fails the call and changes
// nothing.
func TestExpressionsInDDLFailTheCall(t *testing.T) {
	f := start(t, emulator.Options{})
	const fine = "CREATE TABLE Fine (K INT64) PRIMARY KEY (K)"
	f.tryDDL(t, codes.InvalidArgument, "Unrecognized name: z", fine, "CREATE TABLE T (K INT64, CHECK (z > 0)) PRIMARY KEY (K)")
	f.tryDDL(t, codes.InvalidArgument, "BOOL", "CREATE TABLE T (K INT64, CHECK (K)) PRIMARY KEY (K)")
	f.tryDDL(t, codes.InvalidArgument, "refers to a column", "CREATE TABLE T (K INT64, D INT64 DEFAULT (K)) PRIMARY KEY (K)")
	f.tryDDL(t, codes.InvalidArgument, "non-deterministic", "CREATE TABLE T (K INT64, D STRING(36) AS (GENERATE_UUID()) STORED) PRIMARY KEY (K)")
	f.ddl(t, fine)
}
