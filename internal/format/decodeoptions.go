package format

import (
	"errors"
	"fmt"

	"spanbulk/internal/wire"
)

// DefaultMaxRecordBytes bounds a record where DecodeOptions do not.
const DefaultMaxRecordBytes = 64 << 20

// DecodeOptions say how records become rows. One set serves all Decoders of a
// run.
type DecodeOptions struct {
	// TableField names the field that holds the table of each record. Resolve
	// finds the Target for a name, nil for that of no table; it is called by all
	// Decoders, once for each name. Its error ends Decode.
	TableField string
	Resolve    func(name string) (*Target, error)

	// Operation is that of records which do not name their own in
	// OperationField; InsertOrUpdate if 0.
	Operation      wire.Operation
	OperationField string
	// Changelog says that OperationField holds the kind of a change, INSERT,
	// UPDATE_BEFORE, UPDATE_AFTER or DELETE, and that records carry the metadata
	// of a change stream in fields that begin with two underscores.
	Changelog bool

	// Columns are the columns to write; empty for all.
	Columns []string
	// Rename has the columns that fields of other names stand for.
	Rename map[string]string
	// IgnoreUnknown passes over fields that are no columns instead of refusing
	// the record.
	IgnoreUnknown bool
	// MissingNull writes NULL to the columns that a record does not have.
	MissingNull bool
	// CommitTimestamps are the columns to fill with the time of the commit.
	CommitTimestamps []string

	// MaxRecordBytes bounds a record; DefaultMaxRecordBytes if 0.
	MaxRecordBytes int
	CSV            CSVInput

	// Transform, if set, makes records of each record: it appends their JSON to
	// dst, an object a line, and returns how many they are. What it is given is
	// the record as NDJSON has it, whatever the format of the input. It is
	// called by all Decoders at once. A *RecordError of its refuses the record,
	// any other ends Decode.
	Transform func(dst, record []byte) (out []byte, records int, err error)

	// OnGenerated, if set, is told of the generated columns that records have,
	// at least once for each.
	OnGenerated func(t *Target, column string)
}

func (o *DecodeOptions) operation() wire.Operation {
	if o.Operation == 0 {
		return wire.InsertOrUpdate
	}
	return o.Operation
}

func (o *DecodeOptions) maxRecordBytes() int {
	if o.MaxRecordBytes == 0 {
		return DefaultMaxRecordBytes
	}
	return o.MaxRecordBytes
}

// Validate reports options that contradict each other.
func (o *DecodeOptions) Validate() error {
	switch {
	case o.TableField != "" && o.Resolve == nil:
		return errors.New("a table field without tables to find")
	case o.Changelog && o.OperationField == "":
		return errors.New("a changelog without an operation field")
	case o.MaxRecordBytes < 0:
		return fmt.Errorf("max record bytes is %d, must be at least 1", o.MaxRecordBytes)
	}
	return o.CSV.Validate()
}
