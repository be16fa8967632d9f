package reader

import (
	"fmt"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"

	"spanbulk/internal/wire"
)

// The defaults of Options, and the bounds that are not plain.
const (
	DefaultMaxRowsPerFetch  = 1000
	DefaultMaxBytesPerFetch = 12 << 20
	MaxParallelism          = 10_000
)

// Options say how a Reader reads. The zero value of every field is its default.
type Options struct {
	// Parallelism is how many partitions are read at once; 4 by default.
	Parallelism int
	// MaxRowsPerFetch bounds the rows of a chunk handed to the output; 1000 by
	// default.
	MaxRowsPerFetch int
	// MaxBytesPerFetch bounds the bytes of encoded rows in a chunk, before
	// compression; 12 MiB by default. One row that is larger goes alone. Chunks
	// are handed over from 1 MiB on, so that they need less memory than that.
	MaxBytesPerFetch int

	// MaxPartitions and PartitionSizeBytes are hints to Spanner, which may
	// ignore them; 0 leaves the choice to it.
	MaxPartitions      int64
	PartitionSizeBytes int64

	// DataBoost runs every partition on Data Boost's compute.
	DataBoost      bool
	Priority       spannerpb.RequestOptions_Priority
	RequestTag     string
	TransactionTag string
	DirectedReads  *spannerpb.DirectedReadOptions

	// Retry and HoldBytes are as in wire.StreamOptions.
	Retry     wire.Retry
	HoldBytes int
	// OnRetry, if set, is told of every broken stream before it is opened
	// again. It is called from many goroutines.
	OnRetry func(Retry)
	// Progress, if set, is kept up to date while the Reader runs.
	Progress *Progress
}

// Retry is what Options.OnRetry is told.
type Retry struct {
	// Source and Partition tell whose stream broke.
	Source    string
	Partition int
	Err       error
	// Attempt counts from 1 since the last progress of the stream.
	Attempt int
	// Pause is the time until the next attempt.
	Pause time.Duration
}

// Validate reports the first option out of bounds.
func (o *Options) Validate() error {
	switch {
	case o.Parallelism < 0 || o.Parallelism > MaxParallelism:
		return fmt.Errorf("parallelism is %d, must be within 1 and %d", o.Parallelism, MaxParallelism)
	case o.MaxRowsPerFetch < 0:
		return fmt.Errorf("max rows per fetch is %d, must be at least 1", o.MaxRowsPerFetch)
	case o.MaxBytesPerFetch < 0:
		return fmt.Errorf("max bytes per fetch is %d, must be at least 1", o.MaxBytesPerFetch)
	case o.MaxPartitions < 0:
		return fmt.Errorf("max partitions is %d, must be at least 1", o.MaxPartitions)
	case o.PartitionSizeBytes < 0:
		return fmt.Errorf("partition size is %d bytes, must be at least 1", o.PartitionSizeBytes)
	}
	return nil
}

func (o *Options) setDefaults() {
	if o.Parallelism == 0 {
		o.Parallelism = 4
	}
	if o.MaxRowsPerFetch == 0 {
		o.MaxRowsPerFetch = DefaultMaxRowsPerFetch
	}
	if o.MaxBytesPerFetch == 0 {
		o.MaxBytesPerFetch = DefaultMaxBytesPerFetch
	}
	if o.Progress == nil {
		o.Progress = new(Progress)
	}
}

func (o *Options) requestOptions() *spannerpb.RequestOptions {
	return &spannerpb.RequestOptions{Priority: o.Priority, RequestTag: o.RequestTag, TransactionTag: o.TransactionTag}
}
