package cdc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/spanner/admin/database/apiv1/databasepb"
	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/cdc"
	"spanbulk/internal/database"
	"spanbulk/internal/emulator"
	"spanbulk/internal/fault"
	"spanbulk/internal/randtest"
	"spanbulk/internal/spannertest"
)

var googleDDL = []string{
	`CREATE TABLE Orders (Id INT64 NOT NULL, Value INT64, Note STRING(MAX)) PRIMARY KEY (Id)`,
	`CREATE SCHEMA shop`,
	`CREATE TABLE shop.Lines (Id INT64 NOT NULL, Value INT64, Note STRING(MAX)) PRIMARY KEY (Id)`,
	`CREATE CHANGE STREAM Changes FOR ALL OPTIONS (value_capture_type = 'NEW_ROW_AND_OLD_VALUES')`,
	`CREATE CHANGE STREAM Moving FOR ALL OPTIONS (value_capture_type = 'NEW_ROW_AND_OLD_VALUES', partition_mode = 'MUTABLE_KEY_RANGE', retention_period = '36h')`,
	`CREATE CHANGE STREAM Notes FOR Orders(Note), shop.Lines()`,
}

var postgresDDL = []string{
	`CREATE TABLE "Orders" ("Id" bigint NOT NULL PRIMARY KEY, "Value" bigint, "Note" varchar)`,
	`CREATE SCHEMA shop`,
	`CREATE TABLE shop."Lines" ("Id" bigint NOT NULL PRIMARY KEY, "Value" bigint, "Note" varchar)`,
	`CREATE CHANGE STREAM "Changes" FOR ALL WITH (value_capture_type = 'NEW_ROW_AND_OLD_VALUES')`,
	`CREATE CHANGE STREAM "Moving" FOR ALL WITH (value_capture_type = 'NEW_ROW_AND_OLD_VALUES', partition_mode = 'MUTABLE_KEY_RANGE')`,
}

// server is a database with change streams, and a connection to it.
type server struct {
	*spannertest.Database
	conn *database.Conn
}

// startServer begins a server of a dialect's usual schema and more of it.
func startServer(t *testing.T, dialect databasepb.DatabaseDialect, opt emulator.Options, more ...string) *server {
	t.Helper()
	ddl := googleDDL
	if dialect == databasepb.DatabaseDialect_POSTGRESQL {
		ddl = postgresDDL
	}
	spanner := spannertest.New(t, spannertest.Options{Emulator: opt, Dialect: dialect, DDL: slices.Concat(ddl, more)})
	return &server{spanner, spanner.Open(t, 2)}
}

