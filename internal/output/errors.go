package output

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"syscall"
)

var (
	// ErrExists is wrapped by the refusal to replace an earlier output.
	ErrExists = errors.New("exists already")

	// ErrReaderGone is wrapped by the error of a write to a pipe whose other
	// end is closed, as by head: nobody wants the rest.
	ErrReaderGone = errors.New("the reader of the output has closed it")
)

// noData is Windows' ERROR_NO_DATA: the pipe is being closed.
const noData = syscall.Errno(232)

func isClosedPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) ||
		runtime.GOOS == "windows" && errors.Is(err, noData)
}

// failure says what failed on the file the user knows. The errors of package
// os name the hidden file instead, so only their cause is kept; errors.Is still
// finds syscall.ENOSPC.
func failure(doing, name string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return fmt.Errorf("%s %s: %w", doing, name, err)
}
