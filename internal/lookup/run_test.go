package lookup_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"spanbulk/internal/emulator"
	"spanbulk/internal/fault"
	"spanbulk/internal/format"
	"spanbulk/internal/lookup"
	"spanbulk/internal/randtest"
)

const ddl = `CREATE TABLE Items (Id INT64, Name STRING(MAX)) PRIMARY KEY (Id)`

// items is a table of n rows, and lookups in it.
func items(t testing.TB, n int) *fixture {
	t.Helper()
	f := start(t, emulator.Options{}, ddl)
	var rows [][]*structpb.Value
	for i := range n {
		rows = append(rows, []*structpb.Value{text(strconv.Itoa(i)), text("item " + strconv.Itoa(i))})
	}
	f.write("Items", []string{"Id", "Name"}, rows...)
	return f
}

func itemOptions() lookup.Options {
	return lookup.Options{Table: "Items", Columns: []string{"Name"}, Key: []lookup.KeyColumn{{Column: "Id", Field: "Id"}}, Progress: new(lookup.Progress)}
}

func itemRecords(ids ...int) string {
	var b strings.Builder
	for _, id := range ids {
		fmt.Fprintf(&b, "{\"Id\":%d}\n", id)
	}
	return b.String()
}

func upTo(n int) []int {
	ids := make([]int, n)
	for i := range ids {
		ids[i] = i
	}
	return ids
}

func TestSameKeyOnce(t *testing.T) {
	f := items(t, 3)
	o := itemOptions()
	lines, err := f.run(f.open(o), strings.Repeat(itemRecords(1, 2, 7), 200))
	if err != nil || len(lines) != 600 || lines[0] != `{"Id":1,"Name":"item 1"}` || lines[599] != `{"Id":7,"Name":null}` {
		t.Fatalf("%d lines: %v", len(lines), err)
	}
	if keys, batches := o.Progress.KeysRead.Load(), o.Progress.Batches.Load(); keys != 3 || batches != 1 {
		t.Errorf("%d keys read in %d batches, want 3 in 1", keys, batches)
	}
}

// Each of Spanner's five bounds reads what it says.
func TestTimestampBounds(t *testing.T) {
	const between = 40 * time.Minute
	var ahead atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	f := start(t, emulator.Options{Now: now}, ddl)
	f.spanner.Embedded(t, "a clock of the test's own")
	before := f.write("Items", []string{"Id", "Name"}, []*structpb.Value{text("0"), text("old")})
	ahead.Store(int64(between))
	after := f.write("Items", []string{"Id", "Name"}, []*structpb.Value{text("0"), text("new")})
	type readOnly = spannerpb.TransactionOptions_ReadOnly
	for name, c := range map[string]struct {
		bound func() *readOnly
		want  string
	}{
		"none": {func() *readOnly { return nil }, "new"},
		"strong": {func() *readOnly {
			return &readOnly{TimestampBound: &spannerpb.TransactionOptions_ReadOnly_Strong{Strong: true}}
		}, "new"},
		"read timestamp": {func() *readOnly {
			return &readOnly{TimestampBound: &spannerpb.TransactionOptions_ReadOnly_ReadTimestamp{ReadTimestamp: timestamppb.New(before)}}
		}, "old"},
		"exact staleness": {func() *readOnly {
			return &readOnly{TimestampBound: &spannerpb.TransactionOptions_ReadOnly_ExactStaleness{ExactStaleness: durationpb.New(between / 2)}}
		}, "old"},
		"min read timestamp": {func() *readOnly {
			return &readOnly{TimestampBound: &spannerpb.TransactionOptions_ReadOnly_MinReadTimestamp{MinReadTimestamp: timestamppb.New(after)}}
		}, "new"},
		"max staleness": {func() *readOnly {
			return &readOnly{TimestampBound: &spannerpb.TransactionOptions_ReadOnly_MaxStaleness{MaxStaleness: durationpb.New(time.Hour)}}
		}, "new"},
	} {
		t.Run(name, func(t *testing.T) {
			o := itemOptions()
			o.Bound = c.bound()
			lines, err := f.run(f.open(o), itemRecords(0))
			if want := `{"Id":0,"Name":"` + c.want + `"}`; err != nil || !slices.Equal(lines, []string{want}) {
				t.Errorf("got %q, %v, want %s", lines, err, want)
			}
		})
	}
	o := itemOptions()
	o.Bound = &readOnly{TimestampBound: &spannerpb.TransactionOptions_ReadOnly_ReadTimestamp{ReadTimestamp: timestamppb.New(time.Now().Add(-2 * time.Hour))}}
	if _, err := lookup.Open(t.Context(), f.conn, o); err == nil {
		t.Error("a timestamp before the table's creation is taken")
	}
}

