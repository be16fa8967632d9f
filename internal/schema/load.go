package schema

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/database"
	"spanbulk/internal/fault"
)

// row is one row of an INFORMATION_SCHEMA view. Booleans come as BOOL or as
// YES/NO, TRUE/FALSE text, depending on view and dialect; text and boolean
// below take all of them.
type row []*structpb.Value

func (r row) text(i int) string {
	switch v := r[i].GetKind().(type) {
	case *structpb.Value_StringValue:
		return v.StringValue
	case *structpb.Value_BoolValue:
		return strconv.FormatBool(v.BoolValue)
	default:
		return ""
	}
}

func (r row) isNull(i int) bool {
	_, null := r[i].GetKind().(*structpb.Value_NullValue)
	return null
}

func (r row) boolean(i int) bool {
	switch strings.ToUpper(r.text(i)) {
	case "TRUE", "YES", "ALWAYS":
		return true
	default:
		return false
	}
}

// query selects columns of a view, of one table where params are given, and
// hands every row to each. The first query of a catalog fixes its timestamp.
// The statements keep to what both dialects share: upper-case view names are
// folded by PostgreSQL and case does not matter to GoogleSQL.
func (c *Catalog) query(ctx context.Context, columns []string, view, where string, params map[string]string, each func(row) error) error {
	sql := "SELECT " + strings.Join(columns, ", ") + " FROM INFORMATION_SCHEMA." + view
	if where != "" {
		sql += " WHERE " + where
	}
	result, err := c.querier.Query(ctx, database.Statement{SQL: sql, Params: params, At: c.at})
	if err != nil {
		return err
	}
	if c.at.IsZero() {
		c.at = result.ReadTimestamp
	}
	if len(result.Columns) != len(columns) {
		return fmt.Errorf("INFORMATION_SCHEMA.%s has %d columns where %d were selected", view, len(result.Columns), len(columns))
	}
	for _, r := range result.Rows {
		if err := each(row(r)); err != nil {
			return err
		}
	}
	return nil
}

func (c *Catalog) findDialect(ctx context.Context) error {
	err := c.query(ctx, []string{"OPTION_VALUE"}, "DATABASE_OPTIONS", "OPTION_NAME = 'database_dialect'", nil, func(r row) error {
		if r.text(0) == "POSTGRESQL" {
			c.dialect = PostgreSQL
		}
		return nil
	})
	return fault.Reading(err, "read the dialect of", "the database")
}

func (c *Catalog) listTables(ctx context.Context) error {
	columns := []string{"TABLE_SCHEMA", "TABLE_NAME", "TABLE_TYPE", "PARENT_TABLE_NAME", "ON_DELETE_ACTION"}
	err := c.query(ctx, columns, "TABLES", "", nil, func(r row) error {
		if isSystemSchema(r.text(0)) {
			return nil
		}
		l := listed{name: c.name(r.text(0), r.text(1)), view: r.text(2) == "VIEW", cascade: r.text(4) == "CASCADE"}
		if parent := r.text(3); parent != "" {
			l.parent = c.parentName(l.name.Schema, parent)
		}
		c.listed = append(c.listed, l)
		return nil
	})
	slices.SortFunc(c.listed, func(a, b listed) int { return strings.Compare(a.name.String(), b.name.String()) })
	return fault.Reading(err, "list the tables of", "the database")
}

func (c *Catalog) name(schema, name string) Name {
	if schema == c.dialect.DefaultSchema() {
		schema = ""
	}
	return Name{schema, name}
}

// parentName reads PARENT_TABLE_NAME, which names a table of the child's own
// schema, with or without that schema before it.
func (c *Catalog) parentName(schema, parent string) Name {
	if own, ok := strings.CutPrefix(parent, schema+"."); ok && schema != "" {
		parent = own
	}
	return Name{schema, parent}
}

func isSystemSchema(schema string) bool {
	switch strings.ToUpper(schema) {
	case "INFORMATION_SCHEMA", "SPANNER_SYS", "PG_CATALOG":
		return true
	default:
		return false
	}
}

