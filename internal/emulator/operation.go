package emulator

import (
	"context"
	"fmt"
	"strings"

	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// operations serves google.longrunning.Operations. Every operation is done
// when it is first seen.
type operations struct {
	longrunningpb.UnimplementedOperationsServer
	*Server
}

// done records a finished operation of a resource. id "" makes one up; failure
// is the operation's error, if not nil.
func (s *Server) done(resource, id string, meta, response proto.Message, failure error) (*longrunningpb.Operation, error) {
	packedMeta, err := anypb.New(meta)
	if err != nil {
		return nil, err
	}
	op := &longrunningpb.Operation{Done: true, Metadata: packedMeta}
	if failure != nil {
		op.Result = &longrunningpb.Operation_Error{Error: status.Convert(failure).Proto()}
	} else {
		packed, err := anypb.New(response)
		if err != nil {
			return nil, err
		}
		op.Result = &longrunningpb.Operation_Response{Response: packed}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if id == "" {
		s.lastOp++
		id = fmt.Sprintf("_auto_%d", s.lastOp)
	}
	op.Name = resource + "/operations/" + id
	s.operations[op.Name] = op
	return op, nil
}

func (s *Server) operationFree(resource, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := resource + "/operations/" + id
	if _, taken := s.operations[name]; taken && id != "" {
		return status.Errorf(codes.AlreadyExists, "Operation already exists: %s", name)
	}
	return nil
}

// GetOperation gives one operation.
func (o operations) GetOperation(_ context.Context, req *longrunningpb.GetOperationRequest) (*longrunningpb.Operation, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	op, ok := o.operations[req.GetName()]
	if !ok {
		return nil, status.Errorf(codes.NotFound, "Operation not found: %s", req.GetName())
	}
	return op, nil
}

// ListOperations gives the operations of a resource.
func (o operations) ListOperations(_ context.Context, req *longrunningpb.ListOperationsRequest) (*longrunningpb.ListOperationsResponse, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	prefix := strings.TrimSuffix(req.GetName(), "/") + "/"
	names, next := page(namesUnder(o.operations, prefix), req.GetPageSize(), req.GetPageToken())
	resp := &longrunningpb.ListOperationsResponse{NextPageToken: next}
	for _, n := range names {
		resp.Operations = append(resp.Operations, o.operations[n])
	}
	return resp, nil
}
