//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package output

import "os"

// tryLock does nothing where there is no flock.
func tryLock(*os.File, bool) lockState { return cannotLock }
