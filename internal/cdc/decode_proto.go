package cdc

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/protobuf/encoding/protowire"

	"spanbulk/internal/wire"
)

// Field numbers of google.spanner.v1.ChangeStreamRecord and its parts
// (google/spanner/v1/change_stream.proto).
const (
	protoDataChange     = 1
	protoHeartbeat      = 2
	protoPartitionStart = 3
	protoPartitionEnd   = 4
	protoPartitionEvent = 5
)

// decodeProto reads the form of MUTABLE_KEY_RANGE: a ChangeStreamRecord, which
// travels as base64.
func (d *Decoder) decodeProto(v wire.Value, each func(*Record) error) error {
	kind, p := v.Parse()
	if kind != wire.String {
		return errNotRecord
	}
	start := len(d.scratch)
	encoded, err := base64.StdEncoding.AppendDecode(d.scratch, p)
	if err != nil {
		return errNotRecord
	}
	d.scratch = encoded
	return protoFields(encoded[start:], func(f protoField) error {
		var read func([]byte) error
		switch f.number {
		case protoDataChange:
			read = d.protoChange
		case protoHeartbeat:
			read = d.protoHeartbeat
		case protoPartitionStart:
			read = d.protoStart
		case protoPartitionEnd:
			read = d.protoEnd
		case protoPartitionEvent:
			read = d.protoEvent
		default:
			return nil // a kind of record to come
		}
		d.record.reset()
		if f.kind != protowire.BytesType {
			return errNotRecord
		}
		if err := read(f.bytes); err != nil {
			return err
		}
		return each(&d.record)
	})
}

// protoField is one field of a message: bytes or a number.
type protoField struct {
	number protowire.Number
	kind   protowire.Type
	bytes  []byte
	varint uint64
}

// text returns the field as a string.
func (f protoField) text() ([]byte, error) {
	if f.kind != protowire.BytesType || !utf8.Valid(f.bytes) {
		return nil, errNotRecord
	}
	return f.bytes, nil
}

func protoFields(message []byte, each func(protoField) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return errNotRecord
		}
		f := protoField{number: number, kind: kind}
		message = message[n:]
		switch kind {
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(message)
		case protowire.VarintType:
			f.varint, n = protowire.ConsumeVarint(message)
		default:
			n = protowire.ConsumeFieldValue(number, kind, message)
		}
		if n < 0 {
			return errNotRecord
		}
		message = message[n:]
		if err := each(f); err != nil {
			return err
		}
	}
	return nil
}

// protoTime reads a google.protobuf.Timestamp.
func protoTime(f protoField) (Timestamp, error) {
	var seconds, nanos int64
	err := protoFields(f.bytes, func(f protoField) error {
		switch f.number {
		case 1:
			seconds = int64(f.varint)
		case 2:
			nanos = int64(f.varint)
		}
		return nil
	})
	const first, last = -9214560000, 9214646400 // 1678 and 2262
	if err != nil || seconds < first || seconds >= last || nanos < 0 || nanos >= 1e9 {
		return 0, errNotTimestamp
	}
	return Timestamp(seconds*1e9 + nanos), nil
}

func (d *Decoder) protoHeartbeat(message []byte) error {
	d.record.Kind = Heartbeat
	return d.protoRecord(message, func(protoField) error { return nil })
}

// protoRecord reads what all records but data change records have: field 1 is a
// timestamp, field 2 the record sequence.
func (d *Decoder) protoRecord(message []byte, other func(protoField) error) error {
	err := protoFields(message, func(f protoField) (err error) {
		switch f.number {
		case 1:
			d.record.At, err = protoTime(f)
		case 2:
			d.record.Sequence, err = f.text()
		default:
			err = other(f)
		}
		return err
	})
	if err == nil && d.record.At == 0 {
		err = errNotRecord
	}
	return err
}

func (d *Decoder) protoStart(message []byte) error {
	d.record.Kind = PartitionStart
	return d.protoRecord(message, func(f protoField) (err error) {
		if f.number == 3 {
			c := d.record.child()
			c.Token, err = f.text()
		}
		return err
	})
}

