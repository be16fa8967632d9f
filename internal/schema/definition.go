package schema

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"spanbulk/internal/fault"
)

// Definition is what makes a table again and what reading and writing rows can
// do without.
type Definition struct {
	// InterleaveIn says that the parent's row need not exist.
	InterleaveIn bool
	// Identities are the identity columns by name.
	Identities  map[string]Identity
	ForeignKeys []ForeignKey
	Checks      []Check
	// Of indexes by name: the table they are interleaved in, and in PostgreSQL
	// the condition of their rows.
	indexParents map[string]string
	indexFilters map[string]string
}

// Identity is how Spanner numbers a column. Empty texts are what nobody set.
type Identity struct{ Kind, Start, SkipMin, SkipMax string }

// ForeignKey is a foreign key of a table.
type ForeignKey struct {
	Name              string
	Columns           []string
	Referenced        Name
	ReferencedColumns []string
	OnDeleteCascade   bool
	Enforced          bool

	unique Name // the constraint of the referenced columns
}

// Check is a CHECK constraint; Clause is without parentheses.
type Check struct{ Name, Clause string }

// Definition reads the Definition of t.
func (c *Catalog) Definition(ctx context.Context, t *Table) (*Definition, error) {
	d := &Definition{Identities: map[string]Identity{}, indexParents: map[string]string{}, indexFilters: map[string]string{}}
	for _, step := range []func(context.Context, *Table, *Definition) error{
		c.loadInterleaving, c.loadIdentities, c.loadIndexClauses, c.loadConstraints,
	} {
		if err := step(ctx, t, d); err != nil {
			return nil, fault.Reading(err, "read the definition of", "table "+t.Name.String())
		}
	}
	return d, nil
}

func (c *Catalog) loadInterleaving(ctx context.Context, t *Table, d *Definition) error {
	where, params := c.ofTable(t)
	return c.query(ctx, []string{"INTERLEAVE_TYPE"}, "TABLES", where, params, func(r row) error {
		d.InterleaveIn = r.text(0) == "IN"
		return nil
	})
}

func (c *Catalog) loadIdentities(ctx context.Context, t *Table, d *Definition) error {
	columns := []string{"COLUMN_NAME", "IS_IDENTITY", "IDENTITY_KIND", "IDENTITY_START_WITH_COUNTER", "IDENTITY_SKIP_RANGE_MIN", "IDENTITY_SKIP_RANGE_MAX"}
	where, params := c.ofTable(t)
	return c.query(ctx, columns, "COLUMNS", where, params, func(r row) error {
		if r.boolean(1) {
			d.Identities[r.text(0)] = Identity{Kind: r.text(2), Start: r.text(3), SkipMin: r.text(4), SkipMax: r.text(5)}
		}
		return nil
	})
}

func (c *Catalog) loadIndexClauses(ctx context.Context, t *Table, d *Definition) error {
	columns := []string{"INDEX_NAME", "PARENT_TABLE_NAME"}
	if c.dialect == PostgreSQL {
		columns = append(columns, "FILTER")
	}
	where, params := c.ofTable(t)
	return c.query(ctx, columns, "INDEXES", where, params, func(r row) error {
		d.indexParents[r.text(0)] = r.text(1)
		if len(columns) > 2 {
			d.indexFilters[r.text(0)] = r.text(2)
		}
		return nil
	})
}

// loadConstraints reads the foreign keys and checks, without those that are the
// NOT NULL of columns.
func (c *Catalog) loadConstraints(ctx context.Context, t *Table, d *Definition) error {
	where, params := c.ofTable(t)
	foreign, checks := map[string]*ForeignKey{}, map[string]bool{}
	err := c.query(ctx, []string{"CONSTRAINT_NAME", "CONSTRAINT_TYPE", "ENFORCED"}, "TABLE_CONSTRAINTS", where, params, func(r row) error {
		switch name := r.text(0); {
		case r.text(1) == "FOREIGN KEY":
			foreign[name] = &ForeignKey{Name: name, Enforced: r.boolean(2)}
		case r.text(1) == "CHECK" && !strings.HasPrefix(name, "CK_IS_NOT_NULL_"):
			checks[name] = true
		}
		return nil
	})
	if err == nil && len(checks) > 0 {
		err = c.loadChecks(ctx, t, d, checks)
	}
	if err == nil && len(foreign) > 0 {
		err = c.loadForeignKeys(ctx, t, d, foreign)
	}
	return err
}

