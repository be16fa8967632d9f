package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// Schema serves what contenders ask before their work begins: it passes the
// calls on to an embedded Spanner that has the schema. A server embeds it and
// answers the measured calls itself.
type Schema struct {
	spannerpb.UnimplementedSpannerServer

	client spannerpb.SpannerClient
	conn   *grpc.ClientConn
}

// DialSchema returns a Schema for the embedded Spanner at endpoint.
func DialSchema(endpoint string) (*Schema, error) {
	conn, err := grpc.NewClient("passthrough:///"+endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	return &Schema{client: spannerpb.NewSpannerClient(conn), conn: conn}, nil
}

// Close closes the connection.
func (s *Schema) Close() error { return s.conn.Close() }

// CreateSession implements spannerpb.SpannerServer.
func (s *Schema) CreateSession(ctx context.Context, req *spannerpb.CreateSessionRequest) (*spannerpb.Session, error) {
	return s.client.CreateSession(ctx, req)
}

// ExecuteStreamingSql implements spannerpb.SpannerServer.
func (s *Schema) ExecuteStreamingSql(req *spannerpb.ExecuteSqlRequest, stream spannerpb.Spanner_ExecuteStreamingSqlServer) error {
	from, err := s.client.ExecuteStreamingSql(stream.Context(), req)
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

// Raw is a message that is already encoded, which a Codec sends as it is.
type Raw []byte

// Codec is that of a server whose answers are Raw.
type Codec struct{ encoding.CodecV2 }

// NewCodec returns a Codec for messages of every other kind, too.
func NewCodec() Codec { return Codec{encoding.GetCodecV2(proto.Name)} }

// Marshal implements encoding.CodecV2.
func (c Codec) Marshal(v any) (mem.BufferSlice, error) {
	if b, ok := v.(Raw); ok {
		return mem.BufferSlice{mem.SliceBuffer(b)}, nil
	}
	return c.CodecV2.Marshal(v)
}

// Serve answers on a free port, which it prints, until ctx ends.
func Serve(ctx context.Context, server spannerpb.SpannerServer, codec encoding.CodecV2) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	g := grpc.NewServer(grpc.MaxRecvMsgSize(100<<20), grpc.ForceServerCodecV2(codec))
	spannerpb.RegisterSpannerServer(g, server)
	context.AfterFunc(ctx, g.Stop)
	fmt.Println(listener.Addr())
	return g.Serve(listener)
}
