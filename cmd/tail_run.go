package cmd

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc/codes"

	"spanbulk/internal/cdc"
	"spanbulk/internal/database"
	"spanbulk/internal/fault"
	"spanbulk/internal/format"
	"spanbulk/internal/pipe"
	"spanbulk/internal/schema"
)

// tail does the work of the command.
func (a *app) tail(ctx context.Context, p *tailPlan) (err error) {
	conn, err := a.connect(ctx, p.database)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	source, err := cdc.Open(ctx, conn, p.stream, p.source)
	if err != nil {
		return err
	}
	source.Stream().Log(a.log, p.tail.AbsentRetention)
	if err := p.settleTable(ctx, conn, source.Stream()); err != nil {
		return err
	}
	closeState, err := p.settleState(source.Stream())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeState()) }()
	if p.program != nil {
		p.tail.Transform = func(f format.Format) format.Format { return p.program.Format(ctx, f, nil) }
	}
	engine, err := cdc.New(source, p.tail)
	if err != nil {
		return err
	}
	out, closeOutput, err := a.tailOutput(ctx, p)
	if err != nil {
		return err
	}
	display := a.startProgress(p.displayMode(a), func() progressState {
		return progressState{rows: p.tail.Progress.RecordsWritten.Load(), bytes: p.tail.Progress.Bytes.Load()}
	})
	err = jqFault(engine.Run(ctx, out))
	display.stop(a)
	return errors.Join(err, closeOutput(), p.writeGraph())
}

// displayMode keeps a bar off a terminal that the records go to.
func (p *tailPlan) displayMode(a *app) progressMode {
	mode := p.options.report.progress
	if mode == progressAuto && p.options.output.isStdout() && a.streams.OutIsTerminal {
		return progressNever
	}
	return mode
}

// settleTable has the filters compare names as the dialect does, and finds the
// table of --table as Spanner reports it, and the columns of its rows where the
// format needs them.
func (p *tailPlan) settleTable(ctx context.Context, conn *database.Conn, stream *cdc.Stream) error {
	p.tail.Dialect = stream.Dialect
	p.tail.Filters.AnyCase = stream.Dialect == schema.GoogleSQL
	if p.table == (schema.Name{}) {
		return nil
	}
	catalog, err := schema.Open(ctx, conn, time.Time{})
	if err != nil {
		return fault.Reading(err, "read the schema of", conn.Name().String())
	}
	table, err := catalog.Table(ctx, p.table)
	if err != nil {
		return err
	}
	p.tail.Filters.Table = table.Name.String()
	if p.format.Kind == format.NDJSON {
		return nil
	}
	p.tail.File = p.format
	// The blocks of a file that is gone on with must be parted as before.
	sum := sha256.Sum256([]byte(stream.Database + "\x00" + stream.Name + "\x00" + table.Name.String()))
	copy(p.tail.File.Avro.Sync[:], sum[:])
	p.tail.Columns, err = p.rowColumns(table, stream)
	return err
}

// rowColumns are the columns of a table that the stream has and no filter takes
// away, in table order.
func (p *tailPlan) rowColumns(t *schema.Table, stream *cdc.Stream) ([]*spannerpb.StructType_Field, error) {
	var fields []*spannerpb.StructType_Field
	for _, c := range t.Columns {
		isKey := false
		for _, k := range t.PrimaryKey {
			isKey = isKey || k.Column == c.Name
		}
		if !isKey {
			keep, err := p.tail.Filters.KeepsColumn(t.Name.String(), c.Name)
			if err != nil {
				return nil, err
			}
			if !keep || c.Generated || !stream.Watches(t.Name.String(), c.Name) {
				continue
			}
		}
		if c.Type == nil {
			return nil, fault.New(codes.Unimplemented, "write", fmt.Sprintf("column %s of table %s", c.Name, t.Name), "its type "+c.SpannerType+" is not known").
				WithHint("leave it out with --column-exclude-list, or write NDJSON")
		}
		fields = append(fields, &spannerpb.StructType_Field{Name: c.Name, Type: c.Type})
	}
	return fields, nil
}

// settleState reads the state that an earlier run has left, and has this one
// leave its own.
func (p *tailPlan) settleState(stream *cdc.Stream) (closeState func() error, err error) {
	path := p.options.stream.state
	if path == "" {
		return func() error { return nil }, nil
	}
	file, saved, err := cdc.OpenState(path, stream.Database, stream.Name)
	if err != nil {
		return nil, err
	}
	p.tail.State, p.tail.Save = saved, file.Save
	return file.Close, nil
}

// tailOutput opens the output. A file that the state covers is gone on with.
func (a *app) tailOutput(ctx context.Context, p *tailPlan) (out cdc.Output, closeOutput func() error, err error) {
	o := &p.options.output
	if o.isStdout() {
		return &cdc.StreamOutput{W: a.streams.Out, Name: "standard output"}, func() error { return nil }, nil
	}
	if info, err := os.Stat(o.path); err == nil && !info.Mode().IsRegular() {
		return openDevice(ctx, o.path)
	}
	var mark json.RawMessage
	if p.tail.State != nil {
		mark = p.tail.State.Output
	}
	file, err := cdc.OpenFile(o.path, mark, o.overwrite)
	if err != nil {
		return nil, nil, err
	}
	return file, file.Close, nil
}

// openDevice opens a pipe or a device.
func openDevice(ctx context.Context, path string) (cdc.Output, func() error, error) {
	f, err := pipe.OpenWriter(ctx, path)
	if err != nil {
		return nil, nil, fmt.Errorf("open %s: %w", path, configReason(err))
	}
	return &cdc.StreamOutput{W: f, Name: path}, f.Close, nil
}

// writeGraph writes the graph of --partitions-dot.
func (p *tailPlan) writeGraph() error {
	path := p.options.stream.dot
	if path == "" {
		return nil
	}
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, configReason(err))
	}
	if err := errors.Join(p.tail.Graph.WriteDOT(f), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, configReason(err))
	}
	return nil
}
