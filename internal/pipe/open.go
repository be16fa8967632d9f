package pipe

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// Open is os.OpenFile, but where path is a named pipe that nobody has opened at
// its other end, the end of ctx ends the wait; the error is then its cause. A pipe
// that is read already can be opened for writing after that, too.
func Open(ctx context.Context, path string, flag int, perm fs.FileMode) (*os.File, error) {
	if info, err := os.Stat(path); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		return os.OpenFile(path, flag, perm)
	}
	if ctx.Err() != nil && flag&os.O_WRONLY != 0 {
		f, err := os.OpenFile(path, flag|syscall.O_NONBLOCK, perm)
		if errors.Is(err, syscall.ENXIO) { // nobody reads it
			err = context.Cause(ctx)
		}
		return f, err
	}
	opened, released := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(released)
		release(path, flag, opened)
	})
	f, err := os.OpenFile(path, flag, perm)
	close(opened)
	if stop() {
		return f, err
	}
	<-released
	if err == nil {
		err = f.Close()
	}
	return nil, errors.Join(context.Cause(ctx), err)
}

// releaseEvery is how often release tries: whoever opens may not be waiting yet.
const releaseEvery = 5 * time.Millisecond

// release opens the other end of a named pipe until whoever waits for that has
// opened theirs with flag.
func release(path string, flag int, opened <-chan struct{}) {
	other := os.O_WRONLY
	if flag&os.O_WRONLY != 0 {
		other = os.O_RDONLY
	}
	for {
		end, err := os.OpenFile(path, other|syscall.O_NONBLOCK, 0)
		select {
		case <-opened:
		case <-time.After(releaseEvery):
		}
		if err == nil {
			_ = end.Close()
		}
		select {
		case <-opened:
			return
		default:
		}
	}
}

// Patience is how long a write to a pipe may take once the run is to end: the
// reader may be slow.
const Patience = 5 * time.Second

// File is a pipe or device that is open for writing.
type File struct {
	*Writer
	f    *os.File
	stop func() bool
}

// OpenWriter opens a pipe or a device for writing, as Open does. From ctx's end on
// a write is given up after Patience, and with it all that follow.
func OpenWriter(ctx context.Context, path string) (*File, error) {
	f, err := Open(ctx, path, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	w := NewWriter(f, Patience)
	return &File{w, f, context.AfterFunc(ctx, w.Hurry)}, nil
}

// Close closes the file.
func (f *File) Close() error {
	f.stop()
	return f.f.Close()
}
