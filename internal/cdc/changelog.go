package cdc

import (
	"fmt"
	"slices"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"

	"spanbulk/internal/fault"
	"spanbulk/internal/format"
	"spanbulk/internal/schema"
	"spanbulk/internal/wire"
)

// The operations of rows.
const (
	opInsert       = "INSERT"
	opUpdateBefore = "UPDATE_BEFORE"
	opUpdateAfter  = "UPDATE_AFTER"
	opDelete       = "DELETE"
)

// rowLines writes data change records as rows: a line for each state of a row,
// with the operation, the chosen metadata and the columns. It is for one
// goroutine.
type rowLines struct {
	mode      Mode
	meta      metadata
	partition []byte
	values    format.ValueOptions
	text      bool
	fixed     *fixedRows // nil: lines of JSON

	plans map[string]*rowPlan // by what rowKey says of a record's columns

	key      []byte       // scratch of rowKey
	arena    []byte       // values of the current mod in wire form
	new, old []wire.Value // by column; nil is absent
	row      []wire.Value
}

// fixedRows are rows that all have the same columns, as CSV and Avro need it.
type fixedRows struct {
	format  format.Format
	columns []*spannerpb.StructType_Field // those of the table
	dialect schema.Dialect
}

// rowPlan is what writing the rows of records with certain columns takes.
type rowPlan struct {
	columns []rowColumn
	byName  map[string]int
	// all and keys are the columns of a row and of a deleted key, by position.
	all, keys       []int
	rowEnc, keysEnc format.Encoder
}

type rowColumn struct {
	name string
	typ  *spannerpb.Type
	key  bool
}

func newRowLines(o *Options, meta metadata, partition string, fixed *fixedRows) *rowLines {
	return &rowLines{
		mode: o.Mode, meta: meta, partition: wire.AppendString(nil, partition), values: o.Values, text: o.Text,
		fixed: fixed, plans: map[string]*rowPlan{},
	}
}

// head are the fields of a row before its columns.
func (r *rowLines) head() []*spannerpb.StructType_Field { return rowHead(&r.meta) }

func rowHead(m *metadata) []*spannerpb.StructType_Field {
	op := &spannerpb.StructType_Field{Name: "__op", Type: &spannerpb.Type{Code: spannerpb.TypeCode_STRING}}
	return append([]*spannerpb.StructType_Field{op}, m.fields()...)
}

// append appends the rows of c, all of them or, with an error, none.
func (r *rowLines) append(dst []byte, c *Change) (out []byte, rows int, err error) {
	start := len(dst)
	if err := r.checkCapture(c); err != nil {
		return dst, 0, err
	}
	plan, err := r.plan(c)
	if err != nil {
		return dst, 0, refuse(c, 0, err.Error(), "")
	}
	for i := range c.Mods {
		n := 0
		if dst, n, err = r.appendMod(dst, plan, c, i); err != nil {
			return dst[:start], 0, err
		}
		rows += n
	}
	return dst, rows, nil
}

// checkCapture wants a capture type that gives the rows all they need.
func (r *rowLines) checkCapture(c *Change) error {
	switch capture := string(c.Capture); {
	case capture == captureNewRowAndOldValues, r.mode == Upsert && capture == captureNewRow:
		return nil
	default:
		return refuse(c, 0, fmt.Sprintf("the record was captured as %s", c.Capture), captureHint(r.mode))
	}
}

func captureHint(m Mode) string {
	if m == Full {
		return "the changelog mode full needs a change stream with value_capture_type NEW_ROW_AND_OLD_VALUES"
	}
	return "the changelog mode upsert needs a change stream with value_capture_type NEW_ROW or NEW_ROW_AND_OLD_VALUES"
}

// refuse makes the error of a change that cannot become rows. It names the place
// and no value.
func refuse(c *Change, mod int, reason, hint string) error {
	object := fmt.Sprintf("a change of table %s (commit timestamp %s, transaction %s, sequence %s, mod %d)",
		c.Table, c.CommitText, c.Transaction, c.Sequence, mod)
	return fault.New(codes.FailedPrecondition, "make rows of", object, reason).WithHint(hint)
}

func (r *rowLines) appendMod(dst []byte, p *rowPlan, c *Change, i int) ([]byte, int, error) {
	m := &c.Mods[i]
	r.arena = r.arena[:0]
	r.new, r.old = cleared(r.new, len(p.columns)), cleared(r.old, len(p.columns))
	for _, part := range []struct {
		cells  []wire.Value
		object []byte
	}{{r.new, m.Keys}, {r.old, m.Keys}, {r.new, m.New}, {r.old, m.Old}} {
		if err := r.read(p, part.cells, part.object); err != nil {
			return dst, 0, refuse(c, i, err.Error(), "")
		}
	}
	switch string(c.ModType) {
	case modInsert:
		dst, err := r.appendRow(dst, p, c, i, opInsert, r.new)
		return dst, 1, err
	case modDelete:
		dst, err := r.appendRow(dst, p, c, i, opDelete, r.old)
		return dst, 1, err
	case modUpdate:
		return r.appendUpdate(dst, p, c, i)
	default:
		return dst, 0, refuse(c, i, "it has an unknown mod type", "")
	}
}

func cleared(cells []wire.Value, n int) []wire.Value {
	cells = slices.Grow(cells[:0], n)[:n]
	clear(cells)
	return cells
}

