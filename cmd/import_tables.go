package cmd

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"spanbulk/internal/fault"
	"spanbulk/internal/format"
	"spanbulk/internal/input"
	"spanbulk/internal/schema"
	"spanbulk/internal/writer"
)

// importTables are the tables that records go to. It is safe for concurrent use.
type importTables struct {
	catalog  *schema.Catalog
	jsonText bool
	// related says that records of several tables come, so that rows must wait
	// for those of the tables they are interleaved in.
	related bool

	mu      sync.Mutex
	tables  map[schema.Name]*importTable
	written map[*format.Target]*writer.Table

	fixed  *format.Target            // of --table
	byName map[string]*format.Target // of the names that directories have
}

type importTable struct {
	target *format.Target
	writer *writer.Table
}

// lookUp reads the schema and settles which input goes to which table.
func (x *importer) lookUp(ctx context.Context) error {
	catalog, err := schema.Open(ctx, x.conn, time.Time{})
	if err != nil {
		return err
	}
	x.catalog = catalog
	return x.settleTables(ctx)
}

func (x *importer) settleTables(ctx context.Context) error {
	o := x.plan.options
	t := &importTables{
		catalog: x.catalog, jsonText: o.format.json == "string",
		tables: map[schema.Name]*importTable{}, written: map[*format.Target]*writer.Table{}, byName: map[string]*format.Target{},
	}
	x.tables = t
	x.decode.OnGenerated = x.tellGenerated()
	if program := x.plan.program; program != nil {
		x.decode.Transform = func(dst, record []byte) ([]byte, int, error) { return program.Append(ctx, dst, record) }
	}
	names := input.Tables(x.files)
	switch {
	case x.decode.TableField != "":
		t.related = true
		x.decode.Resolve = func(name string) (*format.Target, error) { return t.resolve(ctx, name) }
		return nil
	case x.plan.table != schema.Name{}:
		return x.useTable(ctx, names)
	case o.failure.retry != "":
		t.related = true
		return nil
	case len(names) == 0 || slices.ContainsFunc(x.files, func(f *input.File) bool { return f.Table == "" }):
		return usagef("none of --table and --table-field is given, and the input does not tell its table")
	}
	return x.useDirectories(ctx, names)
}

// useTable leads everything to --table. Of a directory of several tables only
// that one's files are taken.
func (x *importer) useTable(ctx context.Context, names []string) error {
	target, err := x.tables.target(ctx, x.plan.table)
	if err != nil {
		return err
	}
	x.tables.fixed = target
	if len(names) > 1 {
		same := func(f *input.File) bool {
			name, err := schema.ParseName(f.Table)
			if err != nil {
				return false
			}
			resolved, err := x.catalog.Resolve(name)
			return err == nil && resolved == target.Table().Name
		}
		x.files = slices.DeleteFunc(x.files, func(f *input.File) bool { return !same(f) })
		if len(x.files) == 0 {
			return fault.New(codes.NotFound, "import", "table "+target.Table().Name.String(), "the input holds several tables and not this one")
		}
	}
	if err := x.decode.Check(target); err != nil {
		return fault.New(codes.NotFound, "import", "table "+target.Table().Name.String(), err.Error())
	}
	return nil
}

// useDirectories leads every file to the table it is of, parents before
// children.
func (x *importer) useDirectories(ctx context.Context, names []string) error {
	t := x.tables
	t.related = len(names) > 1
	order := map[schema.Name]int{}
	for i, name := range x.catalog.BaseTables() {
		order[name] = i
	}
	for _, name := range names {
		parsed, err := schema.ParseName(name)
		if err != nil {
			return fault.New(codes.InvalidArgument, "import", "table "+name, err.Error())
		}
		if t.byName[name], err = t.target(ctx, parsed); err != nil {
			return err
		}
		if len(names) == 1 {
			if err := x.decode.Check(t.byName[name]); err != nil {
				return fault.New(codes.NotFound, "import", "table "+name, err.Error())
			}
		}
	}
	slices.SortStableFunc(x.files, func(a, b *input.File) int {
		return cmp.Compare(order[t.byName[a.Table].Table().Name], order[t.byName[b.Table].Table().Name])
	})
	return nil
}

// of returns the table of a file's records; nil if they name it themselves.
func (t *importTables) of(f *input.File) *format.Target {
	if t.fixed != nil {
		return t.fixed
	}
	return t.byName[f.Table]
}

// resolve finds the table that a record names; nil if there is none.
func (t *importTables) resolve(ctx context.Context, text string) (*format.Target, error) {
	name, err := schema.ParseName(text)
	if err != nil {
		return nil, nil // no name of a table is like this
	}
	target, err := t.target(ctx, name)
	if e, ok := errors.AsType[*fault.Error](err); ok && e.Code == codes.NotFound {
		return nil, nil
	}
	return target, err
}

func (t *importTables) target(ctx context.Context, name schema.Name) (*format.Target, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	table, err := t.load(ctx, name)
	if err != nil {
		return nil, err
	}
	return table.target, nil
}

// load makes a table, and before it those it is interleaved in if their rows may
// come too.
func (t *importTables) load(ctx context.Context, name schema.Name) (*importTable, error) {
	described, err := t.catalog.Table(ctx, name)
	if err != nil {
		return nil, err
	}
	if known := t.tables[described.Name]; known != nil {
		return known, nil
	}
	var parent *writer.Table
	if t.related && described.Parent != (schema.Name{}) {
		p, err := t.load(ctx, described.Parent)
		if err != nil {
			return nil, err
		}
		parent = p.writer
	}
	table := &importTable{target: format.NewTarget(described, t.jsonText)}
	if table.writer, err = writer.NewTable(described, parent); err != nil {
		return nil, fault.New(codes.FailedPrecondition, "write", "table "+described.Name.String(), err.Error())
	}
	t.tables[described.Name] = table
	t.written[table.target] = table.writer
	return table, nil
}

func (t *importTables) writerTable(target *format.Target) *writer.Table {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.written[target]
}
