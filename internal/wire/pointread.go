package wire

import (
	"fmt"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Fields of google.spanner.v1.ReadRequest and KeySet
// (google/spanner/v1/spanner.proto, keys.proto).
const (
	fieldKeySet protowire.Number = 6

	tagKeySetKey = byte(1<<3) | byte(protowire.BytesType)
)

// PointRead is a ReadRequest that is sent many times with other keys each time,
// in its wire form. It is immutable.
type PointRead struct{ header []byte }

// NewPointRead encodes what all requests have in common; req must have no key
// set.
func NewPointRead(req *spannerpb.ReadRequest) (*PointRead, error) {
	if req.GetKeySet() != nil {
		return nil, fmt.Errorf("the common part of point reads has a key set")
	}
	header, err := proto.Marshal(req)
	return &PointRead{header}, err
}

// AppendKey appends to dst, the keys of a key set, one more: a ListValue with a
// value for each part of the key.
func AppendKey(dst []byte, key List) []byte {
	dst = append(dst, tagKeySetKey)
	dst = protowire.AppendVarint(dst, uint64(len(key)))
	return append(dst, key...)
}

// CallOption makes a StreamingRead call send r with keys, made by AppendKey,
// whatever request it is given, and receive its answers as Message. No keys are
// an empty key set. keys are copied when the call sends them, which is before it
// returns.
func (r *PointRead) CallOption(keys []byte) grpc.CallOption {
	return grpc.ForceCodecV2(pointCodec{codec{fallback: encoding.GetCodecV2(protocodec.Name)}, r, keys})
}

type pointCodec struct {
	codec
	read *PointRead
	keys []byte
}

// Marshal copies into a buffer that gRPC gives back by itself: it may look at
// what it sends even after the call has ended.
func (c pointCodec) Marshal(any) (mem.BufferSlice, error) {
	size := len(c.read.header) + 1 + protowire.SizeBytes(len(c.keys))
	pool := mem.DefaultBufferPool()
	buf := pool.Get(size)
	b := append((*buf)[:0], c.read.header...)
	b = protowire.AppendTag(b, fieldKeySet, protowire.BytesType)
	*buf = protowire.AppendBytes(b, c.keys)
	return mem.BufferSlice{mem.NewBuffer(buf, pool)}, nil
}
