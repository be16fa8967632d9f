package output

import (
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// The placeholders of a template.
const (
	tableField     = "{table}"
	partitionField = "{partition}"
	shardField     = "{shard}"
	rollField      = "{roll}" // put in by numbered, not by users
)

var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

// template is the path of a file, cut at its placeholders.
type template []part

type part struct {
	text  string
	field bool // whether text is a placeholder
}

func parseTemplate(path string) (template, error) {
	var t template
	end := 0
	for _, span := range placeholder.FindAllStringIndex(path, -1) {
		field := path[span[0]:span[1]]
		switch field {
		case tableField, partitionField, shardField:
		default:
			return nil, fmt.Errorf("output %s: unknown placeholder %s; there are {table}, {partition} and {shard}", path, field)
		}
		t = append(t, part{text: path[end:span[0]]}, part{field, true})
		end = span[1]
	}
	t = append(t, part{text: path[end:]})
	for _, p := range t {
		if !p.field && strings.Contains(p.text, "{") {
			return nil, fmt.Errorf("output %s: a { is not closed; placeholders are {table}, {partition} and {shard}", path)
		}
	}
	return t, nil
}

func (t template) has(field string) bool { return slices.Contains(t, part{field, true}) }

func (t template) hasAny() bool { return len(t) > 1 }

// numbered returns t with the number of a rolled file before the file's
// extension: the given one if the name ends with it, else what follows the
// last dot of the name.
func (t template) numbered(extension string) template {
	last := t[len(t)-1].text
	if extension == "" || !strings.HasSuffix(last, extension) {
		extension = filepath.Ext(last)
	}
	return append(slices.Clone(t[:len(t)-1]),
		part{text: strings.TrimSuffix(last, extension) + "-"}, part{rollField, true}, part{text: extension})
}

// fields are the values of the placeholders.
type fields struct {
	table                  string
	partition, shard, roll int
}

func (f fields) value(placeholder string) string {
	switch placeholder {
	case tableField:
		return f.table
	case partitionField:
		return fmt.Sprintf("%05d", f.partition)
	case shardField:
		return fmt.Sprintf("%05d", f.shard)
	default:
		return fmt.Sprintf("%05d", f.roll)
	}
}

func (t template) expand(f fields) string {
	return t.replace(f.value, func(literal string) string { return literal })
}

// existing returns the files that an earlier export of this table, of the same
// shard, to the same template has left, whatever its partitions were.
func (t template) existing(f fields) ([]string, error) {
	pattern := t.replace(func(field string) string {
		if field == tableField || field == shardField {
			return escapeGlob(f.value(field))
		}
		return "*"
	}, escapeGlob)
	exact, err := regexp.Compile("^" + t.replace(func(field string) string {
		if field == tableField || field == shardField {
			return regexp.QuoteMeta(f.value(field))
		}
		return `\d{5,}`
	}, regexp.QuoteMeta) + "$")
	if err != nil {
		return nil, err
	}
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(paths, func(path string) bool {
		return !exact.MatchString(path)
	}), nil
}

func (t template) replace(field, literal func(string) string) string {
	var b strings.Builder
	for _, p := range t {
		if p.field {
			b.WriteString(field(p.text))
		} else {
			b.WriteString(literal(p.text))
		}
	}
	return b.String()
}

// escapeGlob makes text match only itself in filepath.Glob, which knows no
// backslash on Windows.
func escapeGlob(text string) string {
	if runtime.GOOS == "windows" {
		return strings.ReplaceAll(text, "[", "[[]")
	}
	return globMeta.ReplaceAllString(text, `\$0`)
}

var globMeta = regexp.MustCompile(`[*?\[\\]`)
