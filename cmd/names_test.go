package cmd

import (
	"slices"
	"testing"
)

func TestSplitNames(t *testing.T) {
	for text, want := range map[string][]string{
		"":                      nil,
		"a":                     {"a"},
		"a, b ,c":               {"a", "b", "c"},
		"a,":                    {"a", ""},
		"`a,b`,c":               {"`a,b`", "c"},
		"`a\\`,b`,c":            {"`a\\`,b`", "c"},
		`"Mixed","a ""b"",c",d`: {`"Mixed"`, `"a ""b"",c"`, "d"},
		"s.`x,y`,`s`.t":         {"s.`x,y`", "`s`.t"},
		"`open,a":               {"`open,a"},
	} {
		if got := splitNames(text, ','); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

func TestPlaceIn(t *testing.T) {
	const before = "SELECT `Ünï` FROM T WHERE "
	for reason, want := range map[string]string{
		"Unrecognized name: x [at 1:27]":          "Unrecognized name: x [at 1:1]",
		"Syntax error [at 1:31] and [at 2:3]":     "Syntax error [at 1:5] and [at 2:3]",
		"Table not found: T [at 1:19]":            "Table not found: T [at 1:19]",
		"no place":                                "no place",
		`near ";" - Statement: line 1, column 31`: `near ";" - Statement: line 1, column 5`,
		"outline 1, column 31":                    "outline 1, column 31",
		"[at 1:99999999999999999999]":             "[at 1:99999999999999999999]",
	} {
		if got := placeIn(reason, before); got != want {
			t.Errorf("%s: got %q, want %q", reason, got, want)
		}
	}
}
