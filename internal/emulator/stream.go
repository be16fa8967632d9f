package emulator

import (
	"encoding/binary"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"spanbulk/internal/emulator/value"
)

// Field numbers of google.spanner.v1.PartialResultSet.
const (
	prsMetadata    = 1
	prsChunked     = 3
	prsResumeToken = 4
	prsStats       = 5
	prsLast        = 9
)

// resultStream turns rows into PartialResultSet messages, which it builds as
// bytes: a row is already in the form it has there.
type resultStream struct {
	opts Messages
	send func(*frame) error
	// token gives the resume token for the rows written so far.
	token func() []byte

	pool *framePool
	// out is the memory of the message under way, nil before there is anything
	// in it; buf is what stands in it.
	out      *[]byte
	buf      []byte
	values   int // bytes of values in buf
	rows     int // complete rows in buf
	midRow   bool
	boundary int // messages that ended on a row boundary
}

// newResultStream starts with the metadata, which goes out with the first
// message. Whoever makes the stream has to release it.
func newResultStream(opts Messages, meta *spannerpb.ResultSetMetadata, token func() []byte, pool *framePool, send func(*frame) error) (*resultStream, error) {
	w := &resultStream{opts: opts.withDefaults(), send: send, token: token, pool: pool}
	encoded, err := proto.Marshal(meta)
	if err != nil {
		return nil, err
	}
	w.room(len(encoded) + maxOverhead)
	w.buf = protowire.AppendTag(w.buf, prsMetadata, protowire.BytesType)
	w.buf = protowire.AppendBytes(w.buf, encoded)
	return w, nil
}

// maxOverhead is about what a message holds beside metadata and rows.
const maxOverhead = 256

// room gets memory for so many bytes more.
func (w *resultStream) room(n int) {
	need := len(w.buf) + n
	if w.out != nil && need <= cap(w.buf) {
		return
	}
	out := w.pool.Get(need)
	buf := append((*out)[:0], w.buf...)
	w.release()
	w.out, w.buf = out, buf
}

// release gives back the memory of a message that is not to be sent.
func (w *resultStream) release() {
	if w.out != nil {
		w.pool.Put(w.out)
		w.out, w.buf = nil, nil
	}
}

// due tells that the message under way is full.
func (w *resultStream) due() bool {
	return w.values >= w.opts.TargetBytes || w.opts.MaxRows > 0 && w.rows >= w.opts.MaxRows
}

// beginRow closes the message before if it is full. It must be called before
// the state that token reads moves on to the new row.
func (w *resultStream) beginRow() error {
	if !w.due() {
		return nil
	}
	return w.flush(false, false)
}

// row appends one row.
func (w *resultStream) row(row value.Row) error {
	if w.values+len(row) <= w.opts.MaxBytes {
		w.room(len(row) + maxOverhead)
		w.buf = append(w.buf, row...)
		w.values += len(row)
		w.rows++
		return nil
	}
	w.midRow = true
	for _, cell := range row.Cells() {
		if err := w.cell(cell); err != nil {
			return err
		}
	}
	w.midRow = false
	w.rows++
	return nil
}

// cell appends one value, in pieces if it does not fit.
func (w *resultStream) cell(wire []byte) error {
	for {
		room := w.opts.MaxBytes - w.values
		if room <= 0 {
			if err := w.flush(false, false); err != nil {
				return err
			}
			room = w.opts.MaxBytes
		}
		head, rest := value.SplitWire(wire, room)
		w.room(len(head) + maxOverhead)
		before := len(w.buf)
		w.buf = value.Row(w.buf).AppendCell(head)
		w.values += min(len(w.buf)-before, max(value.PayloadSize(head), 1))
		if rest == nil {
			return nil
		}
		if err := w.flush(true, false); err != nil {
			return err
		}
		wire = rest
	}
}

// flush sends the message under way. Tokens stand on messages that end on a
// complete row, never on a chunk and never on the last one.
func (w *resultStream) flush(chunked, last bool) error {
	w.room(maxOverhead)
	switch {
	case chunked:
		w.appendBool(prsChunked)
	case last && !w.opts.NoLast:
		w.appendBool(prsLast)
	case !last && !w.midRow:
		w.boundary++
		if w.opts.Tokens == TokensOnRows && w.boundary%max(w.opts.TokenEvery, 1) == 0 {
			w.buf = protowire.AppendTag(w.buf, prsResumeToken, protowire.BytesType)
			w.buf = protowire.AppendBytes(w.buf, w.token())
		}
	}
	*w.out = w.buf
	f := &frame{buf: w.out}
	w.out, w.buf, w.values, w.rows = nil, nil, 0, 0
	return w.send(f)
}

func (w *resultStream) appendBool(field protowire.Number) {
	w.buf = protowire.AppendTag(w.buf, field, protowire.VarintType)
	w.buf = binary.AppendUvarint(w.buf, 1)
}

// close sends the last message. stats may be nil.
func (w *resultStream) close(stats *spannerpb.ResultSetStats) error {
	if stats != nil {
		encoded, err := proto.Marshal(stats)
		if err != nil {
			return err
		}
		w.buf = protowire.AppendTag(w.buf, prsStats, protowire.BytesType)
		w.buf = protowire.AppendBytes(w.buf, encoded)
	}
	return w.flush(false, true)
}
