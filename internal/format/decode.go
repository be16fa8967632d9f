package format

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"spanbulk/internal/wire"
)

// DefaultMaxRecordBytes bounds a record where DecodeOptions do not.
const DefaultMaxRecordBytes = 64 << 20

// Chunk is a stretch of an input that holds whole records. A Splitter makes
// Chunks, a Decoder reads their records.
type Chunk struct {
	Kind Kind
	Data []byte
	// Offset is where Data begins in the decompressed input, in bytes.
	Offset int64
	// Line is the line Data begins with, counted from 1; for Avro the number of
	// its first record.
	Line int64
	// Layout is what the beginning of the input tells of all records: the names
	// in a CSV header, an Avro schema.
	Layout *Layout
	// Refused, if set, says why Data, the beginning of one record, is all there
	// is of it: it is larger than the Splitter's bound.
	Refused *RecordError
	// Last says that the input ends with Data.
	Last bool

	plain []byte // Avro: the blocks decompressed
	made  []byte // the records that DecodeOptions.Transform made
}

// Reset empties c and keeps its memory for the next chunk, up to keep bytes of
// each kind.
func (c *Chunk) Reset(keep int) {
	kept := func(b []byte) []byte {
		if cap(b) > keep {
			return nil
		}
		return b[:0]
	}
	*c = Chunk{Data: kept(c.Data), plain: kept(c.plain), made: kept(c.made)}
}

// fill makes c the chunk next, with the memory that c has besides Data.
func (c *Chunk) fill(next Chunk) {
	next.plain, next.made = c.plain, c.made
	*c = next
}

// Layout is what the beginning of an input tells of its records.
type Layout struct {
	context string
	names   []string    // CSV: of the fields; nil without a header
	avro    *avroSchema // Avro
}

// Context is the text without which a record by itself cannot be read, and from
// which ParseLayout makes the Layout again: a CSV header, an Avro schema. The
// Context of a nil Layout is empty.
func (l *Layout) Context() string {
	if l == nil {
		return ""
	}
	return l.context
}

// Context is the Layout's, and for CSV without a header one that tells the names
// its fields have in t, so that a record can be read when these have changed. t
// is nil if records name their tables.
func (o *DecodeOptions) Context(kind Kind, l *Layout, t *Target) string {
	if kind != CSV || l == nil || l.context != "" {
		return l.Context()
	}
	names := l.names
	if names == nil && t != nil {
		names = (&plan{binding: o.bind(t)}).namesInOrder()
	}
	if names == nil {
		return ""
	}
	return o.CSV.dialect().headerLine(names)
}

// ParseLayout makes the Layout of single records that were kept with their
// context.
func ParseLayout(kind Kind, context string, o CSVInput) (*Layout, error) {
	l := &Layout{context: context}
	switch {
	case kind == Avro:
		l.avro = &avroSchema{}
		if err := l.avro.parse([]byte(context)); err != nil {
			return nil, fmt.Errorf("the Avro schema cannot be used: %w", err)
		}
	case kind != CSV:
		return nil, nil
	case context != "":
		var refused *RecordError
		if l.names, _, refused = o.dialect().headerNames([]byte(context)); refused != nil {
			return nil, refused
		}
	}
	return l, nil
}

// SingleChunk makes a Chunk of one record by itself; line is where it came from.
func SingleChunk(kind Kind, l *Layout, raw []byte, line int64) *Chunk {
	c := &Chunk{Kind: kind, Data: raw, Line: line, Layout: l}
	if kind == Avro {
		c.Data = append(binary.AppendVarint(binary.AppendVarint(nil, 1), int64(len(raw))), raw...)
	}
	return c
}

