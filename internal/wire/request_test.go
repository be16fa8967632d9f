package wire_test

import (
	"context"
	"net"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"github.com/google/go-cmp/cmp"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"spanbulk/internal/wire"
)

// recorder keeps the last requests and answers with what it is told.
type recorder struct {
	spannerpb.UnimplementedSpannerServer
	batch   *spannerpb.BatchWriteRequest
	commit  *spannerpb.CommitRequest
	answers []*spannerpb.BatchWriteResponse
}

func (r *recorder) BatchWrite(req *spannerpb.BatchWriteRequest, stream spannerpb.Spanner_BatchWriteServer) error {
	r.batch = req
	for _, a := range r.answers {
		if err := stream.Send(a); err != nil {
			return err
		}
	}
	return nil
}

func (r *recorder) Commit(_ context.Context, req *spannerpb.CommitRequest) (*spannerpb.CommitResponse, error) {
	r.commit = req
	return &spannerpb.CommitResponse{CommitTimestamp: timestamppb.New(time.Unix(5, 0))}, nil
}

func dial(t *testing.T, r *recorder) spannerpb.SpannerClient {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	spannerpb.RegisterSpannerServer(server, r)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:///"+listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return spannerpb.NewSpannerClient(conn)
}

func insertOf(name string) (*spannerpb.Mutation, func(wire.Envelope) []byte) {
	m := writeMutation(wire.Insert, &spannerpb.Mutation_Write{
		Table: "T", Columns: []string{"c"}, Values: []*structpb.ListValue{{Values: []*structpb.Value{str(name)}}},
	})
	return m, func(e wire.Envelope) []byte {
		return wire.AppendWrite(nil, e, wire.Insert, wire.AppendHead(nil, "T", []string{"c"}), []wire.Value{wire.AppendString(nil, name)})
	}
}

func TestRequestsArriveAsTheyShould(t *testing.T) {
	server := &recorder{answers: []*spannerpb.BatchWriteResponse{
		{Indexes: []int32{1, 0, 300}, CommitTimestamp: timestamppb.New(time.Unix(7, 0))},
		{Indexes: []int32{2}, Status: &spb.Status{Code: int32(codes.AlreadyExists), Message: "there"}},
		{Indexes: []int32{3}, Status: &spb.Status{}},
	}}
	client := dial(t, server)
	options := &spannerpb.RequestOptions{Priority: spannerpb.RequestOptions_PRIORITY_LOW, TransactionTag: "bulk"}
	one, oneBytes := insertOf("one")
	two, twoBytes := insertOf("two")

	header, err := wire.BatchWriteHeader("session", options, true)
	if err != nil {
		t.Fatal(err)
	}
	var req wire.Request
	req.Reset(header)
	req.Add(oneBytes(wire.GroupEnvelope))
	req.Add(twoBytes(wire.GroupEnvelope))
	stream, err := client.BatchWrite(t.Context(), nil, req.CallOption())
	if err != nil {
		t.Fatal(err)
	}
	var got [][]int32
	var statuses []codes.Code
	var answer wire.BatchWriteAnswer
	for range server.answers {
		if err := stream.RecvMsg(&answer); err != nil {
			t.Fatal(err)
		}
		got = append(got, slices.Clone(answer.Indexes))
		statuses = append(statuses, answer.Status.Code())
	}
	if err := stream.RecvMsg(&answer); err == nil {
		t.Error("the stream goes on")
	}
	if diff := cmp.Diff([][]int32{{1, 0, 300}, {2}, {3}}, got); diff != "" {
		t.Error(diff)
	}
	if !slices.Equal(statuses, []codes.Code{codes.OK, codes.AlreadyExists, codes.OK}) {
		t.Errorf("statuses %v", statuses)
	}
	wantBatch := &spannerpb.BatchWriteRequest{
		Session: "session", RequestOptions: options, ExcludeTxnFromChangeStreams: true,
		MutationGroups: []*spannerpb.BatchWriteRequest_MutationGroup{{Mutations: []*spannerpb.Mutation{one}}, {Mutations: []*spannerpb.Mutation{two}}},
	}
	if diff := cmp.Diff(wantBatch, server.batch, protocmp.Transform()); diff != "" {
		t.Errorf("BatchWriteRequest (-want +got):\n%s", diff)
	}
	if want := proto.Size(wantBatch); req.Size() != want || len(req.Bytes()) != want {
		t.Errorf("size %d and %d bytes, want %d", req.Size(), len(req.Bytes()), want)
	}

	delay := 100500 * time.Microsecond
	if header, err = wire.CommitHeader("session", options, true, &delay); err != nil {
		t.Fatal(err)
	}
	req.Reset(header)
	req.Add(oneBytes(wire.CommitEnvelope))
	response, err := client.Commit(t.Context(), nil, req.CallOption())
	if err != nil || response.CommitTimestamp.AsTime().Unix() != 5 {
		t.Fatalf("Commit returned %v, %v", response, err)
	}
	if got := server.commit; got.MaxCommitDelay.AsDuration() != delay || got.GetSingleUseTransaction().GetReadWrite() == nil ||
		!got.GetSingleUseTransaction().ExcludeTxnFromChangeStreams || len(got.Mutations) != 1 || !proto.Equal(got.Mutations[0], one) {
		t.Errorf("CommitRequest %v", got)
	}
}

// TestRequestJoinsNeighbours wants mutations that lie one behind the other sent
// as one part, and their bytes untouched whatever lies behind them.
func TestRequestJoinsNeighbours(t *testing.T) {
	memory := []byte("abcdefgh")
	var req wire.Request
	req.Reset([]byte("H"))
	req.Add(memory[:2])
	req.Add(memory[2:4])
	req.Add(memory[6:8])
	req.Add(memory[4:6])
	req.Add(nil)
	if got := string(req.Bytes()); got != "Habcdghef" || req.Size() != len(got) {
		t.Errorf("got %q, size %d", got, req.Size())
	}
	if string(memory) != "abcdefgh" {
		t.Errorf("memory changed to %q", memory)
	}
}

// FuzzAnswer compares answers with those that protobuf reads.
func FuzzAnswer(f *testing.F) {
	for _, m := range []*spannerpb.BatchWriteResponse{
		{Indexes: []int32{0, 1, 200, 1 << 30}, CommitTimestamp: timestamppb.New(time.Unix(7, 0))},
		{Indexes: []int32{5}, Status: &spb.Status{Code: 6, Message: "there"}},
		{Status: &spb.Status{}},
	} {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte{0x08, 0x03, 0x12, 0x02, 0x08, 0x00}) // an index that is not packed
	var req wire.Request
	codec := req.CallOption().(grpc.ForceCodecV2CallOption).CodecV2
	f.Fuzz(func(t *testing.T, b []byte) {
		var want spannerpb.BatchWriteResponse
		var got wire.BatchWriteAnswer
		wantErr := proto.Unmarshal(b, &want)
		if err := codec.Unmarshal(mem.BufferSlice{mem.SliceBuffer(b)}, &got); err != nil {
			if wantErr == nil {
				t.Fatalf("refused: %v", err)
			}
			return
		}
		if wantErr != nil { // protobuf looks into fields that are passed over here
			return
		}
		if !slices.Equal(got.Indexes, want.Indexes) {
			t.Errorf("indexes %v, want %v", got.Indexes, want.Indexes)
		}
		if got.Status.Code() != codes.Code(want.GetStatus().GetCode()) {
			t.Errorf("status %v, want %v", got.Status.Code(), want.GetStatus())
		}
	})
}
