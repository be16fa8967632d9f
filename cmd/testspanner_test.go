package cmd

import (
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/spanner/admin/database/apiv1/databasepb"
	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/emulator"
	"spanbulk/internal/wire"
)

// testDatabase is the name of the database of a testSpanner.
const testDatabase = "projects/p/instances/i/databases/test"

// testSpanner is an embedded Spanner with one database, and a client of it that
// shares nothing with the code under test.
type testSpanner struct {
	server   *emulator.Server
	endpoint string
	conn     *grpc.ClientConn
	client   spannerpb.SpannerClient
	session  string
}

func startSpanner(t *testing.T, o emulator.Options, ddl ...string) *testSpanner {
	t.Helper()
	return startSpannerIn(t, databasepb.DatabaseDialect_GOOGLE_STANDARD_SQL, o, ddl...)
}

func startSpannerIn(t *testing.T, dialect databasepb.DatabaseDialect, o emulator.Options, ddl ...string) *testSpanner {
	t.Helper()
	server, err := emulator.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	if err := server.CreateDatabase(t.Context(), testDatabase, dialect, ddl...); err != nil {
		t.Fatalf("%v in %q", err, ddl)
	}
	s := &testSpanner{server: server}
	if s.endpoint, err = server.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	if s.conn, err = grpc.NewClient("passthrough:///"+s.endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(100<<20))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.conn.Close() })
	s.client = spannerpb.NewSpannerClient(s.conn)
	session, err := s.client.CreateSession(t.Context(), &spannerpb.CreateSessionRequest{Database: testDatabase})
	if err != nil {
		t.Fatal(err)
	}
	s.session = session.GetName()
	return s
}

// insert commits rows of a table, a thousand at once.
func (s *testSpanner) insert(t *testing.T, table string, columns []string, rows [][]*structpb.Value) {
	t.Helper()
	for len(rows) > 0 {
		n := min(len(rows), 1000)
		write := &spannerpb.Mutation_Write{Table: table, Columns: columns}
		for _, row := range rows[:n] {
			write.Values = append(write.Values, &structpb.ListValue{Values: row})
		}
		_, err := s.client.Commit(t.Context(), &spannerpb.CommitRequest{
			Session: s.session,
			Transaction: &spannerpb.CommitRequest_SingleUseTransaction{SingleUseTransaction: &spannerpb.TransactionOptions{
				Mode: &spannerpb.TransactionOptions_ReadWrite_{ReadWrite: &spannerpb.TransactionOptions_ReadWrite{}},
			}},
			Mutations: []*spannerpb.Mutation{{Operation: &spannerpb.Mutation_Insert{Insert: write}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		rows = rows[n:]
	}
}

// resultSet is the rows of a read or query with their columns.
type resultSet struct {
	fields []*spannerpb.StructType_Field
	rows   [][]*structpb.Value
}

// read reads plainly: one stream, no partitions.
func (s *testSpanner) read(t *testing.T, req *spannerpb.ReadRequest) *resultSet {
	t.Helper()
	req.Session = s.session
	stream, err := s.client.StreamingRead(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return collect(t, stream)
}

func (s *testSpanner) query(t *testing.T, sql string) *resultSet {
	t.Helper()
	stream, err := s.client.ExecuteStreamingSql(t.Context(), &spannerpb.ExecuteSqlRequest{Session: s.session, Sql: sql})
	if err != nil {
		t.Fatal(err)
	}
	return collect(t, stream)
}

// collect puts a stream's messages together, which must not be cut within a
// value.
func collect(t *testing.T, stream resultReceiver) *resultSet {
	t.Helper()
	r := &resultSet{}
	var values []*structpb.Value
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if m.GetChunkedValue() {
			t.Fatal("the plain read got a chunked value")
		}
		if m.GetMetadata() != nil {
			r.fields = m.GetMetadata().GetRowType().GetFields()
		}
		values = append(values, m.GetValues()...)
	}
	for n := len(r.fields); len(values) > 0; values = values[n:] {
		r.rows = append(r.rows, values[:n])
	}
	return r
}

// exportFrom runs spanbulk export against endpoint in this process, without
// pauses before it opens a broken stream again.
func exportFrom(t *testing.T, endpoint string, args ...string) (stdout []byte, stderr string, code int) {
	t.Helper()
	s, out, errs := testStreams(nil)
	a := newApp(s)
	a.retry = wire.Retry{Initial: time.Nanosecond, Max: time.Nanosecond}
	code = a.run(t.Context(), append([]string{"export", "-d", testDatabase, "--emulator-endpoint", endpoint}, args...))
	return out.Bytes(), errs.String(), code
}

// mustExport is exportFrom that has to succeed; it returns what went to stdout.
func (s *testSpanner) mustExport(t *testing.T, args ...string) []byte {
	t.Helper()
	out, stderr, code := exportFrom(t, s.endpoint, append([]string{"--quiet"}, args...)...)
	if code != exitDone {
		t.Fatalf("export %q: exit code %d: %s", args, code, stderr)
	}
	return out
}

// rounds multiplies a usual number of rounds by SPANBULK_TEST_ROUNDS.
func rounds(usual int) int {
	if factor, err := strconv.Atoi(os.Getenv("SPANBULK_TEST_ROUNDS")); err == nil && factor > 1 {
		return usual * factor
	}
	return usual
}

// newRand returns a source whose seed is printed when the test fails;
// SPANBULK_TEST_SEED repeats a run.
func newRand(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if s, err := strconv.ParseUint(os.Getenv("SPANBULK_TEST_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("repeat with SPANBULK_TEST_SEED=%d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// listFiles returns the paths of the files below dir, one a line.
func listFiles(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all.WriteString(path + "\n")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
