package wire_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func str(s string) *structpb.Value { return structpb.NewStringValue(s) }

func list(vs ...*structpb.Value) *structpb.Value {
	return structpb.NewListValue(&structpb.ListValue{Values: vs})
}

func encode(t testing.TB, v *structpb.Value) wire.Value {
	t.Helper()
	b, err := proto.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func decode(v wire.Value) *structpb.Value {
	out := new(structpb.Value)
	if err := proto.Unmarshal(v, out); err != nil {
		panic(fmt.Sprintf("value %x is no protobuf: %v", v, err))
	}
	return out
}

// randomValue is a value of any kind Spanner sends, with lists nested to depth.
func randomValue(r *rand.Rand, depth int) *structpb.Value {
	kinds := 5
	if depth == 0 {
		kinds = 4
	}
	switch r.IntN(kinds) {
	case 0:
		return structpb.NewNullValue()
	case 1:
		return structpb.NewNumberValue(r.Float64())
	case 2:
		return structpb.NewBoolValue(r.IntN(2) == 0)
	case 3:
		text := make([]byte, r.IntN(20))
		for i := range text {
			text[i] = byte('a' + r.IntN(26))
		}
		return str(string(text))
	default:
		elements := make([]*structpb.Value, r.IntN(5))
		for i := range elements {
			elements[i] = randomValue(r, depth-1)
		}
		return list(elements...)
	}
}

// split cuts v in two as Spanner does for a chunked value; ok is false for a
// value that is never split. A list cut beside a string or a list goes on with
// an empty one, because a receiver merges the two that meet.
func split(r *rand.Rand, v *structpb.Value) (head, tail *structpb.Value, ok bool) {
	switch k := v.GetKind().(type) {
	case *structpb.Value_StringValue:
		at := r.IntN(len(k.StringValue) + 1)
		return str(k.StringValue[:at]), str(k.StringValue[at:]), true
	case *structpb.Value_ListValue:
		elements := k.ListValue.Values
		if len(elements) == 0 {
			return list(), list(), true
		}
		at := r.IntN(len(elements))
		h, t, ok := split(r, elements[at])
		if !ok {
			return list(elements[:at+1]...), list(elements[at+1:]...), true
		}
		return list(append(elements[:at:at], h)...), list(append([]*structpb.Value{t}, elements[at+1:]...)...), true
	default:
		return nil, nil, false
	}
}
