package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"time"

	"cloud.google.com/go/spanner"
	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"golang.org/x/sync/errgroup"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"

	"spanbulk/scripts/internal/bench"
)

// batchSize is how many mutation groups a call has, as in spanbulk by default.
const batchSize = 500

// importNDJSON is the import loop over the official client: lines decoded with
// encoding/json, one InsertOrUpdate a record in a group of its own, calls of
// 500 groups in flight at once.
func importNDJSON(ctx context.Context, endpoint, database string, parallelism int, in io.Reader) error {
	client, err := spanner.NewClientWithConfig(ctx, database, spanner.ClientConfig{DisableNativeMetrics: true},
		option.WithEndpoint("passthrough:///"+endpoint),
		option.WithoutAuthentication(),
		option.WithGRPCConnectionPool(4),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())))
	if err != nil {
		return err
	}
	defer client.Close()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelism)
	columns, names := bench.Columns(), bench.ColumnNames()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	var batch []*spanner.MutationGroup
	send := func() {
		groups := batch
		batch = nil
		group.Go(func() error { return batchWrite(ctx, client, groups) })
	}
	for lines.Scan() {
		values, err := decode(lines.Bytes(), columns)
		if err != nil {
			return errors.Join(err, group.Wait())
		}
		batch = append(batch, &spanner.MutationGroup{
			Mutations: []*spanner.Mutation{spanner.InsertOrUpdate(bench.Table, names, values)},
		})
		if len(batch) == batchSize {
			send()
		}
	}
	if len(batch) > 0 {
		send()
	}
	return errors.Join(lines.Err(), group.Wait())
}

func batchWrite(ctx context.Context, client *spanner.Client, groups []*spanner.MutationGroup) error {
	return client.BatchWrite(ctx, groups).Do(func(r *spannerpb.BatchWriteResponse) error {
		if c := codes.Code(r.GetStatus().GetCode()); c != codes.OK {
			return fmt.Errorf("a group was refused: %v", c)
		}
		return nil
	})
}

// decode reads a line into the Go values that the client writes as the types of
// the columns.
func decode(line []byte, columns []bench.Column) ([]any, error) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	var record map[string]any
	if err := d.Decode(&record); err != nil {
		return nil, err
	}
	values := make([]any, len(columns))
	for i, c := range columns {
		var err error
		if values[i], err = convert(c, record[c.Name]); err != nil {
			return nil, fmt.Errorf("column %s: %w", c.Name, err)
		}
	}
	return values, nil
}

func convert(c bench.Column, v any) (any, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case bool:
		return v, nil
	case json.Number:
		if c.Code == spannerpb.TypeCode_INT64 {
			return v.Int64()
		}
		return v.Float64()
	case string:
		return convertText(c.Code, v)
	case []any:
		out := make([]int64, len(v))
		for i, e := range v {
			n, ok := e.(json.Number)
			if !ok {
				return nil, fmt.Errorf("element is a %T", e)
			}
			var err error
			if out[i], err = n.Int64(); err != nil {
				return nil, err
			}
		}
		return out, nil
	default:
		return spanner.NullJSON{Value: v, Valid: true}, nil
	}
}

func convertText(code spannerpb.TypeCode, text string) (any, error) {
	switch code {
	case spannerpb.TypeCode_TIMESTAMP:
		return time.Parse(time.RFC3339Nano, text)
	case spannerpb.TypeCode_NUMERIC:
		r, ok := new(big.Rat).SetString(text)
		if !ok {
			return nil, errors.New("no NUMERIC")
		}
		return r, nil
	case spannerpb.TypeCode_BYTES:
		return base64.StdEncoding.DecodeString(text)
	default:
		return text, nil
	}
}
