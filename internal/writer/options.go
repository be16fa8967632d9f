package writer

import (
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
)

// The defaults of Options, and the bounds that are not plain.
const (
	DefaultMaxBatchCells     = 5000
	DefaultMaxBatchMutations = 500
	DefaultMaxBatchBytes     = 1 << 20
	DefaultParallelism       = 4
	DefaultBatchWriteTimeout = 30 * time.Second
	DefaultInitialBackoff    = 500 * time.Millisecond
	DefaultMaxBackoff        = 10 * time.Second
	DefaultMaxAttempts       = 10
	DefaultHoldBytes         = 32 << 20
	DefaultLinger            = 10 * time.Millisecond
	DefaultDrainTimeout      = 10 * time.Second

	// MaxBatchCellsCeiling bounds the cells of a batch, and so its mutations:
	// the most that Spanner takes in one commit.
	MaxBatchCellsCeiling = 80_000
	// MaxRequestBytes is the largest request Spanner takes; a record that does
	// not fit in is refused before it is sent.
	MaxRequestBytes = 100 << 20
	// MaxCommitDelayCeiling is the longest max_commit_delay Spanner takes.
	MaxCommitDelayCeiling = 500 * time.Millisecond
	MaxParallelism        = 10_000
)

// Method is the RPC that writes a batch.
type Method uint8

const (
	// BatchWrite applies each record by itself.
	BatchWrite Method = iota
	// Commit applies a batch as a whole. A batch that is refused is halved
	// until the refused record stands alone.
	Commit
)

// KeyOrder says what may overtake what.
type KeyOrder uint8

const (
	// PreserveKeyOrder lets no two mutations of one row be undecided at once, so
	// that the last record of a key wins.
	PreserveKeyOrder KeyOrder = iota
	// NoKeyOrder sends everything as soon as it fits.
	NoKeyOrder
)

// ConstraintPolicy says what FAILED_PRECONDITION and OUT_OF_RANGE do, the codes
// of violated constraints.
type ConstraintPolicy uint8

const (
	// FailJob ends the run.
	FailJob ConstraintPolicy = iota
	// RouteToFailureHandler refuses the record like ALREADY_EXISTS does.
	RouteToFailureHandler
)

// Options say how a Writer writes. The zero value of every field is its default.
type Options struct {
	// MaxBatchCells, MaxBatchMutations and MaxBatchBytes bound a request
	// together; 5000, 500 and 1 MiB by default.
	MaxBatchCells     int
	MaxBatchMutations int
	MaxBatchBytes     int

	// Parallelism is how many calls are in flight at most; 4 by default.
	Parallelism int
	// BatchWriteTimeout bounds one whole attempt of a call, the time in which
	// its response stream stalls included; 30 s by default.
	BatchWriteTimeout time.Duration

	Method Method
	// MaxCommitDelay is how long Spanner may delay a commit to group it with
	// others, 0 to 500 ms; nil leaves it to Spanner. Only Commit has it.
	MaxCommitDelay *time.Duration

	// InitialBackoff and MaxBackoff bound the pauses before a further attempt,
	// 500 ms and 10 s by default; MaxAttempts is how often a record is tried,
	// 10 by default, before the run fails.
	InitialBackoff time.Duration
	MaxBackoff     time.Duration
	MaxAttempts    int

	// Refuser gets every refused record; nil fails the run at the first.
	Refuser    Refuser
	Constraint ConstraintPolicy
	// MaxRefused fails the run when more records were refused than it allows.
	MaxRefused RefusalLimit

	KeyOrder                 KeyOrder
	ExcludeFromChangeStreams bool
	// RateLimit bounds the records sent a second; 0 is no bound.
	RateLimit      float64
	Priority       spannerpb.RequestOptions_Priority
	TransactionTag string
	RequestTag     string

	// DryRun encodes and counts records and sends none. All that would be sent
	// stay undecided.
	DryRun bool

	// HoldBytes bounds the memory of undecided records; 32 MiB by default and
	// at least twice MaxBatchBytes.
	HoldBytes int
	// Linger is how long a batch waits for more records before it is sent
	// although it is not full; 10 ms by default.
	Linger time.Duration
	// DrainTimeout is how long calls in flight are given to finish once the run
	// has failed or was interrupted; 10 s by default.
	DrainTimeout time.Duration

	// OnRetry, if set, is told of every batch that will be sent again. It is
	// called from Run's goroutine.
	OnRetry func(Retry)
	// OnFurther, if set, is told of every record that ends the run when it has
	// ended already: no error names it. It is called from Run's goroutine.
	OnFurther func(*Refusal)
	// Progress, if set, is kept up to date while the Writer runs.
	Progress *Progress
}

// Retry is what Options.OnRetry is told.
type Retry struct {
	// Records is how many are sent again, of Sent.
	Records, Sent int
	// First is where the first of them came from.
	First Position
	// Err says why: the failure of the call, or the status of a group.
	Err error
	// Attempt is how often the first of them has been tried.
	Attempt int
	// Pause is the time until the next attempt.
	Pause time.Duration
}

