package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cloudspannerecosystem/memefish/ast"

	"spanbulk/internal/emulator/value"
)

// postgreSQLOptions prints the database's options, one statement each.
func (s *Schema) postgreSQLOptions(database string) []string {
	var out []string
	for _, o := range s.Options {
		out = append(out, fmt.Sprintf("ALTER DATABASE %s SET spanner.%s = %s", postgreSQL().quote(database), o.Name, o.Value))
	}
	return out
}

func (t *Table) postgreSQLDDL() string {
	var b strings.Builder
	p := postgreSQL()
	fmt.Fprintf(&b, "CREATE TABLE %s (\n", p.quote(t.Name))
	for _, c := range t.Columns {
		fmt.Fprintf(&b, "  %s,\n", c.postgreSQLDDL())
	}
	key := make([]int, len(t.PrimaryKey))
	for i, k := range t.PrimaryKey {
		key[i] = k.Column
	}
	fmt.Fprintf(&b, "  PRIMARY KEY(%s)", p.columns(t, key))
	for _, c := range p.constraints(t) {
		fmt.Fprintf(&b, ",\n  %s", c)
	}
	b.WriteString("\n)")
	switch t.Interleave {
	case InParent:
		fmt.Fprintf(&b, " INTERLEAVE IN PARENT %s ON DELETE %s", p.quote(t.Parent), t.OnDelete)
	case InLocality:
		fmt.Fprintf(&b, " INTERLEAVE IN %s", p.quote(t.Parent))
	}
	if r := t.RowDeletionPolicy; r != nil {
		fmt.Fprintf(&b, " TTL %s", r.PostgreSQL())
	}
	return b.String()
}

// PostgreSQL is the policy as TTL has it: INTERVAL '7 DAYS' ON c.
func (p *RowDeletionPolicy) PostgreSQL() string {
	return fmt.Sprintf("INTERVAL '%d DAYS' ON %s", p.Days, postgreSQL().quote(p.Column))
}

func (c *Column) postgreSQLDDL() string {
	var b strings.Builder
	b.WriteString(postgreSQL().quote(c.Name) + " " + c.PostgreSQLType())
	if c.VectorLength > 0 {
		fmt.Fprintf(&b, " VECTOR LENGTH %d", c.VectorLength)
	}
	switch {
	case c.Generated != nil:
		fmt.Fprintf(&b, " GENERATED ALWAYS AS (%s)", c.Generated.Text)
		if c.Stored {
			b.WriteString(" STORED")
		} else {
			b.WriteString(" VIRTUAL")
		}
	case c.Default != nil:
		fmt.Fprintf(&b, " DEFAULT %s", c.PostgreSQLDefault())
	case c.Identity != nil:
		b.WriteString(" " + c.Identity.ddl(postgreSQL()))
	}
	if c.NotNull {
		b.WriteString(" NOT NULL")
	}
	if c.Hidden {
		b.WriteString(" HIDDEN")
	}
	return b.String()
}

// PostgreSQLType is the type as spanner_type of the PostgreSQL dialect has it.
func (c *Column) PostgreSQLType() string {
	if c.AllowCommitTimestamp {
		return "spanner.commit_timestamp"
	}
	return c.Type.PostgreSQL(c.MaxLen)
}

// PostgreSQLDefault is a column's DEFAULT: a literal with its type, as
// PostgreSQL keeps it ('100'::bigint), anything else as written.
func (c *Column) PostgreSQLDefault() string {
	text := ""
	switch n := c.Default.Node.(type) {
	case *ast.IntLiteral:
		text = n.Value
	case *ast.FloatLiteral:
		text = n.Value
	case *ast.StringLiteral:
		text = n.Value
	default:
		return c.Default.Text
	}
	if c.Type.Code == value.ArrayCode {
		return c.Default.Text
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'::" + c.Type.PostgreSQL(0)
}

func (x *Index) postgreSQLDDL(t *Table) string {
	var b strings.Builder
	b.WriteString("CREATE ")
	if x.Unique {
		b.WriteString("UNIQUE ")
	}
	p := postgreSQL()
	_, name := splitName(x.Name)
	fmt.Fprintf(&b, "INDEX %s ON %s (%s)", p.quote(name), p.quote(t.Name), p.key(t, x.Key))
	if len(x.Storing) > 0 {
		fmt.Fprintf(&b, " INCLUDE (%s)", p.columns(t, x.Storing))
	}
	if x.InterleaveIn != "" {
		fmt.Fprintf(&b, " INTERLEAVE IN %s", p.quote(x.InterleaveIn))
	}
	if filter := x.PostgreSQLFilter(t); filter != "" {
		fmt.Fprintf(&b, " WHERE (%s)", filter)
	}
	return b.String()
}

// PostgreSQLFilter is the condition of the rows that the index of a table has,
// empty if it has all.
func (x *Index) PostgreSQLFilter(t *Table) string {
	conditions := make([]string, len(x.NotNullColumns))
	for i, n := range x.NotNullColumns {
		conditions[i] = postgreSQL().quote(t.Columns[n].Name) + " IS NOT NULL"
	}
	slices.Sort(conditions)
	return strings.Join(slices.Compact(conditions), " AND ")
}

// PostgreSQLOrder is ASC or DESC, and where NULLs go if not where PostgreSQL
// puts them by default.
func (k KeyPart) PostgreSQLOrder() string {
	switch {
	case k.Desc && k.NullsReversed:
		return "DESC"
	case k.Desc:
		return "DESC NULLS LAST"
	case k.NullsReversed:
		return "ASC"
	}
	return "ASC NULLS FIRST"
}
