package format

import (
	"bytes"
	"fmt"
	"io"
	"unsafe"
)

// DefaultChunkBytes is about how large a Splitter makes chunks.
const DefaultChunkBytes = 64 << 10

// SplitOptions say how an input is cut into chunks.
type SplitOptions struct {
	Kind Kind
	CSV  CSVInput
	// Fields name the fields of CSV without a header, if the user does.
	Fields []string
	// ChunkBytes is about how large a chunk is; DefaultChunkBytes if 0.
	ChunkBytes int
	// MaxRecordBytes bounds a record; DefaultMaxRecordBytes if 0.
	MaxRecordBytes int
	// Eager hands over what there is when the input pauses, as a pipe does,
	// instead of waiting for a whole chunk.
	Eager bool
}

// Splitter cuts one input into Chunks. It is for one goroutine. Of an input that
// has a layout and no records it makes one chunk without records, so that a
// layout that does not fit is noticed.
type Splitter interface {
	// Next fills c with the next chunk, using the memory c had before. The error
	// is io.EOF behind the last chunk; an *InputError where the input cannot be
	// read on, a *LayoutError where a CSV header cannot be used.
	Next(c *Chunk) error
}

// InputError is an input that cannot be read on from a place.
type InputError struct {
	Line   int64  // 0 where there is none to tell
	Reason string // empty if Err says it all
	Err    error  // of reading, if that failed
}

func (e *InputError) Error() string {
	switch {
	case e.Err == nil:
		return e.Reason
	case e.Reason == "":
		return e.Err.Error()
	}
	return fmt.Sprintf("%s: %v", e.Reason, e.Err)
}

// Unwrap returns the error of reading.
func (e *InputError) Unwrap() error { return e.Err }

// NewSplitter returns a Splitter of the decompressed input r.
func NewSplitter(r io.Reader, o SplitOptions) Splitter {
	if o.ChunkBytes <= 0 {
		o.ChunkBytes = DefaultChunkBytes
	}
	if o.MaxRecordBytes <= 0 {
		o.MaxRecordBytes = DefaultMaxRecordBytes
	}
	switch o.Kind {
	case Avro:
		return &avroSplitter{r: r, o: o}
	case CSV:
		dialect := o.CSV.dialect()
		return &textSplitter{r: r, o: o, line: 1, scan: recordScan{csv: &dialect}}
	default:
		return &textSplitter{r: r, o: o, line: 1}
	}
}

// textSplitter cuts NDJSON and CSV.
type textSplitter struct {
	r io.Reader
	o SplitOptions

	scan   recordScan // of the data of the chunk to come
	layout *Layout
	rest   []byte // of the chunk before: the beginning of a record
	large  []byte // what is read into where a record is large; chunks get copies
	offset int64
	line   int64
	begun  bool
	told   bool  // a chunk was made
	err    error // of r, not told yet; io.EOF at its end
}

// refusedBytes is how much is kept of a record that is too large.
const refusedBytes = 4 << 10

// Next implements Splitter.
func (s *textSplitter) Next(c *Chunk) error {
	if s.err != nil && len(s.rest) == 0 {
		return s.ended()
	}
	data := c.Data[:0]
	if len(s.rest) > s.o.ChunkBytes && cap(s.large) >= len(s.rest) {
		data = s.large[:0]
	}
	data = append(data, s.rest...)
	s.rest = s.rest[:0]
	// One byte above the bound is enough to tell that a record exceeds it.
	most := s.o.MaxRecordBytes + max(s.o.ChunkBytes, longestMark)
	for want := max(s.o.ChunkBytes, len(data), longestMark); ; want = min(grown(want), most) {
		data = s.fill(data, want)
		if !s.begun {
			var err error
			if data, err = s.begin(data); err != nil {
				return err
			}
		}
		end := s.scan.recordsEnd(data)
		switch {
		case s.err == io.EOF:
			end = len(data)
		case s.err != nil && end == 0:
			return s.ended()
		}
		if end > 0 || s.err == io.EOF && s.hasHeader() && !s.told {
			s.cut(c, data, end)
			return nil
		}
		if s.err != nil {
			return s.ended()
		}
		if len(data) > s.o.MaxRecordBytes {
			return s.skipRecord(c, data)
		}
	}
}

func (s *textSplitter) ended() error {
	if s.err == io.EOF {
		return io.EOF
	}
	return &InputError{Line: s.line, Err: s.err}
}

// fill reads until data has want bytes, or there is a reason to stop.
func (s *textSplitter) fill(data []byte, want int) []byte {
	for len(data) < want && s.err == nil {
		had := len(data)
		data = s.read(data, want)
		if s.o.Eager && len(data) > had && s.scan.recordsEnd(data) > 0 {
			break
		}
	}
	return data
}

// largeBuffer is the size above which memory is worth more than the time of a
// copy.
const largeBuffer = 4 << 20

// grown is the size that a buffer of n bytes is tried with next.
func grown(n int) int {
	if n < largeBuffer {
		return 2 * n
	}
	return n + n/4
}

// read reads once, up to where data has want bytes.
func (s *textSplitter) read(data []byte, want int) []byte {
	switch {
	case cap(data) >= want:
	case want <= largeBuffer:
		data = append(make([]byte, 0, want), data...)
	case cap(s.large) >= want:
		data = append(s.large[:0], data...)
	default:
		s.large = append(make([]byte, 0, want), data...)
		data = s.large
	}
	n, err := s.r.Read(data[len(data):want])
	s.err = err
	return data[:len(data)+n]
}

