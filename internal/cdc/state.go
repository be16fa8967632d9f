package cdc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"google.golang.org/grpc/codes"

	"spanbulk/internal/fault"
)

// stateVersion is the version of the form of a state file.
const stateVersion = 1

// SavedState is what outlives a run: how far each partition of a change stream
// is in the output.
type SavedState struct {
	Database string
	Stream   string
	Saved    time.Time
	// Watermark is the time before which the output has everything.
	Watermark Timestamp
	// Output is what the output wants to know of itself; see Output.Flush.
	Output     json.RawMessage
	Partitions []Partition
}

// isUntouched reports whether a run that began anew has left the state before
// the first partitions were known.
func (s *SavedState) isUntouched() bool {
	return len(s.Partitions) == 1 && s.Partitions[0].Token == RootToken
}

// The form of a state file. What is in it and not known is refused: it would
// mean something.
type (
	stateFile struct {
		Kind       string           `json:"kind"`
		Version    int              `json:"version"`
		Database   string           `json:"database"`
		Stream     string           `json:"changeStream"`
		Saved      time.Time        `json:"saved"`
		Watermark  Timestamp        `json:"watermark"`
		Output     json.RawMessage  `json:"output,omitempty"`
		Partitions []statePartition `json:"partitions"`
	}
	statePartition struct {
		Token    string     `json:"token"`
		Parents  []string   `json:"parents,omitempty"`
		Start    Timestamp  `json:"start"`
		End      *Timestamp `json:"end,omitempty"`
		Position Timestamp  `json:"position"`
		State    string     `json:"state"`
		Boundary []Identity `json:"boundary,omitempty"`
		MovedOut []string   `json:"movedOut,omitempty"`
		Awaits   []Await    `json:"awaits,omitempty"`
	}
)

const stateKind = "spanbulk change stream state"

// encode returns the state as the content of its file.
func (s *SavedState) encode() ([]byte, error) {
	f := stateFile{
		Kind: stateKind, Version: stateVersion, Database: s.Database, Stream: s.Stream,
		Saved: s.Saved.UTC(), Watermark: s.Watermark, Output: s.Output,
	}
	for _, p := range s.Partitions {
		sp := statePartition{
			Token: p.Token, Parents: p.Parents, Start: p.Start, Position: p.Position,
			State: p.State.String(), Boundary: p.Boundary, MovedOut: p.MovedOut, Awaits: p.Awaits,
		}
		if p.End != 0 {
			sp.End = &p.End
		}
		f.Partitions = append(f.Partitions, sp)
	}
	b, err := json.MarshalIndent(&f, "", "  ")
	return append(b, '\n'), err
}

func decodeState(b []byte) (*SavedState, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	var version struct {
		Kind    string `json:"kind"`
		Version int    `json:"version"`
	}
	if err := dec.Decode(&version); err != nil || version.Kind != stateKind {
		return nil, errors.New("it is cut short or not the state of a change stream")
	}
	if version.Version != stateVersion {
		return nil, fmt.Errorf("it has version %d, and this program writes and reads version %d", version.Version, stateVersion)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows behind its end")
	}
	dec = json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	var f stateFile
	if err := dec.Decode(&f); err != nil {
		return nil, fmt.Errorf("it is damaged: %w", err)
	}
	s := &SavedState{Database: f.Database, Stream: f.Stream, Saved: f.Saved, Watermark: f.Watermark, Output: f.Output}
	for _, sp := range f.Partitions {
		p, err := sp.partition()
		if err != nil {
			return nil, err
		}
		s.Partitions = append(s.Partitions, p)
	}
	if _, err := RestoreLedger(s.Partitions); err != nil {
		return nil, fmt.Errorf("it is damaged: %w", err)
	}
	return s, nil
}

func (sp *statePartition) partition() (Partition, error) {
	p := Partition{
		Token: sp.Token, Parents: sp.Parents, Start: sp.Start, Position: sp.Position,
		Boundary: sp.Boundary, MovedOut: sp.MovedOut, Awaits: sp.Awaits,
	}
	if sp.End != nil {
		p.End = *sp.End
	}
	for p.State = Created; p.State.String() != sp.State; p.State++ {
		if p.State == Finished {
			return p, fmt.Errorf("it is damaged: partition %s has no known state", short(sp.Token))
		}
	}
	return p, nil
}

// ReadState reads the state file at path; nil if there is none. It refuses a
// file that is not whole, of another version, or of another change stream than
// the given one of the given database, and never changes it.
func ReadState(path, database, stream string) (*SavedState, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.New(codes.FailedPrecondition, "read state", path, reasonOf(err).Error())
	}
	s, err := decodeState(b)
	switch {
	case err != nil:
		err = fault.New(codes.FailedPrecondition, "read state", path, err.Error()).
			WithHint("give another --state, or remove the file to begin anew from --start-position")
	case s.Database != database:
		err = fault.New(codes.FailedPrecondition, "read state", path, "it belongs to database "+s.Database).
			WithHint("give another --state")
	case s.Stream != stream:
		err = fault.New(codes.FailedPrecondition, "read state", path, "it belongs to change stream "+s.Stream).
			WithHint("give another --state")
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Write replaces the state file at path by this state: a reader, and a crash at
// any moment, find the old file or the new one, whole.
func (s *SavedState) Write(path string) error {
	b, err := s.encode()
	if err == nil {
		err = replaceFile(path, b)
	}
	if err != nil {
		return fmt.Errorf("write state %s: %w", path, reasonOf(err))
	}
	return nil
}

// replaceFile writes a new file beside path, makes it safe, and renames it.
func replaceFile(path string, content []byte) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // replacing what a link points at, not the link
	}
	dir, base := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	f, err := os.CreateTemp(dir, "."+base+".*.partial")
	if err != nil {
		return err
	}
	err = fill(f, content)
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return syncDir(dir)
}

func fill(f *os.File, content []byte) error {
	_, err := f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// syncDir makes a rename in dir safe. Windows cannot, and does so by itself.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}

// reasonOf takes the name of a hidden file off an error of package os: the user
// knows another one.
func reasonOf(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		return link.Err
	}
	return err
}
