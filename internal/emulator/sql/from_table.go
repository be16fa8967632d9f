package sql

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cloudspannerecosystem/memefish/ast"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/relation"
	"spanbulk/internal/emulator/value"
)

// sameName compares names as a dialect does.
func sameName(a, b string, exact bool) bool { return a == b || !exact && strings.EqualFold(a, b) }

// fold is what a name is looked up by.
func (a *analyzer) fold(name string) string {
	if a.pg {
		return name
	}
	return catalog.Fold(name)
}

func equalFold(a, b string) bool { return strings.EqualFold(a, b) }

// tableScan reads a table, or an index of it, as far as ranges say.
type tableScan struct {
	table *catalog.Table
	index *catalog.Index
	// indexColumns maps ordinals to cells of an index entry.
	indexColumns map[int]int
	// wants are the cells to note, by position in the row.
	wants []wanted
	// baseWants are those an index lacks and the table's own row has.
	baseWants []wanted
	// unchecked is the hint that skips the check of NULL_FILTERED indexes.
	unchecked bool
	seek      *seek
}

// wanted says that the slot-th cell of a row goes to a cell of the env.
type wanted struct{ slot, cell int }

func (t *tableScan) want(col, cell int, _ *value.Type) {
	slot, list := t.table.Columns[col].Slot, &t.wants
	if t.index != nil {
		if at, ok := t.indexColumns[col]; ok {
			slot = at
		} else {
			list = &t.baseWants
		}
	}
	*list = append(*list, wanted{slot, cell})
	slices.SortStableFunc(*list, func(a, b wanted) int { return cmp.Compare(a.slot, b.slot) })
}

// covered tells whether the index, if there is one, has every column wanted.
func (t *tableScan) covered() bool { return len(t.baseWants) == 0 }

