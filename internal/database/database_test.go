package database_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"spanbulk/internal/database"
	"spanbulk/internal/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var testName = database.Name{Project: "p", Instance: "i", Database: "d"}

// server is a Spanner of two calls that records what it is asked.
type server struct {
	spannerpb.UnimplementedSpannerServer

	mu       sync.Mutex
	sessions []*spannerpb.CreateSessionRequest
	numbered bool // sessions are named after their requests, and not all alike
	queries  []*spannerpb.ExecuteSqlRequest
	headers  []metadata.MD
	// sessionErrors and answers are used up one a call.
	sessionErrors []error
	answers       []answer
}

type answer struct {
	messages []*spannerpb.PartialResultSet
	err      error
}

func (s *server) CreateSession(ctx context.Context, req *spannerpb.CreateSessionRequest) (*spannerpb.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	md, _ := metadata.FromIncomingContext(ctx)
	s.headers, s.sessions = append(s.headers, md), append(s.sessions, req)
	if len(s.sessionErrors) > 0 {
		err := s.sessionErrors[0]
		s.sessionErrors = s.sessionErrors[1:]
		return nil, err
	}
	name := "1"
	if s.numbered {
		name = strconv.Itoa(len(s.sessions))
	}
	return &spannerpb.Session{Name: req.Database + "/sessions/" + name, Multiplexed: true}, nil
}

func (s *server) ExecuteStreamingSql(req *spannerpb.ExecuteSqlRequest, stream spannerpb.Spanner_ExecuteStreamingSqlServer) error {
	s.mu.Lock()
	md, _ := metadata.FromIncomingContext(stream.Context())
	s.headers, s.queries = append(s.headers, md), append(s.queries, req)
	next := s.answers[0]
	s.answers = s.answers[1:]
	s.mu.Unlock()
	for _, m := range next.messages {
		if err := stream.Send(m); err != nil {
			return err
		}
	}
	return next.err
}

