package cmd

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"google.golang.org/grpc/codes"

	"spanbulk/internal/fault"
	"spanbulk/internal/pipe"
	"spanbulk/internal/writer"
)

// refuser makes what handles refused records, and what closes it.
func (x *importer) refuser(ctx context.Context) (writer.Refuser, func() error, error) {
	none := func() error { return nil }
	switch o := x.plan.options; o.failure.onFailure {
	case "drop":
		return x.dropper(), none, nil
	case "dead-letter":
		if o.dryRun {
			_, err := usableDeadLetter(o.failure.deadLetter)
			return x.dropper(), none, err
		}
		f, err := openDeadLetter(ctx, o.failure.deadLetter)
		if err != nil {
			return nil, none, err
		}
		return writer.DeadLetters(o.failure.deadLetter, f, f.sync), f.close, nil
	default:
		return writer.Fail(), none, nil
	}
}

func (x *importer) dropper() writer.Refuser { return writer.Drop(x.app.log, x.app.showValues()) }

// deadLetterFile is the file of --dead-letter. One that was made here goes again
// if nothing came into it, so that the same command can be run again.
type deadLetterFile struct {
	*os.File
	w             io.Writer   // to the file; what gives up, if it is a pipe
	stop          func() bool // ends the hurry of w at the end of the run; nil if regular
	regular, made bool
	written       int64
}

// usableDeadLetter refuses a file with something in it: refused records, which
// may be nowhere else. A pipe or device has nothing in it. info is nil if there
// is no file yet.
func usableDeadLetter(path string) (info fs.FileInfo, err error) {
	info, err = os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fault.New(codes.Unknown, "write", path, configReason(err).Error())
	case info.IsDir():
		return nil, fault.New(codes.InvalidArgument, "write", path, "it is a directory").WithHint("name a file")
	case info.Mode().IsRegular() && info.Size() > 0:
		return nil, fault.New(codes.AlreadyExists, "write", path, "the file exists, and refused records may be in it").
			WithHint("give another --dead-letter, or remove it")
	}
	return info, nil
}

func openDeadLetter(ctx context.Context, path string) (*deadLetterFile, error) {
	info, err := usableDeadLetter(path)
	if err != nil {
		return nil, err
	}
	made, flags := info == nil, os.O_WRONLY|os.O_APPEND
	if made {
		flags |= os.O_CREATE | os.O_EXCL
	}
	f, err := pipe.Open(ctx, path, flags, 0o600) // it holds values of records
	if err != nil {
		return nil, fault.New(codes.Unknown, "write", path, configReason(err).Error())
	}
	letters := &deadLetterFile{File: f, w: f, made: made, regular: made || info.Mode().IsRegular()}
	if !letters.regular { // a slow disk takes its time: a letter is not torn for the sake of a second
		w := pipe.NewWriter(f, time.Second)
		letters.w, letters.stop = w, context.AfterFunc(ctx, w.Hurry)
	}
	return letters, nil
}

func (f *deadLetterFile) Write(p []byte) (int, error) {
	n, err := f.w.Write(p)
	f.written += int64(n)
	return n, err
}

func (f *deadLetterFile) sync() error {
	if !f.regular {
		return nil
	}
	return f.Sync()
}

func (f *deadLetterFile) close() error {
	if f.stop != nil {
		f.stop()
	}
	err := f.Close()
	if f.made && f.written == 0 {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
