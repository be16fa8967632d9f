package emulator

import (
	"iter"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/emulator/value"
)

// result is the answer to a read or query, not yet sent.
type result struct {
	meta *spannerpb.ResultSetMetadata
	rows iter.Seq2[value.Row, error]
	// at is the position after the row that rows gave last.
	at *position
	// request is the fingerprint that resume tokens carry.
	request uint64
	// stats are made once the rows are through; nil for none.
	stats func() *spannerpb.ResultSetStats
}

func (r *result) finalStats() *spannerpb.ResultSetStats {
	if r.stats == nil {
		return nil
	}
	return r.stats()
}

// stream sends the result as PartialResultSets.
func (s *Server) stream(r *result, out grpc.ServerStream) error {
	var sent position
	token := func() []byte { return sent.encode(r.request) }
	w, err := newResultStream(*s.messages.Load(), r.meta, token, s.codec.pool, func(f *frame) error { return out.SendMsg(f) })
	if err != nil {
		return err
	}
	defer w.release()
	for row, err := range r.rows {
		if err != nil {
			return err
		}
		if err := w.beginRow(); err != nil {
			return err
		}
		if err := w.row(row); err != nil {
			return err
		}
		sent = *r.at
	}
	return w.close(r.finalStats())
}

// collect gathers the result into one ResultSet.
func collect(r *result) (*spannerpb.ResultSet, error) {
	out := &spannerpb.ResultSet{Metadata: r.meta}
	for row, err := range r.rows {
		if err != nil {
			return nil, err
		}
		list := &structpb.ListValue{}
		for _, cell := range row.Cells() {
			v := &structpb.Value{}
			if err := proto.Unmarshal(cell, v); err != nil {
				return nil, err
			}
			list.Values = append(list.Values, v)
		}
		out.Rows = append(out.Rows, list)
	}
	out.Stats = r.finalStats()
	return out, nil
}