// Only three codes are tried again, so many times and not more often.
func TestRetries(t *testing.T) {
	f := items(t, 1)
	delay := time.Nanosecond
	for _, c := range []struct {
		code    codes.Code
		retried bool
	}{
		{codes.Aborted, true}, {codes.DeadlineExceeded, true}, {codes.Unavailable, true},
		{codes.ResourceExhausted, false}, {codes.Internal, false}, {codes.NotFound, false}, {codes.FailedPrecondition, false}, {codes.Unknown, false},
	} {
		for _, maxRetries := range []int{0, 3} {
			t.Run(fmt.Sprintf("%v/%d", c.code, maxRetries), func(t *testing.T) {
				defer f.spanner.Faults(t).Clear()
				o := itemOptions()
				o.MaxRetries = maxRetries
				l := f.open(o)
				f.spanner.Faults(t).Set(emulator.Rule{Method: "StreamingRead", Every: 1, Fault: emulator.Fault{
					Code: c.code, Message: "stream terminated by RST_STREAM with key 0", RetryDelay: &delay}})
				lines, err := f.run(l, itemRecords(0))
				calls := 1
				if c.retried {
					calls += maxRetries
				}
				if got := f.spanner.Faults(t).Calls("StreamingRead"); got != calls || int64(got-1) != o.Progress.Retries.Load() {
					t.Errorf("%d calls and %d retries, want %d calls", got, o.Progress.Retries.Load(), calls)
				}
				if (fault.Hint(err) != "") != (c.code == codes.ResourceExhausted || c.retried && maxRetries > 0) {
					t.Errorf("hint %q", fault.Hint(err))
				}
				if fault.Code(err) != c.code || len(lines) > 0 || strings.Contains(err.Error(), "\n") {
					t.Errorf("got %q, %v", lines, err)
				}
				// One success less and it would have been enough.
				f.spanner.Faults(t).SetFunc(func(_ string, call int) *emulator.Fault {
					if call <= maxRetries {
						return &emulator.Fault{Code: codes.Unavailable, Message: "broken"}
					}
					return nil
				})
				if _, err := f.run(l, itemRecords(0)); err != nil {
					t.Errorf("after %d failures: %v", maxRetries, err)
				}
			})
		}
	}
}

// Rows come from one attempt only: what a broken one brought is dropped.
func TestOneTimestampForABatch(t *testing.T) {
	f := start(t, emulator.Options{Messages: emulator.Messages{MaxRows: 1}}, ddl)
	write := func(name string) {
		f.write("Items", []string{"Id", "Name"}, []*structpb.Value{text("0"), text(name)}, []*structpb.Value{text("1"), text(name)})
	}
	write("old")
	o := itemOptions()
	o.MaxRetries = 1
	o.OnRetry = func(error, int, time.Duration) { write("new") }
	l := f.open(o)
	f.spanner.Faults(t).Set(emulator.Rule{Method: "StreamingRead", Fault: emulator.Fault{Code: codes.Unavailable, AfterMessages: 1}})
	lines, err := f.run(l, itemRecords(0, 1))
	if want := []string{`{"Id":0,"Name":"new"}`, `{"Id":1,"Name":"new"}`}; err != nil || !slices.Equal(lines, want) {
		t.Errorf("got %q, %v", lines, err)
	}
}

