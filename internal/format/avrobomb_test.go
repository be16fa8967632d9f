package format_test

import (
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

// TestAvroBombs: what blocks hold decompressed is bounded, by itself and
// together, and the records before the bound are handed over.
func TestAvroBombs(t *testing.T) {
	const mib = 1 << 20
	target := targetOf(field("Id", int64Type), field("Part", stringType))
	for _, c := range []struct {
		codec        format.AvroCodec
		blocks, rows int
		before       int // records that must come out
		long         bool
	}{
		{format.AvroZstandard, 1, 70, 0, false},
		{format.AvroZstandard, 9, 8, 64, true},
		{format.AvroDeflate, 9, 8, 64, false},
		{format.AvroSnappy, 9, 8, 64, true},
	} {
		t.Run(fmt.Sprintf("%s, %d blocks", c.codec, c.blocks), func(t *testing.T) {
			if c.long && randtest.RaceDetector && !randtest.Long() {
				t.Skip("takes seconds under the race detector: the long run and runs without it have it")
			}
			file := avroBlocks(t, c.codec, c.blocks, c.rows, mib-16)
			o := format.DecodeOptions{MaxRecordBytes: mib}
			// A splitter that is asked for as much makes one chunk of all.
			split := format.SplitOptions{Kind: format.Avro, MaxRecordBytes: mib, ChunkBytes: 1 << 30}
			records, err := decodeAll(t, target, o, split, file)
			if err == nil || !strings.Contains(err.Error(), "a block is too large") || len(records) != c.before {
				t.Errorf("%d records, error %v", len(records), err)
			}
			for _, r := range records {
				if r.Err != nil {
					t.Fatal(r.Err)
				}
			}
		})
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