// serve starts s and returns its address.
func serve(t *testing.T, s *server) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer()
	spannerpb.RegisterSpannerServer(g, s)
	done := make(chan error, 1)
	go func() { done <- g.Serve(listener) }()
	t.Cleanup(func() {
		g.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

func openEmulator(t *testing.T, address string) *database.Conn {
	t.Helper()
	conn, err := database.Open(t.Context(), database.Options{
		Name: testName, EmulatorEndpoint: address, Role: "reader", Channels: 2, UserAgent: "spanbulk/test",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return conn
}

func TestOpenCreatesOneMultiplexedSession(t *testing.T) {
	s := &server{sessionErrors: []error{status.Error(codes.Unavailable, "warming up")}}
	conn := openEmulator(t, "http://"+serve(t, s))
	if want := testName.String() + "/sessions/1"; conn.Session() != want {
		t.Errorf("Session = %q, want %q", conn.Session(), want)
	}
	if len(s.sessions) != 2 {
		t.Fatalf("%d calls, want one refused and one more", len(s.sessions))
	}
	req := s.sessions[1]
	if !req.Session.Multiplexed || req.Session.CreatorRole != "reader" || req.Database != testName.String() {
		t.Errorf("request %v", req)
	}
	for key, want := range map[string]string{
		"google-cloud-resource-prefix":   testName.String(),
		"x-goog-spanner-route-to-leader": "true",
		"x-goog-request-params":          "database=projects%2Fp%2Finstances%2Fi%2Fdatabases%2Fd",
	} {
		if got := s.headers[0].Get(key); len(got) != 1 || got[0] != want {
			t.Errorf("header %s = %q, want %q", key, got, want)
		}
	}
	if agent := s.headers[0].Get("user-agent"); len(agent) != 1 || !strings.HasPrefix(agent[0], "spanbulk/test") {
		t.Errorf("user agent %q", agent)
	}
	if auth := s.headers[0].Get("authorization"); len(auth) != 0 {
		t.Error("credentials were sent to an emulator")
	}
}

func TestOpenRefusedByTheService(t *testing.T) {
	s := &server{sessionErrors: []error{status.Error(codes.NotFound, "Database not found: "+testName.String())}}
	_, err := database.Open(t.Context(), database.Options{Name: testName, EmulatorEndpoint: serve(t, s)})
	want := "open projects/p/instances/i/databases/d: Database not found: projects/p/instances/i/databases/d"
	if err == nil || fault.Text(err, false) != want || fault.Code(err) != codes.NotFound {
		t.Errorf("got %v, want %q", err, want)
	}
}

// closedPort returns an address nothing listens on.
func closedPort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func TestOpenUnreachable(t *testing.T) {
	address := closedPort(t)
	start := time.Now()
	_, err := database.Open(t.Context(), database.Options{Name: testName, EmulatorEndpoint: address})
	want := fmt.Sprintf("connect to %s: dial tcp %s: connect: connection refused", address, address)
	if err == nil || fault.Text(err, false) != want || fault.Hint(err) == "" || fault.Code(err) != codes.Unavailable {
		t.Errorf("got %v, want %q", err, want)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("a refused connection took %v", took)
	}
}

func TestOpenSilentEndpoint(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") // accepts, never answers
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, err = database.Open(t.Context(), database.Options{
		Name: testName, EmulatorEndpoint: listener.Addr().String(), ConnectTimeout: 50 * time.Millisecond,
	})
	want := "connect to " + listener.Addr().String() + ": no answer in 50ms"
	if err == nil || fault.Text(err, false) != want {
		t.Errorf("got %v, want %q", err, want)
	}
}

func TestOpenInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := database.Open(ctx, database.Options{Name: testName, EmulatorEndpoint: closedPort(t)})
	if fault.Code(err) != codes.Canceled {
		t.Errorf("got %v, want CANCELED", err)
	}
}

func TestServiceAccountKeyFile(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	secret := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
	good, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "a@b.iam.gserviceaccount.com", "private_key": secret,
		"private_key_id": "k", "token_uri": "https://oauth2.googleapis.com/token",
	})
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct{ content, want string }{
		"whole":         {string(good), "connect to 127.0.0.1:"},
		"user":          {`{"type":"authorized_user","refresh_token":"SECRET"}`, `it is not JSON of "type": "service_account"`},
		"external":      {`{"type":"external_account","credential_source":{"file":"SECRET"}}`, `it is not JSON of "type": "service_account"`},
		"not json":      {"SECRET", `it is not JSON of "type": "service_account"`},
		"truncated":     {string(good[:40]), `it is not JSON of "type": "service_account"`},
		"without a key": {`{"type":"service_account","client_email":"SECRET"}`, "the key in it cannot be used"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "key.json")
			if err := os.WriteFile(path, []byte(tt.content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := database.Open(t.Context(), database.Options{Name: testName, Endpoint: closedPort(t), KeyFile: path})
			if err == nil || !strings.Contains(fault.Text(err, true), tt.want) {
				t.Fatalf("got %v, want %q", err, tt.want)
			}
			for e := err; e != nil; {
				if strings.Contains(e.Error(), "SECRET") || strings.Contains(e.Error(), "PRIVATE KEY") {
					t.Errorf("the error tells the file's content: %v", e)
				}
				u, ok := e.(interface{ Unwrap() error })
				if !ok {
					break
				}
				e = u.Unwrap()
			}
		})
	}
	_, err = database.Open(t.Context(), database.Options{Name: testName, KeyFile: "/nonexistent/key.json"})
	if want := "read service-account key file /nonexistent/key.json: no such file or directory"; err == nil || fault.Text(err, false) != want {
		t.Errorf("got %v, want %q", err, want)
	}
}

func columns(names ...string) *spannerpb.ResultSetMetadata {
	row := &spannerpb.StructType{}
	for _, n := range names {
		row.Fields = append(row.Fields, &spannerpb.StructType_Field{Name: n, Type: &spannerpb.Type{Code: spannerpb.TypeCode_STRING}})
	}
	return &spannerpb.ResultSetMetadata{RowType: row, Transaction: &spannerpb.Transaction{ReadTimestamp: timestamppb.New(time.Unix(100, 1000))}}
}

func text(values ...string) []*structpb.Value {
	var out []*structpb.Value
	for _, v := range values {
		out = append(out, structpb.NewStringValue(v))
	}
	return out
}

func list(values ...string) *structpb.Value {
	return structpb.NewListValue(&structpb.ListValue{Values: text(values...)})
}

func TestQueryStartsOverAndMergesChunks(t *testing.T) {
	s := &server{answers: []answer{
		{[]*spannerpb.PartialResultSet{{Metadata: columns("a", "b"), Values: text("lost", "row", "half")}}, status.Error(codes.Unavailable, "gone")},
		{nil, status.Error(codes.Internal, "stream terminated by RST_STREAM with error code: INTERNAL_ERROR")},
		{[]*spannerpb.PartialResultSet{
			{Metadata: columns("a", "b"), Values: text("1", "on"), ChunkedValue: true},
			{Values: text("e t"), ChunkedValue: true},
			{Values: append(text("wo", "2"), list("x", "y")), ChunkedValue: true},
			{Values: []*structpb.Value{list("z", "w")}},
			{Last: true},
		}, nil},
	}}
	conn := openEmulator(t, serve(t, s))
	at := time.Unix(99, 0)
	got, err := conn.Query(t.Context(), database.Statement{SQL: "SELECT a, b FROM t WHERE c = @p1", Params: map[string]string{"p1": "v"}, At: at})
	if err != nil {
		t.Fatal(err)
	}
	if rows := fmt.Sprint(got.Rows); len(got.Rows) != 2 || got.Rows[0][1].GetStringValue() != "one two" ||
		fmt.Sprint(got.Rows[1][1].GetListValue().AsSlice()) != "[x yz w]" {
		t.Errorf("rows %s", rows)
	}
	if !got.ReadTimestamp.Equal(time.Unix(100, 1000)) || fmt.Sprint(got.Columns) != "[a b]" {
		t.Errorf("columns %v at %v", got.Columns, got.ReadTimestamp)
	}
	req := s.queries[2]
	readOnly := req.GetTransaction().GetSingleUse().GetReadOnly()
	if !readOnly.GetReturnReadTimestamp() || !readOnly.GetReadTimestamp().AsTime().Equal(at) || req.Params.Fields["p1"].GetStringValue() != "v" {
		t.Errorf("request %v", req)
	}
	if prefix := s.headers[1].Get("google-cloud-resource-prefix"); len(prefix) != 1 || prefix[0] != testName.String() {
		t.Errorf("prefix %q", prefix)
	}
}

func TestQueryFailures(t *testing.T) {
	tests := map[string]struct {
		answer answer
		want   string
	}{
		"refused":         {answer{nil, status.Error(codes.InvalidArgument, "Table not found: t")}, "Table not found: t"},
		"half a row":      {answer{[]*spannerpb.PartialResultSet{{Metadata: columns("a", "b"), Values: text("1")}}, nil}, "inside a row"},
		"chunk of a bool": {answer{[]*spannerpb.PartialResultSet{{Metadata: columns("a"), Values: []*structpb.Value{structpb.NewBoolValue(true)}, ChunkedValue: true}, {Values: text("x")}}, nil}, "neither a string nor a list"},
		"no metadata":     {answer{[]*spannerpb.PartialResultSet{{Values: text("x")}}, nil}, "no metadata"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			conn := openEmulator(t, serve(t, &server{answers: []answer{tt.answer}}))
			_, err := conn.Query(t.Context(), database.Statement{SQL: "SELECT 1"})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestOptionsValidate(t *testing.T) {
	tests := map[string]struct {
		change func(*database.Options)
		want   string
	}{
		"good":                 {func(*database.Options) {}, ""},
		"emulator as URL":      {func(o *database.Options) { o.EmulatorEndpoint = "http://localhost:9010/" }, ""},
		"domain project":       {func(o *database.Options) { o.Name.Project = "example.com:old-project" }, ""},
		"no project":           {func(o *database.Options) { o.Name.Project = "" }, "the project is not given"},
		"bad instance":         {func(o *database.Options) { o.Name.Instance = "I_1" }, `instance id "I_1" is malformed: it has lower-case letters, digits and hyphens, beginning with a letter`},
		"emulator and key":     {func(o *database.Options) { o.EmulatorEndpoint, o.KeyFile = "h:1", "k" }, "a service-account key file and an emulator endpoint exclude each other"},
		"emulator and account": {func(o *database.Options) { o.EmulatorEndpoint, o.Impersonate = "h:1", "a@b" }, "impersonation and an emulator endpoint exclude each other"},
		"both endpoints":       {func(o *database.Options) { o.EmulatorEndpoint, o.Endpoint = "h:1", "h:2" }, "a service endpoint and an emulator endpoint exclude each other"},
		"no port":              {func(o *database.Options) { o.EmulatorEndpoint = "localhost" }, `endpoint "localhost" is not of the form host:port`},
		"too many channels":    {func(o *database.Options) { o.Channels = 257 }, "257 channels are out of bounds: 1 to 256"},
	}
	for name, tt := range tests {
		o := database.Options{Name: testName}
		tt.change(&o)
		if got := fmt.Sprint(o.Validate()); got != tt.want && (tt.want != "" || got != "<nil>") {
			t.Errorf("%s: %s, want %q", name, got, tt.want)
		}
	}
}

func FuzzParseName(f *testing.F) {
	for _, s := range []string{"projects/p/instances/i/databases/d", "projects/p/instances/i", "//////", "a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n, err := database.ParseName(s); err == nil && n.String() != s {
			t.Errorf("ParseName(%q) = %v", s, n)
		}
	})
}
