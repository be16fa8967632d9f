package format

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"cloud.google.com/go/spanner/apiv1/spannerpb"

	"spanbulk/internal/wire"
)

// CSVOptions vary RFC 4180. The zero value is that: commas, double quotes, LF
// ends, a header line, and NULL as an empty field without quotes.
type CSVOptions struct {
	NoHeader  bool
	Delimiter string // one ASCII character; `\t` is a tab
	Quote     string // one ASCII character
	Null      string // what stands for NULL, never quoted; text that equals it always is
	CRLF      bool
}

// Validate reports options that no reader could undo.
func (o CSVOptions) Validate() error {
	delimiter, quote := o.delimiter(), o.quote()
	for _, c := range []struct {
		name, value string
	}{{"delimiter", delimiter}, {"quote", quote}} {
		if len(c.value) != 1 || c.value[0] >= utf8.RuneSelf || strings.Contains("\r\n\x00", c.value) {
			return fmt.Errorf("CSV %s %q is not one ASCII character other than an end of line", c.name, c.value)
		}
	}
	if delimiter == quote {
		return fmt.Errorf("CSV delimiter and quote are both %q", quote)
	}
	if strings.ContainsAny(o.Null, delimiter+quote+"\r\n") {
		return fmt.Errorf("CSV null %q holds the delimiter, the quote or an end of line", o.Null)
	}
	if !utf8.ValidString(o.Null) {
		return errors.New("CSV null is not valid UTF-8")
	}
	return nil
}

func (o CSVOptions) delimiter() string {
	switch o.Delimiter {
	case "":
		return ","
	case `\t`:
		return "\t"
	}
	return o.Delimiter
}

func (o CSVOptions) quote() string {
	if o.Quote == "" {
		return `"`
	}
	return o.Quote
}

// NewCSV returns a Format of one CSV record a row. An empty string is an empty
// field in quotes, NULL one without (or o.Null). JSON, ARRAY and STRUCT are
// their JSON text, made with v.
//
// A NULL in the only column of a row is an empty line, which some readers pass
// over; o.Null avoids that.
func NewCSV(columns []*spannerpb.StructType_Field, o CSVOptions, v ValueOptions) (Format, error) {
	for _, err := range []error{o.Validate(), v.Validate(), checkFields("CSV", columns)} {
		if err != nil {
			return nil, err
		}
	}
	c := &csv{
		delimiter: o.delimiter()[0], quote: o.quote()[0],
		null: []byte(o.Null), end: []byte("\n"), columns: columns,
	}
	if o.CRLF {
		c.end = []byte("\r\n")
	}
	for i, f := range columns {
		encode, err := c.encoder(f.GetType(), v)
		if err != nil {
			return nil, columnError(f, err)
		}
		c.encode = append(c.encode, encode)
		if i > 0 {
			c.header = append(c.header, c.delimiter)
		}
		if c.header, err = c.appendField(c.header, []byte(f.GetName())); err != nil {
			return nil, fmt.Errorf("name of column %d: %w", i+1, err)
		}
	}
	c.header = append(c.header, c.end...)
	if o.NoHeader {
		c.header = nil
	}
	return c, nil
}

// csv is both Format and Encoder, as it has no scratch space.
type csv struct {
	delimiter, quote byte
	null, end        []byte
	header           []byte
	columns          []*spannerpb.StructType_Field
	encode           []encodeFunc // by column
}

func (c *csv) Header() []byte { return c.header }

func (c *csv) NewEncoder() Encoder { return c }

func (c *csv) AppendRow(dst []byte, row []wire.Value) ([]byte, error) {
	if len(row) != len(c.encode) {
		return dst, wrongLength(len(row), len(c.encode))
	}
	start := len(dst)
	for i, encode := range c.encode {
		if i > 0 {
			dst = append(dst, c.delimiter)
		}
		var err error
		if kind, p := row[i].Parse(); kind == wire.Null {
			dst = append(dst, c.null...)
		} else if dst, err = encode(dst, kind, p); err != nil {
			return dst[:start], columnError(c.columns[i], err)
		}
	}
	return append(dst, c.end...), nil
}

func (c *csv) Seal(_, rows []byte, _ int) ([]byte, error) { return rows, nil }

