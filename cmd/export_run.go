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
	"spanbulk/internal/keyset"
	"spanbulk/internal/output"
	"spanbulk/internal/reader"
	"spanbulk/internal/schema"
	"spanbulk/internal/transform"
)

// exporter is one running export.
type exporter struct {
	app      *app
	plan     *exportPlan
	conn     *database.Conn
	reader   *reader.Reader
	snapshot reader.Snapshot
	catalog  *schema.Catalog
	dialect  schema.Dialect
	params   map[string]keyset.Param // by name
	tables   []exportTable
	google   bool // the output is a directory that Google's import reads, too
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
	a.warnAhead(p.options.snapshot.parsed)
	if x.snapshot, err = r.Begin(ctx, p.options.snapshot.parsed); err != nil {
		return err
	}
	s.Export.SnapshotTimestamp = &x.snapshot.ReadTimestamp
	if err := x.lookUp(ctx); err != nil {
		return err
	}
	if p.options.dryRun {
		return x.dryRun(ctx)
	}
	return x.write(ctx, s)
}

// planReads asks for the partitions of everything and tells what came of it.
func (x *exporter) planReads(ctx context.Context) (*reader.Plan, error) {
	plan := &reader.Plan{Snapshot: x.snapshot}
	for _, t := range x.tables {
		read, err := x.partition(ctx, t.source)
		if err != nil {
			return nil, err
		}
		x.app.log.Debug("partitioned", "source", t.source.Name(), "partitions", len(read.Partitions))
		plan.Reads = append(plan.Reads, read)
	}
	x.tellPlan(plan)
	return plan, nil
}

// tellPlan logs the plan, with a warning if it has fewer partitions than are to
// be read at once and the user cares: Spanner need not follow the hints.
func (x *exporter) tellPlan(plan *reader.Plan) {
	parallelism := x.plan.reader.Parallelism
	x.app.log.Info("plan", "snapshot", x.snapshot.ReadTimestamp.Format(time.RFC3339Nano), "tables", len(plan.Reads), "partitions", plan.Partitions(), "parallelism", parallelism)
	isAskedFor := x.app.given("parallelism") || x.app.given("max-partitions") || x.app.given("partition-size-bytes")
	if x.plan.options.source.noPartition {
		x.app.log.Warn("--no-partition: reading in one stream, without parallelism")
	} else if n := plan.Partitions(); n < parallelism && isAskedFor {
		x.app.log.Warn("Spanner made fewer partitions than --parallelism", "partitions", n, "parallelism", parallelism)
	}
}

// dryRun tells what would be read.
func (x *exporter) dryRun(ctx context.Context) error {
	plan, err := x.planReads(ctx)
	if err != nil {
		return err
	}
	x.plan.progress.Partitions.Store(int64(plan.Partitions()))
	for _, read := range plan.Reads {
		_, err := fmt.Fprintf(x.app.console, "%s at %s: %s%d partitions; columns %s\n", read.Source.Name(),
			x.snapshot.ReadTimestamp.Format(time.RFC3339Nano), describeKeys(read.Source.Keys), len(read.Partitions), describeColumns(x.dialect, read.Source.Fields))
		if err != nil {
			return err
		}
	}
	return nil
}

// describeKeys counts what a read is confined to; it tells no keys.
func describeKeys(set *spannerpb.KeySet) string {
	if set == nil {
		return ""
	}
	return fmt.Sprintf("%d keys and %d ranges, ", len(set.GetKeys()), len(set.GetRanges()))
}

func describeColumns(d schema.Dialect, fields []*spannerpb.StructType_Field) string {
	columns := make([]string, len(fields))
	for i, f := range fields {
		columns[i] = f.GetName() + " " + d.TypeName(f.GetType())
	}
	return strings.Join(columns, ", ")
}

