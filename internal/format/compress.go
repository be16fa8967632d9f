package format

import (
	"spanbulk/internal/wire"
)

// Compress returns f with its header and every chunk compressed by itself: a
// gzip member or a zstd frame each. Both formats define a file as any number
// of them, one after another, which is what lets every goroutine compress what
// it encodes. f must not compress by itself already.
func Compress(f Format, c Compression) (Format, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	if c == "" || c == None {
		return f, nil
	}
	z := &compressed{inner: f}
	z.make = func() (compressor, error) { return newCompressor(c) }
	// Without a header too: a file of no bytes is neither gzip nor zstd.
	var err error
	z.header, err = z.compress(nil, f.Header())
	if err != nil {
		return nil, err
	}
	return z, nil
}

type compressed struct {
	compressors
	inner  Format
	header []byte
}

func (z *compressed) Header() []byte { return z.header }

func (z *compressed) NewEncoder() Encoder { return &compressEncoder{z.inner.NewEncoder(), z} }

type compressEncoder struct {
	inner  Encoder
	format *compressed
}

func (e *compressEncoder) AppendRow(dst []byte, row []wire.Value) ([]byte, error) {
	return e.inner.AppendRow(dst, row)
}

func (e *compressEncoder) TakeRecords(rows int) int { return Records(e.inner, rows) }

func (e *compressEncoder) Seal(dst, rows []byte, count int) ([]byte, error) {
	if len(rows) == 0 {
		return dst, nil
	}
	plain, err := e.inner.Seal(nil, rows, count)
	if err != nil {
		return dst, err
	}
	return e.format.compress(dst, plain)
}
