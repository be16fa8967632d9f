package cdc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"google.golang.org/grpc/codes"

	"spanbulk/internal/fault"
	"spanbulk/internal/output"
)

// StateFile is the state file of one tail. Two tails on one file would take each
// other's progress for their own: the second is refused, or, where files cannot
// be locked, the one whose file is replaced by another's finds out and ends.
type StateFile struct {
	path string
	held *os.File // the file as it was read or last written; nil if there is none
}

// OpenState reads the state file at path, as ReadState does, and keeps other
// tails from it until Close. state is nil if there is none.
func OpenState(path, database, stream string) (file *StateFile, state *SavedState, err error) {
	file = &StateFile{path: path}
	if err := file.hold(); err != nil {
		return nil, nil, err
	}
	if state, err = ReadState(path, database, stream); err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, state, nil
}

// hold takes hold of the file that is at the path now.
func (f *StateFile) hold() error {
	held, err := os.Open(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fault.New(codes.FailedPrecondition, "read state", f.path, reasonOf(err).Error())
	case !output.Own(held):
		return errors.Join(f.inUse(), held.Close())
	}
	before := f.held
	f.held = held
	if before != nil {
		return before.Close()
	}
	return nil
}

func (f *StateFile) inUse() error {
	return fault.New(codes.FailedPrecondition, "use state", f.path, "another tail uses it").
		WithHint("give each tail a --state of its own")
}

// Save replaces the file by a state.
func (f *StateFile) Save(s *SavedState) error {
	if !f.isOurs() {
		return f.inUse()
	}
	if err := s.Write(f.path); err != nil {
		return err
	}
	return f.hold()
}

// isOurs reports whether the file at the path is the one that is held. One that
// was removed is written anew.
func (f *StateFile) isOurs() bool {
	now, err := os.Stat(f.path)
	if err != nil {
		return true // writing it tells what is wrong
	}
	if f.held == nil {
		return false
	}
	held, err := f.held.Stat()
	return err == nil && os.SameFile(now, held)
}

// Close lets other tails have the file.
func (f *StateFile) Close() error {
	if f.held == nil {
		return nil
	}
	if err := f.held.Close(); err != nil {
		return fmt.Errorf("close state %s: %w", f.path, reasonOf(err))
	}
	return nil
}
