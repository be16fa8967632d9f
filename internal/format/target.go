package format

import (
	"fmt"
	"slices"
	"strings"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
)

// Target is a table as decoders see it: the columns that the fields of records
// become. It is immutable and serves any number of Decoders.
type Target struct {
	name     string
	columns  []TargetColumn
	key      []int
	foldCase bool
	decoders []valueDecoder // by column
}

// TargetColumn is what a decoder must know of a column.
type TargetColumn struct {
	Name string
	Type *spannerpb.Type // nil: a type that cannot be written
	// Generated columns are passed over where a record has them: Spanner
	// computes them.
	Generated bool
	// Filled columns get a value from Spanner where a record has none: a
	// default or an identity.
	Filled bool
	// CommitTimestamp says that the column takes spanner.commit_timestamp().
	CommitTimestamp bool
}

// TargetTable describes the table of a Target.
type TargetTable struct {
	Name    string
	Columns []TargetColumn
	// Key has the positions of the primary key's columns, in key order.
	Key []int
	// ExactNames says that names differ where only their case does, as in
	// PostgreSQL.
	ExactNames bool
	// JSONText says that JSON columns stand in JSON records as strings that hold
	// the text, as ValueOptions.JSON "string" writes them.
	JSONText bool
}

// NewTarget chooses the functions that read the values of each column.
func NewTarget(t TargetTable) *Target {
	target := &Target{
		name: t.Name, columns: t.Columns, key: t.Key, foldCase: !t.ExactNames,
		decoders: make([]valueDecoder, len(t.Columns)),
	}
	for i, c := range t.Columns {
		target.decoders[i] = newValueDecoder(c.Type, c.CommitTimestamp, t.JSONText)
	}
	return target
}

// Name is the table's name.
func (t *Target) Name() string { return t.name }

// find returns the position of the column that name means, or -1.
func (t *Target) find(name string) int {
	for i := range t.columns {
		if t.columns[i].Name == name {
			return i
		}
	}
	if !t.foldCase {
		return -1
	}
	return slices.IndexFunc(t.columns, func(c TargetColumn) bool { return strings.EqualFold(c.Name, name) })
}

func (t *Target) isKey(column int) bool { return slices.Contains(t.key, column) }

// label names a column in an error: "Total (NUMERIC)".
func (t *Target) label(column int) string {
	c := t.columns[column]
	if c.Type == nil {
		return c.Name
	}
	return fmt.Sprintf("%s (%s)", c.Name, TypeName(c.Type))
}
