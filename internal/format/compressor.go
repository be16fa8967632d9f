package format

import (
	"errors"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// compressor appends the compressed form of plain to dst. It belongs to one
// goroutine and starts none: callers already run on every processor.
type compressor func(dst, plain []byte) ([]byte, error)

func newCompressor(c Compression) (compressor, error) {
	switch c {
	case Gzip:
		return newGzip()
	case Zstd:
		return newZstd()
	}
	return nil, errors.New("no compression named")
}

// gzipLevel and zstdLevel are where the ratio still grows faster than the
// time: compression must not cost more than reading and encoding do.
const (
	gzipLevel = 3
	zstdLevel = zstd.SpeedFastest
)

func newGzip() (compressor, error) {
	var out appendWriter
	w, err := gzip.NewWriterLevel(nil, gzipLevel)
	if err != nil {
		return nil, err
	}
	return func(dst, plain []byte) ([]byte, error) {
		out = dst
		w.Reset(&out)
		if _, err := w.Write(plain); err != nil {
			return dst, err
		}
		err := w.Close()
		return out, err
	}, nil
}

func newZstd() (compressor, error) {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstdLevel))
	if err != nil {
		return nil, err
	}
	return func(dst, plain []byte) ([]byte, error) {
		return w.EncodeAll(plain, dst), nil
	}, nil
}

// appendWriter is a buffer that Write appends to.
type appendWriter []byte

func (w *appendWriter) Write(p []byte) (int, error) {
	*w = append(*w, p...)
	return len(p), nil
}
