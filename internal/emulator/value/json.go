package value

import (
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxJSONDepth is how deep Spanner lets JSON nest.
const maxJSONDepth = 80

// ParseJSON reads JSON text and puts it into Spanner's canonical form: no
// blanks, object members sorted, the first of duplicate members kept, numbers
// that a 64-bit integer or a double holds exactly.
func ParseJSON(text string) (Value, bool) {
	out, ok := appendJSON(make([]byte, 0, len(text)), text)
	return JSON(string(out)), ok
}

// appendJSON appends the canonical form of JSON text.
func appendJSON(dst []byte, text string) ([]byte, bool) {
	if !utf8.ValidString(text) {
		return dst, false
	}
	p := jsonParser{in: text}
	dst, ok := p.value(dst, 0)
	p.blanks()
	return dst, ok && p.at == len(text)
}

type jsonParser struct {
	in string
	at int
}

func (p *jsonParser) blanks() {
	for p.at < len(p.in) && strings.IndexByte(" \t\r\n", p.in[p.at]) >= 0 {
		p.at++
	}
}

func (p *jsonParser) peek() byte {
	p.blanks()
	if p.at == len(p.in) {
		return 0
	}
	return p.in[p.at]
}

// accept skips c if it comes next.
func (p *jsonParser) accept(c byte) bool {
	if p.peek() != c {
		return false
	}
	p.at++
	return true
}

func (p *jsonParser) value(dst []byte, depth int) ([]byte, bool) {
	if depth > maxJSONDepth {
		return dst, false
	}
	switch c := p.peek(); {
	case c == '{':
		return p.object(dst, depth)
	case c == '[':
		return p.array(dst, depth)
	case c == '"':
		return p.text(dst)
	case c == '-' || c >= '0' && c <= '9':
		return p.number(dst)
	}
	for _, word := range []string{"true", "false", "null"} {
		if strings.HasPrefix(p.in[p.at:], word) {
			p.at += len(word)
			return append(dst, word...), true
		}
	}
	return dst, false
}

func (p *jsonParser) array(dst []byte, depth int) ([]byte, bool) {
	p.at++
	dst = append(dst, '[')
	for n := 0; !p.accept(']'); n++ {
		if n > 0 {
			if !p.accept(',') {
				return dst, false
			}
			dst = append(dst, ',')
		}
		var ok bool
		if dst, ok = p.value(dst, depth+1); !ok {
			return dst, false
		}
	}
	return append(dst, ']'), true
}

// jsonMember is a member of an object: its name, and where "name":value stands
// in the output.
type jsonMember struct {
	name       string
	start, end int
}

// object appends members as they come, which is in order nearly always, and
// puts them in order afterwards otherwise.
func (p *jsonParser) object(dst []byte, depth int) ([]byte, bool) {
	p.at++
	open := len(dst)
	dst = append(dst, '{')
	var few [16]jsonMember
	members := few[:0]
	sorted := true
	for !p.accept('}') {
		if len(members) > 0 {
			if !p.accept(',') {
				return dst, false
			}
			dst = append(dst, ',')
		}
		start := len(dst)
		name, ok := "", false
		if dst, name, ok = p.memberName(dst); !ok {
			return dst, false
		}
		if dst, ok = p.value(append(dst, ':'), depth+1); !ok {
			return dst, false
		}
		sorted = sorted && (len(members) == 0 || members[len(members)-1].name < name)
		members = append(members, jsonMember{name, start, len(dst)})
	}
	if !sorted {
		dst = sortMembers(dst, open, members)
	}
	return append(dst, '}'), true
}

func (p *jsonParser) memberName(dst []byte) ([]byte, string, bool) {
	if p.peek() != '"' {
		return dst, "", false
	}
	start, at := len(dst), p.at
	dst, ok := p.text(dst)
	if !ok || !p.accept(':') {
		return dst, "", false
	}
	quoted := p.in[at : at+len(dst)-start]
	if string(dst[start:]) == quoted && strings.IndexByte(quoted, '\\') < 0 {
		return dst, quoted[1 : len(quoted)-1], true
	}
	var name string
	err := json.Unmarshal(dst[start:], &name)
	return dst, name, err == nil
}

// sortMembers rewrites the members after position open in order of name,
// keeping the first of those with one name.
func sortMembers(dst []byte, open int, members []jsonMember) []byte {
	old := slices.Clone(dst)
	slices.SortStableFunc(members, func(a, b jsonMember) int { return strings.Compare(a.name, b.name) })
	dst = append(dst[:open], '{')
	for i, m := range members {
		if i > 0 && m.name == members[i-1].name {
			continue
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, old[m.start:m.end]...)
	}
	return dst
}

// text copies a string that has no escapes and spells others anew.
func (p *jsonParser) text(dst []byte) ([]byte, bool) {
	start := p.at
	escaped := false
	for i := p.at + 1; i < len(p.in); i++ {
		switch c := p.in[i]; {
		case c == '\\':
			escaped = true
			i++
		case c == '"':
			p.at = i + 1
			if !escaped {
				return append(dst, p.in[start:p.at]...), true
			}
			return appendJSONString(dst, p.in[start:p.at])
		case c < 0x20:
			return dst, false
		}
	}
	return dst, false
}

func appendJSONString(dst []byte, quoted string) ([]byte, bool) {
	var s string
	if json.Unmarshal([]byte(quoted), &s) != nil {
		return dst, false
	}
	const hexDigits = "0123456789abcdef"
	dst = append(dst, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c == '\t':
			dst = append(dst, '\\', 't')
		case c == '\b':
			dst = append(dst, '\\', 'b')
		case c == '\f':
			dst = append(dst, '\\', 'f')
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"'), true
}

func (p *jsonParser) number(dst []byte) ([]byte, bool) {
	start := p.at
	for p.at < len(p.in) && strings.IndexByte("+-.0123456789eE", p.in[p.at]) >= 0 {
		p.at++
	}
	text := p.in[start:p.at]
	if !json.Valid([]byte(text)) {
		return dst, false
	}
	if !strings.ContainsAny(text, ".eE") {
		if text == "-0" {
			return append(dst, '-', '0', '.', '0'), true
		}
		_, errSigned := strconv.ParseInt(text, 10, 64)
		_, errUnsigned := strconv.ParseUint(text, 10, 64)
		if errSigned == nil || errUnsigned == nil {
			return append(dst, text...), true
		}
	}
	return appendJSONDouble(dst, text)
}

// appendJSONDouble refuses a number that a double does not carry through.
func appendJSONDouble(dst []byte, text string) ([]byte, bool) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return dst, false
	}
	// The shortest spelling, or for those who write all digits of a double the
	// one with 17.
	short := strconv.FormatFloat(f, 'g', -1, 64)
	if short != text && !sameDecimal(short, text) {
		short = strconv.FormatFloat(f, 'g', 17, 64)
		if short != text && !sameDecimal(short, text) {
			return dst, false
		}
	}
	dst = append(dst, short...)
	if !strings.ContainsAny(short, ".e") {
		dst = append(dst, '.', '0')
	}
	return dst, true
}

func sameDecimal(a, b string) bool {
	// ParseFloat has bounded the magnitude above; a long string of digits or a
	// tiny exponent may not make Rat work without end.
	if len(b) > 1000 {
		return false
	}
	_, exp, ok := cutExponent(b)
	if !ok || exp < -1000 || exp > 1000 {
		return false
	}
	x, okX := new(big.Rat).SetString(a)
	y, okY := new(big.Rat).SetString(b)
	return okX && okY && x.Cmp(y) == 0
}
