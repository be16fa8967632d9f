package emulator

import (
	"context"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// rowsRequest is a read or a query.
type rowsRequest interface {
	GetTransaction() *spannerpb.TransactionSelector
	GetDirectedReadOptions() *spannerpb.DirectedReadOptions
	GetPartitionToken() []byte
	GetResumeToken() []byte
}

// opened is a read or query that has its snapshot.
type opened struct {
	*view
	// request is the fingerprint that resume tokens carry, and resume where the
	// request goes on from.
	request uint64
	resume  position
	// partition is what the request is confined to, nil for everything.
	partition *partitionToken
}

// open finds out what a request is to see: its transaction, its partition, and
// the timestamp it goes on at if it resumes. print gives the request's
// fingerprint with a partition token or without.
func (s *Server) open(ctx context.Context, db *database, session string, req rowsRequest, print func(partition []byte) uint64) (*opened, error) {
	o := &opened{request: print(req.GetPartitionToken())}
	var err error
	if token := req.GetPartitionToken(); len(token) > 0 {
		if o.partition, err = decodePartition(token, session); err != nil {
			return nil, err
		}
	}
	plan, err := s.resolve(db, session, req.GetTransaction())
	if err != nil {
		return nil, err
	}
	if plan.readWrite != nil && req.GetDirectedReadOptions() != nil {
		return nil, status.Error(codes.InvalidArgument, "Directed reads can only be performed in a read-only transaction")
	}
	if o.partition != nil {
		if err := o.partition.check(plan.transaction, print(nil)); err != nil {
			return nil, err
		}
	}
	o.resume = position{at: plan.at}
	if token := req.GetResumeToken(); len(token) > 0 {
		if o.resume, err = decodePosition(token, o.request); err != nil {
			return nil, err
		}
		plan.at = o.resume.at
	}
	o.view, err = plan.open(ctx, db)
	return o, err
}
