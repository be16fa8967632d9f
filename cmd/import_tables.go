package cmd

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"spanbulk/internal/fault"
	"spanbulk/internal/format"
	"spanbulk/internal/input"
	"spanbulk/internal/schema"
	"spanbulk/internal/writer"
)

// schemaAge is how old what is known of the schema may be when a table comes up
// that has not been used before. A table may be newer than the import, and a
// timestamp that was current when it began can be too old to be read at.
const schemaAge = time.Second

// importTables are the tables that records go to. It is safe for concurrent use.
type importTables struct {
	open     func(context.Context) (*schema.Catalog, error) // the schema as it is now
	now      func() time.Time
	decode   *format.DecodeOptions
	jsonText bool
	// related says that records of several tables come, so that rows must wait
	// for those of the tables they are interleaved in.
	related bool

	mu      sync.Mutex
	catalog *schema.Catalog
	opened  time.Time // when catalog was
	tables  map[schema.Name]*importTable
	written map[*format.Target]*writer.Table

	fixed  *format.Target            // of --table
	byName map[string]*format.Target // of the names that directories have
}

// importTable is a table with its Targets: for JSON columns as values and, with
// true, as texts.
type importTable struct {
	described *schema.Table
	writer    *writer.Table
	targets   map[bool]*format.Target
}

// lookUp reads the schema and settles which input goes to which table.
func (x *importer) lookUp(ctx context.Context) error {
	o := x.plan.options
	t := &importTables{
		open: func(ctx context.Context) (*schema.Catalog, error) { return schema.Open(ctx, x.conn, time.Time{}) },
		now:  x.app.now, decode: &x.decode, jsonText: o.format.json == "string",
		tables: map[schema.Name]*importTable{}, written: map[*format.Target]*writer.Table{}, byName: map[string]*format.Target{},
	}
	x.tables = t
	if err := t.refresh(ctx); err != nil {
		return err
	}
	x.decode.OnGenerated = x.tellGenerated()
	switch {
	case x.decode.TableField != "":
		t.related = true
		x.decode.Resolve = func(name string) (*format.Target, error) { return t.resolve(ctx, name, t.jsonText) }
		return nil
	case x.plan.table != schema.Name{}:
		return x.useTable(ctx)
	case o.failure.retry != "":
		t.related = true
		return nil
	}
	return x.useDirectories(ctx)
}

// checkTablesTold refuses, before anything is opened, inputs of which nothing
// says where they go.
func (x *importer) checkTablesTold() error {
	o := x.plan.options
	told := x.plan.table != schema.Name{} || x.decode.TableField != "" || o.failure.retry != ""
	if told || !slices.ContainsFunc(x.files, func(f *input.File) bool { return f.Table == "" }) {
		return nil
	}
	return usagef("none of --table and --table-field is given, and the input does not tell its table")
}

// useTable leads everything to --table. Of directories of several tables only
// that one's files are taken.
func (x *importer) useTable(ctx context.Context) error {
	target, err := x.tables.target(ctx, x.plan.table)
	if err != nil {
		return err
	}
	x.tables.fixed = target
	if err := x.leaveOutOthers(target); err != nil {
		return err
	}
	return x.check(target)
}

// leaveOutOthers drops the files that a directory says are of another table,
// where there are some of several.
func (x *importer) leaveOutOthers(target *format.Target) error {
	if len(input.Tables(x.files)) < 2 {
		return nil
	}
	var left []*input.File
	x.files = slices.DeleteFunc(x.files, func(f *input.File) bool {
		other := f.Table != "" && !x.tables.isName(f.Table, target)
		if other {
			left = append(left, f)
		}
		return other
	})
	if len(x.files) == 0 {
		return fault.New(codes.NotFound, "import", "table "+target.Table().Name.String(), "the input holds several tables and not this one")
	}
	if len(left) > 0 {
		x.app.log.Info("the files of other tables are left out", "tables", strings.Join(input.Tables(left), ", "))
	}
	return nil
}

// check refuses names of columns that none of the tables has.
func (x *importer) check(targets ...*format.Target) error {
	err := x.decode.Check(targets...)
	if err == nil {
		return nil
	}
	object := "records"
	if len(targets) == 1 {
		object = "table " + targets[0].Table().Name.String()
	}
	return fault.New(codes.NotFound, "import", object, err.Error())
}

