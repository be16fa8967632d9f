package output

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// ManifestName is the file that makes a directory a complete export.
const ManifestName = "manifest.json"

// manifestVersion changes when a reader of the old form would misread the new.
const manifestVersion = 1

// Manifest describes a complete export in a directory.
type Manifest struct {
	Version           int             `json:"version"`
	Database          string          `json:"database,omitempty"` // projects/P/instances/I/databases/D
	SnapshotTimestamp time.Time       `json:"snapshotTimestamp"`  // the one timestamp all rows were read at
	Format            string          `json:"format,omitempty"`
	Compression       string          `json:"compression,omitempty"`
	Tables            []ManifestTable `json:"tables"`
}

// ManifestTable describes one table of an export.
type ManifestTable struct {
	Name       string    `json:"name"`
	Columns    []Column  `json:"columns"`
	PrimaryKey []KeyPart `json:"primaryKey,omitempty"`
	Rows       int64     `json:"rows"`
	Files      []File    `json:"files"`
}

// File describes one finished file.
type File struct {
	Name   string `json:"name"`             // in a manifest relative to it, with slashes; else a path
	Rows   int64  `json:"rows"`             // records, whatever the format calls them
	Bytes  int64  `json:"bytes"`            // as stored, so compressed
	SHA256 string `json:"sha256,omitempty"` // of the stored bytes, in hexadecimal; only counted for a manifest
}

// ReadManifest reads the manifest of the directory dir. The error of a
// directory without one satisfies os.IsNotExist. A manifest without tables, of
// another version or of another program is an error that names the file.
func ReadManifest(dir string) (*Manifest, error) {
	path := filepath.Join(dir, ManifestName)
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var m Manifest
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, fmt.Errorf("read %s: %w: it is not JSON of its form", path, errForeign)
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return &m, nil
}

// errForeign is a file of the manifest's name that something else has written.
var errForeign = errors.New("it is no manifest of an export by spanbulk")

// check refuses what is no manifest of a whole export, or one of a form that is
// not known.
func (m *Manifest) check() error {
	switch {
	case m.Version == 0:
		return fmt.Errorf("%w: it has no version", errForeign)
	case m.Version != manifestVersion:
		return fmt.Errorf("the manifest has version %d and this spanbulk reads version %d", m.Version, manifestVersion)
	case len(m.Tables) == 0:
		return fmt.Errorf("%w: it names no tables", errForeign)
	}
	for i, t := range m.Tables {
		if t.Name == "" {
			return fmt.Errorf("%w: its table %d has no name", errForeign, i+1)
		}
	}
	return nil
}

func (m *Manifest) files() []File {
	var all []File
	for _, t := range m.Tables {
		all = append(all, t.Files...)
	}
	return all
}

// fill puts in what the export has written.
func (m *Manifest) fill(o Options, root string, files []*file) error {
	m.Version = manifestVersion
	m.Tables = make([]ManifestTable, 0, len(o.Tables))
	for _, t := range o.Tables {
		mt := ManifestTable{Name: t.Name, Columns: t.Columns, PrimaryKey: t.PrimaryKey, Files: []File{}}
		for _, f := range files {
			if f.table != t.Name {
				continue
			}
			entry := f.describe()
			rel, err := filepath.Rel(root, f.path)
			if err != nil {
				return err
			}
			entry.Name = filepath.ToSlash(rel)
			mt.Rows += entry.Rows
			mt.Files = append(mt.Files, entry)
		}
		m.Tables = append(m.Tables, mt)
	}
	return nil
}
