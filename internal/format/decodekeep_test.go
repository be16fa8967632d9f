package format_test

import (
	"bytes"
	"runtime"
	"testing"
	"weak"

	"spanbulk/internal/format"
)

// TestDecoderKeepsNoRecord holds a Decoder that is idle: what it read last must
// not stay in memory, for a record can be as large as all else.
func TestDecoderKeepsNoRecord(t *testing.T) {
	const size = 2 << 20
	text := string(bytes.Repeat([]byte("x"), size))
	for kind, input := range map[format.Kind]string{
		format.NDJSON: `{"Id":1,"Name":"` + text + "\"}\n",
		format.CSV:    "Id,Name\n1,\"" + text + "\"\n",
	} {
		t.Run(string(kind), func(t *testing.T) {
			d, err := format.NewDecoder(&format.DecodeOptions{})
			if err != nil {
				t.Fatal(err)
			}
			kept := decodeLarge(t, d, kind, input)
			runtime.GC()
			for what, p := range kept {
				if p.Value() != nil {
					t.Errorf("%s of the last record is still there", what)
				}
			}
			runtime.KeepAlive(d)
		})
	}
}

// decodeLarge decodes one record and returns pointers to its text and its
// largest value that keep neither.
func decodeLarge(t *testing.T, d *format.Decoder, kind format.Kind, input string) map[string]weak.Pointer[byte] {
	s := format.NewSplitter(bytes.NewReader([]byte(input)), format.SplitOptions{Kind: kind})
	var c format.Chunk
	if err := s.Next(&c); err != nil {
		t.Fatal(err)
	}
	kept := map[string]weak.Pointer[byte]{}
	target := targetOf(field("Id", int64Type), field("Name", stringType))
	err := d.Decode(target, &c, func(r *format.Record) error {
		if r.Err != nil {
			return r.Err
		}
		kept["the text"] = weak.Make(&r.Raw[0])
		kept["a value"] = weak.Make(&r.Values[1][0])
		return nil
	})
	if err != nil || len(kept) != 2 {
		t.Fatalf("%v; %d", err, len(kept))
	}
	return kept
}
