package emulator

import (
	"context"
	"iter"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/relation"
	"spanbulk/internal/emulator/store"
	"spanbulk/internal/emulator/value"
)

// StreamingRead reads rows by key.
func (s *Server) StreamingRead(req *spannerpb.ReadRequest, stream spannerpb.Spanner_StreamingReadServer) error {
	r, err := s.read(stream.Context(), req)
	if err != nil {
		return err
	}
	return s.stream(r, stream)
}

// Read is StreamingRead with one answer.
func (s *Server) Read(ctx context.Context, req *spannerpb.ReadRequest) (*spannerpb.ResultSet, error) {
	r, err := s.read(ctx, req)
	if err != nil {
		return nil, err
	}
	return collect(r)
}

func (s *Server) read(ctx context.Context, req *spannerpb.ReadRequest) (*result, error) {
	db, session, err := s.session(req.GetSession())
	if err != nil {
		return nil, err
	}
	if err := checkRead(req); err != nil {
		return nil, err
	}
	print := func(partition []byte) uint64 {
		return readFingerprint(req.GetTable(), req.GetIndex(), req.GetColumns(), req.GetKeySet(), req.GetLimit(), partition)
	}
	o, err := s.open(ctx, db, session.GetName(), req, print)
	if err != nil {
		return nil, err
	}
	target, err := newReadTarget(o.snapshot.Schema(), req.GetTable(), req.GetIndex(), req.GetColumns(), req.GetKeySet())
	if err != nil {
		return nil, err
	}
	if o.partition != nil {
		target.restrict(o.partition)
	}
	o.remember(target.scan)
	return target.run(ctx, o, req.GetLimit()), nil
}

// checkRead refuses what no read may say.
func checkRead(req *spannerpb.ReadRequest) error {
	switch {
	case req.GetTable() == "":
		return status.Error(codes.InvalidArgument, "No value provided for required field: ReadRequest.table")
	case req.GetKeySet() == nil:
		return status.Error(codes.InvalidArgument, "No value provided for required field: ReadRequest.key_set")
	case req.GetLimit() < 0:
		return status.Error(codes.InvalidArgument, "Limit must be non-negative.")
	case len(req.GetPartitionToken()) > 0 && req.GetLimit() > 0:
		return status.Error(codes.InvalidArgument, "A partitioned read may not specify a limit.")
	case req.GetDataBoostEnabled() && len(req.GetPartitionToken()) == 0:
		return status.Error(codes.InvalidArgument, "Data Boost is only allowed for requests with a partition token.")
	}
	return nil
}

func readFingerprint(table, index string, columns []string, keys *spannerpb.KeySet, limit int64, partition []byte) uint64 {
	return fingerprint(&spannerpb.ReadRequest{Table: table, Index: index, Columns: columns, KeySet: keys, Limit: limit, PartitionToken: partition})
}

// readTarget is what a read reads: rows of a table or index, and cells of them.
type readTarget struct {
	scan   relation.Scan
	fields []value.Field
	// cells are the positions in a stored row.
	cells []int
	// width is the number of cells of a stored row if the read wants them all in
	// order, so that whole rows can be copied; otherwise -1.
	width int
}

func newReadTarget(schema *catalog.Schema, table, index string, columns []string, keys *spannerpb.KeySet) (*readTarget, error) {
	t, ok := schema.Table(table)
	if !ok {
		return nil, status.Errorf(codes.NotFound, "Table not found: %s", table)
	}
	r := &readTarget{scan: relation.Scan{Table: t}, width: t.Slots}
	if index != "" {
		if err := r.useIndex(schema, index); err != nil {
			return nil, err
		}
	}
	for i, name := range columns {
		cell, c, err := r.cell(name)
		if err != nil {
			return nil, err
		}
		r.fields = append(r.fields, value.Field{Name: c.Name, Type: c.Type})
		r.cells = append(r.cells, cell)
		if cell != i {
			r.width = -1
		}
	}
	if len(r.cells) != r.width {
		r.width = -1
	}
	var err error
	r.scan.Ranges, err = store.KeyRanges(t, r.scan.Index, keys)
	return r, err
}

func (r *readTarget) useIndex(schema *catalog.Schema, index string) error {
	t := r.scan.Table
	x, ok := t.Index(index)
	if ok && !x.Managed {
		r.scan.Index = x
		r.width = len(x.EntryColumns())
		return nil
	}
	if other, _, exists := schema.Index(index); exists && other != t {
		return status.Errorf(codes.FailedPrecondition, "Index '%s' is an index of table '%s', not of '%s'.", index, other.Name, t.Name)
	}
	return status.Errorf(codes.NotFound, "No index '%s' was found for table '%s'.", index, t.Name)
}

// cell is where a column stands in a stored row.
func (r *readTarget) cell(name string) (int, *catalog.Column, error) {
	c, ok := r.scan.Table.Column(name)
	if !ok {
		return 0, nil, status.Errorf(codes.NotFound, "Column not found in table %s: %s", r.scan.Table.Name, name)
	}
	if c.Type.Code == value.TokenListCode {
		return 0, nil, status.Errorf(codes.InvalidArgument, "Column %s of table %s is a TOKENLIST, which cannot be read.", c.Name, r.scan.Table.Name)
	}
	if r.scan.Index == nil {
		return c.Slot, c, nil
	}
	for i, n := range r.scan.Index.EntryColumns() {
		if n == c.Ordinal {
			return i, c, nil
		}
	}
	return 0, nil, status.Errorf(codes.Unimplemented, "Reading non-indexed columns using an index is not supported. Consider adding %s to the index using a STORING clause.", c.Name)
}

// restrict confines the read to a partition.
func (r *readTarget) restrict(p *partitionToken) {
	if p.Empty {
		r.scan.Ranges = []relation.KeyRange{}
		return
	}
	r.scan.Ranges = store.Intersect(r.scan.Ranges, p.bound())
}

func (r *readTarget) run(ctx context.Context, o *opened, limit int64) *result {
	at := o.resume
	return &result{
		meta:    &spannerpb.ResultSetMetadata{RowType: value.StructProto(r.fields), Transaction: o.meta},
		rows:    r.rows(ctx, o.view, &at, limit),
		at:      &at,
		request: o.request,
	}
}

// rows gives the wanted cells of the rows after at, and moves at along.
func (r *readTarget) rows(ctx context.Context, v *view, at *position, limit int64) iter.Seq2[value.Row, error] {
	scan := r.scan
	if at.key != "" || at.rows > 0 {
		scan.Ranges = store.Intersect(scan.Ranges, relation.KeyRange{Start: []byte(at.key + "\x00")})
	}
	return func(yield func(value.Row, error) bool) {
		var out value.Row
		var cells [][]byte
		if limit > 0 && at.rows >= limit {
			return
		}
		for e, err := range v.snapshot.Entries(ctx, scan) {
			if err != nil {
				yield(nil, err)
				return
			}
			row := e.Row
			if r.width < 0 || row.Len() != r.width {
				cells = row.Split(cells[:0])
				out = r.project(out[:0], cells)
				row = out
			}
			at.rows++
			at.key = e.Key
			if !yield(row, nil) || at.rows == limit {
				return
			}
		}
	}
}

func (r *readTarget) project(dst value.Row, cells [][]byte) value.Row {
	for _, i := range r.cells {
		if i < len(cells) {
			dst = dst.AppendCell(cells[i])
			continue
		}
		// The row is from before the column was added.
		dst = dst.AppendNull()
	}
	return dst
}
