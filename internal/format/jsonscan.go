package format

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// maxJSONDepth bounds the nesting of a record. Spanner's own bound for a JSON
// value is 80 levels.
const maxJSONDepth = 1024

// syntaxError is what can be wrong with the text of a record, whatever its
// columns. A scanner stops where it is.
type syntaxError struct{ text string }

func (e *syntaxError) Error() string { return e.text }

var (
	errEndsInside    = &syntaxError{"malformed JSON: the record ends inside a value"}
	errWantValue     = &syntaxError{"malformed JSON: a value is missing"}
	errWantFieldName = &syntaxError{"malformed JSON: the name of a field in double quotes is missing"}
	errWantColon     = &syntaxError{"malformed JSON: a colon after the name of a field is missing"}
	errWantComma     = &syntaxError{"malformed JSON: a comma or a closing bracket is missing"}
	errBadNumber     = &syntaxError{"malformed JSON: a number that JSON does not have"}
	errBadEscape     = &syntaxError{"malformed JSON: an escape sequence that JSON does not have"}
	errHalfSurrogate = &syntaxError{`half a surrogate pair, such as "\ud800", which no text can hold`}
	errControl       = &syntaxError{"malformed JSON: a control character in a string, which must be escaped"}
	errTooDeep       = &syntaxError{"nested deeper than 1024 levels"}
	errTrailing      = &syntaxError{"malformed JSON: something stands after the value"}
)

// scanner reads JSON strictly as RFC 8259 has it. Whether the text is UTF-8 is
// checked before, for the whole chunk at once.
type scanner struct {
	data    []byte
	pos     int
	scratch []byte // an unescaped string
}

// space passes over blank space.
func (s *scanner) space() {
	for s.pos < len(s.data) && s.data[s.pos] <= ' ' {
		switch s.data[s.pos] {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return
		}
	}
}

// at reports whether c is next.
func (s *scanner) at(c byte) bool { return s.pos < len(s.data) && s.data[s.pos] == c }

// fail returns err, or that the record has ended if that is why.
func (s *scanner) fail(err error) error {
	if s.pos >= len(s.data) {
		return errEndsInside
	}
	return err
}

// plainString moves over the characters of a string up to the first that ends
// it or needs a closer look.
func (s *scanner) plainString() {
	for len(s.data)-s.pos >= 8 {
		if hit := hasEscape(binary.LittleEndian.Uint64(s.data[s.pos:])); hit != 0 {
			s.pos += bits.TrailingZeros64(hit) / 8
			return
		}
		s.pos += 8
	}
	for s.pos < len(s.data) {
		if c := s.data[s.pos]; c < 0x20 || c == '"' || c == '\\' {
			return
		}
		s.pos++
	}
}

// string reads a string at its opening quote. The text is valid until the next
// call: it is part of the data, or of scratch if there was an escape in it.
func (s *scanner) string() (text []byte, err error) {
	s.pos++
	start := s.pos
	s.plainString()
	if s.at('"') {
		s.pos++
		return s.data[start : s.pos-1], nil
	}
	s.scratch = s.scratch[:0]
	for {
		s.scratch = append(s.scratch, s.data[start:s.pos]...)
		switch {
		case s.at('"'):
			s.pos++
			return s.scratch, nil
		case s.at('\\'):
			r, err := s.escape()
			if err != nil {
				return nil, err
			}
			s.scratch = utf8.AppendRune(s.scratch, r)
		default:
			return nil, s.fail(errControl)
		}
		start = s.pos
		s.plainString()
	}
}

// escape reads an escape sequence, both halves of a surrogate pair.
func (s *scanner) escape() (rune, error) {
	if s.pos+1 >= len(s.data) {
		s.pos = len(s.data)
		return 0, errEndsInside
	}
	s.pos += 2
	switch c := s.data[s.pos-1]; c {
	case '"', '\\', '/':
		return rune(c), nil
	case 'n':
		return '\n', nil
	case 't':
		return '\t', nil
	case 'r':
		return '\r', nil
	case 'b':
		return '\b', nil
	case 'f':
		return '\f', nil
	case 'u':
		return s.unicodeEscape()
	default:
		s.pos -= 2
		return 0, errBadEscape
	}
}

// unicodeEscape reads what follows \u.
func (s *scanner) unicodeEscape() (rune, error) {
	start := s.pos - 2
	r, err := s.hex4()
	if err != nil || r < 0xd800 || r > 0xdfff {
		return r, err
	}
	if r <= 0xdbff && s.at('\\') && s.pos+1 < len(s.data) && s.data[s.pos+1] == 'u' {
		s.pos += 2
		low, err := s.hex4()
		if err != nil {
			return 0, err
		}
		if low >= 0xdc00 && low <= 0xdfff {
			return 0x10000 + (r-0xd800)<<10 + (low - 0xdc00), nil
		}
	}
	s.pos = start
	return 0, errHalfSurrogate
}

