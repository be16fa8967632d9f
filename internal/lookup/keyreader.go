package lookup

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"cloud.google.com/go/spanner/apiv1/spannerpb"

	"spanbulk/internal/format"
	"spanbulk/internal/schema"
	"spanbulk/internal/wire"
)

// maxKeyBytes bounds a key in its wire form. Spanner's bound is 8 KiB, of which
// BYTES take a third more as base64; a longer key cannot be that of a row.
const maxKeyBytes = 16 << 10

// KeyReaderOptions say how records are read.
type KeyReaderOptions struct {
	CSV format.CSVInput
	// MaxRecordBytes bounds a record; format.DefaultMaxRecordBytes if 0.
	MaxRecordBytes int
	// Names are the fields that columns will become. A record that has one of
	// them is refused.
	Names []string
}

// KeyReaders make Blocks of chunks.
type KeyReaders struct {
	target  *format.Target
	options *format.DecodeOptions
	dialect schema.Dialect
	key     []keyField
	names   []string // that records must not have
	pool    sync.Pool
}

// keyField is where the decoder has a part of the key.
type keyField struct {
	column int
	label  string // "Id (INT64)"
	float  bool
}

// NewKeyReaders prepares the reading of keys.
func (l *Lookup) NewKeyReaders(o KeyReaderOptions) (*KeyReaders, error) {
	r := &KeyReaders{
		options: &format.DecodeOptions{IgnoreUnknown: true, CSV: o.CSV, MaxRecordBytes: o.MaxRecordBytes},
		dialect: l.opt.Dialect, names: o.Names,
	}
	// To the decoder the fields of the key are the columns of a table, and so are
	// those that are not to be there, of a type that takes every value.
	table := &schema.Table{Name: schema.Name{Name: l.opt.Table}, Dialect: l.opt.Dialect}
	for i, k := range l.opt.Key {
		at, err := addKeyField(table, k.Field, l.keyTypes[i])
		if err != nil {
			return nil, err
		}
		code := l.keyTypes[i].GetCode()
		r.key = append(r.key, keyField{
			column: at, label: fmt.Sprintf("%s (%s)", table.Columns[at].Name, l.opt.Dialect.TypeName(l.keyTypes[i])),
			float: code == spannerpb.TypeCode_FLOAT32 || code == spannerpb.TypeCode_FLOAT64,
		})
	}
	for _, name := range o.Names {
		if _, isKey := table.Column(name); isKey {
			return nil, fmt.Errorf("%s would stand beside the field %s of the key", name, name)
		}
		table.Columns = append(table.Columns, schema.Column{Name: name, Type: &spannerpb.Type{Code: spannerpb.TypeCode_JSON}})
	}
	r.target = format.NewTarget(table, false)
	return r, r.options.Validate()
}

// addKeyField returns the position of the field as a column; one field can be
// several parts of the key.
func addKeyField(table *schema.Table, field string, t *spannerpb.Type) (int, error) {
	i := slices.IndexFunc(table.Columns, func(c schema.Column) bool { return table.Dialect.SameName(c.Name, field) })
	if i < 0 {
		table.Columns = append(table.Columns, schema.Column{Name: field, Type: t})
		return len(table.Columns) - 1, nil
	}
	if have, also := table.Dialect.TypeName(table.Columns[i].Type), table.Dialect.TypeName(t); have != also {
		return 0, fmt.Errorf("field %s cannot be both a %s and a %s", field, have, also)
	}
	return i, nil
}

// KeyReader reads chunks for one goroutine.
type KeyReader struct {
	*KeyReaders
	decoder *format.Decoder
	block   *Block
	layout  *format.Layout // the last one that was checked
}

// NewReader returns a KeyReader.
func (r *KeyReaders) NewReader() (*KeyReader, error) {
	decoder, err := format.NewDecoder(r.options)
	return &KeyReader{KeyReaders: r, decoder: decoder}, err
}

