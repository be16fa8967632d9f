package reader_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/spanner/admin/database/apiv1/databasepb"
	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/database"
	"spanbulk/internal/emulator"
	"spanbulk/internal/format"
	"spanbulk/internal/reader"
	"spanbulk/internal/spannertest"
	"spanbulk/internal/wire"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

const ddl = `CREATE TABLE %sThings (
  Id INT64 NOT NULL,
  Name STRING(MAX),
  Score FLOAT64,
  Active BOOL,
  Tags ARRAY<STRING(MAX)>,
) PRIMARY KEY (Id)`

// ddlPostgreSQL makes the same table, by quoted names.
const ddlPostgreSQL = `CREATE TABLE %s"Things" (
  "Id" bigint NOT NULL,
  "Name" varchar,
  "Score" double precision,
  "Active" boolean,
  "Tags" varchar[],
  PRIMARY KEY ("Id"))`

var columns = []string{"Id", "Name", "Score", "Active", "Tags"}

func fields() []*spannerpb.StructType_Field {
	field := func(name string, code spannerpb.TypeCode) *spannerpb.StructType_Field {
		return &spannerpb.StructType_Field{Name: name, Type: &spannerpb.Type{Code: code}}
	}
	tags := field("Tags", spannerpb.TypeCode_ARRAY)
	tags.Type.ArrayElementType = &spannerpb.Type{Code: spannerpb.TypeCode_STRING}
	return []*spannerpb.StructType_Field{
		field("Id", spannerpb.TypeCode_INT64), field("Name", spannerpb.TypeCode_STRING),
		field("Score", spannerpb.TypeCode_FLOAT64), field("Active", spannerpb.TypeCode_BOOL), tags,
	}
}

func things() reader.Source {
	return reader.Source{Table: "Things", Columns: columns, Fields: fields()}
}

// thing is a row of the table, in the form it has as JSON.
type thing struct {
	Id     int64
	Name   *string
	Score  *float64
	Active *bool
	Tags   []*string
}

func text(r *rand.Rand, n int) *string {
	letters := []rune("abc \"\\\n\x01éß你🌍")
	var b strings.Builder
	for range n {
		b.WriteRune(letters[r.IntN(len(letters))])
	}
	s := b.String()
	return &s
}

func randomThing(r *rand.Rand, id int64) thing {
	row := thing{Id: id}
	if r.IntN(5) > 0 {
		row.Name = text(r, r.IntN(30))
	}
	if r.IntN(5) > 0 {
		score := r.NormFloat64()
		row.Score = &score
	}
	if r.IntN(5) > 0 {
		active := r.IntN(2) == 0
		row.Active = &active
	}
	if r.IntN(5) > 0 {
		row.Tags = make([]*string, r.IntN(4))
		for i := range row.Tags {
			if r.IntN(4) > 0 {
				row.Tags[i] = text(r, r.IntN(8))
			}
		}
	}
	return row
}

func (row thing) values() *structpb.ListValue {
	null := structpb.NewNullValue()
	out := []*structpb.Value{structpb.NewStringValue(strconv.FormatInt(row.Id, 10)), null, null, null, null}
	if row.Name != nil {
		out[1] = structpb.NewStringValue(*row.Name)
	}
	if row.Score != nil {
		out[2] = structpb.NewNumberValue(*row.Score)
	}
	if row.Active != nil {
		out[3] = structpb.NewBoolValue(*row.Active)
	}
	if row.Tags != nil {
		tags := &structpb.ListValue{}
		for _, tag := range row.Tags {
			if tag == nil {
				tags.Values = append(tags.Values, null)
			} else {
				tags.Values = append(tags.Values, structpb.NewStringValue(*tag))
			}
		}
		out[4] = structpb.NewListValue(tags)
	}
	return &structpb.ListValue{Values: out}
}

// fixture is a database with the table, and a connection to it.
type fixture struct {
	t     *testing.T
	db    *spannertest.Database
	conn  *database.Conn
	table string // its name in requests
}

func start(t *testing.T, opt emulator.Options) *fixture {
	t.Helper()
	return startIn(t, databasepb.DatabaseDialect_GOOGLE_STANDARD_SQL, "", opt)
}

// startIn makes the table in a named schema, or, without a name, in the default
// one.
func startIn(t *testing.T, dialect databasepb.DatabaseDialect, schema string, opt emulator.Options) *fixture {
	t.Helper()
	table, prefix, template := "Things", "", ddl
	if dialect == databasepb.DatabaseDialect_POSTGRESQL {
		template = ddlPostgreSQL
	}
	var statements []string
	if schema != "" {
		table, prefix, statements = schema+"."+table, schema+".", []string{"CREATE SCHEMA " + schema}
	}
	statements = append(statements, fmt.Sprintf(template, prefix))
	db := spannertest.New(t, spannertest.Options{Emulator: opt, Dialect: dialect, DDL: statements})
	return &fixture{t: t, db: db, conn: db.Open(t, 4), table: table}
}

