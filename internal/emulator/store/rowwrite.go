package store

import (
	"math/bits"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/value"
)

// rowWrite is one row of a write, checked and encoded.
type rowWrite struct {
	shape *shape
	// key is the encoded primary key, and parentEnd the length of the part
	// that is the parent's key.
	key       string
	parentEnd int
	// row is the whole row as an insert stores it. An update takes the cells
	// of shape.columns from it.
	row value.Row
}

// row checks one row's values and encodes it.
func (w *writer) row(m Mutation, list []byte) error {
	s := &w.shape
	b := w.batch
	out := step{plan: s.plan, op: s.op}
	cells, late, err := w.cells(list)
	if err != nil {
		return err
	}
	// The shape is kept by the step while the writer goes on to another one.
	kept := w.keep()
	if late {
		out.late = oneRow(s.op, w.head, list)
	} else if out.row, err = encodeRow(b, kept, cells); err != nil {
		return err
	}
	b.steps = append(b.steps, out)
	return nil
}

// keep gives a pointer to the current shape that outlives the writer's change
// to another one.
func (w *writer) keep() *shape {
	if n := len(w.batch.steps); n > 0 {
		if last := w.batch.steps[n-1].row.shape; last != nil && last.plan == w.shape.plan && last.op == w.shape.op && slices.Equal(last.columns, w.shape.columns) {
			return last
		}
	}
	kept := w.shape
	return &kept
}

// oneRow is a mutation of a single row, to be prepared again when the commit
// timestamp is known.
func oneRow(op operation, head, list []byte) Mutation {
	body := slices.Clone(head)
	body = append(body, writeValuesTag)
	body = appendLengthPrefixed(body, list)
	return appendLengthPrefixed([]byte{byte(op)<<3 | 2}, body)
}

func appendLengthPrefixed(dst, b []byte) []byte {
	n := uint64(len(b))
	for n >= 0x80 {
		dst = append(dst, byte(n)|0x80)
		n >>= 7
	}
	dst = append(dst, byte(n))
	return append(dst, b...)
}

// cells gives the canonical values of a row, in request order, in memory that
// the next row reuses. late tells that the commit timestamp is among them.
func (w *writer) cells(list []byte) (cells [][]byte, late bool, err error) {
	s := &w.shape
	raw, err := value.SplitList(w.raw[:0], list)
	w.raw = raw
	if err != nil {
		return nil, false, status.Errorf(codes.InvalidArgument, "Malformed mutation: %v", err)
	}
	if len(raw) != len(s.columns) {
		return nil, false, status.Errorf(codes.InvalidArgument, "Mutation has mismatched number of columns and values: found %d columns and %d values.", len(s.columns), len(raw))
	}
	w.scratch, w.ends = w.scratch[:0], w.ends[:0]
	for i, c := range s.columns {
		if isSentinel(raw[i]) && c.Type.Code != value.StringCode {
			late = late || w.batch.commitText == ""
			if w.scratch, err = w.sentinel(c); err != nil {
				return nil, false, err
			}
		} else if err = w.cell(c, raw[i]); err != nil {
			return nil, false, err
		}
		w.ends = append(w.ends, len(w.scratch))
	}
	late = late || w.batch.commitText == "" && s.stamps
	start := 0
	for i, end := range w.ends {
		raw[i] = w.scratch[start:end:end]
		start = end
	}
	return raw, late, nil
}

func (w *writer) sentinel(c *catalog.Column) ([]byte, error) {
	if err := w.shape.plan.allowsSentinel(c); err != nil {
		return w.scratch, err
	}
	if w.batch.commitText == "" {
		return w.scratch, nil
	}
	t, _ := value.ParseTimestamp(w.batch.commitText)
	return t.AppendWire(w.scratch), nil
}

func (w *writer) cell(c *catalog.Column, raw []byte) error {
	t := w.shape.plan.table
	at := len(w.scratch)
	var err error
	if w.scratch, err = value.Canonical(w.scratch, c.Type, raw); err != nil {
		return cellError(err, t, c)
	}
	if err := checkCell(t, c, w.scratch[at:]); err != nil {
		return err
	}
	return checkFuture(c, w.scratch[at:], w.batch.now)
}

// encodeRow makes the row and its key.
func encodeRow(b *batch, s *shape, cells [][]byte) (rowWrite, error) {
	row, err := s.assemble(b, cells)
	if err != nil {
		return rowWrite{}, err
	}
	out := rowWrite{shape: s, row: row}
	if err := out.setKey(s, cells); err != nil {
		return rowWrite{}, err
	}
	return out, nil
}

