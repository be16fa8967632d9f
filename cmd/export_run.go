package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc/codes"

	"spanbulk/internal/database"
	"spanbulk/internal/fault"
	"spanbulk/internal/format"
	"spanbulk/internal/output"
	"spanbulk/internal/reader"
	"spanbulk/internal/schema"
	"spanbulk/internal/transform"
)

// exportTable is one table on its way to its files.
type exportTable struct {
	table  *schema.Table
	source reader.Source
	format format.Format
}

// exporter is one running export.
type exporter struct {
	app    *app
	plan   *exportPlan
	conn   *database.Conn
	reader *reader.Reader
	tables []exportTable
}

func (a *app) export(ctx context.Context, p *exportPlan, s *summary) (err error) {
	conn, err := a.connect(ctx, p.database)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	r, err := reader.New(conn, p.reader)
	if err != nil {
		return err
	}
	x := &exporter{app: a, plan: p, conn: conn, reader: r}
	snapshot, err := r.Begin(ctx, p.options.snapshot.parsed)
	if err != nil {
		return err
	}
	s.Export.SnapshotTimestamp = &snapshot.ReadTimestamp
	if err := x.lookUpTables(ctx, snapshot); err != nil {
		return err
	}
	if p.options.dryRun {
		return x.dryRun(ctx, snapshot)
	}
	return x.write(ctx, snapshot, s)
}

// lookUpTables makes the sources and formats from the schema as it was at the
// snapshot.
func (x *exporter) lookUpTables(ctx context.Context, snapshot reader.Snapshot) error {
	catalog, err := schema.Open(ctx, x.conn, snapshot.ReadTimestamp)
	if err != nil {
		return err
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
			return fault.New(codes.InvalidArgument, "export", "table "+t.Name.String(), "--table names it twice")
		}
		seen[t.Name] = true
		if err := x.addTable(ctx, snapshot, t); err != nil {
			return err
		}
	}
	return nil
}

func (x *exporter) addTable(ctx context.Context, snapshot reader.Snapshot, t *schema.Table) error {
	columns, err := x.columns(t)
	if err != nil {
		return err
	}
	source, err := x.source(ctx, snapshot, t, columns)
	if err != nil {
		return err
	}
	f, err := x.format(ctx, t, source.Fields)
	if err != nil {
		return fmt.Errorf("export table %s: %w", t.Name, err)
	}
	x.tables = append(x.tables, exportTable{table: t, source: source, format: f})
	return nil
}

// format makes the format of a table's files. A jq program works on the plain
// lines, before they are compressed.
func (x *exporter) format(ctx context.Context, t *schema.Table, fields []*spannerpb.StructType_Field) (format.Format, error) {
	options := x.plan.format
	options.Avro.Table = avroTable(t, fields)
	if x.plan.program == nil {
		return format.New(fields, options)
	}
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.GetName()
	}
	options.Compression = format.None
	plain, err := format.New(fields, options)
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
			return nil, fault.New(codes.InvalidArgument, "export", "table "+t.Name.String(), "--columns: "+err.Error())
		}
		c, err := schema.FindColumn(t, name)
		if err != nil {
			return nil, err
		}
		if !c.Readable() {
			return nil, fault.New(codes.InvalidArgument, "export", fmt.Sprintf("column %s of table %s", c.Name, t.Name),
				"a "+c.SpannerType+" column cannot be read")
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
	return columns, nil
}

// source makes the read of a table, or the query of a view, which has no rows
// of its own to read.
func (x *exporter) source(ctx context.Context, snapshot reader.Snapshot, t *schema.Table, columns []schema.Column) (reader.Source, error) {
	source := reader.Source{Table: t.Name.String()}
	describe := t.View
	quoted := make([]string, len(columns))
	for i, c := range columns {
		source.Columns = append(source.Columns, c.Name)
		source.Fields = append(source.Fields, &spannerpb.StructType_Field{Name: c.Name, Type: c.Type})
		quoted[i] = t.Dialect.Quote(c.Name)
		// The schema's text does not tell messages from enums, and may hold a
		// type that is newer than this program; a result's metadata is exact.
		describe = describe || needsMetadata(c.Type)
	}
	if !describe {
		return source, nil
	}
	query := reader.Source{SQL: "SELECT " + strings.Join(quoted, ", ") + " FROM " + t.Name.SQL(t.Dialect)}
	fields, err := x.reader.Describe(ctx, snapshot, query)
	if err != nil {
		return source, err
	}
	source.Fields, query.Fields = fields, fields
	if t.View {
		return query, nil
	}
	return source, nil
}

func needsMetadata(t *spannerpb.Type) bool {
	for t.GetCode() == spannerpb.TypeCode_ARRAY {
		t = t.GetArrayElementType()
	}
	return t == nil || t.GetCode() == spannerpb.TypeCode_PROTO
}

// partition asks for the partitions of every table and tells what came of it.
func (x *exporter) partition(ctx context.Context, snapshot reader.Snapshot) (*reader.Plan, error) {
	plan := &reader.Plan{Snapshot: snapshot}
	for _, t := range x.tables {
		read, err := x.reader.Partition(ctx, snapshot, t.source)
		if err != nil {
			return nil, err
		}
		x.app.log.Debug("partitioned", "table", t.table.Name.String(), "partitions", len(read.Partitions))
		plan.Reads = append(plan.Reads, read)
	}
	parallelism := x.plan.reader.Parallelism
	x.app.log.Info("plan", "snapshot", snapshot.ReadTimestamp.Format(time.RFC3339Nano), "tables", len(plan.Reads), "partitions", plan.Partitions(), "parallelism", parallelism)
	if n := plan.Partitions(); n < parallelism && x.app.given("parallelism") {
		x.app.log.Warn("Spanner made fewer partitions than --parallelism", "partitions", n, "parallelism", parallelism)
	}
	return plan, nil
}

