package tablefile

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"

	"spanbulk/internal/emulator/catalog"
)

// field is one field of a CSV record.
type field struct {
	text   []byte
	quoted bool
}

// csvReader reads RFC 4180 records. encoding/csv cannot tell a quoted empty
// field from a bare one.
type csvReader struct {
	in   *bufio.Reader
	line int
	// record is the text of the record under way, fields point into it.
	record []byte
	fields []field
}

func readCSV(in *bufio.Reader, t *catalog.Table, yield func(Record, error) bool) {
	r := &csvReader{in: in}
	columns, err := r.header(t)
	if err != nil {
		if !errors.Is(err, io.EOF) {
			yield(Record{}, err)
		}
		return
	}
	written := slices.DeleteFunc(slices.Clone(columns), func(c *catalog.Column) bool { return c.Generated != nil })
	var values []byte
	for {
		if err := r.next(); err != nil {
			if !errors.Is(err, io.EOF) {
				yield(Record{}, err)
			}
			return
		}
		if len(r.fields) != len(columns) {
			yield(Record{}, lineError(r.line, "found %d fields, the header has %d", len(r.fields), len(columns)))
			return
		}
		values = values[:0]
		for i, f := range r.fields {
			if columns[i].Generated != nil {
				continue
			}
			if values, err = appendField(values, columns[i], f); err != nil {
				yield(Record{}, lineError(r.line, "column %s: %v", columns[i].Name, err))
				return
			}
		}
		if !yield(Record{Columns: written, Values: values}, nil) {
			return
		}
	}
}

func (r *csvReader) header(t *catalog.Table) ([]*catalog.Column, error) {
	if err := r.next(); err != nil {
		return nil, err
	}
	var columns []*catalog.Column
	for _, f := range r.fields {
		c, ok := t.Column(string(f.text))
		if !ok {
			return nil, lineError(1, "table %s has no column %q", t.Name, f.text)
		}
		columns = append(columns, c)
	}
	return columns, nil
}

// next reads a record into fields. Blank lines are skipped.
func (r *csvReader) next() error {
	r.record = r.record[:0]
	for {
		err := r.readLine()
		if err != nil && (err != io.EOF || len(r.record) == 0) {
			return err
		}
		open := bytes.Count(r.record, []byte{'"'})%2 == 1
		if open && err == io.EOF {
			return lineError(r.line, "a quoted field is not closed")
		}
		if open {
			continue
		}
		text := bytes.TrimSuffix(bytes.TrimSuffix(r.record, []byte("\n")), []byte("\r"))
		if len(text) > 0 {
			return r.split(text)
		}
		if err == io.EOF {
			return io.EOF
		}
		r.record = r.record[:0]
	}
}

// readLine appends one line, of any length, with its end.
func (r *csvReader) readLine() error {
	for {
		part, err := r.in.ReadSlice('\n')
		r.record = append(r.record, part...)
		if err == bufio.ErrBufferFull {
			continue
		}
		r.line++
		return err
	}
}

func (r *csvReader) split(text []byte) error {
	r.fields = r.fields[:0]
	for {
		if len(text) > 0 && text[0] == '"' {
			rest, err := r.quoted(text[1:])
			if err != nil {
				return err
			}
			if rest == nil {
				return nil
			}
			text = rest
			continue
		}
		end := bytes.IndexByte(text, ',')
		bare := text
		if end >= 0 {
			bare = text[:end]
		}
		if bytes.IndexByte(bare, '"') >= 0 {
			return lineError(r.line, "a quote within a bare field")
		}
		r.fields = append(r.fields, field{text: bare})
		if end < 0 {
			return nil
		}
		text = text[end+1:]
	}
}

// quoted takes a field after its opening quote, turning "" into " in place. It
// gives what follows the comma, nil at the end of the record.
func (r *csvReader) quoted(text []byte) ([]byte, error) {
	out := text[:0]
	for {
		end := bytes.IndexByte(text, '"')
		if end < 0 {
			return nil, lineError(r.line, "a quoted field is not closed")
		}
		out = append(out, text[:end]...)
		text = text[end+1:]
		if len(text) > 0 && text[0] == '"' {
			out = append(out, '"')
			text = text[1:]
			continue
		}
		r.fields = append(r.fields, field{text: out, quoted: true})
		switch {
		case len(text) == 0:
			return nil, nil
		case text[0] == ',':
			return text[1:], nil
		}
		return nil, lineError(r.line, "text after a closing quote")
	}
}
