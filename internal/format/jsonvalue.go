package format

import (
	"google.golang.org/protobuf/encoding/protowire"

	"spanbulk/internal/wire"
)

// value reads the value of a column, or of an element of an ARRAY, and appends
// its wire form to dst.
func (s *scanner) value(dst []byte, d *valueDecoder) ([]byte, error) {
	if s.pos >= len(s.data) {
		return dst, errEndsInside
	}
	if d.jsonText {
		return s.jsonText(dst)
	}
	if d.json {
		return s.jsonValue(dst)
	}
	if d.plain != nil {
		if out, ok := s.plainValue(dst, d); ok {
			return out, nil
		}
	}
	switch c := s.data[s.pos]; c {
	case '"':
		text, err := s.string()
		if err != nil {
			return dst, err
		}
		if d.text == nil {
			return dst, d.want()
		}
		return d.text(dst, text)
	case 'n':
		return wire.AppendNull(dst), s.word("null")
	case 't', 'f':
		word := "true"
		if c == 'f' {
			word = "false"
		}
		if err := s.word(word); err != nil {
			return dst, err
		}
		if !d.truth {
			return dst, d.want()
		}
		return wire.AppendBool(dst, c == 't'), nil
	case '[':
		if d.element != nil {
			return s.array(dst, d.element)
		}
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		number, err := s.number()
		switch {
		case err != nil:
			return dst, err
		case d.number:
			return d.text(dst, number)
		}
		return dst, d.want()
	}
	if err := s.skipValue(); err != nil {
		return dst, err
	}
	return dst, d.want()
}

// plainValue reads a value that is plain, in a string or a number.
func (s *scanner) plainValue(dst []byte, d *valueDecoder) (out []byte, ok bool) {
	if s.data[s.pos] == '"' {
		out, n := d.plain(dst, s.data[s.pos+1:])
		end := s.pos + 1 + n
		if n == 0 || end == len(s.data) || s.data[end] != '"' {
			return dst, false
		}
		s.pos = end + 1
		return out, true
	}
	if !d.digits {
		return dst, false
	}
	out, n := d.plain(dst, s.data[s.pos:])
	end := s.pos + n
	if n == 0 || end == len(s.data) {
		return dst, false
	}
	if c := s.data[end]; c != ',' && c != '}' && c != ']' && c > ' ' {
		return dst, false
	}
	s.pos = end
	return out, true
}

// array reads an array at its opening bracket.
func (s *scanner) array(dst []byte, element *valueDecoder) ([]byte, error) {
	s.pos++
	dst = wire.AppendList(dst, nil)
	start := len(dst)
	s.space()
	if s.at(']') {
		s.pos++
		return dst, nil
	}
	for {
		dst = wire.AppendElement(dst, nil)
		at := len(dst)
		var err error
		if dst, err = s.value(dst, element); err != nil {
			return dst, err
		}
		dst = setLength(dst, at)
		s.space()
		switch {
		case s.at(','):
			s.pos++
			s.space()
		case s.at(']'):
			s.pos++
			return setLength(dst, start), nil
		default:
			return dst, s.fail(errWantComma)
		}
	}
}

// setLength gives what was appended since start the length that stands before
// it, for which one byte is there.
func setLength(dst []byte, start int) []byte {
	n := len(dst) - start
	if n < 0x80 {
		dst[start-1] = byte(n)
		return dst
	}
	var room [10]byte
	length := protowire.AppendVarint(room[:0], uint64(n))
	dst = append(dst, length[1:]...)
	copy(dst[start+len(length)-1:], dst[start:start+n])
	copy(dst[start-1:], length)
	return dst
}

// jsonValue reads the value of a JSON column: its text as it is. null is NULL;
// {"$json":x} is x, which is how the JSON value null is written, and an object
// that looks like this.
func (s *scanner) jsonValue(dst []byte) ([]byte, error) {
	start := s.pos
	if err := s.skipValue(); err != nil {
		return dst, err
	}
	text := s.data[start:s.pos]
	switch text[0] {
	case 'n':
		return wire.AppendNull(dst), nil
	case '{':
		text = unwrapJSON(text)
	}
	return wire.AppendString(dst, text), nil
}

// unwrapJSON returns x where object, which is valid, is {"$json":x}, else
// object.
func unwrapJSON(object []byte) []byte {
	s := scanner{data: object, pos: 1}
	s.space()
	if !s.at('"') || s.pos+1 < len(object) && object[s.pos+1] != '$' && object[s.pos+1] != '\\' {
		return object
	}
	name, _ := s.string()
	if string(name) != "$json" {
		return object
	}
	s.colon()
	start := s.pos
	s.skipValue()
	inner := object[start:s.pos]
	if s.space(); !s.at('}') {
		return object
	}
	return inner
}

// jsonText reads the value of a JSON column that stands in a string.
func (s *scanner) jsonText(dst []byte) ([]byte, error) {
	switch {
	case s.at('n'):
		return wire.AppendNull(dst), s.word("null")
	case !s.at('"'):
		if err := s.skipValue(); err != nil {
			return dst, err
		}
		return dst, errWantJSONString
	}
	text, err := s.string()
	if err != nil {
		return dst, err
	}
	return textJSON(dst, text)
}
