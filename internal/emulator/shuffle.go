package emulator

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

// shuffle splits, merges and moves partitions of change streams at random until
// stop is closed. With the same seed, and as long as streams and writes are the
// same, it makes the same choices.
func (s *Server) shuffle(stop <-chan struct{}) {
	seed := s.opts.ChangeStreams.Seed
	if seed == 0 {
		seed = rand.Uint64()
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	tick := time.NewTicker(s.opts.ChangeStreams.ShuffleEvery)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		for _, db := range s.databasesInOrder() {
			for _, stream := range db.store.Changes().Streams() {
				// A stream dropped meanwhile, or a key range too narrow for the
				// change, is none the worse.
				_ = stream.Shuffle(rng)
			}
		}
	}
}

func (s *Server) databasesInOrder() []*database {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*database
	for _, name := range slices.Sorted(maps.Keys(s.databases)) {
		out = append(out, s.databases[name])
	}
	return out
}
