package catalog

import (
	"fmt"
	"strconv"
	"strings"
)

// DDL prints the schema as GetDatabaseDdl does: statements without closing
// semicolons, each after what it depends on. database is the database's id.
func (s *Schema) DDL(database string) []string {
	var out []string
	p, table, index := googleSQL(), (*Table).ddl, (*Index).ddl
	if s.PostgreSQL {
		p, table, index = postgreSQL(), (*Table).postgreSQLDDL, (*Index).postgreSQLDDL
		out = s.postgreSQLOptions(database)
	} else if len(s.Options) > 0 {
		out = append(out, fmt.Sprintf("ALTER DATABASE %s SET OPTIONS (%s)", p.quote(database), optionList(s.Options)))
	}
	if s.ProtoBundle != nil {
		out = append(out, s.ProtoBundle.ddl())
	}
	for _, n := range s.NamedSchemas {
		out = append(out, "CREATE SCHEMA "+p.quote(n))
	}
	for _, q := range s.Sequences {
		out = append(out, q.ddl(p))
	}
	for _, t := range s.DependencyOrder() {
		out = append(out, table(t))
		for _, x := range t.Indexes {
			if !x.Managed {
				out = append(out, index(x, t))
			}
		}
	}
	for _, c := range s.ChangeStreams {
		out = append(out, c.ddl(p))
	}
	for _, v := range s.Views {
		out = append(out, v.ddl(p))
	}
	return out
}

// DependencyOrder puts parents before children and referenced tables before
// those that refer to them, otherwise keeping the order of creation.
func (s *Schema) DependencyOrder() []*Table {
	var out []*Table
	done := make(map[*Table]bool)
	var visit func(t *Table)
	visit = func(t *Table) {
		if done[t] {
			return
		}
		done[t] = true
		if p, ok := s.Table(t.Parent); ok {
			visit(p)
		}
		for _, f := range t.ForeignKeys {
			if r, ok := s.Table(f.ReferencedTable); ok {
				visit(r)
			}
		}
		out = append(out, t)
	}
	for _, t := range s.Tables {
		visit(t)
	}
	return out
}

func (t *Table) ddl() string {
	var b strings.Builder
	p := googleSQL()
	fmt.Fprintf(&b, "CREATE TABLE %s (\n", p.quote(t.Name))
	for _, c := range t.Columns {
		fmt.Fprintf(&b, "  %s,\n", c.ddl())
	}
	for _, c := range p.constraints(t) {
		fmt.Fprintf(&b, "  %s,\n", c)
	}
	fmt.Fprintf(&b, ") PRIMARY KEY(%s)", p.key(t, t.PrimaryKey))
	switch t.Interleave {
	case InParent:
		fmt.Fprintf(&b, ",\n  INTERLEAVE IN PARENT %s ON DELETE %s", p.quote(t.Parent), t.OnDelete)
	case InLocality:
		fmt.Fprintf(&b, ",\n  INTERLEAVE IN %s", p.quote(t.Parent))
	}
	if p := t.RowDeletionPolicy; p != nil {
		fmt.Fprintf(&b, ", ROW DELETION POLICY (%s)", p)
	}
	return b.String()
}

// String is the policy's condition: OLDER_THAN(c, INTERVAL 7 DAY).
func (p *RowDeletionPolicy) String() string {
	return fmt.Sprintf("OLDER_THAN(%s, INTERVAL %d DAY)", googleSQL().quote(p.Column), p.Days)
}

// String is CASCADE or NO ACTION.
func (a OnDelete) String() string {
	if a == Cascade {
		return "CASCADE"
	}
	return "NO ACTION"
}

func (c *Column) ddl() string {
	var b strings.Builder
	b.WriteString(googleSQL().quote(c.Name) + " " + c.SpannerType())
	if c.NotNull {
		b.WriteString(" NOT NULL")
	}
	switch {
	case c.Generated != nil:
		fmt.Fprintf(&b, " AS (%s)", c.Generated.Text)
		if c.Stored {
			b.WriteString(" STORED")
		}
	case c.Default != nil:
		fmt.Fprintf(&b, " DEFAULT (%s)", c.Default.Text)
		if c.OnUpdate != nil {
			fmt.Fprintf(&b, " ON UPDATE (%s)", c.OnUpdate.Text)
		}
	case c.Identity != nil:
		b.WriteString(" " + c.Identity.ddl(googleSQL()))
	}
	if c.Hidden {
		b.WriteString(" HIDDEN")
	}
	if c.AllowCommitTimestamp {
		b.WriteString(" OPTIONS (\n    allow_commit_timestamp = true\n  )")
	}
	return b.String()
}

// SpannerType is the type as INFORMATION_SCHEMA's SPANNER_TYPE spells it.
func (c *Column) SpannerType() string {
	text := c.Type.DDL(c.MaxLen)
	if c.VectorLength > 0 {
		text += "(vector_length=>" + strconv.FormatInt(c.VectorLength, 10) + ")"
	}
	return text
}

func (x *Index) ddl(t *Table) string {
	var b strings.Builder
	b.WriteString("CREATE ")
	if x.Unique {
		b.WriteString("UNIQUE ")
	}
	if x.NullFiltered {
		b.WriteString("NULL_FILTERED ")
	}
	p := googleSQL()
	fmt.Fprintf(&b, "INDEX %s ON %s(%s)", p.quote(x.Name), p.quote(t.Name), p.key(t, x.Key))
	if len(x.Storing) > 0 {
		fmt.Fprintf(&b, " STORING (%s)", p.columns(t, x.Storing))
	}
	if x.Where != nil {
		fmt.Fprintf(&b, " WHERE %s", x.Where.Text)
	}
	if x.InterleaveIn != "" {
		fmt.Fprintf(&b, ", INTERLEAVE IN %s", p.quote(x.InterleaveIn))
	}
	return b.String()
}

func optionList(opts []Option) string { return strings.Join(optionTexts(opts), ", ") }

func optionTexts(opts []Option) []string {
	parts := make([]string, len(opts))
	for i, o := range opts {
		parts[i] = o.Name + " = " + o.Value
	}
	return parts
}
