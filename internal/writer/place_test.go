package writer_test

import (
	"strings"
	"testing"

	"cloud.google.com/go/spanner/admin/database/apiv1/databasepb"

	"spanbulk/internal/schema"
)

// place is where a model test has its tables: in a database of a dialect, in a
// named schema or the default one.
type place struct {
	dialect schema.Dialect
	schema  string
}

// inPlaces runs a test once in each place.
func inPlaces(t *testing.T, test func(t *testing.T, p place)) {
	for _, p := range []place{{schema.GoogleSQL, ""}, {schema.GoogleSQL, "select"}, {schema.PostgreSQL, ""}, {schema.PostgreSQL, "Sales"}} {
		t.Run(p.dialect.String()+"/"+p.schema, func(t *testing.T) { test(t, p) })
	}
}

func (p place) start(t *testing.T, ddl ...string) *fixture {
	t.Helper()
	if p.schema != "" {
		ddl = append([]string{"CREATE SCHEMA " + p.dialect.Quote(p.schema)}, ddl...)
	}
	dialect := databasepb.DatabaseDialect_GOOGLE_STANDARD_SQL
	if p.dialect == schema.PostgreSQL {
		dialect = databasepb.DatabaseDialect_POSTGRESQL
	}
	f := startIn(t, dialect, ddl...)
	f.schema = p.schema
	return f
}

func (p place) name(table string) string {
	return schema.Name{Schema: p.schema, Name: table}.SQL(p.dialect)
}

// create is the DDL of a table with a key of integers and a Name, interleaved in
// a parent if one is named.
func (p place) create(table, parent string, keys ...string) string {
	integer, text, end, within := " INT64", " STRING(MAX)", ") PRIMARY KEY (", ", INTERLEAVE IN PARENT "
	if p.dialect == schema.PostgreSQL {
		integer, text, end, within = " bigint", " varchar", ", PRIMARY KEY (", " INTERLEAVE IN PARENT "
	}
	sql := "CREATE TABLE " + p.name(table) + " ("
	for _, k := range keys {
		sql += p.dialect.Quote(k) + integer + " NOT NULL, "
	}
	sql += p.dialect.Quote("Name") + text + end + p.list(keys) + ")"
	if p.dialect == schema.PostgreSQL {
		sql += ")"
	}
	if parent != "" {
		sql += within + p.name(parent) + " ON DELETE CASCADE"
	}
	return sql
}

func (p place) list(columns []string) string {
	quoted := make([]string, len(columns))
	for i, c := range columns {
		quoted[i] = p.dialect.Quote(c)
	}
	return strings.Join(quoted, ", ")
}

// rows is the query of a table's rows as fixture.rows takes it: the parts of the
// key with slashes between, and the Name.
func (p place) rows(table string, keys ...string) string {
	text := "STRING"
	if p.dialect == schema.PostgreSQL {
		text = "varchar"
	}
	parts := make([]string, len(keys))
	for i, k := range keys {
		parts[i] = "CAST(" + p.dialect.Quote(k) + " AS " + text + ")"
	}
	key := parts[0]
	if len(parts) > 1 {
		key = "CONCAT(" + strings.Join(parts, ", '/', ") + ")"
	}
	return "SELECT " + key + ", " + p.dialect.Quote("Name") + " FROM " + p.name(table)
}
