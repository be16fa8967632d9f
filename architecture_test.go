package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// layers says which of the project's packages each room may import; the rooms
// below another's path are part of it. What ARCHITECTURE.md draws as arrows, this
// holds.
var layers = map[string][]string{
	"cmd":       {"*"},
	"reader":    {"format", "schema", "fault", "wire"},
	"writer":    {"database", "schema", "fault", "wire"},
	"cdc":       {"database", "schema", "format", "output", "fault", "wire"},
	"lookup":    {"database", "schema", "format", "fault", "wire"},
	"keyset":    {"format", "schema", "fault", "wire"},
	"input":     {"output", "format", "schema", "pipe", "fault", "wire"},
	"transform": {"format", "fault", "wire"},
	"output":    {"pipe", "fault"},
	"format":    {"schema", "fault", "wire"},
	"schema":    {"database", "fault"},
	"database":  {"fault", "wire"},
	"wire":      {},
	"pipe":      {},
	"fault":     {},
	"emulator":  {"emulator"},
	"scripts":   {"*"},

	// For tests only.
	"spannertest": {"emulator", "database"},
	"randtest":    {},
}

func TestArrowsGoOneWay(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		path, imports, _ := strings.Cut(strings.TrimSpace(line), " ")
		from := room(path)
		if from == "" {
			continue // the program itself
		}
		allowed, known := layers[from]
		if !known {
			t.Errorf("package %s is in no room of ARCHITECTURE.md", path)
			continue
		}
		for _, imported := range strings.Fields(imports) {
			to := room(imported)
			if to == "" || to == from || slices.Contains(allowed, "*") || slices.Contains(allowed, to) {
				continue
			}
			t.Errorf("%s imports %s, against the arrows of ARCHITECTURE.md", path, imported)
		}
	}
}

// room is the room of one of the project's packages; empty for any other.
func room(path string) string {
	inside, ok := strings.CutPrefix(path, "spanbulk/")
	if !ok {
		return ""
	}
	inside = strings.TrimPrefix(inside, "internal/")
	name, _, _ := strings.Cut(inside, "/")
	return name
}
