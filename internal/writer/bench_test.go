package writer_test

import (
	"context"
	"net"
	"strconv"
	"testing"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"

	"spanbulk/internal/schema"
	"spanbulk/internal/wire"
	"spanbulk/internal/writer"
)

// ignored is a request that is not decoded.
type ignored struct{}

type sinkCodec struct{ encoding.CodecV2 }

func (c sinkCodec) Unmarshal(data mem.BufferSlice, v any) error {
	if _, ok := v.(*ignored); ok {
		return nil
	}
	return c.CodecV2.Unmarshal(data, v)
}

// serveSink serves BatchWrite by throwing requests away and answering at once for
// as many groups as a batch has at most, in one message.
func serveSink(b *testing.B, batch int) string {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	indexes := make([]int32, batch)
	for i := range indexes {
		indexes[i] = int32(i)
	}
	server := grpc.NewServer(grpc.ForceServerCodecV2(sinkCodec{encoding.GetCodecV2(protocodec.Name)}), grpc.MaxRecvMsgSize(writer.MaxRequestBytes))
	desc := grpc.ServiceDesc{
		ServiceName: "google.spanner.v1.Spanner",
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "CreateSession", Handler: func(_ any, ctx context.Context, dec func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			return &spannerpb.Session{Name: databaseName + "/sessions/1"}, dec(new(spannerpb.CreateSessionRequest))
		}}},
		Streams: []grpc.StreamDesc{{StreamName: "BatchWrite", ServerStreams: true, Handler: func(_ any, stream grpc.ServerStream) error {
			if err := stream.RecvMsg(new(ignored)); err != nil {
				return err
			}
			return stream.SendMsg(&spannerpb.BatchWriteResponse{Indexes: indexes})
		}}},
	}
	server.RegisterService(&desc, struct{}{})
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	b.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			b.Error(err)
		}
	})
	return listener.Addr().String()
}

// tenColumns is the table of the import benchmark.
func tenColumns(b *testing.B) *writer.Table {
	s := &schema.Table{Name: schema.Name{Name: "Bench"}, PrimaryKey: []schema.KeyPart{{Column: "Id"}}}
	for _, c := range []struct {
		name string
		code spannerpb.TypeCode
	}{
		{"Id", spannerpb.TypeCode_INT64}, {"Name", spannerpb.TypeCode_STRING}, {"Note", spannerpb.TypeCode_STRING}, {"Score", spannerpb.TypeCode_FLOAT64},
		{"Active", spannerpb.TypeCode_BOOL}, {"At", spannerpb.TypeCode_TIMESTAMP}, {"Price", spannerpb.TypeCode_NUMERIC}, {"Data", spannerpb.TypeCode_BYTES},
		{"Doc", spannerpb.TypeCode_JSON}, {"Numbers", spannerpb.TypeCode_ARRAY},
	} {
		s.Columns = append(s.Columns, schema.Column{Name: c.name, Type: &spannerpb.Type{Code: c.code}})
	}
	table, err := writer.NewTable(s, nil)
	if err != nil {
		b.Fatal(err)
	}
	return table
}

func tenValues() []wire.Value {
	values := texts("", "name of the record", "a longer text, as records have them now and then", "", "", "2026-01-31T12:34:56.789012Z",
		"1234.5678", "c29tZSBieXRlcyBvZiBkYXRh", `{"a":1,"b":[true,null]}`, "")
	values[3] = wire.AppendNumber(nil, 3.25)
	values[4] = wire.AppendBool(nil, true)
	var elements []byte
	for _, n := range []string{"1", "22", "333"} {
		elements = wire.AppendElement(elements, text(n))
	}
	values[9] = wire.AppendList(nil, elements)
	return values
}

// BenchmarkWrite measures a record from its values to its outcome, gRPC and the
// server of the benchmark included: both run in this process.
func BenchmarkWrite(b *testing.B) {
	for name, order := range map[string]writer.KeyOrder{"preserve": writer.PreserveKeyOrder, "none": writer.NoKeyOrder} {
		b.Run(name, func(b *testing.B) {
			benchmarkWrite(b, connect(b, target{databaseName, serveSink(b, writer.DefaultMaxBatchMutations)}), order)
		})
	}
}

func benchmarkWrite(b *testing.B, c writer.Conn, order writer.KeyOrder) {
	progress := new(writer.Progress)
	w, err := writer.New(c, writer.Options{KeyOrder: order, Progress: progress})
	if err != nil {
		b.Fatal(err)
	}
	chunks := make(chan *writer.Chunk, 1)
	done := make(chan error, 1)
	go func() { done <- w.Run(b.Context(), chunks) }()
	feed := newFeeder(b, w)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		feed.add(n)
		if n++; n%500 == 0 {
			chunks <- feed.chunk
			feed.chunk = w.NewChunk(source, nil)
		}
	}
	b.StopTimer()
	for ; n%500 != 0; n++ { // the server answers for whole batches only
		feed.add(n)
	}
	chunks <- feed.chunk
	close(chunks)
	if err := <-done; err != nil {
		b.Fatal(err)
	}
	if progress.Applied.Load() != int64(n) {
		b.Fatalf("%d applied of %d", progress.Applied.Load(), n)
	}
}

// feeder makes records that differ in their key.
type feeder struct {
	chunk  *writer.Chunk
	record writer.Record
	id     []byte
}

func newFeeder(b *testing.B, w *writer.Writer) *feeder {
	return &feeder{
		chunk:  w.NewChunk(source, nil),
		record: writer.Record{Table: tenColumns(b), Operation: wire.InsertOrUpdate, Values: tenValues(), Raw: make([]byte, 300)},
	}
}

func (f *feeder) add(n int) {
	var digits [20]byte
	f.id = wire.AppendString(f.id[:0], strconv.AppendInt(digits[:0], int64(n), 10))
	f.record.Values[0] = f.id
	f.record.Line, f.record.Number = int64(n), int64(n)
	f.chunk.Add(&f.record)
}

// BenchmarkAdd measures the part that decoders' goroutines do.
func BenchmarkAdd(b *testing.B) {
	w, err := writer.New(connect(b, target{databaseName, serveSink(b, 1)}), writer.Options{DryRun: true})
	if err != nil {
		b.Fatal(err)
	}
	chunks := make(chan *writer.Chunk)
	done := make(chan error, 1)
	go func() { done <- w.Run(b.Context(), chunks) }()
	feed := newFeeder(b, w)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		feed.add(n)
		if n++; n%500 == 0 {
			chunks <- feed.chunk
			feed.chunk = w.NewChunk(source, nil)
		}
	}
	close(chunks)
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}
