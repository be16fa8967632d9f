package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"time"

	"cloud.google.com/go/spanner"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
)

// runClient is the loop: a record, a point read, a line; or, for batches of
// more than one, as many records, one read of their keys, their lines.
func runClient(ctx context.Context, endpoint, path string, batch int) error {
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
	if batch > 1 {
		err = lookUpBatches(ctx, client, out, lines, batch)
	} else {
		for lines.Scan() && err == nil {
			err = lookUp(ctx, client, out, lines.Bytes())
		}
	}
	return errors.Join(err, lines.Err(), out.Flush())
}

// customerOf is the key of a record.
func customerOf(line []byte) (int64, error) {
	var record struct{ Customer int64 }
	err := json.Unmarshal(line, &record)
	return record.Customer, err
}

// lookUp joins one record with its row. It appends to the record's text, which
// is the quickest there is.
func lookUp(ctx context.Context, client *spanner.Client, out *bufio.Writer, line []byte) error {
	customer, err := customerOf(line)
	if err != nil {
		return err
	}
	row, err := client.Single().ReadRow(ctx, table, spanner.Key{customer}, columns)
	if spanner.ErrCode(err) == codes.NotFound {
		row, err = nil, nil
	}
	if err != nil {
		return err
	}
	return join(out, line, row)
}

// lookUpBatches joins records with the rows of one read for every so many.
func lookUpBatches(ctx context.Context, client *spanner.Client, out *bufio.Writer, lines *bufio.Scanner, size int) error {
	var batch [][]byte
	for more := true; more; {
		if more = lines.Scan(); more {
			batch = append(batch, bytes.Clone(lines.Bytes()))
		}
		if len(batch) == size || !more && len(batch) > 0 {
			if err := lookUpBatch(ctx, client, out, batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	return nil
}

func lookUpBatch(ctx context.Context, client *spanner.Client, out *bufio.Writer, batch [][]byte) error {
	ids := make([]int64, len(batch))
	keys := make([]spanner.Key, len(batch))
	for i, line := range batch {
		var err error
		if ids[i], err = customerOf(line); err != nil {
			return err
		}
		keys[i] = spanner.Key{ids[i]}
	}
	rows := make(map[int64]*spanner.Row, len(batch))
	err := client.Single().Read(ctx, table, spanner.KeySetFromKeys(keys...), append(columns, "CustomerId")).Do(func(row *spanner.Row) error {
		var id int64
		err := row.Column(len(columns), &id)
		rows[id] = row
		return err
	})
	for i := 0; i < len(batch) && err == nil; i++ {
		err = join(out, batch[i], rows[ids[i]])
	}
	return err
}

// join writes a record with its row, nil if it has none.
func join(out *bufio.Writer, line []byte, row *spanner.Row) error {
	out.Write(bytes.TrimSuffix(line, []byte("}")))
	if row == nil {
		_, err := out.WriteString(`,"Name":null,"City":null,"Score":null,"Active":null,"Created":null}` + "\n")
		return err
	}
	var name, city string
	var score float64
	var active bool
	var created time.Time
	for i, to := range []any{&name, &city, &score, &active, &created} {
		if err := row.Column(i, to); err != nil {
			return err
		}
	}
	b := append(out.AvailableBuffer(), `,"Name":`...)
	b = append(strconv.AppendQuote(b, name), `,"City":"`...) // plain text, both
	b = append(append(b, city...), `","Score":`...)
	b = append(strconv.AppendFloat(b, score, 'f', -1, 64), `,"Active":`...)
	b = append(strconv.AppendBool(b, active), `,"Created":"`...)
	b = append(created.AppendFormat(b, time.RFC3339Nano), `"}`...)
	_, err := out.Write(append(b, '\n'))
	return err
}
