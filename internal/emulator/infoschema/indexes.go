package infoschema

import (
	"spanbulk/internal/emulator/catalog"
)

const primaryKey = "PRIMARY_KEY"

func indexes(f *filler) {
	for _, t := range f.schema.Tables {
		f.emit("", t.SchemaName(), t.LocalName(), primaryKey, primaryKey, "", true, false, nil, false)
		for _, x := range t.Indexes {
			f.emit("", t.SchemaName(), t.LocalName(), localName(x.Name), "INDEX", localName(x.InterleaveIn), x.Unique, x.NullFiltered, "READ_WRITE", x.Managed)
		}
	}
}

func indexColumns(f *filler) {
	for _, t := range f.schema.Tables {
		for i, k := range t.PrimaryKey {
			c := t.Columns[k.Column]
			keyRow(f, t, primaryKey, primaryKey, i, k, !c.NotNull)
		}
		for _, x := range t.Indexes {
			for i, k := range x.Key {
				nullable := !t.Columns[k.Column].NotNull && !x.NullFiltered
				keyRow(f, t, localName(x.Name), "INDEX", i, k, nullable)
			}
			for _, n := range x.Storing {
				c := t.Columns[n]
				f.emit("", t.SchemaName(), t.LocalName(), localName(x.Name), "INDEX", c.Name, nil, nil, yesNo(!c.NotNull), c.SpannerType())
			}
		}
	}
}

func keyRow(f *filler, t *catalog.Table, name, kind string, i int, k catalog.KeyPart, nullable bool) {
	c := t.Columns[k.Column]
	order := "ASC"
	if k.Desc {
		order = "DESC"
	}
	f.emit("", t.SchemaName(), t.LocalName(), name, kind, c.Name, int64(i+1), order, yesNo(nullable), c.SpannerType())
}
