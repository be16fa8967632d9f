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
	z := &compressed{inner: f, compression: c}
	if len(f.Header()) == 0 {
		return z, nil
	}
	press, err := newCompressor(c)
	if err != nil {
		return nil, err
	}
	z.header, err = press(nil, f.Header())
	return z, err
}

type compressed struct {
	inner       Format
	compression Compression
	header      []byte
}

func (z *compressed) Header() []byte { return z.header }

func (z *compressed) NewEncoder() Encoder {
	press, err := newCompressor(z.compression)
	return &compressEncoder{z.inner.NewEncoder(), press, err}
}

type compressEncoder struct {
	inner Encoder
	press compressor
	err   error // why there is no press
}

func (e *compressEncoder) AppendRow(dst []byte, row []wire.Value) ([]byte, error) {
	return e.inner.AppendRow(dst, row)
}

func (e *compressEncoder) TakeRecords(rows int) int { return Records(e.inner, rows) }

func (e *compressEncoder) Seal(dst, rows []byte, count int) ([]byte, error) {
	if e.err != nil || len(rows) == 0 {
		return dst, e.err
	}
	plain, err := e.inner.Seal(nil, rows, count)
	if err != nil {
		return dst, err
	}
	return e.press(dst, plain)
}
