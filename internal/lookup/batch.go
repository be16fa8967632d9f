package lookup

import (
	"spanbulk/internal/format"
	"spanbulk/internal/wire"
)

// batch is some records, one after another, and the keys they have.
type batch struct {
	sequence int64
	first    int64 // number of its first record
	format   format.Format
	records  []batchRecord
	rawBytes int
	blocks   []*Block // that records and keys lie in

	slots []slot
	byKey map[string]int32 // slots by key
	keys  []byte           // the slots to read, as wire.AppendKey has them
	reads int              // how many those are

	rows               []byte // what slots point to
	rowsRead, rowBytes int

	// What became of the records.
	out                []byte
	outRecords         int
	applied, skipped   int64
	matched, unmatched int64
	err                error
}

type batchRecord struct {
	raw  []byte
	slot int32 // noSlot where a part of the key is NULL
}

const noSlot = -1

// slot is a key of the batch and its row.
type slot struct {
	key  string // part of a Block
	row  []byte // values as wire.AppendElement has them; nil: there is none
	read bool   // from Spanner, not from the cache
}

// Bounds of a batch beside its keys. A request to Spanner has at most 10 MiB.
const (
	maxBatchKeyBytes = 4 << 20
	maxBatchRaw      = 1 << 20
	recordsPerKey    = 20
	minBatchRecords  = 1000
)

func newBatch() *batch { return &batch{byKey: map[string]int32{}} }

// reset empties the batch for its next use, keeping its memory within bounds.
func (b *batch) reset() {
	clear(b.byKey)
	clear(b.records)
	clear(b.slots)
	clear(b.blocks)
	*b = batch{
		records: b.records[:0], blocks: b.blocks[:0], slots: b.slots[:0], byKey: b.byKey,
		keys: keep(b.keys), rows: keep(b.rows), out: keep(b.out),
	}
}

// maxKept bounds the memory that is kept after a batch of large rows.
const maxKept = 1 << 20

func keep(b []byte) []byte {
	if cap(b) > maxKept {
		return nil
	}
	return b[:0]
}

// full reports whether another record may be too many.
func (b *batch) full(maxKeys int) bool {
	return b.reads >= maxKeys || len(b.records) >= max(minBatchRecords, recordsPerKey*maxKeys) ||
		b.rawBytes >= maxBatchRaw || len(b.keys) >= maxBatchKeyBytes
}

// add takes a record of a Block into the batch.
func (b *batch) add(block *Block, r *record, c *cache, p *Progress) {
	if n := len(b.blocks); n == 0 || b.blocks[n-1] != block {
		block.keep()
		b.blocks = append(b.blocks, block)
	}
	at := int32(noSlot)
	if !r.null {
		at = b.slot(block.key(r), c, p)
	}
	b.records = append(b.records, batchRecord{r.raw, at})
	b.rawBytes += len(r.raw)
}

// slot finds the key's slot, or makes it.
func (b *batch) slot(key string, c *cache, p *Progress) int32 {
	if at, ok := b.byKey[key]; ok {
		return at
	}
	at := int32(len(b.slots))
	s := slot{key: key, read: true}
	if c != nil {
		if row, known := c.get(key); known {
			s.row, s.read = row, false
			p.CacheHits.Add(1)
		} else {
			p.CacheMisses.Add(1)
		}
	}
	if s.read {
		b.keys = wire.AppendKey(b.keys, wire.List(key))
		b.reads++
	}
	b.slots = append(b.slots, s)
	b.byKey[key] = at
	return at
}

// release gives back what the records lie in; the batch has no records then.
func (b *batch) release() {
	clear(b.byKey)
	clear(b.records)
	clear(b.slots)
	b.records, b.slots = b.records[:0], b.slots[:0]
	for _, block := range b.blocks {
		block.free()
	}
	clear(b.blocks)
	b.blocks = b.blocks[:0]
}
