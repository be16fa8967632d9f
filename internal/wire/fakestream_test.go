package wire_test

import (
	"context"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"testing"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/wire"
)

// fakeServer answers a streaming call with rows, cut into messages at random
// and anew on every attempt, as a server may.
type fakeServer struct {
	t       *testing.T
	r       *rand.Rand
	columns int
	rows    [][]*structpb.Value

	// maxValues bounds the values of a message; 1 puts nearly every value in a
	// message of its own.
	maxValues int
	// chunk is the chance that a message's last value is split.
	chunk float64
	// token is the chance that a message that ends with a row carries one.
	token float64
	// tokenInRow lets messages that end inside a row carry tokens too.
	tokenInRow bool
	// sameToken sends one constant token on every message.
	sameToken bool
	last      bool
	// fault returns the error that ends the given attempt after so many
	// messages; nil lets it run. Attempts count from 0.
	fault func(attempt int) (after int, err error)
	// before, if set, may change the server before each attempt.
	before func(attempt int)

	attempts int
}

// position in the result: rows whole, and values of the next row.
type position struct{ row, value int }

func (p position) token() []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(p.row)), uint32(p.value))
}

func parseToken(b []byte) position {
	if len(b) != 8 {
		return position{}
	}
	return position{int(binary.BigEndian.Uint32(b)), int(binary.BigEndian.Uint32(b[4:]))}
}

func (s *fakeServer) open(ctx context.Context, token []byte) (wire.Receiver, error) {
	attempt := s.attempts
	s.attempts++
	if s.before != nil {
		s.before(attempt)
	}
	messages := s.messages(parseToken(token))
	a := &attemptStream{t: s.t, ctx: ctx, messages: messages, end: io.EOF}
	if s.fault != nil {
		if after, err := s.fault(attempt); err != nil {
			if after == 0 {
				return nil, err
			}
			a.messages, a.end = messages[:min(after, len(messages))], err
		}
	}
	return a, nil
}

func (s *fakeServer) metadata() *spannerpb.ResultSetMetadata {
	rowType := &spannerpb.StructType{}
	for range s.columns {
		rowType.Fields = append(rowType.Fields, &spannerpb.StructType_Field{Type: &spannerpb.Type{Code: spannerpb.TypeCode_JSON}})
	}
	return &spannerpb.ResultSetMetadata{RowType: rowType}
}

func (s *fakeServer) messages(p position) []*spannerpb.PartialResultSet {
	var values []*structpb.Value
	for i := p.row; i < len(s.rows); i++ {
		row := s.rows[i]
		if i == p.row {
			row = row[p.value:]
		}
		values = append(values, row...)
	}
	done := p.row*s.columns + p.value
	var out []*spannerpb.PartialResultSet
	for len(values) > 0 {
		n := min(1+s.r.IntN(s.maxValues), len(values))
		m := &spannerpb.PartialResultSet{Values: append([]*structpb.Value(nil), values[:n]...)}
		values = append([]*structpb.Value(nil), values[n:]...)
		done += n
		if s.r.Float64() < s.chunk {
			if head, tail, ok := split(s.r, m.Values[n-1]); ok {
				m.Values[n-1], m.ChunkedValue = head, true
				values = append([]*structpb.Value{tail}, values...)
				done--
			}
		}
		s.addToken(m, position{done / s.columns, done % s.columns})
		out = append(out, m)
	}
	if len(out) == 0 {
		out = []*spannerpb.PartialResultSet{{}}
	}
	out[0].Metadata = s.metadata()
	out[len(out)-1].Last = s.last
	return out
}

func (s *fakeServer) addToken(m *spannerpb.PartialResultSet, at position) {
	switch {
	case s.sameToken:
		m.ResumeToken = []byte("constant")
	case m.ChunkedValue || at.value != 0 && !s.tokenInRow:
	case s.r.Float64() < s.token:
		m.ResumeToken = at.token()
	}
}

type attemptStream struct {
	t        *testing.T
	ctx      context.Context
	messages []*spannerpb.PartialResultSet
	end      error
}

func (a *attemptStream) RecvMsg(m any) error {
	if err := a.ctx.Err(); err != nil {
		return err
	}
	if len(a.messages) == 0 {
		return a.end
	}
	b, err := proto.Marshal(a.messages[0])
	if err != nil {
		a.t.Fatal(err)
	}
	a.messages = a.messages[1:]
	return m.(*wire.Message).ParseMessage(b)
}

func randomRows(r *rand.Rand, rows, columns int) [][]*structpb.Value {
	out := make([][]*structpb.Value, rows)
	for i := range out {
		out[i] = make([]*structpb.Value, columns)
		for j := range out[i] {
			out[i][j] = randomValue(r, 2)
		}
	}
	return out
}

// drain reads a stream to its end and returns its rows.
func drain(s *wire.Stream) ([][]*structpb.Value, error) {
	defer s.Close()
	var out [][]*structpb.Value
	for {
		row, err := s.Next()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		values := make([]*structpb.Value, len(row))
		for i, v := range row {
			values[i] = decode(v)
		}
		out = append(out, values)
	}
}

func checkRows(t *testing.T, got, want [][]*structpb.Value) bool {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("got %d rows, want %d", len(got), len(want))
		return false
	}
	for i := range want {
		for j := range want[i] {
			if !proto.Equal(got[i][j], want[i][j]) {
				t.Errorf("row %d, value %d: got %v, want %v", i, j, got[i][j], want[i][j])
				return false
			}
		}
	}
	return true
}
