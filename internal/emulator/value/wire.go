package value

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// Tags of the members of google.protobuf.Value's oneof, and of
// ListValue.values.
const (
	tagNull   = 0x08
	tagNumber = 0x11
	tagString = 0x1a
	tagBool   = 0x20
	tagStruct = 0x2a
	tagList   = 0x32
	tagItem   = 0x0a
)

// member is the one set member of a google.protobuf.Value.
type member struct {
	tag     byte
	payload []byte // text, list or struct bytes
	number  float64
	truth   bool
}

// parseMember reads the member of a google.protobuf.Value, aliasing wire. It
// fails when no member is set and when the bytes are not such a message.
func parseMember(wire []byte) (member, bool) {
	if m, ok := parseSingle(wire); ok {
		return m, true
	}
	// Legal but unusual bytes: unknown fields, the member set more than once,
	// numbers not minimally encoded. Let protobuf settle them.
	var v structpb.Value
	if proto.Unmarshal(wire, &v) != nil || v.GetKind() == nil {
		return member{}, false
	}
	clean, err := proto.MarshalOptions{}.Marshal(&v)
	if err != nil {
		return member{}, false
	}
	return parseSingle(clean)
}

func parseSingle(wire []byte) (member, bool) {
	if len(wire) < 2 {
		return member{}, false
	}
	m := member{tag: wire[0]}
	switch m.tag {
	case tagNull:
		return m, len(wire) == 2 && wire[1] == 0
	case tagBool:
		m.truth = wire[1] == 1
		return m, len(wire) == 2 && wire[1] <= 1
	case tagNumber:
		if len(wire) != 9 {
			return m, false
		}
		m.number = math.Float64frombits(binary.LittleEndian.Uint64(wire[1:]))
		return m, true
	case tagString, tagList, tagStruct:
		n, w := binary.Uvarint(wire[1:])
		if w <= 0 || n != uint64(len(wire)-1-w) {
			return m, false
		}
		m.payload = wire[1+w:]
		return m, true
	}
	return m, false
}

// items calls yield with each google.protobuf.Value of a ListValue's bytes.
func items(list []byte, yield func(wire []byte) error) error {
	for len(list) > 0 {
		num, typ, n := protowire.ConsumeTag(list)
		if n < 0 {
			return protowire.ParseError(n)
		}
		list = list[n:]
		if num != 1 || typ != protowire.BytesType {
			n = protowire.ConsumeFieldValue(num, typ, list)
			if n < 0 {
				return protowire.ParseError(n)
			}
			list = list[n:]
			continue
		}
		wire, n := protowire.ConsumeBytes(list)
		if n < 0 {
			return protowire.ParseError(n)
		}
		list = list[n:]
		if err := yield(wire); err != nil {
			return err
		}
	}
	return nil
}

// SplitList appends the bytes of each google.protobuf.Value in the bytes of a
// ListValue, aliasing it.
func SplitList(dst [][]byte, list []byte) ([][]byte, error) {
	err := items(list, func(wire []byte) error {
		dst = append(dst, wire)
		return nil
	})
	return dst, err
}

func appendString[T ~string | ~[]byte](dst []byte, s T) []byte {
	dst = append(dst, tagString)
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

func appendBool(dst []byte, truth bool) []byte {
	return append(dst, tagBool, byte(boolInt(truth)))
}

// appendFloat appends a number, or for a number that JSON lacks the string
// that stands for it.
func appendFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return appendString(dst, "NaN")
	case math.IsInf(f, 1):
		return appendString(dst, "Infinity")
	case math.IsInf(f, -1):
		return appendString(dst, "-Infinity")
	}
	dst = append(dst, tagNumber)
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(f))
}

// AppendWire appends the canonical google.protobuf.Value of v.
func (v Value) AppendWire(dst []byte) []byte {
	if !v.valid {
		return append(dst, nullWire...)
	}
	switch v.typ.Code {
	case BoolCode:
		return appendBool(dst, v.n != 0)
	case Float64Code, Float32Code:
		return appendFloat(dst, v.AsFloat64())
	case ArrayCode, StructCode:
		return v.appendList(dst)
	case StringCode, JSONCode, UUIDCode, IntervalCode, TokenListCode:
		return appendString(dst, v.s)
	default:
		dst = append(dst, tagString)
		at := len(dst)
		dst = v.AppendText(append(dst, 0))
		return closeLength(dst, at)
	}
}

func (v Value) appendList(dst []byte) []byte {
	dst = append(dst, tagList)
	at := len(dst)
	dst = append(dst, 0)
	for _, item := range v.list {
		dst = append(dst, tagItem)
		itemAt := len(dst)
		dst = item.AppendWire(append(dst, 0))
		dst = closeLength(dst, itemAt)
	}
	return closeLength(dst, at)
}
