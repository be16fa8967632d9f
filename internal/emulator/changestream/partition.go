package changestream

import (
	"crypto/rand"
	"encoding/base64"
	"sort"

	"spanbulk/internal/emulator/value"
)

// partition owns the keys in [lo, hi) from start until end.
type partition struct {
	token string
	// hi "" is no bound.
	lo, hi string
	start  int64
	// end is 0 while the partition is active.
	end               int64
	parents, children []string
	records           recordLog
	// open is the record that mods of the transaction under way may join.
	open *record
	// wake is closed when something comes that readers wait for; nil while none
	// waits.
	wake chan struct{}
	// recent are keys written lately, in a ring; a split goes through their
	// middle, as Spanner splits by load.
	recent [32]string
	writes int
}

// newPartition makes a partition that begins at ts.
func (s *Stream) newPartition(lo, hi string, ts int64, parents []string) *partition {
	p := &partition{token: newToken(), lo: lo, hi: hi, start: ts, parents: parents}
	s.all = append(s.all, p)
	s.byToken[p.token] = p
	return p
}

// newToken makes a token: opaque text of about the length of Spanner's.
func newToken() string {
	var b [66]byte
	// Never fails.
	_, _ = rand.Read(b[:])
	b[0], b[1] = 0xff, 0xff
	return base64.RawURLEncoding.EncodeToString(b[:])
}

func (p *partition) append(e entry) {
	p.records.append(e)
	p.wakeReaders()
}

func (p *partition) wakeReaders() {
	if p.wake != nil {
		close(p.wake)
		p.wake = nil
	}
}

// waiter is closed at the next append.
func (p *partition) waiter() <-chan struct{} {
	if p.wake == nil {
		p.wake = make(chan struct{})
	}
	return p.wake
}

func (p *partition) wrote(key string) {
	p.recent[p.writes%len(p.recent)] = key
	p.writes++
}

// middle is a key within the partition that divides what was written lately,
// or, if that is nothing, the range.
func (p *partition) middle() (string, bool) {
	keys := append([]string(nil), p.recent[:min(p.writes, len(p.recent))]...)
	sort.Strings(keys)
	for i := len(keys) / 2; i < len(keys); i++ {
		if p.divides(keys[i]) {
			return keys[i], true
		}
	}
	key := between(p.lo, p.hi)
	return key, p.divides(key)
}

func (p *partition) divides(key string) bool {
	return key > p.lo && (p.hi == "" || key < p.hi)
}

// between is a key halfway from lo to hi, hi "" being the end of all keys; hi
// itself if there is none between.
func between(lo, hi string) string {
	var out []byte
	bounded := hi != ""
	for i := 0; ; i++ {
		a, b := 0, 256
		if i < len(lo) {
			a = int(lo[i])
		}
		if bounded {
			if i == len(hi) {
				return hi
			}
			b = int(hi[i])
		}
		if b-a > 1 {
			return string(append(out, byte(a+(b-a)/2)))
		}
		out = append(out, byte(a))
		bounded = bounded && a == b
	}
}

// entry is one record in a partition.
type entry struct {
	ts int64
	// final marks the record that ends the partition.
	final bool
	row   value.Row
}

// recordLog is an append-only list of entries in order of time, which can be
// cut off at its beginning. Entries keep their numbers.
type recordLog struct {
	chunks [][]entry
	// first is the number of the first entry in chunks.
	first uint64
}

const chunkEntries = 512

func (l *recordLog) append(e entry) {
	n := len(l.chunks)
	if n == 0 || len(l.chunks[n-1]) == chunkEntries {
		// The first chunk of a partition grows by need; most have few records.
		size := 0
		if n > 0 {
			size = chunkEntries
		}
		l.chunks = append(l.chunks, make([]entry, 0, size))
		n++
	}
	l.chunks[n-1] = append(l.chunks[n-1], e)
}

// end is the number of the next entry.
func (l *recordLog) end() uint64 {
	n := len(l.chunks)
	if n == 0 {
		return l.first
	}
	return l.first + uint64((n-1)*chunkEntries+len(l.chunks[n-1]))
}

func (l *recordLog) at(i uint64) entry {
	i -= l.first
	return l.chunks[i/chunkEntries][i%chunkEntries]
}

// seek is the number of the first entry at or after ts.
func (l *recordLog) seek(ts int64) uint64 {
	n := int(l.end() - l.first)
	return l.first + uint64(sort.Search(n, func(i int) bool { return l.at(l.first+uint64(i)).ts >= ts }))
}

// prune drops whole chunks before ts.
func (l *recordLog) prune(ts int64) {
	for len(l.chunks) > 0 {
		c := l.chunks[0]
		if c[len(c)-1].ts >= ts {
			return
		}
		if len(c) < chunkEntries {
			// The last chunk, whose numbers must not be given again.
			l.first += uint64(len(c))
			l.chunks = nil
			return
		}
		l.chunks[0] = nil
		l.chunks = l.chunks[1:]
		l.first += chunkEntries
	}
}
