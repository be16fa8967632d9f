package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/timestamppb"

	"spanbulk/scripts/internal/bench"
)

// fieldMutationGroups is the number of BatchWriteRequest.mutation_groups.
const fieldMutationGroups protowire.Number = 4

// countingCodec reads of a BatchWriteRequest only how many groups it has: what
// they hold is nobody's business here, and decoding it would slow both sides.
type countingCodec struct{ encoding.CodecV2 }

func (c countingCodec) Unmarshal(data mem.BufferSlice, v any) error {
	req, ok := v.(*spannerpb.BatchWriteRequest)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	groups := 0
	for b := data.Materialize(); len(b) > 0; {
		num, _, n := protowire.ConsumeField(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		if num == fieldMutationGroups {
			groups++
		}
		b = b[n:]
	}
	req.MutationGroups = make([]*spannerpb.BatchWriteRequest_MutationGroup, groups)
	return nil
}

// server answers BatchWrite at once, and passes the few other calls on to an
// embedded Spanner that has the table's schema.
type server struct {
	*bench.Schema
	groups atomic.Int64
}

// serve answers on a free port, which it prints, until ctx ends. Then it prints
// how many mutation groups came.
func serve(ctx context.Context, emulator string) error {
	schema, err := bench.DialSchema(emulator)
	if err != nil {
		return err
	}
	defer schema.Close()
	s := &server{Schema: schema}
	if err := bench.Serve(ctx, s, countingCodec{bench.NewCodec()}); err != nil {
		return err
	}
	fmt.Println(groupsLine(int(s.groups.Load())))
	return nil
}

// groupsLine is what a server prints at its end.
func groupsLine(n int) string { return fmt.Sprintf("%d mutation groups", n) }

func (s *server) BatchWrite(req *spannerpb.BatchWriteRequest, stream spannerpb.Spanner_BatchWriteServer) error {
	n := len(req.GetMutationGroups())
	s.groups.Add(int64(n))
	answer := &spannerpb.BatchWriteResponse{CommitTimestamp: timestamppb.New(time.Now())}
	for i := range n {
		answer.Indexes = append(answer.Indexes, int32(i))
	}
	return stream.Send(answer)
}
