package emulator

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	"cloud.google.com/go/spanner/admin/database/apiv1/databasepb"
	"cloud.google.com/go/spanner/admin/instance/apiv1/instancepb"
	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/encoding/gzip" // clients may ask for compression
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
)

// maxMessage is the largest request, as on the service.
const maxMessage = 100 << 20

// Server is an in-memory Spanner. It is safe for concurrent use.
type Server struct {
	spannerpb.UnimplementedSpannerServer

	opts     Options
	messages atomic.Pointer[Messages]
	faults   *Faults
	conns    *connections
	codec    codec
	grpc     *grpc.Server

	registry

	serving sync.WaitGroup
}

// New makes a server that has no instances and does not listen yet.
func New(opts Options) (*Server, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Partitions == 0 {
		opts.Partitions = DefaultPartitions
	}
	s := &Server{opts: opts, conns: &connections{byAddr: make(map[string]net.Conn)}, codec: newCodec()}
	s.faults = &Faults{conns: s.conns}
	s.faults.Clear()
	s.SetMessages(opts.Messages)
	s.registry = newRegistry()
	s.grpc = grpc.NewServer(
		grpc.ForceServerCodecV2(s.codec),
		grpc.MaxRecvMsgSize(maxMessage),
		grpc.MaxSendMsgSize(maxMessage),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
		grpc.ChainUnaryInterceptor(unaryTrailer, s.faults.unary),
		grpc.ChainStreamInterceptor(streamTrailer, s.faults.stream),
		grpc.UnknownServiceHandler(unknownMethod),
	)
	s.grpc.RegisterService(spannerService(), s)
	databasepb.RegisterDatabaseAdminServer(s.grpc, databaseAdmin{Server: s})
	instancepb.RegisterInstanceAdminServer(s.grpc, instanceAdmin{Server: s})
	longrunningpb.RegisterOperationsServer(s.grpc, operations{Server: s})
	return s, nil
}

// spannerService is the Spanner service with the requests that carry rows left
// encoded.
func spannerService() *grpc.ServiceDesc {
	desc := spannerpb.Spanner_ServiceDesc
	desc.Methods = slices.Clone(desc.Methods)
	for i, m := range desc.Methods {
		if m.MethodName == "Commit" {
			desc.Methods[i].Handler = commitHandler
		}
	}
	desc.Streams = slices.Clone(desc.Streams)
	for i, m := range desc.Streams {
		if m.StreamName == "BatchWrite" {
			desc.Streams[i].Handler = batchWriteHandler
		}
	}
	return &desc
}

func unknownMethod(_ any, stream grpc.ServerStream) error {
	name, _ := grpc.MethodFromServerStream(stream)
	return status.Errorf(codes.Unimplemented, "method %s is not served", name)
}

// Serve answers on a listener until Close. It closes the listener.
func (s *Server) Serve(l net.Listener) error {
	if s.opts.ChangeStreams.ShuffleEvery > 0 {
		stop := make(chan struct{})
		defer close(stop)
		s.serving.Go(func() { s.shuffle(stop) })
	}
	return s.grpc.Serve(listener{l, s.conns})
}

// Start listens on a TCP address ("127.0.0.1:0" for any free port), serves
// until Close, and gives the endpoint that clients dial.
func (s *Server) Start(addr string) (string, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return "", fmt.Errorf("listen on %s: %w", addr, err)
	}
	// Serve returns when Close stops the server.
	s.serving.Go(func() { _ = s.Serve(l) })
	return l.Addr().String(), nil
}

// Close breaks off all calls and stops serving.
func (s *Server) Close() {
	s.grpc.Stop()
	s.serving.Wait()
}

// Faults decides which calls fail.
func (s *Server) Faults() *Faults { return s.faults }

// SetMessages shapes the streamed results of calls that begin from now on.
func (s *Server) SetMessages(m Messages) { s.messages.Store(&m) }

// StatementError is a DDL statement that CreateDatabase could not apply.
type StatementError struct {
	// Index is the statement's among those given, from 0.
	Index int
	Err   error // with the service's status
}

func (e *StatementError) Error() string {
	return fmt.Sprintf("DDL statement %d: %v", e.Index+1, e.Err)
}

func (e *StatementError) Unwrap() error { return e.Err }

// CreateDatabase makes a database by its full name,
// projects/P/instances/I/databases/D, and its instance if there is none, and
// applies DDL statements to it. The error is a *StatementError if one of them
// fails.
func (s *Server) CreateDatabase(ctx context.Context, name string, dialect databasepb.DatabaseDialect, ddl ...string) error {
	return s.CreateDatabaseWith(ctx, name, dialect, nil, ddl...)
}

// CreateDatabaseWith is CreateDatabase with what describes the types of proto
// bundles, an encoded FileDescriptorSet.
func (s *Server) CreateDatabaseWith(ctx context.Context, name string, dialect databasepb.DatabaseDialect, descriptors []byte, ddl ...string) error {
	parts, err := parseDatabase(name)
	if err != nil {
		return err
	}
	if err := checkID(parts.id, looseID); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.ensureInstance(parts.instance()); err != nil {
		return err
	}
	_, err = s.createDatabase(parts, dialect, ddl, descriptors)
	return err
}
