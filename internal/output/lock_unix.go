//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package output

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes an advisory lock on f, exclusive or shared, without waiting. It
// ends with f. A file system without locks, and every failure but that another
// holds one, gives neither lock nor refusal.
func tryLock(f *os.File, exclusive bool) lockState {
	how := syscall.LOCK_SH
	if exclusive {
		how = syscall.LOCK_EX
	}
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		switch {
		case err == nil:
			return locked
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return lockedByAnother
		default:
			return cannotLock
		}
	}
}
