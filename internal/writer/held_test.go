package writer

import (
	"maps"
	"testing"

	"spanbulk/internal/randtest"
)

// TestHeldLocks holds the table against a map. Keys are few and their low bits
// fewer, so that slots are fought over.
func TestHeldLocks(t *testing.T) {
	rng := randtest.New(t)
	for range randtest.Rounds(20) {
		table, model := newHeldLocks(), map[uint64]int32{}
		spread := uint64(1 + rng.IntN(60))
		for step := range 20_000 {
			key := rng.Uint64N(spread)<<40 | rng.Uint64N(spread)*37
			i := table.at(key)
			holders, taken := model[key]
			if table.slots[i].holders != holders {
				t.Fatalf("step %d: key %x has %d holders, want %d", step, key, table.slots[i].holders, holders)
			}
			switch {
			case !taken:
				model[key] = 1 + int32(rng.IntN(3))
				table.take(i, key, model[key])
			case rng.IntN(2) == 0:
				table.drop(i)
				delete(model, key)
			}
			if table.taken != len(model) || 2*table.taken > len(table.slots) {
				t.Fatalf("step %d: %d taken of %d slots, want %d", step, table.taken, len(table.slots), len(model))
			}
		}
		for key := range maps.Keys(model) {
			if i := table.at(key); table.slots[i] != (heldLock{key, model[key]}) {
				t.Errorf("key %x is %v, want %d holders", key, table.slots[i], model[key])
			}
		}
	}
}
