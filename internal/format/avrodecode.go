package format

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// decodeAvro reads the records of the chunk's blocks.
func (d *Decoder) decodeAvro(t *Target, c *Chunk, each func(*Record) error) error {
	schema := c.Layout.avro
	if d.o.Transform != nil {
		// Names are looked at behind it.
	} else if d.o.TableField == "" {
		if p := d.planFor(t, c.Layout); p.err != nil {
			return &LayoutError{p.err}
		}
	} else if !slices.ContainsFunc(schema.record.fields, func(f avroField) bool { return f.name == d.o.TableField }) {
		return &LayoutError{fieldError(d.o.TableField, errFieldMissing)}
	}
	if c.plain = c.plain[:0]; cap(c.plain) > keepPlain {
		c.plain = nil
	}
	number := c.Line
	for data := c.Data; len(data) > 0; {
		count, n := binary.Varint(data)
		size, m := binary.Varint(data[n:])
		end := n + m + int(size)
		r, err := d.openBlock(c, data[n+m:end])
		if err != nil {
			return &InputError{Line: number, Reason: err.Error()}
		}
		data = data[end:]
		for range count {
			if err := d.readAvro(r, t, c, number, each); err != nil {
				return err
			}
			number++
		}
		if r.pos != len(r.data) {
			return &InputError{Line: number, Reason: errAvroMalformed.Error()}
		}
	}
	return nil
}

// keepPlain bounds what a chunk keeps for its next blocks.
const keepPlain = 4 << 20

// openBlock decompresses a block, if it is compressed.
func (d *Decoder) openBlock(c *Chunk, block []byte) (*avroReader, error) {
	codec := c.Layout.avro.codec
	if codec == AvroNull || codec == "" {
		return &avroReader{data: block}, nil
	}
	start := len(c.plain)
	var err error
	c.plain, err = d.avro.plain(c.plain, block, codec, avroBlockLimit(d.o.maxRecordBytes()))
	switch {
	case err == errAvroTooLarge:
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("the Avro file is damaged: a %s block cannot be decompressed", codec)
	}
	return &avroReader{data: c.plain[start:]}, nil
}

// readAvro reads one record and hands it to each.
func (d *Decoder) readAvro(in *avroReader, t *Target, c *Chunk, number int64, each func(*Record) error) error {
	start, l := in.pos, c.Layout
	if len(in.data) == start && len(l.avro.record.fields) > 0 {
		return &InputError{Line: number, Reason: errAvroMalformed.Error()}
	}
	r := d.begin(nil, number, start)
	if d.o.Transform != nil {
		return d.transformAvro(in, r, t, c, each)
	}
	if d.o.TableField != "" {
		var err error
		if t, err = d.avroTable(in, l); err != nil {
			return &InputError{Line: number, Reason: err.Error()}
		}
		in.pos = start
	}
	err := d.readAvroRecord(in, r, t, l)
	r.Raw = in.data[start:in.pos]
	if err == nil && len(r.Raw) == 0 { // a block could have any number of them
		err = errAvroMalformed
	}
	switch {
	case err != nil:
		return &InputError{Line: number, Reason: err.Error()}
	case len(r.Raw) > d.o.maxRecordBytes():
		refuse(r, &RecordError{Reason: tooLarge(d.o.maxRecordBytes())})
	}
	return each(r)
}

func (d *Decoder) readAvroRecord(in *avroReader, r *Record, t *Target, l *Layout) error {
	if t == nil {
		refuse(r, fieldError(d.o.TableField, errNoSuchTable))
		return in.skip(l.avro.record)
	}
	p := d.planFor(t, l)
	if p.err != nil {
		refuse(r, &RecordError{Reason: p.err.Reason})
		return in.skip(l.avro.record)
	}
	d.beginValues(r, t)
	for i := range p.avro.fields {
		f := &p.avro.fields[i]
		at, start := len(d.arena), in.pos
		typ := p.avro.schema.fields[i].typ
		var err error
		switch {
		case f.kind == columnField && r.Err == nil:
			if d.arena, err = f.read(in, d.arena); err == nil {
				r.Values[f.column] = d.arena[at:len(d.arena):len(d.arena)]
				continue
			}
		case f.kind == operationField && r.Err == nil:
			var text []byte
			if text, err = in.text(typ); err == nil {
				if refused := d.operation(r, text); refused != nil {
					refuse(r, refused)
				}
				continue
			}
		default:
			err = in.skip(typ)
			if err != nil {
				return err
			}
			continue
		}
		if err == errAvroMalformed {
			return err
		}
		refuse(r, &RecordError{Field: p.target.label(f.column), Reason: err.Error()})
		in.pos = start
		if err := in.skip(typ); err != nil {
			return err
		}
	}
	if r.Err == nil {
		p.finish(r)
	}
	return nil
}

// avroTable reads the table field of the record; nil if it names no table.
func (d *Decoder) avroTable(in *avroReader, l *Layout) (*Target, error) {
	for _, f := range l.avro.record.fields {
		if f.name != d.o.TableField {
			if err := in.skip(f.typ); err != nil {
				return nil, err
			}
			continue
		}
		text, err := in.text(f.typ)
		if err != nil {
			return nil, err
		}
		return d.table(text), nil
	}
	return nil, nil
}
