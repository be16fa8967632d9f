package format

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"spanbulk/internal/wire"
)

var (
	errNotObject = &syntaxError{"not a JSON object"}
	errArray     = &syntaxError{"a JSON array, where there should be an object on each line; jq -c '.[]' makes such lines of it"}
	errLoneCR    = &syntaxError{"a CR alone does not end a line; lines end with LF or CR LF"}
)

// decodeNDJSON reads one object a line. Blank lines are passed over.
func (d *Decoder) decodeNDJSON(t *Target, c *Chunk, each func(*Record) error) error {
	line := c.Line
	for start := 0; start < len(c.Data); line++ {
		end := bytes.IndexByte(c.Data[start:], '\n')
		next := start + end + 1
		if end < 0 {
			next = len(c.Data)
			end = next - start
		}
		text := bytes.TrimSuffix(c.Data[start:start+end], []byte{'\r'})
		if !isBlank(text) {
			r := d.begin(text, line, start)
			if err := d.ndjson(r, c, t, each); err != nil {
				return err
			}
		}
		start = next
	}
	return nil
}

func isBlank(line []byte) bool {
	return len(line) == 0 || line[0] <= ' ' && len(bytes.Trim(line, " \t\r")) == 0
}

// ndjson reads the record, or refuses it, and hands it to each.
func (d *Decoder) ndjson(r *Record, c *Chunk, t *Target, each func(*Record) error) error {
	switch {
	case len(r.Raw) > d.o.maxRecordBytes():
		refuse(r, &RecordError{Reason: tooLarge(d.o.maxRecordBytes())})
	case !d.valid && !utf8.Valid(r.Raw):
		refuse(r, &RecordError{Byte: firstInvalid(r.Raw) + 1, Reason: errInvalidBytes.Error()})
	case d.o.Transform != nil:
		return d.transform(r, c, r.Raw, t, each)
	default:
		d.readObject(r, r.Raw, t)
	}
	return each(r)
}

// readObject reads the text of the record, or refuses it.
func (d *Decoder) readObject(r *Record, text []byte, t *Target) {
	if d.o.TableField != "" {
		named, err := d.findTable(text)
		if err != nil {
			refuse(r, err)
			return
		}
		t = named
	}
	d.beginValues(r, t)
	p := d.planFor(t, nil)
	if err := d.readFields(r, text, p); err != nil {
		refuse(r, err)
		return
	}
	p.finish(r)
}

// firstInvalid returns the place of the first byte that is not UTF-8.
func firstInvalid(text []byte) int {
	at := 0
	for {
		r, n := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && n <= 1 {
			return at
		}
		at += n
	}
}

// failAt makes a RecordError of err, which came up at or behind start.
func (s *scanner) failAt(start int, label func() string, err error) *RecordError {
	if syntax, ok := err.(*syntaxError); ok {
		if syntax == errTrailing && s.pos > 0 && s.data[s.pos-1] == '\r' {
			syntax = errLoneCR
		}
		return &RecordError{Byte: s.pos + 1, Reason: syntax.text}
	}
	e := &RecordError{Byte: start + 1, Reason: err.Error()}
	if label != nil {
		e.Field = label()
	}
	return e
}

// findTable looks for the table field, wherever in the record it is. A record
// that cannot be read up to it is refused.
func (d *Decoder) findTable(text []byte) (*Target, *RecordError) {
	d.scan.data, d.scan.pos = text, 0
	s := &d.scan
	found, start, err := s.findField(d.o.TableField)
	switch {
	case err != nil:
		return nil, s.failAt(0, nil, err)
	case !found:
		return nil, fieldError(d.o.TableField, errFieldMissing)
	}
	var t *Target
	if s.at('"') {
		text, err := s.string()
		if err != nil {
			return nil, s.failAt(0, nil, err)
		}
		t = d.table(text)
	}
	if t == nil {
		e := fieldError(d.o.TableField, errNoSuchTable)
		e.Byte = start + 1
		return nil, e
	}
	return t, nil
}

// findField moves to the value of a field of the object.
func (s *scanner) findField(name string) (found bool, start int, err error) {
	more, err := s.openObject()
	for more && err == nil {
		if !s.at('"') {
			return false, 0, s.fail(errWantFieldName)
		}
		text, err := s.string()
		if err != nil {
			return false, 0, err
		}
		same := string(text) == name
		if err := s.colon(); err != nil {
			return false, 0, err
		}
		if same {
			return true, s.pos, nil
		}
		if err := s.skipValue(); err != nil {
			return false, 0, err
		}
		if more, err = s.nextField(); err != nil {
			return false, 0, err
		}
	}
	return false, 0, err
}

// openObject moves to the first field of the object that is the record, and
// reports whether there is one.
func (s *scanner) openObject() (more bool, err error) {
	s.space()
	switch {
	case s.at('['):
		return false, s.fail(errArray)
	case !s.at('{'):
		return false, s.fail(errNotObject)
	}
	s.pos++
	s.space()
	if s.at('}') {
		s.pos++
		return false, nil
	}
	return true, nil
}

