package catalog

import (
	"strings"
	"time"

	"github.com/cloudspannerecosystem/memefish/ast"

	"spanbulk/internal/emulator/value"
)

// Schema is one immutable version of a database's schema. Names are looked up
// without regard to case, qualified names as "schema.name".
type Schema struct {
	// PostgreSQL is the dialect of the DDL that Apply takes and DDL prints. In
	// it the case of names matters when they are looked up; names that differ in
	// nothing else cannot stand beside each other in either dialect.
	PostgreSQL bool
	// Database is the database's id, which is the name of the catalog in
	// PostgreSQL.
	Database string
	// Tables in order of creation.
	Tables []*Table
	// NamedSchemas in order of creation.
	NamedSchemas []string
	// ChangeStreams in order of creation.
	ChangeStreams []*ChangeStream
	// Sequences in order of creation.
	Sequences []*Sequence
	// Views in order of creation.
	Views []*View
	// ProtoBundle is nil if there is none.
	ProtoBundle *ProtoBundle
	// Options are the database's options as set, in order.
	Options []Option

	tables  map[string]*Table
	indexes map[string]indexRef
	// nextID numbers tables and indexes; numbers are never used again.
	nextID int
}

type indexRef struct {
	table *Table
	index *Index
}

// Table is an immutable table definition.
type Table struct {
	// ID names the table's storage. It stays through ALTER TABLE and is not
	// given again after DROP TABLE. Virtual tables have none.
	ID int
	// Name is spelled as declared and includes the named schema, if any.
	Name    string
	Columns []*Column
	// PrimaryKey may be empty: such a table holds at most one row.
	PrimaryKey []KeyPart
	// Parent is the name of the interleaved-in table, as declared there; "" for
	// a root.
	Parent      string
	Interleave  Interleave
	OnDelete    OnDelete
	Indexes     []*Index
	ForeignKeys []*ForeignKey
	Checks      []*Check
	// RowDeletionPolicy is nil when the table has none.
	RowDeletionPolicy *RowDeletionPolicy
	// Slots is the number of cells in a row written under this definition,
	// dropped columns included.
	Slots int
	// Virtual tables (INFORMATION_SCHEMA, SPANNER_SYS) exist for SQL alone.
	Virtual bool
	// exact tells that the case of column names matters, as in PostgreSQL.
	exact bool

	columns map[string]*Column
}

// Column is an immutable column definition.
type Column struct {
	Name string
	Type *value.Type
	// MaxLen is the n of STRING(n) or BYTES(n), also as an array's element; 0
	// is MAX.
	MaxLen  int64
	NotNull bool
	// Ordinal is the position in Table.Columns.
	Ordinal int
	// Slot is the cell of a stored row that holds the column. It differs from
	// Ordinal once a column before it has been dropped.
	Slot int
	// Default is the expression of DEFAULT (...), or nil.
	Default *Expr
	// OnUpdate is the expression of ON UPDATE (...), or nil.
	OnUpdate *Expr
	// Generated is the expression of AS (...), or nil.
	Generated *Expr
	// Stored tells that a generated column is kept rather than computed on read.
	Stored   bool
	Identity *Identity
	// AllowCommitTimestamp is the option of that name.
	AllowCommitTimestamp bool
	Hidden               bool
	// VectorLength is 0 unless declared as ARRAY<FLOAT32>(vector_length=>n).
	VectorLength int64
}

// Expr is an expression from DDL, parsed, with its text as written.
type Expr struct {
	Node ast.Expr
	// Text is the source between the outer parentheses.
	Text string
}

// IsPendingCommitTimestamp tells whether the expression is
// PENDING_COMMIT_TIMESTAMP() and nothing else, which only a commit can evaluate.
// The expression may be nil.
func (x *Expr) IsPendingCommitTimestamp() bool {
	if x == nil {
		return false
	}
	call, ok := x.Node.(*ast.CallExpr)
	return ok && len(call.Args) == 0 && strings.EqualFold(pathName(call.Func), "PENDING_COMMIT_TIMESTAMP")
}

