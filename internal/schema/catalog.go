package schema

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"spanbulk/internal/database"
	"spanbulk/internal/fault"
)

// Querier runs the catalog's queries. *database.Conn is one.
type Querier interface {
	Query(ctx context.Context, stmt database.Statement) (*database.Result, error)
}

// Catalog is a database's schema at one timestamp. It is safe for concurrent use.
type Catalog struct {
	querier Querier
	dialect Dialect
	at      time.Time
	listed  []listed

	mu     sync.Mutex
	loaded map[Name]*Table
}

// listed is a table before its columns are read.
type listed struct {
	name    Name
	view    bool
	parent  Name
	cascade bool
}

// Open finds the dialect and lists the tables. at is the timestamp to read the
// schema at; zero is now. Everything the catalog tells is from one timestamp.
func Open(ctx context.Context, q Querier, at time.Time) (*Catalog, error) {
	c := &Catalog{querier: q, at: at, loaded: map[Name]*Table{}}
	if err := c.findDialect(ctx); err != nil {
		return nil, err
	}
	if err := c.listTables(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// Dialect returns the database's dialect.
func (c *Catalog) Dialect() Dialect { return c.dialect }

// ReadTimestamp returns the timestamp of the schema.
func (c *Catalog) ReadTimestamp() time.Time { return c.at }

// BaseTables returns the names of all tables that hold data, parents before
// their children, else in order of name.
func (c *Catalog) BaseTables() []Name {
	var names []Name
	done := map[Name]bool{}
	var add func(l listed)
	add = func(l listed) {
		if done[l.name] || l.view {
			return
		}
		done[l.name] = true
		if parent, ok := c.find(l.parent); ok {
			add(parent)
		}
		names = append(names, l.name)
	}
	for _, l := range c.listed {
		add(l)
	}
	return names
}

// Resolve returns the name of the table or view that a user means by name, as
// FindName finds it. The error of an unknown table suggests the nearest known one.
func (c *Catalog) Resolve(name Name) (Name, error) {
	known := make([]Name, len(c.listed))
	for i, l := range c.listed {
		known[i] = l.name
	}
	if i := c.dialect.FindName(known, name); i >= 0 {
		return known[i], nil
	}
	return Name{}, c.unknownTable(name)
}

func (c *Catalog) unknownTable(name Name) error {
	known := make([]string, len(c.listed))
	for i, l := range c.listed {
		known[i] = l.name.String()
	}
	spelled := name.String()
	hint := fault.DidYouMean(spelled, known)
	if whole, err := ParseName(name.Name); err == nil && whole.Schema != "" && name.Schema == "" {
		spelled = name.SQL(c.dialect)
		if meant, err := c.Resolve(whole); err == nil {
			hint = "schema and table are quoted each by itself: " + meant.SQL(c.dialect)
		}
	}
	if hint == "" {
		hint = c.inOtherSchema(name)
	}
	if hint == "" && len(known) == 0 {
		hint = "the database has no tables that this account may see"
	}
	return fault.New(codes.NotFound, "find", "table "+spelled, "the database has no such table").WithHint(hint)
}

// inOtherSchema suggests a table of the same name in another schema.
func (c *Catalog) inOtherSchema(name Name) string {
	for _, l := range c.listed {
		if c.dialect.SameName(l.name.Name, name.Name) {
			return "did you mean " + l.name.String() + "?"
		}
	}
	return ""
}

func (c *Catalog) find(name Name) (listed, bool) {
	i := slices.IndexFunc(c.listed, func(l listed) bool {
		return c.dialect.SameName(l.name.Schema, name.Schema) && c.dialect.SameName(l.name.Name, name.Name)
	})
	if i < 0 {
		return listed{}, false
	}
	return c.listed[i], true
}

// Table reads the table or view that a user means by name.
func (c *Catalog) Table(ctx context.Context, name Name) (*Table, error) {
	resolved, err := c.Resolve(name)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	t := c.loaded[resolved]
	c.mu.Unlock()
	if t != nil {
		return t, nil
	}
	l, _ := c.find(resolved)
	if t, err = c.load(ctx, l); err != nil {
		return nil, fault.Reading(err, "read the schema of", "table "+resolved.String())
	}
	c.mu.Lock()
	c.loaded[resolved] = t
	c.mu.Unlock()
	return t, nil
}

// FindColumn returns the column of t that a user means by name; its error
// suggests the nearest known one.
func FindColumn(t *Table, name string) (Column, error) {
	if c, ok := t.Column(name); ok {
		return c, nil
	}
	if c, ok := t.Column(t.Dialect.folded(name)); ok {
		return c, nil
	}
	return Column{}, fault.New(codes.NotFound, "find", fmt.Sprintf("column %s of table %s", name, t.Name), "the table has no such column").
		WithHint(fault.DidYouMean(name, t.ColumnNames()))
}

// FindIndex is FindColumn for a secondary index, whose name may be without the
// schema: that is the table's.
func FindIndex(t *Table, name Name) (Index, error) {
	meant := name
	if meant.Schema == "" {
		meant.Schema = t.Name.Schema
	}
	known := make([]Name, len(t.Indexes))
	names := make([]string, len(t.Indexes))
	for i, x := range t.Indexes {
		known[i], names[i] = t.IndexName(x), x.Name
	}
	if i := t.Dialect.FindName(known, meant); i >= 0 {
		return t.Indexes[i], nil
	}
	return Index{}, fault.New(codes.NotFound, "find", fmt.Sprintf("index %s of table %s", name, t.Name), "the table has no such index").
		WithHint(fault.DidYouMean(name.Name, names))
}
