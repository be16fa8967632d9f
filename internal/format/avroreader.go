package format

import (
	"encoding/binary"
	"errors"
)

// avroReader walks over the data of a block.
type avroReader struct {
	data  []byte
	pos   int
	depth int

	scratch []byte // text made of a value
}

var errAvroMalformed = errors.New("the Avro file is damaged: a record does not end where it should")

// avroFunc reads a value and appends its wire form. An error other than
// errAvroMalformed refuses the value only.
type avroFunc func(r *avroReader, dst []byte) ([]byte, error)

func (r *avroReader) long() (int64, error) {
	n, size := binary.Varint(r.data[r.pos:])
	if size <= 0 {
		return 0, errAvroMalformed
	}
	r.pos += size
	return n, nil
}

func (r *avroReader) take(n int64) ([]byte, error) {
	if n < 0 || n > int64(len(r.data)-r.pos) {
		return nil, errAvroMalformed
	}
	b := r.data[r.pos : r.pos+int(n)]
	r.pos += int(n)
	return b, nil
}

func (r *avroReader) bytes() ([]byte, error) {
	n, err := r.long()
	if err != nil {
		return nil, err
	}
	return r.take(n)
}

// items returns the number of elements in the next block of an array or map,
// 0 at its end.
func (r *avroReader) items() (int64, error) {
	n, err := r.long()
	if err != nil {
		return 0, err
	}
	if n < 0 {
		n = -n
		if _, err = r.long(); err != nil {
			return 0, err
		}
	}
	if n < 0 || n > maxNoItems && n > int64(len(r.data)-r.pos) {
		return 0, errAvroMalformed
	}
	return n, nil
}

// maxNoItems bounds the elements of an array that take no bytes, a few of which
// would else stand for any number.
const maxNoItems = 1 << 16

// skip moves over a value.
func (r *avroReader) skip(t *avroType) error {
	if r.depth > maxAvroDepth {
		return errAvroMalformed
	}
	var err error
	switch t.kind {
	case avroNull:
	case avroBoolean:
		_, err = r.take(1)
	case avroInt, avroLong, avroEnum:
		_, err = r.long()
	case avroFloat:
		_, err = r.take(4)
	case avroDouble:
		_, err = r.take(8)
	case avroBytes, avroString:
		_, err = r.bytes()
	case avroFixed:
		_, err = r.take(int64(t.size))
	case avroUnion:
		var branch *avroType
		if branch, err = r.branch(t); err == nil {
			err = r.skip(branch)
		}
	case avroRecordKind:
		r.depth++
		for i := range t.fields {
			if err = r.skip(t.fields[i].typ); err != nil {
				break
			}
		}
		r.depth--
	case avroArrayKind, avroMap:
		err = r.skipItems(t)
	}
	return err
}

func (r *avroReader) branch(union *avroType) (*avroType, error) {
	i, err := r.long()
	if err != nil || i < 0 || i >= int64(len(union.branches)) {
		return nil, errAvroMalformed
	}
	return union.branches[i], nil
}

func (r *avroReader) skipItems(t *avroType) error {
	r.depth++
	defer func() { r.depth-- }()
	for {
		n, err := r.items()
		if err != nil || n == 0 {
			return err
		}
		for range n {
			if t.kind == avroMap {
				if _, err := r.bytes(); err != nil {
					return err
				}
			}
			if err := r.skip(t.items); err != nil {
				return err
			}
		}
	}
}

// text reads a string or the symbol of an enum; nil is any other value.
func (r *avroReader) text(t *avroType) ([]byte, error) {
	switch t.kind {
	case avroString:
		return r.bytes()
	case avroEnum:
		i, err := r.long()
		if err != nil || i < 0 || i >= int64(len(t.symbols)) {
			return nil, errAvroMalformed
		}
		return []byte(t.symbols[i]), nil
	case avroUnion:
		branch, err := r.branch(t)
		if err != nil {
			return nil, err
		}
		return r.text(branch)
	}
	return nil, r.skip(t)
}
