package format_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"spanbulk/internal/format"
	"spanbulk/internal/randtest"
	"spanbulk/internal/wire"
)

// avroBlocks makes a file of blocks that each hold rows of the same text.
func avroBlocks(t *testing.T, codec format.AvroCodec, blocks, rows, size int) []byte {
	t.Helper()
	f := newAvro(t, format.AvroOptions{Codec: codec, Sync: fixedSync}, field("Id", int64Type), field("Part", stringType))
	file := append([]byte(nil), f.Header()...)
	enc := f.NewEncoder()
	text := str(strings.Repeat("a", size))
	var plain []byte
	for b := range blocks {
		plain = plain[:0]
		for r := range rows {
			var err error
			if plain, err = enc.AppendRow(plain, encodeRow(t, str(fmt.Sprint(b*rows+r)), text)); err != nil {
				t.Fatal(err)
			}
		}
		var err error
		if file, err = enc.Seal(file, plain, rows); err != nil {
			t.Fatal(err)
		}
	}
	return file
}

// avroBombs makes a file of one block again and again: rows of a text of size bytes.
func avroBombs(t *testing.T, codec format.AvroCodec, blocks, rows, size int) []byte {
	t.Helper()
	f := newAvro(t, format.AvroOptions{Codec: codec, Sync: fixedSync}, field("Id", int64Type), field("Part", stringType))
	enc := f.NewEncoder()
	row, err := enc.AppendRow(nil, encodeRow(t, str("1"), str(strings.Repeat("a", size))))
	if err != nil {
		t.Fatal(err)
	}
	block, err := enc.Seal(nil, bytes.Repeat(row, rows), rows)
	if err != nil {
		t.Fatal(err)
	}
	return append(append([]byte(nil), f.Header()...), bytes.Repeat(block, blocks)...)
}

// zstdBomb makes a file of one block, a zstandard frame of size bytes that is a
// thirty-thousandth of that: a run of zeros in every block of the frame.
func zstdBomb(t *testing.T, size int) []byte {
	t.Helper()
	const (
		run    = 128 << 10 // the most that a block of a frame may hold
		rle    = 1 << 1
		window = 8 << 3 // a window of 1 KiB << 8
	)
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, window}
	for n := size / run; n > 0; n-- {
		head := uint32(run<<3 | rle)
		if n == 1 {
			head |= 1
		}
		frame = append(frame, byte(head), byte(head>>8), byte(head>>16), 0)
	}
	f := newAvro(t, format.AvroOptions{Codec: format.AvroZstandard, Sync: fixedSync}, field("Id", int64Type), field("Part", stringType))
	file := binary.AppendVarint(append([]byte(nil), f.Header()...), int64(size/2)) // an Id and no text each
	file = binary.AppendVarint(file, int64(len(frame)))
	return append(append(file, frame...), fixedSync[:]...)
}

// TestAvroBombs: what blocks hold decompressed is bounded, by itself and
// together, and the records before the bound are handed over.
func TestAvroBombs(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		name   string
		file   func(t *testing.T) []byte
		before int // records that must come out
		long   bool
	}{
		{"one zstandard block", func(t *testing.T) []byte { return zstdBomb(t, 1<<30) }, 0, true},
		{"zstandard", func(t *testing.T) []byte { return avroBombs(t, format.AvroZstandard, 9, 8, mib-16) }, 64, true},
		{"deflate", func(t *testing.T) []byte { return avroBombs(t, format.AvroDeflate, 9, 8, mib-16) }, 64, true},
		{"snappy", func(t *testing.T) []byte { return avroBombs(t, format.AvroSnappy, 2, 33, mib-16) }, 33, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.long && randtest.RaceDetector && !randtest.Long() {
				t.Skip("takes seconds under the race detector: the long run and runs without it have it")
			}
			// A splitter that is asked for as much makes one chunk of all.
			split := format.SplitOptions{Kind: format.Avro, MaxRecordBytes: mib, ChunkBytes: 1 << 30}
			records, err := countRecords(t, format.DecodeOptions{MaxRecordBytes: mib}, split, c.file(t))
			if err == nil || !strings.Contains(err.Error(), "a block is too large") || records != c.before {
				t.Errorf("%d records, error %v", records, err)
			}
		})
	}
}

// countRecords decodes the one chunk of a file of Id and Part, none of whose records
// may be refused.
func countRecords(t *testing.T, o format.DecodeOptions, split format.SplitOptions, file []byte) (int, error) {
	t.Helper()
	var c format.Chunk
	if err := format.NewSplitter(bytes.NewReader(file), split).Next(&c); err != nil {
		t.Fatal(err)
	}
	d, err := format.NewDecoder(&o)
	if err != nil {
		t.Fatal(err)
	}
	records := 0
	err = d.Decode(targetOf(field("Id", int64Type), field("Part", stringType)), &c, func(r *format.Record) error {
		records++
		if r.Err != nil {
			return r.Err
		}
		return nil
	})
	return records, err
}

// TestAvroSmallestChunks: each chunk has a block, however small it is to be.
func TestAvroSmallestChunks(t *testing.T) {
	for _, codec := range []format.AvroCodec{format.AvroNull, format.AvroDeflate} {
		file := avroBombs(t, codec, 3, 1, 10)
		s := format.NewSplitter(bytes.NewReader(file), format.SplitOptions{Kind: format.Avro, ChunkBytes: 1})
		for i := range 3 {
			var c format.Chunk
			if err := s.Next(&c); err != nil || len(c.Data) == 0 || c.Line != int64(i+1) {
				t.Fatalf("%s: chunk %d has %d bytes at record %d, error %v", codec, i, len(c.Data), c.Line, err)
			}
		}
	}
}

// TestAvroRecordsBeforeDamage: the records before a block that is damaged come
// out, whichever byte of it is.
func TestAvroRecordsBeforeDamage(t *testing.T) {
	target := targetOf(field("Id", int64Type), field("Part", stringType))
	for _, codec := range []format.AvroCodec{format.AvroNull, format.AvroDeflate, format.AvroSnappy, format.AvroZstandard} {
		whole := avroBlocks(t, codec, 3, 5, 100)
		two := len(avroBlocks(t, codec, 2, 5, 100))
		for at := two; at < len(whole); at++ {
			file := append([]byte(nil), whole...)
			file[at] ^= 0x55
			records, err := decodeAll(t, target, format.DecodeOptions{}, format.SplitOptions{Kind: format.Avro}, file)
			if len(records) < 10 {
				t.Fatalf("%s, byte %d of the third block: %d records, error %v", codec, at-two, len(records), err)
			}
			for i, r := range records[:10] {
				if want := wire.AppendString(nil, fmt.Sprint(i)); string(r.Values[0]) != string(want) {
					t.Fatalf("%s: record %d is %x", codec, i, r.Values[0])
				}
			}
			var damage *format.InputError
			if err != nil && !errors.As(err, &damage) {
				t.Fatalf("%s: error %v", codec, err)
			}
		}
	}
}
