package writer_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/protobuf/proto"

	"spanbulk/internal/schema"
	"spanbulk/internal/wire"
	"spanbulk/internal/writer"
)

// sizes are the numbers of groups in the calls, in order.
func sizes(f *fake) []int {
	var out []int
	for _, b := range f.batches {
		out = append(out, len(b.MutationGroups))
	}
	return out
}

func TestBatchLimits(t *testing.T) {
	indexed := plainTable(t, 2,
		schema.Index{Name: "A", Key: []schema.KeyPart{{Column: "C1"}}, Storing: []string{"C2"}},
		schema.Index{Name: "B", Key: []schema.KeyPart{{Column: "c1"}, {Column: "Id"}}})
	plain := plainTable(t, 2)
	upsert := func(table *writer.Table, values ...string) writer.Record {
		return writer.Record{Table: table, Operation: wire.InsertOrUpdate, Values: texts(values...)}
	}
	del := func(table *writer.Table, id string) writer.Record {
		return writer.Record{Table: table, Operation: wire.Delete, Values: texts(id)}
	}
	distinct := func(n int, make func(id string) writer.Record) []writer.Record {
		var out []writer.Record
		for i := range n {
			out = append(out, make(string(rune('1'+i))))
		}
		return out
	}
	tests := []struct {
		name    string
		opt     writer.Options
		records []writer.Record
		want    []int
	}{
		{"mutations", writer.Options{MaxBatchMutations: 3}, distinct(7, func(id string) writer.Record { return upsert(plain, id, "x") }), []int{3, 3, 1}},
		{"cells of columns", writer.Options{MaxBatchCells: 6}, distinct(5, func(id string) writer.Record { return upsert(plain, id, "x", "y") }), []int{2, 2, 1}},
		// Id is 1 + B, C1 is 1 + A + B, C2 is 1 + A.
		{"cells of indexes", writer.Options{MaxBatchCells: 14}, distinct(5, func(id string) writer.Record { return upsert(indexed, id, "x", "y") }), []int{2, 2, 1}},
		{"one cell less", writer.Options{MaxBatchCells: 13}, distinct(3, func(id string) writer.Record { return upsert(indexed, id, "x", "y") }), []int{1, 1, 1}},
		// A delete is 1 + A + B.
		{"cells of deletes", writer.Options{MaxBatchCells: 6}, distinct(5, func(id string) writer.Record { return del(indexed, id) }), []int{2, 2, 1}},
		{"more cells than a batch", writer.Options{MaxBatchCells: 4}, []writer.Record{
			del(plain, "1"), upsert(indexed, "2", "x", "y"), del(plain, "3"), del(plain, "4"),
		}, []int{1, 1, 2}},
		{"all at once", writer.Options{}, distinct(9, func(id string) writer.Record { return upsert(plain, id, "x") }), []int{9}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := serve(t, &fake{})
			tt.opt.Parallelism = 1
			tt.opt.Linger = time.Minute
			opt := quick(tt.opt)
			if _, err := write(t, connect(t, f.target), opt, tt.records, len(tt.records)); err != nil {
				t.Fatal(err)
			}
			if got := sizes(f); !slices.Equal(got, tt.want) {
				t.Errorf("batches of %v, want %v", got, tt.want)
			}
			checkBalance(t, opt.Progress, int64(len(tt.records)), 0)
		})
	}
}

// TestBatchBytesAreExact sets the limit to the size of a request of three
// records, and to one byte less.
func TestBatchBytesAreExact(t *testing.T) {
	for _, method := range []writer.Method{writer.BatchWrite, writer.Commit} {
		for _, length := range []int{1, 100, 127, 128, 20_000} {
			table := plainTable(t, 1)
			records := numbered(table, 9)
			for i := range records {
				records[i].Values[1] = text(strings.Repeat("x", length))
			}
			first := func(opt writer.Options) (groups, size int) {
				f := serve(t, &fake{})
				opt.Parallelism, opt.Linger, opt.Method, opt.TransactionTag, opt.RequestTag = 1, time.Minute, method, "tag", "request"
				if _, err := write(t, connect(t, f.target), quick(opt), records, 9); err != nil {
					t.Fatal(err)
				}
				if method == writer.Commit {
					return len(f.commits[0].Mutations), proto.Size(f.commits[0])
				}
				return len(f.batches[0].MutationGroups), proto.Size(f.batches[0])
			}
			_, limit := first(writer.Options{MaxBatchMutations: 3})
			if groups, size := first(writer.Options{MaxBatchBytes: limit}); groups != 3 || size != limit {
				t.Errorf("method %v, length %d: limit %d gave %d groups in %d bytes, want 3", method, length, limit, groups, size)
			}
			if groups, _ := first(writer.Options{MaxBatchBytes: limit - 1}); groups != 2 {
				t.Errorf("method %v, length %d: limit %d gave %d groups, want 2", method, length, limit-1, groups)
			}
		}
	}
}

