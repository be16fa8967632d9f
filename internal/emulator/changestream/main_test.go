package changestream_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/changestream"
	"spanbulk/internal/emulator/value"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// database is a Timeline with a schema, in place of the store.
type database struct {
	t      testing.TB
	log    *changestream.Log
	schema *catalog.Schema

	mu   sync.Mutex
	last int64
}

func newDatabase(t testing.TB, opts changestream.Options, ddl ...string) *database {
	t.Helper()
	d := &database{t: t, schema: catalog.Empty(), last: time.Now().UnixMicro()}
	d.log = changestream.NewLog(d)
	d.log.Configure(opts)
	for _, stmt := range ddl {
		d.ddl(stmt)
	}
	return d
}

func (d *database) Now() time.Time { return time.Now() }

func (d *database) StrongTimestamp() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last = max(d.last, time.Now().UnixMicro())
	return time.UnixMicro(d.last).UTC()
}

func (d *database) Exclusively(f func(ts time.Time) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last = max(d.last+1, time.Now().UnixMicro())
	return f(time.UnixMicro(d.last).UTC())
}

func (d *database) ddl(stmt string) {
	d.t.Helper()
	next, err := d.schema.Apply(stmt)
	if err != nil {
		d.t.Fatal(err)
	}
	d.schema = next
	_ = d.Exclusively(func(ts time.Time) error {
		d.log.SetSchema(next, ts, nil)
		return nil
	})
}

// commit records a transaction and gives its timestamp.
func (d *database) commit(mods ...changestream.Mod) time.Time {
	var at time.Time
	_ = d.Exclusively(func(ts time.Time) error {
		at = ts
		d.log.Record(changestream.Transaction{Timestamp: ts, Tag: "tag", Mods: mods})
		return nil
	})
	return at
}

func (d *database) table(name string) *catalog.Table {
	t, ok := d.schema.Table(name)
	if !ok {
		d.t.Fatalf("no table %s", name)
	}
	return t
}

func (d *database) stream(name string) *changestream.Stream {
	d.t.Helper()
	s, err := d.log.Stream(name)
	if err != nil {
		d.t.Fatal(err)
	}
	return s
}

// put is a mod that leaves a row with the key k and, in the second column, v.
func (d *database) put(table string, k, v int64) changestream.Mod {
	row := value.Row(nil).AppendValue(value.Int64(k)).AppendValue(value.Int64(v))
	return changestream.Mod{Table: d.table(table), Key: string(value.AppendKeyValue(nil, value.Int64(k), value.KeyOrder{})), Type: changestream.Insert, New: row}
}

const kvDDL = "CREATE TABLE T (K INT64 NOT NULL, V INT64) PRIMARY KEY (K)"

// query reads a bounded query to its end.
func query(t testing.TB, s *changestream.Stream, q changestream.Query) []changestream.Record {
	t.Helper()
	r, err := s.Read(q, changestream.Position{})
	if err != nil {
		t.Fatal(err)
	}
	var out []changestream.Record
	for {
		batch, err := r.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, batch...)
	}
}

// next is what a reader gives next, one row.
func next(t testing.TB, r *changestream.Reader) *message {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	batch, err := r.Next(ctx)
	if err != nil || len(batch) != 1 {
		t.Fatalf("%d records, error %v", len(batch), err)
	}
	return decode(t, batch[0].Row)
}

// message is a record of any format in common terms.
type message struct {
	kind       string // data, heartbeat, children, start, end, event
	at         time.Time
	sequence   string
	tokens     []string
	parents    [][]string
	in, out    []string
	keys       []int64
	values     []int64
	txn        string
	last       bool
	records    int64
	partitions int64
}

func decode(t testing.TB, row value.Row) *message {
	t.Helper()
	var v structpb.Value
	if err := proto.Unmarshal(row.Cell(0), &v); err != nil {
		t.Fatal(err)
	}
	if v.GetListValue() != nil {
		return decodeStruct(t, v.GetListValue().GetValues()[0].GetListValue().GetValues())
	}
	if strings.HasPrefix(v.GetStringValue(), "{") {
		return decodeJSON(t, v.GetStringValue())
	}
	return decodeProto(t, v.GetStringValue())
}

func list(v *structpb.Value) []*structpb.Value { return v.GetListValue().GetValues() }

