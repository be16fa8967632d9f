package infoschema

import (
	"slices"
	"strings"
	"sync"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/value"
)

// publicSchema is PostgreSQL's name for the default schema.
const publicSchema = "public"

// postgreSQLViews are all views of the PostgreSQL dialect by qualified name, in
// lower case; they never change. Most are GoogleSQL's under lower-case names:
// what the rows have for a default schema, a catalog and a boolean is respelled.
var postgreSQLViews = sync.OnceValue(func() map[string]*view {
	out := make(map[string]*view)
	own := postgreSQLDefinitions()
	for full, v := range views() {
		full = strings.ToLower(full)
		if _, different := own[full]; different {
			continue
		}
		columns := make([]*catalog.Column, len(v.table.Columns))
		for i, c := range v.table.Columns {
			columns[i] = &catalog.Column{Name: strings.ToLower(c.Name), Type: c.Type}
			if c.Type == value.BoolType {
				columns[i].Type = value.StringType
			}
		}
		out[full] = &view{table: catalog.NewVirtualTable(full, columns), fill: v.fill}
	}
	for full, d := range own {
		out[full] = &view{table: catalog.NewVirtualTable(full, postgreSQLColumns(d.columns)), fill: d.fill}
	}
	return out
})

func postgreSQLColumns(spec string) []*catalog.Column {
	columns := parseColumns(spec)
	for _, c := range columns {
		c.NotNull = false
	}
	return columns
}

// respell makes a cell of GoogleSQL's one of PostgreSQL's: a schema or catalog
// without name, a boolean.
func (f *filler) respell(column string, cell any) any {
	switch c := cell.(type) {
	case bool:
		return yesNo(c)
	case string:
		if c != "" {
			return cell
		}
		switch {
		case strings.HasSuffix(column, "catalog"), column == "catalog_name":
			return f.schema.Database
		case strings.HasSuffix(column, "_schema"), column == "schema_name", column == "schema":
			return publicSchema
		}
	}
	return cell
}

// postgreSQLDefinitions are the views that are not GoogleSQL's.
func postgreSQLDefinitions() map[string]definition {
	const table = "table_catalog, table_schema, table_name"
	return map[string]definition{
		"information_schema.schemata": {columns: "catalog_name, schema_name, schema_owner, default_character_set_catalog, default_character_set_schema, " +
			"default_character_set_name, sql_path, effective_timestamp INT64", fill: postgreSQLSchemata},
		"information_schema.database_options": {columns: "catalog_name, schema_name, option_name, option_type, option_value", fill: postgreSQLDatabaseOptions},
		"information_schema.tables": {columns: table + ", table_type, self_referencing_column_name, reference_generation, user_defined_type_catalog, " +
			"user_defined_type_schema, user_defined_type_name, is_insertable_into, is_typed, commit_action, parent_table_name, on_delete_action, " +
			"spanner_state, interleave_type, row_deletion_policy_expression", fill: postgreSQLTables},
		"information_schema.columns": {columns: postgreSQLColumnColumns, fill: postgreSQLColumnRows},
		"information_schema.column_options": {columns: table + ", column_name, option_name, option_value, option_type",
			fill: postgreSQLColumnOptions},
		"information_schema.indexes": {columns: table + ", index_name, index_type, parent_table_name, is_unique, is_null_filtered, index_state, " +
			"spanner_is_managed, filter", fill: postgreSQLIndexes},
		"information_schema.index_columns": {columns: table + ", index_name, index_type, column_name, ordinal_position INT64, column_ordering, is_nullable, spanner_type",
			fill: postgreSQLIndexColumns},
		"information_schema.change_stream_options": {columns: "change_stream_catalog, change_stream_schema, change_stream_name, option_name, option_type, option_value",
			fill: postgreSQLStreamOptions},
		"information_schema.sequences": {columns: "sequence_catalog, sequence_schema, sequence_name, data_type", fill: sequences},
	}
}