// nextField moves from behind a value to the next field, and reports whether
// there is one.
func (s *scanner) nextField() (more bool, err error) {
	if s.pos < len(s.data) && s.data[s.pos] <= ' ' {
		s.space()
	}
	switch {
	case s.at(','):
		s.pos++
		if s.pos < len(s.data) && s.data[s.pos] <= ' ' {
			s.space()
		}
		return true, nil
	case s.at('}'):
		s.pos++
		return false, nil
	}
	return false, s.fail(errWantComma)
}

// readFields reads the fields of the record into its values.
func (d *Decoder) readFields(r *Record, text []byte, p *plan) *RecordError {
	d.scan.data, d.scan.pos = text, 0
	s := &d.scan
	p.fields.begin(p.binding)
	more, err := s.openObject()
	for more && err == nil {
		start := s.pos
		f, nameErr := p.nextName(s)
		if nameErr != nil {
			return s.failAt(start, nil, nameErr)
		}
		if err = s.colon(); err != nil {
			break
		}
		if refused := d.readField(r, p, f); refused != nil {
			return refused
		}
		more, err = s.nextField()
	}
	if err == nil {
		if s.space(); s.pos != len(s.data) {
			err = errTrailing
		}
	}
	if err != nil {
		return s.failAt(0, nil, err)
	}
	if d.o.OperationField != "" && !p.fields.has(p.slot(operationField)) {
		return fieldError(d.o.OperationField, errFieldMissing)
	}
	return nil
}

// readField reads the value of a field.
func (d *Decoder) readField(r *Record, p *plan, f *learned) *RecordError {
	s := &d.scan
	start := s.pos
	var err error
	switch f.kind {
	case columnField:
		at := len(d.arena)
		d.arena, err = s.value(d.arena, &p.target.decoders[f.column])
		if err != nil {
			return s.failAt(start, func() string { return p.target.label(f.column) }, err)
		}
		r.Values[f.column] = d.arena[at:len(d.arena):len(d.arena)]
		return nil
	case operationField:
		return d.readOperation(r)
	case keyRangeField:
		return d.readRange(r, p.target)
	default:
		if err = s.skipValue(); err != nil {
			return s.failAt(start, nil, err)
		}
		return nil
	}
}

func (d *Decoder) readOperation(r *Record) *RecordError {
	s := &d.scan
	start := s.pos
	var text []byte
	var err error
	if s.at('"') {
		text, err = s.string()
	} else {
		err = s.skipValue()
	}
	if err != nil {
		return s.failAt(start, nil, err)
	}
	if refused := d.operation(r, text); refused != nil {
		refused.Byte = start + 1
		return refused
	}
	return nil
}

var errKeyRange = errors.New("not a key range such as {\"startClosed\":[1],\"endOpen\":[2]}")

// readRange reads a key range: an object with the fields of Spanner's KeyRange.
func (d *Decoder) readRange(r *Record, t *Target) *RecordError {
	s := &d.scan
	start := s.pos
	r.Range = &wire.KeyRange{StartOpen: true, EndOpen: true}
	var ends [2]bool // which have been read
	more, err := s.openObject()
	for more && err == nil {
		if err = d.readRangeEnd(r.Range, t, &ends); err == nil {
			more, err = s.nextField()
		}
	}
	if err == nil && ends != [2]bool{true, true} || err == errNotObject || err == errArray {
		err = errKeyRange
	}
	if err != nil {
		refused := s.failAt(start, nil, err)
		if _, syntax := err.(*syntaxError); !syntax {
			refused.Reason = rangeReason(err)
		}
		return refused
	}
	return nil
}

func rangeReason(err error) string { return fmt.Sprintf("field %q: %v", rangeField, err) }

// readRangeEnd reads one end of a key range: its name and the values.
func (d *Decoder) readRangeEnd(r *wire.KeyRange, t *Target, ends *[2]bool) error {
	s := &d.scan
	if !s.at('"') {
		return s.fail(errWantFieldName)
	}
	name, err := s.string()
	if err != nil {
		return err
	}
	which, values := 0, &r.Start
	switch string(name) {
	case "startClosed":
		r.StartOpen = false
	case "startOpen":
	case "endClosed":
		r.EndOpen = false
		which, values = 1, &r.End
	case "endOpen":
		which, values = 1, &r.End
	default:
		return errKeyRange
	}
	if ends[which] {
		return errKeyRange
	}
	ends[which] = true
	if err := s.colon(); err != nil {
		return err
	}
	*values, err = d.readKeyPrefix(t)
	return err
}

var errKeyTooLong = errors.New("more values than the key has columns")

// readKeyPrefix reads an array of values of the first columns of the key.
func (d *Decoder) readKeyPrefix(t *Target) ([]wire.Value, error) {
	s := &d.scan
	if !s.at('[') {
		return nil, s.fail(errKeyRange)
	}
	s.pos++
	values := []wire.Value{}
	for s.space(); !s.at(']'); s.space() {
		if len(values) > 0 {
			if !s.at(',') {
				return nil, s.fail(errWantComma)
			}
			s.pos++
			s.space()
		}
		if len(values) == len(t.key) {
			return nil, errKeyTooLong
		}
		at := len(d.arena)
		var err error
		if d.arena, err = s.value(d.arena, &t.decoders[t.key[len(values)]]); err != nil {
			return nil, err
		}
		values = append(values, d.arena[at:len(d.arena):len(d.arena)])
	}
	s.pos++
	return values, nil
}