// Validate reports the first option out of bounds.
func (o *Options) Validate() error {
	if err := o.validateBatch(); err != nil {
		return err
	}
	switch {
	case o.Parallelism < 0 || o.Parallelism > MaxParallelism:
		return fmt.Errorf("parallelism is %d, must be within 1 and %d", o.Parallelism, MaxParallelism)
	case o.BatchWriteTimeout != 0 && o.BatchWriteTimeout < time.Millisecond:
		return fmt.Errorf("batch write timeout is %v, must be at least 1ms", o.BatchWriteTimeout)
	case o.InitialBackoff != 0 && o.InitialBackoff < time.Millisecond:
		return fmt.Errorf("recovery initial backoff is %v, must be at least 1ms", o.InitialBackoff)
	case o.MaxBackoff < 0, o.MaxBackoff != 0 && o.MaxBackoff < o.initialBackoff():
		return fmt.Errorf("recovery max backoff is %v, must be at least the initial backoff, %v", o.MaxBackoff, o.initialBackoff())
	case o.MaxAttempts < 0:
		return fmt.Errorf("recovery max attempts is %d, must be at least 1", o.MaxAttempts)
	case o.RateLimit < 0:
		return fmt.Errorf("rate limit is %v, must be above 0", o.RateLimit)
	case o.HoldBytes < 0 || o.Linger < 0 || o.DrainTimeout < 0:
		return errors.New("hold bytes, linger and drain timeout must not be negative")
	}
	return o.MaxRefused.Validate()
}

func (o *Options) validateBatch() error {
	switch {
	case o.MaxBatchCells < 0 || o.MaxBatchCells > MaxBatchCellsCeiling:
		return fmt.Errorf("max batch cells is %d, must be within 1 and %d", o.MaxBatchCells, MaxBatchCellsCeiling)
	case o.MaxBatchMutations < 0 || o.MaxBatchMutations > MaxBatchCellsCeiling:
		return fmt.Errorf("max batch mutations is %d, must be within 1 and %d", o.MaxBatchMutations, MaxBatchCellsCeiling)
	case o.MaxBatchBytes < 0 || o.MaxBatchBytes > MaxRequestBytes:
		return fmt.Errorf("max batch bytes is %d, must be within 1 and %d", o.MaxBatchBytes, MaxRequestBytes)
	case o.MaxCommitDelay != nil && (*o.MaxCommitDelay < 0 || *o.MaxCommitDelay > MaxCommitDelayCeiling):
		return fmt.Errorf("max commit delay is %v, must be within 0 and %v", *o.MaxCommitDelay, MaxCommitDelayCeiling)
	case o.MaxCommitDelay != nil && o.Method == BatchWrite:
		return errors.New("max commit delay needs the write method commit: BatchWriteRequest has no such field")
	}
	return nil
}

func (o *Options) initialBackoff() time.Duration {
	return defaulted(o.InitialBackoff, DefaultInitialBackoff)
}

func (o *Options) setDefaults() {
	o.MaxBatchCells = defaulted(o.MaxBatchCells, DefaultMaxBatchCells)
	o.MaxBatchMutations = defaulted(o.MaxBatchMutations, DefaultMaxBatchMutations)
	o.MaxBatchBytes = defaulted(o.MaxBatchBytes, DefaultMaxBatchBytes)
	o.Parallelism = defaulted(o.Parallelism, DefaultParallelism)
	o.BatchWriteTimeout = defaulted(o.BatchWriteTimeout, DefaultBatchWriteTimeout)
	o.InitialBackoff = o.initialBackoff()
	o.MaxBackoff = defaulted(o.MaxBackoff, max(DefaultMaxBackoff, o.InitialBackoff))
	o.MaxAttempts = defaulted(o.MaxAttempts, DefaultMaxAttempts)
	o.HoldBytes = max(defaulted(o.HoldBytes, DefaultHoldBytes), 2*o.MaxBatchBytes)
	o.Linger = defaulted(o.Linger, DefaultLinger)
	o.DrainTimeout = defaulted(o.DrainTimeout, DefaultDrainTimeout)
	if o.Refuser == nil {
		o.Refuser = Fail()
	}
	if o.Progress == nil {
		o.Progress = new(Progress)
	}
	if o.RateLimit > 0 {
		// Small batches at a low rate, so that the first second is no faster
		// than the others.
		o.MaxBatchMutations = min(o.MaxBatchMutations, max(1, int(o.RateLimit/10)))
	}
}

func defaulted[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

func (o *Options) requestOptions() *spannerpb.RequestOptions {
	if o.Priority == 0 && o.TransactionTag == "" && o.RequestTag == "" {
		return nil
	}
	return &spannerpb.RequestOptions{Priority: o.Priority, TransactionTag: o.TransactionTag, RequestTag: o.RequestTag}
}
