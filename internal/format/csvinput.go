package format

import (
	"bytes"
	"fmt"
	"strings"
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

// csvField is where the text of a field is, without its quotes.
type csvField struct {
	start, end int
	quoted     bool
	doubled    bool // quotes inside are doubled, or may be
}

// The mistakes of CSV's syntax.
var (
	errUnclosedQuote = &syntaxError{"the quote that opens here is not closed"}
	errStrayQuote    = &syntaxError{"a quote inside an unquoted field (--csv-lazy-quotes takes it as it is)"}
	errAfterQuote    = &syntaxError{"something stands between a closing quote and the delimiter (--csv-lazy-quotes takes the quote as it is)"}
)

// csvRecord is one record taken apart.
type csvRecord struct {
	fields []csvField
	end    int // behind the text of the record
	next   int // where the next record begins
	err    *syntaxError
	at     int // where err is
}

func (r *csvRecord) fail(err *syntaxError, at int) {
	if r.err == nil {
		r.err, r.at = err, at
	}
}

// split takes apart the record that begins at pos. Mistakes do not stop it: a
// record ends where one without the mistake would.
func (x csvDialect) split(r *csvRecord, data []byte, pos int) {
	r.fields, r.err = r.fields[:0], nil
	for {
		f := csvField{start: pos}
		if pos < len(data) && data[pos] == x.quote {
			pos = x.quotedField(r, &f, data, pos)
		} else {
			pos = x.bareField(r, data, pos)
			f.end = pos
		}
		r.fields = append(r.fields, f)
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

// bareField moves to the end of a field without quotes: a delimiter, an end of
// line or the end of the data.
func (x csvDialect) bareField(r *csvRecord, data []byte, pos int) int {
	delimiter, quote := ones*uint64(x.delimiter), ones*uint64(x.quote)
	for {
		pos = nextSpecial(data, pos, delimiter, quote)
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
	open := pos
	pos++
	f.start, f.quoted = pos, true
	for {
		i := bytes.IndexByte(data[pos:], x.quote)
		if i < 0 {
			r.fail(errUnclosedQuote, open)
			f.end = len(data)
			return len(data)
		}
		pos += i + 1
		switch {
		case pos == len(data) || x.endsField(data[pos]):
			f.end = pos - 1
			if pos+1 < len(data) && data[pos] == '\r' && data[pos+1] != '\n' {
				return x.bareField(r, data, pos)
			}
			return pos
		case data[pos] == x.quote:
			f.doubled = true
			pos++
		case x.lazy:
		default:
			r.fail(errAfterQuote, pos)
			f.end = pos - 1
			return x.bareField(r, data, pos)
		}
	}
}

func (x csvDialect) endsField(c byte) bool { return c == x.delimiter || c == '\n' || c == '\r' }

// text returns the text of a field; scratch is for one that must be made up.
func (x csvDialect) text(scratch []byte, data []byte, f csvField) (text, used []byte) {
	text = data[f.start:f.end]
	if !f.doubled {
		return text, scratch
	}
	scratch = scratch[:0]
	for {
		i := bytes.IndexByte(text, x.quote)
		if i < 0 {
			scratch = append(scratch, text...)
			return scratch, scratch
		}
		scratch = append(scratch, text[:i+1]...)
		if text = text[i+1:]; len(text) > 0 && text[0] == x.quote {
			text = text[1:]
		}
	}
}

// recordsEnd returns where the last whole record in data ends, 0 if there is
// none. data begins with a record. outside is scratch space.
func (x csvDialect) recordsEnd(data []byte, outside [][2]int) (end int, scratch [][2]int) {
	outside = outside[:0]
	begin, pos := 0, 0
	for pos < len(data) {
		i := bytes.IndexByte(data[pos:], x.quote)
		if i < 0 {
			break
		}
		open := pos + i
		pos = open + 1
		if open > 0 && data[open-1] != x.delimiter && data[open-1] != '\n' {
			continue // stray: it opens nothing
		}
		outside = append(outside, [2]int{begin, open})
		closed := x.closingQuote(data, pos)
		if closed < 0 {
			return lastLine(data, outside), outside
		}
		begin, pos = closed, closed
	}
	outside = append(outside, [2]int{begin, len(data)})
	return lastLine(data, outside), outside
}

// closingQuote returns the place behind the quote that closes the field whose
// text begins at pos, or -1 if that is not in data, or the last byte of it,
// which may still turn out to be a doubled quote.
func (x csvDialect) closingQuote(data []byte, pos int) int {
	for {
		i := bytes.IndexByte(data[pos:], x.quote)
		if i < 0 {
			return -1
		}
		pos += i + 1
		switch {
		case pos == len(data):
			return -1
		case data[pos] == x.quote:
			pos++
		case !x.lazy || x.endsField(data[pos]):
			return pos
		}
	}
}

// lastLine returns the place behind the last LF in the parts of data.
func lastLine(data []byte, parts [][2]int) int {
	for i := len(parts) - 1; i >= 0; i-- {
		begin, end := parts[i][0], parts[i][1]
		if n := bytes.LastIndexByte(data[begin:end], '\n'); n >= 0 {
			return begin + n + 1
		}
	}
	return 0
}

// csvSkip finds the end of a record piece by piece.
type csvSkip struct {
	csvDialect
	inside bool // of quotes
	closed bool // the last byte may have closed them
	before byte // the last byte
}

// skip returns how many bytes of data belong to the record, and whether it ends
// with them.
func (s *csvSkip) skip(data []byte) (n int, ended bool) {
	for i, c := range data {
		if s.closed {
			s.closed = false
			switch {
			case c == s.quote: // doubled
				s.before = c
				continue
			case !s.lazy || s.endsField(c):
				s.inside = false
			}
		}
		switch {
		case s.inside:
			s.closed = c == s.quote
		case c == s.quote && (s.before == s.delimiter || s.before == '\n'):
			s.inside = true
		case c == '\n':
			return i + 1, true
		}
		s.before = c
	}
	return len(data), false
}

// headerNames reads the names of the fields from the first record of data.
func (x csvDialect) headerNames(data []byte) (names []string, next int, err *RecordError) {
	var r csvRecord
	x.split(&r, data, 0)
	if r.err != nil {
		line, column := placeIn(data, r.at)
		return nil, 0, &RecordError{Line: int64(line), Byte: column, Reason: r.err.text}
	}
	seen := map[string]bool{}
	for i, f := range r.fields {
		text, _ := x.text(nil, data, f)
		name := string(text)
		if name == "" || seen[name] {
			line, column := placeIn(data, f.start)
			reason := fmt.Sprintf("field %d of the header has no name", i+1)
			if name != "" {
				reason = fmt.Sprintf("the header has the field %q twice", name)
			}
			return nil, 0, &RecordError{Line: int64(line), Byte: column, Reason: reason}
		}
		seen[name] = true
		names = append(names, name)
	}
	return names, r.next, nil
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
