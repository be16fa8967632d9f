package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"sync"
	"sync/atomic"

	"cloud.google.com/go/spanner"
	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"golang.org/x/sync/errgroup"
	"google.golang.org/api/iterator"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/scripts/internal/bench"
)

// encodeRow appends a row of the official client to dst as a line of JSON.
type encodeRow func(dst []byte, row *spanner.Row) ([]byte, error)

// clientExport is the export loop over the official client: partitions read at
// once on connections of their own, rows encoded into chunks of a thousand.
func clientExport(ctx context.Context, endpoint, database string, parallelism int, encode encodeRow, out io.Writer) error {
	client, err := spanner.NewClientWithConfig(ctx, database, spanner.ClientConfig{DisableNativeMetrics: true},
		option.WithEndpoint("passthrough:///"+endpoint),
		option.WithoutAuthentication(),
		option.WithGRPCConnectionPool(4),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())))
	if err != nil {
		return err
	}
	defer client.Close()
	tx, err := client.BatchReadOnlyTransaction(ctx, spanner.StrongRead())
	if err != nil {
		return err
	}
	defer tx.Close()
	partitions, err := tx.PartitionRead(ctx, bench.Table, spanner.AllKeys(), bench.ColumnNames(), spanner.PartitionOptions{})
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var next atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for range min(parallelism, len(partitions)) {
		group.Go(func() error {
			// A transaction of its own per worker takes the next connection.
			mine := client.BatchReadOnlyTransactionFromID(tx.ID)
			var chunk []byte
			for i := next.Add(1) - 1; i < int64(len(partitions)); i = next.Add(1) - 1 {
				var rows int
				err := mine.Execute(ctx, partitions[i]).Do(func(row *spanner.Row) error {
					var err error
					chunk, err = encode(chunk, row)
					if rows++; err == nil && rows%1000 == 0 {
						err = write(&mu, out, &chunk)
					}
					return err
				})
				if err == nil {
					err = write(&mu, out, &chunk)
				}
				if err != nil && err != iterator.Done {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

func write(mu *sync.Mutex, out io.Writer, chunk *[]byte) error {
	mu.Lock()
	defer mu.Unlock()
	_, err := out.Write(*chunk)
	*chunk = (*chunk)[:0]
	return err
}

// appendRow is the fast loop: Row.ColumnValue and an encoder by hand.
func appendRow(columns []bench.Column) encodeRow {
	return func(dst []byte, row *spanner.Row) ([]byte, error) {
		separator := byte('{')
		for i, c := range columns {
			dst = append(dst, separator, '"')
			dst = append(dst, c.Name...)
			dst = append(dst, '"', ':')
			var err error
			if dst, err = appendValue(dst, c.Code, row.ColumnValue(i)); err != nil {
				return dst, err
			}
			separator = ','
		}
		return append(dst, '}', '\n'), nil
	}
}

func appendValue(dst []byte, code spannerpb.TypeCode, v *structpb.Value) ([]byte, error) {
	switch k := v.GetKind().(type) {
	case *structpb.Value_NullValue:
		return append(dst, "null"...), nil
	case *structpb.Value_BoolValue:
		return strconv.AppendBool(dst, k.BoolValue), nil
	case *structpb.Value_NumberValue:
		return strconv.AppendFloat(dst, k.NumberValue, 'f', -1, 64), nil
	case *structpb.Value_StringValue:
		switch code {
		case spannerpb.TypeCode_INT64, spannerpb.TypeCode_JSON:
			return append(dst, k.StringValue...), nil
		default:
			return appendString(dst, k.StringValue), nil
		}
	case *structpb.Value_ListValue:
		dst = append(dst, '[')
		for i, e := range k.ListValue.GetValues() {
			if i > 0 {
				dst = append(dst, ',')
			}
			var err error
			if dst, err = appendValue(dst, spannerpb.TypeCode_INT64, e); err != nil {
				return dst, err
			}
		}
		return append(dst, ']'), nil
	default:
		return dst, fmt.Errorf("unexpected value %T", k)
	}
}

func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c := s[i]; c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		default:
			dst = fmt.Appendf(dst, `\u%04x`, c)
		}
		start = i + 1
	}
	return append(append(dst, s[start:]...), '"')
}

// genericRow is what most tools do: GenericColumnValue into a map, and
// encoding/json.
func genericRow(dst []byte, row *spanner.Row) ([]byte, error) {
	record := make(map[string]any, row.Size())
	for i, name := range row.ColumnNames() {
		var v spanner.GenericColumnValue
		if err := row.Column(i, &v); err != nil {
			return dst, err
		}
		var err error
		if record[name], err = generic(v.Type, v.Value); err != nil {
			return dst, err
		}
	}
	line, err := json.Marshal(record)
	return append(append(dst, line...), '\n'), err
}

func generic(t *spannerpb.Type, v *structpb.Value) (any, error) {
	if _, null := v.GetKind().(*structpb.Value_NullValue); null {
		return nil, nil
	}
	switch t.GetCode() {
	case spannerpb.TypeCode_INT64:
		return strconv.ParseInt(v.GetStringValue(), 10, 64)
	case spannerpb.TypeCode_JSON:
		return json.RawMessage(v.GetStringValue()), nil
	case spannerpb.TypeCode_ARRAY:
		elements := make([]any, len(v.GetListValue().GetValues()))
		for i, e := range v.GetListValue().GetValues() {
			var err error
			if elements[i], err = generic(t.GetArrayElementType(), e); err != nil {
				return nil, err
			}
		}
		return elements, nil
	case spannerpb.TypeCode_FLOAT64:
		if f := v.GetNumberValue(); !math.IsNaN(f) {
			return f, nil
		}
		return v.GetStringValue(), nil
	default:
		return v.AsInterface(), nil
	}
}

func runClient(ctx context.Context, endpoint, database string, parallelism int, encode encodeRow) error {
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	if err := clientExport(ctx, endpoint, database, parallelism, encode, out); err != nil {
		return err
	}
	return out.Flush()
}
