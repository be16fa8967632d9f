package emulator

import (
	"context"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"spanbulk/internal/emulator/store"
)

// Fields of CommitRequest and BatchWriteRequest that hold what is written.
const (
	commitMutations = 4
	batchGroups     = 4
	groupMutations  = 1
)

// splitField takes the occurrences of one length-delimited field out of an
// encoded message and gives the rest of it.
func splitField(message []byte, field protowire.Number) (values [][]byte, rest []byte, err error) {
	for len(message) > 0 {
		num, typ, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil, nil, status.Errorf(codes.InvalidArgument, "Malformed request: %v", protowire.ParseError(n))
		}
		size := protowire.ConsumeFieldValue(num, typ, message[n:])
		if size < 0 {
			return nil, nil, status.Errorf(codes.InvalidArgument, "Malformed request: %v", protowire.ParseError(size))
		}
		if num == field && typ == protowire.BytesType {
			v, _ := protowire.ConsumeBytes(message[n:])
			values = append(values, v)
		} else {
			rest = append(rest, message[:n+size]...)
		}
		message = message[n+size:]
	}
	return values, rest, nil
}

func asMutations(list [][]byte) []store.Mutation {
	out := make([]store.Mutation, len(list))
	for i, m := range list {
		out[i] = m
	}
	return out
}

// commitHandler is Spanner.Commit with the mutations left encoded.
func commitHandler(srv any, ctx context.Context, dec func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
	var raw rawMessage
	if err := dec(&raw); err != nil {
		return nil, err
	}
	info := &grpc.UnaryServerInfo{Server: srv, FullMethod: spannerpb.Spanner_Commit_FullMethodName}
	return interceptor(ctx, raw, info, func(ctx context.Context, req any) (any, error) {
		return srv.(*Server).commit(ctx, req.(rawMessage))
	})
}

func (s *Server) commit(_ context.Context, raw rawMessage) (*spannerpb.CommitResponse, error) {
	list, rest, err := splitField(raw, commitMutations)
	if err != nil {
		return nil, err
	}
	var req spannerpb.CommitRequest
	if err := proto.Unmarshal(rest, &req); err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "Malformed request: %v", err)
	}
	db, session, err := s.session(req.GetSession())
	if err != nil {
		return nil, err
	}
	if d := req.GetMaxCommitDelay(); d != nil && (d.AsDuration() < 0 || d.AsDuration() > 500*time.Millisecond) {
		return nil, status.Error(codes.InvalidArgument, "max_commit_delay must be between 0 and 500 ms.")
	}
	switch t := req.GetTransaction().(type) {
	case *spannerpb.CommitRequest_TransactionId:
		tx, err := db.transactions.find(session.GetName(), t.TransactionId)
		if err != nil {
			return nil, err
		}
		return tx.commit(db, &req, asMutations(list))
	case *spannerpb.CommitRequest_SingleUseTransaction:
		if t.SingleUseTransaction.GetReadWrite() == nil {
			return nil, status.Error(codes.InvalidArgument, "Cannot commit a single-use read-only transaction.")
		}
		return apply(db, &req, t.SingleUseTransaction.GetExcludeTxnFromChangeStreams(), asMutations(list), nil)
	}
	return nil, status.Error(codes.InvalidArgument, "No transaction is given to commit.")
}

func apply(db *database, req *spannerpb.CommitRequest, exclude bool, mutations []store.Mutation, footprint *store.Footprint) (*spannerpb.CommitResponse, error) {
	origin := store.Origin{Tag: req.GetRequestOptions().GetTransactionTag(), ExcludeFromChangeStreams: exclude}
	done, err := db.store.CommitFrom(origin, mutations, footprint)
	if err != nil {
		return nil, err
	}
	resp := &spannerpb.CommitResponse{CommitTimestamp: timestamppb.New(done.Timestamp)}
	if req.GetReturnCommitStats() {
		resp.CommitStats = &spannerpb.CommitResponse_CommitStats{MutationCount: done.Mutations}
	}
	return resp, nil
}

// commit commits a multi-use transaction. Committing again repeats the
// outcome.
func (tx *transaction) commit(db *database, req *spannerpb.CommitRequest, mutations []store.Mutation) (*spannerpb.CommitResponse, error) {
	if tx.readOnly {
		return nil, status.Error(codes.FailedPrecondition, "Cannot commit a read-only transaction.")
	}
	tx.mu.Lock()
	defer tx.mu.Unlock()
	switch tx.state {
	case committed:
		return tx.committed, nil
	case rolledBack:
		return nil, status.Error(codes.FailedPrecondition, "Cannot commit a transaction after Rollback() has been called.")
	case failed:
		return nil, tx.failure
	}
	footprint := &tx.footprint
	if len(footprint.Reads) == 0 {
		footprint = nil
	}
	resp, err := apply(db, req, tx.excluded, mutations, footprint)
	if err != nil {
		tx.end(failed)
		tx.failure = err
		return nil, err
	}
	tx.end(committed)
	tx.committed = resp
	return resp, nil
}

// batchWriteHandler is Spanner.BatchWrite with the mutations left encoded.
func batchWriteHandler(srv any, stream grpc.ServerStream) error {
	var raw rawMessage
	if err := stream.RecvMsg(&raw); err != nil {
		return err
	}
	return srv.(*Server).batchWrite(raw, stream)
}

// batchWrite commits the groups one after the other and answers for each.
func (s *Server) batchWrite(raw rawMessage, stream grpc.ServerStream) error {
	groups, rest, err := splitField(raw, batchGroups)
	if err != nil {
		return err
	}
	var req spannerpb.BatchWriteRequest
	if err := proto.Unmarshal(rest, &req); err != nil {
		return status.Errorf(codes.InvalidArgument, "Malformed request: %v", err)
	}
	db, _, err := s.session(req.GetSession())
	if err != nil {
		return err
	}
	origin := store.Origin{Tag: req.GetRequestOptions().GetTransactionTag(), ExcludeFromChangeStreams: req.GetExcludeTxnFromChangeStreams()}
	for i, group := range groups {
		resp := &spannerpb.BatchWriteResponse{Indexes: []int32{int32(i)}}
		done, err := applyGroup(db, origin, group)
		resp.Status = status.Convert(err).Proto()
		if err == nil {
			resp.CommitTimestamp = timestamppb.New(done.Timestamp)
		}
		if err := stream.SendMsg(resp); err != nil {
			return err
		}
	}
	return nil
}

func applyGroup(db *database, origin store.Origin, group []byte) (store.Committed, error) {
	list, _, err := splitField(group, groupMutations)
	if err != nil {
		return store.Committed{}, err
	}
	return db.store.CommitFrom(origin, asMutations(list), nil)
}
