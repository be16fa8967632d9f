package sql

import (
	"strings"
	"time"

	"spanbulk/internal/emulator/value"
)

// pgArrayFromText reads an array as PostgreSQL writes it: {1,NULL,"a b"}.
func pgArrayFromText(to *value.Type, loc *time.Location) convert {
	each := pgFromText(to.Elem, loc)
	if to.Elem.IsPGNumeric() {
		each = toPGNumeric(value.StringType)
	}
	if to.Elem.Code == value.StringCode {
		each = func(v value.Value) (value.Value, error) { return v, nil }
	}
	if each == nil {
		return nil
	}
	return func(v value.Value) (value.Value, error) {
		items, ok := arrayItems(v.AsString())
		if !ok {
			return value.Value{}, outOfRange("malformed array literal: %q", v.AsString())
		}
		out := make([]value.Value, len(items))
		for i, item := range items {
			if item.null {
				out[i] = value.Null(to.Elem)
				continue
			}
			var err error
			if out[i], err = each(value.String(item.text)); err != nil {
				return value.Value{}, err
			}
		}
		return value.Array(to.Elem, out).WithType(to), nil
	}
}

type arrayItem struct {
	text string
	null bool
}

// arrayItems cuts {...} into its items; false if it is malformed or an array
// of arrays.
func arrayItems(text string) ([]arrayItem, bool) {
	text, ok := strings.CutPrefix(strings.TrimSpace(text), "{")
	if !ok {
		return nil, false
	}
	if rest := strings.TrimSpace(text); rest == "}" {
		return nil, true
	}
	var items []arrayItem
	for {
		item, rest, ok := cutArrayItem(strings.TrimLeft(text, " \t\r\n\f\v"))
		if !ok {
			return nil, false
		}
		items = append(items, item)
		if rest == "}" {
			return items, true
		}
		if text, ok = strings.CutPrefix(rest, ","); !ok {
			return nil, false
		}
	}
}

// cutArrayItem reads an item up to the comma or brace behind it.
func cutArrayItem(text string) (item arrayItem, rest string, ok bool) {
	if strings.HasPrefix(text, `"`) {
		return cutQuotedItem(text[1:])
	}
	var out strings.Builder
	escaped := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case ',', '}':
			word := strings.TrimRight(out.String(), " \t\r\n\f\v")
			null := !escaped && strings.EqualFold(word, "null")
			return arrayItem{word, null}, text[i:], word != "" || escaped
		case '{', '"':
			return item, "", false
		case '\\':
			if i++; i == len(text) {
				return item, "", false
			}
			escaped = true
			out.WriteByte(text[i])
		default:
			out.WriteByte(c)
		}
	}
	return item, "", false
}

func cutQuotedItem(text string) (item arrayItem, rest string, ok bool) {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			return arrayItem{text: out.String()}, strings.TrimLeft(text[i+1:], " \t\r\n\f\v"), true
		case '\\':
			if i++; i == len(text) {
				return item, "", false
			}
			out.WriteByte(text[i])
		default:
			out.WriteByte(c)
		}
	}
	return item, "", false
}
