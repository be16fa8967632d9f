package reader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	gax "github.com/googleapis/gax-go/v2"
	"google.golang.org/protobuf/proto"

	"spanbulk/internal/fault"
	"spanbulk/internal/format"
	"spanbulk/internal/schema"
	"spanbulk/internal/wire"
)

// worker reads partitions, one after another. It keeps its encoders and its
// buffers from one to the next.
type worker struct {
	reader   *Reader
	plan     *Plan
	out      Output
	encoders map[int]format.Encoder // by read

	rows   []byte // the encoded rows of the chunk being filled
	sealed []byte // scratch for its finished form
}

func newWorker(r *Reader, plan *Plan, out Output) *worker {
	return &worker{reader: r, plan: plan, out: out, encoders: map[int]format.Encoder{}}
}

func (w *worker) encoder(read int) format.Encoder {
	enc, ok := w.encoders[read]
	if !ok {
		enc = w.out.Format(read).NewEncoder()
		w.encoders[read] = enc
	}
	return enc
}

// read reads one partition to its end.
func (w *worker) read(ctx context.Context, j job) error {
	progress := w.reader.opt.Progress
	progress.PartitionsActive.Add(1)
	defer progress.PartitionsActive.Add(-1)

	src := &w.plan.Reads[j.read].Source
	object := fmt.Sprintf("%s, partition %d", src.Name(), j.partition)
	stream := wire.NewStream(ctx, w.opener(j), wire.StreamOptions{
		Retry:     w.reader.opt.Retry,
		HoldBytes: w.reader.opt.HoldBytes,
		OnRetry:   w.onRetry(j),
	})
	defer stream.Close()
	meta, err := stream.Metadata()
	if err != nil {
		return fault.Reading(err, "read", object)
	}
	if err := sameTypes(src.Fields, meta.GetRowType().GetFields()); err != nil {
		return fmt.Errorf("read %s: %w", object, err)
	}
	chunks, err := w.out.Partition(j.read, j.partition)
	if err != nil {
		return err
	}
	if err := w.copyRows(stream, w.encoder(j.read), chunks, object); err != nil {
		return err
	}
	if err := chunks.Close(); err != nil {
		return err
	}
	progress.PartitionsDone.Add(1)
	return nil
}

// soonEnough is the size at which a chunk is handed over although its bounds
// would let it grow: by then the cost of handing it over is spread thin, and
// every worker holds a chunk, and its finished form beside it.
const soonEnough = 1 << 20

// copyRows encodes the rows of stream into chunks.
func (w *worker) copyRows(stream *wire.Stream, enc format.Encoder, chunks ChunkWriter, object string) error {
	maxRows, maxBytes := w.reader.opt.MaxRowsPerFetch, w.reader.opt.MaxBytesPerFetch
	w.rows = w.rows[:0]
	count := 0
	for {
		row, err := stream.Next()
		if errors.Is(err, io.EOF) {
			return w.flush(enc, chunks, w.rows, count)
		}
		if err != nil {
			return fault.Reading(err, "read", object)
		}
		before := len(w.rows)
		if w.rows, err = enc.AppendRow(w.rows, row); err != nil {
			return fmt.Errorf("read %s: %w", object, err)
		}
		count++
		if len(w.rows) > maxBytes && count > 1 && before > 0 {
			// The row goes into the next chunk.
			if err := w.flush(enc, chunks, w.rows[:before], count-1); err != nil {
				return err
			}
			w.rows = append(w.rows[:0], w.rows[before:]...)
			count = 1
		}
		if count >= maxRows || len(w.rows) >= min(maxBytes, soonEnough) {
			if err := w.flush(enc, chunks, w.rows, count); err != nil {
				return err
			}
			w.rows, count = w.rows[:0], 0
		}
	}
}

