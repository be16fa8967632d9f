package cmd

import (
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// gcPercent is how much garbage may pile up for each live byte. Bulk work keeps
// little alive (buffers, reused) and makes garbage only at the edges, so a rare
// collection costs little memory and saves a fifth of the processor time.
const gcPercent = 400

// tuneMemory lets the collector run rarely as long as memory is plenty, and
// often when the heap nears half of what the process may use. Whoever sets GOGC
// or GOMEMLIMIT has decided for himself.
func tuneMemory(lookup func(string) (string, bool)) {
	if _, set := lookup("GOGC"); !set {
		debug.SetGCPercent(gcPercent)
	}
	if _, set := lookup("GOMEMLIMIT"); set {
		return
	}
	if available := availableMemory(os.ReadFile); available != math.MaxInt64 {
		debug.SetMemoryLimit(available / 2)
	}
}

// largeChunk is the size from which a chunk is of few rows, large ones.
const largeChunk = 4 << 20

// collectOften lets no more garbage pile up than is alive: that of buffers which
// are too large to be kept is too much to wait for, and cheap to collect.
func (a *app) collectOften() {
	a.collecting.Do(func() {
		if _, set := a.streams.LookupEnv("GOGC"); !set {
			debug.SetGCPercent(100)
		}
	})
}

// smallHeap is what bulk work on records of ordinary size does with.
const smallHeap = 128 << 20

// hugeRecord is the size of a record from which its garbage is collected at once.
const hugeRecord = 16 << 20

// boundHeap lets garbage be collected before it comes to more than smallHeap, or
// to more than work needs that bounds itself to held bytes and has records of n
// bytes. The collections are cheap, as there is little to look through: buffers
// that are too large to be kept.
func (a *app) boundHeap(held int64, n int) {
	a.bounding.Lock()
	defer a.bounding.Unlock()
	if a.heapLimit == 0 {
		a.mostHeap = debug.SetMemoryLimit(-1)
	}
	limit := min(max(smallHeap, 3*held+4*int64(n)), a.mostHeap)
	if _, set := a.streams.LookupEnv("GOMEMLIMIT"); set || limit <= a.heapLimit {
		return
	}
	a.heapLimit = limit
	debug.SetMemoryLimit(limit)
}

// availableMemory returns the bytes the process may use: the limit of its
// control group or the memory of the machine, whichever is less. Where neither
// can be read (systems other than Linux) it is math.MaxInt64.
func availableMemory(read func(string) ([]byte, error)) int64 {
	available := int64(math.MaxInt64)
	for _, path := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if raw, err := read(path); err == nil {
			if n, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64); err == nil && n > 0 {
				available = min(available, n)
			}
		}
	}
	if raw, err := read("/proc/meminfo"); err == nil {
		_, rest, _ := strings.Cut(string(raw), "MemTotal:")
		fields := strings.Fields(rest)
		if len(fields) > 0 {
			if kib, err := strconv.ParseInt(fields[0], 10, 64); err == nil && kib > 0 {
				available = min(available, kib*1024)
			}
		}
	}
	return available
}
