package cdc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

var (
	errNotJSON   = errors.New("text is not valid JSON")
	errJSONDepth = errors.New("JSON is nested too deeply")
	errNotUTF8   = errors.New("text is not valid UTF-8")
)

// maxJSONDepth bounds the nesting of JSON. Spanner itself allows 80 levels.
const maxJSONDepth = 500

// jsonText walks over a JSON text. It hands out parts of the text as they are
// and never builds a value. The zero pos is the beginning.
type jsonText struct {
	text  []byte
	pos   int
	depth int // of the objects and arrays around pos
}

// space passes over white space.
func (j *jsonText) space() {
	for j.pos < len(j.text) {
		switch j.text[j.pos] {
		case ' ', '\t', '\n', '\r':
			j.pos++
		default:
			return
		}
	}
}

// peek returns the next byte that is not white space, 0 at the end.
func (j *jsonText) peek() byte {
	j.space()
	if j.pos == len(j.text) {
		return 0
	}
	return j.text[j.pos]
}

// take passes over c, if it comes next.
func (j *jsonText) take(c byte) bool {
	if j.peek() != c {
		return false
	}
	j.pos++
	return true
}

// end wants nothing but white space to follow.
func (j *jsonText) end() error {
	if j.peek() != 0 || j.pos < len(j.text) {
		return errNotJSON
	}
	return nil
}

// skip passes over a value.
func (j *jsonText) skip() error {
	switch c := j.peek(); {
	case c == '"':
		_, err := j.quoted()
		return err
	case c == '{':
		return j.members(func([]byte) error { return j.skip() })
	case c == '[':
		return j.elements(j.skip)
	case c == '-' || c-'0' <= 9:
		return j.number()
	default:
		return j.word()
	}
}

// value passes over a value and returns its text.
func (j *jsonText) value() ([]byte, error) {
	j.space()
	start := j.pos
	err := j.skip()
	return j.text[start:j.pos:j.pos], err
}

// quoted passes over a string and returns it as it stands, quotes included.
func (j *jsonText) quoted() ([]byte, error) {
	if j.peek() != '"' {
		return nil, errNotJSON
	}
	start := j.pos
	for i := start + 1; i < len(j.text); i++ {
		i += plainLength(j.text[i:])
		if i == len(j.text) {
			break
		}
		switch c := j.text[i]; {
		case c == '"':
			j.pos = i + 1
			return j.text[start:j.pos:j.pos], nil
		case c < 0x20:
			return nil, errNotJSON
		case c == '\\':
			n := escapeLength(j.text[i:])
			if n == 0 {
				return nil, errNotJSON
			}
			i += n - 1
		}
	}
	return nil, errNotJSON
}

// escapeLength returns the length of the escape that s begins with, 0 if it is
// none.
func escapeLength(s []byte) int {
	if len(s) < 2 {
		return 0
	}
	switch s[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(s) < 6 || hex4(s[2:6]) < 0 {
			return 0
		}
		return 6
	default:
		return 0
	}
}

// hex4 reads four hexadecimal digits, or returns a negative number.
func hex4(s []byte) rune {
	var r rune
	for _, c := range s[:4] {
		switch {
		case c-'0' <= 9:
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return -1
		}
	}
	return r
}

func (j *jsonText) number() error {
	digits := func() bool {
		start := j.pos
		for j.pos < len(j.text) && j.text[j.pos]-'0' <= 9 {
			j.pos++
		}
		return j.pos > start
	}
	at := func(a, b byte) bool { return j.pos < len(j.text) && (j.text[j.pos] == a || j.text[j.pos] == b) }
	if at('-', '-') {
		j.pos++
	}
	zero := at('0', '0')
	whole := j.pos
	if !digits() || zero && j.pos-whole > 1 {
		return errNotJSON
	}
	if at('.', '.') {
		if j.pos++; !digits() {
			return errNotJSON
		}
	}
	if at('e', 'E') {
		j.pos++
		if at('+', '-') {
			j.pos++
		}
		if !digits() {
			return errNotJSON
		}
	}
	return nil
}

func (j *jsonText) word() error {
	for _, w := range [...]string{"null", "true", "false"} {
		if len(j.text)-j.pos >= len(w) && string(j.text[j.pos:j.pos+len(w)]) == w {
			j.pos += len(w)
			return nil
		}
	}
	return errNotJSON
}

// members hands the names of the members of an object, as they stand and quotes
// included, to each, which passes over the value.
func (j *jsonText) members(each func(name []byte) error) error {
	return j.nested('{', '}', func() error {
		name, err := j.quoted()
		if err != nil || !j.take(':') {
			return errNotJSON
		}
		return each(name)
	})
}

// elements calls each for every element of an array, which passes over it.
func (j *jsonText) elements(each func() error) error {
	return j.nested('[', ']', each)
}

