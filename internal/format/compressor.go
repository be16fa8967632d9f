package format

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// compressor appends the compressed form of plain to dst. It belongs to one
// goroutine and starts none: callers already run on every processor.
type compressor func(dst, plain []byte) ([]byte, error)

// compressors lends compressors to the encoders of one Format for the time of
// one chunk. A compressor holds up to a few megabytes, an export may have
// thousands of encoders, and no more compressors work at once than there are
// processors.
type compressors struct {
	make func() (compressor, error)
	idle sync.Pool // of compressor
}

func (c *compressors) compress(dst, plain []byte) ([]byte, error) {
	press, ok := c.idle.Get().(compressor)
	if !ok {
		var err error
		if press, err = c.make(); err != nil {
			return dst, err
		}
	}
	dst, err := press(dst, plain)
	c.idle.Put(press)
	return dst, err
}

func newCompressor(c Compression) (compressor, error) {
	switch c {
	case Gzip:
		return newGzip()
	case Zstd:
		return newZstd()
	}
	return nil, errors.New("no compression named")
}

// The levels from which on the ratio grows slower than the time. On 256 KiB of
// the city list gzip's levels 1, 2, 3 and 6 made 250, 254, 209 and 125 MB/s at
// ratios of 3.10, 3.20, 3.23 and 3.50; zstd's fastest and default 247 and 171
// at 3.21 and 3.27.
const (
	gzipLevel = 2
	zstdLevel = zstd.SpeedFastest
)

func newGzip() (compressor, error) {
	w, err := gzip.NewWriterLevel(nil, gzipLevel)
	return streaming(w), err
}

// newDeflate returns the compressor of Avro's deflate codec: no header, no sum.
func newDeflate() (compressor, error) {
	w, err := flate.NewWriter(nil, gzipLevel)
	return streaming(w), err
}

// streaming makes a compressor of a writer that can be used again.
func streaming(w interface {
	io.WriteCloser
	Reset(io.Writer)
}) compressor {
	var out appendWriter
	return func(dst, plain []byte) ([]byte, error) {
		out = dst
		w.Reset(&out)
		if _, err := w.Write(plain); err != nil {
			return dst, err
		}
		err := w.Close()
		return out, err
	}
}

func newZstd() (compressor, error) {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstdLevel), zstd.WithZeroFrames(true))
	if err != nil {
		return nil, err
	}
	return func(dst, plain []byte) ([]byte, error) {
		return w.EncodeAll(plain, dst), nil
	}, nil
}

// newBlockCompressor returns the compressor of an Avro codec other than null.
func newBlockCompressor(c AvroCodec) (compressor, error) {
	switch c {
	case AvroDeflate:
		return newDeflate()
	case AvroSnappy:
		return compressSnappy, nil
	case AvroZstandard:
		return newZstd()
	}
	return nil, errors.New("no codec named")
}

// compressSnappy makes a block of Avro's snappy codec, which ends with the
// checksum of what went in.
func compressSnappy(dst, plain []byte) ([]byte, error) {
	size := s2.MaxEncodedLen(len(plain))
	if size < 0 {
		return dst, errors.New("block is too large for snappy")
	}
	dst = slices.Grow(dst, size)
	n := len(s2.EncodeSnappy(dst[len(dst):len(dst)+size], plain))
	dst = dst[:len(dst)+n]
	return binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(plain)), nil
}

// appendWriter is a buffer that Write appends to.
type appendWriter []byte

func (w *appendWriter) Write(p []byte) (int, error) {
	*w = append(*w, p...)
	return len(p), nil
}
