package input

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"

	"spanbulk/internal/fault"
	"spanbulk/internal/format"
	"spanbulk/internal/pipe"
)

// opened is a File being read.
type opened struct {
	file     *File
	raw      *rawReader
	plain    io.ReadCloser
	splitter format.Splitter
	kind     format.Kind
	close    []func() error
}

// open makes a File ready to be split.
func (r *reading) open(ctx context.Context, f *File) (*opened, error) {
	in, o := &opened{file: f}, r.o
	source, eager, err := in.source(ctx, o, f)
	if err != nil {
		return nil, err
	}
	r.stuck.Store(eager && !in.interruptible(ctx, source))
	in.raw = &rawReader{r: source, read: &o.progress().Bytes}
	if f.checksum != nil {
		in.raw.hash = f.checksum.hash()
	}
	if err := in.decode(o, eager); err != nil {
		return nil, errors.Join(in.fault(err), in.end())
	}
	return in, nil
}

// source opens the bytes as they are stored. eager says that they come when they
// come, as from a pipe.
func (in *opened) source(ctx context.Context, o *Options, f *File) (r io.Reader, eager bool, err error) {
	if f.Path == Stdin {
		return o.Stdin, true, nil
	}
	file, err := pipe.Open(ctx, f.Path, os.O_RDONLY, 0)
	if err != nil {
		return nil, false, openFault(f.Path, err)
	}
	in.close = append(in.close, file.Close)
	return file, f.Size < 0, nil
}

// interruptible lets the end of ctx break off a read of a pipe that nothing
// comes through, and reports whether that can be.
func (in *opened) interruptible(ctx context.Context, r io.Reader) bool {
	d, ok := r.(interface{ SetReadDeadline(time.Time) error })
	if !ok || d.SetReadDeadline(time.Time{}) != nil {
		return false // a terminal, most likely
	}
	stop := context.AfterFunc(ctx, func() { _ = d.SetReadDeadline(time.Unix(1, 0)) })
	in.close = append(in.close, func() error { stop(); return nil })
	return true
}

// decode finds out compression and format and stacks the readers.
func (in *opened) decode(o *Options, eager bool) error {
	byNameKind, byNameCompression := format.FromName(in.file.Path)
	compression := firstOf(o.Compression, in.file.Compression, byNameCompression)
	var r io.Reader = in.raw
	if compression == "" {
		head, rest, err := peek(r)
		if err != nil {
			return err
		}
		r, compression = rest, format.DetectCompression(head)
	}
	plain, err := format.Decompress(r, compression)
	if err != nil {
		return err
	}
	in.plain = plain
	in.close = append(in.close, plain.Close)
	r = plain
	in.kind = firstOf(o.Kind, in.file.Kind, byNameKind)
	if in.kind == "" {
		head, rest, err := peek(r)
		if err != nil {
			return err
		}
		if r, in.kind = rest, format.Detect(head); in.kind == "" {
			in.kind = format.NDJSON
		}
	}
	split := o.Split
	split.Kind, split.Eager = in.kind, eager
	in.splitter = format.NewSplitter(r, split)
	return nil
}

func firstOf[T ~string](choices ...T) T {
	for _, c := range choices {
		if c != "" {
			return c
		}
	}
	return ""
}

// peek reads as much of the beginning of r as tells what it is, and returns it
// with a reader of all. It waits for no more than the first bytes where these
// begin no magic number: an interactive writer may wait for an answer.
func peek(r io.Reader) (head []byte, rest io.Reader, err error) {
	b := make([]byte, 512)
	n := 0
	for n < len(b) && err == nil && (n == 0 || n < 4 && mayBeMagic(b[0]) || len(bytes.TrimSpace(b[:n])) == 0) {
		var k int
		k, err = r.Read(b[n:])
		n += k
	}
	if err == io.EOF {
		err = nil
	}
	return b[:n], io.MultiReader(bytes.NewReader(b[:n]), r), err
}

func mayBeMagic(first byte) bool {
	return first == 0x1f || first == 0x28 || first&0xf0 == 0x50 || first == 'O' || first == 0xef
}

// end closes everything, the last opened first.
func (in *opened) end() error {
	var errs []error
	for i := len(in.close) - 1; i >= 0; i-- {
		errs = append(errs, in.close[i]())
	}
	in.close = nil
	return errors.Join(errs...)
}

// verify reads what is left of the file and holds its checksum against the
// manifest's, if that has not been done before.
func (in *opened) verify() error {
	if in.raw.hash == nil {
		return nil
	}
	if _, err := io.Copy(io.Discard, in.raw); err != nil {
		return in.fault(err)
	}
	return in.file.compare(in.raw.hash.Sum(nil))
}

func (in *opened) fault(err error) error { return faultIn(in.file, in.kind, err) }

// Fault says where in the input an error of decoding the chunk is.
func (b *Batch) Fault(err error) error { return faultIn(b.File, b.Chunk.Kind, err) }

func faultIn(f *File, kind format.Kind, err error) error {
	if e, ok := errors.AsType[*fault.Error](err); ok {
		return e
	}
	object := f.Name()
	if e, ok := errors.AsType[*format.InputError](err); ok && e.Line > 0 {
		object = Place(f, kind, e.Line, 0)
	}
	e, ok := errors.AsType[*format.LayoutError](err)
	if !ok {
		return readFault(object, err)
	}
	if e.Err.Line > 0 {
		object = Place(f, kind, e.Err.Line, e.Err.Byte)
	}
	layout := &fault.Error{Code: codes.InvalidArgument, Op: "read", Object: object, Reason: err.Error(), Hint: e.Err.Hint, Err: err}
	if e.Err.Cause != nil {
		layout.Detail = e.Err.Cause.Error()
	}
	return layout
}

// Place names a place in an input: file:line:column, without the column if it is
// 0; for Avro, which has no lines, the record's number.
func Place(f *File, kind format.Kind, line int64, column int) string {
	switch {
	case kind == format.Avro:
		return fmt.Sprintf("%s, record %d", f.Name(), line)
	case column > 0:
		return fmt.Sprintf("%s:%d:%d", f.Name(), line, column)
	default:
		return fmt.Sprintf("%s:%d", f.Name(), line)
	}
}

// rawReader counts and hashes the bytes of a file as they are stored.
type rawReader struct {
	r    io.Reader
	read *atomic.Int64
	hash hash.Hash // nil if there is nothing to verify
}

func (r *rawReader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	r.read.Add(int64(n))
	if r.hash != nil {
		r.hash.Write(p[:n])
	}
	return n, err
}

func (c *checksum) hash() hash.Hash {
	if c.algorithm == "md5" {
		return md5.New() // Google's exports have no other
	}
	return sha256.New()
}
