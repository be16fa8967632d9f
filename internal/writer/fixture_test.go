package writer_test

import (
	"context"
	"io"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/spanner/admin/database/apiv1/databasepb"
	apiv1 "cloud.google.com/go/spanner/apiv1"
	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"go.uber.org/goleak"
	"google.golang.org/api/option"
	"google.golang.org/api/option/internaloption"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"spanbulk/internal/database"
	"spanbulk/internal/schema"
	"spanbulk/internal/spannertest"
	"spanbulk/internal/wire"
	"spanbulk/internal/writer"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

const databaseName = "projects/p/instances/i/databases/db"

// conn is a connection whose client side can break streams too.
type conn struct {
	client  *apiv1.Client
	session string
}

func (c *conn) Client() *apiv1.Client { return c.client }
func (c *conn) Session() string       { return c.session }

func connect(t testing.TB, to target, interceptors ...grpc.StreamClientInterceptor) *conn {
	t.Helper()
	client, err := apiv1.NewClient(t.Context(),
		option.WithEndpoint("passthrough:///"+to.endpoint), option.WithoutAuthentication(), option.WithTelemetryDisabled(),
		option.WithGRPCConnectionPool(2),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())),
		option.WithGRPCDialOption(grpc.WithChainStreamInterceptor(interceptors...)),
		internaloption.SkipDialSettingsValidation())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	session, err := client.CreateSession(t.Context(), &spannerpb.CreateSessionRequest{
		Database: to.database, Session: &spannerpb.Session{Multiplexed: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &conn{client, session.GetName()}
}

// fixture is a database with a schema.
type fixture struct {
	t       testing.TB
	spanner *spannertest.Database
	db      *database.Conn
	target  target
	catalog *schema.Catalog
	schema  string // of the tables
}

// target is a database on a server that speaks plain text.
type target struct{ database, endpoint string }

func start(t testing.TB, ddl ...string) *fixture {
	t.Helper()
	return startIn(t, databasepb.DatabaseDialect_GOOGLE_STANDARD_SQL, ddl...)
}

func startIn(t testing.TB, dialect databasepb.DatabaseDialect, ddl ...string) *fixture {
	t.Helper()
	spanner := spannertest.New(t, spannertest.Options{Dialect: dialect, DDL: ddl})
	db := spanner.Open(t, 2)
	catalog, err := schema.Open(t.Context(), db, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{t: t, spanner: spanner, db: db, target: target{spanner.Name.String(), spanner.Endpoint}, catalog: catalog}
}

func (f *fixture) table(name string, parent *writer.Table) *writer.Table {
	f.t.Helper()
	t, err := f.catalog.Table(f.t.Context(), schema.Name{Schema: f.schema, Name: name})
	if err != nil {
		f.t.Fatal(err)
	}
	table, err := writer.NewTable(t, parent)
	if err != nil {
		f.t.Fatal(err)
	}
	return table
}

// rows reads the first two columns of a table as key and text.
func (f *fixture) rows(sql string) map[string]string {
	f.t.Helper()
	result, err := f.db.Query(f.t.Context(), database.Statement{SQL: sql})
	if err != nil {
		f.t.Fatal(err)
	}
	out := map[string]string{}
	for _, row := range result.Rows {
		out[row[0].GetStringValue()] = row[1].GetStringValue()
	}
	return out
}

var source = &writer.Source{Name: "in.ndjson", Format: "ndjson"}

func text(s string) wire.Value { return wire.AppendString(nil, s) }

func texts(values ...string) []wire.Value {
	out := make([]wire.Value, len(values))
	for i, v := range values {
		out[i] = text(v)
	}
	return out
}

var null = wire.Value(wire.AppendNull(nil))

// quick makes retries cost hardly any time.
func quick(opt writer.Options) writer.Options {
	opt.InitialBackoff, opt.MaxBackoff = time.Millisecond, time.Millisecond
	if opt.Progress == nil {
		opt.Progress = new(writer.Progress)
	}
	return opt
}

// write runs a writer over records, in chunks of chunkSize.
func write(t testing.TB, c writer.Conn, opt writer.Options, records []writer.Record, chunkSize int) (*writer.Writer, error) {
	t.Helper()
	w, err := writer.New(c, opt)
	if err != nil {
		t.Fatal(err)
	}
	return w, run(t, t.Context(), w, records, chunkSize, nil)
}

// run sends records to w. decided, if set, is called for each chunk with the
// position of its first record and their number.
func run(t testing.TB, ctx context.Context, w *writer.Writer, records []writer.Record, chunkSize int, decided func(from, n int)) error {
	t.Helper()
	if ctx == nil {
		ctx = context.Background()
	}
	chunks := make(chan *writer.Chunk)
	ctx, cancel := context.WithCancel(ctx)
	var feeding sync.WaitGroup
	feeding.Go(func() {
		defer close(chunks)
		for from := 0; from < len(records); from += chunkSize {
			n := min(chunkSize, len(records)-from)
			c := w.NewChunk(source, func() {
				if decided != nil {
					decided(from, n)
				}
			})
			for i := range n {
				r := records[from+i]
				if r.Line == 0 {
					r.Line, r.Number = int64(from+i+1), int64(from+i+1)
				}
				if r.Raw == nil {
					r.Raw = []byte(strconv.Itoa(from + i))
				}
				c.Add(&r)
			}
			select {
			case chunks <- c:
			case <-ctx.Done():
				return
			}
		}
	})
	err := w.Run(ctx, chunks)
	cancel()
	feeding.Wait()
	return err
}

// refusals keeps what is refused and goes on.
type refusals struct {
	list    []writer.Refusal
	flushed int
}

func (r *refusals) Refuse(refusal *writer.Refusal) error {
	r.list = append(r.list, *refusal)
	return nil
}

func (r *refusals) Flush() error {
	r.flushed++
	return nil
}

// checkBalance wants every record accounted for.
func checkBalance(t testing.TB, p *writer.Progress, in, undecided int64) {
	t.Helper()
	sum := p.Applied.Load() + p.Refused.Load() + p.Skipped.Load() + undecided
	if p.RecordsIn.Load() != in || sum != in {
		t.Errorf("%d records in (want %d) are not %d applied, %d refused, %d skipped and %d undecided",
			p.RecordsIn.Load(), in, p.Applied.Load(), p.Refused.Load(), p.Skipped.Load(), undecided)
	}
}

// fake is a Spanner that keeps the requests and answers as it is told.
type fake struct {
	spannerpb.UnimplementedSpannerServer
	target target

	// batchWrite and commit answer a call; nil is OK for everything.
	batchWrite func(call int, req *spannerpb.BatchWriteRequest, stream spannerpb.Spanner_BatchWriteServer) error
	commit     func(call int, req *spannerpb.CommitRequest) error

	mu      sync.Mutex
	batches []*spannerpb.BatchWriteRequest
	commits []*spannerpb.CommitRequest
}

func (f *fake) CreateSession(_ context.Context, req *spannerpb.CreateSessionRequest) (*spannerpb.Session, error) {
	return &spannerpb.Session{Name: req.Database + "/sessions/1", Multiplexed: true}, nil
}

func (f *fake) BatchWrite(req *spannerpb.BatchWriteRequest, stream spannerpb.Spanner_BatchWriteServer) error {
	f.mu.Lock()
	f.batches = append(f.batches, req)
	call := len(f.batches)
	f.mu.Unlock()
	if f.batchWrite != nil {
		return f.batchWrite(call, req, stream)
	}
	return answerAll(len(req.MutationGroups), stream)
}

func (f *fake) Commit(_ context.Context, req *spannerpb.CommitRequest) (*spannerpb.CommitResponse, error) {
	f.mu.Lock()
	f.commits = append(f.commits, req)
	call := len(f.commits)
	f.mu.Unlock()
	if f.commit != nil {
		if err := f.commit(call, req); err != nil {
			return nil, err
		}
	}
	return &spannerpb.CommitResponse{}, nil
}

func answerAll(n int, stream spannerpb.Spanner_BatchWriteServer) error {
	indexes := make([]int32, n)
	for i := range indexes {
		indexes[i] = int32(i)
	}
	return answer(stream, codes.OK, "", indexes...)
}

func answer(stream spannerpb.Spanner_BatchWriteServer, code codes.Code, message string, indexes ...int32) error {
	return stream.Send(&spannerpb.BatchWriteResponse{Indexes: indexes, Status: status.New(code, message).Proto()})
}

func serve(t testing.TB, f *fake) *fake {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.MaxRecvMsgSize(writer.MaxRequestBytes))
	spannerpb.RegisterSpannerServer(server, f)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	f.target = target{databaseName, listener.Addr().String()}
	return f
}

// plainTable is a table of an INT64 key and n STRING columns.
func plainTable(t testing.TB, n int, indexes ...schema.Index) *writer.Table {
	t.Helper()
	columns := []schema.Column{{Name: "Id", Type: &spannerpb.Type{Code: spannerpb.TypeCode_INT64}}}
	for i := range n {
		columns = append(columns, schema.Column{Name: "C" + strconv.Itoa(i+1), Type: &spannerpb.Type{Code: spannerpb.TypeCode_STRING}})
	}
	table, err := writer.NewTable(&schema.Table{
		Name: schema.Name{Name: "T"}, Columns: columns, PrimaryKey: []schema.KeyPart{{Column: "Id"}}, Indexes: indexes,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// numbered are n upserts of ids 0 to n-1.
func numbered(table *writer.Table, n int) []writer.Record {
	records := make([]writer.Record, n)
	for i := range records {
		records[i] = writer.Record{Table: table, Operation: wire.InsertOrUpdate, Values: texts(strconv.Itoa(i), "v"+strconv.Itoa(i))}
	}
	return records
}

// shortStreams ends streams of answers early, as if they were whole.
type shortStreams struct {
	// after is how many answers a stream may give, negative for all.
	after func() int
}

func (s shortStreams) intercept(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, next grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	stream, err := next(ctx, desc, cc, method, opts...)
	if err != nil {
		return nil, err
	}
	return &shortStream{stream, s.after()}, nil
}

type shortStream struct {
	grpc.ClientStream
	left int
}

func (s *shortStream) RecvMsg(m any) error {
	if s.left == 0 {
		return io.EOF
	}
	s.left--
	return s.ClientStream.RecvMsg(m)
}
