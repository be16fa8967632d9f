package tablefile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"spanbulk/internal/emulator/catalog"
)

func readNDJSON(in *bufio.Reader, t *catalog.Table, yield func(Record, error) bool) {
	var line, values []byte
	var columns []*catalog.Column
	for n := 1; ; n++ {
		var err error
		if line, err = appendLine(line[:0], in); err != nil && (err != io.EOF || len(line) == 0) {
			if err != io.EOF {
				yield(Record{}, lineError(n, "%v", err))
			}
			return
		}
		text := bytes.TrimSpace(line)
		if len(text) == 0 {
			continue
		}
		var members []*catalog.Column
		if members, values, err = readObject(text, t, values[:0], columns); err != nil {
			yield(Record{}, lineError(n, "%v", err))
			return
		}
		if !slices.Equal(members, columns) {
			columns = slices.Clone(members)
		}
		if !yield(Record{Columns: columns, Values: values}, nil) {
			return
		}
	}
}

func appendLine(dst []byte, in *bufio.Reader) ([]byte, error) {
	for {
		part, err := in.ReadSlice('\n')
		dst = append(dst, part...)
		if err != bufio.ErrBufferFull {
			return dst, err
		}
	}
}

// readObject reads one record. last are the columns of the record before:
// most records name the same ones in the same order.
func readObject(text []byte, t *catalog.Table, values []byte, last []*catalog.Column) ([]*catalog.Column, []byte, error) {
	s := scanner{in: text}
	if !s.accept('{') {
		return nil, nil, errorString("expected a JSON object")
	}
	columns := make([]*catalog.Column, 0, len(last))
	for n := 0; !s.accept('}'); n++ {
		if n > 0 && !s.accept(',') {
			return nil, nil, errorString("malformed JSON object")
		}
		c, err := s.member(t, last, len(columns))
		if err != nil {
			return nil, nil, err
		}
		if slices.Contains(columns, c) {
			return nil, nil, errorString("field " + c.Name + " is given twice")
		}
		raw, ok := s.value()
		if !ok {
			return nil, nil, errorString("malformed JSON in field " + c.Name)
		}
		if c.Generated != nil {
			continue
		}
		columns = append(columns, c)
		if values, err = appendJSON(values, c, raw); err != nil {
			return nil, nil, errorString("field " + c.Name + ": " + err.Error())
		}
	}
	if s.blanks(); s.at != len(s.in) {
		return nil, nil, errorString("text after the JSON object")
	}
	return columns, values, nil
}

type errorString string

func (e errorString) Error() string { return string(e) }

// scanner cuts JSON text into members and raw values.
type scanner struct {
	in []byte
	at int
}

func (s *scanner) blanks() {
	for s.at < len(s.in) && strings.IndexByte(" \t\r\n", s.in[s.at]) >= 0 {
		s.at++
	}
}

func (s *scanner) accept(c byte) bool {
	s.blanks()
	if s.at == len(s.in) || s.in[s.at] != c {
		return false
	}
	s.at++
	return true
}

// member reads a name and its colon and finds the column.
func (s *scanner) member(t *catalog.Table, last []*catalog.Column, i int) (*catalog.Column, error) {
	raw, ok := s.value()
	if !ok || raw[0] != '"' || !s.accept(':') {
		return nil, errorString("malformed JSON object")
	}
	if name := raw[1 : len(raw)-1]; i < len(last) && string(name) == last[i].Name {
		return last[i], nil
	}
	name, err := unquote(raw)
	if err != nil {
		return nil, err
	}
	c, ok := t.Column(string(name))
	if !ok {
		return nil, errorString("table " + t.Name + " has no column " + string(name))
	}
	return c, nil
}

// value cuts the next value. Its inside is checked by those who read it.
func (s *scanner) value() ([]byte, bool) {
	s.blanks()
	start, depth := s.at, 0
	for s.at < len(s.in) {
		switch c := s.in[s.at]; c {
		case '"':
			if !s.skipText() {
				return nil, false
			}
		case '{', '[':
			depth++
			s.at++
		case '}', ']', ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return s.in[start:s.at], s.at > start
			}
			if c == '}' || c == ']' {
				depth--
			}
			s.at++
		default:
			s.at++
			continue
		}
		if depth == 0 {
			return s.in[start:s.at], true
		}
	}
	return s.in[start:s.at], depth == 0 && s.at > start
}

func (s *scanner) skipText() bool {
	for i := s.at + 1; i < len(s.in); i++ {
		switch s.in[i] {
		case '\\':
			i++
		case '"':
			s.at = i + 1
			return true
		}
	}
	return false
}

// unquote is the text of a JSON string, aliasing raw if nothing is escaped.
func unquote(raw []byte) ([]byte, error) {
	inner := raw[1 : len(raw)-1]
	plain := true
	for _, c := range inner {
		if c == '\\' || c < 0x20 {
			plain = false
			break
		}
	}
	if plain {
		return inner, nil
	}
	var out string
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, errorString("malformed JSON string")
	}
	if hasLoneSurrogate(inner) {
		return nil, errorString("half of a surrogate pair, which is no character")
	}
	return []byte(out), nil
}

// hasLoneSurrogate reports whether an escape in the valid text of a JSON string
// stands for half a character; encoding/json replaces it without a word.
func hasLoneSurrogate(text []byte) bool {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		i++
		if text[i] != 'u' {
			continue
		}
		r := hexRune(text[i+1:])
		i += 4
		if !utf16.IsSurrogate(r) {
			continue
		}
		rest := text[i+1:]
		if len(rest) < 6 || rest[0] != '\\' || rest[1] != 'u' || utf16.DecodeRune(r, hexRune(rest[2:])) == utf8.RuneError {
			return true
		}
		i += 6
	}
	return false
}

// hexRune is the value of the four hexadecimal digits that text begins with.
func hexRune(text []byte) rune {
	n, _ := strconv.ParseUint(string(text[:4]), 16, 16) // checked by encoding/json
	return rune(n)
}
