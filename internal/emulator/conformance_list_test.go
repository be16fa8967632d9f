package emulator_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// conformanceGroups are the groups of the conformance list that the tests here
// hold the server to, with the number of their last line.
var conformanceGroups = map[string]int{"A": 18, "B": 27, "C": 34, "D": 23, "E": 29, "F": 59, "G": 19, "H": 15, "I": 21, "J": 41, "K": 17}

// conformanceExtra are lines that were put between others.
var conformanceExtra = []string{"D09b", "D09c", "D09d", "D18b", "E28b", "E28c", "E28d", "E28e"}

// Every line of the list has a test, or is skipped there by its name: a test is
// a subtest of TestConformance... whose name begins with the line's id.
func TestConformanceListIsCovered(t *testing.T) {
	names := conformanceNames(t)
	covered := func(id string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			rest, found := strings.CutPrefix(name, id)
			if !found {
				return false
			}
			if strings.ContainsAny(id[3:], "bcde") {
				return strings.Trim(rest, "0123456789") == ""
			}
			return rest == "" || !strings.Contains("0123456789", rest[:1])
		})
	}
	ids := slices.Clone(conformanceExtra)
	for group, last := range conformanceGroups {
		for n := range last {
			ids = append(ids, fmt.Sprintf("%s%02d", group, n+1))
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		if !covered(id) {
			t.Errorf("no test is called TestConformance.../%s", id)
		}
	}
}

var conformanceID = regexp.MustCompile(`^[A-K]\d\d[a-z]?\d*$`)

// conformanceNames are the string literals in functions TestConformance...
// that look like ids.
func conformanceNames(t *testing.T) []string {
	names := make(map[string]bool)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(f.Name.Name, "TestConformance") {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if s, err := strconv.Unquote(lit.Value); err == nil && conformanceID.MatchString(s) {
						names[s] = true
					}
				}
				return true
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(names))
}
