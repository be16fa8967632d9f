package emulator

import (
	"context"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/emulator/sql"
)

// ExecuteBatchDml refuses DML, which is not served, with the code that the
// service has for the request that is wrong in itself.
func (s *Server) ExecuteBatchDml(_ context.Context, req *spannerpb.ExecuteBatchDmlRequest) (*spannerpb.ExecuteBatchDmlResponse, error) {
	db, session, err := s.session(req.GetSession())
	if err != nil {
		return nil, err
	}
	if len(req.GetStatements()) == 0 {
		return nil, status.Error(codes.InvalidArgument, "No statements in batch DML request.")
	}
	for _, stmt := range req.GetStatements() {
		if err := refuseDML(db, session.GetName(), stmt.GetSql(), req.GetTransaction()); err != nil {
			return nil, err
		}
		if sql.Classify(stmt.GetSql(), db.postgreSQL()) != sql.DMLKind {
			return nil, status.Errorf(codes.InvalidArgument, "ExecuteBatchDml takes DML statements only.")
		}
	}
	return nil, status.Error(codes.Unimplemented, "DML statements are not served")
}
