package emulator_test

import (
	"context"
	"os"
	"testing"

	"cloud.google.com/go/spanner"
	"cloud.google.com/go/spanner/admin/database/apiv1/databasepb"
	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"go.uber.org/goleak"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"spanbulk/internal/emulator"
)

const databaseName = "projects/p/instances/i/databases/db"

func TestMain(m *testing.M) {
	// Keeps the client from asking for a metadata server.
	os.Setenv("SPANNER_EMULATOR_HOST", "127.0.0.1:1")
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// fixture is a server with one database, and how to reach it.
type fixture struct {
	t        testing.TB
	srv      *emulator.Server
	endpoint string
	conn     *grpc.ClientConn
	session  string
}

func start(t testing.TB, opts emulator.Options, ddl ...string) *fixture {
	t.Helper()
	srv, err := emulator.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	endpoint, err := srv.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.CreateDatabase(t.Context(), databaseName, databasepb.DatabaseDialect_GOOGLE_STANDARD_SQL, ddl...); err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(200<<20), grpc.MaxCallSendMsgSize(200<<20)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	f := &fixture{t: t, srv: srv, endpoint: endpoint, conn: conn}
	session, err := f.api().CreateSession(t.Context(), &spannerpb.CreateSessionRequest{Database: databaseName, Session: &spannerpb.Session{Multiplexed: true}})
	if err != nil {
		t.Fatal(err)
	}
	f.session = session.GetName()
	return f
}

// api is the plain gRPC client.
func (f *fixture) api() spannerpb.SpannerClient { return spannerpb.NewSpannerClient(f.conn) }

// client is the official client.
func (f *fixture) client() *spanner.Client {
	f.t.Helper()
	c, err := spanner.NewClientWithConfig(context.Background(), databaseName, spanner.ClientConfig{DisableNativeMetrics: true},
		option.WithEndpoint(f.endpoint), option.WithoutAuthentication(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())))
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(c.Close)
	return c
}
