package emulator

import (
	"context"
	"net"
	"sync"

	"google.golang.org/grpc/peer"
)

// connections are the open connections by their remote address, so that a
// fault can close the one that a call came over.
type connections struct {
	mu     sync.Mutex
	byAddr map[string]net.Conn
}

// listener notes the connections that it accepts.
type listener struct {
	net.Listener
	conns *connections
}

// Accept waits for the next connection.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.conns.mu.Lock()
	defer l.conns.mu.Unlock()
	l.conns.byAddr[c.RemoteAddr().String()] = c
	return &connection{Conn: c, conns: l.conns}, nil
}

// connection forgets itself when it is closed.
type connection struct {
	net.Conn
	conns *connections
}

// Close closes the connection.
func (c *connection) Close() error {
	c.conns.mu.Lock()
	defer c.conns.mu.Unlock()
	if addr := c.RemoteAddr().String(); c.conns.byAddr[addr] == c.Conn {
		delete(c.conns.byAddr, addr)
	}
	return c.Conn.Close()
}

// closeOf closes the connection of a call. Every other call on it breaks off,
// too.
func (c *connections) closeOf(ctx context.Context) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return
	}
	c.mu.Lock()
	conn := c.byAddr[p.Addr.String()]
	c.mu.Unlock()
	if conn != nil {
		// The transport notices and cleans up; an error means it is closed already.
		_ = conn.Close()
	}
}
