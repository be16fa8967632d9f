package format

import (
	"fmt"
	"slices"
	"strings"

	"spanbulk/internal/schema"
)

// Target is a table as decoders see it: the columns that the fields of records
// become. It is immutable and serves any number of Decoders.
type Target struct {
	table    *schema.Table
	key      []int          // positions of the key's columns, in key order
	decoders []valueDecoder // by column
}

// NewTarget chooses the functions that read the values of each column of t.
// jsonText says that JSON columns stand in JSON records as strings that hold the
// text, as ValueOptions.JSON "string" writes them.
func NewTarget(t *schema.Table, jsonText bool) *Target {
	target := &Target{table: t, decoders: make([]valueDecoder, len(t.Columns))}
	for i, c := range t.Columns {
		target.decoders[i] = newValueDecoder(c.Type, c.CommitTimestamp, jsonText)
	}
	for _, k := range t.PrimaryKey {
		if i := target.find(k.Column); i >= 0 {
			target.key = append(target.key, i)
		}
	}
	return target
}

// Table is what the schema says of the table.
func (t *Target) Table() *schema.Table { return t.table }

func (t *Target) columns() []schema.Column { return t.table.Columns }

// find returns the position of the column that name means, or -1.
func (t *Target) find(name string) int {
	columns := t.columns()
	for i := range columns {
		if columns[i].Name == name {
			return i
		}
	}
	return slices.IndexFunc(columns, func(c schema.Column) bool { return t.table.Dialect.SameName(c.Name, name) })
}

// meant is find for a name that a user gave and SQL might have folded.
func (t *Target) meant(name string) int {
	if i := t.find(name); i >= 0 {
		return i
	}
	return t.find(strings.ToLower(name))
}

func (t *Target) isKey(column int) bool { return slices.Contains(t.key, column) }

// label names a column in an error: "Total (NUMERIC)".
func (t *Target) label(column int) string {
	c := t.columns()[column]
	if c.Type == nil {
		return c.Name
	}
	return fmt.Sprintf("%s (%s)", c.Name, t.table.Dialect.TypeName(c.Type))
}
