package output

import (
	"encoding/base64"
	"path/filepath"
	"slices"
	"strings"
)

// googleManifest is what makes a directory an export to Google's own import.
const googleManifest = "spanner-export.json"

func googleTableManifest(table string) string { return table + "-manifest.json" }

// googleSchemaFile is the file of a named schema, under the name that Google's
// own export gives it.
func googleSchemaFile(name string) string { return name + ".avro-00000-of-00001" }

// googleSchemas returns the names of the schemas that the export of these tables
// may have files of. A name has no dot but the one behind the schema.
func googleSchemas(tables []ManifestTable) []string {
	var names []string
	for _, t := range tables {
		if name, _, ok := strings.Cut(t.Name, "."); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// googleExport is the content of googleManifest.
type googleExport struct {
	Tables  []googleTable `json:"tables"`
	Dialect string        `json:"dialect"`
}

type googleTable struct {
	Name         string `json:"name"`
	ManifestFile string `json:"manifestFile"`
}

// googleFiles is the content of the manifest of a table.
type googleFiles struct {
	Files []googleFile `json:"files"`
}

type googleFile struct {
	Name string `json:"name"` // relative to the directory
	MD5  string `json:"md5"`  // in base64
}

// fillEmptyTables makes a file of each table that has none, as there are no rows:
// to Google's import the schema in it is the table.
func (s *Set) fillEmptyTables() error {
	for i := range s.options.Tables {
		t := &s.options.Tables[i]
		if slices.ContainsFunc(s.files, func(f *file) bool { return f.table == t.Name }) {
			continue
		}
		k := &fileSink{set: s, table: t, place: fields{table: t.Name, shard: s.options.Shard}}
		if err := k.open(); err != nil {
			return err
		}
		if err := k.finish(); err != nil {
			return err
		}
	}
	return nil
}

// writeSchemaFiles makes the files of the named schemas.
func (s *Set) writeSchemaFiles() error {
	for _, schema := range s.options.NamedSchemas {
		f, err := s.createHidden(filepath.Join(s.layout.root, googleSchemaFile(schema.Name)), "", true)
		if err != nil {
			return err
		}
		s.files = append(s.files, f)
		if err := f.write(schema.File, 0); err != nil {
			return err
		}
		if err := f.finish(); err != nil {
			return err
		}
	}
	return nil
}

// writeGoogleManifests describes the export for Google's import, each table by
// itself first.
func (s *Set) writeGoogleManifests(m *Manifest) error {
	sums := map[string]string{}
	for _, f := range s.files {
		rel, err := filepath.Rel(s.layout.root, f.path)
		if err != nil {
			return err
		}
		sums[filepath.ToSlash(rel)] = base64.StdEncoding.EncodeToString(f.md5.Sum(nil))
	}
	export := googleExport{Dialect: s.options.GoogleDialect}
	describe := func(name string, files ...File) error {
		list := googleFiles{Files: []googleFile{}}
		for _, f := range files {
			list.Files = append(list.Files, googleFile{f.Name, sums[f.Name]})
		}
		manifest := googleTableManifest(name)
		export.Tables = append(export.Tables, googleTable{name, manifest})
		return s.writeJSON(filepath.Join(s.layout.root, manifest), list)
	}
	for _, schema := range s.options.NamedSchemas {
		if err := describe(schema.Name, File{Name: googleSchemaFile(schema.Name)}); err != nil {
			return err
		}
	}
	for _, t := range m.Tables {
		if err := describe(t.Name, t.Files...); err != nil {
			return err
		}
	}
	return s.writeJSON(filepath.Join(s.layout.root, googleManifest), export)
}
