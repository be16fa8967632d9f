package format

import (
	"fmt"

	"spanbulk/internal/wire"
)

// ParseOperation reads an operation in any of its usual spellings:
// insert-or-update, insertOrUpdate, INSERT_OR_UPDATE.
func ParseOperation[T ~string | ~[]byte](text T) (wire.Operation, bool) {
	// Only letters count, in any case; the longest word has 14 of them.
	var letters [16]byte
	n := 0
	for i := range len(text) {
		c := text[i] | 0x20
		switch {
		case text[i] == '-' || text[i] == '_':
			continue
		case c < 'a' || c > 'z' || n == len(letters):
			return 0, false
		}
		letters[n] = c
		n++
	}
	switch string(letters[:n]) {
	case "insertorupdate", "upsert":
		return wire.InsertOrUpdate, true
	case "insert":
		return wire.Insert, true
	case "update":
		return wire.Update, true
	case "replace":
		return wire.Replace, true
	case "delete":
		return wire.Delete, true
	}
	return 0, false
}

// Record is one record of an input, read and mapped to a table, or refused.
type Record struct {
	// Raw is the record as it stands in the input, without the end of its
	// line; for Avro the bytes of its datum.
	Raw []byte
	// Made says that Raw is not in the input: it is one of the JSON objects that
	// DecodeOptions.Transform made of the record.
	Made bool
	// Line is the line the record begins on, counted from 1; for Avro the
	// record's number.
	Line int64
	// Offset is where Raw begins, in bytes from the beginning of the chunk.
	Offset int

	// Target is nil if the record does not tell its table.
	Target    *Target
	Operation wire.Operation
	// Values are the values by column of the Target: nil where the record has
	// no such field, so that defaults and old values stand.
	Values []wire.Value
	// Range is set for the deletion of a range of keys; then there are no Values.
	Range *wire.KeyRange
	// Skip says that there is nothing to do: the row before an update.
	Skip bool
	// Err says why the record cannot be written; then nothing but Raw, Line and
	// Offset is to be relied on.
	Err *RecordError
}

// RecordError says why a record is refused. It never holds a value of it.
type RecordError struct {
	// Line is where the mistake is; it can be behind the first line of a record.
	Line int64
	// Byte is the place in the line, counted in bytes from 1; 0 where there is
	// none to tell, as in Avro.
	Byte int
	// Field names the column or the field; empty if the mistake is the
	// record's.
	Field  string
	Reason string
	// Cause is what DecodeOptions.Transform said, or the name in a CSV header. Its
	// text can hold values, and is not that of the RecordError.
	Cause error
	// Hint is what the user can do, if there is something to say.
	Hint string
}

func (e *RecordError) Error() string {
	if e.Field == "" {
		return e.Reason
	}
	return fmt.Sprintf("column %s: %s", e.Field, e.Reason)
}

// Unwrap returns Cause.
func (e *RecordError) Unwrap() error { return e.Cause }