// TestRecordTooLargeForAnyRequest wants it refused unsent, and the others written.
func TestRecordTooLargeForAnyRequest(t *testing.T) {
	f := serve(t, &fake{})
	records := numbered(plainTable(t, 11), 3)
	for large := wire.AppendString(nil, make([]byte, writer.MaxRequestBytes/10)); len(records[1].Values) < 12; {
		records[1].Values = append(records[1].Values, large)
	}
	var refused refusals
	opt := quick(writer.Options{Refuser: &refused})
	if _, err := write(t, connect(t, f.target), opt, records, 3); err != nil {
		t.Fatal(err)
	}
	if len(refused.list) != 1 || refused.list[0].Position.Line != 2 || refused.list[0].Sent {
		t.Errorf("refused %+v", refused.list)
	}
	want := "write in.ndjson:2 to table T: it takes 1048576"
	if got := refused.list[0].Err.Error(); !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	checkBalance(t, opt.Progress, 3, 0)
}

func TestLingerSendsWhatThereIs(t *testing.T) {
	sent := make(chan int, 10)
	f := serve(t, &fake{batchWrite: func(_ int, req *spannerpb.BatchWriteRequest, stream spannerpb.Spanner_BatchWriteServer) error {
		sent <- len(req.MutationGroups)
		return answerAll(len(req.MutationGroups), stream)
	}})
	w, err := writer.New(connect(t, f.target), quick(writer.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	chunks := make(chan *writer.Chunk)
	done := make(chan error, 1)
	go func() { done <- w.Run(t.Context(), chunks) }()
	records := numbered(plainTable(t, 1), 2)
	for i := range records { // the input stays open, and comes one by one
		c := w.NewChunk(source, nil)
		c.Add(&records[i])
		chunks <- c
		if n := <-sent; n != 1 {
			t.Errorf("a batch of %d", n)
		}
	}
	close(chunks)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestRateLimit(t *testing.T) {
	f := serve(t, &fake{})
	opt := quick(writer.Options{RateLimit: 2000})
	began := time.Now()
	if _, err := write(t, connect(t, f.target), opt, numbered(plainTable(t, 1), 1000), 100); err != nil {
		t.Fatal(err)
	}
	// The first 200 are free.
	if took := time.Since(began); took < 390*time.Millisecond {
		t.Errorf("1000 records at 2000 a second took %v", took)
	}
}

func TestDryRunSendsNothing(t *testing.T) {
	f := serve(t, &fake{})
	var refused refusals
	opt := quick(writer.Options{DryRun: true, Refuser: &refused})
	records := numbered(plainTable(t, 1), 10)
	records[3].Table = nil
	if _, err := write(t, connect(t, f.target), opt, records, 4); err != nil {
		t.Fatal(err)
	}
	if len(f.batches) != 0 || opt.Progress.Cells.Load() != 18 || opt.Progress.Undecided() != 9 || len(refused.list) != 1 {
		t.Errorf("%d calls, %d cells, %d undecided, %d refused", len(f.batches), opt.Progress.Cells.Load(), opt.Progress.Undecided(), len(refused.list))
	}
}

// TestMemoryIsBounded wants the writer to stop taking records while Spanner does
// not answer.
func TestMemoryIsBounded(t *testing.T) {
	release := make(chan struct{})
	f := serve(t, &fake{batchWrite: func(_ int, req *spannerpb.BatchWriteRequest, stream spannerpb.Spanner_BatchWriteServer) error {
		<-release
		return answerAll(len(req.MutationGroups), stream)
	}})
	opt := quick(writer.Options{MaxBatchBytes: 1000, HoldBytes: 50_000, Parallelism: 2})
	w, err := writer.New(connect(t, f.target), opt)
	if err != nil {
		t.Fatal(err)
	}
	chunks := make(chan *writer.Chunk)
	done := make(chan error, 1)
	go func() { done <- w.Run(t.Context(), chunks) }()
	table := plainTable(t, 1)
	taken := 0
	for blocked := false; !blocked; {
		c := w.NewChunk(source, nil)
		for _, r := range numbered(table, 10) { // the same keys each time: all but the first wait
			c.Add(&r)
		}
		select {
		case chunks <- c:
			taken += c.Size()
		case <-time.After(200 * time.Millisecond):
			blocked = true
		}
		if taken > 200_000 {
			t.Error("the writer takes records without end")
			break
		}
	}
	if taken < 40_000 {
		t.Errorf("it stopped at %d bytes", taken)
	}
	close(release)
	close(chunks)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