// A batch that takes long holds back those behind it, or not.
func TestOrder(t *testing.T) {
	f := items(t, 100)
	for _, unordered := range []bool{false, true} {
		o := itemOptions()
		o.BatchKeys, o.Unordered = 10, unordered
		l := f.open(o)
		f.spanner.Faults(t).Set(emulator.Rule{Method: "StreamingRead", Fault: emulator.Fault{Stall: 100 * time.Millisecond}})
		lines, err := f.run(l, itemRecords(upTo(100)...))
		if err != nil || len(lines) != 100 {
			t.Fatalf("%d lines: %v", len(lines), err)
		}
		var want []string
		for i := range 100 {
			want = append(want, fmt.Sprintf(`{"Id":%d,"Name":"item %d"}`, i, i))
		}
		if slices.Equal(lines, want) == unordered || !slices.Equal(sorted(lines), sorted(want)) {
			t.Errorf("unordered %v: %q", unordered, lines)
		}
	}
}

// What is in flight is bounded while the first batch does not end, and everything
// ends with the context.
func TestBoundedWindow(t *testing.T) {
	f := items(t, 10)
	o := itemOptions()
	o.BatchKeys, o.Parallelism = 1, 2
	l := f.open(o)
	f.spanner.Faults(t).Set(emulator.Rule{Method: "StreamingRead", Fault: emulator.Fault{Stall: time.Hour}})
	endless, w := io.Pipe()
	ctx, cancel := context.WithCancelCause(t.Context())
	var sent atomic.Int64
	go func() {
		for i := 0; ; i++ {
			if _, err := io.WriteString(w, itemRecords(i%10)); err != nil {
				return
			}
			sent.Add(1)
		}
	}()
	ended := make(chan error)
	c := &collector{lookup: l}
	go func() {
		ended <- l.Run(ctx, source(t, l, endless, format.SplitOptions{ChunkBytes: 1}, lookup.KeyReaderOptions{}), c)
	}()
	// Nothing tells that the window is full but that nothing more is taken.
	for last := int64(-1); last != sent.Load(); {
		last = sent.Load()
		time.Sleep(50 * time.Millisecond)
	}
	if n := sent.Load(); n < 2 || n > 40 {
		t.Errorf("%d records were taken behind a batch that does not end", n)
	}
	cause := errors.New("interrupted")
	cancel(cause)
	endless.CloseWithError(cause) // as the input does
	if err := <-ended; !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
	// Of the two batches read at once either may be the one that is held.
	if lines := c.lines(); len(lines) > 1 {
		t.Errorf("%d lines came out before their turn", len(lines))
	}
}

// A record goes out although no other follows.
func TestSlowInput(t *testing.T) {
	f := items(t, 10)
	l := f.open(itemOptions())
	in, w := io.Pipe()
	c := &collector{lookup: l, written: make(chan struct{}, 10)}
	ended := make(chan error)
	go func() {
		ended <- l.Run(t.Context(), source(t, l, in, format.SplitOptions{Eager: true}, lookup.KeyReaderOptions{}), c)
	}()
	for i := range 3 {
		io.WriteString(w, itemRecords(i))
		<-c.written
	}
	w.Close()
	if err := <-ended; err != nil || len(c.lines()) != 3 {
		t.Errorf("got %q, %v", c.lines(), err)
	}
}

