package cdc

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"

	"spanbulk/internal/format"
	"spanbulk/internal/schema"
)

// The defaults and bounds of Options.
const (
	DefaultHeartbeat  = 2 * time.Second
	MinHeartbeat      = time.Second
	MaxHeartbeat      = 5 * time.Minute
	DefaultRetention  = 7 * 24 * time.Hour
	DefaultQueries    = 8
	MaxQueries        = 10_000
	DefaultChunkBytes = 1 << 20
	DefaultOrderBytes = 256 << 20
	DefaultSaveEvery  = 5 * time.Second
	MinSaveEvery      = 10 * time.Millisecond
)

// Mode says what a data change record becomes in the output.
type Mode uint8

// The changelog modes.
const (
	// Records: data change records as Spanner gives them.
	Records Mode = iota
	// Full: a row for each state before and after a change. It needs the capture
	// type NEW_ROW_AND_OLD_VALUES.
	Full
	// Upsert: a row for each state after a change, and the key of a deleted one.
	// It needs NEW_ROW or NEW_ROW_AND_OLD_VALUES.
	Upsert
)

// String returns the mode as --changelog-mode has it.
func (m Mode) String() string {
	switch m {
	case Full:
		return "full"
	case Upsert:
		return "upsert"
	default:
		return "records"
	}
}

// Order says in what order records are handed to the output.
type Order uint8

// The orders.
const (
	// ByPartition: as each partition has them; of one key in commit order.
	ByPartition Order = iota
	// ByCommit: all in the order of commit timestamp, transaction and sequence.
	ByCommit
)

// Filters say which tables and columns appear. Each expression is RE2 and must
// match the whole name: of a table as Spanner reports it, of a column with its
// table and a dot before it. Columns of the key always appear.
type Filters struct {
	TableInclude, TableExclude   []string
	ColumnInclude, ColumnExclude []string
	// AnyCase lets the expressions match whatever the case, as names do in
	// GoogleSQL.
	AnyCase bool
	// SkipWithoutChange drops a record when the column filters have taken away
	// every value outside the key that it reported.
	SkipWithoutChange bool
	// Table keeps only this table, named as Spanner reports it; empty keeps all.
	Table string
}

// Options say how a change stream is read and what is made of it. The zero
// value of every field is its default.
type Options struct {
	// Start is where to begin without a State.
	Start StartPosition
	// End ends the run when every partition has passed it; zero is never.
	End time.Time
	// State is what an earlier run has left; nil begins anew.
	State *SavedState
	// ResumeFallback is where to begin if State is too old for Spanner to go on
	// from; nil fails instead. The whole State is thrown away then.
	ResumeFallback *StartPosition
	// AbsentRetention is the retention to assume where the stream's DDL does not
	// say; 7 days by default, more than a minute.
	AbsentRetention time.Duration

	// Heartbeat is how often Spanner reports an idle partition, 1s to 5m; 2s by
	// default.
	Heartbeat time.Duration
	// MaxQueries is how many partitions are read at once; 8 by default.
	MaxQueries int

	Filters Filters
	Mode    Mode
	// Metadata are the metadata keys to put beside the columns of rows, or to
	// keep of records; nil is none for rows and all for records.
	Metadata []string
	// Watermarks, Heartbeats and PartitionEvents add those to the output.
	Watermarks, Heartbeats, PartitionEvents bool
	// NoDeduplicate lets the records at the boundary of State come again.
	NoDeduplicate bool
	Order         Order
	// OrderBytes bounds what ByCommit holds back; 256 MiB by default. The
	// records of one commit timestamp are held whatever their size.
	OrderBytes int
	// ChunkBytes is how much of a partition waits for the output, about; 1 MiB
	// by default. A record that is larger waits alone.
	ChunkBytes int

	// MaxRecords ends the run after so many data change records; 0 is never.
	MaxRecords int64
	// For ends the run after that time; 0 is never.
	For time.Duration

	// Text writes lines for people instead of JSON.
	Text bool
	// Values choose the JSON forms of the columns of rows.
	Values format.ValueOptions
	// Dialect says what types are called in errors.
	Dialect schema.Dialect
	// Compression compresses chunks of lines.
	Compression format.Compression
	// Columns, if not nil, are the columns of every row, written in Kind's
	// format. Only Full and one Table may have them.
	Columns []*spannerpb.StructType_Field
	// File is the format of rows with Columns: CSV or Avro.
	File format.Options
	// Transform, if set, wraps the format of each line, as a jq program does.
	Transform func(format.Format) format.Format

	// SaveEvery is how often the state is saved; 5s by default.
	SaveEvery time.Duration
	// Save, if set, keeps the state. It is called after the output has been
	// flushed, and a last time at the end of the run.
	Save func(*SavedState) error

	// Retry bounds the pauses between attempts at a broken query, which never
	// end; 250ms and 32s by default.
	Retry Backoff
	// OnRetry, if set, is told of every broken query before it is opened again.
	// It is called from many goroutines.
	OnRetry func(Retry)
	// Graph, if set, collects the partitions and what they come from.
	Graph *Graph
	// Log gets the facts that a user should know; nil discards them.
	Log *slog.Logger
	// Progress, if set, is kept up to date while the tail runs.
	Progress *Progress

	// moveStart lets the start move to where Spanner says that records begin.
	moveStart bool
}

