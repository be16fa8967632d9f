package value

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// JSONB is a PostgreSQL jsonb from its canonical text; see ParseJSONB for other
// text.
func JSONB(canonical string) Value { return Value{typ: PGJSONBType, valid: true, s: canonical} }

// ParseJSONB reads JSON text and spells it as PostgreSQL's jsonb does: a blank
// after : and ,; members ordered by the length of their names, then bytewise,
// the last of duplicate ones kept; numbers as numerics, with their zeros and
// without exponent.
func ParseJSONB(text string) (Value, bool) {
	out, ok := appendJSONB(make([]byte, 0, len(text)+len(text)/4), text)
	return JSONB(string(out)), ok
}

func appendJSONB(dst []byte, text string) ([]byte, bool) {
	if !utf8.ValidString(text) {
		return dst, false
	}
	p := jsonbParser{jsonParser{in: text}}
	dst, ok := p.value(dst, 0)
	p.blanks()
	return dst, ok && p.at == len(text)
}

type jsonbParser struct{ jsonParser }

func (p *jsonbParser) value(dst []byte, depth int) ([]byte, bool) {
	if depth > maxJSONDepth {
		return dst, false
	}
	switch c := p.peek(); {
	case c == '{':
		return p.object(dst, depth)
	case c == '[':
		return p.array(dst, depth)
	case c == '"':
		return p.string(dst)
	case c == '-' || c >= '0' && c <= '9':
		return p.number(dst)
	}
	return p.jsonParser.value(dst, depth)
}

func (p *jsonbParser) array(dst []byte, depth int) ([]byte, bool) {
	p.at++
	dst = append(dst, '[')
	for n := 0; !p.accept(']'); n++ {
		if n > 0 {
			if !p.accept(',') {
				return dst, false
			}
			dst = append(dst, ", "...)
		}
		var ok bool
		if dst, ok = p.value(dst, depth+1); !ok {
			return dst, false
		}
	}
	return append(dst, ']'), true
}

// jsonbMember is a member of an object as it will be written.
type jsonbMember struct {
	name        string
	spelt, body []byte
}

func (p *jsonbParser) object(dst []byte, depth int) ([]byte, bool) {
	p.at++
	var members []jsonbMember
	for !p.accept('}') {
		if len(members) > 0 && !p.accept(',') {
			return dst, false
		}
		m, ok := p.member(depth)
		if !ok {
			return dst, false
		}
		members = append(members, m)
	}
	slices.SortStableFunc(members, func(a, b jsonbMember) int {
		return cmp.Or(cmp.Compare(len(a.name), len(b.name)), strings.Compare(a.name, b.name))
	})
	dst = append(dst, '{')
	wrote := false
	for i, m := range members {
		if i+1 < len(members) && members[i+1].name == m.name {
			continue
		}
		if wrote {
			dst = append(dst, ", "...)
		}
		dst = append(append(append(dst, m.spelt...), ": "...), m.body...)
		wrote = true
	}
	return append(dst, '}'), true
}

func (p *jsonbParser) member(depth int) (m jsonbMember, ok bool) {
	if p.peek() != '"' {
		return m, false
	}
	if m.spelt, ok = p.string(nil); !ok || !p.accept(':') {
		return m, false
	}
	if json.Unmarshal(m.spelt, &m.name) != nil {
		return m, false
	}
	m.body, ok = p.value(nil, depth+1)
	return m, ok
}

// string refuses the character 0, which PostgreSQL's text cannot hold.
func (p *jsonbParser) string(dst []byte) ([]byte, bool) {
	start := len(dst)
	dst, ok := p.text(dst)
	if ok && bytes.Contains(dst[start:], []byte(`\u0000`)) && strings.IndexByte(unquoteJSON(dst[start:]), 0) >= 0 {
		return dst, false
	}
	return dst, ok
}

func unquoteJSON(quoted []byte) string {
	var s string
	if json.Unmarshal(quoted, &s) != nil {
		return "\x00"
	}
	return s
}

func (p *jsonbParser) number(dst []byte) ([]byte, bool) {
	start := p.at
	for p.at < len(p.in) && strings.IndexByte("+-.0123456789eE", p.in[p.at]) >= 0 {
		p.at++
	}
	text := p.in[start:p.at]
	if !json.Valid([]byte(text)) {
		return dst, false
	}
	v, ok := ParsePGNumeric(text)
	return append(dst, v.s...), ok
}
