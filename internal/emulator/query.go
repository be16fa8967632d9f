package emulator

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/infoschema"
	"spanbulk/internal/emulator/relation"
	"spanbulk/internal/emulator/sql"
	"spanbulk/internal/emulator/value"
)

// compiler gives the store the engine that evaluates expressions in DDL.
func (s *Server) compiler() relation.Compiler { return sql.Compiler{Now: s.opts.Now} }

// sqlSnapshot is what a query may read: the view's snapshot with the
// INFORMATION_SCHEMA, remembering what is read in a read-write transaction.
type sqlSnapshot struct {
	*view
	now func() time.Time
}

// Schema is the schema at the snapshot's timestamp.
func (n sqlSnapshot) Schema() *catalog.Schema { return n.snapshot.Schema() }

// Timestamp is what the snapshot is read at.
func (n sqlSnapshot) Timestamp() time.Time { return n.snapshot.Timestamp() }

// Now is the server's clock.
func (n sqlSnapshot) Now() time.Time { return n.now() }

// Table resolves a name in FROM.
func (n sqlSnapshot) Table(path ...string) (*catalog.Table, bool) {
	switch len(path) {
	case 1:
		return n.snapshot.Schema().Table(path[0])
	case 2:
		if t, ok := infoschema.Table(n.snapshot.Schema(), path[0], path[1]); ok {
			return t, true
		}
		return n.snapshot.Schema().Table(path[0] + "." + path[1])
	}
	return nil, false
}

// Scan gives rows of a table, index or view.
func (n sqlSnapshot) Scan(ctx context.Context, s relation.Scan) iter.Seq2[value.Row, error] {
	if !s.Table.Virtual {
		n.remember(s)
		return n.snapshot.Scan(ctx, s)
	}
	return func(yield func(value.Row, error) bool) {
		for row := range infoschema.Rows(n.snapshot.Schema(), s.Table) {
			if !yield(row, nil) {
				return
			}
		}
	}
}

// ExecuteStreamingSql runs a query.
func (s *Server) ExecuteStreamingSql(req *spannerpb.ExecuteSqlRequest, stream spannerpb.Spanner_ExecuteStreamingSqlServer) error {
	if handled, err := s.readChanges(req, stream); handled {
		return err
	}
	r, err := s.query(stream.Context(), req)
	if err != nil {
		return err
	}
	return s.stream(r, stream)
}

// ExecuteSql is ExecuteStreamingSql with one answer.
func (s *Server) ExecuteSql(ctx context.Context, req *spannerpb.ExecuteSqlRequest) (*spannerpb.ResultSet, error) {
	if err := s.refuseReadFunction(req); err != nil {
		return nil, err
	}
	r, err := s.query(ctx, req)
	if err != nil {
		return nil, err
	}
	return collect(r)
}

func (s *Server) query(ctx context.Context, req *spannerpb.ExecuteSqlRequest) (*result, error) {
	db, session, err := s.session(req.GetSession())
	if err != nil {
		return nil, err
	}
	if err := checkQuery(req); err != nil {
		return nil, err
	}
	if err := refuseDML(db, session.GetName(), req.GetSql(), req.GetTransaction()); err != nil {
		return nil, err
	}
	print := func(partition []byte) uint64 {
		return queryFingerprint(req.GetSql(), req.GetParams(), req.GetParamTypes(), partition)
	}
	o, err := s.open(ctx, db, session.GetName(), req, print)
	if err != nil {
		return nil, err
	}
	q, err := s.prepareQuery(o.view, req.GetSql(), req.GetParams(), req.GetParamTypes())
	if err != nil {
		return nil, err
	}
	return runQuery(ctx, q, o, req.GetQueryMode()), nil
}

func checkQuery(req *spannerpb.ExecuteSqlRequest) error {
	partition := len(req.GetPartitionToken()) > 0
	switch {
	case req.GetSql() == "":
		return status.Error(codes.InvalidArgument, "No value provided for required field: ExecuteSqlRequest.sql")
	case partition && req.GetQueryMode() != spannerpb.ExecuteSqlRequest_NORMAL:
		return status.Error(codes.InvalidArgument, "Partitioned queries can only be executed in NORMAL query mode.")
	case req.GetDataBoostEnabled() && !partition:
		return status.Error(codes.InvalidArgument, "Data Boost is only allowed for requests with a partition token.")
	}
	return checkParameters(req.GetParams())
}

// Limits of the service.
const (
	maxParameterName = 128
	maxParameters    = 950
)

func checkParameters(params *structpb.Struct) error {
	if n := len(params.GetFields()); n > maxParameters {
		return status.Errorf(codes.InvalidArgument, "Number of parameters in query exceeds the maximum allowed limit of %d: found %d.", maxParameters, n)
	}
	for name := range params.GetFields() {
		if len(name) > maxParameterName {
			return status.Errorf(codes.InvalidArgument, "Parameter name %s... is longer than %d characters.", name[:16], maxParameterName)
		}
	}
	return nil
}

// refuseDML answers for statements that are no queries.
func refuseDML(db *database, session, text string, sel *spannerpb.TransactionSelector) error {
	if sql.Classify(text, db.postgreSQL()) != sql.DMLKind {
		return nil
	}
	readOnly := sel.GetBegin().GetReadOnly() != nil
	if id := sel.GetId(); len(id) > 0 {
		tx, err := db.transactions.find(session, id)
		if err != nil {
			return err
		}
		readOnly = tx.readOnly
	}
	switch {
	case readOnly:
		return status.Error(codes.InvalidArgument, "DML statements can only be performed in a read-write transaction.")
	case sel.GetBegin() == nil && len(sel.GetId()) == 0:
		return status.Error(codes.InvalidArgument, "DML statements may not be performed in single-use transactions, to avoid replay.")
	}
	return status.Error(codes.Unimplemented, "DML statements are not served")
}

