package emulator_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"github.com/twmb/avro/ocf"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/emulator"
)

const wideDDL = `CREATE TABLE Wide (
	Id INT64 NOT NULL, Name STRING(MAX), City STRING(100), Score FLOAT64, Active BOOL,
	Created TIMESTAMP, Amount NUMERIC, Payload BYTES(MAX), Doc JSON, Tags ARRAY<INT64>
) PRIMARY KEY (Id)`

var wideColumns = []string{"Id", "Name", "City", "Score", "Active", "Created", "Amount", "Payload", "Doc", "Tags"}

func wideRow(id int) *structpb.ListValue {
	text := structpb.NewStringValue
	return &structpb.ListValue{Values: []*structpb.Value{
		text(fmt.Sprint(id)), text(fmt.Sprintf("customer number %d", id)), text("Zürich"),
		structpb.NewNumberValue(float64(id) / 7), structpb.NewBoolValue(id%2 == 0),
		text("2026-01-02T03:04:05.123456Z"), text(fmt.Sprintf("%d.25", id)),
		text(base64.StdEncoding.EncodeToString([]byte("sixteen bytes ok"))),
		text(`{"a":1,"b":[true,null],"c":"text"}`),
		structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{text("1"), text("22"), text("333")}}),
	}}
}

// drain is a client codec that sends prepared bytes and throws answers away,
// so that a benchmark measures the server.
type drain struct{ encoding.CodecV2 }

type prepared []byte

type counted struct{ bytes int }

func (d drain) Marshal(v any) (mem.BufferSlice, error) {
	if p, ok := v.(prepared); ok {
		return mem.BufferSlice{mem.SliceBuffer(p)}, nil
	}
	return d.CodecV2.Marshal(v)
}

func (d drain) Unmarshal(data mem.BufferSlice, v any) error {
	if c, ok := v.(*counted); ok {
		c.bytes += data.Len()
		return nil
	}
	return d.CodecV2.Unmarshal(data, v)
}

func newDrain() drain { return drain{encoding.GetCodecV2(proto.Name)} }

const commitRows = 1000

// commitRequest is an encoded CommitRequest that inserts rows.
func commitRequest(tb testing.TB, f *fixture, from int, single bool) prepared {
	req := &spannerpb.CommitRequest{
		Session: f.session,
		Transaction: &spannerpb.CommitRequest_SingleUseTransaction{SingleUseTransaction: &spannerpb.TransactionOptions{
			Mode: &spannerpb.TransactionOptions_ReadWrite_{ReadWrite: &spannerpb.TransactionOptions_ReadWrite{}}}},
	}
	write := &spannerpb.Mutation_Write{Table: "Wide", Columns: wideColumns}
	for i := range commitRows {
		write.Values = append(write.Values, wideRow(from+i))
		if single {
			req.Mutations = append(req.Mutations, &spannerpb.Mutation{Operation: &spannerpb.Mutation_Insert{Insert: write}})
			write = &spannerpb.Mutation_Write{Table: "Wide", Columns: wideColumns}
		}
	}
	if !single {
		req.Mutations = []*spannerpb.Mutation{{Operation: &spannerpb.Mutation_Insert{Insert: write}}}
	}
	b, err := encoding.GetCodecV2(proto.Name).Marshal(req)
	if err != nil {
		tb.Fatal(err)
	}
	return prepared(b.Materialize())
}

