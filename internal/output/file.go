package output

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
)

// file is one output file on its way to its name. Only one goroutine at a time
// may use it.
type file struct {
	path  string // the final one
	table string
	temp  string // the hidden one; empty once renamed or removed
	f     *os.File
	rows  int64
	bytes int64
	sum   hash.Hash // nil if not asked for
	md5   hash.Hash // likewise, for Google's manifests
}

// createHidden opens the hidden file for path, in the same directory so that it can
// be renamed. It is locked while it is open.
func (s *Set) createHidden(path, table string, sum bool) (*file, error) {
	dir, base := filepath.Split(path)
	for {
		// A name may have 255 bytes; the user's may be as long.
		temp := filepath.Join(dir, fmt.Sprintf(".%.200s.%08x%08x.partial", base, s.token, rand.Uint32()))
		f, err := s.createMode(temp, path)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, failure("create", path, err)
		}
		if tryLock(f, false) == lockedByAnother || !isAt(f, temp) {
			f.Close() // swept away before it was locked
			continue
		}
		out := &file{path: path, table: table, temp: temp, f: f}
		if sum {
			out.sum = sha256.New()
			if s.options.GoogleDialect != "" {
				out.md5 = md5.New()
			}
		}
		s.hold(out)
		return out, nil
	}
}

// createMode creates the hidden file with the permissions of the file that it
// will replace, from its first byte on. A file that replaces none, as one more
// partition, gets those that all files of the old export have.
func (s *Set) createMode(temp, path string) (*os.File, error) {
	mode, ok := s.modes[path]
	if !ok {
		mode = 0o666
		for _, m := range s.modes {
			mode &= m
			ok = true
		}
	}
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil || !ok {
		return f, err
	}
	if err := f.Chmod(mode); err != nil && runtime.GOOS != "windows" {
		f.Close()
		return nil, errors.Join(err, os.Remove(temp))
	}
	return f, nil
}

func (f *file) write(b []byte, rows int) error {
	n, err := f.f.Write(b)
	f.bytes += int64(n)
	if err != nil {
		return failure("write", f.path, err)
	}
	f.rows += int64(rows)
	if f.sum != nil {
		f.sum.Write(b) // never fails
	}
	if f.md5 != nil {
		f.md5.Write(b)
	}
	return nil
}

// finish makes the bytes safe and closes the file. It keeps its hidden name.
func (f *file) finish() error {
	err := f.f.Sync()
	if cerr := f.f.Close(); err == nil {
		err = cerr
	}
	f.f = nil
	if err != nil {
		return failure("write", f.path, err)
	}
	return nil
}

// publish gives a finished file its name. A file there that is not to be
// replaced came after the first look; it stays.
func (f *file) publish(replace bool) error {
	if !replace {
		if _, err := os.Lstat(f.path); err == nil {
			return fmt.Errorf("output %s: %w", f.path, ErrExists)
		}
	}
	if err := os.Rename(f.temp, f.path); err != nil {
		var link *os.LinkError
		if errors.As(err, &link) {
			err = link.Err
		}
		return failure("rename to", f.path, err)
	}
	f.temp = ""
	return nil
}

// discard removes the file under its hidden name, whatever state it is in.
func (f *file) discard() error {
	if f.f != nil {
		f.f.Close() // what could not be written is not wanted either
		f.f = nil
	}
	if f.temp == "" {
		return nil
	}
	err := os.Remove(f.temp)
	f.temp = ""
	if err != nil {
		return failure("remove the unfinished", f.path, err)
	}
	return nil
}

func (f *file) describe() File {
	d := File{Name: f.path, Rows: f.rows, Bytes: f.bytes}
	if f.sum != nil {
		d.SHA256 = hex.EncodeToString(f.sum.Sum(nil))
	}
	return d
}

// syncDir makes the names in a directory safe. Windows cannot, and does so by
// itself.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return failure("sync", dir, err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return failure("sync", dir, err)
	}
	return nil
}
