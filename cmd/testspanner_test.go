package cmd

import (
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/spanner/admin/database/apiv1/databasepb"
	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/emulator"
	"spanbulk/internal/spannertest"
	"spanbulk/internal/wire"
)

// target is a database on a server that speaks plain text.
type target struct{ database, endpoint string }

// testSpanner is a database, and a client of it that shares nothing with the code
// under test.
type testSpanner struct {
	*spannertest.Database
	target
	conn    *grpc.ClientConn
	client  spannerpb.SpannerClient
	session string
}

func startSpanner(t *testing.T, o emulator.Options, ddl ...string) *testSpanner {
	t.Helper()
	return startSpannerIn(t, databasepb.DatabaseDialect_GOOGLE_STANDARD_SQL, o, ddl...)
}

func startSpannerIn(t *testing.T, dialect databasepb.DatabaseDialect, o emulator.Options, ddl ...string) *testSpanner {
	t.Helper()
	db := spannertest.New(t, spannertest.Options{Emulator: o, Dialect: dialect, DDL: ddl})
	if db.Endpoint == "" {
		t.Skip("needs an emulator: the test's own client speaks plain text")
	}
	s := &testSpanner{Database: db, target: target{db.Name.String(), db.Endpoint}}
	var err error
	if s.conn, err = grpc.NewClient("passthrough:///"+s.endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(100<<20))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.conn.Close() })
	s.client = spannerpb.NewSpannerClient(s.conn)
	session, err := s.client.CreateSession(t.Context(), &spannerpb.CreateSessionRequest{Database: s.database})
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

// exportFrom runs spanbulk export in this process, without
// pauses before it opens a broken stream again.
func exportFrom(t *testing.T, from target, args ...string) (stdout []byte, stderr string, code int) {
	t.Helper()
	s, out, errs := testStreams(nil)
	a := newApp(s)
	a.retry = wire.Retry{Initial: time.Nanosecond, Max: time.Nanosecond}
	code = a.run(t.Context(), append([]string{"export", "-d", from.database, "--emulator-endpoint", from.endpoint}, args...))
	return out.Bytes(), errs.String(), code
}

// mustExport is exportFrom that has to succeed; it returns what went to stdout.
func (s *testSpanner) mustExport(t *testing.T, args ...string) []byte {
	t.Helper()
	out, stderr, code := exportFrom(t, s.target, append([]string{"--quiet"}, args...)...)
	if code != exitDone {
		t.Fatalf("export %q: exit code %d: %s", args, code, stderr)
	}
	return out
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
