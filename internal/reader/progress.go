package reader

import "sync/atomic"

// Progress counts what a Reader has done. Any goroutine may read it at any
// time; the counts move once a chunk, not once a row.
type Progress struct {
	// Partitions is how many there are to read, once Run has begun.
	Partitions atomic.Int64
	// PartitionsDone is how many have been read to their end.
	PartitionsDone atomic.Int64
	// PartitionsActive is how many are being read now.
	PartitionsActive atomic.Int64
	// Rows is how many rows Spanner sent; each counts once, however often it
	// was sent.
	Rows atomic.Int64
	// Records is how many records the output has taken. It differs from Rows
	// only where an encoder makes none or several of a row.
	Records atomic.Int64
	// Bytes is how many bytes the output has taken.
	Bytes atomic.Int64
	// Retries is how many broken streams were opened again.
	Retries atomic.Int64
}
