package database

import (
	"context"
	"strings"
	"time"

	gax "github.com/googleapis/gax-go/v2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Headers Spanner routes by.
const (
	headerResourcePrefix = "google-cloud-resource-prefix"
	headerRouteToLeader  = "x-goog-spanner-route-to-leader"
)

// RouteToLeader marks the calls made with the returned context for the leader
// region: session creation, read-write transactions, commits, BatchWrite.
// Reads of a snapshot go without, so that the nearest replica may answer.
func RouteToLeader(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, headerRouteToLeader, "true")
}

func prefixUnary(name string) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		return invoke(metadata.AppendToOutgoingContext(ctx, headerResourcePrefix, name), method, req, reply, cc, opts...)
	}
}

func prefixStream(name string) grpc.StreamClientInterceptor {
	return func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, stream grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		return stream(metadata.AppendToOutgoingContext(ctx, headerResourcePrefix, name), desc, cc, method, opts...)
	}
}

// connectRetry decides whether the first call is made again. The generated
// client would go on for 30 seconds whatever the reason.
type connectRetry struct {
	emulator bool
	backoff  gax.Backoff
}

// Retry implements gax.Retryer.
func (r *connectRetry) Retry(err error) (pause time.Duration, again bool) {
	s, ok := status.FromError(err)
	if !ok || s.Code() != codes.Unavailable && s.Code() != codes.ResourceExhausted {
		return 0, false
	}
	if isConnectionFailure(s) && (r.emulator || isPermanent(s)) {
		return 0, false
	}
	if r.backoff.Initial == 0 {
		r.backoff = gax.Backoff{Initial: 100 * time.Millisecond, Max: 2 * time.Second, Multiplier: 1.5}
	}
	return r.backoff.Pause(), true
}

// isConnectionFailure tells gRPC's own "I could not connect" from a server's
// UNAVAILABLE.
func isConnectionFailure(s *status.Status) bool {
	return strings.Contains(s.Message(), "connection error:") || strings.Contains(s.Message(), "name resolver error")
}

// isPermanent recognises connection failures that another attempt within
// seconds does not mend: nothing listens there, or the certificate is wrong.
func isPermanent(s *status.Status) bool {
	return strings.Contains(s.Message(), "connection refused") ||
		strings.Contains(s.Message(), "no such host") ||
		strings.Contains(s.Message(), "x509:")
}
