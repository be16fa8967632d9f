package cmd

import (
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/emulator"
)

const thingsDDL = `CREATE TABLE Things (Id INT64 NOT NULL, Name STRING(MAX)) PRIMARY KEY (Id)`

func text(s string) *structpb.Value { return structpb.NewStringValue(s) }

func things(names ...string) [][]*structpb.Value {
	rows := make([][]*structpb.Value, len(names))
	for i, name := range names {
		rows[i] = []*structpb.Value{text(string(rune('1' + i))), text(name)}
	}
	return rows
}

// TestServiceFlagsAreInEveryRequest looks at each request for what the flags
// ask of the service: Data Boost, priority and directed reads above all hold
// only for the request that they are in.
func TestServiceFlagsAreInEveryRequest(t *testing.T) {
	s := startSpanner(t, emulator.Options{}, thingsDDL)
	s.insert(t, "Things", []string{"Id", "Name"}, things("a", "b", "c"))
	p, proxied := startProxy(t, s)
	service := []string{"--quiet", "--data-boost", "--rpc-priority", "low", "--request-tag", "nightly", "--transaction-tag", "backup",
		"--directed-read", "us-east1:READ_ONLY", "--database-role", "reader", "--max-partitions", "7", "--partition-size-bytes", "1MiB"}
	for _, what := range [][]string{{"--table", "Things"}, {"--table", "Things", "--where", "Name != 'b'"}, {"--query", "SELECT Name FROM Things"}} {
		if _, stderr, code := exportFrom(t, proxied, append(what, service...)...); code != exitDone {
			t.Fatalf("%q: %s", what, stderr)
		}
	}
	wantOptions := &spannerpb.RequestOptions{Priority: spannerpb.RequestOptions_PRIORITY_LOW, RequestTag: "nightly", TransactionTag: "backup"}
	wantDirected := &spannerpb.DirectedReadOptions{Replicas: &spannerpb.DirectedReadOptions_IncludeReplicas_{IncludeReplicas: &spannerpb.DirectedReadOptions_IncludeReplicas{
		ReplicaSelections: []*spannerpb.DirectedReadOptions_ReplicaSelection{{Location: "us-east1", Type: spannerpb.DirectedReadOptions_ReplicaSelection_READ_ONLY}},
	}}}
	type execution interface {
		GetDataBoostEnabled() bool
		GetRequestOptions() *spannerpb.RequestOptions
		GetDirectedReadOptions() *spannerpb.DirectedReadOptions
		GetPartitionToken() []byte
	}
	executed := 0
	check := func(e execution) {
		if len(e.GetPartitionToken()) == 0 {
			return // the schema, or the description of a query
		}
		executed++
		if !e.GetDataBoostEnabled() {
			t.Errorf("%v is without Data Boost", e)
		}
		if diff := cmp.Diff(wantOptions, e.GetRequestOptions(), protocmp.Transform()) + cmp.Diff(wantDirected, e.GetDirectedReadOptions(), protocmp.Transform()); diff != "" {
			t.Errorf("a partition is executed with other options (-want +got):\n%s", diff)
		}
	}
	for _, r := range sent[*spannerpb.ReadRequest](p) {
		check(r)
	}
	for _, r := range sent[*spannerpb.ExecuteSqlRequest](p) {
		check(r)
	}
	if executed < 9 {
		t.Errorf("only %d partitions were executed", executed)
	}
	for _, r := range sent[*spannerpb.BeginTransactionRequest](p) {
		if !proto.Equal(r.GetRequestOptions(), wantOptions) {
			t.Errorf("a transaction is begun with %v", r.GetRequestOptions())
		}
	}
	wantHints := &spannerpb.PartitionOptions{MaxPartitions: 7, PartitionSizeBytes: 1 << 20}
	for _, r := range sent[*spannerpb.PartitionReadRequest](p) {
		if !proto.Equal(r.GetPartitionOptions(), wantHints) {
			t.Errorf("a read is partitioned with %v", r.GetPartitionOptions())
		}
	}
	for _, r := range sent[*spannerpb.PartitionQueryRequest](p) {
		if !proto.Equal(r.GetPartitionOptions(), wantHints) {
			t.Errorf("a query is partitioned with %v", r.GetPartitionOptions())
		}
	}
	for _, r := range sent[*spannerpb.CreateSessionRequest](p) {
		if r.GetSession().GetCreatorRole() != "reader" || !r.GetSession().GetMultiplexed() {
			t.Errorf("a session is created as %v", r.GetSession())
		}
	}
}

