package emulator

import (
	"context"
	"errors"
	"io"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/emulator/changestream"
	"spanbulk/internal/emulator/relation"
	"spanbulk/internal/emulator/sql"
	"spanbulk/internal/emulator/value"
)

// ChangeStream finds a change stream of a database, given by its full name, so
// that a test can split, merge and move its partitions.
func (s *Server) ChangeStream(databaseName, stream string) (*changestream.Stream, error) {
	db, err := s.findDatabase(databaseName)
	if err != nil {
		return nil, err
	}
	return db.store.Changes().Stream(stream)
}

// readChanges answers a request that calls the read function of a change
// stream; handled is false for every other.
func (s *Server) readChanges(req *spannerpb.ExecuteSqlRequest, out grpc.ServerStream) (handled bool, err error) {
	db, call, err := s.findReadFunction(req)
	if call == nil {
		return false, nil
	}
	if err != nil {
		return true, err
	}
	if err := checkChangeRequest(req); err != nil {
		return true, err
	}
	query, err := changeQuery(call, req.GetParams(), req.GetParamTypes())
	if err != nil {
		return true, err
	}
	stream, err := db.store.Changes().Stream(call.Stream.Name)
	if err != nil {
		return true, err
	}
	return true, s.streamChanges(req, out, call, stream, query)
}

// findReadFunction finds out whether a request calls a read function. The call
// comes back with the error if it does so wrongly; what is wrong otherwise is
// for those to say who run other queries.
func (s *Server) findReadFunction(req *spannerpb.ExecuteSqlRequest) (*database, *sql.ReadFunctionCall, error) {
	db, _, err := s.session(req.GetSession())
	if err != nil {
		return nil, nil, nil
	}
	call, err := sql.FindReadFunctionCall(db.store.Schema(), req.GetSql())
	return db, call, err
}

// refuseReadFunction answers for ExecuteSql, which does not serve read
// functions.
func (s *Server) refuseReadFunction(req *spannerpb.ExecuteSqlRequest) error {
	if _, call, _ := s.findReadFunction(req); call == nil {
		return nil
	}
	return status.Error(codes.InvalidArgument, "Change stream queries are not supported for the ExecuteSql API. Use the ExecuteStreamingSql API instead.")
}

// checkChangeRequest: single-use strong reads alone.
func checkChangeRequest(req *spannerpb.ExecuteSqlRequest) error {
	sel := req.GetTransaction()
	ro := sel.GetSingleUse().GetReadOnly()
	strong := ro == nil || ro.GetTimestampBound() == nil || ro.GetStrong()
	other := sel.GetSingleUse() != nil && ro == nil
	if sel.GetBegin() != nil || len(sel.GetId()) > 0 || !strong || other {
		return status.Error(codes.InvalidArgument, "Change stream queries are not supported for multi use transactions, and for single use ones only with a strong read-only timestamp bound.")
	}
	if len(req.GetPartitionToken()) > 0 {
		return status.Error(codes.InvalidArgument, "Change stream queries cannot be executed with a partition token of PartitionQuery.")
	}
	if req.GetQueryMode() == spannerpb.ExecuteSqlRequest_PLAN {
		return status.Error(codes.Unimplemented, "Change stream queries do not support query mode PLAN.")
	}
	return checkParameters(req.GetParams())
}

// Limits of heartbeat_milliseconds. The documents say 1000 for the least, the
// service takes 100.
const (
	minHeartbeat = 100
	maxHeartbeat = 300_000
)

// changeQuery evaluates and checks the arguments that need no look at the
// stream. The order of the checks is Spanner's.
func changeQuery(call *sql.ReadFunctionCall, params *structpb.Struct, types map[string]*spannerpb.Type) (changestream.Query, error) {
	given, err := queryParams(params, types)
	if err != nil {
		return changestream.Query{}, err
	}
	args, err := call.Arguments(given)
	if err != nil {
		return changestream.Query{}, err
	}
	if args.Start.IsNull() {
		return changestream.Query{}, status.Error(codes.InvalidArgument, "start_timestamp must not be null.")
	}
	q := changestream.Query{Start: args.Start.AsTime(), Token: args.Token.AsString()}
	if !args.End.IsNull() {
		q.End = args.End.AsTime()
	}
	q.Check = func() error { return checkHeartbeat(args) }
	q.Heartbeat = time.Duration(args.Heartbeat.AsInt64()) * time.Millisecond
	return q, nil
}

func checkHeartbeat(args sql.ReadArguments) error {
	switch n := args.Heartbeat.AsInt64(); {
	case args.Heartbeat.IsNull():
		return status.Error(codes.InvalidArgument, "heartbeat_milliseconds must not be null.")
	case n < minHeartbeat || n > maxHeartbeat:
		return status.Errorf(codes.OutOfRange, "heartbeat_milliseconds must be within min %d and max %d. Received heartbeat_milliseconds: %d.", minHeartbeat, maxHeartbeat, n)
	case !args.Options.IsNull():
		return status.Error(codes.Unimplemented, "read_options must be null.")
	}
	return nil
}

func queryParams(params *structpb.Struct, types map[string]*spannerpb.Type) (map[string]relation.Param, error) {
	given := make(map[string]relation.Param, len(params.GetFields()))
	for name, p := range params.GetFields() {
		wire, err := proto.Marshal(p)
		if err != nil {
			return nil, status.Errorf(codes.InvalidArgument, "Invalid value for bind parameter %s.", name)
		}
		given[name] = relation.Param{Type: value.TypeFromProto(types[name]), Wire: wire}
	}
	return given, nil
}

// streamChanges sends records as they come, each batch at once.
func (s *Server) streamChanges(req *spannerpb.ExecuteSqlRequest, out grpc.ServerStream, call *sql.ReadFunctionCall, stream *changestream.Stream, query changestream.Query) error {
	request := queryFingerprint(req.GetSql(), req.GetParams(), req.GetParamTypes(), nil)
	var at changestream.Position
	if token := req.GetResumeToken(); len(token) > 0 {
		p, err := decodePosition(token, request)
		ok := false
		if err == nil {
			at, ok = changestream.DecodePosition([]byte(p.key))
		}
		if !ok {
			return status.Error(codes.InvalidArgument, "Invalid resume token for this request.")
		}
	}
	reader, err := stream.Read(query, at)
	if err != nil {
		return err
	}
	columns := stream.Columns()
	if call.Column != "" {
		columns[0].Name = call.Column
	}
	meta := &spannerpb.ResultSetMetadata{RowType: value.StructProto(columns)}
	token := func() []byte { return position{key: string(at.Encode(nil))}.encode(request) }
	w, err := newResultStream(*s.messages.Load(), meta, token, s.codec.pool, func(f *frame) error { return out.SendMsg(f) })
	if err != nil {
		return err
	}
	defer w.release()
	if err := sendRecords(out.Context(), reader, w, &at); err != nil {
		return err
	}
	return w.close(nil)
}

// sendRecords sends what the reader gives until it ends. at follows the records
// written, for the resume tokens. The rows of a batch go out before the next
// one is waited for.
func sendRecords(ctx context.Context, reader *changestream.Reader, w *resultStream, at *changestream.Position) error {
	for {
		batch, err := reader.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, record := range batch {
			if err := w.beginRow(); err != nil {
				return err
			}
			if err := w.row(record.Row); err != nil {
				return err
			}
			*at = record.Position
		}
		if err := w.flush(false, false); err != nil {
			return err
		}
	}
}
