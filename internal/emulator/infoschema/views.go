package infoschema

import (
	"spanbulk/internal/emulator/catalog"
)

// viewTables are the user's views as tables without storage.
func (f *filler) viewTables() []*catalog.Table {
	var out []*catalog.Table
	for _, v := range f.schema.Views {
		var columns []*catalog.Column
		for _, c := range v.Columns {
			columns = append(columns, &catalog.Column{Name: c.Name, Type: c.Type})
		}
		out = append(out, catalog.NewVirtualTable(v.Name, columns))
	}
	return out
}

func viewDefinitions(f *filler) {
	for _, v := range f.schema.Views {
		t := catalog.Table{Name: v.Name}
		f.emit("", t.SchemaName(), t.LocalName(), v.Text, v.Security())
	}
}
