package output

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// layout is what Options.Path comes to: where files go and what is there.
type layout struct {
	stream bool     // Path is written to as it comes; the rest is unset
	files  template // the path of a file
	root   string   // the directory that gets the manifest, if any
}

// layOut looks at what Path is. It changes nothing.
func (o Options) layOut() (layout, error) {
	if o.isStdout() {
		return layout{stream: true}, nil
	}
	path := filepath.Clean(o.Path)
	t, err := parseTemplate(path)
	if err != nil {
		return layout{}, err
	}
	if !t.hasAny() {
		info, err := os.Stat(path)
		switch {
		case err == nil && info.IsDir(), err != nil && wantsDirectory(o.Path, len(o.Tables)):
			return o.directory(path)
		case err == nil && wantsDirectory(o.Path, len(o.Tables)):
			return layout{}, fmt.Errorf("output %s is a file, and a directory is needed", o.Path)
		case err == nil && !info.Mode().IsRegular():
			return layout{stream: true}, o.validateStream(o.Path)
		case err == nil:
			// Replacing what a link points at, not the link.
			if path, err = filepath.EvalSymlinks(path); err != nil {
				return layout{}, failure("open", o.Path, err)
			}
			t = template{{text: path}}
		}
	}
	if o.MaxFileSize > 0 {
		t = t.numbered(o.Extension)
	}
	return layout{files: t}, nil
}

func wantsDirectory(path string, tables int) bool {
	return tables > 1 || strings.HasSuffix(path, "/") || strings.HasSuffix(path, string(filepath.Separator))
}

// IsDirectory reports whether Options with this Path and so many tables name a
// directory with manifests in it, now.
func IsDirectory(path string, tables int) bool {
	l, err := Options{Path: path, Tables: make([]Table, tables)}.layOut()
	return err == nil && l.root != ""
}

// directory lays a single table's files in root and several tables' files in a
// directory each.
func (o Options) directory(root string) (layout, error) {
	if exists(filepath.Join(root, googleManifest)) && !exists(filepath.Join(root, ManifestName)) {
		return layout{}, fmt.Errorf("output %s holds an export by Google's tools, which is not replaced: %w", o.Path, ErrExists)
	}
	sep := string(filepath.Separator)
	t := template{{text: strings.TrimSuffix(root, sep) + sep}, {tableField, true}}
	if len(o.Tables) > 1 {
		t = append(t, part{text: sep}, part{tableField, true})
	}
	t = append(t, part{text: "-"}, part{partitionField, true}, part{text: o.Extension})
	if o.MaxFileSize > 0 {
		t = t.numbered(o.Extension)
	}
	return layout{files: t, root: root}, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// manifests are the files that describe an earlier export.
func (l layout) manifests(old *Manifest) []string {
	paths := []string{filepath.Join(l.root, ManifestName)}
	google := []string{googleManifest}
	for _, t := range old.Tables {
		google = append(google, googleTableManifest(t.Name))
	}
	for _, name := range googleSchemas(old.Tables) {
		google = append(google, googleTableManifest(name), googleSchemaFile(name))
	}
	for _, name := range google {
		if path := filepath.Join(l.root, name); filepath.IsLocal(name) && exists(path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// remains returns what an earlier export to the same place has left: the files
// its manifest lists and those with names that this one might use.
func (l layout) remains(o Options) (map[string]bool, error) {
	found := map[string]bool{}
	if l.root != "" {
		old, err := ReadManifest(l.root)
		switch {
		case err == nil:
			for _, path := range l.manifests(old) {
				found[path] = true
			}
			for _, f := range old.files() {
				if path := filepath.Join(l.root, filepath.FromSlash(f.Name)); filepath.IsLocal(filepath.FromSlash(f.Name)) {
					found[path] = true
				}
			}
		case !os.IsNotExist(err):
			return nil, err
		}
	}
	for _, t := range o.Tables {
		paths, err := l.files.existing(fields{table: t.Name, shard: o.Shard})
		if err != nil {
			return nil, failure("look at", o.Path, err)
		}
		for _, path := range paths {
			found[path] = true
		}
	}
	return found, nil
}
