package schema

import (
	"fmt"
	"slices"
	"strings"
)

// Name is the name of a table, view or index. Schema is empty for the default
// schema in both dialects.
type Name struct {
	Schema, Name string
}

// String returns the name as Spanner's API takes it in a read or a mutation:
// schema.name without quotes.
func (n Name) String() string {
	if n.Schema == "" {
		return n.Name
	}
	return n.Schema + "." + n.Name
}

// SQL returns the name for a statement, quoted where the dialect needs it.
func (n Name) SQL(d Dialect) string {
	if n.Schema == "" {
		return d.Quote(n.Name)
	}
	return d.Quote(n.Schema) + "." + d.Quote(n.Name)
}

// FindName returns the place among known of the name that a user means, -1 if it
// is none of them. In PostgreSQL a part that SQL would fold to lower case is found
// in either case: quotes may have got lost on the way here.
func (d Dialect) FindName(known []Name, name Name) int {
	spellings := []Name{name}
	if d == PostgreSQL {
		schema, own := d.folded(name.Schema), d.folded(name.Name)
		spellings = append(spellings, Name{schema, name.Name}, Name{name.Schema, own}, Name{schema, own})
	}
	for _, s := range spellings {
		if s.Schema == d.DefaultSchema() {
			s.Schema = ""
		}
		same := func(k Name) bool { return d.SameName(k.Schema, s.Schema) && d.SameName(k.Name, s.Name) }
		if i := slices.IndexFunc(known, same); i >= 0 {
			return i
		}
	}
	return -1
}

// ParseName reads a name as a user writes it: name or schema.name, each part
// bare or quoted with back-quotes or double quotes. Either quote is understood
// whatever the dialect, as a name is often given before the dialect is known.
func ParseName(s string) (Name, error) {
	first, rest, err := cutIdent(s)
	if err != nil {
		return Name{}, fmt.Errorf("name %q %w", s, err)
	}
	if rest == "" {
		return Name{Name: first}, nil
	}
	second, rest, err := cutIdent(rest[1:])
	if err != nil {
		return Name{}, fmt.Errorf("name %q %w", s, err)
	}
	if rest != "" {
		return Name{}, fmt.Errorf("name %q has more than two parts", s)
	}
	return Name{Schema: first, Name: second}, nil
}

// ParseIdent reads a single identifier, bare or quoted.
func ParseIdent(s string) (string, error) {
	name, rest, err := cutIdent(s)
	if err == nil && rest != "" {
		err = fmt.Errorf("has more than one part")
	}
	if err != nil {
		return "", fmt.Errorf("name %q %w", s, err)
	}
	return name, nil
}

// cutIdent takes one identifier off s; rest is empty or begins with the dot.
func cutIdent(s string) (name, rest string, err error) {
	if s == "" {
		return "", "", fmt.Errorf("lacks a part")
	}
	switch s[0] {
	case '`':
		name, rest, err = cutQuoted(s, '`', true)
	case '"':
		name, rest, err = cutQuoted(s, '"', false)
	default:
		end := strings.IndexByte(s, '.')
		if end < 0 {
			end = len(s)
		}
		name, rest = s[:end], s[end:]
		if strings.ContainsAny(name, "`\"") {
			err = fmt.Errorf("has a quote inside a bare part")
		}
	}
	switch {
	case err != nil:
	case name == "":
		err = fmt.Errorf("lacks a part")
	case rest != "" && rest[0] != '.':
		err = fmt.Errorf("goes on after its closing quote")
	}
	return name, rest, err
}

// cutQuoted reads a quoted identifier. Back-quotes escape with a backslash
// (GoogleSQL), double quotes by doubling (PostgreSQL).
func cutQuoted(s string, quote byte, backslash bool) (name, rest string, err error) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case backslash && s[i] == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		case s[i] != quote:
			b.WriteByte(s[i])
		case !backslash && i+1 < len(s) && s[i+1] == quote:
			i++
			b.WriteByte(quote)
		default:
			return b.String(), s[i+1:], nil
		}
	}
	return "", "", fmt.Errorf("has no closing quote")
}
