//go:build unix

package cmd

import (
	"os"

	"golang.org/x/sys/unix"
)

// wasClosed reports whether a standard stream was closed when the program was
// started (>&-). The Go runtime has put /dev/null in its place then, open for
// reading and writing, so that no other file gets its number. What a shell opens
// for >/dev/null is open for writing only; a program that starts another with
// nothing as its stdout may do as the runtime does, and looks the same.
func wasClosed(f *os.File) bool {
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_ACCMODE != unix.O_RDWR {
		return false
	}
	is, err := f.Stat()
	if err != nil {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err == nil && os.SameFile(is, null)
}
