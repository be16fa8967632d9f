package lookup

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"

	"spanbulk/internal/schema"
)

// The bounds of Options.
const (
	MaxParallelism = 1000
	// MaxBatchKeys keeps a request of ordinary keys far below Spanner's bound of
	// 10 MiB; batches of large keys end earlier by themselves.
	MaxBatchKeys = 10_000
)

// KeyColumn is a column of the key and the field of the records that has its
// values.
type KeyColumn struct{ Column, Field string }

// Options say what is looked up, and how. Table, Key (for a table with key
// columns) and Columns are required.
type Options struct {
	// Table is the table's name as Spanner's API takes it.
	Table string
	// Index, if set, is a unique index to read through; Key is then its key.
	Index string
	// Key has all columns of the key, in its order.
	Key []KeyColumn
	// Columns are read and put beside the records.
	Columns []string
	// Dialect says how names are compared.
	Dialect schema.Dialect
	// Inner leaves out records without a row.
	Inner bool

	// Bound is the timestamp bound of every read, any of Spanner's five; nil is
	// a strong read.
	Bound          *spannerpb.TransactionOptions_ReadOnly
	Priority       spannerpb.RequestOptions_Priority
	RequestTag     string
	TransactionTag string
	DirectedReads  *spannerpb.DirectedReadOptions

	// BatchKeys is how many different keys a read asks for at most; 100 by default.
	BatchKeys int
	// Parallelism is how many batches are read at once; 8 by default.
	Parallelism int
	// MaxBytes is about how many bytes of records and rows are held at once, beside
	// what the cache keeps; 32 MiB by default. One row and its record for each
	// batch that is read are held whatever their size.
	MaxBytes int
	// Unordered lets records go out as their batches are done.
	Unordered bool
	// MaxRetries is how often a failed read is tried again; none by default.
	MaxRetries int
	// Backoff is about how long the first pause is; 20 ms by default. Pauses
	// double up to MaxBackoff, 10 s by default.
	Backoff, MaxBackoff time.Duration
	// OnRetry, if set, is told of every read that will be tried again. It is
	// called from several goroutines.
	OnRetry func(err error, attempt int, pause time.Duration)

	// Cache, if set, keeps rows between batches.
	Cache *CacheOptions
	// Progress, if set, is kept up to date.
	Progress *Progress
}

// CacheOptions bound the cache.
type CacheOptions struct {
	// MaxRows is the most rows kept, missing ones included; those used longest
	// ago go first.
	MaxRows int
	// ExpireAfterAccess and ExpireAfterWrite end the life of a row so long after
	// its last use, and after it was read; 0 is never.
	ExpireAfterAccess, ExpireAfterWrite time.Duration
	// Missing keeps also that a key has no row.
	Missing bool
}

// Progress counts what a Run has done. Any goroutine may read it.
type Progress struct {
	RecordsIn atomic.Int64
	// Applied records have gone out, Skipped ones were left out: by an inner
	// join, or by the Format.
	Applied, Skipped atomic.Int64
	// Refused is 1 when a record that cannot be read has ended the run.
	Refused atomic.Int64
	// Matched and Unmatched records have gone out or were skipped.
	Matched, Unmatched atomic.Int64
	// KeysRead are those asked Spanner for, Batches the reads that took, and
	// Retries the reads tried again. A read that is given up because its rows are
	// too large counts, and so do those of its parts.
	KeysRead, Batches, Retries atomic.Int64
	// CacheHits are keys that a batch had from the cache, CacheMisses those it
	// had not. A key counts once in a batch.
	CacheHits, CacheMisses atomic.Int64
	// Bytes have been handed to the output.
	Bytes atomic.Int64
}

// Validate reports the first option out of bounds.
func (o *Options) Validate() error {
	switch {
	case o.Table == "":
		return errors.New("no table to look up in")
	case len(o.Columns) == 0:
		return errors.New("no columns to look up")
	case o.BatchKeys < 0 || o.BatchKeys > MaxBatchKeys:
		return fmt.Errorf("batch keys is %d, must be within 1 and %d", o.BatchKeys, MaxBatchKeys)
	case o.Parallelism < 0 || o.Parallelism > MaxParallelism:
		return fmt.Errorf("parallelism is %d, must be within 1 and %d", o.Parallelism, MaxParallelism)
	case o.MaxBytes < 0:
		return fmt.Errorf("max bytes is %d, must be at least 1", o.MaxBytes)
	case o.MaxRetries < 0:
		return fmt.Errorf("max retries is %d, must be at least 0", o.MaxRetries)
	case o.Cache != nil && o.Cache.MaxRows < 1:
		return fmt.Errorf("cache max rows is %d, must be at least 1", o.Cache.MaxRows)
	}
	return nil
}

func (o *Options) setDefaults() {
	if o.BatchKeys == 0 {
		o.BatchKeys = 100
	}
	if o.Parallelism == 0 {
		o.Parallelism = 8
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 32 << 20
	}
	if o.Backoff <= 0 {
		o.Backoff = 20 * time.Millisecond
	}
	if o.MaxBackoff <= 0 {
		o.MaxBackoff = max(10*time.Second, o.Backoff)
	}
	if o.Progress == nil {
		o.Progress = new(Progress)
	}
}
