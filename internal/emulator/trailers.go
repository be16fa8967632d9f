package emulator

import (
	"context"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// errorTrailer gives the details of an error that clients in some languages
// look for in trailers of their own rather than in the status: what to retry
// when, and what is missing.
func errorTrailer(err error) metadata.MD {
	if err == nil {
		return nil
	}
	md := metadata.MD{}
	for _, d := range status.Convert(err).Details() {
		name := ""
		switch d.(type) {
		case *errdetails.RetryInfo:
			name = "google.rpc.retryinfo-bin"
		case *errdetails.ResourceInfo:
			name = "google.rpc.resourceinfo-bin"
		default:
			continue
		}
		if b, err := proto.Marshal(d.(proto.Message)); err == nil {
			md.Set(name, string(b))
		}
	}
	return md
}

func unaryTrailer(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	resp, err := handler(ctx, req)
	if md := errorTrailer(err); len(md) > 0 {
		// It fails only when the call is over.
		_ = grpc.SetTrailer(ctx, md)
	}
	return resp, err
}

func streamTrailer(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	err := handler(srv, stream)
	if md := errorTrailer(err); len(md) > 0 {
		stream.SetTrailer(md)
	}
	return err
}
