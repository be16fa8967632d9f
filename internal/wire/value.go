package wire

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Value is one google.protobuf.Value message in its wire form, without the tag
// and length that precede it in the enclosing message. A Value aliases the
// buffer it was read from and is valid as long as that buffer is; see Stream
// for who owns the buffers of streamed rows.
type Value []byte

// Kind tells which member of the oneof a Value holds.
type Kind uint8

// The kinds of a google.protobuf.Value. Invalid stands for bytes that are no
// such message, and for a message without any kind set, which Spanner never
// sends. Spanner does not use struct_value either: STRUCTs travel as lists.
const (
	Invalid Kind = iota
	Null
	Number
	String
	Bool
	ListKind
	StructKind
)

// String names the kind the way google/protobuf/struct.proto does.
func (k Kind) String() string {
	switch k {
	case Null:
		return "null_value"
	case Number:
		return "number_value"
	case String:
		return "string_value"
	case Bool:
		return "bool_value"
	case ListKind:
		return "list_value"
	case StructKind:
		return "struct_value"
	default:
		return "invalid value"
	}
}

// Field numbers and tags of google.protobuf.Value and ListValue
// (google/protobuf/struct.proto).
const (
	fieldNull   protowire.Number = 1
	fieldNumber protowire.Number = 2
	fieldString protowire.Number = 3
	fieldBool   protowire.Number = 4
	fieldStruct protowire.Number = 5
	fieldList   protowire.Number = 6

	tagNull   = byte(fieldNull<<3) | byte(protowire.VarintType)
	tagNumber = byte(fieldNumber<<3) | byte(protowire.Fixed64Type)
	tagString = byte(fieldString<<3) | byte(protowire.BytesType)
	tagBool   = byte(fieldBool<<3) | byte(protowire.VarintType)
	tagList   = byte(fieldList<<3) | byte(protowire.BytesType)

	tagListElement = byte(1<<3) | byte(protowire.BytesType)
)

// Parse splits v into its kind and the payload of that kind: the text of a
// string, the eight little-endian bytes of a number, the varint of a bool, the
// encoded ListValue of a list, nothing for null. The payload aliases v.
//
// It accepts every encoding a protobuf parser must accept; the common one, a
// single field that fills the message, takes the short way.
func (v Value) Parse() (Kind, []byte) {
	if len(v) < 2 {
		return Invalid, nil
	}
	switch v[0] {
	case tagString, tagList:
		n, size := uint64(v[1]), 1
		if n >= 0x80 {
			if n, size = binary.Uvarint(v[1:]); size <= 0 {
				return Invalid, nil
			}
		}
		if n == uint64(len(v)-1-size) {
			if v[0] == tagString {
				return String, v[1+size:]
			}
			return ListKind, v[1+size:]
		}
	case tagNumber:
		if len(v) == 9 {
			return Number, v[1:]
		}
	case tagBool:
		if len(v) == 2 && v[1] < 0x80 {
			return Bool, v[1:]
		}
	case tagNull:
		if len(v) == 2 && v[1] < 0x80 {
			return Null, nil
		}
	}
	return v.parseSlow()
}

// parseSlow reads v as a general protobuf message: unknown fields are passed
// over and the last member of the oneof wins.
func (v Value) parseSlow() (Kind, []byte) {
	kind, payload := Invalid, []byte(nil)
	for b := []byte(v); len(b) > 0; {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return Invalid, nil
		}
		b = b[n:]
		n = protowire.ConsumeFieldValue(num, typ, b)
		if n < 0 {
			return Invalid, nil
		}
		field := b[:n]
		b = b[n:]
		k, want := kindOfField(num)
		if k == Invalid || typ != want { // to protobuf, a field of another type is an unknown one
			continue
		}
		if want == protowire.BytesType {
			field, _ = protowire.ConsumeBytes(field)
		}
		kind, payload = k, field
	}
	if kind == Null {
		payload = nil
	}
	return kind, payload
}

func kindOfField(num protowire.Number) (Kind, protowire.Type) {
	switch num {
	case fieldNull:
		return Null, protowire.VarintType
	case fieldNumber:
		return Number, protowire.Fixed64Type
	case fieldString:
		return String, protowire.BytesType
	case fieldBool:
		return Bool, protowire.VarintType
	case fieldStruct:
		return StructKind, protowire.BytesType
	case fieldList:
		return ListKind, protowire.BytesType
	default:
		return Invalid, 0
	}
}

// Kind reports which kind of value v is.
func (v Value) Kind() Kind {
	k, _ := v.Parse()
	return k
}

// IsNull reports whether v is Spanner's NULL.
func (v Value) IsNull() bool { return v.Kind() == Null }

// Float64 converts the payload of a Number, as Parse returns it.
func Float64(payload []byte) float64 {
	return math.Float64frombits(binary.LittleEndian.Uint64(payload))
}

// Truth converts the payload of a Bool, as Parse returns it.
func Truth(payload []byte) bool {
	n, _ := protowire.ConsumeVarint(payload)
	return n != 0
}

// List is an encoded google.protobuf.ListValue: the payload of a ListKind.
type List []byte

// Next takes the first element off the list. ok is false at the end of the list
// and when the bytes are malformed; Done on the returned rest tells the two apart.
func (l List) Next() (v Value, rest List, ok bool) {
	for len(l) > 0 {
		if l[0] == tagListElement {
			v, n := consumeBytes(l[1:])
			if n < 0 {
				return nil, l, false
			}
			return v, l[1+n:], true
		}
		_, _, n := protowire.ConsumeField(l)
		if n < 0 {
			return nil, l, false
		}
		l = l[n:]
	}
	return nil, nil, false
}

// Done reports whether a list that Next returned no element from has ended, as
// opposed to being malformed.
func (l List) Done() bool { return len(l) == 0 }

// AppendNull appends a NULL to dst.
func AppendNull(dst []byte) []byte { return append(dst, tagNull, 0) }

// AppendBool appends a BOOL to dst.
func AppendBool(dst []byte, b bool) []byte {
	if b {
		return append(dst, tagBool, 1)
	}
	return append(dst, tagBool, 0)
}

// AppendNumber appends a number_value to dst.
func AppendNumber(dst []byte, f float64) []byte {
	dst = append(dst, tagNumber)
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(f))
}

// AppendString appends a string_value to dst: the form of every Spanner type
// but BOOL, the floats, ARRAY and STRUCT.
func AppendString[T ~string | ~[]byte](dst []byte, s T) []byte {
	return append(appendLength(dst, tagString, len(s)), s...)
}

// AppendList appends a list_value whose encoded elements are elements, each
// made with AppendElement.
func AppendList(dst, elements []byte) []byte {
	return append(appendLength(dst, tagList, len(elements)), elements...)
}

// AppendElement appends v as one element of a ListValue.
func AppendElement(dst []byte, v Value) []byte {
	return append(appendLength(dst, tagListElement, len(v)), v...)
}
