package cdc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"google.golang.org/grpc/codes"

	"spanbulk/internal/fault"
	"spanbulk/internal/output"
)

// StreamOutput is an Output that writes to standard output, a pipe or a device. There
// is nothing to flush: a chunk is handed on as it comes.
type StreamOutput struct {
	W    io.Writer
	Name string
}

// Begin implements Output.
func (s *StreamOutput) Begin(header []byte) error { return s.Write(header, 0) }

// Write implements Output.
func (s *StreamOutput) Write(chunk []byte, _ int) error {
	if len(chunk) == 0 {
		return nil
	}
	_, err := s.W.Write(chunk)
	switch {
	case errors.Is(err, syscall.EPIPE), errors.Is(err, io.ErrClosedPipe):
		return fmt.Errorf("write %s: %w: %w", s.Name, output.ErrReaderGone, err)
	case err != nil:
		return fmt.Errorf("write %s: %w", s.Name, reasonOf(err))
	}
	return nil
}

// Flush implements Output.
func (s *StreamOutput) Flush() (json.RawMessage, error) { return nil, nil }

// FileOutput is an Output that appends to a file. With the mark that Flush
// returned, a file that a killed run went on writing is cut back to what the
// state covers, so that nothing is in it twice.
type FileOutput struct {
	path  string
	f     *os.File
	size  int64
	dirty bool
}

// fileMark is what a state keeps of a FileOutput.
type fileMark struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

// OpenFile opens the file at path. mark is what the state has of it, nil
// without a state: then a file that is there is refused unless it is empty, or
// overwrite.
func OpenFile(path string, mark json.RawMessage, overwrite bool) (*FileOutput, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	var m fileMark
	if len(mark) > 0 && string(mark) != "null" {
		if err := json.Unmarshal(mark, &m); err != nil || m.Bytes < 0 {
			return nil, fault.New(codes.FailedPrecondition, "go on with", path, "what the state says of the output is damaged")
		}
	}
	flags := os.O_WRONLY | os.O_CREATE
	goesOn := m.Path == full // or begins anew if the file was moved away
	if !goesOn && !overwrite && !isEmptyFile(path) {
		flags |= os.O_EXCL
	}
	f, err := os.OpenFile(path, flags, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return nil, &fault.Error{Code: codes.AlreadyExists, Op: "write", Object: path, Reason: output.ErrExists.Error(), Err: output.ErrExists,
			Hint: "give another --output, or --overwrite to replace it"}
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, reasonOf(err))
	}
	out := &FileOutput{path: full, f: f}
	switch {
	case !output.Own(f):
		err = fault.New(codes.FailedPrecondition, "write", path, "another tail writes it")
	case goesOn:
		err = out.cutBack(m.Bytes)
	default:
		if err = f.Truncate(0); err != nil {
			err = fmt.Errorf("open %s: %w", path, reasonOf(err))
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return out, nil
}

// isEmptyFile reports whether there is a file without content, as one that was
// killed before anything else leaves it.
func isEmptyFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() == 0
}

// cutBack goes to the place up to which the state covers the file.
func (o *FileOutput) cutBack(size int64) error {
	info, err := o.f.Stat()
	if err != nil {
		return fmt.Errorf("open %s: %w", o.path, reasonOf(err))
	}
	switch {
	case info.Size() == 0: // moved away by whoever keeps logs: begin a new one
		return nil
	case info.Size() < size:
		return fault.New(codes.DataLoss, "go on with", o.path,
			fmt.Sprintf("it has %d bytes, and the state covers %d", info.Size(), size)).WithHint("was it changed? give another --output")
	}
	if err := o.f.Truncate(size); err != nil {
		return fmt.Errorf("cut back %s: %w", o.path, reasonOf(err))
	}
	o.size, err = o.f.Seek(size, io.SeekStart)
	return err
}

// Begin implements Output. A file that goes on has its header.
func (o *FileOutput) Begin(header []byte) error {
	if o.size > 0 {
		return nil
	}
	return o.Write(header, 0)
}

// Write implements Output.
func (o *FileOutput) Write(chunk []byte, _ int) error {
	if len(chunk) == 0 {
		return nil
	}
	n, err := o.f.Write(chunk)
	o.size += int64(n)
	o.dirty = true
	if err != nil {
		return fmt.Errorf("write %s: %w", o.path, reasonOf(err))
	}
	return nil
}

// Flush implements Output: what was written survives a crash of the machine.
func (o *FileOutput) Flush() (json.RawMessage, error) {
	if o.dirty {
		if err := o.f.Sync(); err != nil {
			return nil, fmt.Errorf("write %s: %w", o.path, reasonOf(err))
		}
		o.dirty = false
	}
	return json.Marshal(fileMark{Path: o.path, Bytes: o.size})
}

// Close closes the file.
func (o *FileOutput) Close() error { return o.f.Close() }
