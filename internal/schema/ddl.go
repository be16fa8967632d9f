package schema

import "strings"

// IndexDDL are the statements that make the table's indexes, without those that
// Spanner makes by itself for foreign keys, and those for search and vectors,
// whose clauses are not in a Definition.
func (t *Table) IndexDDL(d *Definition) []string {
	var statements []string
	for _, x := range t.Indexes {
		if x.Type == PlainIndex && !x.Managed {
			statements = append(statements, t.indexDDL(d, x))
		}
	}
	return statements
}

func (t *Table) indexDDL(d *Definition, x Index) string {
	text := "CREATE "
	if x.Unique {
		text += "UNIQUE "
	}
	if x.NullFiltered {
		text += "NULL_FILTERED "
	}
	var parts []string
	for _, k := range x.Key {
		parts = append(parts, t.Dialect.quoted(k.Column)+t.Dialect.ordering(k))
	}
	name := t.quotedName(t.IndexName(x))
	if t.Dialect == PostgreSQL {
		name = t.Dialect.quoted(x.Name) // its grammar takes no schema there: it is the table's
	}
	text += "INDEX " + name + " ON " + t.quotedName(t.Name) + "(" + strings.Join(parts, ", ") + ")"
	storing, interleave := " STORING (", ", INTERLEAVE IN "
	if t.Dialect == PostgreSQL {
		storing, interleave = " INCLUDE (", " INTERLEAVE IN "
	}
	if len(x.Storing) > 0 {
		text += storing + t.columnList(x.Storing) + ")"
	}
	if parent := d.indexParents[x.Name]; parent != "" {
		text += interleave + t.quotedName(Name{t.Name.Schema, parent})
	}
	if filter := d.indexFilters[x.Name]; filter != "" {
		text += " WHERE " + filter
	}
	return text
}

// ordering is how DDL says the order of a key's column.
func (d Dialect) ordering(k KeyPart) string {
	order, nulls := " ASC", " NULLS FIRST"
	if k.Descending {
		order, nulls = " DESC", " NULLS LAST"
	}
	if d == PostgreSQL && !k.NullHighest {
		order += nulls
	}
	return order
}

// ForeignKeyDDL are the statements that add the table's foreign keys.
func (t *Table) ForeignKeyDDL(d *Definition) []string {
	var statements []string
	for _, k := range d.ForeignKeys {
		text := "ALTER TABLE " + t.quotedName(t.Name) + " ADD CONSTRAINT " + t.Dialect.quoted(k.Name) +
			" FOREIGN KEY (" + t.columnList(k.Columns) + ") REFERENCES " + t.quotedName(k.Referenced) + " (" + t.columnList(k.ReferencedColumns) + ")"
		if k.OnDeleteCascade {
			text += " ON DELETE CASCADE"
		}
		if !k.Enforced {
			text += " NOT ENFORCED"
		}
		statements = append(statements, text)
	}
	return statements
}

// CheckDDL are the CHECK constraints as they stand in CREATE TABLE.
func (t *Table) CheckDDL(d *Definition) []string {
	var clauses []string
	for _, k := range d.Checks {
		clauses = append(clauses, "CONSTRAINT "+t.Dialect.quoted(k.Name)+" CHECK ("+k.Clause+")")
	}
	return clauses
}

func (t *Table) columnList(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = t.Dialect.quoted(name)
	}
	return strings.Join(quoted, ", ")
}

func (t *Table) quotedName(n Name) string {
	if n.Schema == "" {
		return t.Dialect.quoted(n.Name)
	}
	return t.Dialect.quoted(n.Schema) + "." + t.Dialect.quoted(n.Name)
}

// quoted always quotes, as Google's export does.
func (d Dialect) quoted(name string) string {
	if d == PostgreSQL {
		return d.Quote(name)
	}
	return "`" + name + "`"
}
