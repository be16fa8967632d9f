package cdc

import (
	"fmt"
	"regexp"
	"strings"
)

// filter decides which records and columns appear. It keeps its decisions, one
// for each table and column name that comes by, and is for one goroutine.
type filter struct {
	tables, columns nameFilter
	only            string
	skipEmpty       bool
	progress        *Progress

	known map[string]*tableFilter
	out   []byte // scratch for objects without some of their members
}

// tableFilter is what is decided about one table.
type tableFilter struct {
	keep    bool
	columns map[string]bool // whether it is kept, key or not
}

// nameFilter is an include or an exclude list; without either it keeps all.
type nameFilter struct {
	patterns []*regexp.Regexp
	exclude  bool
}

func newNameFilter(what string, anyCase bool, include, exclude []string) (nameFilter, error) {
	f := nameFilter{exclude: len(exclude) > 0}
	if len(include) > 0 && len(exclude) > 0 {
		return f, fmt.Errorf("the include list and the exclude list of %s exclude each other", what)
	}
	for _, expression := range append(append([]string(nil), include...), exclude...) {
		flags := ""
		if anyCase {
			flags = "(?i)"
		}
		re, err := regexp.Compile(flags + `^(?:` + expression + `)$`)
		if err != nil {
			// Compiled alone, the error speaks of what the user wrote.
			if _, alone := regexp.Compile(expression); alone != nil {
				err = alone
			}
			return f, fmt.Errorf("expression %q for %s: %w", expression, what, err)
		}
		f.patterns = append(f.patterns, re)
	}
	return f, nil
}

func (f *nameFilter) keeps(name string) bool {
	if len(f.patterns) == 0 {
		return true
	}
	for _, re := range f.patterns {
		if re.MatchString(name) {
			return !f.exclude
		}
	}
	return f.exclude
}

func newFilter(o *Filters, p *Progress) (*filter, error) {
	tables, err := newNameFilter("tables", o.AnyCase, o.TableInclude, o.TableExclude)
	if err != nil {
		return nil, err
	}
	columns, err := newNameFilter("columns", o.AnyCase, o.ColumnInclude, o.ColumnExclude)
	if err != nil {
		return nil, err
	}
	return &filter{
		tables: tables, columns: columns, only: o.Table, skipEmpty: o.SkipWithoutChange,
		progress: p, known: map[string]*tableFilter{},
	}, nil
}

// apply takes away from c what does not appear. keep is false if nothing of it
// does. What c then refers to is valid until the next call.
func (f *filter) apply(c *Change) (keep bool, err error) {
	table := f.known[string(c.Table)]
	if table == nil {
		table = f.table(string(c.Table))
	}
	if !table.keep {
		f.progress.RecordsFilteredByTable.Add(1)
		return false, nil
	}
	if len(f.columns.patterns) == 0 {
		return true, nil
	}
	dropped := f.dropColumns(table, c)
	if dropped == 0 {
		return true, nil
	}
	f.progress.ColumnOccurrencesFiltered.Add(int64(dropped))
	kept, removed, err := f.dropValues(table, c)
	if err == nil && f.skipEmpty && kept == 0 && removed > 0 {
		f.progress.RecordsSkippedWithoutChange.Add(1)
		return false, nil
	}
	return true, err
}

func (f *filter) table(name string) *tableFilter {
	keep := f.tables.keeps(name) && (f.only == "" || sameTable(name, f.only))
	t := &tableFilter{keep: keep, columns: map[string]bool{}}
	f.known[name] = t
	return t
}

// sameTable compares names of tables. PostgreSQL's default schema may be said
// or not.
func sameTable(a, b string) bool {
	return strings.TrimPrefix(a, "public.") == strings.TrimPrefix(b, "public.")
}

func (f *filter) keepsColumn(t *tableFilter, table, column []byte) bool {
	keep, known := t.columns[string(column)]
	if !known {
		keep = f.columns.keeps(string(table) + "." + string(column))
		t.columns[string(column)] = keep
	}
	return keep
}

func (f *filter) dropColumns(t *tableFilter, c *Change) (dropped int) {
	kept := c.Columns[:0]
	for _, col := range c.Columns {
		if col.Key || f.keepsColumn(t, c.Table, col.Name) {
			kept = append(kept, col)
		}
	}
	dropped = len(c.Columns) - len(kept)
	c.Columns = kept
	return dropped
}

// dropValues takes the columns that do not appear out of the new and old values
// of every mod, and counts the values that stay and those that go.
func (f *filter) dropValues(t *tableFilter, c *Change) (kept, removed int, err error) {
	f.out = f.out[:0]
	for i := range c.Mods {
		for _, object := range []*[]byte{&c.Mods[i].New, &c.Mods[i].Old} {
			start := len(f.out)
			k, r, err := f.dropMembers(t, c.Table, *object)
			if err != nil {
				return 0, 0, err
			}
			kept, removed = kept+k, removed+r
			if r > 0 {
				*object = f.out[start:len(f.out):len(f.out)]
			}
		}
	}
	return kept, removed, nil
}

func (f *filter) dropMembers(t *tableFilter, table, object []byte) (kept, removed int, err error) {
	if len(object) == 0 {
		return 0, 0, nil
	}
	f.out = append(f.out, '{')
	j := jsonText{text: object}
	var scratch []byte
	err = j.object(func(name, value []byte) error {
		column, longer, err := unquote(name, scratch[:0])
		if err != nil {
			return err
		}
		scratch = longer
		if !f.keepsColumn(t, table, column) {
			removed++
			return nil
		}
		if kept > 0 {
			f.out = append(f.out, ',')
		}
		kept++
		f.out = append(append(append(f.out, name...), ':'), value...)
		return nil
	})
	f.out = append(f.out, '}')
	return kept, removed, err
}

// KeepsColumn reports whether a column outside the key appears in the output.
func (o *Filters) KeepsColumn(table, column string) (bool, error) {
	f, err := newFilter(o, new(Progress))
	if err != nil {
		return false, err
	}
	return f.columns.keeps(table + "." + column), nil
}
