package emulator

import (
	"encoding/binary"
	"encoding/json"
	"hash/fnv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"spanbulk/internal/emulator/relation"
)

// position is how far a result has been sent; it is what a resume token holds.
type position struct {
	// at is the timestamp the result is read at, so that a resumed strong read
	// goes on with the same data.
	at time.Time
	// rows is how many rows were sent.
	rows int64
	// key is the encoded key of the last row, for reads.
	key string
}

// encode makes a resume token for a request with the given fingerprint.
func (p position) encode(request uint64) []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 24+len(p.key)), request)
	b = binary.BigEndian.AppendUint64(b, uint64(p.at.Unix()))
	b = binary.BigEndian.AppendUint32(b, uint32(p.at.Nanosecond()))
	b = binary.AppendUvarint(b, uint64(p.rows))
	return append(b, p.key...)
}

// decodePosition reads a resume token that was made for the same request.
func decodePosition(token []byte, request uint64) (position, error) {
	if len(token) < 21 || binary.BigEndian.Uint64(token) != request {
		return position{}, status.Error(codes.InvalidArgument, "Invalid resume token for this request.")
	}
	at := time.Unix(int64(binary.BigEndian.Uint64(token[8:])), int64(binary.BigEndian.Uint32(token[16:]))).UTC()
	rows, n := binary.Uvarint(token[20:])
	if n <= 0 {
		return position{}, status.Error(codes.InvalidArgument, "Invalid resume token.")
	}
	return position{at: at, rows: int64(rows), key: string(token[20+n:])}, nil
}

// partitionToken is the content of a partition token. It holds all that is
// needed to run the partition, so that any server process of the same
// database could, as often as it likes.
type partitionToken struct {
	Session     string `json:"s"`
	Transaction string `json:"t"`
	// Request is the fingerprint of the read or query that was partitioned.
	Request    uint64 `json:"r"`
	Start, End []byte
	// Empty marks a partition without rows.
	Empty bool `json:",omitempty"`
}

func (p partitionToken) encode() ([]byte, error) { return json.Marshal(p) }

func (p partitionToken) bound() relation.KeyRange {
	return relation.KeyRange{Start: p.Start, End: p.End}
}

// decodePartition reads a partition token that was made for this session.
func decodePartition(token []byte, session string) (*partitionToken, error) {
	var p partitionToken
	if err := json.Unmarshal(token, &p); err != nil || p.Session == "" {
		return nil, status.Error(codes.InvalidArgument, "Invalid partition token.")
	}
	if p.Session != session {
		return nil, status.Error(codes.InvalidArgument, "Partitioned request was created for a different session.")
	}
	return &p, nil
}

// check makes sure that the partition is one of this transaction and request.
func (p *partitionToken) check(transaction string, request uint64) error {
	switch {
	case p.Transaction != transaction:
		return status.Error(codes.InvalidArgument, "Partitioned request was created for a different transaction.")
	case p.Request != request:
		return status.Error(codes.InvalidArgument, "Partitioned request was created for different read or sql parameters.")
	}
	return nil
}

// fingerprint tells requests apart by the fields that a resumed or partitioned
// request must repeat.
func fingerprint(m proto.Message) uint64 {
	// A message that came off the wire can be encoded.
	b, _ := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	h := fnv.New64a()
	h.Write(b)
	return h.Sum64()
}