// Backoff bounds the pauses between attempts. Pauses are drawn at random below
// a bound that grows from Initial to Max.
type Backoff struct {
	Initial, Max time.Duration
}

// Retry is what Options.OnRetry is told.
type Retry struct {
	// Partition is a short form of the partition's token.
	Partition string
	Err       error
	// Attempt counts from 1 since the partition last brought something new.
	Attempt int
	// Pause is the time until the next attempt.
	Pause time.Duration
}

// Validate reports the first option out of bounds or in contradiction to
// another. It opens nothing.
func (o *Options) Validate() error {
	switch {
	case o.Heartbeat != 0 && (o.Heartbeat < MinHeartbeat || o.Heartbeat > MaxHeartbeat):
		return fmt.Errorf("heartbeat interval is %v, must be within %v and %v", o.Heartbeat, MinHeartbeat, MaxHeartbeat)
	case o.AbsentRetention != 0 && o.AbsentRetention <= retentionMargin:
		return fmt.Errorf("absent retention fallback is %v, must be more than %v", o.AbsentRetention, retentionMargin)
	case o.MaxQueries < 0 || o.MaxQueries > MaxQueries:
		return fmt.Errorf("max concurrent queries is %d, must be within 1 and %d", o.MaxQueries, MaxQueries)
	case o.OrderBytes < 0 || o.ChunkBytes < 0:
		return errors.New("a number of bytes is negative")
	case o.MaxRecords < 0:
		return fmt.Errorf("max records is %d, must be at least 1", o.MaxRecords)
	case o.For < 0:
		return fmt.Errorf("the time to run for is %v, must be more than 0", o.For)
	}
	for _, err := range []error{o.validateOutput(), o.Values.Validate(), o.validateMetadata()} {
		if err != nil {
			return err
		}
	}
	_, err := newFilter(&o.Filters, new(Progress))
	return err
}

func (o *Options) validateOutput() error {
	extra := o.Watermarks || o.Heartbeats || o.PartitionEvents
	switch {
	case o.Mode > Upsert || o.Order > ByCommit:
		return errors.New("unknown changelog mode or order")
	case o.Mode == Records && o.Filters.Table != "":
		return errors.New("one table can be chosen in the changelog modes full and upsert only; in records, include it")
	case o.Columns == nil:
		return nil
	case o.Mode != Full || o.Filters.Table == "":
		return errors.New("CSV and Avro need the changelog mode full and one table: only its rows have all columns, always")
	case o.Text || o.Transform != nil || extra:
		return errors.New("CSV and Avro hold rows of one table and nothing else")
	}
	return nil
}

func (o *Options) setDefaults() {
	setDefault(&o.Heartbeat, DefaultHeartbeat)
	setDefault(&o.AbsentRetention, DefaultRetention)
	setDefault(&o.MaxQueries, DefaultQueries)
	setDefault(&o.OrderBytes, DefaultOrderBytes)
	setDefault(&o.ChunkBytes, DefaultChunkBytes)
	setDefault(&o.SaveEvery, DefaultSaveEvery)
	setDefault(&o.Retry.Initial, 250*time.Millisecond)
	setDefault(&o.Retry.Max, max(32*time.Second, o.Retry.Initial))
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Progress == nil {
		o.Progress = new(Progress)
	}
}

func setDefault[T comparable](v *T, unset T) {
	var zero T
	if *v == zero {
		*v = unset
	}
}