// errStop ends a chunk at a record that cannot be read.
var errStop = errors.New("stop")

// Read reads the records of a chunk up to the first that cannot be read, which
// Run will report in its turn. The caller sets the Block's Place and Release.
// The error is of the input as a whole; beside it there is a Block if records
// came before it, and else none.
func (r *KeyReader) Read(c *format.Chunk) (*Block, error) {
	if err := r.checkLayout(c.Layout); err != nil {
		return nil, err
	}
	b, ok := r.pool.Get().(*Block)
	if !ok {
		b = &Block{pool: &r.pool}
	}
	b.Kind, b.Layout = c.Kind, c.Layout
	b.refs.Store(1)
	r.block = b
	err := r.decoder.Decode(r.target, c, r.record)
	switch {
	case err == nil || err == errStop:
		return b, nil
	case len(b.records) == 0:
		b.free()
		return nil, err
	default:
		return b, err
	}
}

// checkLayout refuses inputs all of whose records have a field that a column is
// to become.
func (r *KeyReader) checkLayout(l *format.Layout) error {
	if l == r.layout {
		return nil
	}
	r.layout = l
	for _, field := range l.Names() {
		for _, name := range r.names {
			if r.dialect.SameName(field, name) {
				return &format.LayoutError{Err: &format.RecordError{Line: 1, Reason: collision(name)}}
			}
		}
	}
	for _, k := range r.key {
		have := func(field string) bool { return r.dialect.SameName(field, r.target.Table().Columns[k.column].Name) }
		if l.Names() != nil && !slices.ContainsFunc(l.Names(), have) {
			return &format.LayoutError{Err: &format.RecordError{Line: 1, Reason: "the key field " + k.label + " is missing"}}
		}
	}
	return nil
}

func collision(name string) string {
	return fmt.Sprintf("the records have a field %s, which a column is to become (--prefix or --nest puts the columns elsewhere)", name)
}

func (r *KeyReader) record(in *format.Record) error {
	b := r.block
	if in.Err == nil {
		in.Err = r.check(in)
	}
	if in.Err != nil {
		failure := *in.Err
		if failure.Line == 0 {
			failure.Line = in.Line
		}
		b.failure = &failure
		return errStop
	}
	start := len(b.keys)
	null := false
	for i := range r.key {
		v := in.Values[r.key[i].column]
		if v.IsNull() {
			null = true
			break
		}
		if r.key[i].float {
			v = positiveZero(v)
		}
		b.keys = wire.AppendElement(b.keys, v)
	}
	switch size := len(b.keys) - start; {
	case null:
		b.keys = b.keys[:start]
	case size > maxKeyBytes:
		b.failure = &format.RecordError{Line: in.Line, Reason: fmt.Sprintf("the key takes %d bytes, and Spanner's keys have at most 8 KiB", size)}
		b.keys = b.keys[:start]
		return errStop
	}
	b.records = append(b.records, record{raw: in.Raw, start: uint32(start), end: uint32(len(b.keys)), null: null})
	return nil
}

// check looks for fields that are missing or too many.
func (r *KeyReader) check(in *format.Record) *format.RecordError {
	for i := range r.key {
		if in.Values[r.key[i].column] == nil {
			return &format.RecordError{Reason: "the key field " + r.key[i].label + " is missing"}
		}
	}
	for i := len(in.Values) - len(r.names); i < len(in.Values); i++ {
		if in.Values[i] != nil {
			return &format.RecordError{Reason: collision(r.names[i-len(in.Values)+len(r.names)])}
		}
	}
	return nil
}

// positiveZero takes the sign off a zero: in keys, -0 is 0.
func positiveZero(v wire.Value) wire.Value {
	kind, p := v.Parse()
	if kind == wire.Number && wire.Float64(p) == 0 && math.Signbit(wire.Float64(p)) {
		return wire.AppendNumber(nil, 0)
	}
	return v
}
