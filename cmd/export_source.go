package cmd

import (
	"os"
	"strings"

	"spanbulk/internal/schema"
)

// sourceOptions say what is read.
type sourceOptions struct {
	tables    []string
	allTables bool
	schema    string
	columns   []string

	index    string
	backJoin bool
	keys     []string
	ranges   []string
	prefixes []string
	where    string

	query       string
	queryFile   string
	params      []string
	noPartition bool
}

func (o *sourceOptions) addFlags(fs *flagSet) {
	g := group{fs, groupWhat}
	g.names(&o.tables, "table", "`names` of tables or views, quoted where SQL would need it; parted by commas or given again")
	g.flag(&o.allTables, "all-tables", "every table that holds data, all at one snapshot")
	g.text(&o.schema, "schema", "named `schema` of the tables")
	g.names(&o.columns, "columns", "`names` of the columns, parted by commas (default every readable column, in table order)")
	g.text(&o.index, "index", "`name` of an index to read through; keys are then those of the index")
	g.flag(&o.backJoin, "allow-back-join", "let --index fetch columns that the index does not hold from the table; Spanner cannot partition most such reads, see --no-partition")
	g.texts(&o.keys, "key", "`key` of a row to read, a JSON array such as [1,\"a\"]; may be given again")
	g.texts(&o.ranges, "key-range", "`range` of keys such as [[1],[10]), where brackets take the end in and parentheses leave it out; may be given again")
	g.texts(&o.prefixes, "key-prefix", "first `parts` of keys to read, a JSON array; may be given again")
	g.text(&o.where, "where", "SQL `condition` on the rows of the table; one on leading key columns only (=, <, <=, >, >=, BETWEEN, IN, AND) becomes a read of keys, any other a query")
	g.text(&o.query, "query", "SQL `query` to read instead of a table; it must be root-partitionable")
	g.text(&o.queryFile, "query-file", "`file` with the query")
	g.texts(&o.params, "param", "parameter of --query or --where, as `name:TYPE=value`; p1 is PostgreSQL's $1; may be given again")
	g.flag(&o.noPartition, "no-partition", "read in one stream, for a query that cannot be partitioned")
}

// validate refuses what contradicts itself.
func (o *sourceOptions) validate() error {
	var what []string
	for _, w := range []struct {
		flag  string
		given bool
	}{{"--table", len(o.tables) > 0}, {"--all-tables", o.allTables}, {"--query", o.query != ""}, {"--query-file", o.queryFile != ""}} {
		if w.given {
			what = append(what, w.flag)
		}
	}
	switch {
	case len(what) == 0:
		return usagef("none of --table, --all-tables and --query is given")
	case len(what) > 1:
		return usagef("%s exclude each other", strings.Join(what, " and "))
	}
	if err := o.validateTableOnly(what[0]); err != nil {
		return err
	}
	switch {
	case o.where != "" && o.hasKeys():
		return usagef("--where excludes --key, --key-range and --key-prefix")
	case o.backJoin && o.index == "":
		return usagef("--allow-back-join needs --index")
	case len(o.params) > 0 && o.where == "" && !o.isQuery():
		return usagef("--param needs --query or --where")
	}
	return nil
}

// validateTableOnly refuses what makes sense for one table only.
func (o *sourceOptions) validateTableOnly(what string) error {
	if what == "--table" && len(o.tables) == 1 {
		return nil
	}
	for _, f := range []struct {
		flag  string
		given bool
	}{
		{"--columns", len(o.columns) > 0}, {"--index", o.index != ""}, {"--key", len(o.keys) > 0},
		{"--key-range", len(o.ranges) > 0}, {"--key-prefix", len(o.prefixes) > 0}, {"--where", o.where != ""},
	} {
		if f.given {
			return usagef("%s needs one --table", f.flag)
		}
	}
	if o.isQuery() && o.schema != "" {
		return usagef("--schema and %s exclude each other", what)
	}
	return nil
}

func (o *sourceOptions) isQuery() bool { return o.query != "" || o.queryFile != "" }

func (o *sourceOptions) hasKeys() bool { return len(o.keys)+len(o.ranges)+len(o.prefixes) > 0 }

// sql returns the query, without a semicolon at its end.
func (o *sourceOptions) sql() (string, error) {
	text := o.query
	if o.queryFile != "" {
		raw, err := os.ReadFile(o.queryFile)
		if err != nil {
			return "", usagef("--query-file %s: %w", o.queryFile, configReason(err))
		}
		text = string(raw)
	}
	text = strings.TrimSuffix(strings.TrimSpace(text), ";")
	if text == "" {
		return "", usagef("the query is empty")
	}
	return text, nil
}

// names returns the tables to read; none means all of them, or a query.
func (o *sourceOptions) names() ([]schema.Name, error) {
	names := make([]schema.Name, len(o.tables))
	for i, text := range o.tables {
		var err error
		if names[i], err = tableName(text, o.schema); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// tableName puts --table and --schema together, which may be empty.
func tableName(table, in string) (schema.Name, error) {
	name, err := schema.ParseName(table)
	if err != nil {
		return name, usagef("--table: %w", err)
	}
	if in == "" {
		return name, nil
	}
	if name.Schema != "" {
		return name, usagef("--schema %s and --table %s both name a schema", in, table)
	}
	if name.Schema, err = schema.ParseIdent(in); err != nil {
		return name, usagef("--schema: %w", err)
	}
	return name, nil
}

// param is one parsed --param. Its type and value wait for the dialect.
type param struct{ name, kind, value string }

func parseParam(text string) (param, error) {
	name, rest, ok := strings.Cut(text, ":")
	kind, value, typed := strings.Cut(rest, "=")
	name = strings.TrimPrefix(name, "@") // as it is in the query
	if !ok || !typed || name == "" || kind == "" {
		shown := name
		if !ok {
			shown, _, _ = strings.Cut(text, "=")
		}
		return param{}, usagef("--param %s: not of the form name:TYPE=value", shown)
	}
	return param{name, kind, value}, nil
}

func (o *sourceOptions) parsedParams() ([]param, error) {
	seen := map[string]bool{}
	params := make([]param, len(o.params))
	for i, text := range o.params {
		p, err := parseParam(text)
		if err != nil {
			return nil, err
		}
		if key := strings.ToLower(p.name); seen[key] {
			return nil, usagef("--param %s is given twice", p.name)
		} else {
			seen[key] = true
		}
		params[i] = p
	}
	return params, nil
}
