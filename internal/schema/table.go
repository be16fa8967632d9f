package schema

import (
	"slices"
	"strings"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
)

// Table is a table or view as it was at the catalog's timestamp. Its slices
// must not be modified: the catalog hands the same Table out again.
type Table struct {
	Name    Name
	Dialect Dialect
	// View says that there is no data of its own: it can be queried, not read,
	// and has no key.
	View bool
	// Parent is the table this one is interleaved in, zero if none.
	Parent Name
	// OnDeleteCascade says that deleting a parent row deletes the child rows.
	OnDeleteCascade bool

	// Columns are in the order of the table's definition.
	Columns []Column
	// PrimaryKey has the key columns in key order. A table may have none: it
	// holds at most one row.
	PrimaryKey []KeyPart
	// Indexes are the secondary indexes, by name.
	Indexes []Index
}

// Column is one column of a table.
type Column struct {
	Name string
	// Type is the parsed SpannerType, nil if this version of spanbulk does not
	// know it.
	Type *spannerpb.Type
	// SpannerType is the type as the schema spells it, with lengths.
	SpannerType string
	NotNull     bool
	// Generated columns are computed by Spanner and cannot be written.
	Generated bool
	// Generation is the expression of a generated column, without parentheses.
	Generation string
	// Stored says that a generated column is stored rather than computed anew
	// on every read.
	Stored bool
	// Hidden columns are left out of SELECT *.
	Hidden bool
	// HasDefault says that Spanner fills the column when it is not written:
	// a DEFAULT, or an identity column.
	HasDefault bool
	// Default is the expression of a DEFAULT; identity columns have none.
	Default string
	// CommitTimestamp says that the column takes spanner.commit_timestamp().
	CommitTimestamp bool
}

// Readable reports whether a read or query can return the column: TOKENLIST
// columns exist for search indexes only.
func (c Column) Readable() bool {
	spelled := strings.ToUpper(c.SpannerType)
	return spelled != "TOKENLIST" && spelled != "SPANNER.TOKENLIST"
}

// KeyPart is one column of a primary or index key.
type KeyPart struct {
	Column     string
	Descending bool
	// NullHighest says that NULL is above all other values in the order of the
	// key, as it is in PostgreSQL by default; else it is below them.
	NullHighest bool
}

// IndexReadWrite is the state of an index that can be read: not one that is
// still being filled.
const IndexReadWrite = "READ_WRITE"

// PlainIndex is the type of an index that can be read like a table.
const PlainIndex = "INDEX"

// Index is a secondary index.
type Index struct {
	Name string
	// Type is PlainIndex, or another word for search and vector indexes.
	Type         string
	Unique       bool
	NullFiltered bool
	// Managed indexes back a foreign key and belong to Spanner.
	Managed bool
	// State is READ_WRITE when the index is whole, else the stage of its
	// filling, e.g. WRITE_ONLY.
	State string
	// Key are the declared key columns in order. The primary-key columns that
	// Spanner appends are not among them.
	Key []KeyPart
	// Storing are the columns of the STORING clause.
	Storing []string
}

// IndexName is the whole name of an index of the table: it is in the table's
// schema.
func (t *Table) IndexName(x Index) Name { return Name{Schema: t.Name.Schema, Name: x.Name} }

// Column returns the column called name, compared as the dialect compares.
func (t *Table) Column(name string) (Column, bool) {
	i := slices.IndexFunc(t.Columns, func(c Column) bool { return t.Dialect.SameName(c.Name, name) })
	if i < 0 {
		return Column{}, false
	}
	return t.Columns[i], true
}

// ColumnNames returns the names of all columns in table order.
func (t *Table) ColumnNames() []string {
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = c.Name
	}
	return names
}

// IsKey reports whether the column called name is part of the primary key.
func (t *Table) IsKey(name string) bool {
	return slices.ContainsFunc(t.PrimaryKey, func(k KeyPart) bool { return t.Dialect.SameName(k.Column, name) })
}

// Covers reports whether a read through x can return column: a key column of
// the index or of its table, or a stored one.
func (t *Table) Covers(x Index, column string) bool { return t.IsKey(column) || t.Declares(x, column) }

// Declares reports whether column is among those that x was made with: of its own
// key, or stored.
func (t *Table) Declares(x Index, column string) bool {
	same := func(name string) bool { return t.Dialect.SameName(name, column) }
	return slices.ContainsFunc(x.Storing, same) ||
		slices.ContainsFunc(x.Key, func(k KeyPart) bool { return same(k.Column) })
}
