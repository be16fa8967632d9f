package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/timestamppb"
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
	spannerpb.UnimplementedSpannerServer
	schema spannerpb.SpannerClient
	groups atomic.Int64
}

// serve answers on a free port, which it prints, until ctx ends. Then it prints
// how many mutation groups came.
func serve(ctx context.Context, emulator string) error {
	conn, err := grpc.NewClient("passthrough:///"+emulator, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	s := &server{schema: spannerpb.NewSpannerClient(conn)}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	g := grpc.NewServer(grpc.MaxRecvMsgSize(100<<20), grpc.ForceServerCodecV2(countingCodec{encoding.GetCodecV2(proto.Name)}))
	spannerpb.RegisterSpannerServer(g, s)
	context.AfterFunc(ctx, g.Stop)
	fmt.Println(listener.Addr())
	if err := g.Serve(listener); err != nil {
		return err
	}
	fmt.Println(groupsLine(int(s.groups.Load())))
	return nil
}

// groupsLine is what a server prints at its end.
func groupsLine(n int) string { return fmt.Sprintf("%d mutation groups", n) }

func (s *server) CreateSession(ctx context.Context, req *spannerpb.CreateSessionRequest) (*spannerpb.Session, error) {
	return s.schema.CreateSession(ctx, req)
}

func (s *server) ExecuteStreamingSql(req *spannerpb.ExecuteSqlRequest, stream spannerpb.Spanner_ExecuteStreamingSqlServer) error {
	from, err := s.schema.ExecuteStreamingSql(stream.Context(), req)
	if err != nil {
		return err
	}
	for {
		m, err := from.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := stream.Send(m); err != nil {
			return err
		}
	}
}

func (s *server) BatchWrite(req *spannerpb.BatchWriteRequest, stream spannerpb.Spanner_BatchWriteServer) error {
	n := len(req.GetMutationGroups())
	s.groups.Add(int64(n))
	answer := &spannerpb.BatchWriteResponse{CommitTimestamp: timestamppb.New(time.Now())}
	for i := range n {
		answer.Indexes = append(answer.Indexes, int32(i))
	}
	return stream.Send(answer)
}
