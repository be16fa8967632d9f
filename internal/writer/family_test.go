package writer_test

import (
	"maps"
	"strings"
)

// family is what three interleaved tables hold, by depth and key.
type family struct{ rows [3]map[string]string }

func newFamily() *family {
	return &family{[3]map[string]string{{}, {}, {}}}
}

func (f *family) has(key ...string) bool {
	_, ok := f.rows[len(key)-1][strings.Join(key, "/")]
	return ok
}

func (f *family) put(value string, key ...string) {
	f.rows[len(key)-1][strings.Join(key, "/")] = value
}

// remove deletes a row and those interleaved in it.
func (f *family) remove(key ...string) {
	joined := strings.Join(key, "/")
	delete(f.rows[len(key)-1], joined)
	f.removeBelow(len(key), joined)
}

func (f *family) removeChildren(parent string) { f.removeBelow(1, parent) }

func (f *family) removeBelow(depth int, prefix string) {
	for _, rows := range f.rows[depth:] {
		maps.DeleteFunc(rows, func(k, _ string) bool { return strings.HasPrefix(k, prefix+"/") })
	}
}