// appendUpdate writes one row or two. Of the old values Spanner sends those that
// were written; the others are as they are in the new row.
func (r *rowLines) appendUpdate(dst []byte, p *rowPlan, c *Change, i int) ([]byte, int, error) {
	rows := 1
	if r.mode == Full {
		for k := range r.old {
			if r.old[k] == nil {
				r.old[k] = r.new[k]
			}
		}
		var err error
		if dst, err = r.appendRow(dst, p, c, i, opUpdateBefore, r.old); err != nil {
			return dst, 0, err
		}
		rows++
	}
	dst, err := r.appendRow(dst, p, c, i, opUpdateAfter, r.new)
	return dst, rows, err
}

// appendRow writes one row, of which every column must be there.
func (r *rowLines) appendRow(dst []byte, p *rowPlan, c *Change, mod int, op string, cells []wire.Value) ([]byte, error) {
	columns, enc := p.all, p.rowEnc
	if op == opDelete && r.mode == Upsert {
		columns, enc = p.keys, p.keysEnc
	}
	r.row = r.row[:0]
	r.appendCell(func(b []byte) []byte { return wire.AppendString(b, op) })
	for _, k := range r.meta.keys {
		r.appendCell(func(b []byte) []byte { return k.value(b, c, mod) })
	}
	if r.meta.partition {
		r.row = append(r.row, r.partition)
	}
	for _, at := range columns {
		if cells[at] == nil {
			return dst, refuse(c, mod, fmt.Sprintf("Spanner left out column %s of the %s row", p.columns[at].name, op), "")
		}
		r.row = append(r.row, cells[at])
	}
	if r.text {
		dst = append(appendTextHead(dst, c.CommitText, []byte(op), c.Table), ' ')
	}
	dst, err := enc.AppendRow(dst, r.row)
	if err != nil {
		return dst, refuse(c, mod, err.Error(), "")
	}
	return dst, nil
}

func (r *rowLines) appendCell(value func([]byte) []byte) {
	start := len(r.arena)
	r.arena = value(r.arena)
	r.row = append(r.row, r.arena[start:len(r.arena):len(r.arena)])
}

// read puts the values of a mod's JSON object into cells.
func (r *rowLines) read(p *rowPlan, cells []wire.Value, object []byte) error {
	if len(object) == 0 {
		return nil
	}
	j := jsonText{text: object}
	var scratch [64]byte
	err := j.object(func(name, value []byte) error {
		column, _, err := unquote(name, scratch[:0])
		if err != nil {
			return err
		}
		at, ok := p.byName[string(column)]
		if !ok {
			return fmt.Errorf("it has a value of column %s and does not describe it", column)
		}
		start := len(r.arena)
		if r.arena, err = appendJSONAsValue(r.arena, value, p.columns[at].typ); err != nil {
			return fmt.Errorf("column %s: %w", column, err)
		}
		cells[at] = r.arena[start:len(r.arena):len(r.arena)]
		return nil
	})
	if err != nil {
		return err
	}
	return j.end()
}

// plan finds the plan for c's columns, or makes it.
func (r *rowLines) plan(c *Change) (*rowPlan, error) {
	r.key = append(append(r.key[:0], c.Table...), 0)
	for i := range c.Columns {
		col := &c.Columns[i]
		r.key = append(append(append(append(r.key, col.Name...), 0), col.Type...), '0')
		if col.Key {
			r.key[len(r.key)-1] = '1'
		}
	}
	if p := r.plans[string(r.key)]; p != nil {
		return p, nil
	}
	p, err := r.newPlan(c)
	if err == nil {
		r.plans[string(r.key)] = p
	}
	return p, err
}

func (r *rowLines) newPlan(c *Change) (*rowPlan, error) {
	p := &rowPlan{byName: map[string]int{}}
	for i := range c.Columns {
		col := &c.Columns[i]
		typ := &spannerpb.Type{}
		if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(col.Type, typ); err != nil {
			return nil, fmt.Errorf("column %s has a type that this program does not know", col.Name)
		}
		p.byName[string(col.Name)] = i
		p.columns = append(p.columns, rowColumn{name: string(col.Name), typ: typ, key: col.Key})
		p.all = append(p.all, i)
		if col.Key {
			p.keys = append(p.keys, i)
		}
	}
	if r.fixed != nil {
		return p, p.fix(r.fixed)
	}
	var err error
	if p.rowEnc, err = r.jsonEncoder(p, p.all); err != nil {
		return nil, err
	}
	p.keysEnc, err = r.jsonEncoder(p, p.keys)
	return p, err
}

func (r *rowLines) jsonEncoder(p *rowPlan, columns []int) (format.Encoder, error) {
	fields := r.head()
	for _, at := range columns {
		fields = append(fields, &spannerpb.StructType_Field{Name: p.columns[at].name, Type: p.columns[at].typ})
	}
	f, err := format.NewNDJSON(fields, r.values)
	if err != nil {
		return nil, err
	}
	return f.NewEncoder(), nil
}

// fix puts the columns into the order of rows that all have the same. A column
// more or less than these is an error: the table has changed.
func (p *rowPlan) fix(f *fixedRows) error {
	p.all = nil
	for _, field := range f.columns {
		at, ok := p.byName[field.GetName()]
		if !ok {
			return fmt.Errorf("it lacks column %s, which the output has", field.GetName())
		}
		if got, want := f.dialect.TypeName(p.columns[at].typ), f.dialect.TypeName(field.GetType()); got != want {
			return fmt.Errorf("column %s has type %s, and the output was begun with %s", field.GetName(), got, want)
		}
		p.all = append(p.all, at)
	}
	for i, c := range p.columns {
		if !slices.Contains(p.all, i) {
			return fmt.Errorf("it has column %s, which the output has not", c.name)
		}
	}
	p.rowEnc = f.format.NewEncoder()
	return nil
}
