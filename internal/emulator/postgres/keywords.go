package postgres

import "strings"

// reserved tells of the words that are no names of tables and columns without
// quotes: PostgreSQL's reserved words, and those that only functions and types
// may be called.
func reserved(word string) bool {
	switch word {
	case "all", "analyse", "analyze", "and", "any", "array", "as", "asc", "asymmetric", "both", "case", "cast", "check", "collate", "column",
		"constraint", "create", "current_catalog", "current_date", "current_role", "current_time", "current_timestamp", "current_user",
		"default", "deferrable", "desc", "distinct", "do", "else", "end", "except", "false", "fetch", "for", "foreign", "from", "grant",
		"group", "having", "in", "initially", "intersect", "into", "lateral", "leading", "limit", "localtime", "localtimestamp", "not",
		"null", "offset", "on", "only", "or", "order", "placing", "primary", "references", "returning", "select", "session_user", "some",
		"symmetric", "table", "then", "to", "trailing", "true", "union", "unique", "user", "using", "variadic", "when", "where", "window",
		"with":
		return true
	}
	return functionOnly(word)
}

func functionOnly(word string) bool {
	switch word {
	case "authorization", "binary", "collation", "concurrently", "cross", "current_schema", "freeze", "full", "ilike", "inner", "is", "isnull",
		"join", "left", "like", "natural", "notnull", "outer", "overlaps", "right", "similar", "tablesample", "verbose":
		return true
	}
	return false
}

// columnOnly tells of the words that tables and columns may be called, but
// which PostgreSQL puts in quotes.
func columnOnly(word string) bool {
	switch word {
	case "between", "bigint", "bit", "boolean", "char", "character", "coalesce", "dec", "decimal", "exists", "extract", "float", "greatest", "grouping",
		"inout", "int", "integer", "interval", "least", "national", "nchar", "none", "normalize", "nullif", "numeric", "out", "overlay", "position",
		"precision", "real", "row", "setof", "smallint", "substring", "time", "timestamp", "treat", "trim", "values", "varchar", "xmlattributes",
		"xmlconcat", "xmlelement", "xmlexists", "xmlforest", "xmlnamespaces", "xmlparse", "xmlpi", "xmlroot", "xmlserialize", "xmltable":
		return true
	}
	return false
}

// isAlias tells whether a token after an expression or a table, without AS,
// is its alias.
func (t lexeme) isAlias() bool {
	switch t.text {
	case "between", "over", "filter", "within", "operator":
		return t.kind == kindQuoted
	}
	return t.kind == kindQuoted || t.kind == kindName && !reserved(t.text)
}

// Quote puts a name in double quotes unless folding leaves it alone and it is
// no keyword that PostgreSQL itself would put there.
func Quote(name string) string {
	plain := name != "" && !isDigit(name[0]) && leading(name, func(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || isDigit(c) }) == len(name)
	if plain && !reserved(name) && !columnOnly(name) {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}
