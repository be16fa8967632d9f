package store

import (
	"context"
	"iter"
	"time"

	"github.com/tidwall/btree"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/relation"
	"spanbulk/internal/emulator/value"
)

// Snapshot is a database as of one timestamp. It holds no resources.
type Snapshot struct {
	store  *Store
	ts     int64
	at     time.Time
	schema *catalog.Schema
}

// Schema is the schema at the snapshot's timestamp.
func (n *Snapshot) Schema() *catalog.Schema { return n.schema }

// Timestamp is what the snapshot is read at.
func (n *Snapshot) Timestamp() time.Time { return n.at }

// Entry is a row with its encoded key.
type Entry struct {
	Key string
	Row value.Row
}

// Entries gives the rows that a scan names with their keys, in key order; only
// s.Table's or s.Index's storage, s.Ranges as relation.Scan says. Both parts
// of an Entry stay valid.
func (n *Snapshot) Entries(ctx context.Context, s relation.Scan) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		rows, err := n.open(s)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		ranges := s.Ranges
		if ranges == nil {
			ranges = []relation.KeyRange{{}}
		}
		for _, r := range ranges {
			if !n.scanRange(ctx, rows, r, yield) {
				return
			}
		}
	}
}

// Scan is Entries without the keys.
func (n *Snapshot) Scan(ctx context.Context, s relation.Scan) iter.Seq2[value.Row, error] {
	return func(yield func(value.Row, error) bool) {
		for e, err := range n.Entries(ctx, s) {
			if !yield(e.Row, err) {
				return
			}
		}
	}
}

// open takes a private copy of the tree. Copy is constant work: the trees
// share nodes until one of them writes.
func (n *Snapshot) open(s relation.Scan) (*btree.BTreeG[entry], error) {
	id := s.Table.ID
	if s.Index != nil {
		id = s.Index.ID
	}
	n.store.mu.Lock()
	defer n.store.mu.Unlock()
	if err := n.store.readable(n.ts); err != nil {
		return nil, err
	}
	t, ok := n.store.trees[id]
	if !ok {
		return nil, status.Errorf(codes.NotFound, "Table not found: %s", s.Table.Name)
	}
	return t.rows.Copy(), nil
}

// ctxEvery is how many rows pass between looks at the context.
const ctxEvery = 1024

func (n *Snapshot) scanRange(ctx context.Context, rows *btree.BTreeG[entry], r relation.KeyRange, yield func(Entry, error) bool) bool {
	more, count := true, 0
	end := string(r.End)
	rows.Ascend(entry{key: asKey(r.Start)}, func(e entry) bool {
		if end != "" && e.key >= end {
			return false
		}
		if count++; count%ctxEvery == 0 && ctx.Err() != nil {
			more = false
			yield(Entry{}, status.FromContextError(ctx.Err()).Err())
			return false
		}
		row := e.head.at(n.ts)
		if row == nil {
			return true
		}
		more = yield(Entry{e.key, row}, nil)
		return more
	})
	return more
}

// Size is about how many bytes the rows of a table or index take: their number
// times the size of some of them.
func (n *Snapshot) Size(s relation.Scan) (int64, error) {
	rows, err := n.open(s)
	if err != nil {
		return 0, err
	}
	const samples = 64
	count, bytes := 0, 0
	for i := range min(samples, rows.Len()) {
		if e, ok := rows.GetAt(rows.Len() * i / samples); ok {
			count++
			bytes += len(e.key) + len(e.head.at(n.ts))
		}
	}
	if count == 0 {
		return 0, nil
	}
	return int64(rows.Len()) * int64(bytes) / int64(count), nil
}

// Split gives up to n-1 keys, in order, that cut the rows of a scan without
// ranges into parts of about the same size.
func (n *Snapshot) Split(s relation.Scan, parts int) ([][]byte, error) {
	rows, err := n.open(s)
	if err != nil {
		return nil, err
	}
	var cuts [][]byte
	for i := 1; i < parts; i++ {
		at := rows.Len() * i / parts
		e, ok := rows.GetAt(at)
		if !ok || at == 0 || len(cuts) > 0 && string(cuts[len(cuts)-1]) == e.key {
			continue
		}
		cuts = append(cuts, []byte(e.key))
	}
	return cuts, nil
}
