package output

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// Open looks at the place that o names, refuses what must not be replaced
// (errors.Is ErrExists), and makes what directories are needed. No file under a
// final name is touched before Commit. Where ctx ends, waiting for who is to read
// a named pipe does, and soon after that writing to it.
func Open(ctx context.Context, o Options) (*Set, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	l, err := o.layOut()
	if err != nil {
		return nil, err
	}
	s := &Set{options: o, layout: l, token: rand.Uint32(), shared: map[string]sink{}, paths: map[string]bool{}, held: map[string]bool{}}
	if l.stream {
		s.stream, err = o.openStream(ctx)
		return s, err
	}
	if err := s.openFiles(); err != nil {
		return nil, errors.Join(err, s.Abort())
	}
	return s, nil
}

func (s *Set) openFiles() (err error) {
	if s.layout.root != "" {
		if err := s.lockRoot(); err != nil {
			return err
		}
	}
	if s.old, err = s.layout.remains(s.options); err != nil {
		return err
	}
	if len(s.old) > 0 && !s.options.Overwrite {
		return s.refusal()
	}
	s.modes = map[string]fs.FileMode{}
	for path := range s.old {
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			s.modes[path] = info.Mode().Perm()
		}
	}
	return s.prepare()
}

func (s *Set) refusal() error {
	first := slices.Min(slices.Collect(maps.Keys(s.old)))
	if s.layout.root != "" {
		return fmt.Errorf("output %s holds an export, which %w (%s)", s.options.Path, ErrExists, filepath.Base(first))
	}
	return fmt.Errorf("output %s %w", first, ErrExists)
}

// prepare makes directories, and the files that there will be whether or not
// there are rows, so that a place that cannot be written to is known before
// anything is read.
func (s *Set) prepare() error {
	if s.layout.root != "" {
		sweep(s.layout.root)
	}
	perPartition := s.layout.files.has(partitionField)
	for i := range s.options.Tables {
		t := &s.options.Tables[i]
		place := fields{table: t.Name, shard: s.options.Shard}
		dir := filepath.Dir(s.layout.files.expand(place))
		if s.layout.files.hasAny() {
			if !perPartition || !s.dirVaries() {
				if err := s.makeDir(dir); err != nil {
					return err
				}
			}
		}
		sweep(dir)
		if perPartition {
			continue
		}
		k := &fileSink{set: s, table: t, place: place}
		if err := k.open(); err != nil {
			return err
		}
		s.shared[t.Name] = k
	}
	return nil
}

// dirVaries reports whether partitions lie in directories of their own.
func (s *Set) dirVaries() bool {
	a := s.layout.files.expand(fields{table: "t", partition: 1})
	b := s.layout.files.expand(fields{table: "t", partition: 2})
	return filepath.Dir(a) != filepath.Dir(b)
}

// makeDir makes dir and remembers what of it is new.
func (s *Set) makeDir(dir string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var missing []string
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(d); !errors.Is(err, fs.ErrNotExist) || filepath.Dir(d) == d {
			break
		}
		missing = append(missing, d)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return failure("make directory", dir, err)
	}
	slices.Reverse(missing)
	s.madeDirs = append(s.madeDirs, missing...)
	return nil
}

// create opens the file of a place and takes it into the set.
func (s *Set) create(place fields, t *Table) (*file, error) {
	path := s.layout.files.expand(place)
	if s.layout.files.hasAny() && s.dirVaries() {
		if err := s.makeDir(filepath.Dir(path)); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paths[path] {
		return nil, fmt.Errorf("output %s: two partitions of the same number", path)
	}
	f, err := s.createHidden(path, t.Name, s.layout.root != "")
	if err != nil {
		return nil, err
	}
	s.paths[path] = true
	s.files = append(s.files, f)
	return f, nil
}
