package format

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"

	"cloud.google.com/go/spanner/apiv1/spannerpb"

	"spanbulk/internal/wire"
)

// AvroCodec names how the blocks of an Avro file are compressed, as the Avro
// specification does.
type AvroCodec string

// The codecs that can be written.
const (
	AvroNull      AvroCodec = "null"
	AvroDeflate   AvroCodec = "deflate"
	AvroSnappy    AvroCodec = "snappy"
	AvroZstandard AvroCodec = "zstandard"
)

// AvroOptions choose among the forms that values can have in Avro, and say what
// an Avro schema tells of the table beyond a result's metadata.
type AvroOptions struct {
	Codec     AvroCodec // empty: null
	Timestamp string    // "string", or "micros" or "nanos" since 1970 as a long
	Date      string    // "string", or "days" since 1970 as an int
	// Numeric is of PostgreSQL's: "string", or "google" for the bytes that Google's
	// export and import have. Empty: google if Google is set.
	Numeric string
	Table   AvroTable
	// Google says that the file is for Google's import: what that reads in one
	// form only has this one, even where it is not what Avro's specification says.
	Google bool

	// Sync is the marker between the blocks of a file. If zero it is random;
	// a caller that appends to a file of an earlier Format gives that one's.
	Sync [16]byte
}

// Validate reports an option that is none of its values.
func (o AvroOptions) Validate() error {
	switch o.Codec {
	case "", AvroNull, AvroDeflate, AvroSnappy, AvroZstandard:
	default:
		return fmt.Errorf("avro codec %q is none of null, deflate, snappy, zstandard", string(o.Codec))
	}
	switch o.Timestamp {
	case "", "string", "micros", "nanos":
	default:
		return fmt.Errorf("avro timestamp %q is none of string, micros, nanos", o.Timestamp)
	}
	switch o.Date {
	case "", "string", "days":
	default:
		return fmt.Errorf("avro date %q is neither string nor days", o.Date)
	}
	switch o.Numeric {
	case "", "string", "google":
	default:
		return fmt.Errorf("avro numeric %q is neither string nor google", o.Numeric)
	}
	return nil
}

// NewAvro returns a Format of Avro object container files, with a schema as
// Google's own Spanner export writes it. Columns that may be NULL are unions
// with null, and so are the elements of ARRAYs and the fields of STRUCTs.
//
// A column whose name Avro does not allow has a field of another name, which is
// the same for every file of these columns; a property holds the true one, and
// Decoders go by that.
func NewAvro(columns []*spannerpb.StructType_Field, o AvroOptions) (Format, error) {
	for _, err := range []error{o.Validate(), checkFields("Avro", columns), o.Table.validate(columns)} {
		if err != nil {
			return nil, err
		}
	}
	if o.Codec == "" {
		o.Codec = AvroNull
	}
	if o.Sync == ([16]byte{}) {
		rand.Read(o.Sync[:]) // never fails
	}
	a := &avro{sync: o.Sync}
	if o.Codec != AvroNull {
		a.press = &compressors{make: func() (compressor, error) { return newBlockCompressor(o.Codec) }}
	}
	for i, f := range columns {
		encode, err := o.encoder(f.GetType())
		if err != nil {
			return nil, columnError(f, err)
		}
		a.columns = append(a.columns, avroColumn{encode, !o.Table.column(i).NotNull, f})
	}
	schema, err := o.schema(columns)
	if err != nil {
		return nil, err
	}
	a.header = appendOCFHeader(nil, schema, o.Codec, o.Sync)
	return a, nil
}

type avro struct {
	press   *compressors // nil for the null codec
	sync    [16]byte
	header  []byte
	columns []avroColumn
}

type avroColumn struct {
	encode   encodeFunc
	nullable bool
	field    *spannerpb.StructType_Field
}

func (a *avro) Header() []byte { return a.header }

func (a *avro) NewEncoder() Encoder { return &avroEncoder{avro: a} }

// appendOCFHeader appends what an Avro object container file begins with.
func appendOCFHeader(dst, schema []byte, codec AvroCodec, sync [16]byte) []byte {
	dst = append(dst, 'O', 'b', 'j', 1)
	dst = binary.AppendVarint(dst, 2) // one block of a map of two entries
	dst = appendAvroBytes(dst, []byte("avro.schema"))
	dst = appendAvroBytes(dst, schema)
	dst = appendAvroBytes(dst, []byte("avro.codec"))
	dst = appendAvroBytes(dst, []byte(codec))
	dst = append(dst, 0)
	return append(dst, sync[:]...)
}

type avroEncoder struct {
	*avro
	scratch []byte // a compressed block, whose size comes before it
}

func (e *avroEncoder) AppendRow(dst []byte, row []wire.Value) ([]byte, error) {
	if len(row) != len(e.columns) {
		return dst, wrongLength(len(row), len(e.columns))
	}
	start := len(dst)
	for i := range e.columns {
		c := &e.columns[i]
		kind, p := row[i].Parse()
		switch {
		case !c.nullable && kind == wire.Null:
			return dst[:start], columnError(c.field, errNullRequired)
		case kind == wire.Null:
			dst = append(dst, avroUnionNull)
			continue
		case c.nullable:
			dst = append(dst, avroUnionValue)
		}
		var err error
		if dst, err = c.encode(dst, kind, p); err != nil {
			return dst[:start], columnError(c.field, err)
		}
	}
	return dst, nil
}

// Seal makes one block.
func (e *avroEncoder) Seal(dst, rows []byte, count int) ([]byte, error) {
	if count == 0 {
		return dst, nil
	}
	block := rows
	if e.press != nil {
		var err error
		if e.scratch, err = e.press.compress(e.scratch[:0], rows); err != nil {
			return dst, err
		}
		block = e.scratch
	}
	dst = binary.AppendVarint(dst, int64(count))
	dst = binary.AppendVarint(dst, int64(len(block)))
	dst = append(dst, block...)
	return append(dst, e.sync[:]...), nil
}