func (s *scanner) hex4() (rune, error) {
	var r rune
	for range 4 {
		if s.pos >= len(s.data) {
			return 0, errEndsInside
		}
		c := s.data[s.pos]
		switch {
		case c-'0' <= 9:
			r = r<<4 | rune(c-'0')
		case c|0x20-'a' <= 5 && c > '9':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, errBadEscape
		}
		s.pos++
	}
	return r, nil
}

// number reads a number at its first character and returns its text.
func (s *scanner) number() ([]byte, error) {
	start := s.pos
	if s.at('-') {
		s.pos++
	}
	whole := s.pos
	s.digits()
	if s.pos == whole || s.data[whole] == '0' && s.pos > whole+1 {
		return nil, s.fail(errBadNumber)
	}
	if s.at('.') {
		s.pos++
		if s.digits() == 0 {
			return nil, s.fail(errBadNumber)
		}
	}
	if s.at('e') || s.at('E') {
		s.pos++
		if s.at('+') || s.at('-') {
			s.pos++
		}
		if s.digits() == 0 {
			return nil, s.fail(errBadNumber)
		}
	}
	return s.data[start:s.pos], nil
}

// digits moves over decimal digits and returns how many there were.
func (s *scanner) digits() int {
	start := s.pos
	for s.pos < len(s.data) && s.data[s.pos]-'0' <= 9 {
		s.pos++
	}
	return s.pos - start
}

// word moves over true, false or null.
func (s *scanner) word(w string) error {
	end := s.pos + len(w)
	if end > len(s.data) {
		if bytes.HasPrefix([]byte(w), s.data[s.pos:]) {
			s.pos = len(s.data)
		}
		return s.fail(errWantValue)
	}
	if string(s.data[s.pos:end]) != w {
		return errWantValue
	}
	s.pos = end
	return nil
}

// skipString moves over a string, checking it.
func (s *scanner) skipString() error {
	s.pos++
	for {
		s.plainString()
		switch {
		case s.at('"'):
			s.pos++
			return nil
		case s.at('\\'):
			if _, err := s.escape(); err != nil {
				return err
			}
		default:
			return s.fail(errControl)
		}
	}
}

// skipScalar moves over a value that is no array or object.
func (s *scanner) skipScalar() error {
	if s.pos >= len(s.data) {
		return errEndsInside
	}
	switch c := s.data[s.pos]; c {
	case '"':
		return s.skipString()
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	default:
		if c == '-' || c-'0' <= 9 {
			_, err := s.number()
			return err
		}
		return errWantValue
	}
}

// skipValue moves over any value, checking all of it. It keeps what it is
// inside of in a set of bits, one for each level, that are set for objects.
func (s *scanner) skipValue() error {
	var objects [maxJSONDepth / 64]uint64
	depth := 0
	for {
		opened, err := s.skipOpening(&objects, &depth)
		if err != nil {
			return err
		}
		if opened {
			continue
		}
		// Behind a value: what closes, what goes on?
		for {
			if depth == 0 {
				return nil
			}
			s.space()
			inObject := objects[(depth-1)/64]>>((depth-1)%64)&1 != 0
			switch {
			case s.at(','):
				s.pos++
				s.space()
				if inObject {
					if err := s.skipName(); err != nil {
						return err
					}
				}
			case inObject && s.at('}') || !inObject && s.at(']'):
				s.pos++
				depth--
				continue
			default:
				return s.fail(errWantComma)
			}
			break
		}
	}
}

// skipOpening moves over a scalar, an empty array or object, or the opening
// of one with something in it up to its first value, which it reports.
func (s *scanner) skipOpening(objects *[maxJSONDepth / 64]uint64, depth *int) (opened bool, err error) {
	if s.pos >= len(s.data) {
		return false, errEndsInside
	}
	open := s.data[s.pos]
	if open != '{' && open != '[' {
		return false, s.skipScalar()
	}
	if *depth == maxJSONDepth {
		return false, errTooDeep
	}
	s.pos++
	s.space()
	if open == '[' && s.at(']') || open == '{' && s.at('}') {
		s.pos++
		return false, nil
	}
	bit := uint64(1) << (*depth % 64)
	if open == '{' {
		objects[*depth/64] |= bit
		err = s.skipName()
	} else {
		objects[*depth/64] &^= bit
	}
	*depth++
	return true, err
}

// skipName moves over the name of a field, its colon, and the blank space
// behind.
func (s *scanner) skipName() error {
	if !s.at('"') {
		return s.fail(errWantFieldName)
	}
	if err := s.skipString(); err != nil {
		return err
	}
	return s.colon()
}

func (s *scanner) colon() error {
	s.space()
	if !s.at(':') {
		return s.fail(errWantColon)
	}
	s.pos++
	s.space()
	return nil
}