// load reads the columns, keys and indexes of a listed table.
func (c *Catalog) load(ctx context.Context, l listed) (*Table, error) {
	t := &Table{Name: l.name, Dialect: c.dialect, View: l.view, Parent: l.parent, OnDeleteCascade: l.cascade}
	for _, step := range []func(context.Context, *Table) error{c.loadColumns, c.tellEnums, c.loadColumnOptions, c.loadIndexes, c.loadIndexColumns} {
		if err := step(ctx, t); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// ofTable returns the condition that picks one table's rows of a view.
func (c *Catalog) ofTable(t *Table) (where string, params map[string]string) {
	schema := t.Name.Schema
	if schema == "" {
		schema = c.dialect.DefaultSchema()
	}
	schemaParam, schemaName := c.dialect.Param(1)
	tableParam, tableName := c.dialect.Param(2)
	where = "TABLE_SCHEMA = " + schemaParam + " AND TABLE_NAME = " + tableParam
	return where, map[string]string{schemaName: schema, tableName: t.Name.Name}
}

func (c *Catalog) loadColumns(ctx context.Context, t *Table) error {
	columns := []string{"COLUMN_NAME", "ORDINAL_POSITION", "SPANNER_TYPE", "IS_NULLABLE", "IS_GENERATED", "IS_HIDDEN", "COLUMN_DEFAULT", "IS_IDENTITY",
		"GENERATION_EXPRESSION", "IS_STORED"}
	var positions []int64
	where, params := c.ofTable(t)
	err := c.query(ctx, columns, "COLUMNS", where, params, func(r row) error {
		position, err := strconv.ParseInt(r.text(1), 10, 64)
		if err != nil {
			return fmt.Errorf("column %s has no ordinal position: %w", r.text(0), err)
		}
		at, _ := slices.BinarySearch(positions, position)
		positions = slices.Insert(positions, at, position)
		t.Columns = slices.Insert(t.Columns, at, c.column(r))
		return nil
	})
	if err == nil && len(t.Columns) == 0 {
		err = fmt.Errorf("no column of it is visible to this account")
	}
	return err
}

func (c *Catalog) column(r row) Column {
	col := Column{
		Name:        r.text(0),
		SpannerType: r.text(2),
		NotNull:     r.text(3) == "NO",
		Generated:   r.boolean(4),
		Hidden:      r.boolean(5),
		HasDefault:  !r.isNull(6) || r.boolean(7),
		Default:     r.text(6),
		Generation:  r.text(8),
		Stored:      r.boolean(9),
		// PostgreSQL has a type of its own for it instead of an option.
		CommitTimestamp: r.text(2) == "spanner.commit_timestamp",
	}
	// A type this version does not know stays nil: the column may not be used.
	col.Type, _ = c.dialect.ParseType(col.SpannerType)
	return col
}

func (c *Catalog) loadColumnOptions(ctx context.Context, t *Table) error {
	where, params := c.ofTable(t)
	columns := []string{"COLUMN_NAME", "OPTION_NAME", "OPTION_VALUE"}
	return c.query(ctx, columns, "COLUMN_OPTIONS", where, params, func(r row) error {
		if r.text(1) != "allow_commit_timestamp" || !r.boolean(2) {
			return nil
		}
		for i := range t.Columns {
			if t.Columns[i].Name == r.text(0) {
				t.Columns[i].CommitTimestamp = true
			}
		}
		return nil
	})
}

// primaryKey is both name and type of the primary key among the indexes.
const primaryKey = "PRIMARY_KEY"

func (c *Catalog) loadIndexes(ctx context.Context, t *Table) error {
	where, params := c.ofTable(t)
	columns := []string{"INDEX_NAME", "INDEX_TYPE", "IS_UNIQUE", "IS_NULL_FILTERED", "INDEX_STATE", "SPANNER_IS_MANAGED"}
	err := c.query(ctx, columns, "INDEXES", where, params, func(r row) error {
		if r.text(1) == primaryKey {
			return nil
		}
		t.Indexes = append(t.Indexes, Index{
			Name: r.text(0), Type: r.text(1), Unique: r.boolean(2), NullFiltered: r.boolean(3), State: r.text(4), Managed: r.boolean(5),
		})
		return nil
	})
	slices.SortFunc(t.Indexes, func(a, b Index) int { return strings.Compare(a.Name, b.Name) })
	return err
}

// indexColumn is a row of INDEX_COLUMNS. Position 0 is a STORING column, whose
// ORDINAL_POSITION is NULL.
type indexColumn struct {
	position int64
	part     KeyPart
}

func (c *Catalog) loadIndexColumns(ctx context.Context, t *Table) error {
	where, params := c.ofTable(t)
	columns := []string{"INDEX_NAME", "COLUMN_NAME", "ORDINAL_POSITION", "COLUMN_ORDERING"}
	byIndex := map[string][]indexColumn{}
	err := c.query(ctx, columns, "INDEX_COLUMNS", where, params, func(r row) error {
		col := indexColumn{part: c.keyPart(r.text(1), r.text(3))}
		if !r.isNull(2) {
			var err error
			if col.position, err = strconv.ParseInt(r.text(2), 10, 64); err != nil {
				return fmt.Errorf("index %s: %w", r.text(0), err)
			}
		}
		byIndex[r.text(0)] = append(byIndex[r.text(0)], col)
		return nil
	})
	t.PrimaryKey, _ = splitIndexColumns(byIndex[primaryKey])
	for i := range t.Indexes {
		t.Indexes[i].Key, t.Indexes[i].Storing = splitIndexColumns(byIndex[t.Indexes[i].Name])
	}
	return err
}

// keyPart reads COLUMN_ORDERING, which has the place of NULL only where it is not
// the dialect's own: ASC, DESC, and in PostgreSQL ASC NULLS FIRST, DESC NULLS LAST.
func (c *Catalog) keyPart(column, ordering string) KeyPart {
	part := KeyPart{Column: column, Descending: strings.HasPrefix(ordering, "DESC"), NullHighest: c.dialect == PostgreSQL}
	switch {
	case strings.HasSuffix(ordering, "NULLS FIRST"):
		part.NullHighest = part.Descending
	case strings.HasSuffix(ordering, "NULLS LAST"):
		part.NullHighest = !part.Descending
	}
	return part
}

func splitIndexColumns(columns []indexColumn) (key []KeyPart, storing []string) {
	slices.SortStableFunc(columns, func(a, b indexColumn) int { return int(a.position - b.position) })
	for _, col := range columns {
		if col.position == 0 {
			storing = append(storing, col.part.Column)
		} else {
			key = append(key, col.part)
		}
	}
	return key, storing
}
