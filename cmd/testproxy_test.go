package cmd

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// proxy stands between the code under test and an embedded Spanner. It
// remembers every request and lets a test change what goes through.
type proxy struct {
	spannerpb.UnimplementedSpannerServer
	to spannerpb.SpannerClient

	// change, if set, may change a request before it is passed on, and with it
	// the response, message by message, before that is passed back (then
	// response is not nil).
	change func(request, response proto.Message)

	mu       sync.Mutex
	requests []proto.Message
}

func startProxy(t *testing.T, s *testSpanner) (*proxy, target) {
	t.Helper()
	p := &proxy{to: s.client}
	server := grpc.NewServer()
	spannerpb.RegisterSpannerServer(server, p)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() { server.Stop(); serving.Wait() })
	return p, target{s.database, listener.Addr().String()}
}

// sent returns the requests of a type so far.
func sent[T proto.Message](p *proxy) []T {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []T
	for _, r := range p.requests {
		if m, ok := r.(T); ok {
			all = append(all, m)
		}
	}
	return all
}

// take remembers a request and returns the one to pass on.
func take[T proto.Message](p *proxy, message T) T {
	p.mu.Lock()
	p.requests = append(p.requests, proto.Clone(message))
	p.mu.Unlock()
	if p.change != nil {
		p.change(message, nil)
	}
	return message
}

func unary[Q, A proto.Message](ctx context.Context, p *proxy, q Q, call func(context.Context, Q, ...grpc.CallOption) (A, error)) (A, error) {
	original := proto.Clone(q)
	a, err := call(ctx, take(p, q))
	if err == nil && p.change != nil {
		p.change(original, a)
	}
	return a, err
}

// resultSender and resultReceiver are the ends of any stream of results.
type resultSender interface {
	Context() context.Context
	Send(*spannerpb.PartialResultSet) error
}

type resultReceiver interface {
	Recv() (*spannerpb.PartialResultSet, error)
}

func streaming[Q proto.Message, R resultReceiver](p *proxy, q Q, to resultSender, call func(context.Context, Q, ...grpc.CallOption) (R, error)) error {
	original := proto.Clone(q)
	from, err := call(to.Context(), take(p, q))
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
		if p.change != nil {
			p.change(original, m)
		}
		if err := to.Send(m); err != nil {
			return err
		}
	}
}

func (p *proxy) CreateSession(ctx context.Context, q *spannerpb.CreateSessionRequest) (*spannerpb.Session, error) {
	return unary(ctx, p, q, p.to.CreateSession)
}

func (p *proxy) BeginTransaction(ctx context.Context, q *spannerpb.BeginTransactionRequest) (*spannerpb.Transaction, error) {
	return unary(ctx, p, q, p.to.BeginTransaction)
}

func (p *proxy) PartitionRead(ctx context.Context, q *spannerpb.PartitionReadRequest) (*spannerpb.PartitionResponse, error) {
	return unary(ctx, p, q, p.to.PartitionRead)
}

func (p *proxy) PartitionQuery(ctx context.Context, q *spannerpb.PartitionQueryRequest) (*spannerpb.PartitionResponse, error) {
	return unary(ctx, p, q, p.to.PartitionQuery)
}

func (p *proxy) ExecuteSql(ctx context.Context, q *spannerpb.ExecuteSqlRequest) (*spannerpb.ResultSet, error) {
	return unary(ctx, p, q, p.to.ExecuteSql)
}

func (p *proxy) StreamingRead(q *spannerpb.ReadRequest, to spannerpb.Spanner_StreamingReadServer) error {
	return streaming(p, q, to, p.to.StreamingRead)
}

func (p *proxy) ExecuteStreamingSql(q *spannerpb.ExecuteSqlRequest, to spannerpb.Spanner_ExecuteStreamingSqlServer) error {
	return streaming(p, q, to, p.to.ExecuteStreamingSql)
}
