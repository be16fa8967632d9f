package output

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Commit finishes what is open, gives every file its final name, removes what
// is left of an export that this one replaces, and, in a directory, writes m
// with the tables and files filled in. After an error it has called Abort; so
// it does if a chunk could not be written before, or if ctx has ended.
func (s *Set) Commit(ctx context.Context, m Manifest) error {
	err := s.commit(ctx, &m)
	if err != nil {
		return errors.Join(err, s.Abort())
	}
	s.ended = true
	s.release()
	return nil
}

func (s *Set) commit(ctx context.Context, m *Manifest) error {
	if s.ended {
		return errFinished
	}
	if s.err != nil {
		return s.err
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if s.stream != nil {
		return s.stream.finish()
	}
	for _, k := range s.shared {
		if err := k.finish(); err != nil {
			return err
		}
	}
	if s.options.GoogleDialect != "" && s.layout.root != "" {
		if err := s.fillEmptyTables(); err != nil {
			return err
		}
		if err := s.writeSchemaFiles(); err != nil {
			return err
		}
	}
	slices.SortFunc(s.files, func(a, b *file) int { return strings.Compare(a.path, b.path) })
	if err := s.publish(); err != nil {
		return err
	}
	return s.writeManifest(m)
}

// publish renames the files. The old manifest goes first: what it says is not
// true any more.
func (s *Set) publish() error {
	for _, f := range s.files {
		if f.f != nil {
			return fmt.Errorf("output %s: partition not closed", f.path)
		}
	}
	for _, name := range []string{ManifestName, googleManifest} {
		if path := filepath.Join(s.layout.root, name); s.layout.root != "" && s.old[path] {
			if err := s.removeOld(path); err != nil {
				return err
			}
		}
	}
	dirs := map[string]bool{}
	for _, f := range s.files {
		if err := f.publish(s.old[f.path]); err != nil {
			return err
		}
		delete(s.old, f.path)
		dirs[filepath.Dir(f.path)] = true
	}
	for path := range s.old {
		if err := s.removeOld(path); err != nil {
			return err
		}
	}
	for _, d := range s.madeDirs {
		dirs[filepath.Dir(d)] = true
	}
	for d := range dirs {
		if err := syncDir(d); err != nil {
			return err
		}
	}
	return nil
}

func (s *Set) removeOld(path string) error {
	delete(s.old, path)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return failure("remove the old", path, err)
	}
	return nil
}

func (s *Set) manifestPath() string { return filepath.Join(s.layout.root, ManifestName) }

func (s *Set) writeManifest(m *Manifest) error {
	if s.layout.root == "" {
		return nil
	}
	if err := m.fill(s.options, s.layout.root, s.files); err != nil {
		return err
	}
	if s.options.GoogleDialect != "" {
		if err := s.writeGoogleManifests(m); err != nil {
			return err
		}
	}
	return s.writeJSON(s.manifestPath(), m)
}

// writeJSON writes a manifest.
func (s *Set) writeJSON(path string, manifest any) error {
	b, err := json.MarshalIndent(manifest, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the manifest: %w", err)
	}
	f, err := s.createHidden(path, "", false)
	if err != nil {
		return err
	}
	s.manifests = append(s.manifests, path)
	for _, step := range []func() error{
		func() error { return f.write(append(b, '\n'), 0) },
		f.finish,
		func() error { return f.publish(true) },
		func() error { return syncDir(s.layout.root) },
	} {
		if err := step(); err != nil {
			return errors.Join(err, f.discard())
		}
	}
	return nil
}

// Abort removes everything this Set has made, and leaves an earlier export as
// it is unless Commit was replacing it already. After Commit or Abort it does
// nothing.
func (s *Set) Abort() error {
	if s.ended {
		return nil
	}
	s.ended = true
	defer s.release()
	if s.stream != nil {
		return s.stream.abort()
	}
	var errs []error
	for _, f := range s.files {
		published := f.temp == ""
		errs = append(errs, f.discard())
		if published {
			errs = append(errs, os.Remove(f.path))
		}
	}
	for _, path := range s.manifests {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	for _, dir := range slices.Backward(s.madeDirs) {
		os.Remove(dir) // stays if others have put something there
	}
	return errors.Join(errs...)
}
