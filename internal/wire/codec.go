package wire

import (
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// CallOption makes a gRPC call receive its answers as Message, undecoded.
// Requests and every other kind of answer are encoded as always, so the option
// is harmless on any call.
func CallOption() grpc.CallOption {
	return grpc.ForceCodecV2(codec{fallback: encoding.GetCodecV2(proto.Name)})
}

// codec keeps the name "proto", because the bytes on the wire are protobuf and
// the server picks its own codec by that name.
type codec struct {
	fallback encoding.CodecV2
}

func (c codec) Name() string { return proto.Name }

func (c codec) Marshal(v any) (mem.BufferSlice, error) { return c.fallback.Marshal(v) }

func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(*Message)
	if !ok {
		return c.fallback.Unmarshal(data, v)
	}
	if err := m.take(data); err != nil {
		return fmt.Errorf("read PartialResultSet: %w", err)
	}
	return nil
}
