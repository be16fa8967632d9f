package lookup_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/lookup"
)

// cached runs the records one batch each, so that the cache has its say between.
func (f *fixture) cached(c lookup.CacheOptions, runs ...func(l *lookup.Lookup)) *lookup.Progress {
	f.t.Helper()
	o := itemOptions()
	o.BatchKeys, o.Parallelism, o.Cache = 1, 1, &c
	l := f.open(o)
	for _, run := range runs {
		run(l)
	}
	return o.Progress
}

func (f *fixture) lookingUp(want string, ids ...int) func(*lookup.Lookup) {
	return func(l *lookup.Lookup) {
		f.t.Helper()
		lines, err := f.run(l, itemRecords(ids...))
		if err != nil || len(lines) != len(ids) || !strings.Contains(lines[len(lines)-1], want) {
			f.t.Errorf("got %q, %v, want %s", lines, err, want)
		}
	}
}

func TestCache(t *testing.T) {
	f := items(t, 10)
	changed := func(*lookup.Lookup) {
		f.write("Items", []string{"Id", "Name"}, []*structpb.Value{text("1"), text("changed")})
	}
	restored := func() { f.write("Items", []string{"Id", "Name"}, []*structpb.Value{text("1"), text("item 1")}) }
	for name, c := range map[string]struct {
		options      lookup.CacheOptions
		runs         []func(*lookup.Lookup)
		hits, misses int64
	}{
		"rows are kept": {lookup.CacheOptions{MaxRows: 10}, []func(*lookup.Lookup){
			f.lookingUp("item 1", 1), changed, f.lookingUp("item 1", 1)}, 1, 1},
		"missing rows are not": {lookup.CacheOptions{MaxRows: 10}, []func(*lookup.Lookup){
			f.lookingUp("null", 77), f.lookingUp("null", 77)}, 0, 2},
		"unless asked for": {lookup.CacheOptions{MaxRows: 10, Missing: true}, []func(*lookup.Lookup){
			f.lookingUp("null", 77), f.lookingUp("null", 77)}, 1, 1},
		"the one used longest ago goes": {lookup.CacheOptions{MaxRows: 2}, []func(*lookup.Lookup){
			f.lookingUp("item 1", 1), f.lookingUp("item 2", 2), f.lookingUp("item 1", 1), f.lookingUp("item 3", 3),
			f.lookingUp("item 1", 1), f.lookingUp("item 2", 2)}, 2, 4},
	} {
		t.Run(name, func(t *testing.T) {
			restored()
			p := f.cached(c.options, c.runs...)
			if p.CacheHits.Load() != c.hits || p.CacheMisses.Load() != c.misses || p.KeysRead.Load() != c.misses {
				t.Errorf("%d hits, %d misses, %d keys read; want %d and %d", p.CacheHits.Load(), p.CacheMisses.Load(), p.KeysRead.Load(), c.hits, c.misses)
			}
		})
	}
}
