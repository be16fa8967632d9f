package wire_test

import (
	"testing"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/wire"
)

// A request with keys put in as bytes is the one that protobuf makes.
func TestPointRead(t *testing.T) {
	common := &spannerpb.ReadRequest{Session: "s", Table: "Orders", Columns: []string{"Id", "Total"}}
	read, err := wire.NewPointRead(common)
	if err != nil {
		t.Fatal(err)
	}
	want := proto.Clone(common).(*spannerpb.ReadRequest)
	want.KeySet = &spannerpb.KeySet{}
	var keys []byte
	for n := range 300 {
		checkPointRead(t, read, keys, want)
		key := &structpb.ListValue{Values: []*structpb.Value{structpb.NewStringValue(string(make([]byte, n))), structpb.NewBoolValue(n%2 == 0)}}
		want.KeySet.Keys = append(want.KeySet.Keys, key)
		encoded, err := proto.Marshal(key)
		if err != nil {
			t.Fatal(err)
		}
		keys = wire.AppendKey(keys, encoded)
	}
	if _, err := wire.NewPointRead(want); err == nil {
		t.Error("a common part with keys is taken")
	}
}

func checkPointRead(t *testing.T, read *wire.PointRead, keys []byte, want *spannerpb.ReadRequest) {
	t.Helper()
	codec := read.CallOption(keys).(grpc.ForceCodecV2CallOption).CodecV2
	data, err := codec.Marshal(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer data.Free()
	got := new(spannerpb.ReadRequest)
	if err := proto.Unmarshal(data.Materialize(), got); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(got, want) {
		t.Fatalf("with %d keys: got %v, want %v", len(want.GetKeySet().GetKeys()), got, want)
	}
}