// TestEverythingIsOfOneSnapshot wants one transaction for all tables, and the
// schema read at its timestamp.
func TestEverythingIsOfOneSnapshot(t *testing.T) {
	s := startSpanner(t, emulator.Options{}, thingsDDL, strings.Replace(thingsDDL, "Things", "Others", 1))
	p, proxied := startProxy(t, s)
	if _, stderr, code := exportFrom(t, proxied, "--quiet", "--all-tables", "--output", t.TempDir()+"/all/"); code != exitDone {
		t.Fatal(stderr)
	}
	begun := sent[*spannerpb.BeginTransactionRequest](p)
	if len(begun) != 1 {
		t.Fatalf("%d transactions were begun", len(begun))
	}
	var transactions, timestamps []string
	for _, r := range sent[*spannerpb.ReadRequest](p) {
		transactions = append(transactions, string(r.GetTransaction().GetId()))
	}
	for _, r := range sent[*spannerpb.ExecuteSqlRequest](p) {
		timestamps = append(timestamps, r.GetTransaction().GetSingleUse().GetReadOnly().GetReadTimestamp().String())
	}
	if len(slices.Compact(transactions)) != 1 || transactions[0] == "" {
		t.Errorf("rows were read in the transactions %q", transactions)
	}
	if len(slices.Compact(timestamps)) != 1 || timestamps[0] == "" {
		t.Errorf("the schema was read at %q", timestamps)
	}
}

// TestImpersonationReachesTheConnection follows the flag up to where credentials
// are made.
func TestImpersonationReachesTheConnection(t *testing.T) {
	o := connectionOptions{databaseFlags: databaseFlags{database: "projects/p/instances/i/databases/d"}, impersonate: "exporter@p.iam.gserviceaccount.com", role: "reader"}
	options, err := o.databaseOptions(newApp(Streams{}), 4)
	if err != nil || options.Impersonate != o.impersonate || options.Role != "reader" {
		t.Errorf("got %+v, %v", options, err)
	}
}

