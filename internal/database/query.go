package database

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	gax "github.com/googleapis/gax-go/v2"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"spanbulk/internal/wire"
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
	// Columns are the names of the result's columns, Types their types.
	Columns []string
	Types   []*spannerpb.Type
	// Rows have one value for each column.
	Rows [][]*structpb.Value
	// ReadTimestamp is when the rows were as they are.
	ReadTimestamp time.Time
}

// queryPatience bounds how long a broken Query is tried again: it stands at the
// beginning of a command, where a user would rather hear of an outage soon.
const queryPatience = 30 * time.Second

// Query runs stmt and collects its rows, which therefore must be few.
func (c *Conn) Query(ctx context.Context, stmt Statement) (*Result, error) {
	req := c.queryRequest(stmt)
	stream := wire.NewStream(ctx, func(ctx context.Context, resumeToken []byte) (wire.Receiver, error) {
		req.ResumeToken = resumeToken
		return c.client.ExecuteStreamingSql(ctx, req, gax.WithGRPCOptions(wire.CallOption()))
	}, wire.StreamOptions{Retry: wire.Retry{Initial: 50 * time.Millisecond, Max: 2 * time.Second, GiveUpAfter: queryPatience}})
	defer stream.Close()
	metadata, err := stream.Metadata()
	if err != nil {
		return nil, err
	}
	result := &Result{ReadTimestamp: metadata.GetTransaction().GetReadTimestamp().AsTime()}
	for _, f := range metadata.GetRowType().GetFields() {
		result.Columns = append(result.Columns, f.GetName())
		result.Types = append(result.Types, f.GetType())
	}
	for {
		row, err := stream.Next()
		if errors.Is(err, io.EOF) {
			return result, nil
		}
		if err != nil {
			return nil, err
		}
		values, err := decodeRow(row)
		if err != nil {
			return nil, err
		}
		result.Rows = append(result.Rows, values)
	}
}

func decodeRow(row []wire.Value) ([]*structpb.Value, error) {
	values := make([]*structpb.Value, len(row))
	for i, v := range row {
		values[i] = new(structpb.Value)
		if err := proto.Unmarshal(v, values[i]); err != nil {
			return nil, fmt.Errorf("read value: %w", err)
		}
	}
	return values, nil
}

func (c *Conn) queryRequest(stmt Statement) *spannerpb.ExecuteSqlRequest {
	readOnly := &spannerpb.TransactionOptions_ReadOnly{ReturnReadTimestamp: true}
	if stmt.At.IsZero() {
		readOnly.TimestampBound = &spannerpb.TransactionOptions_ReadOnly_Strong{Strong: true}
	} else {
		readOnly.TimestampBound = &spannerpb.TransactionOptions_ReadOnly_ReadTimestamp{ReadTimestamp: timestamppb.New(stmt.At)}
	}
	req := &spannerpb.ExecuteSqlRequest{
		Session: c.Session(),
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