func (c *csv) encoder(t *spannerpb.Type, o ValueOptions) (encodeFunc, error) {
	var encode encodeFunc
	switch t.GetCode() {
	case spannerpb.TypeCode_BOOL:
		encode = appendBool
	case spannerpb.TypeCode_INT64, spannerpb.TypeCode_ENUM:
		encode = appendInteger
	case spannerpb.TypeCode_FLOAT64:
		encode = appendFloat64
	case spannerpb.TypeCode_FLOAT32:
		encode = appendFloat32
	case spannerpb.TypeCode_ARRAY, spannerpb.TypeCode_STRUCT:
		element, err := o.jsonEncoder(t)
		return c.quoted(element), err
	default:
		return c.appendText, nil
	}
	// Numbers are checked only where they could hold a delimiter or a quote, or
	// be the null marker.
	if strings.ContainsAny("0123456789+-.eEtruefalsNaInity", string(c.delimiter)+string(c.quote)) || len(c.null) > 0 {
		return c.quoted(encode), nil
	}
	return encode, nil
}

func (c *csv) appendText(dst []byte, kind wire.Kind, p []byte) ([]byte, error) {
	if kind != wire.String {
		return dst, wrongKind(kind)
	}
	return c.appendField(dst, p)
}

func appendFloat64(dst []byte, kind wire.Kind, p []byte) ([]byte, error) {
	return appendBareFloat(dst, kind, p, 64)
}

func appendFloat32(dst []byte, kind wire.Kind, p []byte) ([]byte, error) {
	return appendBareFloat(dst, kind, p, 32)
}

func appendBareFloat(dst []byte, kind wire.Kind, p []byte, bits int) ([]byte, error) {
	f, err := parseFloat(kind, p, bits)
	if err != nil {
		return dst, err
	}
	if name, named := floatName(f); named {
		return append(dst, name...), nil
	}
	return appendFloat(dst, f, bits), nil
}

// quoted puts what encode appends in quotes where that is needed.
func (c *csv) quoted(encode encodeFunc) encodeFunc {
	return func(dst []byte, kind wire.Kind, p []byte) ([]byte, error) {
		start := len(dst)
		dst, err := encode(dst, kind, p)
		if err != nil {
			return dst, err
		}
		if plain, _ := c.isPlain(dst[start:]); plain {
			return dst, nil
		}
		return c.quoteTail(dst, start), nil
	}
}

// quoteTail puts dst[start:] in quotes where it is.
func (c *csv) quoteTail(dst []byte, start int) []byte {
	end := len(dst)
	quotes := bytes.Count(dst[start:], []byte{c.quote})
	dst = slices.Grow(dst, quotes+2)[:end+quotes+2]
	to := len(dst) - 1
	dst[to] = c.quote
	if quotes == 0 {
		copy(dst[start+1:], dst[start:end])
	} else {
		for from := end - 1; from >= start; from-- {
			to--
			dst[to] = dst[from]
			if dst[to] == c.quote {
				to--
				dst[to] = c.quote
			}
		}
	}
	dst[start] = c.quote
	return dst
}

// appendField writes text, which is not NULL, as a field.
func (c *csv) appendField(dst, text []byte) ([]byte, error) {
	plain, ascii := c.isPlain(text)
	if !ascii && !utf8.Valid(text) {
		return dst, errInvalidUTF8
	}
	if plain {
		return append(dst, text...), nil
	}
	dst = append(dst, c.quote)
	for {
		i := bytes.IndexByte(text, c.quote)
		if i < 0 {
			dst = append(dst, text...)
			return append(dst, c.quote), nil
		}
		dst = append(dst, text[:i+1]...)
		dst = append(dst, c.quote)
		text = text[i+1:]
	}
}

// isPlain reports whether text means itself without quotes, and whether it is
// all ASCII. Text is quoted where it must be, and where it is empty or equals
// the null marker, or has a control character.
func (c *csv) isPlain(text []byte) (plain, ascii bool) {
	if len(text) < 8 {
		var high byte
		plain = len(text) > 0
		for _, b := range text {
			high |= b
			if b < 0x20 || b == c.delimiter || b == c.quote {
				plain = false
			}
		}
		return plain && !bytes.Equal(text, c.null), high < utf8.RuneSelf
	}
	delimiter, quote := ones*uint64(c.delimiter), ones*uint64(c.quote)
	w := binary.LittleEndian.Uint64(text[len(text)-8:])
	high, hit := w, needsQuotes(w, delimiter, quote)
	for s := text; len(s) > 8; s = s[8:] {
		w = binary.LittleEndian.Uint64(s)
		high |= w
		hit |= needsQuotes(w, delimiter, quote)
	}
	return hit == 0 && !bytes.Equal(text, c.null), high&highs == 0
}

// needsQuotes reports, in the top bits, whether any of the eight bytes of w is
// a control character, or that which all bytes of delimiter or of quote are.
func needsQuotes(w, delimiter, quote uint64) uint64 {
	d, q := w^delimiter, w^quote
	return ((w-0x20*ones)&^w | (d-ones)&^d | (q-ones)&^q) & highs
}
