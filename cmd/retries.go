package cmd

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// retryLog tells of calls that are made again: the first attempts, which a busy
// service makes necessary all the time, only to those who look closely; further
// ones as warnings, so that a command that waits for a server does not look like
// one that works. Many goroutines meet the same outage, so a warning comes at
// most every ten seconds.
type retryLog struct {
	mu     sync.Mutex
	warned time.Time
}

const (
	patientAttempts  = 3
	warningsInterval = 10 * time.Second
)

func (l *retryLog) log(a *app, attempt int, message string, attrs ...any) {
	level := slog.LevelDebug
	if attempt > patientAttempts && l.due(a.now()) {
		level = slog.LevelWarn
	}
	a.log.Log(context.Background(), level, message, attrs...)
}

func (l *retryLog) due(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.warned) < warningsInterval {
		return false
	}
	l.warned = now
	return true
}
