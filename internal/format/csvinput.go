package format

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"
)

// CSVInput says how CSV is read. The zero value is RFC 4180 with a header,
// strictly; each of the last three forgives one thing.
type CSVInput struct {
	NoHeader  bool   // the first record is one; fields are DecodeOptions.Columns or the table's
	Delimiter string // as in CSVOptions
	Quote     string
	Null      string // an unquoted field that is NULL

	// Ragged takes records with too few fields, whose others are absent, and
	// with too many, which are passed over.
	Ragged bool
	// LazyQuotes takes a quote inside an unquoted field, or one that does not
	// end a quoted field, as a character.
	LazyQuotes bool
	// ReplaceInvalid takes bytes that are not UTF-8 as U+FFFD.
	ReplaceInvalid bool
}

// Validate reports options that cannot be.
func (o CSVInput) Validate() error {
	return CSVOptions{Delimiter: o.Delimiter, Quote: o.Quote, Null: o.Null}.Validate()
}

// csvDialect finds the ends of fields and records.
type csvDialect struct {
	delimiter, quote byte
	lazy             bool
}

func (o CSVInput) dialect() csvDialect {
	c := CSVOptions{Delimiter: o.Delimiter, Quote: o.Quote}
	return csvDialect{c.delimiter()[0], c.quote()[0], o.LazyQuotes}
}

// csvField is where the text of a field is, without its quotes: in the data, or
// in csvRecord.undoubled where quotes inside are doubled.
type csvField struct {
	at         int // where its text begins in the data
	start, end int // of the text
	quoted     bool
	doubled    bool
}

// The mistakes of CSV's syntax.
var (
	errUnclosedQuote = &syntaxError{"the quote that opens here is not closed"}
	errStrayQuote    = &syntaxError{"a quote inside an unquoted field (--csv-lazy-quotes takes it as it is)"}
	errAfterQuote    = &syntaxError{"something stands between a closing quote and the delimiter (--csv-lazy-quotes takes the quote as it is)"}
)

// csvRecord is one record taken apart.
type csvRecord struct {
	fields    []csvField
	undoubled []byte // texts that do not stand in the data
	end       int    // behind the text of the record
	next      int    // where the next record begins
	err       *syntaxError
	at        int // where err is
}

func (r *csvRecord) fail(err *syntaxError, at int) {
	if r.err == nil {
		r.err, r.at = err, at
	}
}

// text returns the text of a field, valid until the next record is taken apart.
func (r *csvRecord) text(data []byte, f *csvField) []byte {
	if f.doubled {
		return r.undoubled[f.start:f.end]
	}
	return data[f.start:f.end]
}

// split takes apart the record that begins at pos. Mistakes do not stop it: a
// record ends where one without the mistake would.
func (x csvDialect) split(r *csvRecord, data []byte, pos int) {
	r.fields, r.undoubled, r.err = r.fields[:0], r.undoubled[:0], nil
	for {
		r.fields = append(r.fields, csvField{at: pos, start: pos})
		f := &r.fields[len(r.fields)-1]
		if pos < len(data) && data[pos] == x.quote {
			pos = x.quotedField(r, f, data, pos)
		} else {
			pos = x.bareField(r, data, pos)
			f.end = pos
		}
		if pos < len(data) && data[pos] == x.delimiter {
			pos++
			continue
		}
		r.end, r.next = pos, pos
		if pos < len(data) && data[pos] == '\r' {
			r.next++
		}
		if r.next < len(data) {
			r.next++ // the LF
		}
		return
	}
}

// bareEnd returns the place of the first delimiter, quote, CR or LF from pos on,
// or the end.
func (x csvDialect) bareEnd(data []byte, pos int) int {
	delimiter, quote := ones*uint64(x.delimiter), ones*uint64(x.quote)
	for {
		for len(data)-pos >= 8 {
			if hit := needsQuotes(binary.LittleEndian.Uint64(data[pos:]), delimiter, quote); hit != 0 {
				pos += bits.TrailingZeros64(hit) / 8
				break
			}
			pos += 8
		}
		if pos == len(data) || x.endsField(data[pos]) || data[pos] == x.quote {
			return pos
		}
		pos++
	}
}

// bareField moves to the end of a field without quotes: a delimiter, an end of
// line or the end of the data.
func (x csvDialect) bareField(r *csvRecord, data []byte, pos int) int {
	for {
		pos = x.bareEnd(data, pos)
		if pos == len(data) {
			return pos
		}
		switch c := data[pos]; c {
		case x.delimiter, '\n':
			return pos
		case '\r':
			if pos+1 == len(data) || data[pos+1] == '\n' {
				return pos
			}
			r.fail(errLoneCR, pos)
		case x.quote:
			if !x.lazy {
				r.fail(errStrayQuote, pos)
			}
		}
		pos++
	}
}

// quotedField moves to the end of a field at its opening quote.
func (x csvDialect) quotedField(r *csvRecord, f *csvField, data []byte, pos int) int {
	quote := ones * uint64(x.quote)
	pos++
	f.at, f.start, f.quoted = pos, pos, true
	for {
		if pos = nextByte(data, pos, quote); pos == len(data) {
			r.fail(errUnclosedQuote, f.at-1)
			f.end = pos
			return pos
		}
		pos++
		switch {
		case pos == len(data) || x.endsField(data[pos]) || !x.lazy && data[pos] != x.quote:
			f.end = pos - 1
			return x.afterQuote(r, data, pos)
		case data[pos] == x.quote:
			return x.doubledField(r, f, data, pos)
		}
	}
}

