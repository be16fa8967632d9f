// Package infoschema gives the INFORMATION_SCHEMA and SPANNER_SYS views of the
// embedded Spanner, computed from a catalog.Schema whenever they are read.
//
// The columns and the way rows are filled follow the service, in either
// dialect. The package knows nothing of SQL: a view is a virtual table and a
// sequence of rows, which the query engine scans like any other.
package infoschema

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/value"
)

// The names of the two schemas.
const (
	Name       = "INFORMATION_SCHEMA"
	SystemName = "SPANNER_SYS"
)

// view is one virtual table and how its rows are made.
type view struct {
	table *catalog.Table
	fill  func(*filler)
}

// filler makes rows of one view.
type filler struct {
	schema *catalog.Schema
	// columns are the names of the view's columns.
	columns []string
	// system are the views themselves, in order of name.
	system []*catalog.Table
	yield  func(value.Row) bool
	done   bool
	row    value.Row
}

// Table finds a view of the schema's dialect by the name of its schema and its
// own, in any case; in PostgreSQL, where names are folded, in lower case.
func Table(database *catalog.Schema, schema, name string) (*catalog.Table, bool) {
	v, ok := viewsOf(database)[qualified(database, schema, name)]
	if !ok {
		return nil, false
	}
	return v.table, true
}

// Rows computes the rows of a view that Table gave. A row is valid until the
// next one.
func Rows(schema *catalog.Schema, t *catalog.Table) iter.Seq[value.Row] {
	return func(yield func(value.Row) bool) {
		views := viewsOf(schema)
		v, ok := views[t.Name]
		if !ok {
			return
		}
		f := &filler{schema: schema, yield: yield}
		for _, c := range v.table.Columns {
			f.columns = append(f.columns, c.Name)
		}
		for _, name := range slices.Sorted(maps.Keys(views)) {
			f.system = append(f.system, views[name].table)
		}
		v.fill(f)
	}
}

func viewsOf(schema *catalog.Schema) map[string]*view {
	if schema.PostgreSQL {
		return postgreSQLViews()
	}
	return views()
}

func qualified(database *catalog.Schema, schema, name string) string {
	if database.PostgreSQL {
		return schema + "." + name
	}
	return strings.ToUpper(schema) + "." + strings.ToUpper(name)
}

// emit gives one row: nil, string, int64 or bool for each column.
func (f *filler) emit(cells ...any) {
	if f.done {
		return
	}
	f.row = f.row[:0]
	for i, c := range cells {
		if f.schema.PostgreSQL {
			c = f.respell(f.columns[i], c)
		}
		switch c := c.(type) {
		case string:
			f.row = f.row.AppendValue(value.String(c))
		case int64:
			f.row = f.row.AppendValue(value.Int64(c))
		case bool:
			f.row = f.row.AppendValue(value.Bool(c))
		case value.Value:
			f.row = f.row.AppendValue(c)
		default:
			f.row = f.row.AppendNull()
		}
	}
	f.done = !f.yield(f.row)
}

// views are all views by qualified upper-case name; they never change.
var views = sync.OnceValue(func() map[string]*view {
	out := make(map[string]*view)
	add := func(schema, name, columns string, fill func(*filler)) {
		full := schema + "." + name
		out[full] = &view{table: catalog.NewVirtualTable(full, parseColumns(columns)), fill: fill}
	}
	for _, d := range definitions() {
		add(Name, d.name, d.columns, d.fill)
	}
	add(SystemName, "SUPPORTED_OPTIMIZER_VERSIONS", "IS_DEFAULT BOOL, RELEASE_DATE DATE, VERSION INT64", optimizerVersions)
	add(SystemName, "TABLE_SIZES_STATS_1HOUR", "INTERVAL_END TIMESTAMP, TABLE_NAME, USED_BYTES INT64, USED_SSD_BYTES INT64, USED_HDD_BYTES INT64", func(*filler) {})
	return out
})

// definition is a view's name, its columns ("NAME [TYPE][?]", STRING unless
// said, ? for nullable), and its rows.
type definition struct {
	name, columns string
	fill          func(*filler)
}

