package cdc

import (
	"sync/atomic"
	"time"
)

// Progress counts what a tail has done. Any goroutine may read it at any time.
// Records are data change records.
type Progress struct {
	// QueriesStarted is how many partition queries were opened, those after a
	// break included (changeStreamQueriesStarted).
	QueriesStarted atomic.Int64
	// ActiveQueries is how many are open now (activeChangeStreamQueries).
	ActiveQueries atomic.Int64
	// QueuedPartitions is how many partitions could be read and wait for a query
	// to end (queuedChangeStreamPartitions).
	QueuedPartitions atomic.Int64
	// PartitionsDiscovered is how many partitions there have been
	// (changeStreamPartitionsDiscovered).
	PartitionsDiscovered atomic.Int64

	// Records is how many Spanner sent; one counts once, however often it came.
	Records atomic.Int64
	// RecordsFilteredByTable is how many of them the table filters dropped
	// (changeStreamRecordsFilteredByTable).
	RecordsFilteredByTable atomic.Int64
	// RecordsSkippedWithoutChange is how many had no value left after the column
	// filters (changeStreamRecordsSkippedWithoutChange).
	RecordsSkippedWithoutChange atomic.Int64
	// ColumnOccurrencesFiltered is how many columns of records the column
	// filters took away (changeStreamColumnOccurrencesFiltered).
	ColumnOccurrencesFiltered atomic.Int64
	// RecordsSkipped is how many the transform made nothing of (recordsSkipped).
	RecordsSkipped atomic.Int64
	// RecordsWritten is how many the output has taken.
	RecordsWritten atomic.Int64
	// RecordsRepeated is how many came again after a break or a restart and were
	// dropped. They are in no other count.
	RecordsRepeated atomic.Int64

	// Lines is how many lines or rows the output has taken, of all kinds.
	Lines atomic.Int64
	// Bytes is how many bytes the output has taken.
	Bytes atomic.Int64
	// Heartbeats is how many heartbeat records came.
	Heartbeats atomic.Int64
	// MissedHeartbeats is how often an open query was silent for longer than two
	// heartbeat intervals.
	MissedHeartbeats atomic.Int64
	// Retries is how many broken queries were opened again.
	Retries atomic.Int64

	watermark atomic.Int64
	// clockOffset is the server's clock minus ours.
	clockOffset atomic.Int64
}

// Watermark is the time before which the output has everything; zero before the
// tail has begun.
func (p *Progress) Watermark() Timestamp { return Timestamp(p.watermark.Load()) }

// Lag is how far the watermark is behind the server's clock. It is never
// negative, and zero before the tail has begun.
func (p *Progress) Lag() time.Duration {
	mark := p.Watermark()
	if mark == 0 {
		return 0
	}
	now := time.Now().Add(time.Duration(p.clockOffset.Load()))
	return max(now.Sub(mark.Time()), 0)
}