// doubledField goes on with a quoted field at the second of two quotes, the
// first that it has. The text is made up on the way.
func (x csvDialect) doubledField(r *csvRecord, f *csvField, data []byte, pos int) int {
	begin := len(r.undoubled)
	r.undoubled, pos = x.undouble(append(r.undoubled, data[f.start:pos]...), data, pos+1)
	f.start, f.end, f.doubled = begin, len(r.undoubled), true
	if pos > len(data) {
		r.fail(errUnclosedQuote, f.at-1)
		return len(data)
	}
	return x.afterQuote(r, data, pos)
}

// undouble appends to dst the text of a quoted field from pos on, where two
// quotes are one, and returns the place behind the closing quote; one behind the
// end of the data if there is none.
func (x csvDialect) undouble(dst, data []byte, pos int) (text []byte, end int) {
	const word = 8
	quote := ones * uint64(x.quote)
	for {
		var c byte
		if len(data)-pos > word {
			dst = slices.Grow(dst, word)
			w := binary.LittleEndian.Uint64(data[pos:])
			binary.LittleEndian.PutUint64(dst[len(dst):len(dst)+word], w)
			hit := hasByte(w, quote)
			if hit == 0 {
				dst, pos = dst[:len(dst)+word], pos+word
				continue
			}
			n := bits.TrailingZeros64(hit)/8 + 1
			dst, pos = dst[:len(dst)+n], pos+n
			c = data[pos]
		} else {
			n := nextByte(data[pos:], 0, quote)
			dst, pos = append(dst, data[pos:pos+n]...), pos+n
			if pos == len(data) {
				return dst, pos + 1
			}
			dst, pos = append(dst, x.quote), pos+1
			if pos < len(data) {
				c = data[pos]
			}
		}
		switch {
		case pos == len(data) || x.endsField(c) || !x.lazy && c != x.quote:
			return dst[:len(dst)-1], pos
		case c == x.quote:
			pos++
		}
	}
}

// afterQuote moves from behind the closing quote of a field to its end.
func (x csvDialect) afterQuote(r *csvRecord, data []byte, pos int) int {
	switch {
	case pos == len(data):
		return pos
	case !x.endsField(data[pos]):
		r.fail(errAfterQuote, pos)
	case data[pos] != '\r' || pos+1 == len(data) || data[pos+1] == '\n':
		return pos
	}
	return x.bareField(r, data, pos)
}

func (x csvDialect) endsField(c byte) bool { return c == x.delimiter || c == '\n' || c == '\r' }

// headerNames reads the names of the fields from the first record of data.
func (x csvDialect) headerNames(data []byte) (names []string, next int, err *RecordError) {
	var r csvRecord
	x.split(&r, data, 0)
	if r.err != nil {
		line, column := placeIn(data, r.at)
		return nil, 0, &RecordError{Line: int64(line), Byte: column, Reason: r.err.text}
	}
	seen := map[string]int{} // counted from 1
	for i, f := range r.fields {
		name := string(r.text(data, &f))
		invalid := !utf8.ValidString(name)
		if first, twice := seen[name]; name == "" || twice || invalid {
			reason := " has no name"
			switch {
			case invalid:
				reason = " has " + errInvalidBytes.Error()
			case twice:
				reason = fmt.Sprintf(" has the name of field %d", first)
			}
			refused := headerError(i, name, reason)
			line, column := placeIn(data, f.at)
			refused.Line, refused.Byte = int64(line), column
			return nil, 0, refused
		}
		seen[name] = i + 1
		names = append(names, name)
	}
	return names, r.next, nil
}

// headerError is a field of a header that cannot be used, counted from 0. What
// stands there for a name is a value of a record if the file has no header.
func headerError(field int, name, reason string) *RecordError {
	e := &RecordError{
		Line: 1, Reason: fmt.Sprintf("field %d of the header%s", field+1, reason),
		Hint: "the first record is taken for a header; --csv-header=false takes it for a record",
	}
	if name != "" {
		e.Cause = fmt.Errorf("it is %q", name)
	}
	return e
}

// misfit is the headerError of a field that does not fit the table, with its
// place in the header that the layout was read from.
func (p *plan) misfit(l *Layout, field int, name, reason string) *RecordError {
	e := headerError(field, name, reason)
	var r csvRecord
	if p.options.CSV.dialect().split(&r, []byte(l.context), 0); field < len(r.fields) {
		line, column := placeIn([]byte(l.context), r.fields[field].at)
		e.Line, e.Byte = int64(line), column
	}
	return e
}

// placeIn returns the line of data that at is in, and the place in it, both
// counted from 1.
func placeIn(data []byte, at int) (line, column int) {
	before := data[:at]
	return bytes.Count(before, []byte{'\n'}) + 1, at - bytes.LastIndexByte(before, '\n')
}

// headerLine is the text that headerNames reads names from.
func (x csvDialect) headerLine(names []string) string {
	var line []byte
	for i, name := range names {
		if i > 0 {
			line = append(line, x.delimiter)
		}
		quote := string(x.quote)
		line = append(append(append(line, x.quote), strings.ReplaceAll(name, quote, quote+quote)...), x.quote)
	}
	return string(append(line, '\n'))
}
