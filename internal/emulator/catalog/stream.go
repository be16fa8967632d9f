package catalog

import (
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Limits of the service.
const (
	maxChangeStreams = 10
	// maxWatchers is how many change streams may watch a table, a column or
	// everything.
	maxWatchers = 3
)

func (e *editor) applyStream(s *streamStatement) error {
	switch s.action {
	case createStream:
		return e.createChangeStream(s)
	case dropStream:
		return e.dropChangeStream(s)
	default:
		return e.alterChangeStream(s)
	}
}

func (e *editor) createChangeStream(s *streamStatement) error {
	if _, exists := e.ChangeStream(s.name); exists && s.ifClause {
		return nil
	}
	if err := e.checkName("Change Stream", s.name); err != nil {
		return err
	}
	if err := e.taken(s.name); err != nil {
		return err
	}
	if err := e.taken(readFunctionPrefix + s.name); err != nil {
		return err
	}
	if len(e.ChangeStreams) >= maxChangeStreams {
		return status.Errorf(codes.FailedPrecondition, "Failed to create Change Stream %s because the maximum number of Change Streams per Database (limit %d) has been reached.", s.name, maxChangeStreams)
	}
	if err := checkStreamOptions(s.options); err != nil {
		return err
	}
	c := &ChangeStream{ID: e.newID(), Name: s.name, Options: mergeOptions(nil, s.options)}
	if err := e.watch(c, s.watch); err != nil {
		return err
	}
	e.ChangeStreams = append(e.ChangeStreams, c)
	return e.checkWatchers(c)
}

func (e *editor) watch(c *ChangeStream, list watchList) error {
	c.All, c.Tables = list.all, nil
	for _, w := range list.tables {
		if err := e.watchTable(c, w); err != nil {
			return err
		}
	}
	return nil
}

func (e *editor) watchTable(c *ChangeStream, w WatchedTable) error {
	t, ok := e.Table(w.Table)
	if !ok {
		return e.cannotTrack(c, w.Table)
	}
	if slices.ContainsFunc(c.Tables, func(o WatchedTable) bool { return strings.EqualFold(o.Table, t.Name) }) {
		return status.Errorf(codes.FailedPrecondition, "Change Stream %s should not list Table %s more than once in the FOR clause.", c.Name, t.Name)
	}
	columns := w.Columns
	w.Table, w.Columns = t.Name, nil
	for _, name := range columns {
		col, err := trackable(c, t, name)
		if err != nil {
			return err
		}
		if containsFold(w.Columns, col.Name) {
			return status.Errorf(codes.FailedPrecondition, "Change Stream %s should not list Column %s more than once in the FOR clause.", c.Name, col.Name)
		}
		w.Columns = append(w.Columns, col.Name)
	}
	c.Tables = append(c.Tables, w)
	return nil
}

func (e *editor) cannotTrack(c *ChangeStream, name string) error {
	kind := ""
	if _, ok := e.ChangeStream(name); ok {
		kind = "Change Stream"
	} else if _, _, ok := e.Index(name); ok {
		kind = "Index"
	}
	if kind != "" {
		return status.Errorf(codes.FailedPrecondition, "Change Stream %s does not support tracking %s %s. Change Streams can only track Tables and their columns.", c.Name, kind, name)
	}
	return status.Errorf(codes.FailedPrecondition, "Change Stream %s cannot track %s because either Change Streams do not track database objects of this type, or this Table does not exist.", c.Name, name)
}

// trackable finds a column that a FOR clause may list: neither part of the key,
// which is tracked anyway, nor generated.
func trackable(c *ChangeStream, t *Table, name string) (*Column, error) {
	col, ok := t.Column(name)
	switch {
	case !ok:
		return nil, status.Errorf(codes.FailedPrecondition, "Change Stream %s cannot track column %s because it does not exist in Table %s.", c.Name, name, t.Name)
	case t.IsKey(col.Ordinal):
		return nil, status.Errorf(codes.FailedPrecondition, "Change Stream %s should not list the primary key column %s of Table %s because primary key columns are always tracked.", c.Name, col.Name, t.Name)
	case col.Generated != nil:
		return nil, status.Errorf(codes.FailedPrecondition, "Change Stream %s does not support tracking non-key generated column %s of Table %s.", c.Name, col.Name, t.Name)
	}
	return col, nil
}

// checkWatchers refuses a stream that would be one too many on what it watches.
func (e *editor) checkWatchers(c *ChangeStream) error {
	over := func(what string, watches func(*ChangeStream) bool) error {
		n := 0
		for _, o := range e.ChangeStreams {
			if watches(o) {
				n++
			}
		}
		if n <= maxWatchers {
			return nil
		}
		return status.Errorf(codes.FailedPrecondition, "Failed to create or alter Change Stream %s because it is not allowed to have more than %d Change Streams tracking the same table or non-key column or ALL: %s.", c.Name, maxWatchers, what)
	}
	if c.All {
		if err := over("ALL", func(o *ChangeStream) bool { return o.All }); err != nil {
			return err
		}
	}
	for _, t := range e.Tables {
		w, ok := c.Watches(t)
		if !ok {
			continue
		}
		whole := func(o *ChangeStream) bool {
			ow, ok := o.Watches(t)
			return ok && (ow.AllColumns || len(ow.Columns) == 0)
		}
		if w.AllColumns || len(w.Columns) == 0 {
			if err := over(t.Name, whole); err != nil {
				return err
			}
		}
		for _, col := range t.Columns {
			if !c.Tracks(t, col) {
				continue
			}
			if err := over(t.Name+"."+col.Name, func(o *ChangeStream) bool { return o.Tracks(t, col) }); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *editor) alterChangeStream(s *streamStatement) error {
	i := e.streamIndex(s.name)
	if i < 0 {
		return streamNotFound(s.name)
	}
	c := *e.ChangeStreams[i]
	e.ChangeStreams[i] = &c
	switch s.action {
	case setStreamFor:
		if err := e.watch(&c, s.watch); err != nil {
			return err
		}
		return e.checkWatchers(&c)
	case dropStreamFor:
		if !c.All && len(c.Tables) == 0 {
			return status.Errorf(codes.FailedPrecondition, "The ALTER CHANGE STREAM DROP FOR clause cannot be applied on Change Stream %s, because it does not have a FOR clause.", c.Name)
		}
		c.All, c.Tables = false, nil
	default:
		if err := checkStreamOptions(s.options); err != nil {
			return err
		}
		old := c.PartitionMode()
		c.Options = mergeOptions(c.Options, s.options)
		if c.PartitionMode() != old {
			return status.Errorf(codes.FailedPrecondition, "Option partition_mode of Change Stream %s cannot be changed after creation.", c.Name)
		}
	}
	return nil
}

func streamNotFound(name string) error {
	return status.Errorf(codes.NotFound, "Change Stream not found: %s", name)
}

func (e *editor) dropChangeStream(s *streamStatement) error {
	i := e.streamIndex(s.name)
	if i < 0 {
		if s.ifClause {
			return nil
		}
		return streamNotFound(s.name)
	}
	e.ChangeStreams = slices.Delete(e.ChangeStreams, i, i+1)
	return nil
}

func (e *editor) streamIndex(name string) int {
	return slices.IndexFunc(e.ChangeStreams, func(c *ChangeStream) bool { return strings.EqualFold(c.Name, name) })
}

// trackedBy names the streams whose FOR clause names something, as messages do:
// "2 Change Stream: A, B".
func (e *editor) trackedBy(names func(w WatchedTable) bool) (n int, text string) {
	var list []string
	for _, c := range e.ChangeStreams {
		if slices.ContainsFunc(c.Tables, names) {
			list = append(list, c.Name)
		}
	}
	return len(list), strings.Join(list, ", ")
}

// untracked refuses to drop a table that a change stream names. FOR ALL does
// not stand in the way.
func (e *editor) untracked(t *Table) error {
	n, list := e.trackedBy(func(w WatchedTable) bool { return strings.EqualFold(w.Table, t.Name) })
	if n == 0 {
		return nil
	}
	return status.Errorf(codes.FailedPrecondition, "Cannot drop table %s. Table %s is tracked by %d Change Stream: %s. Tables explicitly tracked by a Change Stream cannot be dropped.", t.Name, t.Name, n, list)
}

// untrackedColumn refuses to drop a column that a change stream names.
func (e *editor) untrackedColumn(t *Table, col *Column) error {
	n, list := e.trackedBy(func(w WatchedTable) bool {
		return strings.EqualFold(w.Table, t.Name) && containsFold(w.Columns, col.Name)
	})
	if n == 0 {
		return nil
	}
	return status.Errorf(codes.FailedPrecondition, "Cannot drop column %s.%s. Column %s is tracked by %d Change Stream: %s. Columns explicitly tracked by a Change Stream cannot be dropped.", t.Name, col.Name, col.Name, n, list)
}
