package format

import (
	"encoding/binary"
	"fmt"
)

// Chunk is a stretch of an input that holds whole records. A Splitter makes
// Chunks, a Decoder reads their records.
type Chunk struct {
	Kind Kind
	Data []byte
	// Offset is where Data begins in the decompressed input, in bytes.
	Offset int64
	// Line is the line Data begins with, counted from 1; for Avro the number of
	// its first record.
	Line int64
	// Layout is what the beginning of the input tells of all records: the names
	// in a CSV header, an Avro schema.
	Layout *Layout
	// Refused, if set, says why Data, the beginning of one record, is all there
	// is of it: it is larger than the Splitter's bound.
	Refused *RecordError
	// Last says that the input ends with Data.
	Last bool

	plain []byte // Avro: the blocks decompressed
	made  []byte // the records that DecodeOptions.Transform made
}

// Reset empties c and keeps its memory for the next chunk, up to keep bytes of
// each kind.
func (c *Chunk) Reset(keep int) {
	kept := func(b []byte) []byte {
		if cap(b) > keep {
			return nil
		}
		return b[:0]
	}
	*c = Chunk{Data: kept(c.Data), plain: kept(c.plain), made: kept(c.made)}
}

// fill makes c the chunk next, with the memory that c has besides Data.
func (c *Chunk) fill(next Chunk) {
	next.plain, next.made = c.plain, c.made
	*c = next
}

// Layout is what the beginning of an input tells of its records.
type Layout struct {
	context string
	names   []string    // CSV: of the fields; nil without a header
	avro    *avroSchema // Avro
}

// Context is the text without which a record by itself cannot be read, and from
// which ParseLayout makes the Layout again: a CSV header, an Avro schema. The
// Context of a nil Layout is empty.
func (l *Layout) Context() string {
	if l == nil {
		return ""
	}
	return l.context
}

// Context is the Layout's, and for CSV without a header one that tells the names
// its fields have in t, so that a record can be read when these have changed. t
// is nil if records name their tables.
func (o *DecodeOptions) Context(kind Kind, l *Layout, t *Target) string {
	if kind != CSV || l == nil || l.context != "" {
		return l.Context()
	}
	names := l.names
	if names == nil && t != nil {
		names = (&plan{binding: o.bind(t)}).namesInOrder()
	}
	if names == nil {
		return ""
	}
	return o.CSV.dialect().headerLine(names)
}

// ParseLayout makes the Layout of single records that were kept with their
// context.
func ParseLayout(kind Kind, context string, o CSVInput) (*Layout, error) {
	l := &Layout{context: context}
	switch {
	case kind == Avro:
		l.avro = &avroSchema{}
		if err := l.avro.parse([]byte(context)); err != nil {
			return nil, fmt.Errorf("the Avro schema cannot be used: %w", err)
		}
	case kind != CSV:
		return nil, nil
	case context != "":
		var refused *RecordError
		if l.names, _, refused = o.dialect().headerNames([]byte(context)); refused != nil {
			return nil, refused
		}
	}
	return l, nil
}

// SingleChunk makes a Chunk of one record by itself; line is where it came from.
func SingleChunk(kind Kind, l *Layout, raw []byte, line int64) *Chunk {
	c := &Chunk{Kind: kind, Data: raw, Line: line, Layout: l}
	if kind == Avro {
		c.Data = append(binary.AppendVarint(binary.AppendVarint(nil, 1), int64(len(raw))), raw...)
	}
	return c
}
