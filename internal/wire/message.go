package wire

import (
	"errors"
	"unsafe"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// Field numbers of google.spanner.v1.PartialResultSet
// (google/spanner/v1/result_set.proto).
const (
	fieldMetadata     protowire.Number = 1
	fieldValues       protowire.Number = 2
	fieldChunkedValue protowire.Number = 3
	fieldResumeToken  protowire.Number = 4
	fieldStats        protowire.Number = 5
	fieldLast         protowire.Number = 9

	tagValues = byte(fieldValues<<3) | byte(protowire.BytesType)
)

var errMalformed = errors.New("malformed protobuf message")

// Message is one PartialResultSet as it was received: the buffer, and where its
// parts lie in it. All slices alias the buffer, which the Message owns until
// Free gives it back to gRPC. A Message may be used again after Free.
type Message struct {
	// Metadata is the encoded ResultSetMetadata; nil where the message has none.
	Metadata []byte
	// Values are the message's values, row after row, across row boundaries.
	Values []Value
	// Chunked says that the last value goes on in the next message.
	Chunked bool
	// ResumeToken is empty where the message has none.
	ResumeToken []byte
	// Stats is the encoded ResultSetStats; nil where the message has none.
	Stats []byte
	// Last says that no message follows.
	Last bool

	buf  mem.Buffer
	size int
}

// Size is the number of bytes the message took on the wire.
func (m *Message) Size() int { return m.size }

// footprint is about what the message takes in memory.
func (m *Message) footprint() int { return m.size + len(m.Values)*int(unsafe.Sizeof(Value(nil))) }

// Free gives the buffer back. Everything read from the message is dead then.
func (m *Message) Free() {
	if m.buf != nil {
		m.buf.Free()
	}
	clear(m.Values)
	*m = Message{Values: m.Values[:0]}
}

// take makes m own data and finds the parts in it. gRPC gives its reference up
// when the codec returns, so a reference of our own keeps the bytes.
func (m *Message) take(data mem.BufferSlice) error {
	m.Free()
	m.buf = data.MaterializeToBuffer(mem.DefaultBufferPool())
	return m.scan(m.buf.ReadOnlyData())
}

// ParseMessage reads b as a PartialResultSet into m. The parts of m alias b,
// which must not change while m is in use.
func (m *Message) ParseMessage(b []byte) error {
	m.Free()
	return m.scan(b)
}

func (m *Message) scan(b []byte) error {
	m.size = len(b)
	for len(b) > 0 {
		if b[0] == tagValues {
			v, n := consumeBytes(b[1:])
			if n < 0 {
				return errMalformed
			}
			m.Values = append(m.Values, v)
			b = b[1+n:]
			continue
		}
		n := m.scanField(b)
		if n < 0 {
			return errMalformed
		}
		b = b[n:]
	}
	return nil
}

// consumeBytes reads a length-delimited field's length and content. It is the
// hot path of a message: most values are shorter than 128 bytes.
func consumeBytes(b []byte) (content []byte, n int) {
	if len(b) > 0 && b[0] < 0x80 {
		end := 1 + int(b[0])
		if end > len(b) {
			return nil, -1
		}
		return b[1:end:end], end
	}
	return protowire.ConsumeBytes(b)
}

// scanField reads one field other than a value and returns its length, or a
// negative number where the bytes are no field. Unknown fields are passed over:
// Spanner may add some.
func (m *Message) scanField(b []byte) int {
	num, typ, tagLen := protowire.ConsumeTag(b)
	if tagLen < 0 {
		return -1
	}
	valueLen := protowire.ConsumeFieldValue(num, typ, b[tagLen:])
	if valueLen < 0 {
		return -1
	}
	content := b[tagLen : tagLen+valueLen]
	switch typ {
	case protowire.BytesType:
		content, _ = protowire.ConsumeBytes(content)
		m.setBytes(num, content)
	case protowire.VarintType:
		n, _ := protowire.ConsumeVarint(content)
		m.setFlag(num, n != 0)
	}
	return tagLen + valueLen
}

func (m *Message) setBytes(num protowire.Number, content []byte) {
	switch num {
	case fieldMetadata:
		m.Metadata = content
	case fieldValues: // a tag written in more bytes than it needs
		m.Values = append(m.Values, content)
	case fieldResumeToken:
		m.ResumeToken = content
	case fieldStats:
		m.Stats = content
	}
}

func (m *Message) setFlag(num protowire.Number, set bool) {
	switch num {
	case fieldChunkedValue:
		m.Chunked = set
	case fieldLast:
		m.Last = set
	}
}