func (d *Decoder) protoEnd(message []byte) error {
	d.record.Kind = PartitionEnd
	return d.protoRecord(message, func(protoField) error { return nil })
}

func (d *Decoder) protoEvent(message []byte) error {
	r := &d.record
	r.Kind = PartitionEvent
	move := func(to *[][]byte, f protoField) error {
		return protoFields(f.bytes, func(f protoField) error {
			if f.number != 1 {
				return nil
			}
			token, err := f.text()
			*to = append(*to, token)
			return err
		})
	}
	return d.protoRecord(message, func(f protoField) error {
		switch f.number {
		case 4:
			return move(&r.MovedIn, f)
		case 5:
			return move(&r.MovedOut, f)
		}
		return nil
	})
}

// protoChange reads a data change record. Columns come first, as the values of
// the mods refer to them by number.
func (d *Decoder) protoChange(message []byte) error {
	d.record.Kind = DataChange
	c := &d.record.Change
	c.Records, c.Partitions = []byte{'0'}, []byte{'0'}
	err := protoFields(message, func(f protoField) error { return d.protoChangeField(c, f) })
	if err != nil {
		return err
	}
	if c.Commit == 0 {
		return errNotRecord
	}
	return protoFields(message, func(f protoField) error {
		if f.number != 7 {
			return nil
		}
		return d.protoMod(c, f.bytes)
	})
}

func (d *Decoder) protoChangeField(c *Change, f protoField) (err error) {
	switch f.number {
	case 1:
		if c.Commit, err = protoTime(f); err == nil {
			start := len(d.scratch)
			d.scratch = c.Commit.Time().AppendFormat(d.scratch, time.RFC3339Nano)
			c.CommitText = d.scratch[start:len(d.scratch):len(d.scratch)]
		}
	case 2:
		c.Sequence, err = f.text()
	case 3:
		c.Transaction, err = f.text()
	case 4:
		c.Last = f.varint != 0
	case 5:
		c.Table, err = f.text()
	case 6:
		err = d.protoColumn(c, f.bytes)
	case 8:
		c.ModType = []byte(spannerpb.ChangeStreamRecord_DataChangeRecord_ModType(f.varint).String())
	case 9:
		c.Capture = []byte(spannerpb.ChangeStreamRecord_DataChangeRecord_ValueCaptureType(f.varint).String())
	case 10:
		c.Records = d.digits(int64(f.varint))
	case 11:
		c.Partitions = d.digits(int64(f.varint))
	case 12:
		c.Tag, err = f.text()
	case 13:
		c.System = f.varint != 0
	}
	return err
}

func (d *Decoder) digits(n int64) []byte {
	start := len(d.scratch)
	d.scratch = strconv.AppendInt(d.scratch, n, 10)
	return d.scratch[start:len(d.scratch):len(d.scratch)]
}

func (d *Decoder) protoColumn(c *Change, message []byte) error {
	col := Column{Ordinal: []byte{'0'}}
	err := protoFields(message, func(f protoField) (err error) {
		switch f.number {
		case 1:
			col.Name, err = f.text()
		case 2:
			start := len(d.scratch)
			d.scratch, err = appendProtoType(d.scratch, f.bytes, 0)
			col.Type = d.scratch[start:len(d.scratch):len(d.scratch)]
		case 3:
			col.Key = f.varint != 0
		case 4:
			col.Ordinal = d.digits(int64(f.varint))
		}
		return err
	})
	c.Columns = append(c.Columns, col)
	return err
}

// maxTypeDepth bounds the nesting of types: no column is an ARRAY of ARRAYs.
const maxTypeDepth = 4

