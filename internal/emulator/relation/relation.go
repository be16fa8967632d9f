// Package relation is the narrow seam between the embedded Spanner's SQL
// engine and the rest of it: what SQL may read, and what it compiles for the
// store. Neither side knows the other's insides.
package relation

import (
	"context"
	"iter"
	"time"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/value"
)

// Snapshot is a database as of one timestamp, safe for concurrent use.
type Snapshot interface {
	// Schema is the schema at the snapshot's timestamp.
	Schema() *catalog.Schema
	// Timestamp is what the snapshot is read at.
	Timestamp() time.Time
	// Now is the clock that CURRENT_TIMESTAMP follows.
	Now() time.Time
	// Table resolves a table name as written in FROM, one element per part:
	// user tables, tables in named schemas, INFORMATION_SCHEMA and SPANNER_SYS
	// views (for which Table.Virtual is true).
	Table(path ...string) (*catalog.Table, bool)
	// Scan gives rows in key order. Cells stand as Scan.Index says. A row is
	// valid until the next one; an error ends the sequence.
	Scan(ctx context.Context, s Scan) iter.Seq2[value.Row, error]
}

// Scan names rows of a table or of one of its indexes.
type Scan struct {
	Table *catalog.Table
	// Index is nil for the table itself, whose row then has the cell of column
	// c at c.Slot (value.Row.Cell answers NULL for a cell that is not there).
	// With an index the cells are those of Index.EntryColumns.
	Index *catalog.Index
	// Ranges restrict the scan to keys in any of them; they must be sorted and
	// not overlap. Nil means every row. Virtual tables ignore them.
	Ranges []KeyRange
}

// KeyRange is a half-open range [Start, End) of encoded keys: the key parts of
// the table, or of the index with its suffix, each encoded by value.AppendKey.
// An empty End is no bound. value.PrefixEnd gives the End of all keys with a
// prefix.
type KeyRange struct {
	Start, End []byte
}

// Param is a query parameter. Type is nil when the request did not give it:
// Wire then has to be read by the type its place in the query asks for.
type Param struct {
	Type *value.Type
	// Wire is the google.protobuf.Value as sent; value.FromWire checks it.
	Wire []byte
}

// Expression is a compiled expression over one row: a DEFAULT (whose cells are
// never asked for), a generated column or a CHECK. cell gives the canonical
// google.protobuf.Value of a column. Errors are gRPC statuses. An Expression is
// safe for concurrent use.
type Expression func(cell func(c *catalog.Column) []byte) (value.Value, error)

// Compiler compiles expressions and queries from DDL.
type Compiler interface {
	// View analyses a view's query against a schema and gives its columns.
	View(schema *catalog.Schema, v *catalog.View) ([]value.Field, error)

	// Compile prepares expr over the columns of t, a table of schema, its value
	// coerced to typ.
	Compile(schema *catalog.Schema, t *catalog.Table, expr *catalog.Expr, typ *value.Type) (Expression, error)
}
