package format

import (
	"bytes"
	"compress/bzip2"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"spanbulk/internal/wire"
)

// avroBzip2 can only be read.
const avroBzip2 AvroCodec = "bzip2"

// avroBlocks decompresses blocks for one Decoder.
type avroBlocks struct {
	zstd  *zstd.Decoder
	flate io.ReadCloser
	in    bytes.Reader
}

var errAvroTooLarge = errors.New("a block is larger decompressed than spanbulk takes")

// plain returns the data of a block, in memory of the chunk or in that of data.
func (b *avroBlocks) plain(dst, data []byte, codec AvroCodec) ([]byte, error) {
	switch codec {
	case AvroDeflate:
		b.in.Reset(data)
		if b.flate == nil {
			b.flate = flate.NewReader(&b.in)
		} else if err := b.flate.(flate.Resetter).Reset(&b.in, nil); err != nil {
			return dst, err
		}
		return appendAll(dst, b.flate)
	case avroBzip2:
		return appendAll(dst, bzip2.NewReader(bytes.NewReader(data)))
	case AvroSnappy:
		return plainSnappy(dst, data)
	case AvroZstandard:
		if b.zstd == nil {
			var err error
			b.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxAvroBlock))
			if err != nil {
				return dst, err
			}
		}
		return b.zstd.DecodeAll(data, dst)
	}
	return append(dst, data...), nil
}

func appendAll(dst []byte, r io.Reader) ([]byte, error) {
	start := len(dst)
	for {
		dst = slices.Grow(dst, 64<<10)
		n, err := r.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		switch {
		case err == io.EOF:
			return dst, nil
		case err != nil:
			return dst, err
		case len(dst)-start > maxAvroBlock:
			return dst, errAvroTooLarge
		}
	}
}

var errSnappyBlock = errors.New("a snappy block is damaged")

// plainSnappy reads a block of Avro's snappy codec, which ends with a checksum.
func plainSnappy(dst, data []byte) ([]byte, error) {
	if len(data) < 4 {
		return dst, errSnappyBlock
	}
	sum := binary.BigEndian.Uint32(data[len(data)-4:])
	data = data[:len(data)-4]
	n, err := s2.DecodedLen(data)
	if err != nil || n > maxAvroBlock || n > 64*len(data)+1024 { // snappy makes at best 1 byte of 64
		return dst, errSnappyBlock
	}
	start := len(dst)
	dst = slices.Grow(dst, n)
	out, err := s2.Decode(dst[start:start+n], data)
	if err != nil || len(out) != n || crc32.ChecksumIEEE(out) != sum {
		return dst, errSnappyBlock
	}
	return dst[:start+n], nil
}

// avroReader walks over the data of a block.
type avroReader struct {
	data  []byte
	pos   int
	depth int

	scratch []byte // text made of a value
}

var errAvroMalformed = errors.New("the Avro file is damaged: a record does not end where it should")

// avroFunc reads a value and appends its wire form. An error other than
// errAvroMalformed refuses the value only.
type avroFunc func(r *avroReader, dst []byte) ([]byte, error)

func (r *avroReader) long() (int64, error) {
	n, size := binary.Varint(r.data[r.pos:])
	if size <= 0 {
		return 0, errAvroMalformed
	}
	r.pos += size
	return n, nil
}

func (r *avroReader) take(n int64) ([]byte, error) {
	if n < 0 || n > int64(len(r.data)-r.pos) {
		return nil, errAvroMalformed
	}
	b := r.data[r.pos : r.pos+int(n)]
	r.pos += int(n)
	return b, nil
}

func (r *avroReader) bytes() ([]byte, error) {
	n, err := r.long()
	if err != nil {
		return nil, err
	}
	return r.take(n)
}

// items returns the number of elements in the next block of an array or map,
// 0 at its end.
func (r *avroReader) items() (int64, error) {
	n, err := r.long()
	if err != nil {
		return 0, err
	}
	if n < 0 {
		n = -n
		if _, err = r.long(); err != nil {
			return 0, err
		}
	}
	if n < 0 || n > maxNoItems && n > int64(len(r.data)-r.pos) {
		return 0, errAvroMalformed
	}
	return n, nil
}

// maxNoItems bounds the elements of an array that take no bytes, a few of which
// would else stand for any number.
const maxNoItems = 1 << 16

