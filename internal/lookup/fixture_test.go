package lookup_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
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
	"spanbulk/internal/lookup"
	"spanbulk/internal/spannertest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

// fixture is a database and a connection to it.
type fixture struct {
	t       testing.TB
	spanner *spannertest.Database
	conn    *database.Conn
}

func start(t testing.TB, o emulator.Options, ddl ...string) *fixture {
	t.Helper()
	return startIn(t, databasepb.DatabaseDialect_GOOGLE_STANDARD_SQL, o, ddl...)
}

func startIn(t testing.TB, dialect databasepb.DatabaseDialect, o emulator.Options, ddl ...string) *fixture {
	t.Helper()
	spanner := spannertest.New(t, spannertest.Options{Emulator: o, Dialect: dialect, DDL: ddl})
	return &fixture{t, spanner, spanner.Open(t, 2)}
}

// write commits rows and returns when that was.
func (f *fixture) write(table string, columns []string, rows ...[]*structpb.Value) time.Time {
	f.t.Helper()
	write := &spannerpb.Mutation_Write{Table: table, Columns: columns}
	for _, row := range rows {
		write.Values = append(write.Values, &structpb.ListValue{Values: row})
	}
	resp, err := f.conn.Client().Commit(context.Background(), &spannerpb.CommitRequest{
		Session: f.conn.Session(),
		Transaction: &spannerpb.CommitRequest_SingleUseTransaction{SingleUseTransaction: &spannerpb.TransactionOptions{
			Mode: &spannerpb.TransactionOptions_ReadWrite_{ReadWrite: &spannerpb.TransactionOptions_ReadWrite{}},
		}},
		Mutations: []*spannerpb.Mutation{{Operation: &spannerpb.Mutation_InsertOrUpdate{InsertOrUpdate: write}}},
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return resp.GetCommitTimestamp().AsTime()
}

func text(s string) *structpb.Value { return structpb.NewStringValue(s) }

// open opens lookups with pauses that cost no time.
func (f *fixture) open(o lookup.Options) *lookup.Lookup {
	f.t.Helper()
	o.Backoff, o.MaxBackoff = time.Nanosecond, time.Nanosecond
	l, err := lookup.Open(f.t.Context(), f.conn, o)
	if err != nil {
		f.t.Fatal(err)
	}
	return l
}

// collector is an Output that keeps what it is handed.
type collector struct {
	lookup *lookup.Lookup
	extend format.ExtendOptions
	fail   func() error // of WriteChunk, if set

	mu      sync.Mutex
	out     bytes.Buffer
	records int
	written chan struct{} // gets a token with every chunk, if set
}

func (c *collector) Format(b *lookup.Block) (format.Format, error) {
	o := c.extend
	o.From, o.Layout = b.Kind, b.Layout
	f, err := format.Extend(c.lookup.Columns(), o)
	if err == nil && c.out.Len() == 0 {
		c.out.Write(f.Header())
	}
	return f, err
}

func (c *collector) WriteChunk(b []byte, records int) error {
	if c.fail != nil {
		if err := c.fail(); err != nil {
			return err
		}
	}
	c.mu.Lock()
	c.out.Write(b)
	c.records += records
	c.mu.Unlock()
	if c.written != nil {
		c.written <- struct{}{}
	}
	return nil
}

func (c *collector) lines() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.out.Len() == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(c.out.String(), "\n"), "\n")
}

// source reads an input as the command does, but in one goroutine.
func source(t testing.TB, l *lookup.Lookup, in io.Reader, split format.SplitOptions, o lookup.KeyReaderOptions) lookup.Source {
	t.Helper()
	readers, err := l.NewKeyReaders(o)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := readers.NewReader()
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context, deliver func(*lookup.Block) error) error {
		splitter := format.NewSplitter(in, split)
		for {
			chunk := new(format.Chunk)
			if err := splitter.Next(chunk); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			b, readErr := reader.Read(chunk)
			if b != nil {
				if err := deliver(b); err != nil {
					return err
				}
			}
			if readErr != nil {
				return readErr
			}
		}
	}
}

// run joins the lines of NDJSON and returns the lines that come out.
func (f *fixture) run(l *lookup.Lookup, in string) ([]string, error) {
	f.t.Helper()
	c := &collector{lookup: l}
	err := l.Run(f.t.Context(), source(f.t, l, strings.NewReader(in), format.SplitOptions{}, lookup.KeyReaderOptions{}), c)
	return c.lines(), err
}

// sorted returns the lines in an order of their own.
func sorted(lines []string) []string { return slices.Sorted(slices.Values(lines)) }

func pick[T any](r *rand.Rand, choices ...T) T { return choices[r.IntN(len(choices))] }