// things is the table as a source.
func (f *fixture) things() reader.Source {
	s := things()
	s.Table = f.table
	return s
}

// write commits rows, at most 10,000 at once.
func (f *fixture) write(rows []thing) {
	f.t.Helper()
	for batch := range slices.Chunk(rows, 10_000) {
		write := &spannerpb.Mutation_Write{Table: f.table, Columns: columns}
		for _, row := range batch {
			write.Values = append(write.Values, row.values())
		}
		_, err := f.conn.Client().Commit(f.t.Context(), &spannerpb.CommitRequest{
			Session: f.conn.Session(),
			Transaction: &spannerpb.CommitRequest_SingleUseTransaction{SingleUseTransaction: &spannerpb.TransactionOptions{
				Mode: &spannerpb.TransactionOptions_ReadWrite_{ReadWrite: &spannerpb.TransactionOptions_ReadWrite{}},
			}},
			Mutations: []*spannerpb.Mutation{{Operation: &spannerpb.Mutation_Insert{Insert: write}}},
		})
		if err != nil {
			f.t.Fatal(err)
		}
	}
}

// quick makes retries cost no time.
func quick() wire.Retry { return wire.Retry{Initial: time.Nanosecond, Max: time.Nanosecond} }

// plan plans the read of one source at a strong snapshot.
func (f *fixture) plan(r *reader.Reader, src reader.Source) *reader.Plan {
	f.t.Helper()
	snapshot, err := r.Begin(f.t.Context(), nil)
	if err != nil {
		f.t.Fatal(err)
	}
	read, err := r.Partition(f.t.Context(), snapshot, src)
	if err != nil {
		f.t.Fatal(err)
	}
	return &reader.Plan{Snapshot: snapshot, Reads: []reader.Read{read}}
}

func (f *fixture) reader(opt reader.Options) *reader.Reader {
	f.t.Helper()
	if opt.Retry == (wire.Retry{}) {
		opt.Retry = quick()
	}
	r, err := reader.New(f.conn, opt)
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

// collector is an Output that keeps every chunk in memory.
type collector struct {
	form format.Format
	// fail, if set, may refuse a chunk.
	fail func(chunk []byte) error

	mu     sync.Mutex
	opened map[int]int // how often, by partition
	closed map[int]int
	chunks []chunk
}

type chunk struct {
	partition, records int
	bytes              []byte
}

func newCollector(t *testing.T, columns []*spannerpb.StructType_Field) *collector {
	t.Helper()
	form, err := format.New(columns, format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &collector{form: form, opened: map[int]int{}, closed: map[int]int{}}
}

func (c *collector) Format(int) format.Format { return c.form }

func (c *collector) Partition(_, partition int) (reader.ChunkWriter, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened[partition]++
	return &collectorPart{c, partition}, nil
}

type collectorPart struct {
	c         *collector
	partition int
}

func (p *collectorPart) WriteChunk(b []byte, records int) error {
	if p.c.fail != nil {
		if err := p.c.fail(b); err != nil {
			return err
		}
	}
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	p.c.chunks = append(p.c.chunks, chunk{p.partition, records, slices.Clone(b)})
	return nil
}

func (p *collectorPart) Close() error {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	p.c.closed[p.partition]++
	return nil
}

// rows reads the chunks back with encoding/json.
func (c *collector) rows(t *testing.T) []thing {
	t.Helper()
	var out []thing
	for _, ch := range c.chunks {
		lines := strings.Split(strings.TrimSuffix(string(ch.bytes), "\n"), "\n")
		if len(lines) != ch.records {
			t.Fatalf("a chunk of %d lines was said to have %d records", len(lines), ch.records)
		}
		for _, line := range lines {
			var row thing
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatalf("line %q: %v", line, err)
			}
			out = append(out, row)
		}
	}
	return out
}

// checkThings wants each row once, in any order.
func checkThings(t *testing.T, got, want []thing) bool {
	t.Helper()
	key := func(row thing) string {
		b, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	missing := map[int64]string{}
	for _, row := range want {
		missing[row.Id] = key(row)
	}
	for _, row := range got {
		w, ok := missing[row.Id]
		if !ok {
			t.Errorf("row %d came twice, or does not exist", row.Id)
			return false
		}
		if w != key(row) {
			t.Errorf("row %d: got %s, want %s", row.Id, key(row), w)
			return false
		}
		delete(missing, row.Id)
	}
	if len(missing) > 0 {
		t.Errorf("%d of %d rows are missing, %d the first of them", len(missing), len(want), slices.Min(slices.Collect(maps.Keys(missing))))
		return false
	}
	return true
}
