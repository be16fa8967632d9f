package format

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const avroMagic = "Obj\x01"

// Bounds on what is read before it can be checked.
const (
	maxAvroHeader = 16 << 20
	maxAvroFixed  = 256 << 20
)

// compressedPart is how much smaller a chunk of compressed blocks is: about as
// much as they are themselves, and never a bomb's worth of them.
const compressedPart = 4

// avroSplitter cuts an Avro object container file into its blocks. The Data of
// a Chunk is blocks as they stand in the file; only their frames are looked at.
type avroSplitter struct {
	r      io.Reader
	o      SplitOptions
	in     *bufio.Reader // nil before the header is read
	layout *Layout
	offset int64
	record int64 // of the next block's first, counted from 0
	err    error
	told   bool // a chunk was made
}

// Next implements Splitter.
func (s *avroSplitter) Next(c *Chunk) error {
	if s.in == nil && s.err == nil {
		s.in = bufio.NewReaderSize(s.r, 64<<10)
		s.err = s.readHeader()
	}
	if s.err != nil {
		return s.err
	}
	c.fill(Chunk{Kind: Avro, Data: c.Data[:0], Offset: s.offset, Line: s.record + 1, Layout: s.layout})
	want := s.o.ChunkBytes
	if codec := s.layout.avro.codec; codec != AvroNull && codec != "" {
		want = max(1, want/compressedPart)
	}
	for len(c.Data) < want {
		var err error
		if c.Data, err = s.block(c.Data); err != nil {
			s.err = err
			break
		}
		if s.o.Eager && s.in.Buffered() == 0 {
			break
		}
	}
	if len(c.Data) == 0 && (s.err != io.EOF || s.told) {
		return s.err
	}
	s.told = true
	c.Last = s.err == io.EOF
	return nil
}

func (s *avroSplitter) fail(reason string, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) && !isDecompression(err) {
		reason, err = "the Avro file is cut off: it ends inside "+reason, nil
	}
	return &InputError{Line: s.record + 1, Reason: reason, Err: err}
}

// isDecompression reports whether an unexpected end is that of a compressed
// stream around the file, which knows better what is missing.
func isDecompression(err error) bool { return err != io.ErrUnexpectedEOF }

// block appends the next block to data. The error is io.EOF behind the last.
func (s *avroSplitter) block(data []byte) ([]byte, error) {
	if _, err := s.in.Peek(1); err == io.EOF {
		return data, io.EOF
	}
	start := len(data)
	count, err := s.readLong()
	if err != nil {
		return data, s.fail("the head of a block", err)
	}
	size, err := s.readLong()
	if err != nil {
		return data, s.fail("the head of a block", err)
	}
	if count < 0 || size < 0 || size > int64(avroBlockLimit(s.o.MaxRecordBytes)) {
		return data, &InputError{Line: s.record + 1, Reason: "the Avro file is damaged, or a block is too large: more than 64 MiB above --max-record-bytes"}
	}
	data = binary.AppendVarint(data, count)
	data = binary.AppendVarint(data, size)
	if data, err = appendFull(data, s.in, int(size)); err != nil {
		return data[:start], s.fail("a block", err)
	}
	var marker [16]byte
	if _, err := io.ReadFull(s.in, marker[:]); err != nil {
		return data[:start], s.fail("a block", err)
	}
	if marker != s.layout.avro.sync {
		return data[:start], &InputError{Line: s.record + 1, Reason: "the Avro file is damaged: the marker between blocks is missing"}
	}
	s.offset += int64(len(data)-start) + 16
	s.record += count
	return data, nil
}

// appendFull appends n bytes of r, which may lie about how many it has.
func appendFull(data []byte, r io.Reader, n int) ([]byte, error) {
	const step = 1 << 20
	for n > 0 {
		k := min(n, step)
		start := len(data)
		data = append(data, make([]byte, k)...)
		if _, err := io.ReadFull(r, data[start:]); err != nil {
			return data[:start], err
		}
		n -= k
	}
	return data, nil
}

func (s *avroSplitter) readLong() (int64, error) { return binary.ReadVarint(s.in) }

// readHeader reads the magic number, the metadata and the marker.
func (s *avroSplitter) readHeader() error {
	count := &countingReader{r: s.in}
	meta, err := readAvroHeader(count)
	if _, refused := errors.AsType[*InputError](err); err == io.EOF || refused {
		return err // an empty input has no records
	} else if err != nil {
		return s.fail("its header", err)
	}
	schema := &avroSchema{codec: AvroCodec(meta["avro.codec"])}
	if _, err := io.ReadFull(count, schema.sync[:]); err != nil {
		return s.fail("its header", err)
	}
	if err := schema.parse(meta["avro.schema"]); err != nil {
		return &InputError{Reason: "the Avro file's schema cannot be used: " + err.Error()}
	}
	switch schema.codec {
	case "", AvroNull, AvroDeflate, AvroSnappy, AvroZstandard, avroBzip2:
	default:
		return &InputError{Reason: fmt.Sprintf("the Avro file's codec %q is none of null, deflate, snappy, zstandard, bzip2", string(schema.codec))}
	}
	s.layout = &Layout{avro: schema, context: string(meta["avro.schema"])}
	s.offset = count.n
	return nil
}