// flush hands a chunk of count rows to the output.
func (w *worker) flush(enc format.Encoder, chunks ChunkWriter, rows []byte, count int) error {
	if count == 0 {
		return nil
	}
	records := format.Records(enc, count)
	chunk, err := enc.Seal(w.sealed[:0], rows, records)
	if err != nil {
		return err
	}
	if len(chunk) > 0 && len(rows) > 0 && &chunk[0] != &rows[0] {
		w.sealed = chunk
	}
	if err := chunks.WriteChunk(chunk, records); err != nil {
		return err
	}
	p := w.reader.opt.Progress
	p.Rows.Add(int64(count))
	p.Records.Add(int64(records))
	p.Bytes.Add(int64(len(chunk)))
	return nil
}

func (w *worker) onRetry(j job) func(error, int, time.Duration) {
	return func(err error, attempt int, pause time.Duration) {
		w.reader.opt.Progress.Retries.Add(1)
		if w.reader.opt.OnRetry != nil {
			w.reader.opt.OnRetry(Retry{
				Source: w.plan.Reads[j.read].Source.Name(), Partition: j.partition,
				Err: err, Attempt: attempt, Pause: pause,
			})
		}
	}
}

// opener returns the call that reads a partition. The request must be the same
// on every attempt but for the resume token.
func (w *worker) opener(j job) wire.Opener {
	client := w.reader.conn.Client()
	read := &w.plan.Reads[j.read]
	token := read.Partitions[j.partition].Token
	raw := gax.WithGRPCOptions(wire.CallOption())
	if read.Source.SQL != "" {
		req := w.queryRequest(&read.Source, token)
		return func(ctx context.Context, resumeToken []byte) (wire.Receiver, error) {
			req.ResumeToken = resumeToken
			return client.ExecuteStreamingSql(ctx, req, raw)
		}
	}
	req := w.readRequest(&read.Source, token)
	return func(ctx context.Context, resumeToken []byte) (wire.Receiver, error) {
		req.ResumeToken = resumeToken
		return client.StreamingRead(ctx, req, raw)
	}
}

func (w *worker) queryRequest(src *Source, token []byte) *spannerpb.ExecuteSqlRequest {
	opt := &w.reader.opt
	return &spannerpb.ExecuteSqlRequest{
		Session:             w.plan.Snapshot.Session,
		Transaction:         w.plan.Snapshot.selector(),
		Sql:                 src.SQL,
		Params:              src.Params,
		ParamTypes:          src.ParamTypes,
		PartitionToken:      token,
		DataBoostEnabled:    opt.DataBoost && token != nil,
		RequestOptions:      opt.requestOptions(),
		DirectedReadOptions: opt.DirectedReads,
	}
}

func (w *worker) readRequest(src *Source, token []byte) *spannerpb.ReadRequest {
	opt := &w.reader.opt
	return &spannerpb.ReadRequest{
		Session:             w.plan.Snapshot.Session,
		Transaction:         w.plan.Snapshot.selector(),
		Table:               src.Table,
		Index:               src.Index,
		Columns:             src.Columns,
		KeySet:              src.keySet(),
		PartitionToken:      token,
		DataBoostEnabled:    opt.DataBoost && token != nil,
		RequestOptions:      opt.requestOptions(),
		DirectedReadOptions: opt.DirectedReads,
	}
}

// sameTypes checks that a partition has the columns the format was made for. A
// schema change between planning and reading cannot happen at one snapshot, so
// a difference is a bug, ours or the server's; silence would garble the output.
func sameTypes(want, got []*spannerpb.StructType_Field) error {
	if len(want) != len(got) {
		return fmt.Errorf("the result has %d columns, expected %d", len(got), len(want))
	}
	for i := range want {
		if !proto.Equal(want[i].GetType(), got[i].GetType()) {
			return fmt.Errorf("column %s has type %v, expected %v",
				want[i].GetName(), schema.GoogleSQL.TypeName(got[i].GetType()), schema.GoogleSQL.TypeName(want[i].GetType()))
		}
	}
	return nil
}