// DecodeOptions say how records become rows. One set serves all Decoders of a
// run.
type DecodeOptions struct {
	// TableField names the field that holds the table of each record. Resolve
	// finds the Target for a name, nil for that of no table; it is called by all
	// Decoders, once for each name. Its error ends Decode.
	TableField string
	Resolve    func(name string) (*Target, error)

	// Operation is that of records which do not name their own in
	// OperationField; InsertOrUpdate if 0.
	Operation      wire.Operation
	OperationField string
	// Changelog says that OperationField holds the kind of a change, INSERT,
	// UPDATE_BEFORE, UPDATE_AFTER or DELETE, and that records carry the metadata
	// of a change stream in fields that begin with two underscores.
	Changelog bool

	// Columns are the columns to write; empty for all.
	Columns []string
	// Rename has the columns that fields of other names stand for.
	Rename map[string]string
	// IgnoreUnknown passes over fields that are no columns instead of refusing
	// the record.
	IgnoreUnknown bool
	// MissingNull writes NULL to the columns that a record does not have.
	MissingNull bool
	// CommitTimestamps are the columns to fill with the time of the commit.
	CommitTimestamps []string

	// MaxRecordBytes bounds a record; DefaultMaxRecordBytes if 0.
	MaxRecordBytes int
	CSV            CSVInput

	// Transform, if set, makes records of each record: it appends their JSON to
	// dst, an object a line, and returns how many they are. What it is given is
	// the record as NDJSON has it, whatever the format of the input. It is
	// called by all Decoders at once. A *RecordError of its refuses the record,
	// any other ends Decode.
	Transform func(dst, record []byte) (out []byte, records int, err error)

	// OnGenerated, if set, is told of the generated columns that records have,
	// at least once for each.
	OnGenerated func(t *Target, column string)
}

func (o *DecodeOptions) operation() wire.Operation {
	if o.Operation == 0 {
		return wire.InsertOrUpdate
	}
	return o.Operation
}

func (o *DecodeOptions) maxRecordBytes() int {
	if o.MaxRecordBytes == 0 {
		return DefaultMaxRecordBytes
	}
	return o.MaxRecordBytes
}

// Validate reports options that contradict each other.
func (o *DecodeOptions) Validate() error {
	switch {
	case o.TableField != "" && o.Resolve == nil:
		return errors.New("a table field without tables to find")
	case o.Changelog && o.OperationField == "":
		return errors.New("a changelog without an operation field")
	case o.MaxRecordBytes < 0:
		return fmt.Errorf("max record bytes is %d, must be at least 1", o.MaxRecordBytes)
	}
	return o.CSV.Validate()
}

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

var (
	nullValue            = wire.AppendNull(nil)
	commitTimestampValue = wire.AppendString(nil, commitTimestamp)
)

// finish checks a record whose fields have all been read, and fills in what is
// not in it.
func (p *plan) finish(r *Record) {
	switch {
	case r.Skip:
		r.Values = nil
		return
	case r.Range != nil:
		p.finishRange(r)
		return
	}
	for _, k := range p.target.key {
		if r.Values[k] != nil || p.mayMiss(k, r.Operation) {
			continue
		}
		if p.options.MissingNull && !p.target.columns()[k].Generated {
			r.Values[k] = nullValue
			continue
		}
		refuse(r, &RecordError{Field: p.target.label(k), Reason: errKeyMissing.Error()})
		return
	}
	if r.Operation == wire.Delete {
		for i := range r.Values {
			if !p.target.isKey(i) {
				r.Values[i] = nil
			}
		}
		return
	}
	if r.Operation != wire.Update {
		for _, i := range p.generatedKeys {
			r.Values[i] = nil
		}
	}
	for _, i := range p.nulls {
		if r.Values[i] == nil {
			r.Values[i] = nullValue
		}
	}
	for _, i := range p.commitTimes {
		r.Values[i] = commitTimestampValue
	}
}

// mayMiss reports whether Spanner or the run fills the key column. Spanner fills
// none in order to find the row of a delete or an update, not even one that it
// has computed itself.
func (p *plan) mayMiss(column int, op wire.Operation) bool {
	c := &p.target.columns()[column]
	switch {
	case op == wire.Delete:
		return false
	case op != wire.Update && (c.HasDefault || c.Generated):
		return true
	}
	for _, i := range p.commitTimes {
		if i == column {
			return true
		}
	}
	return false
}

func (p *plan) finishRange(r *Record) {
	if r.Operation != wire.Delete {
		refuse(r, &RecordError{Reason: rangeReason(errRangeNotDeleted)})
		return
	}
	for _, v := range r.Values {
		if v != nil {
			refuse(r, &RecordError{Reason: rangeReason(errRangeAndMore)})
			return
		}
	}
	r.Values = nil
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
