package lookup

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"

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

	rows               []byte // that the next row goes to, behind what slots point to
	rowsRead, rowBytes int
	reserved           int64 // of the budget
	// tooLarge says that the rows are not here: they are to be read in parts.
	tooLarge bool
	isPart   bool

	// What became of the first records, so many.
	joined     int
	out        []byte
	outRecords int
	counts     counts
	err        error
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
		keys: keep(b.keys), rows: keep(b.rows), out: keep(b.out), isPart: b.isPart,
	}
}

// maxKept bounds the memory that is kept after a batch of large rows, minRows is
// how much there is for rows at least.
const (
	maxKept = 512 << 10
	minRows = 4 << 10
)

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

// addFrom takes record i of a batch that is too large into a part of it.
func (b *batch) addFrom(whole *batch, i int) {
	r := whole.records[i]
	if r.slot != noSlot {
		s := whole.slots[r.slot]
		at, ok := b.byKey[s.key]
		if !ok {
			at = b.newSlot(s)
		}
		r.slot = at
	}
	b.records = append(b.records, r)
	b.rawBytes += len(r.raw)
}

// slot finds the key's slot, or makes it.
func (b *batch) slot(key string, c *cache, p *Progress) int32 {
	if at, ok := b.byKey[key]; ok {
		return at
	}
	s := slot{key: key, read: true}
	if c != nil {
		if row, known := c.get(key); known {
			s.row, s.read = row, false
			p.CacheHits.Add(1)
		} else {
			p.CacheMisses.Add(1)
		}
	}
	return b.newSlot(s)
}

func (b *batch) newSlot(s slot) int32 {
	at := int32(len(b.slots))
	if s.read {
		b.keys = wire.AppendKey(b.keys, wire.List(s.key))
		b.reads++
	}
	b.slots = append(b.slots, s)
	b.byKey[s.key] = at
	return at
}

// addRow puts a row into the slot at. Rows lie behind one another and are never
// moved: where there is no room, the next goes to memory of its own.
func (b *batch) addRow(at int32, row []wire.Value) {
	size := 0
	for _, v := range row {
		size += len(v) + protowire.SizeTag(1) + binary.MaxVarintLen32
	}
	if cap(b.rows)-len(b.rows) < size {
		b.rows = make([]byte, 0, max(size, min(2*cap(b.rows), maxKept), minRows))
	}
	start := len(b.rows)
	for _, v := range row {
		b.rows = wire.AppendElement(b.rows, v)
	}
	b.slots[at].row = b.rows[start:len(b.rows):len(b.rows)]
	b.rowsRead++
	b.rowBytes += len(b.rows) - start
}

// dropRows forgets what was read, for the first time or another one.
func (b *batch) dropRows() {
	b.rows, b.rowsRead, b.rowBytes = b.rows[:0], 0, 0
	for i := range b.slots {
		if b.slots[i].read {
			b.slots[i].row = nil
		}
	}
}

// isJoined reports whether all records are in the output.
func (b *batch) isJoined() bool { return !b.tooLarge && b.joined >= len(b.records) }

// holds is how many bytes the batch has when its worker is done with it.
func (b *batch) holds() int64 {
	switch {
	case b.tooLarge:
		return int64(b.rawBytes)
	case b.isJoined():
		return int64(len(b.out))
	default:
		return int64(b.rawBytes + b.rowBytes + len(b.out))
	}
}

// release gives back what the records lie in; the batch has no records then.
func (b *batch) release() {
	b.rows = keep(b.rows)
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
