package wire

import (
	"fmt"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Request is a BatchWriteRequest or CommitRequest in its wire form: a header
// and mutations as the Append functions frame them, sent from where they lie.
// It may be used again after Reset. The bytes that were added must not change
// while a call sends them.
type Request struct {
	parts mem.BufferSlice
	last  []byte // the part that grows, not among parts yet
	size  int
}

// Reset empties the request and puts header first. The header is not copied.
// The list of parts is new each time: gRPC looks at the old one even after the
// server has answered.
func (r *Request) Reset(header []byte) {
	r.parts, r.last, r.size = append(make(mem.BufferSlice, 0, 4), mem.SliceBuffer(header)), nil, len(header)
}

// Drop empties the request until Reset, so that it keeps no memory of mutations
// alive.
func (r *Request) Drop() { *r = Request{} }

// Add appends the bytes of one or several mutations without copying them. Those
// that lie one behind the other in memory become one part.
func (r *Request) Add(b []byte) {
	if len(b) == 0 {
		return
	}
	r.size += len(b)
	if n := len(r.last); n > 0 && cap(r.last)-n >= len(b) && &r.last[:n+1][n] == &b[0] {
		r.last = r.last[:n+len(b)]
		return
	}
	r.seal()
	r.last = b
}

// seal closes the part that grows and returns all of them.
func (r *Request) seal() mem.BufferSlice {
	if len(r.last) > 0 {
		r.parts, r.last = append(r.parts, mem.SliceBuffer(r.last)), nil
	}
	return r.parts
}

// Size is the number of bytes that the request takes as a message.
func (r *Request) Size() int { return r.size }

// Bytes returns a copy of the whole message.
func (r *Request) Bytes() []byte { return r.seal().Materialize() }

// CallOption makes a BatchWrite or Commit call send r whatever message it is
// given, and receive its answers as BatchWriteAnswer where asked to. gRPC may
// go on reading the parts of r after a call that was broken off.
func (r *Request) CallOption() grpc.CallOption {
	return grpc.ForceCodecV2(requestCodec{request: r, fallback: encoding.GetCodecV2(protocodec.Name)})
}

// requestCodec keeps the name "proto": on the wire it is that.
type requestCodec struct {
	request  *Request
	fallback encoding.CodecV2
}

func (requestCodec) Name() string { return protocodec.Name }

func (c requestCodec) Marshal(any) (mem.BufferSlice, error) { return c.request.seal(), nil }

func (c requestCodec) Unmarshal(data mem.BufferSlice, v any) error {
	a, ok := v.(*BatchWriteAnswer)
	if !ok {
		return c.fallback.Unmarshal(data, v)
	}
	buf := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buf.Free()
	if err := a.parse(buf.ReadOnlyData()); err != nil {
		return fmt.Errorf("read BatchWriteResponse: %w", err)
	}
	return nil
}

// BatchWriteHeader encodes a BatchWriteRequest without its groups. options may
// be nil.
func BatchWriteHeader(session string, options *spannerpb.RequestOptions, excludeFromChangeStreams bool) ([]byte, error) {
	return proto.Marshal(&spannerpb.BatchWriteRequest{
		Session: session, RequestOptions: options, ExcludeTxnFromChangeStreams: excludeFromChangeStreams,
	})
}

// CommitHeader encodes a CommitRequest of a single-use transaction without its
// mutations. A nil maxDelay leaves the delay to Spanner.
func CommitHeader(session string, options *spannerpb.RequestOptions, excludeFromChangeStreams bool, maxDelay *time.Duration) ([]byte, error) {
	req := &spannerpb.CommitRequest{
		Session:        session,
		RequestOptions: options,
		Transaction: &spannerpb.CommitRequest_SingleUseTransaction{SingleUseTransaction: &spannerpb.TransactionOptions{
			Mode:                        &spannerpb.TransactionOptions_ReadWrite_{ReadWrite: &spannerpb.TransactionOptions_ReadWrite{}},
			ExcludeTxnFromChangeStreams: excludeFromChangeStreams,
		}},
	}
	if maxDelay != nil {
		req.MaxCommitDelay = durationpb.New(*maxDelay)
	}
	return proto.Marshal(req)
}

// BatchWriteAnswer is one BatchWriteResponse: what became of some groups. It
// may be received into again; Indexes is then overwritten.
type BatchWriteAnswer struct {
	// Indexes are the positions of the groups in the request.
	Indexes []int32
	// Status says what became of all of them; OK where the message has none.
	Status *status.Status
}

// Fields of google.spanner.v1.BatchWriteResponse, and of google.rpc.Status.
const (
	fieldIndexes    protowire.Number = 1
	fieldStatus     protowire.Number = 2
	fieldStatusCode protowire.Number = 1
)

func (a *BatchWriteAnswer) parse(b []byte) error {
	a.Indexes, a.Status = a.Indexes[:0], nil
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errMalformed
		}
		size := protowire.ConsumeFieldValue(num, typ, b[n:])
		if size < 0 {
			return errMalformed
		}
		if err := a.field(num, typ, b[n:n+size]); err != nil {
			return err
		}
		b = b[n+size:]
	}
	return nil
}

func (a *BatchWriteAnswer) field(num protowire.Number, typ protowire.Type, value []byte) error {
	switch {
	case num == fieldIndexes && typ == protowire.VarintType:
		i, _ := protowire.ConsumeVarint(value)
		a.Indexes = append(a.Indexes, int32(i))
	case num == fieldIndexes && typ == protowire.BytesType:
		packed, _ := protowire.ConsumeBytes(value)
		for len(packed) > 0 {
			i, n := protowire.ConsumeVarint(packed)
			if n < 0 {
				return errMalformed
			}
			a.Indexes = append(a.Indexes, int32(i))
			packed = packed[n:]
		}
	case num == fieldStatus && typ == protowire.BytesType:
		encoded, _ := protowire.ConsumeBytes(value)
		return a.status(encoded)
	}
	return nil
}

// status decodes a google.rpc.Status unless it is the usual one, which says
// nothing but OK.
func (a *BatchWriteAnswer) status(encoded []byte) error {
	if len(encoded) == 0 || len(encoded) == 2 && encoded[0] == byte(fieldStatusCode<<3) && encoded[1] == byte(codes.OK) {
		return nil
	}
	var s spb.Status
	if err := proto.Unmarshal(encoded, &s); err != nil {
		return err
	}
	if s.GetCode() != int32(codes.OK) {
		a.Status = status.FromProto(&s)
	}
	return nil
}
