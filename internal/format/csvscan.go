package format

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// nextByte returns the place of the first byte from pos on that is what all
// bytes of c are, or the end. Where such bytes are near each other, as the
// quotes of JSON in CSV are, it beats bytes.IndexByte.
func nextByte(data []byte, pos int, c uint64) int {
	for len(data)-pos >= 8 {
		if hit := hasByte(binary.LittleEndian.Uint64(data[pos:]), c); hit != 0 {
			return pos + bits.TrailingZeros64(hit)/8
		}
		pos += 8
	}
	for pos < len(data) && data[pos] != byte(c) {
		pos++
	}
	return pos
}

// hasByte reports, in the top bits, which of the eight bytes of w are that which
// all bytes of c are. The lowest hit is exact.
func hasByte(w, c uint64) uint64 {
	x := w ^ c
	return (x - ones) &^ x & highs
}

// recordScan finds the ends of records in data that grows at its end. It looks
// at every byte once.
type recordScan struct {
	csv    *csvDialect // nil: records are lines
	at     int         // up to where data has been looked at
	end    int         // of the last whole record so far
	inside bool        // of a quoted field, at at
}

// restart begins with data anew.
func (s *recordScan) restart() { s.at, s.end, s.inside = 0, 0, false }

// drop says that the first n bytes, which end with a record, are no longer in
// data.
func (s *recordScan) drop(n int) { s.at, s.end = max(s.at-n, 0), max(s.end-n, 0) }

// recordsEnd returns where the last whole record in data ends, 0 if there is
// none.
func (s *recordScan) recordsEnd(data []byte) int {
	if s.csv == nil || !s.inside && bytes.IndexByte(data[s.at:], s.csv.quote) < 0 {
		if i := bytes.LastIndexByte(data[s.at:], '\n'); i >= 0 {
			s.end = s.at + i + 1
		}
		s.at = len(data)
		return s.end
	}
	quote := ones * uint64(s.csv.quote)
	for !s.inside || s.close(data, quote) {
		outside := data[s.at:]
		i := bytes.IndexByte(outside, s.csv.quote)
		if i >= 0 {
			outside = outside[:i]
		}
		for at := s.at; ; at = s.end {
			end := bytes.IndexByte(data[at:s.at+len(outside)], '\n')
			if end < 0 {
				break
			}
			s.end = at + end + 1
		}
		if s.at += len(outside); i < 0 {
			return s.end
		}
		s.at++
		s.inside = s.opens(data)
	}
	return s.end
}

// opens reports whether the quote before at opens a field. Any other outside of
// fields in quotes is stray.
func (s *recordScan) opens(data []byte) bool {
	return s.at == 1 || data[s.at-2] == s.csv.delimiter || data[s.at-2] == '\n'
}

// next moves behind the next end of a record, and reports whether there is one.
func (s *recordScan) next(data []byte) bool {
	if s.csv == nil {
		i := bytes.IndexByte(data[s.at:], '\n')
		s.at += i + 1
		if i < 0 {
			s.at = len(data)
		}
		return i >= 0
	}
	quote := ones * uint64(s.csv.quote)
	for {
		if s.inside && !s.close(data, quote) {
			return false
		}
		if s.at = nextQuoteOrEnd(data, s.at, quote); s.at == len(data) {
			return false
		}
		s.at++
		if data[s.at-1] == '\n' {
			return true
		}
		s.inside = s.opens(data)
	}
}

// close moves behind the quote that closes the field, and reports whether there
// is one. What the last byte of data means is seen when more of it is there.
func (s *recordScan) close(data []byte, quote uint64) bool {
	const word = 8
	pos := s.at
	for {
		if len(data)-pos > word {
			hit := everyByte(binary.LittleEndian.Uint64(data[pos:]), quote)
			if onlyPairs(hit) {
				pos += word
				continue
			}
			pos += bits.TrailingZeros64(hit)/8 + 1
		} else {
			pos = nextByte(data, pos, quote) + 1
			if pos >= len(data) {
				s.at = min(pos-1, len(data))
				return false
			}
		}
		switch c := data[pos]; {
		case c == s.csv.quote:
			pos++
		case !s.csv.lazy || s.csv.endsField(c):
			s.at, s.inside = pos, false
			return true
		}
	}
}

// everyByte is hasByte with every hit exact.
func everyByte(w, c uint64) uint64 {
	x := w ^ c
	return ^(x&^highs + ^uint64(highs) | x) & highs
}

// onlyPairs reports whether the quotes of a word, as everyByte tells them, are
// all doubled, each pair by itself. A word of none is one of these.
func onlyPairs(hit uint64) bool {
	first, last := hit&^(hit<<8), hit&^(hit>>8) // of runs
	return last == first<<8 && first>>63 == 0
}

// nextQuoteOrEnd returns the place of the first quote or LF from pos on, or the
// end.
func nextQuoteOrEnd(data []byte, pos int, quote uint64) int {
	// Without the bits in which they differ both are one byte. So are others,
	// at which the loop stops in vain.
	const lf = '\n' * ones
	same := ^(quote ^ lf)
	either := quote & same
	for {
		for len(data)-pos >= 8 {
			if hit := hasByte(binary.LittleEndian.Uint64(data[pos:])&same, either); hit != 0 {
				pos += bits.TrailingZeros64(hit) / 8
				break
			}
			pos += 8
		}
		if pos == len(data) || data[pos] == byte(quote) || data[pos] == '\n' {
			return pos
		}
		pos++
	}
}