func when(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func member(t testing.TB, text, name string) int64 {
	t.Helper()
	var m map[string]*string
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if m[name] == nil {
		return -1
	}
	n, err := strconv.ParseInt(*m[name], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func decodeStruct(t testing.TB, f []*structpb.Value) *message {
	t.Helper()
	switch {
	case len(list(f[0])) == 1:
		d := list(list(f[0])[0])
		m := &message{kind: "data", at: when(t, d[0].GetStringValue()), sequence: d[1].GetStringValue(), txn: d[2].GetStringValue(), last: d[3].GetBoolValue()}
		for _, mod := range list(d[6]) {
			m.keys = append(m.keys, member(t, list(mod)[0].GetStringValue(), "K"))
			m.values = append(m.values, member(t, list(mod)[1].GetStringValue(), "V"))
		}
		m.records, _ = strconv.ParseInt(d[9].GetStringValue(), 10, 64)
		m.partitions, _ = strconv.ParseInt(d[10].GetStringValue(), 10, 64)
		return m
	case len(list(f[1])) == 1:
		return &message{kind: "heartbeat", at: when(t, list(list(f[1])[0])[0].GetStringValue())}
	}
	c := list(list(f[2])[0])
	m := &message{kind: "children", at: when(t, c[0].GetStringValue()), sequence: c[1].GetStringValue()}
	for _, child := range list(c[2]) {
		m.tokens = append(m.tokens, list(child)[0].GetStringValue())
		parents := []string{}
		for _, p := range list(list(child)[1]) {
			parents = append(parents, p.GetStringValue())
		}
		m.parents = append(m.parents, parents)
	}
	return m
}

func decodeJSON(t testing.TB, text string) *message {
	t.Helper()
	var r struct {
		Data *struct {
			At   time.Time `json:"commit_timestamp"`
			Mods []struct {
				Keys map[string]string  `json:"keys"`
				New  map[string]*string `json:"new_values"`
			} `json:"mods"`
		} `json:"data_change_record"`
		Heartbeat *struct {
			At time.Time `json:"timestamp"`
		} `json:"heartbeat_record"`
		Children *struct {
			At       time.Time `json:"start_timestamp"`
			Sequence string    `json:"record_sequence"`
			Children []struct {
				Token   string   `json:"token"`
				Parents []string `json:"parent_partition_tokens"`
			} `json:"child_partitions"`
		} `json:"child_partitions_record"`
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	switch {
	case r.Heartbeat != nil:
		return &message{kind: "heartbeat", at: r.Heartbeat.At}
	case r.Children != nil:
		m := &message{kind: "children", at: r.Children.At, sequence: r.Children.Sequence}
		for _, c := range r.Children.Children {
			m.tokens, m.parents = append(m.tokens, c.Token), append(m.parents, c.Parents)
		}
		return m
	}
	m := &message{kind: "data", at: r.Data.At}
	for _, mod := range r.Data.Mods {
		k, err := strconv.ParseInt(mod.Keys["K"], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		m.keys = append(m.keys, k)
	}
	return m
}

func protoRecord(t testing.TB, text string) *spannerpb.ChangeStreamRecord {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	r := &spannerpb.ChangeStreamRecord{}
	if err := proto.Unmarshal(b, r); err != nil {
		t.Fatal(err)
	}
	return r
}

func decodeProto(t testing.TB, text string) *message {
	t.Helper()
	switch r := protoRecord(t, text).GetRecord().(type) {
	case *spannerpb.ChangeStreamRecord_DataChangeRecord_:
		d := r.DataChangeRecord
		m := &message{kind: "data", at: d.GetCommitTimestamp().AsTime(), sequence: d.GetRecordSequence(), txn: d.GetServerTransactionId(), last: d.GetIsLastRecordInTransactionInPartition()}
		for _, mod := range d.GetMods() {
			k, _ := strconv.ParseInt(mod.GetKeys()[0].GetValue().GetStringValue(), 10, 64)
			v, _ := strconv.ParseInt(mod.GetNewValues()[0].GetValue().GetStringValue(), 10, 64)
			m.keys, m.values = append(m.keys, k), append(m.values, v)
		}
		return m
	case *spannerpb.ChangeStreamRecord_HeartbeatRecord_:
		return &message{kind: "heartbeat", at: r.HeartbeatRecord.GetTimestamp().AsTime()}
	case *spannerpb.ChangeStreamRecord_PartitionStartRecord_:
		return &message{kind: "start", at: r.PartitionStartRecord.GetStartTimestamp().AsTime(), sequence: r.PartitionStartRecord.GetRecordSequence(), tokens: r.PartitionStartRecord.GetPartitionTokens()}
	case *spannerpb.ChangeStreamRecord_PartitionEndRecord_:
		return &message{kind: "end", at: r.PartitionEndRecord.GetEndTimestamp().AsTime(), sequence: r.PartitionEndRecord.GetRecordSequence(), tokens: []string{r.PartitionEndRecord.GetPartitionToken()}}
	case *spannerpb.ChangeStreamRecord_PartitionEventRecord_:
		e := r.PartitionEventRecord
		m := &message{kind: "event", at: e.GetCommitTimestamp().AsTime(), sequence: e.GetRecordSequence(), tokens: []string{e.GetPartitionToken()}}
		for _, x := range e.GetMoveInEvents() {
			m.in = append(m.in, x.GetSourcePartitionToken())
		}
		for _, x := range e.GetMoveOutEvents() {
			m.out = append(m.out, x.GetDestinationPartitionToken())
		}
		return m
	}
	t.Fatalf("record of no kind: %s", text)
	return nil
}
