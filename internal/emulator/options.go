package emulator

import (
	"fmt"
	"time"
)

// Options configure a Server. The zero value is usable.
type Options struct {
	// Partitions is how many partitions with rows PartitionRead and
	// PartitionQuery plan, given enough rows; 0 stands for DefaultPartitions.
	Partitions int
	// NoEmptyPartitions leaves out the partitions without rows that are planned
	// among the others.
	NoEmptyPartitions bool
	// HonourPartitionHints makes partition_size_bytes and max_partitions count,
	// which the service ignores.
	HonourPartitionHints bool
	// ChangeStreams say how the partitions of change streams change.
	ChangeStreams ChangeStreams
	// Messages shape streamed results; SetMessages changes them at any time.
	Messages Messages
	// Now is the clock; nil stands for time.Now.
	Now func() time.Time
}

// DefaultPartitions is how many partitions with rows are planned by default.
const DefaultPartitions = 6

// ChangeStreams say how the partitions of change streams change.
type ChangeStreams struct {
	// Partitions is how many a new stream begins with; 0 stands for 2.
	Partitions int
	// ShuffleEvery lets a partition of every stream be split, merged or moved
	// at random so often; 0 is never.
	ShuffleEvery time.Duration
	// Seed of the random choices; 0 stands for any.
	Seed uint64
}

// Messages shape the PartialResultSets of streamed results.
type Messages struct {
	// TargetBytes closes a message at the first row boundary after so many
	// bytes of values; 0 stands for 64 KiB.
	TargetBytes int
	// MaxBytes is the most bytes of values in one message: a value that does not
	// fit is split and marked chunked_value. 1 splits every value at every byte
	// (in text at every character, which must stay whole). 0 stands for 1 MiB.
	MaxBytes int
	// MaxRows closes a message after so many rows; 0 is no limit.
	MaxRows int
	// Tokens says which messages bear a resume token.
	Tokens Tokens
	// TokenEvery gives a token to every k-th message that ends on a row
	// boundary; 0 and 1 mean every one.
	TokenEvery int
	// NoLast leaves out the mark on the last message.
	NoLast bool
}

// Tokens says where resume tokens go.
type Tokens uint8

// Tokens on every message that ends on a complete row (as the service does),
// or on none (as Google's emulator does).
const (
	TokensOnRows Tokens = iota
	NoTokens
)

const (
	defaultTargetBytes = 64 << 10
	defaultMaxBytes    = 1 << 20
)

func (m Messages) withDefaults() Messages {
	if m.TargetBytes == 0 {
		m.TargetBytes = defaultTargetBytes
	}
	if m.MaxBytes == 0 {
		m.MaxBytes = defaultMaxBytes
	}
	m.TargetBytes = min(m.TargetBytes, m.MaxBytes)
	return m
}

// Validate tells which option makes no sense.
func (o Options) Validate() error {
	for name, n := range map[string]int{
		"Partitions":                 o.Partitions,
		"ChangeStreams.Partitions":   o.ChangeStreams.Partitions,
		"ChangeStreams.ShuffleEvery": int(o.ChangeStreams.ShuffleEvery),
		"Messages.TargetBytes":       o.Messages.TargetBytes,
		"Messages.MaxBytes":          o.Messages.MaxBytes,
		"Messages.MaxRows":           o.Messages.MaxRows,
		"Messages.TokenEvery":        o.Messages.TokenEvery,
	} {
		if n < 0 {
			return fmt.Errorf("option %s is %d, must not be negative", name, n)
		}
	}
	return nil
}
