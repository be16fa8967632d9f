package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// raw is a message that is already encoded.
type raw []byte

type rawCodec struct{ encoding.CodecV2 }

func (c rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	if b, ok := v.(raw); ok {
		return mem.BufferSlice{mem.SliceBuffer(b)}, nil
	}
	return c.CodecV2.Marshal(v)
}

// server replays the same messages for every execution of a partition, and
// passes the few calls around the read on to an embedded Spanner that has the
// table's schema.
type server struct {
	spannerpb.UnimplementedSpannerServer
	schema     spannerpb.SpannerClient
	partitions [][][]byte
}

// serve answers on a free port, which it prints, until ctx ends.
func serve(ctx context.Context, emulator string, partitions, rows, messageBytes int) error {
	conn, err := grpc.NewClient("passthrough:///"+emulator, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	s := &server{schema: spannerpb.NewSpannerClient(conn)}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range partitions {
		first, end := i*rows/partitions, (i+1)*rows/partitions
		m, err := messages(r, first, end-first, messageBytes)
		if err != nil {
			return err
		}
		s.partitions = append(s.partitions, m)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	g := grpc.NewServer(grpc.ForceServerCodecV2(rawCodec{encoding.GetCodecV2(proto.Name)}))
	spannerpb.RegisterSpannerServer(g, s)
	context.AfterFunc(ctx, g.Stop)
	fmt.Println(listener.Addr())
	return g.Serve(listener)
}

func (s *server) CreateSession(ctx context.Context, req *spannerpb.CreateSessionRequest) (*spannerpb.Session, error) {
	return s.schema.CreateSession(ctx, req)
}

func (s *server) ExecuteStreamingSql(req *spannerpb.ExecuteSqlRequest, stream spannerpb.Spanner_ExecuteStreamingSqlServer) error {
	// The snapshots of this server are unknown to the embedded one, and the
	// schema does not change.
	req.Transaction = nil
	from, err := s.schema.ExecuteStreamingSql(stream.Context(), req)
	if err != nil {
		return err
	}
	for {
		m, err := from.Recv()
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if err := stream.Send(m); err != nil {
			return err
		}
	}
}

func (s *server) BeginTransaction(context.Context, *spannerpb.BeginTransactionRequest) (*spannerpb.Transaction, error) {
	return &spannerpb.Transaction{Id: []byte("1"), ReadTimestamp: timestamppb.New(time.Now())}, nil
}

const tokenPrefix = "partition "

func (s *server) PartitionRead(context.Context, *spannerpb.PartitionReadRequest) (*spannerpb.PartitionResponse, error) {
	out := &spannerpb.PartitionResponse{}
	for i := range s.partitions {
		out.Partitions = append(out.Partitions, &spannerpb.Partition{PartitionToken: []byte(tokenPrefix + strconv.Itoa(i))})
	}
	return out, nil
}

func (s *server) StreamingRead(req *spannerpb.ReadRequest, stream spannerpb.Spanner_StreamingReadServer) error {
	i, err := strconv.Atoi(strings.TrimPrefix(string(req.GetPartitionToken()), tokenPrefix))
	if err != nil {
		return err
	}
	for _, m := range s.partitions[i] {
		if err := stream.SendMsg(raw(m)); err != nil {
			return err
		}
	}
	return nil
}
