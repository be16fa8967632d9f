package cdc

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"cloud.google.com/go/spanner/apiv1/spannerpb"

	"spanbulk/internal/wire"
)

// Decoder finds the parts of records in the values of a partition query, in
// place. It is for one goroutine.
type Decoder struct {
	decode  func(v wire.Value, each func(*Record) error) error
	record  Record
	scratch []byte // what does not stand in a message as it is needed

	commitText []byte // of the record before: a transaction has many records
	commit     Timestamp

	row, fields, part structFields // of a row, a record, a part of a record
	json              jsonText     // of a record in that form
}

// NewDecoder returns a Decoder for a result column of type t:
//
//   - an ARRAY of STRUCTs, which GoogleSQL's READ_ functions return,
//   - JSON, which PostgreSQL's read_json_ functions return,
//   - PROTO or BYTES, a google.spanner.v1.ChangeStreamRecord: both dialects
//     where the partition mode is MUTABLE_KEY_RANGE.
func NewDecoder(t *spannerpb.Type) (*Decoder, error) {
	d := &Decoder{}
	switch t.GetCode() {
	case spannerpb.TypeCode_ARRAY:
		d.decode = d.decodeStructs
	case spannerpb.TypeCode_JSON:
		d.decode = d.decodeJSON
	case spannerpb.TypeCode_PROTO, spannerpb.TypeCode_BYTES:
		d.decode = d.decodeProto
	default:
		return nil, fmt.Errorf("a change stream's column cannot have type %v", t.GetCode())
	}
	return d, nil
}

// Decode reads the records in v and hands each of them to each, whose error it
// returns. Usually there is one.
func (d *Decoder) Decode(v wire.Value, each func(*Record) error) error {
	d.scratch = d.scratch[:0]
	return d.decode(v, each)
}

// The ways in which a record can fail to be one. None of them names a value.
var (
	errNotRecord   = errors.New("the value is not a change record")
	errFewFields   = errors.New("a STRUCT of a change record has too few fields")
	errNotDigits   = errors.New("a number of a change record is not written in digits")
	errColumnIndex = errors.New("a value of a change record belongs to no column")
)

// setCommit parses a commit timestamp, most of which are the same as before.
func (d *Decoder) setCommit(c *Change, text []byte) error {
	c.CommitText = text
	if !bytes.Equal(text, d.commitText) {
		t, err := parseTimestamp(text)
		if err != nil {
			return fmt.Errorf("commit timestamp: %w", err)
		}
		d.commit, d.commitText = t, append(d.commitText[:0], text...)
	}
	c.Commit = d.commit
	return nil
}

// structFields takes the fields of a STRUCT one by one. After an error, which
// err keeps, everything is empty.
type structFields struct {
	rest wire.List
	err  error
}

func (f *structFields) fail(err error) {
	if f.err == nil {
		f.err = err
	}
}

func (f *structFields) next() (wire.Kind, []byte) {
	if f.err != nil {
		return wire.Null, nil
	}
	v, rest, ok := f.rest.Next()
	if !ok {
		f.fail(errFewFields)
		return wire.Null, nil
	}
	f.rest = rest
	return v.Parse()
}

// text takes a field that travels as text. NULL is nil.
func (f *structFields) text() []byte {
	kind, p := f.next()
	switch {
	case kind == wire.Null:
		return nil
	case kind != wire.String:
		f.fail(errNotRecord)
		return nil
	case !utf8.Valid(p):
		f.fail(errNotUTF8)
		return nil
	}
	return p
}

func (f *structFields) digits() []byte {
	p := f.text()
	if p != nil && !isDigits(p) {
		f.fail(errNotDigits)
	}
	return p
}

func isDigits(s []byte) bool {
	for _, c := range s {
		if c-'0' > 9 {
			return false
		}
	}
	return len(s) > 0 && (len(s) == 1 || s[0] != '0')
}

func (f *structFields) boolean() bool {
	switch kind, p := f.next(); kind {
	case wire.Bool:
		return wire.Truth(p)
	case wire.Null:
	default:
		f.fail(errNotRecord)
	}
	return false
}

