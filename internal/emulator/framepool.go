package emulator

import (
	"sync"
)

// Sizes of the memory that messages are built in: that of a small result, and
// that of a full message.
const (
	smallFrame = 4 << 10
	largeFrame = defaultTargetBytes + 8<<10
)

// framePool keeps the memory of messages that were sent. It is a
// mem.BufferPool. The pool of gRPC would round a full message up to a megabyte
// and clear all of it before every use.
type framePool struct {
	small, large sync.Pool
}

// Get gives memory of a length, with what it held before in it.
func (p *framePool) Get(length int) *[]byte {
	pool, size := &p.small, smallFrame
	if length > smallFrame {
		pool, size = &p.large, max(length, largeFrame)
	}
	buf, ok := pool.Get().(*[]byte)
	if !ok || cap(*buf) < length {
		return new(make([]byte, length, size))
	}
	*buf = (*buf)[:length]
	return buf
}

// Put takes memory back. What grew beyond a full message is left to the
// collector.
func (p *framePool) Put(buf *[]byte) {
	switch n := cap(*buf); {
	case n > 2*largeFrame:
	case n >= largeFrame:
		p.large.Put(buf)
	case n >= smallFrame:
		p.small.Put(buf)
	}
}
