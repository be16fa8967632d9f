package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/fault"
	"spanbulk/internal/format"
	"spanbulk/internal/keyset"
	"spanbulk/internal/reader"
	"spanbulk/internal/schema"
)

// exportTable is a table, or the result of a query, on its way to its files.
type exportTable struct {
	name   string
	table  *schema.Table // nil for a query
	source reader.Source
	format format.Format
}

// queryName stands for a query where a table's name would stand.
const queryName = "query"

// lookUp makes sources and formats from the schema as it was at the snapshot.
func (x *exporter) lookUp(ctx context.Context) error {
	catalog, err := schema.Open(ctx, x.conn, x.snapshot.ReadTimestamp)
	if err != nil {
		return err
	}
	x.dialect = catalog.Dialect()
	if x.plan.sql != "" {
		return x.addQuery(ctx)
	}
	names := x.plan.tables
	if len(names) == 0 {
		if names = catalog.BaseTables(); len(names) == 0 {
			return fault.New(codes.NotFound, "export", x.conn.Name().String(), "the database has no tables")
		}
	}
	seen := map[schema.Name]bool{}
	for _, name := range names {
		t, err := catalog.Table(ctx, name)
		if err != nil {
			return err
		}
		if seen[t.Name] {
			return usagef("--table names %s twice", t.Name)
		}
		seen[t.Name] = true
		if err := x.addTable(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

func (x *exporter) addQuery(ctx context.Context) error {
	source, err := x.query(ctx, x.plan.sql)
	if err != nil {
		return err
	}
	return x.add(ctx, exportTable{name: queryName, source: source})
}

// query makes the source of a statement, with the columns Spanner says it has.
func (x *exporter) query(ctx context.Context, sql string) (reader.Source, error) {
	source := reader.Source{SQL: sql}
	for _, p := range x.plan.params {
		kind, err := x.dialect.ParseType(p.kind)
		if err != nil {
			return source, usagef("--param %s: %w", p.name, err)
		}
		value, err := keyset.ParseParam(kind, p.value)
		if err != nil {
			return source, usagef("--param %s: %w", p.name, err)
		}
		if source.Params == nil {
			source.Params = &structpb.Struct{Fields: map[string]*structpb.Value{}}
			source.ParamTypes = map[string]*spannerpb.Type{}
		}
		source.Params.Fields[p.name], source.ParamTypes[p.name] = value, kind
	}
	var err error
	source.Fields, err = x.reader.Describe(ctx, x.snapshot, source)
	return source, err
}

func (x *exporter) addTable(ctx context.Context, t *schema.Table) error {
	columns, err := x.columns(t)
	if err != nil {
		return err
	}
	source, err := x.source(ctx, t, columns)
	if err != nil {
		return err
	}
	return x.add(ctx, exportTable{name: t.Name.String(), table: t, source: source})
}

func (x *exporter) add(ctx context.Context, t exportTable) error {
	var err error
	if t.format, err = x.format(ctx, t); err != nil {
		return fmt.Errorf("export %s: %w", t.name, err)
	}
	x.tables = append(x.tables, t)
	return nil
}

// format makes the format of a table's files. A jq program works on the plain
// lines, before they are compressed.
func (x *exporter) format(ctx context.Context, t exportTable) (format.Format, error) {
	options := x.plan.format
	options.Avro.Table = avroTable(t)
	if x.plan.program == nil {
		return format.New(t.source.Fields, options)
	}
	names := make([]string, len(t.source.Fields))
	for i, f := range t.source.Fields {
		names[i] = f.GetName()
	}
	options.Compression = format.None
	plain, err := format.New(t.source.Fields, options)
	if err != nil {
		return nil, err
	}
	return format.Compress(x.plan.program.Format(ctx, plain, names), x.plan.format.Compression)
}

// columns returns the columns to read: those that --columns names, else all
// that can be read and are not hidden.
func (x *exporter) columns(t *schema.Table) ([]schema.Column, error) {
	var columns []schema.Column
	for _, name := range x.plan.options.source.columns {
		name, err := schema.ParseIdent(strings.TrimSpace(name))
		if err != nil {
			return nil, usagef("--columns: %w", err)
		}
		c, err := schema.FindColumn(t, name)
		if err != nil {
			return nil, err
		}
		if !c.Readable() {
			return nil, usagef("--columns: column %s cannot be read: it is a %s", c.Name, c.SpannerType)
		}
		columns = append(columns, c)
	}
	if len(columns) > 0 {
		return columns, nil
	}
	for _, c := range t.Columns {
		if c.Readable() && !c.Hidden {
			columns = append(columns, c)
		}
	}
	if len(columns) == 0 {
		return nil, fault.New(codes.FailedPrecondition, "export", "table "+t.Name.String(), "it has no column that can be read")
	}
	return columns, nil
}

// source makes the read of a table, or a query where a read cannot do it: of a
// view, with a condition, or through an index that lacks columns.
func (x *exporter) source(ctx context.Context, t *schema.Table, columns []schema.Column) (reader.Source, error) {
	o := &x.plan.options.source
	source := reader.Source{Table: t.Name.String()}
	needsQuery, needsFields := t.View || o.where != "", false
	for _, c := range columns {
		source.Columns = append(source.Columns, c.Name)
		source.Fields = append(source.Fields, &spannerpb.StructType_Field{Name: c.Name, Type: c.Type})
		needsFields = needsFields || needsMetadata(c.Type)
	}
	index, isCovering, err := x.index(t, source.Columns)
	if err != nil {
		return source, err
	}
	if t.View && o.hasKeys() {
		return source, usagef("%s is a view and has no keys", t.Name)
	}
	if !isCovering && o.hasKeys() {
		return source, usagef("--key, --key-range and --key-prefix of an index need columns that the index holds")
	}
	if needsQuery || !isCovering {
		return x.query(ctx, selectSQL(t, index, source.Columns, o.where))
	}
	if source.Keys, err = x.keySet(t, index); err != nil {
		return source, err
	}
	if index != nil {
		source.Index = index.Name
	}
	if needsFields {
		described, err := x.query(ctx, selectSQL(t, nil, source.Columns, ""))
		if err != nil {
			return source, err
		}
		source.Fields = described.Fields
	}
	return source, nil
}

// needsMetadata says that only a result's metadata tells the true type: the
// schema's text does not tell messages from enums, and may hold a type that is
// newer than this program.
func needsMetadata(t *spannerpb.Type) bool {
	for t.GetCode() == spannerpb.TypeCode_ARRAY {
		t = t.GetArrayElementType()
	}
	return t == nil || t.GetCode() == spannerpb.TypeCode_PROTO
}

// index returns the index of --index, nil if there is none, and whether a read
// of it has all the columns.
func (x *exporter) index(t *schema.Table, columns []string) (index *schema.Index, isCovering bool, err error) {
	o := &x.plan.options.source
	if o.index == "" {
		return nil, true, nil
	}
	name, err := schema.ParseName(o.index)
	if err != nil {
		return nil, false, usagef("--index: %w", err)
	}
	found, err := schema.FindIndex(t, name.Name)
	if err != nil {
		return nil, false, err
	}
	object := "index " + found.Name + " of table " + t.Name.String()
	if found.State != schema.IndexReadWrite {
		return nil, false, fault.New(codes.FailedPrecondition, "read", object, "it is not READ_WRITE but "+found.State).
			WithHint("wait until it is filled, or read the table without --index")
	}
	for _, c := range columns {
		if t.Covers(found, c) {
			continue
		}
		if !o.backJoin {
			return nil, false, fault.New(codes.InvalidArgument, "read", object, "it does not hold column "+c).
				WithHint("name other --columns, or give --allow-back-join to fetch it from the table")
		}
		return &found, false, nil
	}
	return &found, true, nil
}

// selectSQL is the query of a table's columns, root-partitionable if the
// condition is.
func selectSQL(t *schema.Table, index *schema.Index, columns []string, where string) string {
	quoted := make([]string, len(columns))
	for i, c := range columns {
		quoted[i] = t.Dialect.Quote(c)
	}
	sql := "SELECT " + strings.Join(quoted, ", ") + " FROM " + t.Name.SQL(t.Dialect)
	switch {
	case index == nil:
	case t.Dialect == schema.PostgreSQL:
		sql += " /*@ FORCE_INDEX = " + t.Dialect.Quote(index.Name) + " */"
	default:
		sql += "@{FORCE_INDEX=" + t.Dialect.Quote(index.Name) + "}"
	}
	if where != "" {
		sql += " WHERE " + where
	}
	return sql
}

// keySet types the keys by the primary key, or by the index's key followed by
// what of the primary key it lacks. It is nil if no keys are given.
func (x *exporter) keySet(t *schema.Table, index *schema.Index) (*spannerpb.KeySet, error) {
	o := &x.plan.options.source
	if !o.hasKeys() {
		return nil, nil
	}
	columns := keyColumns(t, index)
	set := &spannerpb.KeySet{}
	for i, text := range o.keys {
		key, err := keyset.ParseKey(columns, text)
		if err != nil {
			return nil, errorOf("--key", i, len(o.keys), err)
		}
		set.Keys = append(set.Keys, key)
	}
	for i, text := range o.ranges {
		r, err := keyset.ParseRange(columns, text)
		if err != nil {
			return nil, errorOf("--key-range", i, len(o.ranges), err)
		}
		set.Ranges = append(set.Ranges, r)
	}
	for i, text := range o.prefixes {
		r, err := keyset.ParsePrefix(columns, text)
		if err != nil {
			return nil, errorOf("--key-prefix", i, len(o.prefixes), err)
		}
		set.Ranges = append(set.Ranges, r)
	}
	return set, nil
}

func keyColumns(t *schema.Table, index *schema.Index) []keyset.Column {
	var columns []keyset.Column
	seen := map[string]bool{}
	add := func(parts []schema.KeyPart) {
		for _, k := range parts {
			if c, _ := t.Column(k.Column); !seen[c.Name] {
				seen[c.Name] = true
				columns = append(columns, keyset.Column{Name: c.Name, Type: c.Type, Descending: k.Descending})
			}
		}
	}
	if index != nil {
		add(index.Key)
	}
	add(t.PrimaryKey)
	return columns
}

// partition asks for the partitions of one source.
func (x *exporter) partition(ctx context.Context, source reader.Source) (reader.Read, error) {
	if x.plan.options.source.noPartition {
		return reader.Whole(source)
	}
	read, err := x.reader.Partition(ctx, x.snapshot, source)
	if e, ok := errors.AsType[*fault.Error](err); ok && isNotPartitionable(e) {
		err = e.WithHint("take out ORDER BY, LIMIT, aggregates over the whole table, subqueries and joins, or give --no-partition to read it in one stream")
	}
	return read, err
}

// isNotPartitionable recognises Spanner's refusal to partition a query, which
// has no code of its own.
func isNotPartitionable(e *fault.Error) bool {
	return e.Code == codes.InvalidArgument &&
		(strings.Contains(e.Reason, "root partitionable") || strings.Contains(e.Reason, "root-partitionable"))
}
