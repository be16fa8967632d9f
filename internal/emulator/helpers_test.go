package emulator_test

import (
	"errors"
	"io"
	"testing"

	"cloud.google.com/go/spanner/admin/database/apiv1/databasepb"
	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"
)

func statusCode(err error) codes.Code { return status.Code(err) }

func keyList(keys ...*structpb.ListValue) []*structpb.ListValue { return keys }

// sql runs a query in the fixture's session and spells its rows.
func (f *fixture) sql(t testing.TB, req *spannerpb.ExecuteSqlRequest) (string, error) {
	t.Helper()
	r := &receiver{t: t}
	err := f.query(t, r, req)
	return spell(r), err
}

// ddl applies statements that must work.
func (f *fixture) ddl(t testing.TB, statements ...string) {
	t.Helper()
	op, err := databasepb.NewDatabaseAdminClient(f.conn).UpdateDatabaseDdl(t.Context(), &databasepb.UpdateDatabaseDdlRequest{Database: databaseName, Statements: statements})
	if err != nil || op.GetError() != nil {
		t.Fatalf("%q: %v %v", statements, err, op.GetError())
	}
}

// batchWrite gives the outcome of each group, and makes sure that every group
// is answered once, with a timestamp or an error.
func (f *fixture) batchWrite(t testing.TB, session string, groups ...[]*spannerpb.Mutation) (map[int32]codes.Code, error) {
	t.Helper()
	req := &spannerpb.BatchWriteRequest{Session: session}
	for _, g := range groups {
		req.MutationGroups = append(req.MutationGroups, &spannerpb.BatchWriteRequest_MutationGroup{Mutations: g})
	}
	stream, err := f.api().BatchWrite(t.Context(), req)
	if err != nil {
		return nil, err
	}
	got := make(map[int32]codes.Code)
	for {
		resp, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return got, nil
		}
		if err != nil {
			return got, err
		}
		for _, i := range resp.GetIndexes() {
			if _, twice := got[i]; twice {
				t.Errorf("group %d answered twice", i)
			}
			got[i] = codes.Code(resp.GetStatus().GetCode())
			if (got[i] == codes.OK) != (resp.GetCommitTimestamp() != nil) {
				t.Errorf("group %d: %v with timestamp %v", i, got[i], resp.GetCommitTimestamp())
			}
		}
	}
}