// A bad record ends the run with its number, behind everything before it.
func TestBadRecords(t *testing.T) {
	f := items(t, 300)
	for name, c := range map[string]struct{ record, want string }{
		"wrong type":       {`{"Id":1.5}`, "look up record 251: field Id (INT64): not a whole number in decimal digits"},
		"missing":          {`{"id2":1}`, "look up record 251: the key field Id (INT64) is missing"},
		"twice":            {`{"Id":1,"a":2,"a":3}`, `look up record 251: field "a": the record has it twice`},
		"twice, other way": {`{"Id":1,"id":3}`, "look up record 251: field Id (INT64): the record has it twice"},
		"no JSON":          {`{"Id":1,}`, "look up record 251: malformed JSON: the name of a field in double quotes is missing"},
		"no object":        {`7`, "look up record 251: not a JSON object"},
		"collision":        {`{"Id":1,"name":7}`, "look up record 251: the records have a field Name, which a column is to become (--prefix or --nest puts the columns elsewhere)"},
	} {
		t.Run(name, func(t *testing.T) {
			o := itemOptions()
			o.BatchKeys = 7
			l := f.open(o)
			in := itemRecords(upTo(250)...) + c.record + "\n" + itemRecords(upTo(9)...)
			out := &collector{lookup: l}
			err := l.Run(t.Context(), source(t, l, strings.NewReader(in), format.SplitOptions{ChunkBytes: 500}, lookup.KeyReaderOptions{Names: []string{"Name"}}), out)
			if err == nil || err.Error() != c.want || fault.Code(err) != codes.InvalidArgument {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
			if lines := out.lines(); len(lines) != 250 || lines[249] != `{"Id":249,"Name":"item 249"}` {
				t.Errorf("%d records came out before it, want 250", len(lines))
			}
			if p := o.Progress; p.RecordsIn.Load() != 251 || p.Applied.Load() != 250 || p.Refused.Load() != 1 {
				t.Errorf("in %d, applied %d, refused %d", p.RecordsIn.Load(), p.Applied.Load(), p.Refused.Load())
			}
		})
	}
}

// Records before the damage in a block come out.
func TestDamagedAvro(t *testing.T) {
	f := items(t, 5)
	for name, c := range map[string]struct {
		count int    // of records that the block claims to have
		rest  string // of the block behind three of them
		want  string // the error
	}{
		"not damaged":         {3, "", ""},
		"more than it claims": {3, "\x02", "the Avro file is damaged"},
		"a number too long":   {4, strings.Repeat("\xff", 11), "the Avro file is damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			file := avroFile(c.count, varint(0)+varint(1)+varint(2)+c.rest)
			l := f.open(itemOptions())
			out := &collector{lookup: l, extend: format.ExtendOptions{Options: format.Options{Kind: format.NDJSON}}}
			err := l.Run(t.Context(), source(t, l, strings.NewReader(file), format.SplitOptions{Kind: format.Avro}, lookup.KeyReaderOptions{}), out)
			if lines := out.lines(); len(lines) != 3 || lines[2] != `{"Id":2,"Name":"item 2"}` {
				t.Errorf("got %q", lines)
			}
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func varint(n int) string { return string(binary.AppendVarint(nil, int64(n))) }

// avroFile is a file of one block that claims to have so many records of a field
// Id.
func avroFile(count int, block string) string {
	const schema = `{"type":"record","name":"R","fields":[{"name":"Id","type":"long"}]}`
	sized := func(s string) string { return varint(len(s)) + s }
	sync := strings.Repeat("s", 16)
	return "Obj\x01" + varint(1) + sized("avro.schema") + sized(schema) + varint(0) + sync + varint(count) + sized(block) + sync
}

func avroIDs(n int) string {
	var block string
	for i := range n {
		block += varint(i)
	}
	return avroFile(n, block)
}

func TestKeyTooLong(t *testing.T) {
	f := start(t, emulator.Options{}, `CREATE TABLE S (K STRING(MAX)) PRIMARY KEY (K)`)
	l := f.open(lookup.Options{Table: "S", Columns: []string{"K"}, Key: []lookup.KeyColumn{{Column: "K", Field: "k"}}})
	lines, err := f.run(l, `{"k":"a"}`+"\n"+`{"k":"`+strings.Repeat("x", 20<<10)+`"}`)
	if err == nil || !strings.Contains(err.Error(), "record 2: the key takes 20488 bytes, and Spanner's keys have at most 8 KiB") || len(lines) != 1 {
		t.Errorf("%d lines, %v", len(lines), err)
	}
}

// A table without key columns has one row at most, which every record matches.
func TestTableOfOneRow(t *testing.T) {
	f := start(t, emulator.Options{}, `CREATE TABLE One (V INT64) PRIMARY KEY ()`)
	f.write("One", []string{"V"}, []*structpb.Value{text("7")})
	lines, err := f.run(f.open(lookup.Options{Table: "One", Columns: []string{"V"}}), "{}\n{\"a\":1}\n")
	if want := []string{`{"V":7}`, `{"a":1,"V":7}`}; err != nil || !slices.Equal(lines, want) {
		t.Errorf("got %q, %v", lines, err)
	}
}

// An output that fails ends everything; nothing it has not taken counts.
func TestOutputFails(t *testing.T) {
	f := items(t, 100)
	o := itemOptions()
	o.BatchKeys = 3
	l := f.open(o)
	gone := errors.New("the reader is gone")
	c := &collector{lookup: l, fail: func() error { return gone }}
	err := l.Run(t.Context(), source(t, l, strings.NewReader(itemRecords(upTo(100)...)), format.SplitOptions{}, lookup.KeyReaderOptions{}), c)
	if !errors.Is(err, gone) || o.Progress.Applied.Load() != 0 {
		t.Errorf("%d applied, %v", o.Progress.Applied.Load(), err)
	}
}

// Large rows make batches of fewer keys, from the first on.
func TestLargeRows(t *testing.T) {
	f := start(t, emulator.Options{}, ddl)
	const n = 12
	size := randtest.Size(2_500_000)
	for i := range n {
		f.write("Items", []string{"Id", "Name"}, []*structpb.Value{text(strconv.Itoa(i)), text(strings.Repeat("x", size))})
	}
	o := itemOptions()
	o.MaxBytes = randtest.Size(32 << 20)
	lines, err := f.run(f.open(o), itemRecords(upTo(n)...))
	if err != nil || len(lines) != n || len(lines[n-1]) < size {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	// The first two are gathered before a row has told how large rows are.
	if got := o.Progress.Batches.Load(); got < 2+n-8 {
		t.Errorf("%d batches for %d rows of %d bytes", got, n, size)
	}
}

// Rows that are large only after many small ones are read in parts, and in order.
func TestLargeRowsAfterSmallOnes(t *testing.T) {
	const small, large, size = 500, 120, 20_000
	f := items(t, small)
	for i := range large {
		f.write("Items", []string{"Id", "Name"}, []*structpb.Value{text(strconv.Itoa(small + i)), text(strings.Repeat("x", size))})
	}
	o := itemOptions()
	o.MaxBytes = 10 * size
	lines, err := f.run(f.open(o), itemRecords(upTo(small+large)...))
	if err != nil || len(lines) != small+large {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	for i, line := range lines {
		if !strings.HasPrefix(line, fmt.Sprintf(`{"Id":%d,`, i)) || (len(line) > size) != (i >= small) {
			t.Fatalf("line %d is %.40q of %d bytes", i, line, len(line))
		}
	}
	if keys := o.Progress.KeysRead.Load(); keys <= small+large {
		t.Errorf("%d keys read: no batch was too large", keys)
	}
}

// Many records of one large row do not make a large batch: their output is made
// as it is written.
func TestManyRecordsOfALargeRow(t *testing.T) {
	const size = 100_000
	n := randtest.Size(300)
	f := start(t, emulator.Options{}, ddl)
	f.write("Items", []string{"Id", "Name"}, []*structpb.Value{text("7"), text(strings.Repeat("x", size))})
	o := itemOptions()
	o.MaxBytes = 10 * size
	l := f.open(o)
	c := &chunkSizes{collector: collector{lookup: l}}
	err := l.Run(t.Context(), source(t, l, strings.NewReader(strings.Repeat(itemRecords(7), n)), format.SplitOptions{}, lookup.KeyReaderOptions{}), c)
	if lines := c.lines(); err != nil || len(lines) != n || o.Progress.KeysRead.Load() != 1 {
		t.Errorf("%d lines of %d keys, %v", len(lines), o.Progress.KeysRead.Load(), err)
	}
	if c.largest > 5*size {
		t.Errorf("a chunk has %d bytes", c.largest)
	}
}

// chunkSizes keeps also how large the largest chunk was.
type chunkSizes struct {
	collector
	largest int
}

func (c *chunkSizes) WriteChunk(b []byte, records int) error {
	c.largest = max(c.largest, len(b))
	return c.collector.WriteChunk(b, records)
}

// A record that cannot be written ends the run behind those of its batch that
// came before it.
func TestRecordThatCannotBeWritten(t *testing.T) {
	f := start(t, emulator.Options{}, `CREATE TABLE Times (Id INT64, Moment TIMESTAMP) PRIMARY KEY (Id)`)
	var rows [][]*structpb.Value
	for i := range 10 {
		at := "2026-01-31T12:00:00Z"
		if i == 8 {
			at = "2026-01-31T12:00:00.000000001Z"
		}
		rows = append(rows, []*structpb.Value{text(strconv.Itoa(i)), text(at)})
	}
	f.write("Times", []string{"Id", "Moment"}, rows...)
	o := lookup.Options{Table: "Times", Columns: []string{"Moment"}, Key: []lookup.KeyColumn{{Column: "Id", Field: "Id"}}, Progress: new(lookup.Progress)}
	l := f.open(o)
	c := &collector{lookup: l, extend: format.ExtendOptions{Options: format.Options{Kind: format.Avro, Avro: format.AvroOptions{Timestamp: "micros"}}}}
	err := l.Run(t.Context(), source(t, l, strings.NewReader(avroIDs(10)), format.SplitOptions{Kind: format.Avro}, lookup.KeyReaderOptions{}), c)
	record, ok := errors.AsType[*lookup.RecordError](err)
	if !ok || record.Number != 9 {
		t.Errorf("got %v", err)
	}
	if c.records != 8 || o.Progress.Applied.Load() != 8 || o.Progress.Matched.Load() != 8 {
		t.Errorf("%d records came out, %d applied, %d matched", c.records, o.Progress.Applied.Load(), o.Progress.Matched.Load())
	}
}

func TestOpenRefuses(t *testing.T) {
	f := items(t, 1)
	for name, change := range map[string]func(*lookup.Options){
		"no table":         func(o *lookup.Options) { o.Table = "" },
		"no columns":       func(o *lookup.Options) { o.Columns = nil },
		"unknown table":    func(o *lookup.Options) { o.Table = "Itemz" },
		"unknown column":   func(o *lookup.Options) { o.Columns = []string{"Nome"} },
		"unknown index":    func(o *lookup.Options) { o.Index = "ByName" },
		"batch keys":       func(o *lookup.Options) { o.BatchKeys = lookup.MaxBatchKeys + 1 },
		"parallelism":      func(o *lookup.Options) { o.Parallelism = -1 },
		"retries":          func(o *lookup.Options) { o.MaxRetries = -1 },
		"bytes":            func(o *lookup.Options) { o.MaxBytes = -1 },
		"cache of nothing": func(o *lookup.Options) { o.Cache = &lookup.CacheOptions{} },
	} {
		o := itemOptions()
		change(&o)
		if _, err := lookup.Open(t.Context(), f.conn, o); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestKeyReadersRefuse(t *testing.T) {
	f := start(t, emulator.Options{}, `CREATE TABLE P (A INT64, B STRING(MAX), C INT64, V INT64) PRIMARY KEY (A, B, C)`)
	key := func(a, b, c string) []lookup.KeyColumn {
		return []lookup.KeyColumn{{Column: "A", Field: a}, {Column: "B", Field: b}, {Column: "C", Field: c}}
	}
	l := f.open(lookup.Options{Table: "P", Columns: []string{"V"}, Key: key("x", "x", "c")})
	if _, err := l.NewKeyReaders(lookup.KeyReaderOptions{}); err == nil || err.Error() != "field x cannot be both a INT64 and a STRING" {
		t.Errorf("got %v", err)
	}
	l = f.open(lookup.Options{Table: "P", Columns: []string{"V"}, Key: key("x", "y", "x")})
	if _, err := l.NewKeyReaders(lookup.KeyReaderOptions{Names: []string{"X"}}); err == nil {
		t.Error("a column beside the field of its name is taken")
	}
	f.write("P", []string{"A", "B", "C", "V"}, []*structpb.Value{text("1"), text("b"), text("1"), text("5")})
	if lines, err := f.run(l, `{"y":"b","x":1}`); err != nil || !slices.Equal(lines, []string{`{"y":"b","x":1,"V":5}`}) {
		t.Errorf("one field for two parts of the key: %q, %v", lines, err)
	}
}
