package cmd

import (
	"io"
	"sync"
)

// console is stderr, shared by log lines and a progress bar: a line is never
// written into a bar that is showing. Write errors are not reported: there is
// nowhere left to report them to.
type console struct {
	mu sync.Mutex
	w  io.Writer
	// clear takes the bar off the line it is on; nil when none is showing.
	clear func()
}

// Write writes p, which is whole lines, with the bar out of the way.
func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.clear != nil {
		c.clear()
	}
	return c.w.Write(p)
}

// draw runs f, which writes a bar to w, without a line coming between.
func (c *console) draw(f func(w io.Writer)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(c.w)
}
