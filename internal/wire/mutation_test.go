package wire_test

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/randtest"
	"spanbulk/internal/wire"
)

// randomRow returns values of lengths on both sides of every varint border.
func randomRow(r *rand.Rand, n int) *structpb.ListValue {
	row := &structpb.ListValue{}
	for range n {
		var v *structpb.Value
		switch r.IntN(6) {
		case 0:
			v = structpb.NewNullValue()
		case 1:
			v = structpb.NewNumberValue(r.NormFloat64())
		case 2:
			v = structpb.NewBoolValue(r.IntN(2) == 0)
		case 3:
			v = list(str("a"), structpb.NewNullValue())
		default:
			sizes := []int{0, 1, 60, 119, 120, 121, 122, 123, 124, 125, 126, 127, 128, 129, 16370, 16384}
			v = str(strings.Repeat("x", sizes[r.IntN(len(sizes))]))
		}
		row.Values = append(row.Values, v)
	}
	return row
}

func encodeRow(t *testing.T, row *structpb.ListValue) []wire.Value {
	values := make([]wire.Value, len(row.Values))
	for i, v := range row.Values {
		values[i] = encode(t, v)
	}
	return values
}

func writeMutation(op wire.Operation, w *spannerpb.Mutation_Write) *spannerpb.Mutation {
	switch op {
	case wire.Insert:
		return &spannerpb.Mutation{Operation: &spannerpb.Mutation_Insert{Insert: w}}
	case wire.Update:
		return &spannerpb.Mutation{Operation: &spannerpb.Mutation_Update{Update: w}}
	case wire.Replace:
		return &spannerpb.Mutation{Operation: &spannerpb.Mutation_Replace{Replace: w}}
	default:
		return &spannerpb.Mutation{Operation: &spannerpb.Mutation_InsertOrUpdate{InsertOrUpdate: w}}
	}
}

// TestMutationsAreThoseOfProtobuf compares requests with those that the
// generated messages make, to the byte.
func TestMutationsAreThoseOfProtobuf(t *testing.T) {
	r := randtest.New(t)
	for range randtest.Rounds(300) {
		var want []*spannerpb.Mutation
		var groups, plain []byte
		for range 1 + r.IntN(4) {
			m, appendTo := randomMutation(t, r)
			want = append(want, m)
			groups = appendTo(groups, wire.GroupEnvelope)
			plain = appendTo(plain, wire.CommitEnvelope)
		}
		batch := &spannerpb.BatchWriteRequest{}
		for _, m := range want {
			batch.MutationGroups = append(batch.MutationGroups, &spannerpb.BatchWriteRequest_MutationGroup{Mutations: []*spannerpb.Mutation{m}})
		}
		compareMessages(t, groups, batch)
		compareMessages(t, plain, &spannerpb.CommitRequest{Mutations: want})
		if t.Failed() {
			return
		}
	}
}

func randomMutation(t *testing.T, r *rand.Rand) (*spannerpb.Mutation, func([]byte, wire.Envelope) []byte) {
	columns := make([]string, r.IntN(5))
	for i := range columns {
		columns[i] = strings.Repeat("c", i+1+r.IntN(200))
	}
	row := randomRow(r, len(columns))
	values := encodeRow(t, row)
	key := wire.AppendHead(nil, "schema.Table", nil)
	del := func(set *spannerpb.KeySet) *spannerpb.Mutation {
		return &spannerpb.Mutation{Operation: &spannerpb.Mutation_Delete_{Delete: &spannerpb.Mutation_Delete{Table: "schema.Table", KeySet: set}}}
	}
	switch r.IntN(4) {
	case 0:
		return del(&spannerpb.KeySet{Keys: []*structpb.ListValue{row}}), func(b []byte, e wire.Envelope) []byte {
			return wire.AppendDelete(b, e, key, values)
		}
	case 1:
		end := randomRow(r, r.IntN(3))
		kr := wire.KeyRange{Start: values, End: encodeRow(t, end), StartOpen: r.IntN(2) == 0, EndOpen: r.IntN(2) == 0}
		return del(&spannerpb.KeySet{Ranges: []*spannerpb.KeyRange{rangeOf(kr, row, end)}}), func(b []byte, e wire.Envelope) []byte {
			return wire.AppendDeleteRange(b, e, key, &kr)
		}
	default:
		op := wire.Operation(1 + r.IntN(4))
		head := wire.AppendHead(nil, "schema.Table", columns)
		sparse := []wire.Value{nil}
		for _, v := range values {
			sparse = append(sparse, v, nil)
		}
		w := &spannerpb.Mutation_Write{Table: "schema.Table", Columns: columns, Values: []*structpb.ListValue{row}}
		return writeMutation(op, w), func(b []byte, e wire.Envelope) []byte { return wire.AppendWrite(b, e, op, head, sparse) }
	}
}

func rangeOf(r wire.KeyRange, start, end *structpb.ListValue) *spannerpb.KeyRange {
	out := &spannerpb.KeyRange{StartKeyType: &spannerpb.KeyRange_StartClosed{StartClosed: start}, EndKeyType: &spannerpb.KeyRange_EndClosed{EndClosed: end}}
	if r.StartOpen {
		out.StartKeyType = &spannerpb.KeyRange_StartOpen{StartOpen: start}
	}
	if r.EndOpen {
		out.EndKeyType = &spannerpb.KeyRange_EndOpen{EndOpen: end}
	}
	return out
}

func compareMessages(t *testing.T, got []byte, want proto.Message) {
	t.Helper()
	encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(got, encoded) {
		return
	}
	message := want.ProtoReflect().New().Interface()
	if err := proto.Unmarshal(got, message); err != nil {
		t.Errorf("protobuf cannot read the message: %v", err)
		return
	}
	t.Errorf("the message differs (-want +got), or its bytes alone:\n%s", cmp.Diff(want, message, protocmp.Transform()))
}

func BenchmarkAppendWrite(b *testing.B) {
	var values []wire.Value
	for _, text := range []string{"1234567", "some name", "a longer text that a record may have", "2026-01-31T12:34:56.789Z", "12.5", "x", "y", "z"} {
		values = append(values, wire.AppendString(nil, text))
	}
	values = append(values, wire.AppendNumber(nil, 1.5), wire.AppendBool(nil, true))
	head := wire.AppendHead(nil, "Table", strings.Split("a,b,c,d,e,f,g,h,i,j", ","))
	buf := make([]byte, 0, 1<<10)
	b.ReportAllocs()
	for b.Loop() {
		buf = wire.AppendWrite(buf[:0], wire.GroupEnvelope, wire.InsertOrUpdate, head, values)
	}
	b.SetBytes(int64(len(buf)))
}
