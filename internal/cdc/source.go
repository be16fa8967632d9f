package cdc

import (
	"context"
	"fmt"
	"strconv"
	"time"

	apiv1 "cloud.google.com/go/spanner/apiv1"
	"cloud.google.com/go/spanner/apiv1/spannerpb"
	gax "github.com/googleapis/gax-go/v2"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/database"
	"spanbulk/internal/fault"
	"spanbulk/internal/schema"
	"spanbulk/internal/wire"
)

// Source is a change stream that can be read. Its methods may be called from
// many goroutines.
type Source interface {
	// Stream describes the change stream. The caller must not modify it.
	Stream() *Stream
	// Now reads the server's clock.
	Now(ctx context.Context) (time.Time, error)
	// Query starts a partition query. The call ends when ctx does.
	Query(ctx context.Context, q Query) (wire.Receiver, error)
}

// Query asks for the records of one partition.
type Query struct {
	// Token is the partition; RootToken for the initial query.
	Token string
	// Start is where to begin, inclusively.
	Start Timestamp
	// End is where to stop, inclusively; zero is never.
	End       Timestamp
	Heartbeat time.Duration
}

// Conn is the connection that a Source reads through; *database.Conn is one.
type Conn interface {
	schema.Querier
	Client() *apiv1.Client
	Session() string
	Name() database.Name
}

// SourceOptions go with every partition query.
type SourceOptions struct {
	Priority   spannerpb.RequestOptions_Priority
	RequestTag string
}

// Open finds the change stream called name and learns what there is to know of
// it. An unknown name fails, with the nearest known one as a hint.
func Open(ctx context.Context, conn Conn, name string, opt SourceOptions) (Source, error) {
	stream, err := describe(ctx, conn, name)
	if err != nil {
		return nil, err
	}
	return &connSource{conn: conn, stream: stream, opt: opt}, nil
}

// connSource makes the calls over a connection.
type connSource struct {
	conn   Conn
	stream *Stream
	opt    SourceOptions
}

func (s *connSource) Stream() *Stream { return s.stream }

// Now reads the timestamp of a strong read, which is a commit timestamp that
// every earlier commit is before.
func (s *connSource) Now(ctx context.Context) (time.Time, error) {
	result, err := s.conn.Query(ctx, database.Statement{SQL: "SELECT 1"})
	if err != nil {
		return time.Time{}, fault.Reading(err, "read", "the server's clock")
	}
	if result.ReadTimestamp.UnixNano() <= 0 {
		return time.Time{}, fmt.Errorf("read the server's clock: the answer has no read timestamp")
	}
	return result.ReadTimestamp, nil
}

// Query implements Source. Spanner wants a strong single-use read-only
// transaction here.
func (s *connSource) Query(ctx context.Context, q Query) (wire.Receiver, error) {
	return s.conn.Client().ExecuteStreamingSql(ctx, s.request(q), gax.WithGRPCOptions(wire.CallOption()))
}

func (s *connSource) request(q Query) *spannerpb.ExecuteSqlRequest {
	params := [...]struct {
		code  spannerpb.TypeCode
		value *structpb.Value
	}{
		{spannerpb.TypeCode_TIMESTAMP, structpb.NewStringValue(q.Start.String())},
		{spannerpb.TypeCode_TIMESTAMP, structpb.NewNullValue()},
		{spannerpb.TypeCode_STRING, structpb.NewNullValue()},
		{spannerpb.TypeCode_INT64, structpb.NewStringValue(strconv.FormatInt(q.Heartbeat.Milliseconds(), 10))},
	}
	if q.End != 0 {
		params[1].value = structpb.NewStringValue(q.End.String())
	}
	if q.Token != RootToken {
		params[2].value = structpb.NewStringValue(q.Token)
	}
	req := &spannerpb.ExecuteSqlRequest{
		Session:        s.conn.Session(),
		Sql:            s.stream.readSQL(),
		Params:         &structpb.Struct{Fields: map[string]*structpb.Value{}},
		ParamTypes:     map[string]*spannerpb.Type{},
		RequestOptions: &spannerpb.RequestOptions{Priority: s.opt.Priority, RequestTag: s.opt.RequestTag},
		Transaction: &spannerpb.TransactionSelector{Selector: &spannerpb.TransactionSelector_SingleUse{
			SingleUse: &spannerpb.TransactionOptions{Mode: &spannerpb.TransactionOptions_ReadOnly_{
				ReadOnly: &spannerpb.TransactionOptions_ReadOnly{
					TimestampBound: &spannerpb.TransactionOptions_ReadOnly_Strong{Strong: true},
				},
			}},
		}},
	}
	for i, p := range params {
		_, name := s.stream.Dialect.Param(i + 1)
		req.Params.Fields[name] = p.value
		req.ParamTypes[name] = &spannerpb.Type{Code: p.code}
	}
	return req
}
