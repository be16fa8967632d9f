package format

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"spanbulk/internal/wire"
)

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
		case t.isPGNumeric():
			return avroPGNumeric(d.text)
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

var errNotExact = errors.New("a number that a 64-bit float does not hold exactly")

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
