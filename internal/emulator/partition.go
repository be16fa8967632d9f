package emulator

import (
	"context"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/emulator/relation"
)

// PartitionRead plans a read in partitions.
func (s *Server) PartitionRead(ctx context.Context, req *spannerpb.PartitionReadRequest) (*spannerpb.PartitionResponse, error) {
	db, session, err := s.session(req.GetSession())
	if err != nil {
		return nil, err
	}
	if req.GetTable() == "" || req.GetKeySet() == nil {
		return nil, status.Error(codes.InvalidArgument, "PartitionRead needs a table and a key set.")
	}
	v, err := s.partitionView(ctx, db, session.GetName(), req.GetTransaction(), req.GetPartitionOptions())
	if err != nil {
		return nil, err
	}
	target, err := newReadTarget(v.snapshot.Schema(), req.GetTable(), req.GetIndex(), req.GetColumns(), req.GetKeySet())
	if err != nil {
		return nil, err
	}
	token := partitionToken{
		Session:     session.GetName(),
		Transaction: v.transaction,
		Request:     readFingerprint(req.GetTable(), req.GetIndex(), req.GetColumns(), req.GetKeySet(), 0, nil),
	}
	return s.partitions(v, target.scan, token, req.GetPartitionOptions())
}

// partitionView makes the checks that both partition RPCs make on the
// transaction and the options.
func (s *Server) partitionView(ctx context.Context, db *database, session string, sel *spannerpb.TransactionSelector, opts *spannerpb.PartitionOptions) (*view, error) {
	if opts.GetPartitionSizeBytes() < 0 || opts.GetMaxPartitions() < 0 {
		return nil, status.Error(codes.InvalidArgument, "Partition options must not be negative.")
	}
	switch t := sel.GetSelector().(type) {
	case nil:
		return nil, status.Error(codes.InvalidArgument, "Partitioned reads need a transaction.")
	case *spannerpb.TransactionSelector_SingleUse:
		return nil, status.Error(codes.InvalidArgument, "Partition reads may not be performed in single-use transactions, since the response needs to be reused.")
	case *spannerpb.TransactionSelector_Begin:
		if t.Begin.GetReadOnly() == nil {
			return nil, errPartitionReadWrite()
		}
	case *spannerpb.TransactionSelector_Id:
		tx, err := db.transactions.find(session, t.Id)
		if err != nil {
			return nil, err
		}
		if !tx.readOnly {
			return nil, errPartitionReadWrite()
		}
	}
	plan, err := s.resolve(db, session, sel)
	if err != nil {
		return nil, err
	}
	return plan.open(ctx, db)
}

func errPartitionReadWrite() error {
	return status.Error(codes.InvalidArgument, "Partitioned reads can only be performed in a read-only transaction.")
}

// maxPartitions is how many partitions a request may hope for at most.
const maxPartitions = 200_000

// wantedPartitions is how many partitions with rows to plan.
func (s *Server) wantedPartitions(v *view, scan relation.Scan, opts *spannerpb.PartitionOptions) (int, error) {
	parts := int64(s.opts.Partitions)
	if !s.opts.HonourPartitionHints {
		return int(parts), nil
	}
	if size := opts.GetPartitionSizeBytes(); size > 0 {
		total, err := v.snapshot.Size(scan)
		if err != nil {
			return 0, err
		}
		parts = max((total+size-1)/size, 1)
		if opts.GetMaxPartitions() > 0 {
			parts = min(parts, opts.GetMaxPartitions())
		}
	} else if n := opts.GetMaxPartitions(); n > 0 {
		parts = n
	}
	return int(min(parts, maxPartitions)), nil
}

// partitions cuts a scan into key ranges of about as many rows, with empty
// ones among them as the service has them.
func (s *Server) partitions(v *view, scan relation.Scan, token partitionToken, opts *spannerpb.PartitionOptions) (*spannerpb.PartitionResponse, error) {
	parts, err := s.wantedPartitions(v, scan, opts)
	if err != nil {
		return nil, err
	}
	cuts, err := v.snapshot.Split(scan, parts)
	if err != nil {
		return nil, err
	}
	resp := &spannerpb.PartitionResponse{Transaction: v.meta}
	add := func(p partitionToken) error {
		b, err := p.encode()
		resp.Partitions = append(resp.Partitions, &spannerpb.Partition{PartitionToken: b})
		return err
	}
	for i := range len(cuts) + 1 {
		p := token
		if i > 0 {
			p.Start = cuts[i-1]
		}
		if i < len(cuts) {
			p.End = cuts[i]
		}
		empty := p
		empty.Empty = true
		if !s.opts.NoEmptyPartitions && i%3 == 0 {
			if err := add(empty); err != nil {
				return nil, err
			}
		}
		if err := add(p); err != nil {
			return nil, err
		}
	}
	return resp, nil
}
