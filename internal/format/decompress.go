package format

import (
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// maxZstdWindow bounds the memory that a zstd stream can ask for: the most that
// its own tool takes without being told to.
const maxZstdWindow = 128 << 20

// Decompress returns the decompressed form of r: all of its gzip members or
// zstd frames, one after another. Closing the result does not close r. The
// error of a stream that is damaged or cut off says so.
func Decompress(r io.Reader, c Compression) (io.ReadCloser, error) {
	switch c {
	case "", None:
		return io.NopCloser(r), nil
	case Gzip:
		z, err := gzip.NewReader(r)
		if err == io.EOF { // no member at all
			return io.NopCloser(r), nil
		}
		if err != nil {
			return nil, decompressError(c, err)
		}
		return &decompressor{z, c}, nil // its Close tells what Read has told
	case Zstd:
		// One goroutine is the caller's: decoding goes on in many others.
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return nil, decompressError(c, err)
		}
		return &decompressor{z.IOReadCloser(), c}, nil
	}
	return nil, c.validate()
}

type decompressor struct {
	io.Reader
	compression Compression
}

func (d *decompressor) Read(p []byte) (int, error) {
	n, err := d.Reader.Read(p)
	if err != nil && err != io.EOF {
		err = decompressError(d.compression, err)
	}
	return n, err
}

// Close frees what zstd holds.
func (d *decompressor) Close() error {
	if z, ok := d.Reader.(io.Closer); ok && d.compression == Zstd {
		return z.Close()
	}
	return nil
}

// decompressError says what is wrong with a compressed stream. What went wrong
// in reading it keeps its own text.
func decompressError(c Compression, err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the %s stream is cut off: %w", c, err)
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, zstd.ErrMagicMismatch):
		return fmt.Errorf("not a %s stream, or something stands behind its end: %w", c, err)
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, zstd.ErrCRCMismatch):
		return fmt.Errorf("the %s stream is damaged: %w", c, err)
	default:
		return fmt.Errorf("read the %s stream: %w", c, err)
	}
}
