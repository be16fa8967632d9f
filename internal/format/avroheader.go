package format

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
)

var errAvroHeader = errors.New("the Avro file is damaged: its header cannot be read")

// readAvroHeader reads the magic number and the metadata. The error is io.EOF
// where there is nothing, an *InputError where there is something else.
func readAvroHeader(r *countingReader) (map[string][]byte, error) {
	magic := make([]byte, len(avroMagic))
	n, err := io.ReadFull(r, magic)
	switch {
	case n == 0 && err == io.EOF:
		return nil, io.EOF
	case err != nil || string(magic) != avroMagic:
		return nil, &InputError{Reason: notAvro}
	}
	meta, err := readAvroMetadata(r)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return meta, err
}

const notAvro = "not an Avro object container file"

// readAvroMetadata reads a map of bytes.
func readAvroMetadata(r *countingReader) (map[string][]byte, error) {
	meta := map[string][]byte{}
	for {
		n, err := binary.ReadVarint(r)
		if err != nil {
			return nil, err
		}
		if n < 0 { // then the size of the block follows
			if n = -n; n < 0 {
				return nil, errAvroHeader
			}
			if _, err := binary.ReadVarint(r); err != nil {
				return nil, err
			}
		}
		if n == 0 {
			return meta, nil
		}
		for range n {
			key, err := readAvroBytes(r)
			if err != nil {
				return nil, err
			}
			value, err := readAvroBytes(r)
			if err != nil {
				return nil, err
			}
			meta[string(key)] = value
		}
	}
}

func readAvroBytes(r *countingReader) ([]byte, error) {
	n, err := binary.ReadVarint(r)
	if err != nil {
		return nil, err
	}
	if n < 0 || r.n+n > maxAvroHeader {
		return nil, errAvroHeader
	}
	return appendFull(nil, r, int(n))
}

// countingReader counts the bytes that are read.
type countingReader struct {
	r *bufio.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

func (c *countingReader) ReadByte() (byte, error) {
	b, err := c.r.ReadByte()
	if err == nil {
		c.n++
	}
	return b, err
}
