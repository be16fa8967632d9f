package cmd

import (
	"log/slog"
	"sync"
	"time"

	"spanbulk/internal/wire"
)

// app is one run of the program: what its commands share.
type app struct {
	streams Streams
	console *console // Streams.Err, shared with a progress bar
	log     *slog.Logger
	now     func() time.Time
	// retry says when broken streams are opened again; zero is as Google's own
	// clients do.
	retry wire.Retry
	// retries tells of calls that are made again.
	retries retryLog

	collecting          sync.Once  // see collectOften
	bounding            sync.Mutex // of the two below
	heapLimit, mostHeap int64      // see boundHeap; 0 before it is called

	global globalOptions
	// from says where the value of a flag came from, by the flag's name.
	from map[string]origin
	// running is set once flags, environment and config are settled and valid:
	// an error before that is wrong usage.
	running bool
}

func newApp(s Streams) *app {
	c := &console{w: s.Err}
	return &app{
		streams: s,
		console: c,
		log:     slog.New(slog.NewTextHandler(c, nil)),
		now:     time.Now,
		from:    map[string]origin{},
	}
}

// given reports whether the user set the flag called name, in whatever way.
func (a *app) given(name string) bool { return a.from[name] != originDefault }
