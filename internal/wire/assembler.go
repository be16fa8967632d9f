package wire

import (
	"errors"
	"fmt"
)

// ErrMidRow is returned when a stream ends inside a row: what was received of
// that row cannot be used.
var ErrMidRow = errors.New("the stream ended inside a row")

// Assembler makes rows of the values of successive messages. Spanner sends the
// values of a result row after row, lets rows straddle messages, and may split
// the last value of a message (PartialResultSet.chunked_value); the Assembler
// keeps what it needs across messages in memory of its own, so a message's
// buffer may be freed once Next has returned false.
//
// An Assembler is a plain value: assigning it copies its whole state, which is
// how Stream goes back to an earlier point. The copies share memory that none
// of them writes to again.
type Assembler struct {
	columns int
	partial []Value // the beginning of a row, copied out of earlier messages
	pieces  []Value // the value split over messages, copied likewise
	rest    []Value // values of the current message not handed out yet
	row     []Value // scratch for a row that straddles messages
}

// NewAssembler returns an Assembler of rows of the given number of columns.
func NewAssembler(columns int) Assembler { return Assembler{columns: columns} }

// Add takes the values of the next message; every row of the message before it
// must have been taken with Next. The values are used until Next returns false.
func (a *Assembler) Add(m *Message) error {
	values := m.Values
	if len(values) == 0 {
		if m.Chunked {
			return errors.New("chunked_value set on a message without values")
		}
		return nil
	}
	if a.columns == 0 {
		return errors.New("values in a result without columns")
	}
	if len(a.pieces) > 0 {
		if m.Chunked && len(values) == 1 {
			a.addPiece(values[0])
			return nil
		}
		merged, err := mergeChunks(append(a.pieces[:len(a.pieces):len(a.pieces)], values[0]))
		if err != nil {
			return err
		}
		a.pieces = nil
		values[0] = merged
	}
	if m.Chunked {
		last := len(values) - 1
		a.addPiece(values[last])
		values = values[:last]
	}
	a.rest = values
	return nil
}

// addPiece never writes to memory a copy of the Assembler may share.
func (a *Assembler) addPiece(v Value) {
	a.pieces = append(a.pieces[:len(a.pieces):len(a.pieces)], append(Value(nil), v...))
}

// Next returns the next row, or false when the message holds no further whole
// row. The row and its values are valid until the next call to Next or Add.
func (a *Assembler) Next() (row []Value, ok bool) {
	if len(a.partial) == 0 && len(a.rest) >= a.columns && a.columns > 0 {
		row, a.rest = a.rest[:a.columns:a.columns], a.rest[a.columns:]
		return row, true
	}
	return a.nextAcross()
}

func (a *Assembler) nextAcross() ([]Value, bool) {
	missing := a.columns - len(a.partial)
	if len(a.rest) < missing || a.columns == 0 {
		a.keepRest()
		return nil, false
	}
	a.row = append(append(a.row[:0], a.partial...), a.rest[:missing]...)
	a.partial, a.rest = nil, a.rest[missing:]
	return a.row, true
}

// keepRest copies the beginning of a row out of the message, in one block.
func (a *Assembler) keepRest() {
	if len(a.rest) == 0 {
		return
	}
	size := 0
	for _, v := range a.rest {
		size += len(v)
	}
	block := make([]byte, 0, size)
	partial := make([]Value, 0, a.columns)
	partial = append(partial, a.partial...)
	for _, v := range a.rest {
		start := len(block)
		block = append(block, v...)
		partial = append(partial, block[start:len(block):len(block)])
	}
	a.partial, a.rest = partial, nil
}

// snapshot returns a copy that later calls on a do not disturb. It may be taken
// only when every row of the current message has been handed out.
func (a *Assembler) snapshot() Assembler {
	return Assembler{columns: a.columns, partial: a.partial, pieces: a.pieces}
}

// End checks that the rows ended with the stream.
func (a *Assembler) End() error {
	if len(a.pieces) > 0 {
		return fmt.Errorf("%w, in a value sent in pieces", ErrMidRow)
	}
	if len(a.partial) > 0 || len(a.rest) > 0 {
		return fmt.Errorf("%w, after %d of its %d values", ErrMidRow, len(a.partial)+len(a.rest), a.columns)
	}
	return nil
}
