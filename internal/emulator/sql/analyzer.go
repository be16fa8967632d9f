package sql

import (
	"strings"
	"time"
	// Spanner's default time zone has to be known on machines without a zone
	// database.
	_ "time/tzdata"

	"github.com/cloudspannerecosystem/memefish/ast"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/relation"
)

// defaultTimeZone is what Spanner uses where no default_time_zone is set.
const defaultTimeZone = "America/Los_Angeles"

// analyzer holds what the analysis of one statement has in common.
type analyzer struct {
	text   string
	schema *catalog.Schema
	// lookup resolves table names; nil where no table may be named.
	lookup func(path ...string) (*catalog.Table, bool)
	loc    *time.Location
	// pg tells that the statement is in the PostgreSQL dialect; nullsFirst is
	// where its ORDER BY items say that NULLs go.
	pg         bool
	nullsFirst map[ast.Node]bool
	params     map[string]*parameter
	depth      int
	// views are those whose queries the analysis is in.
	views []*catalog.View
	// scans are all table scans of the statement, in order of appearance.
	scans []*tableScan
	// volatile tells that the expression's value is not a function of its row.
	volatile bool
}

func newAnalyzer(text string, schema *catalog.Schema, params map[string]relation.Param) (*analyzer, error) {
	loc, err := timeZone(schema)
	if err != nil {
		return nil, err
	}
	a := &analyzer{text: text, schema: schema, loc: loc, params: make(map[string]*parameter, len(params))}
	a.pg = schema != nil && schema.PostgreSQL
	for name, p := range params {
		if len(name) > maxIdentifier {
			return nil, invalid("Invalid parameter name: %s is longer than %d characters", name, maxIdentifier)
		}
		a.params[catalog.Fold(name)] = &parameter{name: name, wire: p.Wire, t: p.Type, declared: p.Type != nil}
	}
	return a, nil
}

const (
	maxIdentifier = 128
	// maxDepth bounds the recursion of analysis and evaluation; chains of binary
	// operators nest without brackets.
	maxDepth = 5000
)

func timeZone(schema *catalog.Schema) (*time.Location, error) {
	name := defaultTimeZone
	if schema != nil {
		if text, ok := schema.Option("default_time_zone"); ok {
			name = strings.Trim(text, `'"`)
		}
	}
	return loadZone(name)
}

// enter counts a level of nesting; leave ends it.
func (a *analyzer) enter(n ast.Node) error {
	a.depth++
	if a.depth > maxDepth {
		return invalid("Query is nested too deeply: %s", constructName(n))
	}
	return nil
}

func (a *analyzer) leave() { a.depth-- }
