package format

import (
	"bufio"
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
		z := &gzipReader{in: bufio.NewReaderSize(r, 64<<10)}
		if err := z.next(); err != nil && err != io.EOF { // io.EOF: no member at all
			return nil, decompressError(c, err)
		}
		return &decompressor{z, c}, nil
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

// gzipReader reads the members of a gzip stream and tells what stands behind
// them from a member that is cut off.
type gzipReader struct {
	in *bufio.Reader
	z  *gzip.Reader // nil at the end
}

var (
	errNotGzip    = errors.New("this is not a gzip stream, though its name or --compression says so")
	errBehindGzip = errors.New("something that is no gzip stands behind the end of the gzip stream")
)

// next begins the next member; io.EOF if there is none.
func (g *gzipReader) next() error {
	head, err := g.in.Peek(2)
	switch {
	case len(head) == 0:
		g.z = nil
		return err
	case head[0] != 0x1f || len(head) == 2 && head[1] != 0x8b:
		if g.z != nil {
			return errBehindGzip
		}
		return errNotGzip
	case g.z == nil:
		g.z, err = gzip.NewReader(g.in)
	default:
		err = g.z.Reset(g.in)
	}
	if err == nil {
		g.z.Multistream(false)
	}
	return err
}

func (g *gzipReader) Read(p []byte) (int, error) {
	for g.z != nil {
		n, err := g.z.Read(p)
		if err == io.EOF {
			err = g.next()
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
	return 0, io.EOF
}

// decompressError says what is wrong with a compressed stream. What went wrong
// in reading it keeps its own text.
func decompressError(c Compression, err error) error {
	switch {
	case errors.Is(err, errNotGzip), errors.Is(err, errBehindGzip):
		return err
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
