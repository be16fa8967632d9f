package store

import (
	"math"
	"unsafe"

	"github.com/tidwall/btree"

	"spanbulk/internal/emulator/value"
)

// version is one immutable version of a row: what stood under a key from ts
// on. There is one for every row, so the row is kept without a capacity: that
// makes 32 bytes of 48.
type version struct {
	ts   int64
	prev *version
	data *byte
	size uint32
}

// tombstone is the size of a version that says that there is no row.
const tombstone = math.MaxUint32

// newVersion is a version that nothing came before. A nil row is a tombstone.
func newVersion(ts int64, row value.Row) *version {
	if row == nil {
		return &version{ts: ts, size: tombstone}
	}
	return &version{ts: ts, data: unsafe.SliceData(row), size: uint32(len(row))}
}

// row is the version's row, nil if it is a tombstone.
func (v *version) row() value.Row {
	switch v.size {
	case tombstone:
		return nil
	case 0:
		return value.Row{}
	}
	return unsafe.Slice(v.data, v.size)
}

// at is the row that stood at a timestamp, nil if there was none.
func (v *version) at(ts int64) value.Row {
	for ; v != nil; v = v.prev {
		if v.ts <= ts {
			return v.row()
		}
	}
	return nil
}

// entry is a key with its newest version.
type entry struct {
	key  string
	head *version
}

// tree is the storage of a table or an index. It is guarded by Store.mu; a
// copy made by snapshot is not shared and needs no guard.
type tree struct {
	rows *btree.BTreeG[entry]
	hint btree.PathHint
	// lastWrite is the timestamp of the newest version.
	lastWrite int64
	// dropped is when the table or index was dropped, 0 while it exists.
	dropped int64
}

func newTree() *tree {
	less := func(a, b entry) bool { return a.key < b.key }
	return &tree{rows: btree.NewBTreeGOptions(less, btree.Options{NoLocks: true})}
}

// asKey views a key under construction as a string, for look-ups alone.
func asKey(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// head is the newest version under a key.
func (t *tree) head(key string) *version {
	e, _ := t.rows.GetHint(entry{key: key}, &t.hint)
	return e.head
}

// live is the newest row under a key, nil if there is none.
func (t *tree) live(key string) value.Row {
	if v := t.head(key); v != nil {
		return v.row()
	}
	return nil
}

// liveIn calls yield with the newest rows of the keys in [start, end), an
// empty end being no bound, until it answers false. The tree may not change
// meanwhile.
func (t *tree) liveIn(start, end string, yield func(key string, row value.Row) bool) {
	t.rows.Ascend(entry{key: start}, func(e entry) bool {
		if end != "" && e.key >= end {
			return false
		}
		row := e.head.row()
		return row == nil || yield(e.key, row)
	})
}

// anyLive tells whether a key in [start, end) has a row.
func (t *tree) anyLive(start, end string) bool {
	found := false
	t.liveIn(start, end, func(string, value.Row) bool {
		found = true
		return false
	})
	return found
}
