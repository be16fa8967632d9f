package database

import (
	"cmp"
	"context"
	"time"
)

// renewSession makes a new session whenever the one there is has become old,
// until ctx ends. Where that fails the old one is kept, and it is tried again
// long before that is dropped.
func (c *Conn) renewSession(ctx context.Context) {
	age := cmp.Or(c.options.SessionAge, DefaultSessionAge)
	timer := time.NewTimer(age)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		session, err := c.createSession(ctx)
		if err != nil {
			c.debug("the session was not renewed", "error", err)
			timer.Reset(age / 7)
			continue
		}
		c.session.Store(&session)
		c.debug("session renewed", "session", session)
		timer.Reset(age)
	}
}

func (c *Conn) debug(message string, args ...any) {
	if c.options.Logger != nil {
		c.options.Logger.Debug(message, args...)
	}
}
