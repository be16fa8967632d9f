package lookup

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"spanbulk/internal/format"
)

// Block is a stretch of the input, read by a KeyReader: records and their keys.
// Records point into the chunk they were read from.
type Block struct {
	// Kind and Layout are those of the chunk.
	Kind   format.Kind
	Layout *format.Layout
	// Place names a place of the input by line and column, for errors.
	Place func(line int64, column int) string
	// Release, if not nil, is called when the chunk is not needed any more.
	Release func()

	records []record
	keys    []byte
	// failure is why the record behind these cannot be read.
	failure *format.RecordError
	refs    atomic.Int32
	pool    *sync.Pool
}

// record is a record with the place of its key in Block.keys.
type record struct {
	raw        []byte
	start, end uint32
	null       bool // a part of the key is NULL: no row has it
}

// key returns the key of a record without a copy: it is part of the Block.
func (b *Block) key(r *record) string {
	key := b.keys[r.start:r.end]
	return unsafe.String(unsafe.SliceData(key), len(key))
}

// keep counts one more user of the Block, free one less; the last one frees it.
func (b *Block) keep() { b.refs.Add(1) }

func (b *Block) free() {
	if b.refs.Add(-1) > 0 {
		return
	}
	if b.Release != nil {
		b.Release()
	}
	clear(b.records)
	b.Release, b.Place, b.Layout, b.failure = nil, nil, nil, nil
	b.records, b.keys = b.records[:0], b.keys[:0]
	b.pool.Put(b)
}