// dryRun tells what would be read.
func (x *exporter) dryRun(ctx context.Context, snapshot reader.Snapshot) error {
	plan, err := x.partition(ctx, snapshot)
	if err != nil {
		return err
	}
	x.plan.progress.Partitions.Store(int64(plan.Partitions()))
	for i, read := range plan.Reads {
		columns := make([]string, len(read.Source.Fields))
		for j, f := range read.Source.Fields {
			columns[j] = f.GetName() + " " + format.TypeName(f.GetType())
		}
		_, err := fmt.Fprintf(x.app.console, "%s at %s: %d partitions; columns %s\n", x.tables[i].source.Name(),
			snapshot.ReadTimestamp.Format(time.RFC3339Nano), len(read.Partitions), strings.Join(columns, ", "))
		if err != nil {
			return err
		}
	}
	return nil
}

// write reads the rows and writes them. The output is opened before Spanner is
// asked for partitions: that there is no place for the rows is known early.
func (x *exporter) write(ctx context.Context, snapshot reader.Snapshot, s *summary) error {
	options := x.plan.output
	for _, t := range x.tables {
		options.Tables = append(options.Tables, x.describeTable(t))
	}
	set, err := output.Open(options)
	if err != nil {
		return outputFault(err)
	}
	plan, err := x.partition(ctx, snapshot)
	if err == nil {
		err = x.run(ctx, plan, set)
	}
	if err != nil {
		return errors.Join(err, set.Abort())
	}
	err = set.Commit(ctx, output.Manifest{
		Database:          x.conn.Name().String(),
		SnapshotTimestamp: snapshot.ReadTimestamp,
		Format:            string(x.plan.format.Kind),
		Compression:       string(x.plan.format.Compression),
	})
	if err != nil {
		return outputFault(err)
	}
	s.Export.Files = len(set.Files())
	return nil
}

func (x *exporter) run(ctx context.Context, plan *reader.Plan, set *output.Set) error {
	p := x.plan.progress
	display := x.app.startProgress(x.plan.options.report.progress, func() progressState {
		return progressState{
			done: p.PartitionsDone.Load(), total: p.Partitions.Load(), part: "partitions",
			rows: p.Records.Load(), bytes: p.Bytes.Load(),
		}
	})
	defer display.stop(x.app)
	return jqFault(x.reader.Run(ctx, plan, &exportOutput{tables: x.tables, set: set}))
}

// jqFault keeps apart what a jq program says of the record it failed on.
func jqFault(err error) error {
	e, ok := errors.AsType[*transform.Error](err)
	if !ok {
		return err
	}
	return &fault.Error{Code: codes.InvalidArgument, Op: "run --jq", Reason: e.Error(), Detail: e.Cause.Error(), Err: err}
}

func (x *exporter) describeTable(t exportTable) output.Table {
	described := output.Table{Name: t.table.Name.String(), Header: t.format.Header()}
	for _, f := range t.source.Fields {
		kind := format.TypeName(f.GetType())
		if c, ok := t.table.Column(f.GetName()); ok {
			kind = c.SpannerType
		}
		described.Columns = append(described.Columns, output.Column{Name: f.GetName(), Type: kind})
	}
	for _, k := range t.table.PrimaryKey {
		order := "ASC"
		if k.Descending {
			order = "DESC"
		}
		described.PrimaryKey = append(described.PrimaryKey, output.KeyPart{Column: k.Column, Order: order})
	}
	return described
}

// avroTable tells the Avro schema what Google's own import wants to know of t.
func avroTable(t *schema.Table, fields []*spannerpb.StructType_Field) format.AvroTable {
	described := format.AvroTable{
		Name: t.Name.String(), PostgreSQL: t.Dialect == schema.PostgreSQL,
		Parent: t.Parent.String(), OnDeleteCascade: t.OnDeleteCascade,
	}
	for _, k := range t.PrimaryKey {
		described.PrimaryKey = append(described.PrimaryKey, format.AvroKeyPart{Column: k.Column, Descending: k.Descending})
	}
	for _, f := range fields {
		c, _ := t.Column(f.GetName())
		described.Columns = append(described.Columns, format.AvroTableColumn{
			SQLType: c.SpannerType, NotNull: c.NotNull,
			GenerationExpression: c.Generation, Stored: c.Stored, DefaultExpression: c.Default,
		})
	}
	return described
}

// outputFault adds what the user can do about an output that is in the way.
func outputFault(err error) error {
	if !errors.Is(err, output.ErrExists) {
		return err
	}
	return &fault.Error{Code: codes.AlreadyExists, Op: "write", Reason: err.Error(), Err: err,
		Hint: "give another --output, or --overwrite to replace it"}
}

// exportOutput leads the reader's chunks to the files of their table.
type exportOutput struct {
	tables []exportTable
	set    *output.Set
}

var _ reader.Output = (*exportOutput)(nil)

func (o *exportOutput) Format(read int) format.Format { return o.tables[read].format }

func (o *exportOutput) Partition(read, partition int) (reader.ChunkWriter, error) {
	return o.set.Partition(o.tables[read].table.Name.String(), partition)
}
