package writer

// heldLocks says of every lock that is taken how many share it. Its keys are
// hashes already, so that the lowest bits tell the slot, or the first free one
// behind it; at most half of the slots are taken. Taking and giving back a lock
// are most of what Run's goroutine does for a record, and a map hashes anew and
// touches more memory.
type heldLocks struct {
	slots []heldLock // a power of two of them
	taken int
}

// heldLock is a slot, free if holders is 0.
type heldLock struct {
	key     uint64
	holders int32 // that share the lock, or exclusively
}

func newHeldLocks() heldLocks { return heldLocks{slots: make([]heldLock, 1<<10)} }

// at returns where the lock is, or the free slot for it. It stands until the next
// call of any method.
func (h *heldLocks) at(key uint64) (i int) {
	mask := len(h.slots) - 1
	for i = int(key) & mask; h.slots[i].holders != 0 && h.slots[i].key != key; {
		i = (i + 1) & mask
	}
	return i
}

// take puts a lock in the free slot that at returned.
func (h *heldLocks) take(i int, key uint64, holders int32) {
	if h.taken*2 == len(h.slots) {
		old := h.slots
		h.slots = make([]heldLock, 2*len(old))
		for _, l := range old {
			if l.holders != 0 {
				h.slots[h.at(l.key)] = l
			}
		}
		i = h.at(key)
	}
	h.slots[i] = heldLock{key, holders}
	h.taken++
}

// drop frees the slot of a lock. Those behind it that are not where their keys
// say move up, so that they are found without it.
func (h *heldLocks) drop(i int) {
	mask := len(h.slots) - 1
	for j := (i + 1) & mask; h.slots[j].holders != 0; j = (j + 1) & mask {
		if home := int(h.slots[j].key) & mask; (j-home)&mask >= (j-i)&mask {
			h.slots[i], i = h.slots[j], j
		}
	}
	h.slots[i] = heldLock{}
	h.taken--
}