func (s *shape) assemble(b *batch, cells [][]byte) (value.Row, error) {
	size := 0
	for _, c := range cells {
		size += len(c) + 1 + (bits.Len(uint(len(c)))+6)/7
	}
	size += 4 * (len(s.source) - len(cells))
	row := make(value.Row, 0, size)
	for slot, i := range s.source {
		switch {
		case i >= 0:
			row = row.AppendCell(cells[i])
		case s.op != opUpdate && s.plan.defaults[slot] != nil:
			cell, err := s.plan.defaults[slot].cell(b.now)
			if err != nil {
				return nil, err
			}
			row = row.AppendCell(cell)
		case s.op != opUpdate && s.plan.identity[slot] != nil:
			row = row.AppendValue(value.Int64(s.plan.identity[slot].Next()))
		default:
			row = row.AppendNull()
		}
	}
	if s.op != opUpdate && s.computesKey() {
		return s.plan.recompute(row)
	}
	return row, nil
}

func noCell(*catalog.Column) []byte { return []byte{0x08, 0} }

func (s *shape) computesKey() bool {
	for i, k := range s.plan.table.PrimaryKey {
		if c := s.plan.table.Columns[k.Column]; s.key[i] < 0 && (c.Generated != nil) {
			return true
		}
	}
	return false
}

func (r *rowWrite) setKey(s *shape, cells [][]byte) error {
	var buf [128]byte
	key := buf[:0]
	t := s.plan.table
	for i, k := range t.PrimaryKey {
		c := t.Columns[k.Column]
		var cell []byte
		if at := s.key[i]; at >= 0 {
			cell = cells[at]
		} else {
			cell = r.row.Cell(c.Slot)
		}
		key = value.AppendKey(key, c.Type, cell, k.Order())
		if p := s.plan.parent; p != nil && i == len(p.table.PrimaryKey)-1 {
			r.parentEnd = len(key)
		}
	}
	if len(key) > maxKeyBytes {
		return keyTooLong(t.Name, len(key))
	}
	r.key = string(key)
	return nil
}

func keyTooLong(owner string, size int) error {
	return status.Errorf(codes.InvalidArgument, "Number of bytes for key of table %s is %d which exceeds the maximum of %d.", owner, size, maxKeyBytes)
}

// merged is the stored row with the written columns replaced, and those that
// have ON UPDATE. ts is the commit's timestamp.
func (r *rowWrite) merged(old value.Row, ts int64) (value.Row, error) {
	out := make(value.Row, 0, len(old)+len(r.row))
	fresh := r.row
	for slot, from := range r.shape.source {
		cell, rest := cut(fresh)
		oldCell, oldRest := cut(old)
		if from < 0 {
			cell = oldCell
			if v := r.shape.plan.onUpdate[slot]; v != nil {
				var err error
				if cell, err = v.cell(ts); err != nil {
					return nil, err
				}
			}
		}
		out = out.AppendCell(cell)
		fresh, old = rest, oldRest
	}
	if cap(out)-len(out) > len(out)/8 {
		return slices.Clone(out), nil // what is kept should not be half empty
	}
	return out, nil
}

// cut takes the first cell off a row; rows from before a column was added are
// shorter and go on with NULLs.
func cut(r value.Row) (cell []byte, rest value.Row) {
	if len(r) == 0 {
		return r.Cell(0), r
	}
	cell = r.Cell(0)
	n := len(cell)
	return cell, r[1+(max(bits.Len(uint(n)), 1)+6)/7+n:]
}

// recompute gives the row with its generated columns evaluated.
func (p *plan) recompute(row value.Row) (value.Row, error) {
	for _, g := range p.computed {
		v, err := g.expr(func(c *catalog.Column) []byte { return row.Cell(c.Slot) })
		if err != nil {
			return nil, err
		}
		row = withCell(row, g.column.Slot, v.AppendWire(nil), p.table.Slots)
	}
	return row, nil
}

// withCell is a copy of the row with one cell replaced.
func withCell(row value.Row, slot int, cell []byte, slots int) value.Row {
	out := make(value.Row, 0, len(row)+len(cell)+2)
	for i := range slots {
		var old []byte
		old, row = cut(row)
		if i == slot {
			old = cell
		}
		out = out.AppendCell(old)
	}
	return out
}

// keyOf spells a row's key the way the service does: [1,a].
func (p *plan) keyOf(row value.Row) string {
	cols := make([]*catalog.Column, len(p.table.PrimaryKey))
	for i, k := range p.table.PrimaryKey {
		cols[i] = p.table.Columns[k.Column]
	}
	return cellsText(row, cols)
}

func cellsText(row value.Row, cols []*catalog.Column) string {
	parts := make([]string, len(cols))
	for i, c := range cols {
		v, err := value.FromWire(c.Type, row.Cell(c.Slot))
		switch {
		case err != nil || v.IsNull():
			parts[i] = "NULL"
		default:
			parts[i] = string(v.AppendText(nil))
		}
	}
	return "[" + strings.Join(parts, ",") + "]"
}
