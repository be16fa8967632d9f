package format

import (
	"slices"
	"strings"

	"spanbulk/internal/wire"
)

// maxRegular bounds the chunks of which readRegular is given records: in a larger
// one there are large records, for which memory is made beforehand.
const maxRegular = 1 << 20

// isRegular reports whether records may be read by readRegular.
func (p *plan) isRegular(c *Chunk) bool {
	return len(c.Data) <= maxRegular && !slices.ContainsFunc(p.csv, func(f csvPlanned) bool { return f.kind != columnField })
}

// plainEnds reports whether a plain value ends before a delimiter and a quote.
func (x csvDialect) plainEnds() bool {
	inValues := func(c byte) bool {
		return c|0x20 >= 'a' && c|0x20 <= 'z' || c-'0' <= 9 || strings.IndexByte("+-./:=_", c) >= 0
	}
	return !inValues(x.delimiter) && !inValues(x.quote)
}

// readRegular reads the record of c at pos straight into values, field by field,
// without taking it apart before, and returns where the next begins. That is
// where records are as nearly all are: as many fields as there should be, quotes
// around fields and nowhere else, values that can be written. For any other it
// returns 0; what is wrong with it, if anything is, readCSV tells.
func (d *Decoder) readRegular(t *Target, p *plan, c *Chunk, line int64, pos int) (next int) {
	x, data, start := d.csv, c.Data, pos
	d.beginValues(&d.record, t)
	arena, values := d.arena[:0], d.values
	withQuotes := false
	for i := range p.csv {
		if i > 0 {
			if data[pos] != x.delimiter {
				return 0
			}
			pos++
		}
		if pos == len(data) {
			return 0
		}
		f, at, end := &p.csv[i], len(arena), 0
		if data[pos] == x.quote {
			withQuotes = true
			arena, end = x.quotedValue(arena, f, data, pos)
		} else {
			arena, end = x.bareValue(arena, f, data, pos)
		}
		if end == 0 {
			return 0
		}
		pos = end
		values[f.column] = arena[at:len(arena):len(arena)]
	}
	d.arena = arena
	next = pos + 1
	if data[pos] == '\r' && next < len(data) {
		next++
	}
	if data[next-1] != '\n' || pos == start || pos-start > d.o.maxRecordBytes() {
		return 0
	}
	d.record = Record{Raw: data[start:pos], Line: line, Offset: start, Operation: d.o.operation(), Target: t, Values: values}
	p.finish(&d.record)
	x.quotes = withQuotes
	return next
}

// bareValue reads the value of a field without quotes and returns where the
// field ends, before the end of the data; 0 if it is not regular.
func (x *csvDecoder) bareValue(dst []byte, f *csvPlanned, data []byte, pos int) (out []byte, end int) {
	if f.plain != nil && x.plainEnds {
		out, n := f.plain(dst, data[pos:])
		if end = pos + n; n > 0 && end < len(data) && x.endsField(data[end]) && (n != len(x.null) || string(data[pos:end]) != string(x.null)) {
			return out, end
		}
	}
	end = x.bareEnd(data, pos)
	if end == len(data) {
		return dst, 0
	}
	text := data[pos:end]
	if len(text) == len(x.null) && string(text) == string(x.null) {
		return wire.AppendNull(dst), end
	}
	out, err := f.text(dst, text)
	if err != nil {
		return dst, 0
	}
	return out, end
}

// quotedValue is bareValue for a field at its opening quote.
func (x *csvDecoder) quotedValue(dst []byte, f *csvPlanned, data []byte, pos int) (out []byte, end int) {
	end = nextByte(data, pos+1, ones*uint64(x.quote))
	text := data[pos+1 : end]
	if end++; end < len(data) && data[end] == x.quote {
		x.undoubled, end = x.undouble(append(x.undoubled[:0], data[pos+1:end]...), data, end+1)
		text = x.undoubled
	}
	if end >= len(data) {
		return dst, 0
	}
	out, err := f.text(dst, text)
	if err != nil {
		return dst, 0
	}
	return out, end
}
