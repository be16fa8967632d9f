package cmd

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"

	"spanbulk/internal/fault"
	"spanbulk/internal/lookup"
	"spanbulk/internal/schema"
)

// settleTable finds what the schema has of the table, the key and the columns,
// and puts it into the engine's options.
func (p *lookupPlan) settleTable(t *schema.Table) error {
	if t.View {
		return fault.New(codes.FailedPrecondition, "look up in", t.Name.String(), "it is a view and has no keys")
	}
	o := &p.options.table
	index, err := o.findIndex(t)
	if err != nil {
		return err
	}
	p.lookup.Table, p.lookup.Dialect = t.Name.String(), t.Dialect
	key := t.PrimaryKey
	if index != nil {
		p.lookup.Index, key = t.IndexName(*index).String(), index.Key
	}
	if p.lookup.Key, err = settleKey(t, index, key, p.keys); err != nil {
		return err
	}
	p.lookup.Columns, err = o.settleColumns(t, index, key)
	return err
}

// keyOwner names whose key it is.
func keyOwner(t *schema.Table, index *schema.Index) string {
	if index != nil {
		return fmt.Sprintf("index %s of table %s", index.Name, t.Name)
	}
	return "table " + t.Name.String()
}

// findIndex returns the index of --index, nil if there is none. Only a unique one
// has at most one row for each key.
func (o *lookupTableOptions) findIndex(t *schema.Table) (*schema.Index, error) {
	if o.index == "" {
		return nil, nil
	}
	name, err := schema.ParseName(o.index)
	if err != nil {
		return nil, usagef("--index: %w", err)
	}
	x, err := schema.FindIndex(t, name)
	if err != nil {
		return nil, err
	}
	reason, hint := "", ""
	switch {
	case x.Type != schema.PlainIndex:
		reason = "it is a " + x.Type + " index, which only queries can use"
	case !x.Unique:
		reason, hint = "it is not UNIQUE, so a key can have several rows", "name a UNIQUE index, or look up by the primary key"
	case x.Managed:
		reason = "it belongs to a foreign key and cannot be read"
	case x.State != schema.IndexReadWrite:
		reason, hint = "it is not READ_WRITE but "+x.State, "wait until it is filled, or look up without --index"
	default:
		return &x, nil
	}
	return nil, fault.New(codes.FailedPrecondition, "look up through", keyOwner(t, &x), reason).WithHint(hint)
}

// settleKey brings the key's columns into the order of the key.
func settleKey(t *schema.Table, index *schema.Index, key []schema.KeyPart, given []lookup.KeyColumn) ([]lookup.KeyColumn, error) {
	names := make([]string, len(key))
	for i, part := range key {
		names[i] = part.Column
	}
	settled := make([]lookup.KeyColumn, len(key))
	for _, k := range given {
		if c, err := schema.FindColumn(t, k.Column); err == nil {
			k.Column = c.Name // as PostgreSQL would fold it, if need be
		}
		i := slices.IndexFunc(names, func(name string) bool { return t.Dialect.SameName(name, k.Column) })
		switch {
		case i < 0:
			e := usagef("--key %s: no column of the key of %s, which is (%s)", k.Column, keyOwner(t, index), strings.Join(names, ", "))
			e.hint = fault.DidYouMean(k.Column, names)
			return nil, e
		case settled[i].Column != "":
			return nil, usagef("--key %s is given twice", k.Column)
		}
		settled[i] = lookup.KeyColumn{Column: names[i], Field: k.Field}
	}
	for i, k := range settled {
		switch {
		case len(given) == 0:
			settled[i] = lookup.KeyColumn{Column: names[i], Field: names[i]}
		case k.Column == "":
			e := usagef("key column %s of %s is not covered: the key is (%s)", names[i], keyOwner(t, index), strings.Join(names, ", "))
			e.hint = "add --key " + names[i] + "=FIELD, or --key " + names[i] + " for the field of that name"
			return nil, e
		}
	}
	return settled, nil
}

// settleColumns returns the columns to put beside the records: those of
// --columns, else all that a read returns but the key's.
func (o *lookupTableOptions) settleColumns(t *schema.Table, index *schema.Index, key []schema.KeyPart) ([]string, error) {
	if len(o.columns) == 0 {
		return defaultColumns(t, index, key)
	}
	var names []string
	for _, text := range o.columns {
		name, err := schema.ParseIdent(strings.TrimSpace(text))
		if err != nil {
			return nil, usagef("--columns: %w", err)
		}
		c, err := schema.FindColumn(t, name)
		switch {
		case err != nil:
			return nil, err
		case slices.Contains(names, c.Name):
			return nil, usagef("--columns: %s is named twice", c.Name)
		case !c.Readable():
			return nil, fault.New(codes.InvalidArgument, "read", fmt.Sprintf("column %s of table %s", c.Name, t.Name), "a "+c.SpannerType+" cannot be read")
		case index != nil && !t.Covers(*index, c.Name):
			return nil, fault.New(codes.InvalidArgument, "look up through", keyOwner(t, index), "it does not hold column "+c.Name).
				WithHint("name other --columns, or an index that stores it")
		}
		names = append(names, c.Name)
	}
	return names, nil
}

func defaultColumns(t *schema.Table, index *schema.Index, key []schema.KeyPart) ([]string, error) {
	var names []string
	for _, c := range t.Columns {
		isKey := slices.ContainsFunc(key, func(k schema.KeyPart) bool { return t.Dialect.SameName(k.Column, c.Name) })
		if c.Readable() && !c.Hidden && !isKey && (index == nil || t.Covers(*index, c.Name)) {
			names = append(names, c.Name)
		}
	}
	if len(names) == 0 {
		return nil, usagef("%s has no columns beside its key; name some with --columns", keyOwner(t, index))
	}
	return names, nil
}
