package sql

import (
	"slices"
	"strings"
	"time"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/relation"
	"spanbulk/internal/emulator/value"
)

// Compiler compiles the expressions of DDL for the store: DEFAULT, generated
// columns and CHECK. It is a relation.Compiler.
type Compiler struct {
	// Now is the clock of CURRENT_TIMESTAMP; nil stands for time.Now.
	Now func() time.Time
}

// Compile prepares an expression over the columns of t, its value coerced to
// typ. The schema gives the default time zone; nil stands for Spanner's own.
func (c Compiler) Compile(schema *catalog.Schema, t *catalog.Table, e *catalog.Expr, typ *value.Type) (relation.Expression, error) {
	a, err := newAnalyzer("", schema, nil)
	if err != nil {
		return nil, asInvalid(err)
	}
	s := newScope(a, nil)
	s.aggregates = "this expression"
	row := &rowCells{table: t}
	cols := make([]rangeCol, len(t.Columns))
	for i, col := range t.Columns {
		cols[i] = rangeCol{name: col.Name, typ: col.Type}
	}
	if _, err := s.addVar(e.Node, t.LocalName(), row, cols); err != nil {
		return nil, err
	}
	x, err := s.expr(e.Node)
	if err == nil {
		if x, err = a.coerce(x, typ); err == errMismatch {
			err = a.invalid("Expression %s does not have type %s", e.Text, typ)
		}
	}
	if err == nil && a.volatile && !isDefault(t, e) {
		err = invalid("Expression %s is non-deterministic: a generated column or check constraint must give the same value whenever it is evaluated", e.Text)
	}
	if err == nil && isDefault(t, e) && len(row.wants) > 0 {
		err = invalid("Expression %s refers to a column: the value of a column that is not written cannot depend on others", e.Text)
	}
	if err != nil {
		return nil, asInvalid(err)
	}
	now := c.Now
	if now == nil {
		now = time.Now
	}
	return func(get func(c *catalog.Column) []byte) (value.Value, error) {
		en := &env{rt: &runtime{now: now().UTC(), loc: a.loc}, cells: make([]cell, len(s.owners))}
		for _, w := range row.wants {
			en.cells[w.cell].setWire(get(t.Columns[w.slot]))
		}
		return x.eval(en)
	}, nil
}

// View analyses a view's query.
func (c Compiler) View(schema *catalog.Schema, v *catalog.View) ([]value.Field, error) {
	a, err := newAnalyzer("", schema, nil)
	if err != nil {
		return nil, asInvalid(err)
	}
	a.lookup = func(path ...string) (*catalog.Table, bool) { return schema.Table(strings.Join(path, ".")) }
	p, err := a.view(v)
	if err == nil {
		err = a.checkColumns(p)
	}
	if err != nil {
		return nil, asInvalid(err)
	}
	return p.columns(), nil
}

// isDefault tells whether an expression is evaluated once, when a row is
// written.
func isDefault(t *catalog.Table, e *catalog.Expr) bool {
	return slices.ContainsFunc(t.Columns, func(c *catalog.Column) bool { return c.Default == e || c.OnUpdate == e })
}

// rowCells notes which columns an expression wants; there is one row, the
// caller's.
type rowCells struct {
	table *catalog.Table
	wants []wanted
}

func (r *rowCells) want(col, cell int, _ *value.Type) { r.wants = append(r.wants, wanted{col, cell}) }

func (r *rowCells) scan(_ *env, yield func() error) error { return yield() }