// TestDeclaredTypes exports what the embedded Spanner does not have: a view,
// columns of messages and enums, which the schema's text does not tell apart,
// and one of a search index. A hidden column is there for whom names it.
func TestDeclaredTypes(t *testing.T) {
	s := startSpanner(t, emulator.Options{}, `CREATE TABLE Orders (Id INT64 NOT NULL, Detail BYTES(MAX), State INT64, History ARRAY<INT64>,
		Secret STRING(MAX) HIDDEN, Tokens STRING(MAX)) PRIMARY KEY (Id)`,
		`CREATE TABLE OpenOrders (Id INT64 NOT NULL, State INT64) PRIMARY KEY (Id)`)
	history := structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{text("1"), structpb.NewNullValue()}})
	s.insert(t, "Orders", []string{"Id", "Detail", "State", "History"}, [][]*structpb.Value{{text("1"), text("CAES"), text("2"), history}})
	s.insert(t, "OpenOrders", []string{"Id", "State"}, [][]*structpb.Value{{text("1"), text("2")}})
	p, proxied := startProxy(t, s)
	p.change = declareTypes
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--table", "Orders"}, `{"Id":1,"Detail":"CAES","State":2,"History":[1,null]}` + "\n"},
		{[]string{"--table", "Orders", "--format", "csv"}, "Id,Detail,State,History\n1,CAES,2,\"[1,null]\"\n"},
		{[]string{"--table", "Orders", "--columns", "State,Secret"}, `{"State":2,"Secret":null}` + "\n"},
		{[]string{"--table", "OpenOrders"}, `{"Id":1,"State":2}` + "\n"},
		{[]string{"--table", "OpenOrders", "--where", "Id = 1"}, `{"Id":1,"State":2}` + "\n"},
	} {
		out, stderr, code := exportFrom(t, proxied, append(tt.args, "--quiet")...)
		if code != exitDone || string(out) != tt.want {
			t.Errorf("%q: exit code %d, %s: got %s, want %s", tt.args, code, stderr, out, tt.want)
		}
	}
	if _, stderr, code := exportFrom(t, proxied, "--quiet", "--table", "Orders", "--columns", "Tokens"); code != exitUsage || stderr != "spanbulk: --columns: column Tokens cannot be read: it is a TOKENLIST\n" {
		t.Errorf("a TOKENLIST column: exit code %d, %s", code, stderr)
	}
	for _, r := range sent[*spannerpb.PartitionReadRequest](p) {
		if r.GetTable() == "OpenOrders" {
			t.Error("a view was read like a table")
		}
	}
	if _, stderr, code := exportFrom(t, proxied, "--quiet", "--table", "OpenOrders", "--key", "[1]"); code != exitUsage || stderr != "spanbulk: OpenOrders is a view and has no keys\n" {
		t.Errorf("a key of a view: exit code %d, %s", code, stderr)
	}
	dir := t.TempDir() + "/all/"
	if _, stderr, code := exportFrom(t, proxied, "--quiet", "--all-tables", "--output", dir); code != exitDone || strings.Contains(listFiles(t, dir), "OpenOrders") {
		t.Errorf("--all-tables: exit code %d, %s: %s", code, stderr, listFiles(t, dir))
	}
}

// declareTypes makes OpenOrders a view, Orders.Detail a message, State an enum
// and Tokens a TOKENLIST in all that Spanner says.
func declareTypes(request, response proto.Message) {
	switch r := response.(type) {
	case *spannerpb.ResultSet:
		declareFields(r.GetMetadata().GetRowType().GetFields())
	case *spannerpb.PartialResultSet:
		q, isQuery := request.(*spannerpb.ExecuteSqlRequest)
		switch {
		case isQuery && strings.Contains(q.GetSql(), "INFORMATION_SCHEMA.TABLES"):
			replaceAfter(r.GetValues(), "OpenOrders", 1, "VIEW")
		case isQuery && strings.Contains(q.GetSql(), "INFORMATION_SCHEMA.COLUMNS"):
			replaceAfter(r.GetValues(), "Detail", 2, "shop.Order")
			replaceAfter(r.GetValues(), "State", 2, "shop.Status")
			replaceAfter(r.GetValues(), "Tokens", 2, "TOKENLIST")
			replaceAfter(r.GetValues(), "History", 2, "ARRAY<shop.Status>")
		case isQuery && strings.Contains(q.GetSql(), "INFORMATION_SCHEMA.INDEX") && q.GetParams().GetFields()["p2"].GetStringValue() == "OpenOrders":
			r.Values = nil
		default:
			declareFields(r.GetMetadata().GetRowType().GetFields())
		}
	}
}

// replaceAfter sets the value that many places after each one with that text.
func replaceAfter(values []*structpb.Value, text string, places int, to string) {
	for i, v := range values {
		if v.GetStringValue() == text {
			values[i+places] = structpb.NewStringValue(to)
		}
	}
}

func declareFields(fields []*spannerpb.StructType_Field) {
	enum := &spannerpb.Type{Code: spannerpb.TypeCode_ENUM, ProtoTypeFqn: "shop.Status"}
	for _, f := range fields {
		switch f.GetName() {
		case "Detail":
			f.Type = &spannerpb.Type{Code: spannerpb.TypeCode_PROTO, ProtoTypeFqn: "shop.Order"}
		case "State":
			f.Type = enum
		case "History":
			f.Type = &spannerpb.Type{Code: spannerpb.TypeCode_ARRAY, ArrayElementType: enum}
		}
	}
}
