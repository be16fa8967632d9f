package emulator_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/spanner"
	"cloud.google.com/go/spanner/admin/database/apiv1/databasepb"
	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"golang.org/x/sync/errgroup"
	"google.golang.org/api/iterator"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/emulator"
)

// A stream in MUTABLE_KEY_RANGE mode, read by the official client in windows.
func TestMutableStreamOfficialClient(t *testing.T) {
	f := start(t, onePartition, schemaCS[0], `CREATE CHANGE STREAM M FOR Users OPTIONS (partition_mode = 'MUTABLE_KEY_RANGE')`)
	c := f.client()
	stream, err := f.srv.ChangeStream(databaseName, "M")
	if err != nil {
		t.Fatal(err)
	}
	read := func(start, end time.Time, token any) []*spannerpb.ChangeStreamRecord {
		t.Helper()
		var out []*spannerpb.ChangeStreamRecord
		it := c.Single().Query(t.Context(), spanner.Statement{
			SQL:    "SELECT ChangeRecord FROM READ_M(@start, @end, @token, @heartbeat)",
			Params: map[string]any{"start": start, "end": end, "token": token, "heartbeat": 100},
		})
		defer it.Stop()
		for {
			row, err := it.Next()
			if errors.Is(err, iterator.Done) {
				return out
			}
			if err != nil {
				t.Fatal(err)
			}
			r := &spannerpb.ChangeStreamRecord{}
			if err := row.Column(0, r); err != nil {
				t.Fatal(err)
			}
			out = append(out, r)
		}
	}
	at := f.now(t)
	initial := read(at, at.Add(20*time.Minute), nil)
	if len(initial) != 1 || len(initial[0].GetPartitionStartRecord().GetPartitionTokens()) != 1 {
		t.Fatalf("initial query %v", initial)
	}
	token := initial[0].GetPartitionStartRecord().GetPartitionTokens()[0]
	f.commit(t, insert("Users", "UserId", row(1), row(2), row(3)))
	if _, err := stream.Split(token); err != nil {
		t.Fatal(err)
	}
	middle := f.now(t)
	first := read(at, middle, token)
	if len(first) != 3 || len(first[0].GetDataChangeRecord().GetMods()) != 3 || first[1].GetPartitionStartRecord() == nil || len(first[2].GetPartitionEventRecord().GetMoveOutEvents()) != 1 {
		t.Fatalf("first window %v", first)
	}
	second := read(middle, f.now(t).Add(200*time.Millisecond), token)
	if len(second) == 0 || second[0].GetHeartbeatRecord() == nil {
		t.Errorf("second window %v", second)
	}
	f.outcome(t, &spannerpb.ExecuteSqlRequest{Sql: readSQL("M", at, time.Time{}, token, 1000)}, codes.InvalidArgument, "end_timestamp")
	f.outcome(t, &spannerpb.ExecuteSqlRequest{Sql: readSQL("M", at, time.Now().Add(31*time.Minute), token, 1000)}, codes.InvalidArgument, "30m")
	if got, err := f.sql(t, &spannerpb.ExecuteSqlRequest{Sql: "SELECT option_value FROM information_schema.change_stream_options WHERE change_stream_name = 'M' AND option_name = 'partition_mode'"}); got != "MUTABLE_KEY_RANGE" || err != nil {
		t.Errorf("partition_mode %s, error %v", got, err)
	}
}