// skip moves over a value.
func (r *avroReader) skip(t *avroType) error {
	if r.depth > maxAvroDepth {
		return errAvroMalformed
	}
	var err error
	switch t.kind {
	case avroNull:
	case avroBoolean:
		_, err = r.take(1)
	case avroInt, avroLong, avroEnum:
		_, err = r.long()
	case avroFloat:
		_, err = r.take(4)
	case avroDouble:
		_, err = r.take(8)
	case avroBytes, avroString:
		_, err = r.bytes()
	case avroFixed:
		_, err = r.take(int64(t.size))
	case avroUnion:
		var branch *avroType
		if branch, err = r.branch(t); err == nil {
			err = r.skip(branch)
		}
	case avroRecordKind:
		r.depth++
		for i := range t.fields {
			if err = r.skip(t.fields[i].typ); err != nil {
				break
			}
		}
		r.depth--
	case avroArrayKind, avroMap:
		err = r.skipItems(t)
	}
	return err
}

func (r *avroReader) branch(union *avroType) (*avroType, error) {
	i, err := r.long()
	if err != nil || i < 0 || i >= int64(len(union.branches)) {
		return nil, errAvroMalformed
	}
	return union.branches[i], nil
}

func (r *avroReader) skipItems(t *avroType) error {
	r.depth++
	defer func() { r.depth-- }()
	for {
		n, err := r.items()
		if err != nil || n == 0 {
			return err
		}
		for range n {
			if t.kind == avroMap {
				if _, err := r.bytes(); err != nil {
					return err
				}
			}
			if err := r.skip(t.items); err != nil {
				return err
			}
		}
	}
}

// avroRecord is what the fields of a schema are to a table.
type avroRecord struct {
	schema *avroType
	fields []avroPlanned
}

type avroPlanned struct {
	boundField
	read avroFunc // for a column
}

var errAvroRange = errors.New("is read from NDJSON and CSV only")

