package database

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	gax "github.com/googleapis/gax-go/v2"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"spanbulk/internal/fault"
)

// Statement is one small query, run in a single-use read-only transaction.
type Statement struct {
	SQL string
	// Params are values for the parameters of SQL; every value is a STRING.
	Params map[string]string
	// At is the timestamp to read at; zero is a strong read.
	At time.Time
}

// Result is the whole answer to a Statement.
type Result struct {
	// Columns are the names of the result's columns.
	Columns []string
	// Rows have one value for each column.
	Rows [][]*structpb.Value
	// ReadTimestamp is when the rows were as they are.
	ReadTimestamp time.Time
}

// queryAttempts bounds how often Query starts over after a broken stream.
const queryAttempts = 6

// Query runs stmt and collects its rows, which therefore must be few. A stream
// that breaks is started over from the beginning: resume tokens are not worth
// their trouble for a result that is held whole.
func (c *Conn) Query(ctx context.Context, stmt Statement) (*Result, error) {
	backoff := gax.Backoff{Initial: 50 * time.Millisecond, Max: 2 * time.Second, Multiplier: 2}
	for attempt := 1; ; attempt++ {
		result, err := c.queryOnce(ctx, stmt)
		if err == nil || attempt == queryAttempts || !isTransient(err) {
			return result, err
		}
		if err := gax.Sleep(ctx, backoff.Pause()); err != nil {
			return nil, err
		}
	}
}

func isTransient(err error) bool {
	switch fault.Code(err) {
	case codes.Unavailable, codes.ResourceExhausted, codes.Aborted:
		return true
	case codes.Internal:
		// How gRPC reports a stream that a proxy or a restarting server reset.
		return strings.Contains(err.Error(), "RST_STREAM") || strings.Contains(err.Error(), "unexpected EOS")
	default:
		return false
	}
}

func (c *Conn) queryOnce(ctx context.Context, stmt Statement) (*Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.client.ExecuteStreamingSql(ctx, c.queryRequest(stmt))
	if err != nil {
		return nil, err
	}
	var got collector
	for {
		message, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return got.finish()
		}
		if err != nil {
			return nil, err
		}
		if err := got.add(message); err != nil {
			return nil, err
		}
	}
}

func (c *Conn) queryRequest(stmt Statement) *spannerpb.ExecuteSqlRequest {
	readOnly := &spannerpb.TransactionOptions_ReadOnly{ReturnReadTimestamp: true}
	if stmt.At.IsZero() {
		readOnly.TimestampBound = &spannerpb.TransactionOptions_ReadOnly_Strong{Strong: true}
	} else {
		readOnly.TimestampBound = &spannerpb.TransactionOptions_ReadOnly_ReadTimestamp{ReadTimestamp: timestamppb.New(stmt.At)}
	}
	req := &spannerpb.ExecuteSqlRequest{
		Session: c.session,
		Sql:     stmt.SQL,
		Transaction: &spannerpb.TransactionSelector{Selector: &spannerpb.TransactionSelector_SingleUse{
			SingleUse: &spannerpb.TransactionOptions{Mode: &spannerpb.TransactionOptions_ReadOnly_{ReadOnly: readOnly}},
		}},
	}
	if len(stmt.Params) > 0 {
		req.Params = &structpb.Struct{Fields: map[string]*structpb.Value{}}
		req.ParamTypes = map[string]*spannerpb.Type{}
		for name, value := range stmt.Params {
			req.Params.Fields[name] = structpb.NewStringValue(value)
			req.ParamTypes[name] = &spannerpb.Type{Code: spannerpb.TypeCode_STRING}
		}
	}
	return req
}

// collector puts the values of PartialResultSets together to rows.
type collector struct {
	result  Result
	values  []*structpb.Value // of the row being filled
	chunked bool              // the last of values goes on in the next message
	started bool
}

func (g *collector) add(message *spannerpb.PartialResultSet) error {
	if metadata := message.GetMetadata(); metadata != nil && !g.started {
		g.started = true
		for _, f := range metadata.GetRowType().GetFields() {
			g.result.Columns = append(g.result.Columns, f.GetName())
		}
		g.result.ReadTimestamp = metadata.GetTransaction().GetReadTimestamp().AsTime()
	}
	values := message.GetValues()
	if g.chunked && len(values) > 0 {
		last := len(g.values) - 1
		merged, err := mergeChunks(g.values[last], values[0])
		if err != nil {
			return err
		}
		g.values[last], values = merged, values[1:]
		g.chunked = false
	}
	g.values = append(g.values, values...)
	g.chunked = g.chunked || message.GetChunkedValue() && len(g.values) > 0
	return g.cutRows()
}

// cutRows moves the complete rows out of values. A chunked last value belongs
// to a row that is not complete yet.
func (g *collector) cutRows() error {
	width := len(g.result.Columns)
	if width == 0 {
		if len(g.values) > 0 {
			return errors.New("spanner sent values before the names of their columns")
		}
		return nil
	}
	for len(g.values) > width || len(g.values) == width && !g.chunked {
		g.result.Rows = append(g.result.Rows, g.values[:width:width])
		g.values = g.values[width:]
	}
	return nil
}

func (g *collector) finish() (*Result, error) {
	if len(g.values) > 0 || g.chunked {
		return nil, errors.New("spanner ended the result in the middle of a row")
	}
	return &g.result, nil
}

// mergeChunks joins the two parts of a chunked value: strings by concatenation,
// lists by joining, where the element at the seam is itself merged if it is a
// string or list (google.spanner.v1.PartialResultSet.chunked_value).
func mergeChunks(a, b *structpb.Value) (*structpb.Value, error) {
	switch first := a.GetKind().(type) {
	case *structpb.Value_StringValue:
		if _, ok := b.GetKind().(*structpb.Value_StringValue); ok {
			return structpb.NewStringValue(first.StringValue + b.GetStringValue()), nil
		}
	case *structpb.Value_ListValue:
		if _, ok := b.GetKind().(*structpb.Value_ListValue); ok {
			return mergeLists(first.ListValue.GetValues(), b.GetListValue().GetValues())
		}
	}
	return nil, errors.New("spanner sent a chunked value of a kind that cannot be chunked")
}

func mergeLists(a, b []*structpb.Value) (*structpb.Value, error) {
	if len(a) > 0 && len(b) > 0 && isMergeable(a[len(a)-1]) && isMergeable(b[0]) {
		seam, err := mergeChunks(a[len(a)-1], b[0])
		if err != nil {
			return nil, err
		}
		a, b = append(a[:len(a)-1:len(a)-1], seam), b[1:]
	}
	return structpb.NewListValue(&structpb.ListValue{Values: append(a, b...)}), nil
}

func isMergeable(v *structpb.Value) bool {
	switch v.GetKind().(type) {
	case *structpb.Value_StringValue, *structpb.Value_ListValue:
		return true
	default:
		return false
	}
}