// list takes a field that is an ARRAY. NULL is empty.
func (f *structFields) list() wire.List {
	switch kind, p := f.next(); kind {
	case wire.ListKind:
		return wire.List(p)
	case wire.Null:
	default:
		f.fail(errNotRecord)
	}
	return nil
}

func (f *structFields) timestamp() Timestamp {
	p := f.text()
	if f.err != nil {
		return 0
	}
	t, err := parseTimestamp(p)
	if err != nil {
		f.fail(err)
	}
	return t
}

// eachStruct hands the STRUCTs of an ARRAY to each, by way of fields.
func eachStruct(list wire.List, fields *structFields, each func(*structFields) error) error {
	for {
		v, rest, ok := list.Next()
		if !ok {
			if !rest.Done() {
				return errNotRecord
			}
			return nil
		}
		list = rest
		kind, p := v.Parse()
		if kind != wire.ListKind {
			return errNotRecord
		}
		*fields = structFields{rest: wire.List(p)}
		if err := each(fields); err != nil {
			return err
		}
		if fields.err != nil {
			return fields.err
		}
	}
}

// decodeStructs reads GoogleSQL's form: an ARRAY of STRUCTs of three ARRAYs, one
// for each kind of record.
func (d *Decoder) decodeStructs(v wire.Value, each func(*Record) error) error {
	kind, p := v.Parse()
	if kind != wire.ListKind {
		return errNotRecord
	}
	return eachStruct(wire.List(p), &d.row, func(f *structFields) error {
		changes, heartbeats, children := f.list(), f.list(), f.list()
		if f.err != nil {
			return f.err
		}
		if err := d.records(changes, d.structChange, each); err != nil {
			return err
		}
		if err := d.records(heartbeats, d.structHeartbeat, each); err != nil {
			return err
		}
		return d.records(children, d.structChildren, each)
	})
}

func (d *Decoder) records(list wire.List, read func(*structFields) error, each func(*Record) error) error {
	return eachStruct(list, &d.fields, func(f *structFields) error {
		d.record.reset()
		if err := read(f); err != nil {
			return err
		}
		if f.err != nil {
			return f.err
		}
		return each(&d.record)
	})
}

func (d *Decoder) structHeartbeat(f *structFields) error {
	d.record.Kind, d.record.At = Heartbeat, f.timestamp()
	return f.err
}

func (d *Decoder) structChildren(f *structFields) error {
	r := &d.record
	r.Kind, r.At, r.Sequence = ChildPartitions, f.timestamp(), f.text()
	return eachStruct(f.list(), &d.part, func(f *structFields) error {
		c := r.child()
		c.Token = f.text()
		parents := f.list()
		for {
			v, rest, ok := parents.Next()
			if !ok {
				return endOf(rest)
			}
			parents = rest
			// Google's documents draw the parents of a first partition as [NULL].
			switch kind, p := v.Parse(); kind {
			case wire.String:
				c.Parents = append(c.Parents, p)
			case wire.Null:
			default:
				return errNotRecord
			}
		}
	})
}

func endOf(rest wire.List) error {
	if !rest.Done() {
		return errNotRecord
	}
	return nil
}

func (d *Decoder) structChange(f *structFields) error {
	d.record.Kind = DataChange
	c := &d.record.Change
	commit := f.text()
	if f.err == nil {
		f.fail(d.setCommit(c, commit))
	}
	c.Sequence, c.Transaction, c.Last, c.Table = f.text(), f.text(), f.boolean(), f.text()
	columns, mods := f.list(), f.list()
	c.ModType, c.Capture = f.text(), f.text()
	c.Records, c.Partitions, c.Tag, c.System = f.digits(), f.digits(), f.text(), f.boolean()
	if f.err != nil {
		return f.err
	}
	err := eachStruct(columns, &d.part, func(f *structFields) error {
		c.Columns = append(c.Columns, Column{Name: f.text(), Type: f.text(), Key: f.boolean(), Ordinal: f.digits()})
		return f.err
	})
	if err != nil {
		return err
	}
	return eachStruct(mods, &d.part, func(f *structFields) error {
		c.Mods = append(c.Mods, Mod{Keys: f.text(), New: f.text(), Old: f.text()})
		return f.err
	})
}
