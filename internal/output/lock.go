package output

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// lockState is what came of taking a lock.
type lockState int

const (
	cannotLock lockState = iota // there are no locks here
	locked
	lockedByAnother
)

// lockRoot makes the directory that gets the manifest and keeps other exports
// out of it until this one has ended: of two manifests one would be lost, and
// the files it lists would look like another's remains.
func (s *Set) lockRoot() error {
	root := s.layout.root
	for {
		if err := s.makeDir(root); err != nil {
			return err
		}
		d, err := os.Open(root)
		if err != nil {
			return nil // whether it can be written to shows soon enough
		}
		switch tryLock(d, true) {
		case lockedByAnother:
			d.Close()
			return fmt.Errorf("another export is writing to %s", s.options.Path)
		case locked:
			if !isAt(d, root) { // its owner removed it while it was being opened
				d.Close()
				continue
			}
		}
		s.locks = append(s.locks, d)
		return nil
	}
}

// Own takes an advisory lock on f, which ends with f. It is false if another
// handle has it, and true where there are no locks.
func Own(f *os.File) bool { return tryLock(f, true) != lockedByAnother }

// isAt reports whether path still names the open file f.
func isAt(f *os.File, path string) bool {
	opened, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(path)
	if err == nil && named.Mode()&os.ModeSymlink != 0 {
		named, err = os.Stat(path)
	}
	return err == nil && os.SameFile(opened, named)
}

// hold keeps a shared lock on the first hidden file in each directory until the
// set has ended, which speaks for all hidden files of the set: one handle for
// each of thousands of finished partitions would be more than a process may have.
func (s *Set) hold(f *file) {
	dir := filepath.Dir(f.temp)
	if s.held[dir] || s.layout.files.hasAny() && s.dirVaries() {
		return
	}
	h, err := os.Open(f.temp)
	if err != nil {
		return
	}
	if tryLock(h, false) != locked {
		h.Close()
		return
	}
	s.held[dir] = true
	s.locks = append(s.locks, h)
}

// release gives up all locks.
func (s *Set) release() {
	for _, f := range s.locks {
		f.Close() // nothing was written to it
	}
	s.locks = nil
}

// hiddenName matches the names that create makes; the group tells the set.
var hiddenName = regexp.MustCompile(`^\..+\.([0-9a-f]{8})[0-9a-f]{0,8}\.partial$`)

// sweep removes the hidden files that sets which were killed have left in dir:
// those of which no file is locked. Where there are no locks all stay.
func sweep(dir string) {
	candidates := hiddenFiles(dir)
	if len(candidates) == 0 {
		return
	}
	// The first file of a set, which stays locked, may have come while the
	// directory was being read; the second look has it.
	for set, paths := range hiddenFiles(dir) {
		if candidates[set] != nil {
			removeAbandoned(paths)
		}
	}
}

// hiddenFiles returns the hidden files in dir by set.
func hiddenFiles(dir string) map[string][]string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // what cannot be read is not tidied
	}
	found := map[string][]string{}
	for _, e := range entries {
		if m := hiddenName.FindStringSubmatch(e.Name()); m != nil && e.Type().IsRegular() {
			found[m[1]] = append(found[m[1]], filepath.Join(dir, e.Name()))
		}
	}
	return found
}

func removeAbandoned(paths []string) {
	for _, path := range paths {
		if !isAbandoned(path) {
			return
		}
	}
	for _, path := range paths {
		os.Remove(path) // another sweep may have been faster
	}
}

func isAbandoned(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return tryLock(f, true) == locked
}
