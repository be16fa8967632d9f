package format

import (
	"bytes"
	"compress/bzip2"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"slices"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// avroBzip2 can only be read.
const avroBzip2 AvroCodec = "bzip2"

// avroBlocks decompresses blocks for one Decoder.
type avroBlocks struct {
	zstd  *zstd.Decoder
	flate io.ReadCloser
	in    bytes.Reader
}

// avroBlockLimit bounds the blocks of one chunk decompressed, and so each of
// them: room for the largest record and for what a writer gathers before it.
func avroBlockLimit(maxRecordBytes int) int { return maxRecordBytes + 64<<20 }

var errAvroTooLarge = errors.New("a block is too large: decompressed, it and those with it are more than 64 MiB above --max-record-bytes")

// plain appends the data of a block to dst, which may grow to limit.
func (b *avroBlocks) plain(dst, data []byte, codec AvroCodec, limit int) ([]byte, error) {
	switch codec {
	case AvroDeflate:
		b.in.Reset(data)
		if b.flate == nil {
			b.flate = flate.NewReader(&b.in)
		} else if err := b.flate.(flate.Resetter).Reset(&b.in, nil); err != nil {
			return dst, err
		}
		return appendAll(dst, b.flate, limit)
	case avroBzip2:
		return appendAll(dst, bzip2.NewReader(bytes.NewReader(data)), limit)
	case AvroSnappy:
		return plainSnappy(dst, data, limit)
	case AvroZstandard:
		b.in.Reset(data)
		if b.zstd == nil {
			var err error
			if b.zstd, err = zstd.NewReader(&b.in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxAvroWindow)); err != nil {
				return dst, err
			}
		} else if err := b.zstd.Reset(&b.in); err != nil {
			return dst, err
		}
		return appendAll(dst, b.zstd, limit)
	}
	return append(dst, data...), nil
}

// maxAvroWindow is the largest window of zstandard's own levels.
const maxAvroWindow = 128 << 20

func appendAll(dst []byte, r io.Reader, limit int) ([]byte, error) {
	for {
		dst = slices.Grow(dst, 64<<10)
		n, err := r.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		switch {
		case len(dst) > limit:
			return dst, errAvroTooLarge
		case err == io.EOF:
			return dst, nil
		case err != nil:
			return dst, err
		}
	}
}

var errSnappyBlock = errors.New("a snappy block is damaged")

// plainSnappy reads a block of Avro's snappy codec, which ends with a checksum.
func plainSnappy(dst, data []byte, limit int) ([]byte, error) {
	if len(data) < 4 {
		return dst, errSnappyBlock
	}
	sum := binary.BigEndian.Uint32(data[len(data)-4:])
	data = data[:len(data)-4]
	n, err := s2.DecodedLen(data)
	if err == nil && n > limit-len(dst) {
		return dst, errAvroTooLarge
	}
	if err != nil || n > 64*len(data)+1024 { // snappy makes at best 1 byte of 64
		return dst, errSnappyBlock
	}
	start := len(dst)
	dst = slices.Grow(dst, n)
	out, err := s2.Decode(dst[start:start+n], data)
	if err != nil || len(out) != n || crc32.ChecksumIEEE(out) != sum {
		return dst, errSnappyBlock
	}
	return dst[:start+n], nil
}
