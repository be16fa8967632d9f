package wire

import (
	"encoding/binary"
	"errors"
	"hash/maphash"
)

var errReplayDiffers = errors.New("after a break the server sent other rows, or rows in another order, than the ones already handed on; " +
	"it sends no resume tokens, so the read cannot go on where it was")

// replay follows rows that were handed on although no resume token covers them.
//
// Rows are numbered from the point of the resume token that the run of unproven
// rows began behind. Two points matter: handed, up to which the consumer has
// the rows, and seen, up to which the current attempt has received them. They
// differ only while rows are read again after a break. For both, a hash over
// all rows from the beginning is kept.
type replay struct {
	active bool
	seed   maphash.Seed
	handed mark
	seen   mark
	// resume is the point of the token that the next attempt starts behind,
	// and the state the Assembler had there.
	resume    mark
	assembler Assembler
}

type mark struct {
	rows int64
	hash uint64
}

// begin starts a run; a is the state of the Assembler behind the last token.
func (r *replay) begin(a Assembler) {
	if !r.active {
		*r = replay{active: true, seed: maphash.MakeSeed(), assembler: a}
	}
}

func (r *replay) end() {
	if !r.replaying() {
		*r = replay{}
	}
}

func (r *replay) replaying() bool { return r.seen.rows < r.handed.rows }

// rewind goes back to the token and returns the Assembler's state there.
func (r *replay) rewind() Assembler {
	r.seen = r.resume
	return r.assembler
}

func (r *replay) handOut(row []Value) {
	r.seen = r.next(r.seen, row)
	r.handed = r.seen
}

func (r *replay) next(m mark, row []Value) mark {
	var h maphash.Hash
	h.SetSeed(r.seed)
	var word [8]byte
	binary.LittleEndian.PutUint64(word[:], m.hash)
	h.Write(word[:])
	for _, v := range row {
		binary.LittleEndian.PutUint64(word[:], uint64(len(v)))
		h.Write(word[:])
		h.Write(v)
	}
	return mark{rows: m.rows + 1, hash: h.Sum64()}
}

// replay takes a message that holds rows the consumer already has. They are
// compared and passed over; rows behind them are handed out as usual.
func (s *Stream) replay(m *Message) error {
	if err := s.assembler.Add(m); err != nil {
		return err
	}
	r := &s.unproven
	for r.replaying() {
		row, ok := s.assembler.Next()
		if !ok {
			break
		}
		r.seen = r.next(r.seen, row)
	}
	if !r.replaying() && r.seen != r.handed {
		return errReplayDiffers
	}
	newToken, last := s.isNewToken(m), m.Last
	if newToken {
		s.token = append(s.token[:0:0], m.ResumeToken...)
		s.pacer.progress()
	}
	if r.replaying() {
		// All rows of m were passed over, so the Assembler stands behind m.
		if newToken {
			r.resume, r.assembler = r.seen, s.assembler.snapshot()
		}
		s.release(m)
	} else {
		if newToken {
			r.end()
		}
		s.current = m
	}
	if last {
		return s.end()
	}
	return nil
}
