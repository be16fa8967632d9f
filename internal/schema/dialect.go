package schema

import (
	"fmt"
	"strings"

	"github.com/cloudspannerecosystem/memefish/token"
)

// Dialect is the SQL dialect of a database.
type Dialect uint8

// The dialects of Spanner.
const (
	GoogleSQL Dialect = iota
	PostgreSQL
)

// String returns the name as people write it.
func (d Dialect) String() string {
	if d == PostgreSQL {
		return "PostgreSQL"
	}
	return "GoogleSQL"
}

// OptionValue is the dialect as the database option database_dialect has it.
func (d Dialect) OptionValue() string {
	if d == PostgreSQL {
		return "POSTGRESQL"
	}
	return "GOOGLE_STANDARD_SQL"
}

// DefaultSchema is the value of TABLE_SCHEMA for tables outside any named schema.
func (d Dialect) DefaultSchema() string {
	if d == PostgreSQL {
		return "public"
	}
	return ""
}

// Quote returns name as an identifier in SQL of the dialect.
func (d Dialect) Quote(name string) string {
	switch {
	case d == PostgreSQL:
		// Always: without quotes PostgreSQL folds to lower case.
		return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
	case name == "":
		return "``"
	default:
		return token.QuoteSQLIdent(name)
	}
}

// SameName reports whether two names are one identifier: in GoogleSQL case does
// not matter, in PostgreSQL it does.
func (d Dialect) SameName(a, b string) bool {
	if d == PostgreSQL {
		return a == b
	}
	return strings.EqualFold(a, b)
}

// folded returns the name that a bare one stands for in SQL: PostgreSQL folds the
// letters of ASCII, and those alone, to lower case.
func (d Dialect) folded(name string) string {
	if d != PostgreSQL {
		return name
	}
	return strings.Map(func(c rune) rune {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		return c
	}, name)
}

// Param returns the placeholder of the n-th parameter, counted from 1, and the
// name its value goes by in a request.
func (d Dialect) Param(n int) (placeholder, name string) {
	name = fmt.Sprintf("p%d", n)
	if d == PostgreSQL {
		return fmt.Sprintf("$%d", n), name
	}
	return "@" + name, name
}