// write reads the rows and writes them. The output is opened before Spanner is
// asked for partitions: that there is no place for the rows is known early.
func (x *exporter) write(ctx context.Context, s *summary) error {
	options := x.plan.output
	for _, t := range x.tables {
		options.Tables = append(options.Tables, describeTable(x.dialect, t))
	}
	if x.google {
		options.GoogleDialect = x.dialect.OptionValue()
		var err error
		if options.NamedSchemas, err = x.namedSchemas(); err != nil {
			return err
		}
	}
	set, err := output.Open(ctx, options)
	if err != nil {
		return outputFault(err)
	}
	plan, err := x.planReads(ctx)
	if err == nil {
		err = x.run(ctx, plan, set)
	}
	if err != nil {
		return errors.Join(err, set.Abort())
	}
	err = set.Commit(ctx, output.Manifest{
		Database:          x.conn.Name().String(),
		SnapshotTimestamp: x.snapshot.ReadTimestamp,
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
	err := jqFault(x.reader.Run(ctx, plan, &exportOutput{tables: x.tables, set: set}))
	if e, ok := errors.AsType[*fault.Error](err); ok && isExpired(e) {
		return e.WithHint(expiredHint)
	}
	return err
}

// isExpired recognises Spanner's refusal to read at a timestamp that it keeps no
// versions for any more, which has no code of its own.
func isExpired(e *fault.Error) bool {
	return e.Code == codes.FailedPrecondition && strings.Contains(e.Reason, "exceeded the maximum timestamp staleness")
}

const expiredHint = "take a later snapshot; Spanner keeps old rows for the database's version_retention_period, one hour unless set"

// jqFault keeps apart what a jq program says of the record it failed on.
func jqFault(err error) error {
	e, ok := errors.AsType[*transform.Error](err)
	if !ok {
		return err
	}
	return &fault.Error{Code: codes.InvalidArgument, Op: "run --jq", Reason: e.Error(), Detail: e.Detail(), Err: err}
}

func describeTable(d schema.Dialect, t exportTable) output.Table {
	described := output.Table{Name: t.name, Header: t.format.Header()}
	for _, f := range t.source.Fields {
		kind := d.TypeName(f.GetType())
		if c, ok := t.column(f.GetName()); ok {
			kind = c.SpannerType
		}
		described.Columns = append(described.Columns, output.Column{Name: f.GetName(), Type: kind})
	}
	if t.table == nil {
		return described
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

// column returns what the schema knows of a column; nothing for a query.
func (t exportTable) column(name string) (schema.Column, bool) {
	if t.table == nil {
		return schema.Column{}, false
	}
	return t.table.Column(name)
}

// avroTable tells the Avro schema what Google's own import wants to know of a
// table. What only Avro needs of the schema is read only then.
func (x *exporter) avroTable(ctx context.Context, t exportTable) (format.AvroTable, error) {
	if t.table == nil || x.plan.format.Kind != format.Avro {
		return format.AvroTable{}, nil
	}
	definition, err := x.catalog.Definition(ctx, t.table)
	if err != nil {
		return format.AvroTable{}, err
	}
	described := format.AvroTable{
		Name: t.name, PostgreSQL: t.table.Dialect == schema.PostgreSQL,
		Parent: t.table.Parent.String(), OnDeleteCascade: t.table.OnDeleteCascade,
		InterleaveIn: definition.InterleaveIn,
		Indexes:      t.table.IndexDDL(definition), ForeignKeys: t.table.ForeignKeyDDL(definition), Checks: t.table.CheckDDL(definition),
	}
	for _, k := range t.table.PrimaryKey {
		described.PrimaryKey = append(described.PrimaryKey, format.AvroKeyPart{Column: k.Column, Descending: k.Descending})
	}
	for _, f := range t.source.Fields {
		c, _ := t.column(f.GetName())
		column := format.AvroTableColumn{
			SQLType: c.SpannerType, NotNull: c.NotNull, Hidden: c.Hidden,
			GenerationExpression: c.Generation, Stored: c.Stored, DefaultExpression: c.Default,
		}
		if c.CommitTimestamp && t.table.Dialect == schema.GoogleSQL {
			column.Options = []string{"allow_commit_timestamp=TRUE"}
		}
		if id, ok := definition.Identities[c.Name]; ok {
			column.Identity = (*format.AvroIdentity)(&id)
		}
		described.Columns = append(described.Columns, column)
	}
	return described, nil
}

// namedSchemas are the schemas of the tables, in their order. One that has the
// name of a table is left out: an export of Google's has one thing of a name.
func (x *exporter) namedSchemas() ([]output.NamedSchema, error) {
	var schemas []output.NamedSchema
	done := map[string]bool{"": true}
	for _, t := range x.tables {
		done[t.name] = true
	}
	for _, t := range x.tables {
		name := t.table.Name.Schema
		if done[name] {
			continue
		}
		done[name] = true
		file, err := format.AvroNamedSchema(name)
		if err != nil {
			return nil, fmt.Errorf("export schema %s: %w", name, err)
		}
		schemas = append(schemas, output.NamedSchema{Name: name, File: file})
	}
	return schemas, nil
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
	return o.set.Partition(o.tables[read].name, partition)
}