func TestConformanceStreamPostgreSQL(t *testing.T) {
	t.Run("H15", func(t *testing.T) {
		f := start(t, onePartition)
		const name = "projects/p/instances/i/databases/pg"
		if err := f.srv.CreateDatabase(t.Context(), name, databasepb.DatabaseDialect_POSTGRESQL); err != nil {
			t.Fatal(err)
		}
		session, err := f.api().CreateSession(t.Context(), &spannerpb.CreateSessionRequest{Database: name})
		if err != nil {
			t.Fatal(err)
		}
		f.session = session.GetName()
		admin := databasepb.NewDatabaseAdminClient(f.conn)
		ddl := func(code codes.Code, statements ...string) {
			t.Helper()
			if _, err := admin.UpdateDatabaseDdl(t.Context(), &databasepb.UpdateDatabaseDdlRequest{Database: name, Statements: statements}); statusCode(err) != code {
				t.Fatalf("%q: %v", statements, err)
			}
		}
		printed := func(want ...string) {
			t.Helper()
			resp, err := admin.GetDatabaseDdl(t.Context(), &databasepb.GetDatabaseDdlRequest{Database: name})
			for i, s := range resp.GetStatements() {
				resp.Statements[i] = strings.Join(strings.Fields(s), " ")
			}
			if err != nil || !slices.Equal(resp.GetStatements(), want) {
				t.Errorf("printed %q, error %v, want %q", resp.GetStatements(), err, want)
			}
		}
		ddl(codes.OK, `CREATE CHANGE STREAM Everything FOR ALL WITH (exclude_update='true', retention_period = '36h')`, `CREATE CHANGE STREAM "Mine"`)
		printed("CREATE CHANGE STREAM everything FOR ALL WITH (exclude_update = true, retention_period = '36h')", `CREATE CHANGE STREAM "Mine"`)
		ddl(codes.OK, "ALTER CHANGE STREAM everything SET (exclude_insert = true)", "ALTER CHANGE STREAM everything RESET (exclude_update)", `DROP CHANGE STREAM "Mine"`,
			"CREATE CHANGE STREAM m FOR ALL WITH (partition_mode = 'MUTABLE_KEY_RANGE')")
		printed("CREATE CHANGE STREAM everything FOR ALL WITH (retention_period = '36h', exclude_insert = true)", "CREATE CHANGE STREAM m FOR ALL WITH (partition_mode = 'MUTABLE_KEY_RANGE')")
		ddl(codes.FailedPrecondition, "CREATE CHANGE STREAM t FOR public.table1")
		ddl(codes.InvalidArgument, "CREATE CHANGE STREAM t FOR ALL OPTIONS (exclude_update = true)")
		ddl(codes.OK, "CREATE TABLE table1 (k bigint primary key)", "CREATE CHANGE STREAM t FOR public.table1", "DROP CHANGE STREAM t")
		readPostgreSQL(t, f)
	})
}

func readPostgreSQL(t *testing.T, f *fixture) {
	at := f.now(t)
	lit := "'" + at.Format("2006-01-02 15:04:05.999999") + "+00'"
	for _, sql := range []string{
		`SELECT * FROM "spanner"."read_json_everything"($1, $2, $3, $4, null)`,
		`select read_json_everything from spanner.read_json_everything($1::timestamptz, $2, $3, $4);`,
		`SELECT * FROM spanner.read_json_everything(` + lit + `::timestamp with time zone, NULL, NULL, 1000, NULL)`,
	} {
		params, _ := structpb.NewStruct(map[string]any{"p1": at.Format(time.RFC3339Nano), "p2": nil, "p3": nil, "p4": "1000"})
		r := &receiver{t: t}
		if err := f.query(t, r, &spannerpb.ExecuteSqlRequest{Sql: sql, Params: params}); err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		want := `{"child_partitions_record":{"child_partitions":[{"parent_partition_tokens":[],"token":`
		if got := spell(r); !strings.HasPrefix(got, want) || !strings.Contains(got, `"start_timestamp":"`+at.Format(time.RFC3339Nano)+`"`) {
			t.Errorf("%s: %s", sql, got)
		}
	}
	for _, c := range []struct {
		sql  string
		code codes.Code
	}{
		{"SELECT * FROM spanner.read_json_everything(" + lit + ", NULL, NULL, 1000) WHERE true", codes.Unimplemented},
		{"SELECT 1, x.* FROM spanner.read_json_everything(" + lit + ", NULL, NULL, 1000) x", codes.Unimplemented},
		{"SELECT * FROM spanner.read_json_everything(now(), NULL, NULL, 1000)", codes.InvalidArgument},
		{"SELECT * FROM spanner.read_json_everything(" + lit + ", NULL)", codes.InvalidArgument},
		{"SELECT * FROM spanner.read_json_everything(NULL, NULL, NULL, 1000)", codes.InvalidArgument},
		{"SELECT * FROM spanner.read_json_everything('yesterday', NULL, NULL, 1000)", codes.InvalidArgument},
		{"SELECT * FROM spanner.read_json_everything(" + lit + ", NULL, NULL, -5)", codes.OutOfRange},
		{"SELECT * FROM spanner.read_json_everything($1, NULL, NULL, 1000)", codes.InvalidArgument},
		{"SELECT * FROM spanner.read_proto_bytes_m(" + lit + ", NULL, NULL, 1000)", codes.OK},
	} {
		f.outcomePostgreSQL(t, c.sql, c.code)
	}
}

func (f *fixture) outcomePostgreSQL(t *testing.T, sql string, code codes.Code) {
	t.Helper()
	err := f.query(t, &receiver{t: t}, &spannerpb.ExecuteSqlRequest{Sql: sql})
	if statusCode(err) != code {
		t.Errorf("%s: %v, want %v", sql, err, code)
	}
}

