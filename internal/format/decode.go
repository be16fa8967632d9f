package format

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"spanbulk/internal/wire"
)

// Decoder reads records for one goroutine. It keeps scratch space between
// records, which it reads without allocating.
type Decoder struct {
	o      *DecodeOptions
	record Record
	values []wire.Value
	arena  []byte // what values point into
	scan   scanner
	valid  bool  // the chunk is all UTF-8
	err    error // of Resolve

	made      []byte // the record as JSON, for DecodeOptions.Transform
	plans     map[planKey]*plan
	latest    *plan // that of latestKey, which most records ask for again
	latestKey planKey
	views     map[planKey]*jsonView
	tables    map[string]*Target
	csv       *csvDecoder
	avro      avroBlocks
}

// plan is what a Decoder has worked out for the records of one layout that go
// to one table.
type plan struct {
	*binding
	fields shape        // NDJSON: names met so far
	csv    []csvPlanned // CSV: by field
	avro   *avroRecord  // Avro
	err    *RecordError // CSV, Avro: why the layout does not fit the table
}

type planKey struct {
	target *Target
	layout *Layout
}

// NewDecoder returns a Decoder. o must not change afterwards.
func NewDecoder(o *DecodeOptions) (*Decoder, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return &Decoder{o: o, plans: map[planKey]*plan{}, views: map[planKey]*jsonView{}, tables: map[string]*Target{}}, nil
}

// LayoutError is an input whose beginning does not fit its table: none of its
// records can be read. It holds no value.
type LayoutError struct{ Err *RecordError }

func (e *LayoutError) Error() string { return e.Err.Error() }

// keepArena bounds the scratch space that is kept after a large record.
const keepArena = 1 << 20

// Decode reads the records of c in order and hands each to each, refused ones
// too. t is the table of records that do not name their own; it may be nil if
// all must. The Record and what it points to are valid until each returns, but
// for Raw, which is part of c. The error is that of each, of Resolve or of
// Transform, or a *LayoutError or *InputError; the records before it have been
// handed on.
func (d *Decoder) Decode(t *Target, c *Chunk, each func(*Record) error) error {
	if c.Refused != nil {
		// Without Raw: a part of a record must not pass for the record, as it
		// would in a dead letter.
		d.record = Record{Line: c.Line, Err: c.Refused}
		return each(&d.record)
	}
	hand := each
	each = func(r *Record) error {
		if d.err != nil {
			return d.err
		}
		return hand(r)
	}
	defer func() {
		if cap(d.arena) > keepArena {
			d.arena, d.scan.scratch = nil, nil
		}
		if cap(d.made) > keepArena {
			d.made = nil
		}
		if d.csv != nil && cap(d.csv.record.undoubled) > keepArena {
			d.csv.record.undoubled = nil
		}
		d.scan.data = nil
		// Nothing of the chunk, nor what its values are in, is kept alive by what
		// is left of its last record.
		clear(d.values[:cap(d.values)])
		d.record = Record{}
	}()
	c.made = c.made[:0]
	switch c.Kind {
	case Avro:
		return d.decodeAvro(t, c, each)
	case CSV:
		d.valid = utf8.Valid(c.Data)
		return d.decodeCSV(t, c, each)
	default:
		d.valid = utf8.Valid(c.Data)
		return d.decodeNDJSON(t, c, each)
	}
}

// begin makes d.record the record raw, for which nothing is known yet.
func (d *Decoder) begin(raw []byte, line int64, offset int) *Record {
	d.record = Record{Raw: raw, Line: line, Offset: offset, Operation: d.o.operation()}
	if d.arena = d.arena[:0]; len(raw) > max(keepArena, cap(d.arena)) {
		d.arena = make([]byte, 0, len(raw)) // mostly enough, and not by and by
	}
	return &d.record
}

// beginValues gives the record the columns of its table, all absent.
func (d *Decoder) beginValues(r *Record, t *Target) {
	r.Target = t
	if n := len(t.columns()); cap(d.values) < n {
		d.values = make([]wire.Value, n)
	}
	d.values = d.values[:len(t.columns())]
	clear(d.values)
	r.Values = d.values
}

func (d *Decoder) planFor(t *Target, l *Layout) *plan {
	key := planKey{t, l}
	if d.latest != nil && d.latestKey == key {
		return d.latest
	}
	p := d.plans[key]
	if p == nil {
		p = &plan{binding: d.o.bind(t)}
		d.plans[key] = p
		switch {
		case l == nil:
			p.fields.init()
		case l.avro != nil:
			p.avro, p.err = p.planAvro(l.avro)
		default:
			p.csv, p.err = p.planCSV(l)
		}
	}
	d.latest, d.latestKey = p, key
	return p
}

// table finds the Target of the record that names it; nil if there is none.
func (d *Decoder) table(name []byte) *Target {
	if t, ok := d.tables[string(name)]; ok {
		return t
	}
	t, err := d.o.Resolve(string(name))
	if err != nil {
		d.err = err
		return nil
	}
	if len(d.tables) < maxLearned {
		d.tables[string(name)] = t
	}
	return t
}

var (
	errNoSuchTable     = errors.New("names no table of the database")
	errNotOperation    = errors.New("names no operation: insert, update, insert-or-update, replace or delete")
	errNotChange       = errors.New("is none of INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE")
	errFieldMissing    = errors.New("is missing")
	errRepeated        = errors.New("the record has it twice")
	errKeyMissing      = errors.New("the key column is missing")
	errInvalidBytes    = errors.New("bytes that are not UTF-8")
	errRangeNotDeleted = errors.New("a key range can only be deleted")
	errRangeAndMore    = errors.New("a key range stands beside other columns")
)

func fieldError(name string, err error) *RecordError {
	return &RecordError{Reason: fmt.Sprintf("field %q %v", name, err)}
}

// operation takes the text of the operation field.
func (d *Decoder) operation(r *Record, text []byte) *RecordError {
	if !d.o.Changelog {
		op, ok := ParseOperation(text)
		if !ok {
			return fieldError(d.o.OperationField, errNotOperation)
		}
		r.Operation = op
		return nil
	}
	switch string(text) {
	case "INSERT", "UPDATE_AFTER":
		r.Operation = wire.InsertOrUpdate
	case "UPDATE_BEFORE":
		r.Skip = true
	case "DELETE":
		r.Operation = wire.Delete
	default:
		return fieldError(d.o.OperationField, errNotChange)
	}
	return nil
}

// tooLarge is the reason for a record above the bound.
func tooLarge(limit int) string {
	return fmt.Sprintf("the record is larger than %d bytes (--max-record-bytes)", limit)
}

// refuse puts the reason in a record for which it is not there yet.
func refuse(r *Record, err *RecordError) {
	if err.Line == 0 {
		err.Line = r.Line
	}
	r.Err = err
}

func unknownColumn(t *Target, what, name string) error {
	return fmt.Errorf("%s: table %s has no column %s%s", what, t.table.Name, name, didYouMean(t, name))
}

func didYouMean(t *Target, name string) string {
	if near := nearest(t, name); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

// joinNames lists names for people.
func joinNames(names []string) string { return strings.Join(names, ", ") }