// ofSchema returns the condition that picks a constraint's rows of a view; no
// name is any.
func (c *Catalog) ofSchema(schema, name string) (where string, params map[string]string) {
	if schema == "" {
		schema = c.dialect.DefaultSchema()
	}
	schemaParam, schemaName := c.dialect.Param(1)
	where, params = "CONSTRAINT_SCHEMA = "+schemaParam, map[string]string{schemaName: schema}
	if name != "" {
		nameParam, nameName := c.dialect.Param(2)
		where += " AND CONSTRAINT_NAME = " + nameParam
		params[nameName] = name
	}
	return where, params
}

func (c *Catalog) loadChecks(ctx context.Context, t *Table, d *Definition, names map[string]bool) error {
	where, params := c.ofSchema(t.Name.Schema, "")
	err := c.query(ctx, []string{"CONSTRAINT_NAME", "CHECK_CLAUSE"}, "CHECK_CONSTRAINTS", where, params, func(r row) error {
		if names[r.text(0)] {
			d.Checks = append(d.Checks, Check{r.text(0), r.text(1)})
		}
		return nil
	})
	slices.SortFunc(d.Checks, func(a, b Check) int { return strings.Compare(a.Name, b.Name) })
	return err
}

func (c *Catalog) loadForeignKeys(ctx context.Context, t *Table, d *Definition, keys map[string]*ForeignKey) error {
	where, params := c.ofSchema(t.Name.Schema, "")
	columns := []string{"CONSTRAINT_NAME", "UNIQUE_CONSTRAINT_SCHEMA", "UNIQUE_CONSTRAINT_NAME", "DELETE_RULE"}
	err := c.query(ctx, columns, "REFERENTIAL_CONSTRAINTS", where, params, func(r row) error {
		if k := keys[r.text(0)]; k != nil {
			k.unique, k.OnDeleteCascade = Name{r.text(1), r.text(2)}, r.text(3) == "CASCADE"
		}
		return nil
	})
	for _, k := range keys {
		if err == nil {
			err = c.loadForeignKey(ctx, t, k)
		}
		d.ForeignKeys = append(d.ForeignKeys, *k)
	}
	slices.SortFunc(d.ForeignKeys, func(a, b ForeignKey) int { return strings.Compare(a.Name, b.Name) })
	return err
}

// loadForeignKey reads the columns of a foreign key and those it refers to.
func (c *Catalog) loadForeignKey(ctx context.Context, t *Table, k *ForeignKey) error {
	own, err := c.keyColumns(ctx, t.Name.Schema, k.Name)
	if err != nil {
		return err
	}
	there, err := c.keyColumns(ctx, k.unique.Schema, k.unique.Name)
	if err != nil {
		return err
	}
	for _, u := range own {
		k.Columns = append(k.Columns, u.column)
		if u.references < 1 || int(u.references) > len(there) {
			return fmt.Errorf("foreign key %s: column %s refers to none of the key %s", k.Name, u.column, k.unique.Name)
		}
		k.ReferencedColumns = append(k.ReferencedColumns, there[u.references-1].column)
		k.Referenced = there[0].table
	}
	return nil
}

// usage is a row of KEY_COLUMN_USAGE.
type usage struct {
	table                Name
	column               string
	position, references int64
}

func (c *Catalog) keyColumns(ctx context.Context, schema, constraint string) ([]usage, error) {
	where, params := c.ofSchema(schema, constraint)
	columns := []string{"TABLE_SCHEMA", "TABLE_NAME", "COLUMN_NAME", "ORDINAL_POSITION", "POSITION_IN_UNIQUE_CONSTRAINT"}
	var all []usage
	err := c.query(ctx, columns, "KEY_COLUMN_USAGE", where, params, func(r row) error {
		u := usage{table: c.name(r.text(0), r.text(1)), column: r.text(2)}
		var err error
		if u.position, err = strconv.ParseInt(r.text(3), 10, 64); err != nil {
			return fmt.Errorf("constraint %s: %w", constraint, err)
		}
		if !r.isNull(4) {
			u.references, err = strconv.ParseInt(r.text(4), 10, 64)
		}
		all = append(all, u)
		return err
	})
	slices.SortFunc(all, func(a, b usage) int { return int(a.position - b.position) })
	return all, err
}
