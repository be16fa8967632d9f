package catalog

import (
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// CaptureType is the option value_capture_type of a change stream.
type CaptureType string

// The capture types.
const (
	OldAndNewValues    CaptureType = "OLD_AND_NEW_VALUES"
	NewValues          CaptureType = "NEW_VALUES"
	NewRow             CaptureType = "NEW_ROW"
	NewRowAndOldValues CaptureType = "NEW_ROW_AND_OLD_VALUES"
)

// PartitionMode is the option partition_mode of a change stream.
type PartitionMode string

// The partition modes: partitions whose key range never changes, and whose end
// names their children; and partitions that keys move in and out of.
const (
	ImmutableKeyRange PartitionMode = "IMMUTABLE_KEY_RANGE"
	MutableKeyRange   PartitionMode = "MUTABLE_KEY_RANGE"
)

// Retention of a change stream's records.
const (
	minStreamRetention = 24 * time.Hour
	maxStreamRetention = 30 * 24 * time.Hour
	// DefaultStreamRetention holds where retention_period is not set.
	DefaultStreamRetention = 7 * 24 * time.Hour
)

// readFunctionPrefix and a stream's name make the name of its read function.
const readFunctionPrefix = "READ_"

// Retention is how long records are kept.
func (c *ChangeStream) Retention() time.Duration {
	if d, ok := ParseDuration(c.text("retention_period")); ok {
		return d
	}
	return DefaultStreamRetention
}

// CaptureType says which values records hold.
func (c *ChangeStream) CaptureType() CaptureType {
	if t := c.text("value_capture_type"); t != "" {
		return CaptureType(t)
	}
	return OldAndNewValues
}

// PartitionMode says how the stream's partitions change.
func (c *ChangeStream) PartitionMode() PartitionMode {
	if m := c.text("partition_mode"); m != "" {
		return PartitionMode(m)
	}
	return ImmutableKeyRange
}

// Enabled tells whether a boolean option is true.
func (c *ChangeStream) Enabled(option string) bool {
	return strings.EqualFold(c.text(option), "true")
}

// text is the value of an option, "" where it is not set.
func (c *ChangeStream) text(option string) string {
	for _, o := range c.Options {
		if strings.EqualFold(o.Name, option) {
			return Unquote(o.Value)
		}
	}
	return ""
}

// Watches finds what the stream watches of a table, if anything.
func (c *ChangeStream) Watches(t *Table) (WatchedTable, bool) {
	if c.All {
		return WatchedTable{Table: t.Name, AllColumns: true}, true
	}
	for _, w := range c.Tables {
		if strings.EqualFold(w.Table, t.Name) {
			return w, true
		}
	}
	return WatchedTable{}, false
}

// Watched tells whether any change stream watches a table.
func (s *Schema) Watched(t *Table) bool {
	for _, c := range s.ChangeStreams {
		if _, ok := c.Watches(t); ok {
			return true
		}
	}
	return false
}

// Tracks tells whether the stream reports values of a column that is not part
// of the key: generated columns never, others as the FOR clause says.
func (c *ChangeStream) Tracks(t *Table, col *Column) bool {
	w, ok := c.Watches(t)
	if !ok || col.Generated != nil || t.IsKey(col.Ordinal) {
		return false
	}
	return w.AllColumns || containsFold(w.Columns, col.Name)
}

// checkStreamOptions checks names and values. A value of the wrong kind is a
// fault of the statement, one out of range is not.
func checkStreamOptions(opts []Option) error {
	for _, o := range opts {
		if err := checkStreamOption(strings.ToLower(o.Name), o); err != nil {
			return err
		}
	}
	return nil
}

func checkStreamOption(name string, o Option) error {
	text := Unquote(o.Value)
	isText := text != o.Value
	switch name {
	case "retention_period", "value_capture_type", "partition_mode":
		if o.Value != "" && !isText {
			return status.Errorf(codes.InvalidArgument, "Unexpected value for option: %s. Supported option values are strings and NULL.", o.Name)
		}
	case "exclude_ttl_deletes", "exclude_insert", "exclude_update", "exclude_delete", "allow_txn_exclusion":
		if o.Value != "" && o.Value != "true" && o.Value != "false" {
			return status.Errorf(codes.InvalidArgument, "Unexpected value for option: %s. Supported option values are booleans and NULL.", o.Name)
		}
		return nil
	default:
		return status.Errorf(codes.InvalidArgument, "Option: %s is unknown.", o.Name)
	}
	if o.Value == "" {
		return nil
	}
	return checkStreamText(name, text)
}

func checkStreamText(name, text string) error {
	switch name {
	case "retention_period":
		if d, ok := ParseDuration(text); !ok || d < minStreamRetention || d > maxStreamRetention {
			return status.Errorf(codes.FailedPrecondition, "Invalid retention_period: '%s' must be a value in the range [24h, 30d].", text)
		}
	case "value_capture_type":
		switch CaptureType(text) {
		case OldAndNewValues, NewValues, NewRow, NewRowAndOldValues:
		default:
			return status.Errorf(codes.FailedPrecondition, "Invalid value_capture_type: %s is not one of OLD_AND_NEW_VALUES, NEW_VALUES, NEW_ROW, NEW_ROW_AND_OLD_VALUES.", text)
		}
	case "partition_mode":
		switch PartitionMode(text) {
		case ImmutableKeyRange, MutableKeyRange:
		default:
			return status.Errorf(codes.FailedPrecondition, "Invalid partition_mode: %s is not one of IMMUTABLE_KEY_RANGE, MUTABLE_KEY_RANGE.", text)
		}
	}
	return nil
}