func definitions() []definition {
	const (
		table      = "TABLE_CATALOG, TABLE_SCHEMA, TABLE_NAME"
		constraint = "CONSTRAINT_CATALOG, CONSTRAINT_SCHEMA, CONSTRAINT_NAME"
		stream     = "CHANGE_STREAM_CATALOG, CHANGE_STREAM_SCHEMA, CHANGE_STREAM_NAME"
		option     = "OPTION_NAME, OPTION_TYPE, OPTION_VALUE"
	)
	return []definition{
		{"SCHEMATA", "CATALOG_NAME, SCHEMA_NAME, EFFECTIVE_TIMESTAMP INT64?, SCHEMA_OWNER?", schemata},
		{"DATABASE_OPTIONS", "CATALOG_NAME, SCHEMA_NAME, " + option, databaseOptions},
		{"TABLES", table + ", PARENT_TABLE_NAME?, ON_DELETE_ACTION?, TABLE_TYPE, SPANNER_STATE?, INTERLEAVE_TYPE?, ROW_DELETION_POLICY_EXPRESSION?", tables},
		{"COLUMNS", table + ", COLUMN_NAME, ORDINAL_POSITION INT64, COLUMN_DEFAULT?, DATA_TYPE?, IS_NULLABLE?, SPANNER_TYPE?, IS_GENERATED, IS_HIDDEN BOOL, " +
			"GENERATION_EXPRESSION?, IS_STORED?, SPANNER_STATE?, IS_IDENTITY?, IDENTITY_GENERATION?, IDENTITY_KIND?, " +
			"IDENTITY_START_WITH_COUNTER?, IDENTITY_SKIP_RANGE_MIN?, IDENTITY_SKIP_RANGE_MAX?", columns},
		{"COLUMN_OPTIONS", table + ", COLUMN_NAME, " + option, columnOptions},
		{"COLUMN_COLUMN_USAGE", table + ", COLUMN_NAME, DEPENDENT_COLUMN", columnUsage},
		{"INDEXES", table + ", INDEX_NAME, INDEX_TYPE, PARENT_TABLE_NAME, IS_UNIQUE BOOL, IS_NULL_FILTERED BOOL, INDEX_STATE?, SPANNER_IS_MANAGED BOOL", indexes},
		{"INDEX_COLUMNS", table + ", INDEX_NAME, INDEX_TYPE, COLUMN_NAME, ORDINAL_POSITION INT64?, COLUMN_ORDERING?, IS_NULLABLE?, SPANNER_TYPE?", indexColumns},
		{"TABLE_CONSTRAINTS", constraint + ", " + table + ", CONSTRAINT_TYPE, IS_DEFERRABLE, INITIALLY_DEFERRED, ENFORCED", tableConstraints},
		{"KEY_COLUMN_USAGE", constraint + ", " + table + ", COLUMN_NAME, ORDINAL_POSITION INT64, POSITION_IN_UNIQUE_CONSTRAINT INT64?", keyColumnUsage},
		{"REFERENTIAL_CONSTRAINTS", constraint + ", UNIQUE_CONSTRAINT_CATALOG?, UNIQUE_CONSTRAINT_SCHEMA?, UNIQUE_CONSTRAINT_NAME?, MATCH_OPTION, UPDATE_RULE, DELETE_RULE, SPANNER_STATE", referentialConstraints},
		{"CHECK_CONSTRAINTS", constraint + ", CHECK_CLAUSE, SPANNER_STATE", checkConstraints},
		{"CONSTRAINT_TABLE_USAGE", table + ", " + constraint, constraintTableUsage},
		{"CONSTRAINT_COLUMN_USAGE", table + ", COLUMN_NAME, " + constraint, constraintColumnUsage},
		{"CHANGE_STREAMS", stream + ", ALL BOOL", changeStreams},
		{"CHANGE_STREAM_TABLES", stream + ", " + table + ", ALL_COLUMNS BOOL", changeStreamTables},
		{"CHANGE_STREAM_COLUMNS", stream + ", " + table + ", COLUMN_NAME", changeStreamColumns},
		{"CHANGE_STREAM_OPTIONS", stream + ", " + option, changeStreamOptions},
		{"SEQUENCES", "CATALOG, SCHEMA, NAME, DATA_TYPE", sequences},
		{"SEQUENCE_OPTIONS", "CATALOG, SCHEMA, NAME, " + option, sequenceOptions},
		{"SPANNER_STATISTICS", "CATALOG_NAME, SCHEMA_NAME, PACKAGE_NAME, ALLOW_GC BOOL", func(*filler) {}},
		{"VIEWS", table + ", VIEW_DEFINITION, SECURITY_TYPE", viewDefinitions},
	}
}

func parseColumns(spec string) []*catalog.Column {
	var out []*catalog.Column
	for def := range strings.SplitSeq(spec, ", ") {
		def, nullable := strings.CutSuffix(def, "?")
		name, typeName, typed := strings.Cut(def, " ")
		c := &catalog.Column{Name: name, Type: value.StringType, NotNull: !nullable}
		if typed {
			c.Type, _ = value.ScalarType(typeName)
		}
		out = append(out, c)
	}
	return out
}

// orNull is nil for an empty string.
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func yesNo(b bool) string {
	if b {
		return "YES"
	}
	return "NO"
}

func optimizerVersions(f *filler) {
	released, _ := value.ParseDate("2023-09-19")
	f.emit(true, released, int64(42))
}
