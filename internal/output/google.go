package output

import (
	"encoding/base64"
	"path/filepath"
	"slices"
)

// googleManifest is what makes a directory an export to Google's own import.
const googleManifest = "spanner-export.json"

func googleTableManifest(table string) string { return table + "-manifest.json" }

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
	for _, t := range m.Tables {
		list := googleFiles{Files: []googleFile{}}
		for _, f := range t.Files {
			list.Files = append(list.Files, googleFile{f.Name, sums[f.Name]})
		}
		name := googleTableManifest(t.Name)
		if err := s.writeJSON(filepath.Join(s.layout.root, name), list); err != nil {
			return err
		}
		export.Tables = append(export.Tables, googleTable{t.Name, name})
	}
	return s.writeJSON(filepath.Join(s.layout.root, googleManifest), export)
}