// planAvro finds for every field what to do with it.
func (p *plan) planAvro(s *avroSchema) (*avroRecord, *RecordError) {
	record := &avroRecord{schema: s.record}
	seen := map[int]string{}
	for _, f := range s.record.fields {
		bound, err := p.field(f.name)
		if err == nil && bound.kind == columnField {
			d := &p.target.decoders[bound.column]
			var read avroFunc
			if read, err = planAvroValue(f.typ, d); err != nil {
				err = fmt.Errorf("field %q: %w column %s", f.name, err, p.target.label(bound.column))
			}
			record.fields = append(record.fields, avroPlanned{bound, read})
		} else {
			record.fields = append(record.fields, avroPlanned{boundField: bound})
		}
		if bound.kind == keyRangeField {
			err = fieldError(rangeField, errAvroRange)
		}
		if other, repeated := seen[bound.slot]; err == nil && repeated && bound.slot >= 0 {
			err = fmt.Errorf("the fields %q and %q are one column", other, f.name)
		}
		if err != nil {
			return nil, &RecordError{Reason: "the Avro schema does not fit: " + err.Error()}
		}
		seen[bound.slot] = f.name
	}
	if name := p.options.OperationField; name != "" && seen[p.slot(operationField)] == "" {
		return nil, fieldError(name, errFieldMissing)
	}
	return record, nil
}

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
	number := c.Line
	c.plain = c.plain[:0]
	for data := c.Data; len(data) > 0; {
		count, n := binary.Varint(data)
		size, m := binary.Varint(data[n:])
		block := data[n+m : n+m+int(size)]
		data = data[n+m+int(size):]
		r := avroReader{data: block}
		if schema.codec != AvroNull && schema.codec != "" {
			start := len(c.plain)
			var err error
			if c.plain, err = d.avro.plain(c.plain, block, schema.codec); err != nil {
				return &InputError{Line: number, Reason: fmt.Sprintf("the Avro file is damaged: a %s block cannot be decompressed", schema.codec)}
			}
			r.data = c.plain[start:]
		}
		for range count {
			if err := d.readAvro(&r, t, c, number, each); err != nil {
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

// text reads a string or the symbol of an enum; nil is any other value.
func (r *avroReader) text(t *avroType) ([]byte, error) {
	switch t.kind {
	case avroString:
		return r.bytes()
	case avroEnum:
		i, err := r.long()
		if err != nil || i < 0 || i >= int64(len(t.symbols)) {
			return nil, errAvroMalformed
		}
		return []byte(t.symbols[i]), nil
	case avroUnion:
		branch, err := r.branch(t)
		if err != nil {
			return nil, err
		}
		return r.text(branch)
	}
	return nil, r.skip(t)
}

// unfit is the error of an Avro type that does not become the column's.
func unfit(t *avroType) error { return fmt.Errorf("%s does not become", t.describe()) }

// planAvroValue chooses the function that reads values of type t for a column.
func planAvroValue(t *avroType, d *valueDecoder) (avroFunc, error) {
	switch t.kind {
	case avroNull:
		return func(_ *avroReader, dst []byte) ([]byte, error) { return wire.AppendNull(dst), nil }, nil
	case avroUnion:
		return planAvroUnion(t, d)
	case avroString:
		return avroText(d.text), nil
	case avroEnum:
		return planAvroEnum(t, d)
	case avroArrayKind:
		if d.element != nil {
			return planAvroArray(t, d)
		}
	case avroBoolean:
		if d.truth {
			return readAvroBool, nil
		}
	default:
		if read := planAvroScalar(t, d); read != nil {
			return read, nil
		}
	}
	return nil, unfit(t)
}

var errAvroBranch = errors.New("a branch of the union that the column does not take")

// planAvroUnion reads whatever branch the value is of. A branch that does not
// fit refuses its values; a union none of whose branches does is an error.
func planAvroUnion(t *avroType, d *valueDecoder) (avroFunc, error) {
	reads := make([]avroFunc, len(t.branches))
	fits := len(t.branches) == 0
	for i, b := range t.branches {
		read, err := planAvroValue(b, d)
		if err != nil {
			read = func(_ *avroReader, dst []byte) ([]byte, error) { return dst, errAvroBranch }
		}
		fits = fits || err == nil && b.kind != avroNull || len(t.branches) == 1
		reads[i] = read
	}
	if !fits {
		return nil, unfit(t)
	}
	return func(r *avroReader, dst []byte) ([]byte, error) {
		i, err := r.long()
		if err != nil || i < 0 || i >= int64(len(reads)) {
			return dst, errAvroMalformed
		}
		return reads[i](r, dst)
	}, nil
}

func avroText(text textFunc) avroFunc {
	return func(r *avroReader, dst []byte) ([]byte, error) {
		b, err := r.bytes()
		if err != nil {
			return dst, err
		}
		if !utf8.Valid(b) {
			return dst, errInvalidBytes
		}
		return text(dst, b)
	}
}

var errAvroSymbol = errors.New("a symbol of the enum that the column does not take")

// planAvroEnum makes the values of all symbols beforehand.
func planAvroEnum(t *avroType, d *valueDecoder) (avroFunc, error) {
	values := make([][]byte, len(t.symbols))
	fits := false
	for i, s := range t.symbols {
		if v, err := d.text(nil, []byte(s)); err == nil {
			values[i], fits = v, true
		}
	}
	if !fits {
		return nil, unfit(t)
	}
	return func(r *avroReader, dst []byte) ([]byte, error) {
		i, err := r.long()
		switch {
		case err != nil || i < 0 || i >= int64(len(values)):
			return dst, errAvroMalformed
		case values[i] == nil:
			return dst, errAvroSymbol
		}
		return append(dst, values[i]...), nil
	}, nil
}

func planAvroArray(t *avroType, d *valueDecoder) (avroFunc, error) {
	read, err := planAvroValue(t.items, d.element)
	if err != nil {
		return nil, unfit(t)
	}
	return func(r *avroReader, dst []byte) ([]byte, error) {
		dst = wire.AppendList(dst, nil)
		start := len(dst)
		for {
			n, err := r.items()
			if err != nil {
				return dst, err
			}
			if n == 0 {
				return setLength(dst, start), nil
			}
			for range n {
				dst = wire.AppendElement(dst, nil)
				at := len(dst)
				if dst, err = read(r, dst); err != nil {
					return dst, err
				}
				dst = setLength(dst, at)
			}
		}
	}, nil
}

func readAvroBool(r *avroReader, dst []byte) ([]byte, error) {
	b, err := r.take(1)
	if err != nil || b[0] > 1 {
		return dst, errAvroMalformed
	}
	return wire.AppendBool(dst, b[0] == 1), nil
}

// planAvroScalar plans numbers, bytes and fixed; nil if they do not fit.
func planAvroScalar(t *avroType, d *valueDecoder) avroFunc {
	switch code := d.kind(); code {
	case columnTimestamp:
		return planAvroTimestamp(t)
	case columnDate:
		if t.kind == avroInt && t.logical == "date" {
			return readAvroDate
		}
	case columnInteger:
		if t.kind == avroInt || t.kind == avroLong {
			return readAvroLong
		}
	case columnNumeric:
		switch {
		case t.kind == avroInt || t.kind == avroLong:
			return readAvroLong
		case t.logical == "decimal" && (t.kind == avroBytes || t.kind == avroFixed) && t.scale >= 0 && t.scale <= pgNumericPlaces:
			return avroDecimal(t, d.text)
		}
	case columnFloat64, columnFloat32:
		return planAvroFloat(t, code == columnFloat32)
	case columnBytes:
		if t.kind == avroBytes || t.kind == avroFixed {
			return avroBinary(t)
		}
	case columnUUID:
		if t.kind == avroFixed && t.size == 16 {
			return avroUUID(d.text)
		}
	}
	return nil
}

func readAvroLong(r *avroReader, dst []byte) ([]byte, error) {
	n, err := r.long()
	if err != nil {
		return dst, err
	}
	var b [20]byte
	return wire.AppendString(dst, strconv.AppendInt(b[:0], n, 10)), nil
}

func readAvroDate(r *avroReader, dst []byte) ([]byte, error) {
	days, err := r.long()
	if err != nil {
		return dst, err
	}
	return appendDate(dst, days)
}

// planAvroTimestamp takes a long that says its unit. A local timestamp does not
// say which moment it is.
func planAvroTimestamp(t *avroType) avroFunc {
	var unit int64 // a second's
	switch t.logical {
	case "timestamp-millis":
		unit = 1e3
	case "timestamp-micros":
		unit = 1e6
	case "timestamp-nanos":
		unit = 1e9
	}
	if unit == 0 || t.kind != avroLong {
		return nil
	}
	return func(r *avroReader, dst []byte) ([]byte, error) {
		n, err := r.long()
		if err != nil {
			return dst, err
		}
		seconds, fraction := n/unit, n%unit
		if fraction < 0 {
			seconds, fraction = seconds-1, fraction+unit
		}
		return appendTimestamp(dst, seconds, fraction*(1e9/unit))
	}
}

var errNotExact = errors.New("a number that FLOAT64 does not hold exactly")

// planAvroFloat takes floats, and whole numbers that a double holds.
func planAvroFloat(t *avroType, single bool) avroFunc {
	var read func(r *avroReader) (float64, error)
	switch t.kind {
	case avroFloat:
		read = (*avroReader).float
	case avroDouble:
		read = (*avroReader).double
	case avroInt, avroLong:
		read = func(r *avroReader) (float64, error) {
			n, err := r.long()
			if err == nil && (n > 1<<53 || n < -1<<53) {
				err = errNotExact
			}
			return float64(n), err
		}
	default:
		return nil
	}
	return func(r *avroReader, dst []byte) ([]byte, error) {
		f, err := read(r)
		if err != nil {
			return dst, err
		}
		if name, named := floatName(f); named {
			return wire.AppendString(dst, name), nil
		}
		if single {
			if f = float64(float32(f)); math.IsInf(f, 0) {
				return dst, errOutOfFloat32
			}
		}
		return wire.AppendNumber(dst, f), nil
	}
}

func (r *avroReader) float() (float64, error) {
	b, err := r.take(4)
	if err != nil {
		return 0, err
	}
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), nil
}

func (r *avroReader) double() (float64, error) {
	b, err := r.take(8)
	if err != nil {
		return 0, err
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b)), nil
}

// raw reads bytes or a fixed.
func (r *avroReader) raw(t *avroType) ([]byte, error) {
	if t.kind == avroFixed {
		return r.take(int64(t.size))
	}
	return r.bytes()
}

func avroBinary(t *avroType) avroFunc {
	return func(r *avroReader, dst []byte) ([]byte, error) {
		b, err := r.raw(t)
		if err != nil {
			return dst, err
		}
		n := base64.StdEncoding.EncodedLen(len(b))
		dst = wire.AppendString(dst, "")
		dst = binary.AppendUvarint(dst[:len(dst)-1], uint64(n))
		return base64.StdEncoding.AppendEncode(dst, b), nil
	}
}

func avroUUID(text textFunc) avroFunc {
	return func(r *avroReader, dst []byte) ([]byte, error) {
		b, err := r.take(16)
		if err != nil {
			return dst, err
		}
		const hex = "0123456789abcdef"
		r.scratch = r.scratch[:0]
		for i, c := range b {
			if i == 4 || i == 6 || i == 8 || i == 10 {
				r.scratch = append(r.scratch, '-')
			}
			r.scratch = append(r.scratch, hex[c>>4], hex[c&15])
		}
		return text(dst, r.scratch)
	}
}
