package infoschema

import "spanbulk/internal/emulator/catalog"

func changeStreams(f *filler) {
	for _, c := range f.schema.ChangeStreams {
		f.emit("", "", c.Name, c.All)
	}
}

func changeStreamTables(f *filler) {
	for _, c := range f.schema.ChangeStreams {
		for _, w := range c.Tables {
			t := catalog.Table{Name: w.Table}
			f.emit("", "", c.Name, "", t.SchemaName(), t.LocalName(), w.AllColumns)
		}
	}
}

func changeStreamColumns(f *filler) {
	for _, c := range f.schema.ChangeStreams {
		for _, w := range c.Tables {
			t := catalog.Table{Name: w.Table}
			for _, name := range w.Columns {
				f.emit("", "", c.Name, "", t.SchemaName(), t.LocalName(), name)
			}
		}
	}
}

func changeStreamOptions(f *filler) {
	for _, c := range f.schema.ChangeStreams {
		for _, o := range c.Options {
			f.emit("", "", c.Name, o.Name, optionType(o), catalog.Unquote(o.Value))
		}
	}
}
