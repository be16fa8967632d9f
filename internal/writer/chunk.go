package writer

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"sync/atomic"
	"unsafe"

	"spanbulk/internal/wire"
)

// Source is an input that records come from.
type Source struct {
	// Name is what people know it by: a file's path, "stdin".
	Name string
	// Format is ndjson, csv or avro.
	Format string
	// Context is what the raw bytes of one record cannot be read without: the
	// header line of CSV, the schema of Avro. Dead letters carry it.
	Context string
	// Flags are the settings that the records are read under, as the user gave
	// them: texts and lists of texts. Dead letters carry them too.
	Flags map[string]any
}

// Position is where a record came from.
type Position struct {
	Source string
	// Line is the line it begins on, 0 where the format has none.
	Line int64
	// Number counts the records of the source from 1; 0 where there are lines.
	Number int64
}

// String is file:line, or the record's number where there are no lines.
func (p Position) String() string {
	if p.Line > 0 {
		return fmt.Sprintf("%s:%d", p.Source, p.Line)
	}
	return fmt.Sprintf("%s, record %d", p.Source, p.Number)
}

// Record is one record as the decoder hands it to Chunk.Add.
type Record struct {
	// Line and Number are as in Position.
	Line, Number int64
	// Raw are the record's bytes as they came, for dead letters. They are kept
	// by reference until the chunk's done function is called.
	Raw []byte
	// Made says that Raw is not the record as it came but what --jq has made of
	// it: a JSON object.
	Made bool
	// Table may be nil where Err is set; TableName then names what the record
	// named, if it did.
	Table     *Table
	TableName string
	Operation wire.Operation
	// Values has the values by the position of Table.Columns, nil for a column
	// that is not written; it may be shorter than the columns are. A delete uses
	// those of the key alone. The values are copied.
	Values []wire.Value
	// Range makes a Delete that of a range of keys instead of one row.
	Range *wire.KeyRange
	// Err refuses the record before it is sent: it could not be decoded or
	// mapped. A *fault.Error says by itself where the record is; to the text of
	// any other error, which must hold no values, the position is added.
	Err error
	// UnknownOutcome says that the record was sent in an earlier run that did
	// not learn what became of it.
	UnknownOutcome bool
}

// entry is a record inside the Writer.
type entry struct {
	chunk        *Chunk
	table        *Table
	tableName    string // where table is nil
	err          error
	raw          []byte
	line, number int64

	start, end int // its bytes in the chunk's memory
	cells      int32
	op         wire.Operation

	// key, and the ancestors in the chunk's list, are what it locks.
	key                uint64
	ancestors, nAncest int32

	exact   bool // key is to be locked
	wide    bool // the whole hierarchy is to be locked
	unknown bool // an earlier attempt may have been applied
	decided bool
	made    bool // of Record.Made

	waits    int16 // locks not granted yet
	attempts int32
}

func (e *entry) bytes() []byte { return e.chunk.memory[e.start:e.end] }

func (e *entry) size() int { return e.end - e.start }

func (e *entry) position() Position {
	return Position{Source: e.chunk.source.Name, Line: e.line, Number: e.number}
}

func (e *entry) ancestorKeys() []uint64 {
	return e.chunk.ancestors[e.ancestors : e.ancestors+e.nAncest]
}

// Chunk is the records of one stretch of one input. It is filled by one
// goroutine and belongs to Run once it has been sent there.
type Chunk struct {
	writer  *Writer
	source  *Source
	done    func()
	entries []entry
	// memory has the encoded mutations one behind the other.
	memory    []byte
	ancestors []uint64
	skipped   int
	rawBytes  int

	// undecided counts down to the chunk's end; tainted says that gRPC may still
	// read memory.
	undecided int
	tainted   bool
	heldBytes int

	hasher keyHasher
	heads  headCache
	key    []wire.Value // scratch
}

// maxKeptMemory bounds the memory that a chunk keeps from one use to the next.
const maxKeptMemory = 4 << 20

// NewChunk returns an empty chunk of records of source. done, if not nil, is
// called from Run's goroutine once every record of the chunk is decided and its
// raw bytes are not used any more; it is not called for chunks that a failed run
// leaves undecided. NewChunk may be called from many goroutines.
func (w *Writer) NewChunk(source *Source, done func()) *Chunk {
	c := w.chunks.Get().(*Chunk)
	c.source, c.done = source, done
	if c.memory == nil {
		c.memory = make([]byte, 0, w.usual.memory.Load())
	}
	if c.entries == nil {
		c.entries = make([]entry, 0, w.usual.entries.Load())
	}
	return c
}

// usual is how much the chunks take that are like the last one, and some more.
// Memory that is made by and by takes five times as much in all, and to touch it
// costs more than to decode what comes there.
type usual struct{ memory, entries atomic.Int64 }

func (u *usual) note(c *Chunk) {
	if n := len(c.memory); n <= maxKeptMemory {
		u.memory.Store(int64(n + n/8))
		u.entries.Store(int64(len(c.entries) + len(c.entries)/8))
	}
}

func newChunk(w *Writer, seed maphash.Seed) *Chunk {
	return &Chunk{writer: w, hasher: keyHasher{seed: seed}, heads: headCache{}}
}

