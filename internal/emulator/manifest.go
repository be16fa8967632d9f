package emulator

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"spanbulk/internal/emulator/catalog"
)

// manifestName is the file that an export leaves in a directory that it
// completed.
const manifestName = "manifest.json"

// manifest is what loading takes from it.
type manifest struct {
	Version int `json:"version"`
	Tables  []struct {
		Name  string `json:"name"`
		Files []struct {
			Name string `json:"name"`
			Rows int64  `json:"rows"`
		} `json:"files"`
	} `json:"tables"`
}

// readManifest reads a directory's manifest; nil if it has none. A file of that
// name without a version is not an export's.
func readManifest(dir string) (*manifest, error) {
	path := filepath.Join(dir, manifestName)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("read %s: it is no manifest of an export: %w", path, err)
	}
	if m.Version == 0 {
		return nil, nil
	}
	return &m, nil
}

// mentions tells whether a file of the directory is the manifest or one that it
// lists.
func (m *manifest) mentions(dir, path string) bool {
	for _, t := range m.Tables {
		for _, f := range t.Files {
			if filepath.Join(dir, filepath.FromSlash(f.Name)) == path {
				return true
			}
		}
	}
	return path == filepath.Join(dir, manifestName)
}

// files are the files of each table, as the manifest lists them.
func (m *manifest) files(schema *catalog.Schema, dir string) (map[*catalog.Table][]tableFile, error) {
	out := make(map[*catalog.Table][]tableFile)
	for _, mt := range m.Tables {
		t, ok := schema.Table(mt.Name)
		if !ok {
			return nil, fmt.Errorf("load %s: the database has no table %s", filepath.Join(dir, manifestName), mt.Name)
		}
		for _, f := range mt.Files {
			name := filepath.FromSlash(f.Name)
			if !filepath.IsLocal(name) {
				return nil, fmt.Errorf("load %s: the file %s is not in the directory", filepath.Join(dir, manifestName), f.Name)
			}
			out[t] = append(out[t], tableFile{path: filepath.Join(dir, name), rows: f.Rows})
		}
	}
	return out, nil
}
