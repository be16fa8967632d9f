package catalog

import (
	"github.com/cloudspannerecosystem/memefish/ast"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/emulator/postgres"
	"spanbulk/internal/emulator/value"
)

// applyPostgreSQL applies a statement of the PostgreSQL dialect other than
// those about change streams.
func (e *editor) applyPostgreSQL() error {
	stmt, err := postgres.Parse(e.source)
	if err != nil {
		return err
	}
	e.nullsFirst = stmt.NullsFirst
	if stmt.Alter != nil {
		return e.changePostgreSQLColumn(stmt.Alter)
	}
	ddl, ok := stmt.Node.(ast.DDL)
	if !ok {
		return status.Error(codes.InvalidArgument, "Expected a DDL statement")
	}
	if err := e.apply(ddl); err != nil {
		return err
	}
	return e.checkRealKeys()
}

// checkRealKeys refuses real in keys, where GoogleSQL allows FLOAT32.
func (e *editor) checkRealKeys() error {
	for _, t := range e.Tables {
		keys := [][]KeyPart{t.PrimaryKey}
		for _, x := range t.Indexes {
			keys = append(keys, x.Key)
		}
		for _, key := range keys {
			for _, k := range key {
				if c := t.Columns[k.Column]; c.Type.Code == value.Float32Code {
					return status.Errorf(codes.InvalidArgument, "%s has type real, but is part of a key of table %s.", c.Name, t.Name)
				}
			}
		}
	}
	return nil
}

// orderNulls puts NULLs in an index where the statement says, or PostgreSQL:
// last, and first with DESC.
func (e *editor) orderNulls(key []KeyPart, defs []*ast.IndexKey) {
	if !e.PostgreSQL {
		return
	}
	for i, def := range defs {
		first, said := e.nullsFirst[def]
		if !said {
			first = key[i].Desc
		}
		key[i].NullsReversed = first == key[i].Desc
	}
}

// changePostgreSQLColumn is ALTER COLUMN c TYPE t, SET NOT NULL, DROP NOT NULL.
func (e *editor) changePostgreSQLColumn(a *postgres.ColumnChange) error {
	t, ok := e.Table(a.Table)
	if !ok {
		return status.Errorf(codes.NotFound, "Table not found: %s", a.Table)
	}
	old, ok := t.Column(a.Column)
	if !ok {
		return status.Errorf(codes.NotFound, "Column not found in table %s: %s", t.Name, a.Column)
	}
	err := e.edit(t, func(t *Table) error {
		c := t.Columns[old.Ordinal]
		if a.NotNull != nil {
			c.NotNull = *a.NotNull
		}
		if a.Type == nil {
			return keepKey(t, c, old)
		}
		c.AllowCommitTimestamp = a.CommitTimestamp
		if err := e.setType(c, a.Type); err != nil {
			return err
		}
		if !convertible(old.Type, c.Type) {
			return cannotChangeType(t, c, old)
		}
		return keepKey(t, c, old)
	})
	if err != nil {
		return err
	}
	return e.checkGenerated(t.Name)
}

// keepKey refuses a change of a key column's type or nullability.
func keepKey(t *Table, c, old *Column) error {
	if t.IsKey(c.Ordinal) && (c.NotNull != old.NotNull || !c.Type.Equal(old.Type)) {
		return status.Errorf(codes.FailedPrecondition, "Cannot change key column %s.", c.Name)
	}
	return nil
}