// useDirectories leads every file to the table it is of, parents before
// children.
func (x *importer) useDirectories(ctx context.Context) error {
	t, names := x.tables, input.Tables(x.files)
	t.related = len(names) > 1
	order := map[schema.Name]int{}
	for i, name := range t.catalog.BaseTables() {
		order[name] = i
	}
	var targets []*format.Target
	for _, name := range names {
		parsed, err := schema.ParseName(name)
		if err != nil {
			return fault.New(codes.InvalidArgument, "import", "table "+name, err.Error())
		}
		if t.byName[name], err = t.target(ctx, parsed); err != nil {
			return err
		}
		targets = append(targets, t.byName[name])
	}
	slices.SortStableFunc(x.files, func(a, b *input.File) int {
		return cmp.Compare(order[t.byName[a.Table].Table().Name], order[t.byName[b.Table].Table().Name])
	})
	return x.check(targets...)
}

// tellUnused warns of names of columns that none of the tables has which the
// records have named.
func (x *importer) tellUnused() {
	t := x.tables
	t.mu.Lock()
	defer t.mu.Unlock()
	if x.decode.TableField == "" || len(t.tables) == 0 {
		return
	}
	var used []*format.Target
	for target := range t.written {
		used = append(used, target)
	}
	if err := x.decode.Check(used...); err != nil {
		x.app.log.Warn("a name was of no use", "error", err.Error())
	}
}

// of returns the table of a file's records; nil if they name it themselves.
func (t *importTables) of(f *input.File) *format.Target {
	if t.fixed != nil {
		return t.fixed
	}
	return t.byName[f.Table]
}

// resolve finds the table that a record names; nil if there is none.
func (t *importTables) resolve(ctx context.Context, text string, jsonText bool) (*format.Target, error) {
	name, err := schema.ParseName(text)
	if err != nil {
		return nil, nil // no name of a table is like this
	}
	target, err := t.targetFor(ctx, name, jsonText)
	if e, ok := errors.AsType[*fault.Error](err); ok && e.Code == codes.NotFound {
		return nil, nil
	}
	return target, err
}

// isName reports whether text means the table of target.
func (t *importTables) isName(text string, target *format.Target) bool {
	name, err := schema.ParseName(text)
	if err != nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	resolved, err := t.catalog.Resolve(name)
	return err == nil && resolved == target.Table().Name
}

func (t *importTables) target(ctx context.Context, name schema.Name) (*format.Target, error) {
	return t.targetFor(ctx, name, t.jsonText)
}

func (t *importTables) targetFor(ctx context.Context, name schema.Name, jsonText bool) (*format.Target, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if resolved, err := t.catalog.Resolve(name); err == nil && t.tables[resolved] != nil {
		return t.targetOf(t.tables[resolved], jsonText)
	}
	if t.now().Sub(t.opened) > schemaAge {
		if err := t.refresh(ctx); err != nil {
			return nil, err
		}
	}
	table, err := t.load(ctx, name)
	if err != nil {
		return nil, err
	}
	return t.targetOf(table, jsonText)
}

func (t *importTables) targetOf(table *importTable, jsonText bool) (*format.Target, error) {
	if target := table.targets[jsonText]; target != nil {
		return target, nil
	}
	target := format.NewTarget(table.described, jsonText)
	if err := t.decode.CheckCommitTimestamps(target); err != nil {
		return nil, fault.New(codes.FailedPrecondition, "import", "table "+table.described.Name.String(), err.Error())
	}
	table.targets[jsonText] = target
	t.written[target] = table.writer
	return target, nil
}

// refresh reads anew which tables there are. What is known of those in use
// stays.
func (t *importTables) refresh(ctx context.Context) error {
	catalog, err := t.open(ctx)
	if err == nil {
		t.catalog, t.opened = catalog, t.now()
	}
	return err
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
	table := &importTable{described: described, targets: map[bool]*format.Target{}}
	if table.writer, err = writer.NewTable(described, parent); err != nil {
		return nil, fault.New(codes.FailedPrecondition, "write", "table "+described.Name.String(), err.Error())
	}
	t.tables[described.Name] = table
	return table, nil
}

func (t *importTables) writerTable(target *format.Target) *writer.Table {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.written[target]
}