// appendProtoType writes a google.spanner.v1.Type as the JSON object that the
// other partition mode has for it.
func appendProtoType(dst, message []byte, depth int) ([]byte, error) {
	var code, annotation uint64
	var element, fqn []byte
	err := protoFields(message, func(f protoField) error {
		switch f.number {
		case 1:
			code = f.varint
		case 2:
			element = f.bytes
		case 4:
			annotation = f.varint
		case 5:
			fqn = f.bytes
		}
		return nil
	})
	if err != nil || depth > maxTypeDepth {
		return dst, errNotRecord
	}
	dst = append(dst, '{')
	if element != nil {
		dst = append(dst, `"array_element_type":`...)
		if dst, err = appendProtoType(dst, element, depth+1); err != nil {
			return dst, err
		}
		dst = append(dst, ',')
	}
	dst = fmt.Appendf(dst, `"code":"%s"`, spannerpb.TypeCode(code))
	if len(fqn) > 0 {
		dst = appendQuoted(append(dst, `,"proto_type_fqn":`...), fqn)
	}
	if annotation != 0 {
		dst = fmt.Appendf(dst, `,"type_annotation":"%s"`, spannerpb.TypeAnnotationCode(annotation))
	}
	return append(dst, '}'), nil
}

// protoMod writes the three lists of values of a mod as the JSON objects that
// the other partition mode has for them.
func (d *Decoder) protoMod(c *Change, message []byte) error {
	var m Mod
	for i, to := range []*[]byte{&m.Keys, &m.Old, &m.New} {
		start := len(d.scratch)
		d.scratch = append(d.scratch, '{')
		err := protoFields(message, func(f protoField) error {
			if f.number != protowire.Number(1+i) {
				return nil
			}
			if len(d.scratch) > start+1 {
				d.scratch = append(d.scratch, ',')
			}
			return d.protoModValue(c, f.bytes)
		})
		if err != nil {
			return err
		}
		d.scratch = append(d.scratch, '}')
		*to = d.scratch[start:len(d.scratch):len(d.scratch)]
	}
	c.Mods = append(c.Mods, m)
	return nil
}

func (d *Decoder) protoModValue(c *Change, message []byte) error {
	column, value := uint64(0), wire.Value(nil)
	err := protoFields(message, func(f protoField) error {
		switch f.number {
		case 1:
			column = f.varint
		case 2:
			value = f.bytes
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case column >= uint64(len(c.Columns)):
		return errColumnIndex
	}
	d.scratch = append(appendQuoted(d.scratch, c.Columns[column].Name), ':')
	d.scratch, err = appendValueJSON(d.scratch, value, 0)
	return err
}

// appendValueJSON writes a wire value as JSON. INT64 and NUMERIC travel as
// strings of digits, and a JSON value as its text: the form of both dialects'
// mods.
func appendValueJSON(dst []byte, v wire.Value, depth int) ([]byte, error) {
	kind, p := v.Parse()
	switch kind {
	case wire.Null:
		return append(dst, "null"...), nil
	case wire.Bool:
		return strconv.AppendBool(dst, wire.Truth(p)), nil
	case wire.Number:
		f := wire.Float64(p)
		if f != f || f-f != 0 { // NaN and the infinities travel as text
			return dst, errNotRecord
		}
		return appendFloat(dst, f), nil
	case wire.String:
		if !utf8.Valid(p) {
			return dst, errNotUTF8
		}
		return appendQuoted(dst, p), nil
	case wire.ListKind:
		return appendListJSON(dst, wire.List(p), depth)
	default:
		return dst, errNotRecord
	}
}

func appendListJSON(dst []byte, list wire.List, depth int) ([]byte, error) {
	if depth > maxTypeDepth {
		return dst, errNotRecord
	}
	dst = append(dst, '[')
	for first := true; ; first = false {
		v, rest, ok := list.Next()
		if !ok {
			return append(dst, ']'), endOf(rest)
		}
		list = rest
		if !first {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendValueJSON(dst, v, depth+1); err != nil {
			return dst, err
		}
	}
}

// appendFloat writes a number in the fewest digits that read back as itself.
func appendFloat(dst []byte, f float64) []byte {
	form := byte('f')
	if a := max(f, -f); a != 0 && (a < 1e-6 || a >= 1e21) {
		form = 'e'
	}
	return strconv.AppendFloat(dst, f, form, -1, 64)
}
