package writer

// lockTable lets mutations of one row go one after the other, in the order they
// came. A lock is known by its hash alone: two keys with the same hash, which
// hardly happens, wait for each other without harm.
//
// A mutation asks for all of its locks at once, when it comes; where one is
// taken it queues and keeps those it got. As all queues are in the order of the
// input, the first undecided mutation of all waits for nobody, so none waits for
// ever.
type lockTable struct {
	held   heldLocks
	queues map[uint64][]waiting
	gates  map[*Table]*gate // by root

	// Most records are of the table of the one before.
	lastTable *Table
	lastGate  *gate
}

const exclusively = -1

// waiting is a mutation in the queue of a lock.
type waiting struct {
	e      *entry
	shared bool
}

// gate is the lock of a whole hierarchy of tables. Every mutation shares it but
// those whose rows cannot be told.
type gate struct {
	holders int // or exclusively
	queue   []waiting
}

func newLockTable() *lockTable {
	return &lockTable{held: newHeldLocks(), queues: map[uint64][]waiting{}, gates: map[*Table]*gate{}}
}

// acquire asks for the locks of e and reports whether it has them all. If not,
// a later release grants the rest.
func (l *lockTable) acquire(e *entry) bool {
	if !l.gate(e.table).acquire(e) {
		e.waits++
	}
	if e.wide {
		return e.waits == 0
	}
	for _, k := range e.ancestorKeys() {
		if !l.lock(k, e, true) {
			e.waits++
		}
	}
	if e.exact && !l.lock(e.key, e, false) {
		e.waits++
	}
	return e.waits == 0
}

// release gives back the locks of e, which had them all, and calls granted for
// every mutation that now has all of its own.
func (l *lockTable) release(e *entry, granted func(*entry)) {
	l.gate(e.table).release(e.wide, granted)
	if e.wide {
		return
	}
	for _, k := range e.ancestorKeys() {
		l.unlock(k, granted)
	}
	if e.exact {
		l.unlock(e.key, granted)
	}
}

func (l *lockTable) gate(t *Table) *gate {
	if t == l.lastTable {
		return l.lastGate
	}
	root := t.root()
	g := l.gates[root]
	if g == nil {
		g = new(gate)
		l.gates[root] = g
	}
	l.lastTable, l.lastGate = t, g
	return g
}

func (l *lockTable) lock(key uint64, e *entry, shared bool) bool {
	i := l.held.at(key)
	switch holders := &l.held.slots[i].holders; {
	case *holders == 0 && shared:
		l.held.take(i, key, 1)
		return true
	case *holders == 0:
		l.held.take(i, key, exclusively)
		return true
	case shared && *holders > 0 && (len(l.queues) == 0 || len(l.queues[key]) == 0):
		*holders++
		return true
	}
	l.queues[key] = append(l.queues[key], waiting{e, shared})
	return false
}

func (l *lockTable) unlock(key uint64, granted func(*entry)) {
	i := l.held.at(key)
	holders := &l.held.slots[i].holders
	if *holders > 1 {
		*holders--
		return
	}
	if len(l.queues) == 0 || len(l.queues[key]) == 0 {
		l.held.drop(i)
		return
	}
	queue := l.queues[key]
	n := next(queue)
	*holders = exclusively
	if queue[0].shared {
		*holders = int32(n)
	}
	if n == len(queue) {
		delete(l.queues, key)
	} else {
		l.queues[key] = queue[n:]
	}
	grant(queue[:n], granted)
}

// next is how many of a queue get the lock at once: one, or all that share it up
// to the first that does not.
func next(queue []waiting) int {
	n := 1
	for queue[0].shared && n < len(queue) && queue[n].shared {
		n++
	}
	return n
}

func grant(queue []waiting, granted func(*entry)) {
	for _, w := range queue {
		w.e.waits--
		if w.e.waits == 0 {
			granted(w.e)
		}
	}
}

func (g *gate) acquire(e *entry) bool {
	free := len(g.queue) == 0 && (g.holders == 0 || g.holders > 0 && !e.wide)
	if !free {
		g.queue = append(g.queue, waiting{e, !e.wide})
		return false
	}
	if e.wide {
		g.holders = exclusively
	} else {
		g.holders++
	}
	return true
}

func (g *gate) release(wide bool, granted func(*entry)) {
	if wide {
		g.holders = 0
	} else {
		g.holders--
	}
	if g.holders > 0 || len(g.queue) == 0 {
		return
	}
	queue := g.queue
	n := next(queue)
	g.holders = n
	if !queue[0].shared {
		g.holders = exclusively
	}
	g.queue = queue[n:]
	grant(queue[:n], granted)
}