func queryFingerprint(text string, params *structpb.Struct, types map[string]*spannerpb.Type, partition []byte) uint64 {
	return fingerprint(&spannerpb.ExecuteSqlRequest{Sql: text, Params: params, ParamTypes: types, PartitionToken: partition})
}

func (s *Server) prepareQuery(v *view, text string, params *structpb.Struct, types map[string]*spannerpb.Type) (*sql.Query, error) {
	given, err := queryParams(params, types)
	if err != nil {
		return nil, err
	}
	q, err := sql.Prepare(sqlSnapshot{v, s.opts.Now}, text, given)
	if err != nil {
		return nil, err
	}
	if v.readWrite != nil && q.ReadsVirtualTables() {
		return nil, status.Error(codes.InvalidArgument, "INFORMATION_SCHEMA cannot be queried in a read-write transaction.")
	}
	return q, nil
}

// ranges is what a partition confines a query to; nil is everything.
func (p *partitionToken) ranges() []relation.KeyRange {
	switch {
	case p == nil || !p.Empty && p.Start == nil && p.End == nil:
		return nil
	case p.Empty:
		return []relation.KeyRange{}
	}
	return []relation.KeyRange{p.bound()}
}

func runQuery(ctx context.Context, q *sql.Query, o *opened, mode spannerpb.ExecuteSqlRequest_QueryMode) *result {
	at := o.resume
	r := &result{
		meta:    &spannerpb.ResultSetMetadata{RowType: value.StructProto(q.Columns()), Transaction: o.meta},
		at:      &at,
		request: o.request,
	}
	begun := time.Now()
	switch mode {
	case spannerpb.ExecuteSqlRequest_PLAN:
		r.meta.UndeclaredParameters = value.StructProto(q.UndeclaredParameters())
		r.rows = func(func(value.Row, error) bool) {}
		r.stats = planStats
		return r
	case spannerpb.ExecuteSqlRequest_PROFILE, spannerpb.ExecuteSqlRequest_WITH_STATS, spannerpb.ExecuteSqlRequest_WITH_PLAN_AND_STATS:
		r.stats = func() *spannerpb.ResultSetStats { return profileStats(at.rows, time.Since(begun)) }
	}
	r.rows = afterRows(q.RowsWithin(ctx, o.partition.ranges()), o.resume.rows, &at)
	return r
}

// afterRows leaves out the rows that were sent before the resume token: the
// same query at the same timestamp gives the same rows in the same order.
func afterRows(rows iter.Seq2[value.Row, error], skip int64, at *position) iter.Seq2[value.Row, error] {
	return func(yield func(value.Row, error) bool) {
		n := int64(0)
		for row, err := range rows {
			if err == nil && n < skip {
				n++
				continue
			}
			at.rows++
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

func planStats() *spannerpb.ResultSetStats {
	return &spannerpb.ResultSetStats{QueryPlan: &spannerpb.QueryPlan{PlanNodes: []*spannerpb.PlanNode{{
		Kind:        spannerpb.PlanNode_RELATIONAL,
		DisplayName: "In-memory Scan",
	}}}}
}

func profileStats(rows int64, elapsed time.Duration) *spannerpb.ResultSetStats {
	stats := planStats()
	stats.QueryStats = &structpb.Struct{Fields: map[string]*structpb.Value{
		"rows_returned": structpb.NewStringValue(strconv.FormatInt(rows, 10)),
		"elapsed_time":  structpb.NewStringValue(fmt.Sprintf("%.2f msecs", float64(elapsed.Microseconds())/1000)),
	}}
	return stats
}

// PartitionQuery plans a query in partitions.
func (s *Server) PartitionQuery(ctx context.Context, req *spannerpb.PartitionQueryRequest) (*spannerpb.PartitionResponse, error) {
	db, session, err := s.session(req.GetSession())
	if err != nil {
		return nil, err
	}
	if req.GetSql() == "" {
		return nil, status.Error(codes.InvalidArgument, "No value provided for required field: PartitionQueryRequest.sql")
	}
	if err := checkParameters(req.GetParams()); err != nil {
		return nil, err
	}
	v, err := s.partitionView(ctx, db, session.GetName(), req.GetTransaction(), req.GetPartitionOptions())
	if err != nil {
		return nil, err
	}
	q, err := s.prepareQuery(v, req.GetSql(), req.GetParams(), req.GetParamTypes())
	if err != nil {
		return nil, err
	}
	how, err := q.Partition()
	if err != nil {
		return nil, err
	}
	token := partitionToken{
		Session:     session.GetName(),
		Transaction: v.transaction,
		Request:     queryFingerprint(req.GetSql(), req.GetParams(), req.GetParamTypes(), nil),
	}
	if how.Table == nil {
		b, err := token.encode()
		return &spannerpb.PartitionResponse{Partitions: []*spannerpb.Partition{{PartitionToken: b}}, Transaction: v.meta}, err
	}
	return s.partitions(v, relation.Scan{Table: how.Table, Index: how.Index}, token, req.GetPartitionOptions())
}