func postgreSQLSchemata(f *filler) {
	row := func(name string) { f.emit("", name, "spanner_admin", nil, nil, nil, nil, nil) }
	for _, name := range []string{"information_schema", "pg_catalog", publicSchema, "spanner_sys"} {
		row(name)
	}
	for _, n := range f.schema.NamedSchemas {
		row(n)
	}
}

func postgreSQLDatabaseOptions(f *filler) {
	f.emit("", "", "database_dialect", "character varying", "POSTGRESQL")
	for _, o := range f.schema.Options {
		f.emit("", "", o.Name, postgreSQLOptionType(o), catalog.Unquote(o.Value))
	}
}

func postgreSQLOptionType(o catalog.Option) string {
	switch optionType(o) {
	case "BOOL":
		return "boolean"
	case "INT64":
		return "bigint"
	}
	return "character varying"
}

func postgreSQLStreamOptions(f *filler) {
	for _, c := range f.schema.ChangeStreams {
		for _, o := range c.Options {
			f.emit("", "", c.Name, o.Name, postgreSQLOptionType(o), catalog.Unquote(o.Value))
		}
	}
}

func postgreSQLTables(f *filler) {
	for _, t := range f.schema.Tables {
		var policy, action, interleave any
		if t.RowDeletionPolicy != nil {
			policy = t.RowDeletionPolicy.PostgreSQL()
		}
		switch t.Interleave {
		case catalog.InParent:
			action, interleave = t.OnDelete.String(), "IN PARENT"
		case catalog.InLocality:
			interleave = "IN"
		}
		f.emit("", t.SchemaName(), t.LocalName(), "BASE TABLE", nil, nil, nil, nil, nil, "YES", "NO", nil,
			orNull(localName(t.Parent)), action, "COMMITTED", interleave, policy)
	}
	for _, t := range slices.Concat(f.viewTables(), f.system) {
		f.emit("", t.SchemaName(), t.LocalName(), "VIEW", nil, nil, nil, nil, nil, "NO", "NO", nil, nil, nil, nil, nil, nil)
	}
}

func postgreSQLColumnOptions(f *filler) {
	for _, t := range f.schema.Tables {
		for _, c := range t.Columns {
			if c.AllowCommitTimestamp {
				f.emit("", t.SchemaName(), t.LocalName(), c.Name, "allow_commit_timestamp", "TRUE", "boolean")
			}
		}
	}
}

func postgreSQLIndexes(f *filler) {
	for _, t := range f.schema.Tables {
		f.emit("", t.SchemaName(), t.LocalName(), primaryKey, primaryKey, "", true, false, nil, false, nil)
		for _, x := range t.Indexes {
			var filter any
			if text := x.PostgreSQLFilter(t); text != "" {
				filter = text
			}
			f.emit("", t.SchemaName(), t.LocalName(), localName(x.Name), "INDEX", localName(x.InterleaveIn), x.Unique, x.NullFiltered, "READ_WRITE", x.Managed, filter)
		}
	}
}

func postgreSQLIndexColumns(f *filler) {
	row := func(t *catalog.Table, index, kind string, c *catalog.Column, position, order any, nullable bool) {
		f.emit("", t.SchemaName(), t.LocalName(), index, kind, c.Name, position, order, yesNo(nullable), c.PostgreSQLType())
	}
	for _, t := range f.schema.Tables {
		for i, k := range t.PrimaryKey {
			row(t, primaryKey, primaryKey, t.Columns[k.Column], int64(i+1), "ASC", !t.Columns[k.Column].NotNull)
		}
		for _, x := range t.Indexes {
			for i, k := range x.Key {
				c := t.Columns[k.Column]
				row(t, localName(x.Name), "INDEX", c, int64(i+1), k.PostgreSQLOrder(), !c.NotNull && !x.NullFiltered)
			}
			for _, n := range x.Storing {
				row(t, localName(x.Name), "INDEX", t.Columns[n], nil, nil, !t.Columns[n].NotNull)
			}
		}
	}
}