// KeyPart is one column of a primary or index key.
type KeyPart struct {
	// Column is the ordinal in Table.Columns.
	Column int
	Desc   bool
	// NullsReversed tells that NULLs are at the other end than in GoogleSQL,
	// which takes NULL for the least of values.
	NullsReversed bool
}

// Order is how the part's values are ordered.
func (k KeyPart) Order() value.KeyOrder {
	return value.KeyOrder{Desc: k.Desc, NullsReversed: k.NullsReversed}
}

// Interleave says how a table hangs under its parent.
type Interleave uint8

// The kinds of interleaving: none, INTERLEAVE IN PARENT (the parent row must
// exist) and INTERLEAVE IN (locality alone).
const (
	NotInterleaved Interleave = iota
	InParent
	InLocality
)

// OnDelete is the action of ON DELETE for interleaving and foreign keys.
type OnDelete uint8

// The actions of ON DELETE.
const (
	NoAction OnDelete = iota
	Cascade
)

// Index is an immutable secondary index definition.
type Index struct {
	// ID names the index's storage, as Table.ID does.
	ID   int
	Name string
	// Table is the indexed table's name as declared.
	Table        string
	Unique       bool
	NullFiltered bool
	Key          []KeyPart
	// Suffix is the primary key parts that follow Key in an entry's key: those
	// whose columns Key lacks. They are not part of the key a reader gives.
	Suffix []KeyPart
	// Storing are the ordinals of the STORING columns.
	Storing []int
	// Where is the predicate as declared, or nil; NotNullColumns are the
	// ordinals it names in `c IS NOT NULL AND ...`.
	Where          *Expr
	NotNullColumns []int
	// InterleaveIn is the name of the table the index is interleaved in, or "".
	InterleaveIn string
	// Managed indexes back a foreign key and were not declared.
	Managed bool
}

// EntryColumns are the ordinals of the columns an index entry holds, in the
// order of its cells: key, primary key suffix, STORING.
func (x *Index) EntryColumns() []int {
	cols := make([]int, 0, len(x.Key)+len(x.Suffix)+len(x.Storing))
	for _, k := range x.Key {
		cols = append(cols, k.Column)
	}
	for _, k := range x.Suffix {
		cols = append(cols, k.Column)
	}
	return append(cols, x.Storing...)
}

// ForeignKey is an immutable foreign key definition.
type ForeignKey struct {
	Name string
	// Columns are ordinals in the referencing table.
	Columns []int
	// ReferencedTable and ReferencedColumns are names as declared there.
	ReferencedTable   string
	ReferencedColumns []string
	OnDelete          OnDelete
	// Enforced is false for NOT ENFORCED.
	Enforced bool
	// Generated tells that the name was not given in the DDL.
	Generated bool
}

// Check is a CHECK constraint.
type Check struct {
	Name string
	Expr *Expr
	// Generated tells that the name was not given in the DDL.
	Generated bool
}

// RowDeletionPolicy is ROW DELETION POLICY (OLDER_THAN(column, INTERVAL n DAY)).
type RowDeletionPolicy struct {
	Column string
	Days   int64
}

// Identity is GENERATED BY DEFAULT AS IDENTITY, or AUTO_INCREMENT.
type Identity struct {
	// Kind is BIT_REVERSED_POSITIVE, or "" when taken from the database's
	// default_sequence_kind.
	Kind string
	// StartWithCounter, SkipRangeMin and SkipRangeMax are nil when not given.
	StartWithCounter, SkipRangeMin, SkipRangeMax *int64
	AutoIncrement                                bool
}

// ChangeStream is a CREATE CHANGE STREAM object.
type ChangeStream struct {
	// ID tells the stream from every other, before and after it, and stays
	// through ALTER CHANGE STREAM.
	ID   int
	Name string
	// All is FOR ALL.
	All    bool
	Tables []WatchedTable
	// Options are those set, in order.
	Options []Option
}

// WatchedTable is one table of a change stream's FOR clause.
type WatchedTable struct {
	Table string
	// AllColumns is `FOR t`; otherwise Columns are the names listed in t(...).
	AllColumns bool
	Columns    []string
}

