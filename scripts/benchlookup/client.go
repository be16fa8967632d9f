package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strconv"
	"time"

	"cloud.google.com/go/spanner"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
)

// runClient is the loop: a record, a point read, a line.
func runClient(ctx context.Context, endpoint, path string) error {
	client, err := spanner.NewClientWithConfig(ctx, database, spanner.ClientConfig{DisableNativeMetrics: true},
		option.WithEndpoint("passthrough:///"+endpoint),
		option.WithoutAuthentication(),
		option.WithGRPCConnectionPool(1),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())))
	if err != nil {
		return err
	}
	defer client.Close()
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if err := lookUp(ctx, client, out, lines.Bytes()); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return out.Flush()
}

// lookUp joins one record with its row. It appends to the record's text, which
// is the quickest there is.
func lookUp(ctx context.Context, client *spanner.Client, out *bufio.Writer, line []byte) error {
	var record struct{ Customer int64 }
	if err := json.Unmarshal(line, &record); err != nil {
		return err
	}
	out.Write(bytes.TrimSuffix(line, []byte("}")))
	row, err := client.Single().ReadRow(ctx, table, spanner.Key{record.Customer}, columns)
	if spanner.ErrCode(err) == codes.NotFound {
		_, err = out.WriteString(`,"Name":null,"City":null,"Score":null,"Active":null,"Created":null}` + "\n")
		return err
	}
	if err != nil {
		return err
	}
	var name, city string
	var score float64
	var active bool
	var created time.Time
	if err := row.Columns(&name, &city, &score, &active, &created); err != nil {
		return err
	}
	b := append(out.AvailableBuffer(), `,"Name":`...)
	b = append(strconv.AppendQuote(b, name), `,"City":"`...) // plain text, both
	b = append(append(b, city...), `","Score":`...)
	b = append(strconv.AppendFloat(b, score, 'f', -1, 64), `,"Active":`...)
	b = append(strconv.AppendBool(b, active), `,"Created":"`...)
	b = append(created.AppendFormat(b, time.RFC3339Nano), `"}`...)
	_, err = out.Write(append(b, '\n'))
	return err
}
