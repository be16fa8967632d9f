package format

import (
	"bytes"
	"testing"
)

// TestAvroBlockLimit: in every codec a block that just fits behind what its chunk
// holds is whole, and one of a byte more is refused.
func TestAvroBlockLimit(t *testing.T) {
	const limit, before = 300_000, 1000
	dst := bytes.Repeat([]byte{'b'}, before)
	for _, codec := range []AvroCodec{AvroDeflate, AvroSnappy, AvroZstandard} {
		compress, err := newBlockCompressor(codec)
		if err != nil {
			t.Fatal(err)
		}
		var blocks avroBlocks // one reads the blocks behind a refused one, too
		for _, over := range []int{1, 0, limit, 0} {
			plain := bytes.Repeat([]byte{'a'}, limit-before+over)
			block, err := compress(nil, plain)
			if err != nil {
				t.Fatal(err)
			}
			got, err := blocks.plain(bytes.Clone(dst), block, codec, limit)
			switch {
			case over > 0 && err != errAvroTooLarge:
				t.Errorf("%s: %d bytes above the limit: error %v", codec, over, err)
			case over == 0 && (err != nil || !bytes.Equal(got, append(bytes.Clone(dst), plain...))):
				t.Errorf("%s: %d bytes came back, error %v", codec, len(got), err)
			case len(got) > 2*limit:
				t.Errorf("%s: %d bytes are kept of a limit of %d", codec, len(got), limit)
			}
		}
	}
}
