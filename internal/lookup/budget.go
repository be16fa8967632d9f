package lookup

import "sync"

// budget bounds what is under way: the batches that are sent to a worker and
// not yet written, and the bytes they hold.
//
// How large rows are shows only when they are read. A batch begins if it fits
// with rows as large as those before. One that turns out larger may go on, and
// no other begins meanwhile; where it is far too large, the read is given up and
// the batch is read in parts when it is its turn to be written. So the bound
// holds whatever the sizes of rows and the order they come in.
type budget struct {
	maxBatches int
	batchKeys  int
	maxBytes   int64
	// changed has a token when a batch may begin that could not.
	changed chan struct{}

	mu      sync.Mutex
	batches int
	bytes   int64
	// rowBytes is about how large a row is, and known whether a read has ended.
	rowBytes int64
	known    bool
}

// firstKeys is how many keys a batch has at most while nothing is known of rows.
const firstKeys = 4

func newBudget(o *Options) *budget {
	return &budget{
		maxBatches: batchesPerWorker * o.Parallelism, batchKeys: o.BatchKeys, maxBytes: int64(o.MaxBytes),
		changed: make(chan struct{}, 1),
	}
}

// maxKeys is how many keys a batch may read, fewer where rows are large.
func (u *budget) maxKeys() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.known {
		return min(u.batchKeys, firstKeys)
	}
	return int(max(min(int64(u.batchKeys), u.maxBytes/8/max(u.rowBytes, 1)), 1))
}

// maxOut is how much of a batch's output is made before its turn.
func (u *budget) maxOut() int { return int(u.maxBytes / 4) }

// begin counts a batch as under way if it may be. The first goes alone.
func (u *budget) begin(b *batch) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	size := int64(b.rawBytes) + int64(b.reads)*u.rowBytes
	if u.batches > 0 && (!u.known || u.batches >= u.maxBatches || u.bytes+size > u.maxBytes) {
		return false
	}
	u.batches++
	u.bytes += size
	b.reserved = size
	return true
}

// grow counts what a batch has read, and reports whether it may read more.
func (u *budget) grow(b *batch) bool {
	if b.rowsRead == b.reads {
		return true // it has them all
	}
	if b.rowsRead > 1 && int64(b.rowBytes) > u.maxBytes/2 {
		return false
	}
	size := int64(b.rawBytes + b.rowBytes)
	if b.isPart || size <= b.reserved {
		return true
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.bytes += size - b.reserved
	b.reserved = size
	return u.bytes <= 2*u.maxBytes
}

// settle counts what a batch holds when its worker is done with it.
func (u *budget) settle(b *batch) {
	u.mu.Lock()
	size := b.holds()
	u.bytes += size - b.reserved
	b.reserved = size
	u.mu.Unlock()
	u.learn(b)
}

// learn takes from a read how large rows are; the average moves slowly down and
// at once up.
func (u *budget) learn(b *batch) {
	u.mu.Lock()
	u.known = true
	if b.rowsRead > 0 {
		size := int64(b.rowBytes / b.rowsRead)
		if size < u.rowBytes {
			size = u.rowBytes - (u.rowBytes-size)/8
		}
		u.rowBytes = size
	}
	u.mu.Unlock()
	u.tell()
}

// undo takes back what begin has counted.
func (u *budget) undo(b *batch) {
	u.mu.Lock()
	u.batches--
	u.bytes -= b.reserved
	u.mu.Unlock()
}

// end counts a batch as written that had so many bytes reserved.
func (u *budget) end(reserved int64) {
	u.mu.Lock()
	u.batches--
	u.bytes -= reserved
	u.mu.Unlock()
	u.tell()
}

// idle reports whether nothing is under way.
func (u *budget) idle() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.batches == 0
}

func (u *budget) tell() {
	select {
	case u.changed <- struct{}{}:
	default:
	}
}
