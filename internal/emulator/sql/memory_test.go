package sql_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/infoschema"
	"spanbulk/internal/emulator/relation"
	"spanbulk/internal/emulator/value"
)

// memory is a relation.Snapshot over slices: enough of a store to run queries.
type memory struct {
	schema *catalog.Schema
	tables map[int][]stored
	// scanned counts the rows that scans gave, to see what was not read.
	scanned int
}

type stored struct {
	key []byte
	row value.Row
}

func newMemory(tb testing.TB, ddl ...string) *memory {
	tb.Helper()
	return memoryOf(tb, catalog.Empty(), ddl)
}

func memoryOf(tb testing.TB, schema *catalog.Schema, ddl []string) *memory {
	tb.Helper()
	m := &memory{schema: schema, tables: make(map[int][]stored)}
	for _, stmt := range ddl {
		next, err := m.schema.Apply(stmt)
		if err != nil {
			tb.Fatalf("%s: %v", stmt, err)
		}
		m.schema = next
	}
	return m
}

// insert adds a row given as Go values in the order of the table's columns.
func (m *memory) insert(tb testing.TB, table string, cells ...any) {
	tb.Helper()
	t, ok := m.schema.Table(table)
	if !ok || len(cells) != len(t.Columns) {
		tb.Fatalf("insert into %s: no such table, or wrong number of cells", table)
	}
	var row value.Row
	for i, c := range cells {
		row = row.AppendValue(cellValue(tb, t.Columns[i].Type, c))
	}
	m.put(t.ID, t, t.PrimaryKey, row, row)
	for _, x := range t.Indexes {
		if x.NullFiltered && slices.ContainsFunc(x.Key, func(k catalog.KeyPart) bool { return value.IsNullWire(row.Cell(k.Column)) }) {
			continue
		}
		var entry value.Row
		for _, n := range x.EntryColumns() {
			entry = entry.AppendCell(row.Cell(n))
		}
		m.put(x.ID, t, append(slices.Clone(x.Key), x.Suffix...), row, entry)
	}
}

func (m *memory) put(id int, t *catalog.Table, parts []catalog.KeyPart, row, entry value.Row) {
	var key []byte
	for _, p := range parts {
		key = value.AppendKey(key, t.Columns[p.Column].Type, row.Cell(p.Column), p.Order())
	}
	rows := m.tables[id]
	at, _ := slices.BinarySearchFunc(rows, key, func(s stored, k []byte) int { return bytes.Compare(s.key, k) })
	m.tables[id] = slices.Insert(rows, at, stored{key, entry})
}

func cellValue(tb testing.TB, t *value.Type, c any) value.Value {
	tb.Helper()
	switch c := c.(type) {
	case nil:
		return value.Null(t)
	case int:
		return value.Int64(int64(c))
	case float64:
		return value.Float64(c)
	case bool:
		return value.Bool(c)
	case value.Value:
		return c
	case string:
		v, err := value.FromWire(t, value.String(c).AppendWire(nil))
		if err != nil {
			tb.Fatalf("cell %q: %v", c, err)
		}
		return v
	}
	tb.Fatalf("cell of type %T", c)
	return value.Value{}
}

func (m *memory) Schema() *catalog.Schema { return m.schema }
func (m *memory) Timestamp() time.Time    { return time.Unix(0, 0) }
func (m *memory) Now() time.Time          { return time.Now() }

func (m *memory) Table(path ...string) (*catalog.Table, bool) {
	if len(path) == 2 {
		if t, ok := infoschema.Table(m.schema, path[0], path[1]); ok {
			return t, true
		}
	}
	return m.schema.Table(strings.Join(path, "."))
}

func (m *memory) Scan(_ context.Context, s relation.Scan) iter.Seq2[value.Row, error] {
	return func(yield func(value.Row, error) bool) {
		// Rows are given in one buffer, to prove that nothing relies on an old one.
		var buf value.Row
		give := func(r value.Row) bool {
			m.scanned++
			clear(buf)
			buf = append(buf[:0], r...)
			return yield(buf, nil)
		}
		if s.Table.Virtual {
			for r := range infoschema.Rows(m.schema, s.Table) {
				if !give(r) {
					return
				}
			}
			return
		}
		id := s.Table.ID
		if s.Index != nil {
			id = s.Index.ID
		}
		for _, r := range m.tables[id] {
			if inRanges(s.Ranges, r.key) && !give(r.row) {
				return
			}
		}
	}
}

func inRanges(ranges []relation.KeyRange, key []byte) bool {
	if ranges == nil {
		return true
	}
	return slices.ContainsFunc(ranges, func(r relation.KeyRange) bool {
		return bytes.Compare(key, r.Start) >= 0 && (len(r.End) == 0 || bytes.Compare(key, r.End) < 0)
	})
}

// render spells a row for comparison with a test's expectation.
func render(cols []value.Field, row value.Row) string {
	parts := make([]string, len(cols))
	for i, c := range cols {
		v, err := value.FromWire(c.Type, row.Cell(i))
		if err != nil {
			parts[i] = "?" + err.Error()
			continue
		}
		parts[i] = spell(v)
	}
	return strings.Join(parts, ", ")
}

func spell(v value.Value) string {
	if v.IsNull() {
		return "NULL"
	}
	switch v.Type().Code {
	case value.StringCode:
		return strconv.Quote(v.AsString())
	case value.BytesCode:
		return "b" + strconv.Quote(v.AsString())
	case value.ArrayCode, value.StructCode:
		parts := make([]string, len(v.List()))
		for i, item := range v.List() {
			parts[i] = spell(item)
		}
		if v.Type().Code == value.StructCode {
			return "{" + strings.Join(parts, " ") + "}"
		}
		return "[" + strings.Join(parts, " ") + "]"
	}
	return string(v.AppendText(nil))
}

func spellColumns(cols []value.Field) string {
	parts := make([]string, len(cols))
	for i, c := range cols {
		parts[i] = fmt.Sprintf("%s %s", c.Name, c.Type)
	}
	return strings.Join(parts, ", ")
}
