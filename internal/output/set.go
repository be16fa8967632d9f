package output

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Set is everything one export writes. Its methods may be called from many
// goroutines, but Commit and Abort only when no Writer is in use any more. One
// of these two must be called.
type Set struct {
	options Options
	layout  layout
	stream  *streamSink     // nil unless the layout is a stream
	shared  map[string]sink // by table, where its partitions share a file
	old     map[string]bool // files of an earlier export, still to be replaced

	mu       sync.Mutex
	err      error // the first one: after it nothing is committed
	files    []*file
	paths    map[string]bool // of files
	madeDirs []string        // outermost first
	ended    bool            // by Commit or Abort
}

// Open looks at the place that o names, refuses what must not be replaced
// (errors.Is ErrExists), and makes what directories are needed. No file under a
// final name is touched before Commit.
func Open(o Options) (*Set, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	l, err := o.layOut()
	if err != nil {
		return nil, err
	}
	s := &Set{options: o, layout: l, shared: map[string]sink{}, paths: map[string]bool{}}
	if l.stream {
		s.stream, err = o.openStream()
		return s, err
	}
	if s.old, err = l.remains(o); err != nil {
		return nil, err
	}
	if len(s.old) > 0 && !o.Overwrite {
		return nil, s.refusal()
	}
	if err := s.prepare(); err != nil {
		return nil, errors.Join(err, s.Abort())
	}
	return s, nil
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
	perPartition := s.layout.files.has(partitionField)
	for i := range s.options.Tables {
		t := &s.options.Tables[i]
		place := fields{table: t.Name, shard: s.options.Shard}
		if s.layout.files.hasAny() {
			dir := filepath.Dir(s.layout.files.expand(place))
			if !perPartition || !s.dirVaries() {
				if err := s.makeDir(dir); err != nil {
					return err
				}
			}
		}
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
	f, err := create(path, t.Name, s.layout.root != "")
	if err != nil {
		return nil, err
	}
	s.paths[path] = true
	s.files = append(s.files, f)
	return f, nil
}

// Partition returns where the chunks of a table's partition go. The table is
// one of Options.Tables; every partition is asked for once.
func (s *Set) Partition(table string, partition int) (*Writer, error) {
	i := slices.IndexFunc(s.options.Tables, func(t Table) bool { return t.Name == table })
	if i < 0 {
		return nil, fmt.Errorf("output for table %s, which is not exported", table)
	}
	switch {
	case s.stream != nil:
		return &Writer{set: s, sink: s.stream}, nil
	case s.shared[table] != nil:
		return &Writer{set: s, sink: s.shared[table]}, nil
	}
	place := fields{table: table, partition: partition, shard: s.options.Shard}
	return &Writer{set: s, sink: &fileSink{set: s, table: &s.options.Tables[i], place: place}, own: true}, nil
}

func (s *Set) fail(err error) error {
	if err == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	return err
}

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
	if s.layout.root != "" && s.old[s.manifestPath()] {
		if err := s.removeOld(s.manifestPath()); err != nil {
			return err
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
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the manifest: %w", err)
	}
	f, err := create(s.manifestPath(), "", false)
	if err != nil {
		return err
	}
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
	for _, dir := range slices.Backward(s.madeDirs) {
		os.Remove(dir) // stays if others have put something there
	}
	return errors.Join(errs...)
}

// Files describes the files written so far, after Commit all of them, sorted by
// path. A stream is one file without a checksum.
func (s *Set) Files() []File {
	if s.stream != nil {
		s.stream.mu.Lock()
		defer s.stream.mu.Unlock()
		return []File{{Name: s.stream.name, Rows: s.stream.rows, Bytes: s.stream.bytes}}
	}
	var all []File
	for _, f := range s.files {
		all = append(all, f.describe())
	}
	return all
}