// cut makes a chunk of the first end bytes of data.
func (s *textSplitter) cut(c *Chunk, data []byte, end int) {
	records := data[:end]
	if s.isLarge(data) {
		// The buffer is for the next record; the chunk is no larger than it must be.
		records = append(c.Data[:0], records...)
		s.rest = s.large[:copy(s.large[:cap(s.large)], data[end:])]
	} else {
		s.rest = append(s.rest, data[end:]...)
	}
	s.scan.drop(end)
	c.fill(Chunk{Kind: s.o.Kind, Data: records, Offset: s.offset, Line: s.line, Layout: s.layout})
	c.Last = s.err == io.EOF && len(s.rest) == 0
	s.told = true
	s.advance(c.Data)
}

// isLarge reports whether data is in the buffer for large records.
func (s *textSplitter) isLarge(data []byte) bool {
	return cap(data) > 0 && cap(s.large) > 0 && unsafe.SliceData(data) == unsafe.SliceData(s.large)
}

func (s *textSplitter) hasHeader() bool { return s.layout != nil && s.layout.context != "" }

func (s *textSplitter) advance(data []byte) {
	s.offset += int64(len(data))
	s.line += int64(bytes.Count(data, []byte{'\n'}))
}

// skipRecord makes a chunk of the beginning of a record that is too large, and
// passes over the rest of it.
func (s *textSplitter) skipRecord(c *Chunk, data []byte) error {
	c.fill(Chunk{
		Kind: s.o.Kind, Data: bytes.Clone(data[:min(refusedBytes, len(data))]), Offset: s.offset, Line: s.line, Layout: s.layout,
		Refused: &RecordError{Line: s.line, Reason: tooLarge(s.o.MaxRecordBytes)},
	})
	for !s.scan.next(data) {
		if s.err != nil {
			s.advance(data)
			return nil
		}
		// The byte before may tell what the next one means.
		done := max(s.scan.at-1, 0)
		s.advance(data[:done])
		s.scan.drop(done)
		data = data[:copy(data, data[done:])]
		data = s.read(data, len(data)+s.o.ChunkBytes)
	}
	end := s.scan.at
	s.advance(data[:end])
	s.rest = append(s.rest, data[end:]...)
	s.scan.drop(end)
	return nil
}

// longestMark is the length of the longest byte-order mark.
const longestMark = 4

var byteOrderMarks = []struct {
	mark, name string
}{
	{"\xff\xfe\x00\x00", "UTF-32"}, {"\x00\x00\xfe\xff", "UTF-32"}, {"\xff\xfe", "UTF-16"}, {"\xfe\xff", "UTF-16"},
}

// begin takes off what stands before the first record: a byte-order mark, a
// CSV header.
func (s *textSplitter) begin(data []byte) ([]byte, error) {
	for _, m := range byteOrderMarks {
		if bytes.HasPrefix(data, []byte(m.mark)) {
			return nil, &InputError{Line: 1, Reason: "the text is " + m.name + "; spanbulk reads UTF-8"}
		}
	}
	if body, marked := bytes.CutPrefix(data, []byte("\xef\xbb\xbf")); marked {
		s.offset = int64(len(data) - len(body))
		data = data[:copy(data, body)]
		s.scan.restart()
	}
	s.begun = true
	if s.scan.csv == nil {
		return data, nil
	}
	s.layout = &Layout{names: s.o.Fields}
	if s.o.CSV.NoHeader {
		return data, nil
	}
	return s.header(data)
}

func (s *textSplitter) header(data []byte) ([]byte, error) {
	for s.err == nil && s.scan.recordsEnd(data) == 0 {
		if len(data) > s.o.MaxRecordBytes {
			return nil, &InputError{Line: 1, Reason: "the header is larger than a record may be (--max-record-bytes)"}
		}
		data = s.fill(data, min(2*len(data)+1, s.o.MaxRecordBytes+s.o.ChunkBytes))
	}
	if len(data) == 0 {
		return data, nil
	}
	names, next, err := s.scan.csv.headerNames(data)
	if err != nil {
		return nil, &LayoutError{err}
	}
	s.layout.names, s.layout.context = names, string(data[:next])
	s.advance(data[:next])
	s.scan.drop(next)
	return data[:copy(data, data[next:])], nil
}

// Detect tells the format of an input by its first bytes, decompressed: Avro by
// its magic number, NDJSON by an opening brace (or bracket, so that a JSON array
// is told for what it is), CSV by what is neither. It returns an empty Kind where there is nothing to tell by.
func Detect(head []byte) Kind {
	if bytes.HasPrefix(head, []byte(avroMagic)) {
		return Avro
	}
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	switch head = bytes.TrimLeft(head, " \t\r\n"); {
	case len(head) == 0:
		return ""
	case head[0] == '{' || head[0] == '[':
		return NDJSON
	default:
		return CSV
	}
}

// DetectCompression tells how an input is compressed by its first bytes.
func DetectCompression(head []byte) Compression {
	switch {
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		return Gzip
	case bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")), isSkippableFrame(head):
		return Zstd
	default:
		return None
	}
}

// isSkippableFrame reports whether a zstd file begins with a frame of no data.
func isSkippableFrame(head []byte) bool {
	return len(head) >= 4 && head[0]&0xf0 == 0x50 && bytes.Equal(head[1:4], []byte("\x2a\x4d\x18"))
}
