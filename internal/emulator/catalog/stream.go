package catalog

import (
	"slices"
	"strings"

	"github.com/cloudspannerecosystem/memefish/ast"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const maxChangeStreams = 10

func (e *editor) createChangeStream(d *ast.CreateChangeStream) error {
	if _, exists := e.ChangeStream(d.Name.Name); exists && e.ifClause {
		return nil
	}
	if err := e.taken(d.Name.Name); err != nil {
		return err
	}
	if len(e.ChangeStreams) >= maxChangeStreams {
		return status.Errorf(codes.FailedPrecondition, "Failed to create Change Stream %s because the maximum number of Change Streams per Database (limit %d) has been reached.", d.Name.Name, maxChangeStreams)
	}
	c := &ChangeStream{Name: d.Name.Name}
	var err error
	if c.Options, err = options(d.Options); err != nil {
		return err
	}
	c.Options = mergeOptions(nil, c.Options)
	if err := e.watch(c, d.For); err != nil {
		return err
	}
	e.ChangeStreams = append(e.ChangeStreams, c)
	return nil
}

func (e *editor) watch(c *ChangeStream, clause ast.ChangeStreamFor) error {
	c.All, c.Tables = false, nil
	switch f := clause.(type) {
	case *ast.ChangeStreamForAll:
		c.All = true
	case *ast.ChangeStreamForTables:
		for _, t := range f.Tables {
			if err := e.watchTable(c, t); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *editor) watchTable(c *ChangeStream, f *ast.ChangeStreamForTable) error {
	t, ok := e.Table(f.TableName.Name)
	if !ok {
		return status.Errorf(codes.FailedPrecondition, "Change Stream %s cannot track %s because either Change Streams do not track database objects of this type, or this Table does not exist.", c.Name, f.TableName.Name)
	}
	if slices.ContainsFunc(c.Tables, func(w WatchedTable) bool { return strings.EqualFold(w.Table, t.Name) }) {
		return status.Errorf(codes.FailedPrecondition, "Change Stream %s should not list Table %s more than once in the FOR clause.", c.Name, t.Name)
	}
	w := WatchedTable{Table: t.Name, AllColumns: f.Rparen.Invalid()}
	for _, id := range f.Columns {
		col, ok := t.Column(id.Name)
		switch {
		case !ok:
			return status.Errorf(codes.FailedPrecondition, "Change Stream %s cannot track column %s because it does not exist in Table %s.", c.Name, id.Name, t.Name)
		case t.IsKey(col.Ordinal):
			return status.Errorf(codes.FailedPrecondition, "Change Stream %s should not list the primary key column %s of Table %s.", c.Name, col.Name, t.Name)
		case containsFold(w.Columns, col.Name):
			return status.Errorf(codes.FailedPrecondition, "Change Stream %s should not list Column %s more than once in the FOR clause.", c.Name, col.Name)
		}
		w.Columns = append(w.Columns, col.Name)
	}
	c.Tables = append(c.Tables, w)
	return nil
}

func (e *editor) alterChangeStream(d *ast.AlterChangeStream) error {
	i := e.streamIndex(d.Name.Name)
	if i < 0 {
		return status.Errorf(codes.NotFound, "Change Stream not found: %s", d.Name.Name)
	}
	c := *e.ChangeStreams[i]
	switch a := d.ChangeStreamAlteration.(type) {
	case *ast.ChangeStreamSetFor:
		if err := e.watch(&c, a.For); err != nil {
			return err
		}
	case *ast.ChangeStreamDropForAll:
		if !c.All && len(c.Tables) == 0 {
			return status.Errorf(codes.FailedPrecondition, "The ALTER CHANGE STREAM DROP FOR clause cannot be applied on Change Stream %s, because it does not have a FOR clause.", c.Name)
		}
		c.All, c.Tables = false, nil
	case *ast.ChangeStreamSetOptions:
		set, err := options(a.Options)
		if err != nil {
			return err
		}
		c.Options = mergeOptions(c.Options, set)
	}
	e.ChangeStreams[i] = &c
	return nil
}

func (e *editor) dropChangeStream(d *ast.DropChangeStream) error {
	i := e.streamIndex(d.Name.Name)
	if i < 0 {
		if e.ifClause {
			return nil
		}
		return status.Errorf(codes.NotFound, "Change Stream not found: %s", d.Name.Name)
	}
	e.ChangeStreams = slices.Delete(e.ChangeStreams, i, i+1)
	return nil
}

func (e *editor) streamIndex(name string) int {
	return slices.IndexFunc(e.ChangeStreams, func(c *ChangeStream) bool { return strings.EqualFold(c.Name, name) })
}

// untracked refuses to drop a table that a change stream names.
func (e *editor) untracked(t *Table) error {
	for _, c := range e.ChangeStreams {
		for _, w := range c.Tables {
			if strings.EqualFold(w.Table, t.Name) {
				return status.Errorf(codes.FailedPrecondition, "Cannot drop table %s. Table %s is tracked by 1 Change Stream: %s.", t.Name, t.Name, c.Name)
			}
		}
	}
	return nil
}

// untrackedColumn refuses to drop a column that a change stream names.
func (e *editor) untrackedColumn(t *Table, col *Column) error {
	for _, c := range e.ChangeStreams {
		for _, w := range c.Tables {
			if strings.EqualFold(w.Table, t.Name) && containsFold(w.Columns, col.Name) {
				return status.Errorf(codes.FailedPrecondition, "Cannot drop column %s.%s. Column %s is tracked by 1 Change Stream: %s.", t.Name, col.Name, col.Name, c.Name)
			}
		}
	}
	return nil
}