// Partitions that change by themselves lose and repeat nothing.
func TestShuffledPartitions(t *testing.T) {
	f := start(t, emulator.Options{ChangeStreams: emulator.ChangeStreams{ShuffleEvery: 10 * time.Millisecond, Seed: 7}}, schemaCS...)
	at := f.now(t)
	stream, err := f.srv.ChangeStream(databaseName, "StreamUsers")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for deadline := time.Now().Add(10 * time.Second); n < 100 || len(stream.Partitions()) < 20; n++ {
		if time.Now().After(deadline) {
			t.Fatalf("%d partitions after %d commits", len(stream.Partitions()), n)
		}
		f.commit(t, insert("Users", "UserId", row(n*7919%100_003)))
	}
	got := f.changes(t, "StreamUsers", at, f.now(t))
	if len(got) != n {
		t.Fatalf("%d records of %d commits", len(got), n)
	}
	for i, d := range got {
		if want := fmt.Sprintf(`{"UserId":"%d"}`, i*7919%100_003); !strings.HasPrefix(d.mods[0], want) {
			t.Fatalf("record %d is %s, want %s", i, d.mods[0], want)
		}
	}
}

// Tails that follow partitions while these change, the stream is altered and
// others commit see every record of every commit once.
func TestTailsWhileEverythingChanges(t *testing.T) {
	f := start(t, emulator.Options{ChangeStreams: emulator.ChangeStreams{ShuffleEvery: 25 * time.Millisecond, Seed: 3}}, schemaCS...)
	const writers, commits = 3, 30
	tails := newTails(t, f, "StreamUsers", f.now(t), writers*commits)
	var g errgroup.Group
	for w := range writers {
		g.Go(func() error {
			for i := range commits {
				if _, err := f.tryCommit(t, insert("Users", "UserId,Name", row(w*1000+i, "x"))); err != nil {
					return err
				}
			}
			return nil
		})
	}
	g.Go(func() error {
		for range 10 {
			f.ddl(t, "ALTER CHANGE STREAM StreamUsers SET OPTIONS (retention_period = '48h')", "ALTER CHANGE STREAM StreamUsers SET FOR Users")
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	tails.wait()
	for w := range writers {
		for i := range commits {
			if n := tails.seen[fmt.Sprintf(`{"UserId":"%d"}`, w*1000+i)]; n != 1 {
				t.Errorf("row %d seen %d times", w*1000+i, n)
			}
		}
	}
}

// tails follow a stream until so many mods were seen.
type tails struct {
	f      *fixture
	stream string
	cancel context.CancelFunc
	group  *errgroup.Group
	ctx    context.Context

	mu       sync.Mutex
	left     int
	seen     map[string]int
	opened   map[string]bool
	finished map[string]bool
	waiting  []childToken
	starts   map[string]string
}

func newTails(t *testing.T, f *fixture, stream string, at time.Time, mods int) *tails {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	x := &tails{f: f, stream: stream, cancel: cancel, left: mods, seen: make(map[string]int),
		opened: make(map[string]bool), finished: make(map[string]bool), starts: make(map[string]string)}
	x.group, x.ctx = errgroup.WithContext(ctx)
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, token := range f.tokens(t, stream, at) {
		x.waiting = append(x.waiting, childToken{token: token})
		x.starts[token] = at.Format(time.RFC3339Nano)
	}
	x.openReady()
	return x
}

// openReady begins queries of partitions whose parents are finished.
func (x *tails) openReady() {
	x.waiting = slices.DeleteFunc(x.waiting, func(c childToken) bool {
		ready := !x.opened[c.token] && !slices.ContainsFunc(c.parents, func(p string) bool { return !x.finished[p] })
		if ready {
			x.opened[c.token] = true
			start := x.starts[c.token]
			x.group.Go(func() error { return x.follow(c.token, start) })
		}
		return x.opened[c.token]
	})
}

func (x *tails) follow(token, start string) error {
	sql := fmt.Sprintf("SELECT ChangeRecord FROM READ_%s('%s', NULL, '%s', 100)", x.stream, start, token)
	stream, err := x.f.api().ExecuteStreamingSql(x.ctx, &spannerpb.ExecuteSqlRequest{Session: x.f.session, Sql: sql})
	if err != nil {
		return err
	}
	for {
		msg, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.finished[token] = true
			x.openReady()
			return nil
		}
		if err != nil {
			return err
		}
		for _, v := range msg.GetValues() {
			x.take(decodeChange(x.f.t, v))
		}
	}
}

func (x *tails) take(r *changeRecord) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if r.children != nil {
		for _, c := range r.children.children {
			x.waiting = append(x.waiting, c)
			x.starts[c.token] = r.children.start
		}
	}
	if r.data == nil {
		return
	}
	for _, m := range r.data.mods {
		keys, _, _ := strings.Cut(m, " ")
		x.seen[keys]++
		x.left--
	}
	if x.left == 0 {
		x.cancel()
	}
}

func (x *tails) wait() {
	// The queries have no end of their own.
	err := x.group.Wait()
	if code := statusCode(err); code != codes.Canceled && code != codes.OK {
		x.f.t.Error(err)
	}
	x.cancel()
}
