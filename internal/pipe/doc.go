// Package pipe lets a run end although a pipe it reads, writes or opens does not
// move: one that nobody is at the other end of, or nobody does anything there.
//
// The operating system cannot be asked to break such a call off where the pipe
// was inherited, as the standard streams are. So it is made in a goroutine of its
// own and left behind there; the goroutine ends with the call, or with the
// process. Until a run is to end, nothing is given up: a slow reader slows the
// run.
//
// The package knows nothing of what goes through a pipe.
package pipe
