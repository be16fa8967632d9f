package wire_test

import (
	"errors"
	"strings"
	"testing"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/wire"
)

// assemble feeds messages to an Assembler and returns its rows.
func assemble(t testing.TB, columns int, messages ...*spannerpb.PartialResultSet) ([][]*structpb.Value, error) {
	t.Helper()
	a := wire.NewAssembler(columns)
	var rows [][]*structpb.Value
	for _, p := range messages {
		b, err := proto.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var m wire.Message
		if err := m.ParseMessage(b); err != nil {
			t.Fatal(err)
		}
		if err := a.Add(&m); err != nil {
			return rows, err
		}
		for row, ok := a.Next(); ok; row, ok = a.Next() {
			var values []*structpb.Value
			for _, v := range row {
				values = append(values, decode(v))
			}
			rows = append(rows, values)
		}
		clear(b) // what the Assembler keeps must be its own
	}
	return rows, a.End()
}

func message(values ...*structpb.Value) *spannerpb.PartialResultSet {
	return &spannerpb.PartialResultSet{Values: values}
}

func chunked(values ...*structpb.Value) *spannerpb.PartialResultSet {
	return &spannerpb.PartialResultSet{Values: values, ChunkedValue: true}
}

func TestChunkedValues(t *testing.T) {
	null, one, yes := structpb.NewNullValue(), structpb.NewNumberValue(1), structpb.NewBoolValue(true)
	tests := []struct {
		name     string
		messages []*spannerpb.PartialResultSet
		want     *structpb.Value
	}{
		{"strings", []*spannerpb.PartialResultSet{chunked(str("Hello, W")), message(str("orld"))}, str("Hello, World")},
		{"string in many pieces", []*spannerpb.PartialResultSet{chunked(str("a")), chunked(str("")), chunked(str("b")), message(str("c"))}, str("abc")},
		{"string with empty end", []*spannerpb.PartialResultSet{chunked(str("abc")), message(str(""))}, str("abc")},
		{"lists of strings", []*spannerpb.PartialResultSet{chunked(list(str("a"), str("b"))), message(list(str("c"), str("d")))}, list(str("a"), str("bc"), str("d"))},
		{"lists of numbers", []*spannerpb.PartialResultSet{chunked(list(one, one)), message(list(one))}, list(one, one, one)},
		{"null meets string", []*spannerpb.PartialResultSet{chunked(list(str("a"), null)), message(list(str("b")))}, list(str("a"), null, str("b"))},
		{"string meets null", []*spannerpb.PartialResultSet{chunked(list(str("a"))), message(list(null, yes))}, list(str("a"), null, yes)},
		{"nested lists", []*spannerpb.PartialResultSet{
			chunked(list(str("a"), list(str("b"), str("c")))),
			message(list(list(str("d")), str("e"))),
		}, list(str("a"), list(str("b"), str("cd")), str("e"))},
		{"one element over many pieces", []*spannerpb.PartialResultSet{
			chunked(list(str("x"), str("a"))), chunked(list(str("b"))), chunked(list()), message(list(str("c"), str("y"))),
		}, list(str("x"), str("abc"), str("y"))},
		{"empty list goes on", []*spannerpb.PartialResultSet{chunked(list()), message(list(str("a")))}, list(str("a"))},
		{"list ends with an empty list", []*spannerpb.PartialResultSet{chunked(list(str("a"))), message(list())}, list(str("a"))},
		{"inner list ends at the border", []*spannerpb.PartialResultSet{chunked(list(list(one))), message(list(list(), list(one)))}, list(list(one), list(one))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := assemble(t, 1, tt.messages...)
			if err != nil {
				t.Fatal(err)
			}
			checkRows(t, got, [][]*structpb.Value{{tt.want}})
		})
	}
}

// TestChunkAtEveryByte cuts a string at every pair of bytes.
func TestChunkAtEveryByte(t *testing.T) {
	text := "naïve 你好 \U0001f30d\x00\n"
	for i := range len(text) + 1 {
		for j := i; j <= len(text); j++ {
			// Pieces need not be whole characters: they are bytes to the
			// Assembler, though not to the protobuf library that decodes them.
			a := wire.NewAssembler(2)
			var whole []byte
			for k, piece := range []string{text[:i], text[i:j], text[j:]} {
				value := wire.AppendString(nil, piece)
				m := &wire.Message{Values: []wire.Value{value}, Chunked: k < 2}
				if k == 2 {
					m.Values = append(m.Values, wire.AppendNull(nil))
				}
				if err := a.Add(m); err != nil {
					t.Fatal(err)
				}
				for row, ok := a.Next(); ok; row, ok = a.Next() {
					_, payload := row[0].Parse()
					whole = append(whole, payload...)
				}
			}
			if string(whole) != text {
				t.Fatalf("cut at %d and %d: got %q", i, j, whole)
			}
		}
	}
}

func TestAssemblerRefuses(t *testing.T) {
	one := structpb.NewNumberValue(1)
	tests := []struct {
		name     string
		columns  int
		messages []*spannerpb.PartialResultSet
		want     string
	}{
		{"chunked number", 1, []*spannerpb.PartialResultSet{chunked(one), message(one)}, "number_value"},
		{"string goes on as a list", 1, []*spannerpb.PartialResultSet{chunked(str("a")), message(list())}, "goes on as a list_value"},
		{"list goes on as a string", 1, []*spannerpb.PartialResultSet{chunked(list()), message(str("a"))}, "goes on as a string_value"},
		{"chunk without values", 1, []*spannerpb.PartialResultSet{chunked()}, "without values"},
		{"values without columns", 0, []*spannerpb.PartialResultSet{message(one)}, "without columns"},
		{"end inside a row", 2, []*spannerpb.PartialResultSet{message(one, one, one)}, "after 1 of its 2 values"},
		{"end inside a value", 2, []*spannerpb.PartialResultSet{message(one), chunked(str("a"))}, "in a value sent in pieces"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := assemble(t, tt.columns, tt.messages...)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, want an error with %q", err, tt.want)
			}
			if strings.Contains(tt.name, "end inside") && !errors.Is(err, wire.ErrMidRow) {
				t.Errorf("%v is not ErrMidRow", err)
			}
		})
	}
}

func FuzzParseMessage(f *testing.F) {
	for _, p := range []*spannerpb.PartialResultSet{
		message(str("a"), list(str("b"))),
		{Metadata: &spannerpb.ResultSetMetadata{}, ResumeToken: []byte("token"), Last: true, Stats: &spannerpb.ResultSetStats{}},
		chunked(str("a")),
	} {
		b, err := proto.Marshal(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var m wire.Message
		err := m.ParseMessage(b)
		var p spannerpb.PartialResultSet
		if proto.Unmarshal(b, &p) != nil {
			return
		}
		if err != nil {
			t.Fatalf("%x is a PartialResultSet, but: %v", b, err)
		}
		if len(m.Values) != len(p.Values) || m.Chunked != p.ChunkedValue || m.Last != p.Last || string(m.ResumeToken) != string(p.ResumeToken) {
			t.Errorf("%x: got %+v, want %v", b, m, &p)
		}
		a := wire.NewAssembler(2)
		if a.Add(&m) == nil {
			for _, ok := a.Next(); ok; _, ok = a.Next() {
			}
		}
	})
}