func (t *tableScan) scan(e *env, yield func() error) error {
	ranges, err := t.ranges(e)
	if err != nil || ranges != nil && len(ranges) == 0 {
		return err
	}
	rows := e.rt.snap.Scan(e.rt.ctx, relation.Scan{Table: t.table, Index: t.index, Ranges: ranges})
	for row, err := range rows {
		if err != nil {
			return err
		}
		fill(e, t.wants, row)
		if t.covered() {
			err = yield()
		} else {
			err = t.withBase(e, row, yield)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// withBase joins an index entry with the row it points at.
func (t *tableScan) withBase(e *env, entry value.Row, yield func() error) error {
	var key []byte
	for _, part := range t.table.PrimaryKey {
		wire := entry.Cell(t.indexColumns[part.Column])
		key = value.AppendKey(key, t.table.Columns[part.Column].Type, wire, part.Order())
	}
	point := []relation.KeyRange{{Start: key, End: value.PrefixEnd(key)}}
	for row, err := range e.rt.snap.Scan(e.rt.ctx, relation.Scan{Table: t.table, Ranges: point}) {
		if err != nil {
			return err
		}
		fill(e, t.baseWants, row)
		if err := yield(); err != nil {
			return err
		}
	}
	return nil
}

// fill notes where the wanted cells of a row stand, passing over the rest.
func fill(e *env, wants []wanted, row value.Row) {
	if len(wants) == 0 {
		return
	}
	for slot, wire := range row.Cells() {
		for wants[0].slot == slot {
			e.cells[wants[0].cell].setWire(wire)
			if wants = wants[1:]; len(wants) == 0 {
				return
			}
		}
	}
	// The row was written before these columns were added.
	for _, w := range wants {
		e.cells[w.cell].setWire(nullWire)
	}
}

var nullWire = value.Null(nil).AppendWire(nil)

// ranges are the key ranges of this run of the scan: nil for everything, empty
// for nothing.
func (t *tableScan) ranges(e *env) ([]relation.KeyRange, error) {
	var ranges []relation.KeyRange
	if t.seek != nil {
		var err error
		if ranges, err = t.seek.ranges(e); err != nil {
			return nil, err
		}
	}
	if e.rt.driver == t && e.rt.within != nil {
		return intersect(ranges, e.rt.within), nil
	}
	return ranges, nil
}

// table analyses a table named in FROM: a WITH query or a table of the
// database.
func (s *scope) table(n ast.Node, path []*ast.Ident, hint *ast.Hint, as *ast.AsAlias) (source, error) {
	last := path[len(path)-1]
	if len(path) == 1 {
		if c := s.ctes.find(last.Name); c != nil {
			return s.cteTable(n, c, aliasOr(as, last.Name))
		}
	}
	names := make([]string, len(path))
	for i, id := range path {
		names[i] = id.Name
	}
	if s.a.lookup == nil {
		return nil, s.a.invalidAt(n, "Tables cannot be read in this expression")
	}
	t, ok := s.a.lookup(names...)
	if v, isView := s.a.schema.View(strings.Join(names, ".")); !ok && isView {
		return s.viewVar(n, v, aliasOr(as, last.Name))
	}
	if !ok {
		return nil, s.a.invalidAt(n, "Table not found: %s", strings.Join(names, "."))
	}
	scan := &tableScan{table: t}
	if err := s.forceIndex(n, scan, hint); err != nil {
		return nil, err
	}
	return s.scanVar(n, scan, aliasOr(as, last.Name))
}

func (s *scope) scanVar(n ast.Node, scan *tableScan, name string) (source, error) {
	cols := make([]rangeCol, len(scan.table.Columns))
	for i, c := range scan.table.Columns {
		cols[i] = rangeCol{name: c.Name, typ: c.Type, unlisted: c.Hidden}
	}
	rv, err := s.addVar(n, name, scan, cols)
	if err != nil {
		return nil, err
	}
	rv.leaf.fixed = true
	s.a.scans = append(s.a.scans, scan)
	return rv.leaf, nil
}

// forceIndex obeys the table hint FORCE_INDEX; other hints do not change what a
// query means.
func (s *scope) forceIndex(n ast.Node, scan *tableScan, hint *ast.Hint) error {
	if hint == nil {
		return nil
	}
	for _, r := range hint.Records {
		if equalFold(r.Key.SQL(), "spanner_emulator.disable_query_null_filtered_index_check") {
			b, ok := r.Value.(*ast.BoolLiteral)
			scan.unchecked = ok && b.Value
		}
		if !equalFold(r.Key.SQL(), "FORCE_INDEX") {
			continue
		}
		name := hintText(r.Value)
		if equalFold(name, "_BASE_TABLE") {
			continue
		}
		index, ok := scan.table.Index(name)
		if !ok {
			return s.a.invalidAt(n, "The table %s does not have a secondary index called %s", scan.table.Name, name)
		}
		scan.index = index
		scan.indexColumns = make(map[int]int)
		for i, ordinal := range index.EntryColumns() {
			if _, seen := scan.indexColumns[ordinal]; !seen {
				scan.indexColumns[ordinal] = i
			}
		}
	}
	return nil
}

// hintText is a hint's value, written as a name or as a string.
func hintText(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.StringLiteral:
		return x.Value
	case *ast.Path:
		parts := make([]string, len(x.Idents))
		for i, id := range x.Idents {
			parts[i] = id.Name
		}
		return strings.Join(parts, ".")
	}
	return x.SQL()
}

// pathTable analyses a.b in FROM: a table in a schema, or an array field of a
// table before it.
func (s *scope) pathTable(n *ast.PathTableExpr) (source, error) {
	if n.Sample != nil {
		return nil, unimplemented("TABLESAMPLE")
	}
	if rv, _, _ := s.findVar(n.Path.Idents[0].Name); rv != nil {
		as := n.As
		if as == nil {
			as = &ast.AsAlias{Alias: n.Path.Idents[len(n.Path.Idents)-1]}
		}
		return s.unnest(n, n.Path, as, n.WithOffset, nil)
	}
	return s.table(n, n.Path.Idents, n.Hint, n.As)
}
