package emulator

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// rawMessage is a request that a handler reads where it stands.
type rawMessage []byte

// frame is an encoded answer. Sending it gives the memory to the transport.
type frame struct {
	buf *[]byte
}

// codec passes rawMessage and frame through and leaves all else to protobuf.
type codec struct {
	proto encoding.CodecV2
	pool  *framePool
}

func newCodec() codec {
	return codec{proto: encoding.GetCodecV2(proto.Name), pool: new(framePool)}
}

// Name is that of the protobuf codec: on the wire it is the same.
func (codec) Name() string { return proto.Name }

// Marshal encodes an answer.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	f, ok := v.(*frame)
	if !ok {
		return c.proto.Marshal(v)
	}
	if f.buf == nil {
		return nil, fmt.Errorf("frame sent twice")
	}
	b := mem.NewBuffer(f.buf, c.pool)
	f.buf = nil
	return mem.BufferSlice{b}, nil
}

// Unmarshal decodes a request.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	raw, ok := v.(*rawMessage)
	if !ok {
		return c.proto.Unmarshal(data, v)
	}
	*raw = data.Materialize()
	return nil
}