// free makes the chunk ready for its next use. Memory that a broken call may
// still be reading is left to the garbage collector: gRPC does not say when it
// has let go, and what it sends must not change under it.
func (c *Chunk) free() {
	clear(c.entries)
	clear(c.key)
	c.entries, c.ancestors = c.entries[:0], c.ancestors[:0]
	c.memory = c.memory[:0]
	if c.tainted || cap(c.memory) > maxKeptMemory {
		c.memory = nil
	}
	c.source, c.done = nil, nil
	c.skipped, c.rawBytes, c.undecided, c.heldBytes, c.tainted = 0, 0, 0, 0, false
	c.writer.chunks.Put(c)
}

func (c *Chunk) firstUndecided() Position {
	for i := range c.entries {
		if !c.entries[i].decided {
			return c.entries[i].position()
		}
	}
	return Position{}
}

// Len is how many records were added, those skipped not counted.
func (c *Chunk) Len() int { return len(c.entries) }

// Size is about what the chunk takes in memory, in bytes.
func (c *Chunk) Size() int {
	return len(c.memory) + c.rawBytes + len(c.entries)*int(unsafe.Sizeof(entry{}))
}

// Skip counts a record that is passed over.
func (c *Chunk) Skip() { c.skipped++ }

// Add encodes a record. It keeps no reference to r but Raw and Err.
func (c *Chunk) Add(r *Record) {
	c.entries = append(c.entries, entry{
		chunk: c, table: r.Table, tableName: r.TableName, err: r.Err, raw: r.Raw, line: r.Line, number: r.Number,
		op: r.Operation, start: len(c.memory), unknown: r.UnknownOutcome, made: r.Made,
	})
	c.rawBytes += len(r.Raw)
	e := &c.entries[len(c.entries)-1]
	if e.err == nil {
		e.err = c.encode(e, r)
	}
	if e.err != nil {
		c.memory = c.memory[:e.start]
	}
	e.end = len(c.memory)
}

func (c *Chunk) encode(e *entry, r *Record) error {
	switch {
	case r.Table == nil:
		return unsendable("the record names no table")
	case r.Operation == wire.Delete && r.Range != nil:
		c.encodeRange(e, r)
	case r.Operation == wire.Delete:
		if err := c.encodeDelete(e, r); err != nil {
			return err
		}
	case r.Operation < wire.Insert || r.Operation > wire.Replace:
		return unsendable("the record names no operation")
	default:
		size := sizeOf(r.Values)
		if size > MaxRequestBytes { // not worth the copy
			return tooLarge(size)
		}
		c.encodeWrite(e, r, size)
	}
	if size := len(c.memory) - e.start + len(c.writer.header); size > MaxRequestBytes {
		return tooLarge(size)
	}
	return nil
}

func sizeOf(values []wire.Value) int {
	n := 0
	for _, v := range values {
		n += len(v)
	}
	return n
}

func tooLarge(size int) error {
	return unsendable(fmt.Sprintf("it takes %d bytes in a request and Spanner takes at most %d", size, MaxRequestBytes))
}

// around bounds what a mutation has besides its head and its fields of values.
const around = 64

// most is how much more memory is made than a record needs.
const most = 256 << 10

// encodeWrite encodes a record whose values have size bytes.
func (c *Chunk) encodeWrite(e *entry, r *Record, size int) {
	head := c.heads.get(r.Table, r.Operation, r.Values)
	size += len(head.bytes) + around + len(r.Values)*(1+binary.MaxVarintLen32)
	if free := cap(c.memory) - len(c.memory); free < size {
		c.memory = slices.Grow(c.memory, max(size, min(len(c.memory), most)))
	}
	c.memory = wire.AppendWrite(c.memory, c.writer.envelope, r.Operation, head.bytes, r.Values)
	e.cells = head.cells
	c.lock(e, r.Table, r.Values)
}

func (c *Chunk) encodeDelete(e *entry, r *Record) error {
	c.key = c.key[:0]
	var missing []string
	for _, k := range r.Table.key {
		v := valueAt(r.Values, k.column)
		if v == nil {
			missing = append(missing, k.name)
		}
		c.key = append(c.key, v)
	}
	if len(missing) > 0 {
		return unsendable("a delete needs the whole key; missing: " + strings.Join(missing, ", "))
	}
	head := c.heads.get(r.Table, wire.Delete, nil)
	c.memory = wire.AppendDelete(c.memory, c.writer.envelope, head.bytes, c.key)
	e.cells = r.Table.deleteCells
	c.lock(e, r.Table, r.Values)
	return nil
}

// encodeRange counts the cells of one row: how many rows there are is known to
// Spanner alone.
func (c *Chunk) encodeRange(e *entry, r *Record) {
	head := c.heads.get(r.Table, wire.Delete, nil)
	c.memory = wire.AppendDeleteRange(c.memory, c.writer.envelope, head.bytes, r.Range)
	e.cells, e.wide = r.Table.deleteCells, true
}

// lock finds what the record locks.
func (c *Chunk) lock(e *entry, t *Table, values []wire.Value) {
	if c.writer.opt.KeyOrder == NoKeyOrder {
		return
	}
	before := len(c.ancestors)
	k := c.hasher.hash(t, values, c.ancestors)
	c.ancestors = k.ancestors
	e.key, e.exact, e.wide = k.own, k.exact, k.wide
	e.ancestors, e.nAncest = int32(before), int32(len(c.ancestors)-before)
}
