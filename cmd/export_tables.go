package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"

	"spanbulk/internal/fault"
	"spanbulk/internal/format"
	"spanbulk/internal/output"
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
	if e, ok := errors.AsType[*fault.Error](err); ok && isExpired(e) {
		return fault.New(e.Code, "read", "the snapshot", e.Reason).WithHint(expiredHint)
	}
	if err != nil {
		return err
	}
	x.catalog, x.dialect = catalog, catalog.Dialect()
	if err := x.bindParams(); err != nil {
		return err
	}
	if x.plan.sql != "" {
		return x.addQuery(ctx)
	}
	names := x.plan.tables
	if len(names) == 0 {
		if names = catalog.BaseTables(); len(names) == 0 {
			return fault.New(codes.NotFound, "export", x.conn.Name().String(), "the database has no tables")
		}
	}
	x.google = x.plan.format.Kind == format.Avro && output.IsDirectory(x.plan.output.Path, len(names))
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
	if o := x.plan.format; o.Kind != format.CSV || !o.CSV.NoHeader {
		for i, f := range source.Fields {
			if f.GetName() == "" {
				return fault.New(codes.InvalidArgument, "export", "query", fmt.Sprintf("column %d has no name", i+1)).WithHint("give it one with AS")
			}
		}
	}
	return x.add(ctx, exportTable{name: queryName, source: source})
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
	x.warnEmptyLines(t)
	if x.google {
		for _, reason := range x.plan.format.Avro.GoogleMisreads(t.source.Fields) {
			x.app.log.Warn("Google's import would not read these files as spanbulk's does", "table", t.name, "why", reason)
		}
	}
	x.tables = append(x.tables, t)
	return nil
}

// warnEmptyLines tells of CSV records that other readers take for no records.
func (x *exporter) warnEmptyLines(t exportTable) {
	if x.plan.format.Kind != format.CSV || x.plan.format.CSV.Null != "" || len(t.source.Fields) != 1 {
		return
	}
	if t.table != nil {
		if c, ok := t.table.Column(t.source.Fields[0].GetName()); ok && c.NotNull {
			return
		}
	}
	x.app.log.Warn("a NULL in CSV of one column is an empty line, which spanbulk reads back but many readers skip; --csv-null writes a marker", "table", t.name)
}

// format makes the format of a table's files. A jq program works on the plain
// lines, before they are compressed.
func (x *exporter) format(ctx context.Context, t exportTable) (format.Format, error) {
	options := x.plan.format
	var err error
	if options.Avro.Table, err = x.avroTable(ctx, t); err != nil {
		return nil, err
	}
	options.Avro.Google = x.google
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
		if slices.ContainsFunc(columns, func(named schema.Column) bool { return named.Name == c.Name }) {
			return nil, usagef("--columns names %s twice", c.Name)
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
