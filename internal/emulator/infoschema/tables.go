package infoschema

import (
	"slices"
	"strconv"

	"spanbulk/internal/emulator/catalog"
)

func schemata(f *filler) {
	f.emit("", "", nil, nil)
	f.emit("", Name, nil, nil)
	f.emit("", SystemName, nil, nil)
	for _, n := range f.schema.NamedSchemas {
		f.emit("", n, nil, nil)
	}
}

func databaseOptions(f *filler) {
	f.emit("", "", "database_dialect", "STRING", "GOOGLE_STANDARD_SQL")
	for _, o := range f.schema.Options {
		f.emit("", "", o.Name, optionType(o), catalog.Unquote(o.Value))
	}
}

func optionType(o catalog.Option) string {
	switch {
	case o.Value == "true" || o.Value == "false":
		return "BOOL"
	case o.Value[0] == '\'':
		return "STRING"
	default:
		return "INT64"
	}
}

func tables(f *filler) {
	for _, t := range f.schema.Tables {
		var policy, action, interleave any
		if t.RowDeletionPolicy != nil {
			policy = t.RowDeletionPolicy.String()
		}
		switch t.Interleave {
		case catalog.InParent:
			action, interleave = t.OnDelete.String(), "IN PARENT"
		case catalog.InLocality:
			interleave = "IN"
		}
		f.emit("", t.SchemaName(), t.LocalName(), orNull(localName(t.Parent)), action, "BASE TABLE", "COMMITTED", interleave, policy)
	}
	for _, t := range slices.Concat(f.viewTables(), f.system) {
		f.emit("", t.SchemaName(), t.LocalName(), nil, nil, "VIEW", nil, nil, nil)
	}
}

func localName(full string) string {
	return (&catalog.Table{Name: full}).LocalName()
}

func columns(f *filler) {
	for _, t := range slices.Concat(f.schema.Tables, f.viewTables(), f.system) {
		for _, c := range t.Columns {
			columnRow(f, t, c)
		}
	}
}

func columnRow(f *filler, t *catalog.Table, c *catalog.Column) {
	var def, generation, stored, state any
	generated := "NEVER"
	if c.Default != nil {
		def = c.Default.Text
	}
	if c.Generated != nil {
		generated, generation, stored = "ALWAYS", c.Generated.Text, yesNo(c.Stored)
	}
	if !t.Virtual {
		state = "COMMITTED"
	}
	var identity [5]any
	if id := c.Identity; id != nil {
		identity = [5]any{"BY DEFAULT", nil, counter(id.StartWithCounter), counter(id.SkipRangeMin), counter(id.SkipRangeMax)}
		if id.Kind != "" {
			identity[1] = "BIT_REVERSED_POSITIVE_SEQUENCE"
		}
	}
	f.emit("", t.SchemaName(), t.LocalName(), c.Name, int64(c.Ordinal+1), def, nil, yesNo(!c.NotNull), c.SpannerType(), generated, c.Hidden,
		generation, stored, state, yesNo(c.Identity != nil), identity[0], identity[1], identity[2], identity[3], identity[4])
}

func counter(n *int64) any {
	if n == nil {
		return nil
	}
	return strconv.FormatInt(*n, 10)
}

func columnOptions(f *filler) {
	for _, t := range f.schema.Tables {
		for _, c := range t.Columns {
			if c.AllowCommitTimestamp {
				f.emit("", t.SchemaName(), t.LocalName(), c.Name, "allow_commit_timestamp", "BOOL", "TRUE")
			}
		}
	}
}

func columnUsage(f *filler) {
	for _, t := range f.schema.Tables {
		for _, c := range t.Columns {
			if c.Generated == nil {
				continue
			}
			for _, name := range catalog.Columns(c.Generated.Node) {
				if dep, ok := t.Column(name); ok {
					f.emit("", t.SchemaName(), t.LocalName(), dep.Name, c.Name)
				}
			}
		}
	}
}

func sequences(f *filler) {
	for _, q := range f.schema.Sequences {
		t := catalog.Table{Name: q.Name}
		f.emit("", t.SchemaName(), t.LocalName(), "INT64")
	}
}

func sequenceOptions(f *filler) {
	for _, q := range f.schema.Sequences {
		t := catalog.Table{Name: q.Name}
		for _, o := range q.Options {
			f.emit("", t.SchemaName(), t.LocalName(), o.Name, optionType(o), catalog.Unquote(o.Value))
		}
	}
}