func BenchmarkCommit(b *testing.B) {
	for name, single := range map[string]bool{"rowPerMutation": true, "rowsInOne": false} {
		b.Run(name, func(b *testing.B) {
			f := start(b, emulator.Options{}, wideDDL)
			const batches = 100
			var reqs []prepared
			for i := range batches {
				reqs = append(reqs, commitRequest(b, f, i*commitRows, single))
			}
			codec := grpc.ForceCodecV2(newDrain())
			rows := 0
			for b.Loop() {
				if rows > 0 && rows/commitRows%batches == 0 {
					b.StopTimer()
					if _, err := f.api().Commit(b.Context(), deleteAll(f)); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
				}
				err := f.conn.Invoke(b.Context(), spannerpb.Spanner_Commit_FullMethodName, reqs[rows/commitRows%batches], &counted{}, codec)
				if err != nil {
					b.Fatal(err)
				}
				rows += commitRows
			}
			b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

func deleteAll(f *fixture) *spannerpb.CommitRequest {
	return &spannerpb.CommitRequest{
		Session: f.session,
		Transaction: &spannerpb.CommitRequest_SingleUseTransaction{SingleUseTransaction: &spannerpb.TransactionOptions{
			Mode: &spannerpb.TransactionOptions_ReadWrite_{ReadWrite: &spannerpb.TransactionOptions_ReadWrite{}}}},
		Mutations: []*spannerpb.Mutation{{Operation: &spannerpb.Mutation_Delete_{Delete: &spannerpb.Mutation_Delete{
			Table: "Wide", KeySet: &spannerpb.KeySet{All: true}}}}},
	}
}

func BenchmarkStreamingRead(b *testing.B) {
	f := start(b, emulator.Options{}, wideDDL)
	const batches = 100
	for i := range batches {
		err := f.conn.Invoke(b.Context(), spannerpb.Spanner_Commit_FullMethodName, commitRequest(b, f, i*commitRows, false), &counted{}, grpc.ForceCodecV2(newDrain()))
		if err != nil {
			b.Fatal(err)
		}
	}
	for name, columns := range map[string][]string{"all": wideColumns, "reordered": {"Tags", "Doc", "Id", "Name", "City", "Score", "Active", "Created", "Amount", "Payload"}} {
		b.Run(name, func(b *testing.B) {
			req := &spannerpb.ReadRequest{Session: f.session, Table: "Wide", Columns: columns, KeySet: &spannerpb.KeySet{All: true}}
			drainStream(b, f, spannerpb.Spanner_StreamingRead_FullMethodName, req, batches*commitRows)
		})
	}
	b.Run("sql", func(b *testing.B) {
		req := &spannerpb.ExecuteSqlRequest{Session: f.session, Sql: "SELECT * FROM Wide WHERE Score >= 0"}
		drainStream(b, f, spannerpb.Spanner_ExecuteStreamingSql_FullMethodName, req, batches*commitRows)
	})
}

func drainStream(b *testing.B, f *fixture, method string, req any, rows int) {
	runs := 0
	for b.Loop() {
		stream, err := f.conn.NewStream(b.Context(), &grpc.StreamDesc{ServerStreams: true}, method, grpc.ForceCodecV2(newDrain()))
		if err != nil {
			b.Fatal(err)
		}
		if err := errors.Join(stream.SendMsg(req), stream.CloseSend()); err != nil {
			b.Fatal(err)
		}
		var got counted
		for err == nil {
			err = stream.RecvMsg(&got)
		}
		if !errors.Is(err, io.EOF) || got.bytes < rows*100 {
			b.Fatalf("%d bytes, error %v", got.bytes, err)
		}
		runs++
	}
	b.ReportMetric(float64(rows*runs)/b.Elapsed().Seconds(), "rows/s")
}

const wideAvro = `{"type":"record","name":"Wide","fields":[{"name":"Id","type":"long"},{"name":"Name","type":["null","string"]},
	{"name":"City","type":["null","string"]},{"name":"Score","type":["null","double"]},{"name":"Active","type":["null","boolean"]},
	{"name":"Created","type":["null","string"]},{"name":"Amount","type":["null",{"type":"bytes","logicalType":"decimal","precision":38,"scale":9}]},
	{"name":"Payload","type":["null","bytes"]},{"name":"Doc","type":["null","string"]},{"name":"Tags","type":["null",{"type":"array","items":["null","long"]}]}]}`

func wideRecords(n int) []map[string]any {
	out := make([]map[string]any, n)
	for i := range out {
		out[i] = map[string]any{"Id": int64(i), "Name": fmt.Sprintf("customer number %d", i), "City": "Zürich", "Score": float64(i) / 7, "Active": true,
			"Created": "2026-01-02T03:04:05.123456Z", "Amount": big.NewRat(int64(4*i+1), 4), "Payload": []byte("sixteen bytes ok"),
			"Doc": `{"a":1,"b":[true,null],"c":"text"}`, "Tags": []any{int64(1), int64(22), int64(333)}}
	}
	return out
}

// Memory held for each row of a loaded table, against the bytes of its values
// as the wire has them.
func BenchmarkMemory(b *testing.B) {
	const batches = 100
	for b.Loop() {
		b.StopTimer()
		f := start(b, emulator.Options{}, wideDDL)
		before := heap()
		payload := 0
		for i := range batches {
			req := commitRequest(b, f, i*commitRows, false)
			payload += len(req)
			if err := f.conn.Invoke(b.Context(), spannerpb.Spanner_Commit_FullMethodName, req, &counted{}, grpc.ForceCodecV2(newDrain())); err != nil {
				b.Fatal(err)
			}
		}
		held := float64(heap()-before) / (batches * commitRows)
		sent := float64(payload) / (batches * commitRows)
		b.ReportMetric(held, "heapB/row")
		b.ReportMetric(sent, "payloadB/row")
		b.ReportMetric(held/sent, "heap/payload")
		b.StartTimer()
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func BenchmarkLoad(b *testing.B) {
	const rows = 100_000
	ndjson, csv := &strings.Builder{}, &strings.Builder{}
	csv.WriteString(strings.Join(wideColumns, ",") + "\n")
	for i := range rows {
		fmt.Fprintf(ndjson, `{"Id":%d,"Name":"customer number %d","City":"Zürich","Score":%g,"Active":true,"Created":"2026-01-02T03:04:05.123456Z","Amount":"%d.25","Payload":"c2l4dGVlbiBieXRlcyBvaw==","Doc":{"a":1,"b":[true,null],"c":"text"},"Tags":[1,22,333]}`+"\n", i, i, float64(i)/7, i)
		fmt.Fprintf(csv, `%d,customer number %d,Zürich,%g,true,2026-01-02T03:04:05.123456Z,%d.25,c2l4dGVlbiBieXRlcyBvaw==,"{""a"":1,""b"":[true,null],""c"":""text""}","[1,22,333]"`+"\n", i, i, float64(i)/7, i)
	}
	dir := b.TempDir()
	writeAvro(b, filepath.Join(dir, "Wide.avro"), wideAvro, ocf.WithCodec(ocf.SnappyCodec()), wideRecords(rows)...)
	avroFile, err := os.ReadFile(filepath.Join(dir, "Wide.avro"))
	if err != nil {
		b.Fatal(err)
	}
	for ext, text := range map[string]string{"ndjson": ndjson.String(), "csv": csv.String(), "avro": string(avroFile)} {
		b.Run(ext, func(b *testing.B) {
			dir := b.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "Wide."+ext), []byte(text), 0o600); err != nil {
				b.Fatal(err)
			}
			runs := 0
			for b.Loop() {
				b.StopTimer()
				f := start(b, emulator.Options{}, wideDDL)
				b.StartTimer()
				loaded, err := emulator.Load(b.Context(), f.srv, databaseName, dir)
				if err != nil || len(loaded) != 1 || loaded[0].Rows != rows {
					b.Fatalf("loaded %v, error %v", loaded, err)
				}
				runs++
			}
			b.ReportMetric(float64(rows*runs)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// A commit that deletes many referenced rows and writes many others: its cost
// must grow with their number, not with its square.
func BenchmarkCascade(b *testing.B) {
	for _, n := range []int{2000, 20_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var old, refs, fresh [][]any
			var gone []*structpb.ListValue
			for i := range n {
				old, refs, fresh = append(old, row(i, i)), append(refs, row(i, i)), append(fresh, row(n+i, i))
				gone = append(gone, key(i))
			}
			for b.Loop() {
				b.StopTimer()
				f := start(b, emulator.Options{}, schemaCascade...)
				f.commit(b, insert("R", "A,V", old...))
				f.commit(b, insert("C", "X,A", refs...))
				b.StartTimer()
				f.commit(b, deleteKeys("R", gone...), insert("R", "A,V", fresh...))
			}
			b.ReportMetric(float64(3*n*b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// Small reads, one after the other: what tests of lookups are made of.
func BenchmarkPointRead(b *testing.B) {
	f := start(b, emulator.Options{}, wideDDL)
	if err := f.conn.Invoke(b.Context(), spannerpb.Spanner_Commit_FullMethodName, commitRequest(b, f, 0, false), &counted{}, grpc.ForceCodecV2(newDrain())); err != nil {
		b.Fatal(err)
	}
	req := &spannerpb.ReadRequest{Session: f.session, Table: "Wide", Columns: wideColumns, KeySet: &spannerpb.KeySet{Keys: []*structpb.ListValue{key(7)}}}
	b.ReportAllocs()
	drainStream(b, f, spannerpb.Spanner_StreamingRead_FullMethodName, req, 1)
}