func (j *jsonText) nested(first, last byte, each func() error) error {
	if !j.take(first) {
		return errNotJSON
	}
	if j.depth++; j.depth > maxJSONDepth {
		return errJSONDepth
	}
	for next := !j.take(last); next; {
		if err := each(); err != nil {
			return err
		}
		if next = !j.take(last); next && !j.take(',') {
			return errNotJSON
		}
	}
	j.depth--
	return nil
}

// object hands the members of an object to each: the name as it stands, quotes
// included, and the text of the value.
func (j *jsonText) object(each func(name, value []byte) error) error {
	return j.members(func(name []byte) error {
		value, err := j.value()
		if err != nil {
			return err
		}
		return each(name, value)
	})
}

// array hands the texts of the elements of an array to each.
func (j *jsonText) array(each func(value []byte) error) error {
	return j.elements(func() error {
		value, err := j.value()
		if err != nil {
			return err
		}
		return each(value)
	})
}

// unquote returns what a JSON string, quotes included, stands for. Without
// escapes it is the text between the quotes; else it is appended to scratch,
// which is returned longer.
func unquote(quoted, scratch []byte) (text, longer []byte, err error) {
	if len(quoted) < 2 || quoted[0] != '"' || quoted[len(quoted)-1] != '"' {
		return nil, scratch, errNotJSON
	}
	s := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(s, '\\') < 0 {
		return s, scratch, nil
	}
	start := len(scratch)
	for len(s) > 0 {
		i := bytes.IndexByte(s, '\\')
		if i < 0 {
			i = len(s)
		}
		scratch = append(scratch, s[:i]...)
		if s = s[i:]; len(s) > 0 {
			var n int
			if scratch, n = appendUnescaped(scratch, s); n == 0 {
				return nil, scratch[:start], errNotJSON
			}
			s = s[n:]
		}
	}
	return scratch[start:len(scratch):len(scratch)], scratch, nil
}

// appendUnescaped appends what the escape at the beginning of s stands for, and
// returns the escape's length, 0 if it is none. Half of a surrogate pair becomes
// U+FFFD, as no UTF-8 can hold it.
func appendUnescaped(dst, s []byte) ([]byte, int) {
	n := escapeLength(s)
	if n == 2 {
		c := s[1]
		if i := bytes.IndexByte([]byte("bfnrt"), c); i >= 0 {
			c = "\b\f\n\r\t"[i]
		}
		return append(dst, c), n
	}
	if n == 0 {
		return dst, 0
	}
	r := hex4(s[2:])
	if utf16.IsSurrogate(r) {
		second := rune(-1)
		if len(s) >= 12 && escapeLength(s[6:]) == 6 {
			second = hex4(s[8:])
		}
		if pair := utf16.DecodeRune(r, second); pair != utf8.RuneError {
			return utf8.AppendRune(dst, pair), 12
		}
		r = utf8.RuneError
	}
	return utf8.AppendRune(dst, r), n
}

// appendQuoted appends s as a JSON string. Only what RFC 8259 demands is
// escaped.
func appendQuoted(dst, s []byte) []byte {
	dst = append(dst, '"')
	if isPlain(s) {
		dst = append(dst, s...)
		return append(dst, '"')
	}
	return append(appendEscaped(dst, s), '"')
}

// isPlain reports whether s stands for itself in a JSON string.
func isPlain(s []byte) bool { return plainLength(s) == len(s) }

// plainLength returns how much of s stands for itself in a JSON string: nothing
// below a blank, no quote, no backslash. It looks at eight bytes at once.
func plainLength(s []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	n := 0
	for ; len(s)-n >= 8; n += 8 {
		w := binary.LittleEndian.Uint64(s[n:])
		if special := ((w - 0x20*ones) | ((w ^ '"'*ones) - ones) | ((w ^ '\\'*ones) - ones)) &^ w & highs; special != 0 {
			return n + bits.TrailingZeros64(special)/8
		}
	}
	for ; n < len(s); n++ {
		if c := s[n]; c < 0x20 || c == '"' || c == '\\' {
			break
		}
	}
	return n
}

func appendEscaped(dst, s []byte) []byte {
	const hex = "0123456789abcdef"
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c >= 0x20:
			dst = append(dst, c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\t':
			dst = append(dst, '\\', 't')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return dst
}

// appendOnOneLine appends a JSON text as it is, but for ends of lines between
// its parts, which would break the line it is to stand on. There are none inside
// of strings.
func appendOnOneLine(dst, text []byte) []byte {
	if bytes.IndexByte(text, '\n') < 0 && bytes.IndexByte(text, '\r') < 0 {
		return append(dst, text...)
	}
	for _, c := range text {
		if c == '\n' || c == '\r' {
			c = ' '
		}
		dst = append(dst, c)
	}
	return dst
}