// Option is one entry of an OPTIONS clause.
type Option struct {
	Name string
	// Value is the literal as printed by DDL: 'text' quoted, true, 10.
	Value string
}

// Table finds a table by its name, qualified if it is in a named schema.
func (s *Schema) Table(name string) (*Table, bool) {
	t, ok := s.tables[Fold(name)]
	if ok && s.PostgreSQL && t.Name != name {
		return nil, false
	}
	return t, ok
}

// Index finds an index and its table by the index's name.
func (s *Schema) Index(name string) (*Table, *Index, bool) {
	r, ok := s.indexes[Fold(name)]
	if ok && s.PostgreSQL && r.index.Name != name {
		return nil, nil, false
	}
	return r.table, r.index, ok
}

// Children lists the tables interleaved in t, in either way.
func (s *Schema) Children(t *Table) []*Table {
	var out []*Table
	for _, c := range s.Tables {
		if c.Parent != "" && strings.EqualFold(c.Parent, t.Name) {
			out = append(out, c)
		}
	}
	return out
}

// ChangeStreamByFunction finds the change stream that a read function, such as
// READ_Singers, belongs to.
func (s *Schema) ChangeStreamByFunction(name string) (*ChangeStream, bool) {
	if len(name) < len(readFunctionPrefix) || !strings.EqualFold(name[:len(readFunctionPrefix)], readFunctionPrefix) {
		return nil, false
	}
	return s.ChangeStream(name[len(readFunctionPrefix):])
}

// ChangeStream finds a change stream by name.
func (s *Schema) ChangeStream(name string) (*ChangeStream, bool) {
	for _, c := range s.ChangeStreams {
		if c.Name == name || !s.PostgreSQL && strings.EqualFold(c.Name, name) {
			return c, true
		}
	}
	return nil, false
}

// Option is the literal a database option was set to.
func (s *Schema) Option(name string) (string, bool) {
	for _, o := range s.Options {
		if strings.EqualFold(o.Name, name) {
			return o.Value, true
		}
	}
	return "", false
}

// DefaultVersionRetention is the version_retention_period of a database that
// sets none.
const DefaultVersionRetention = time.Hour

// Column finds a column by name.
func (t *Table) Column(name string) (*Column, bool) {
	if c, ok := t.columns[name]; ok && (!t.exact || c.Name == name) {
		return c, true
	}
	c, ok := t.columns[Fold(name)]
	if ok && t.exact && c.Name != name {
		return nil, false
	}
	return c, ok
}

// Index finds one of the table's indexes by name.
func (t *Table) Index(name string) (*Index, bool) {
	for _, x := range t.Indexes {
		if strings.EqualFold(x.Name, name) {
			return x, true
		}
	}
	return nil, false
}

// SchemaName is the named schema the table is in, "" for the default one.
func (t *Table) SchemaName() string {
	schema, _ := splitName(t.Name)
	return schema
}

// LocalName is the table's name without its named schema.
func (t *Table) LocalName() string {
	_, name := splitName(t.Name)
	return name
}

// IsKey tells whether the column with this ordinal is part of the primary key.
func (t *Table) IsKey(ordinal int) bool {
	for _, k := range t.PrimaryKey {
		if k.Column == ordinal {
			return true
		}
	}
	return false
}

// NewVirtualTable makes a table without storage for INFORMATION_SCHEMA and
// SPANNER_SYS. It keeps the columns and numbers them.
func NewVirtualTable(name string, columns []*Column) *Table {
	t := &Table{Name: name, Virtual: true, Columns: columns}
	t.index()
	return t
}

// index numbers the columns and fills the name lookup.
func (t *Table) index() {
	t.columns = make(map[string]*Column, 2*len(t.Columns))
	for i, c := range t.Columns {
		c.Ordinal = i
		if t.Virtual {
			c.Slot = i
		}
		t.columns[Fold(c.Name)] = c
	}
	if t.Virtual {
		t.Slots = len(t.Columns)
	}
}

func splitName(full string) (schema, name string) {
	if i := strings.LastIndexByte(full, '.'); i >= 0 {
		return full[:i], full[i+1:]
	}
	return "", full
}