func (s *server) open(t *testing.T, stream string) cdc.Source {
	t.Helper()
	source, err := cdc.Open(t.Context(), s.conn, stream, cdc.SourceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// commit applies mutations and returns when. Faults that are worth a retry are
// tried again, so each may have been applied before.
func (s *server) commit(t *testing.T, mutations ...*spannerpb.Mutation) cdc.Timestamp {
	t.Helper()
	resp, err := s.conn.Client().Commit(context.WithoutCancel(t.Context()), &spannerpb.CommitRequest{
		Session: s.conn.Session(),
		Transaction: &spannerpb.CommitRequest_SingleUseTransaction{SingleUseTransaction: &spannerpb.TransactionOptions{
			Mode: &spannerpb.TransactionOptions_ReadWrite_{ReadWrite: &spannerpb.TransactionOptions_ReadWrite{}},
		}},
		Mutations: mutations,
	})
	if err != nil {
		t.Fatal(err)
	}
	return cdc.TimestampOf(resp.GetCommitTimestamp().AsTime())
}

func upsertRow(table string, id, value int) *spannerpb.Mutation {
	row := &structpb.ListValue{Values: []*structpb.Value{integer(id), integer(value), str(fmt.Sprint("note ", id))}}
	return &spannerpb.Mutation{Operation: &spannerpb.Mutation_InsertOrUpdate{InsertOrUpdate: &spannerpb.Mutation_Write{
		Table: table, Columns: []string{"Id", "Value", "Note"}, Values: []*structpb.ListValue{row},
	}}}
}

func deleteRow(table string, id int) *spannerpb.Mutation {
	key := &structpb.ListValue{Values: []*structpb.Value{integer(id)}}
	return &spannerpb.Mutation{Operation: &spannerpb.Mutation_Delete_{Delete: &spannerpb.Mutation_Delete{
		Table: table, KeySet: &spannerpb.KeySet{Keys: []*structpb.ListValue{key}},
	}}}
}

// event is one changed row, as it was committed or as it came out.
type event struct {
	at         cdc.Timestamp
	table, key string
	modType    string
	value      string
}

func (e event) row() string { return e.table + "/" + e.key }

// shuffle splits, merges or moves a partition of a stream, if the server lets
// a test do that.
func (s *server) shuffle(t *testing.T, r *rand.Rand, stream string) {
	t.Helper()
	s.Trouble(func(srv *emulator.Server) {
		topology, err := srv.ChangeStream(s.Name.String(), stream)
		if err != nil {
			t.Fatal(err)
		}
		_ = topology.Shuffle(r) // what is too narrow to split stays
	})
}

// workload commits n random transactions and returns what they did to rows, in
// commit order; rows say which rows there are. Partitions of the stream split,
// merge and move between.
func (s *server) workload(t *testing.T, r *rand.Rand, n int, rows map[string]bool, stream string) []event {
	t.Helper()
	var all []event
	for range n {
		if r.IntN(3) == 0 {
			s.shuffle(t, r, stream)
		}
		var mutations []*spannerpb.Mutation
		var events []event
		for _, id := range r.Perm(40)[:1+r.IntN(5)] {
			table := [...]string{"Orders", "shop.Lines"}[r.IntN(2)]
			e := event{table: table, key: strconv.Itoa(id)}
			switch {
			case !rows[e.row()]:
				e.modType, e.value = "INSERT", strconv.Itoa(r.IntN(1000))
			case r.IntN(4) == 0:
				e.modType = "DELETE"
			default:
				e.modType, e.value = "UPDATE", strconv.Itoa(r.IntN(1000))
			}
			rows[e.row()] = e.modType != "DELETE"
			events = append(events, e)
			if e.modType == "DELETE" {
				mutations = append(mutations, deleteRow(table, id))
				continue
			}
			value, _ := strconv.Atoi(e.value)
			mutations = append(mutations, upsertRow(table, id, value))
		}
		at := s.commit(t, mutations...)
		for _, e := range events {
			e.at = at
			all = append(all, e)
		}
	}
	return all
}

// events reads lines of data change records, and drops those that came before.
func events(t *testing.T, lines []string) []event {
	t.Helper()
	seen := map[string]bool{}
	var all []event
	for _, text := range lines {
		var l struct {
			line
			Mods []struct {
				Keys map[string]string `json:"keys"`
				New  map[string]string `json:"new_values"`
			} `json:"mods"`
		}
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("line %q: %v", text, err)
		}
		if seen[l.id()] {
			continue
		}
		seen[l.id()] = true
		var at cdc.Timestamp
		if err := at.UnmarshalText([]byte(l.Commit)); err != nil {
			t.Fatal(err)
		}
		for _, m := range l.Mods {
			all = append(all, event{at: at, table: l.Table, key: m.Keys["Id"], modType: l.ModType, value: m.New["Value"]})
		}
	}
	return all
}

// checkEvents wants all committed events and no other, those of a row in commit
// order.
func checkEvents(t *testing.T, got, want []event) {
	t.Helper()
	byRow := func(all []event) map[string][]event {
		rows := map[string][]event{}
		for _, e := range all {
			rows[e.row()] = append(rows[e.row()], e)
		}
		return rows
	}
	rows := byRow(got)
	for row, w := range byRow(want) {
		if fmt.Sprint(rows[row]) != fmt.Sprint(w) {
			t.Fatalf("changes of %s:\ngot  %v\nwant %v", row, rows[row], w)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d changes, want %d", len(got), len(want))
	}
}

// TestServer tails an embedded Spanner whose partitions change at random, which
// breaks calls off, and is killed and begun again.
func TestServer(t *testing.T) {
	r := randtest.New(t)
	for round := range randtest.Rounds(4) {
		stream := [...]string{"Changes", "Moving"}[round%2]
		dialect := [...]databasepb.DatabaseDialect{databasepb.DatabaseDialect_GOOGLE_STANDARD_SQL, databasepb.DatabaseDialect_POSTGRESQL}[round/2%2]
		seed := r.Uint64()
		t.Run(fmt.Sprintf("%v/%s/%d", dialect, stream, round), func(t *testing.T) {
			serverRound(t, rand.New(rand.NewPCG(seed, 0)), dialect, stream)
		})
	}
}

func serverRound(t *testing.T, r *rand.Rand, dialect databasepb.DatabaseDialect, stream string) {
	partitions := emulator.ChangeStreams{Partitions: 1 + r.IntN(4)}
	if r.IntN(2) == 0 {
		partitions.ShuffleEvery, partitions.Seed = 50*time.Millisecond, r.Uint64()
		if randtest.Factor() > 1 { // which takes time
			partitions.ShuffleEvery = 5 * time.Millisecond
		}
	}
	srv := startServer(t, dialect, emulator.Options{ChangeStreams: partitions})
	source := srv.open(t, stream)
	begin, err := source.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.IntN(2) == 0 {
		srv.Trouble(func(s *emulator.Server) {
			s.Faults().Set(emulator.Rule{Method: "ExecuteStreamingSql", From: 2, Every: 3, Fault: emulator.Fault{Code: 14, Message: "try again"}})
		})
	}
	opt := cdc.Options{Start: cdc.At(begin), Metadata: []string{"all", "partition-token"}, MaxQueries: 64, Retry: cdc.Backoff{Initial: time.Millisecond, Max: 10 * time.Millisecond}}
	if r.IntN(2) == 0 {
		opt.Order = cdc.ByCommit
	}
	out, state := &collector{}, &memoryState{}
	opt.SaveEvery = 5 * time.Millisecond
	var want []event
	rows := map[string]bool{}
	for range 3 { // each time the tail is killed
		ctx, kill := context.WithCancel(t.Context())
		opt.State = state.state
		opt.Save = func(s *cdc.SavedState) error {
			if ctx.Err() == nil {
				return state.write(s)
			}
			return nil
		}
		done := make(chan error, 1)
		go func() { done <- newTail(t, source, opt).Run(ctx, out) }()
		want = append(want, srv.workload(t, r, 60, rows, stream)...)
		kill()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	end, err := source.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	opt.State, opt.End, opt.Save = state.state, end, nil
	if err := newTail(t, source, opt).Run(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	checkEvents(t, events(t, out.lines()), want)
}

// TestStreamNames finds a stream by what a user may write in either dialect.
func TestStreamNames(t *testing.T) {
	tests := map[databasepb.DatabaseDialect]map[string]bool{
		databasepb.DatabaseDialect_GOOGLE_STANDARD_SQL: {"Notes": true, "`NOTES`": true, `"notes"`: true, "s.Notes": false, "public.Notes": false, "`Notes": false},
		databasepb.DatabaseDialect_POSTGRESQL:          {"Changes": true, `"Changes"`: true, `public."Changes"`: true, "PUBLIC.Changes": true, "changes": false, "s.Changes": false},
	}
	for dialect, names := range tests {
		srv := startServer(t, dialect, emulator.Options{})
		for name, found := range names {
			_, err := cdc.Open(t.Context(), srv.conn, name, cdc.SourceOptions{})
			if (err == nil) != found || err != nil && !strings.HasPrefix(err.Error(), "find change stream "+name+": the database has no such change stream") {
				t.Errorf("%v: %s: %v", dialect, name, err)
			}
		}
	}
}

func TestServerFacts(t *testing.T) {
	srv := startServer(t, databasepb.DatabaseDialect_GOOGLE_STANDARD_SQL, emulator.Options{})
	s := srv.open(t, "notes").Stream() // in whatever case
	if s.Name != "Notes" || s.All || fmt.Sprint(s.Watched) != "[{Orders false [Note]} {shop.Lines false []}]" || s.CaptureType() != "OLD_AND_NEW_VALUES" || s.Mutable() {
		t.Errorf("got %+v", s)
	}
	s = srv.open(t, "Moving").Stream()
	if d, explicit, err := s.Retention(time.Hour); d != 36*time.Hour || !explicit || err != nil || !s.Mutable() || !s.All {
		t.Errorf("got %+v, retention %v %v %v", s, d, explicit, err)
	}
	_, err := cdc.Open(t.Context(), srv.conn, "Chagnes", cdc.SourceOptions{})
	if err == nil || err.Error() != "find change stream Chagnes: the database has no such change stream" || fault.Hint(err) != "did you mean Changes?" {
		t.Errorf("got %v, hint %q", err, fault.Hint(err))
	}
}
