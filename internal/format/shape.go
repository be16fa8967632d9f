package format

import "bytes"

// shape is what a Decoder has learned of the names of fields in JSON records.
// Records of one input mostly have the same fields in the same order, so each
// name remembers which came after it; comparing with that one costs next to
// nothing, and no name is looked up twice.
type shape struct {
	names   []*learned
	bySpell map[string]*learned // as spelled in the records, with the quotes
	free    int                 // slots of unknown fields begin here
	slots   map[string]int      // of the unknown fields
	// seen has, by slot, the number of the last record that had the field.
	seen   []uint64
	record uint64
	first  *learned // of a record
	last   *learned // met in this record; nil at its beginning
}

// learned is a name of a field.
type learned struct {
	boundField
	spelled []byte   // with the quotes
	next    *learned // what came behind it last
}

// maxLearned bounds the memory for names: a record can make up as many as it
// likes.
const maxLearned = 10_000

func (f *shape) init() {
	f.bySpell, f.slots = map[string]*learned{}, map[string]int{}
}

// begin is called before each record.
func (f *shape) begin(b *binding) {
	if len(f.names) > maxLearned {
		*f = shape{}
		f.init()
	}
	if f.free == 0 {
		f.free = b.firstFreeSlot()
		f.seen = make([]uint64, f.free)
	}
	f.record++
	f.last = nil
}

// has reports whether this record has had a field of the slot.
func (f *shape) has(slot int) bool { return f.seen[slot] == f.record }

// nextName reads the name of a field, at its quote, and finds what it means.
func (p *plan) nextName(s *scanner) (*learned, error) {
	f := &p.fields
	guess := f.first
	if f.last != nil {
		guess = f.last.next
	}
	if guess == nil || !bytes.HasPrefix(s.data[s.pos:], guess.spelled) {
		var err error
		if guess, err = p.learn(s); err != nil {
			return nil, err
		}
		if f.last == nil {
			f.first = guess
		} else {
			f.last.next = guess
		}
	} else {
		s.pos += len(guess.spelled)
	}
	if f.has(guess.slot) {
		return nil, p.repeated(guess)
	}
	f.seen[guess.slot] = f.record
	f.last = guess
	return guess, nil
}

// learn reads a name that is not the expected one.
func (p *plan) learn(s *scanner) (*learned, error) {
	if !s.at('"') {
		return nil, s.fail(errWantFieldName)
	}
	start := s.pos
	text, err := s.string()
	if err != nil {
		return nil, err
	}
	spelled := s.data[start:s.pos]
	f := &p.fields
	if l := f.bySpell[string(spelled)]; l != nil {
		return l, nil
	}
	field, err := p.field(string(text))
	if err != nil {
		return nil, err
	}
	if field.slot < 0 {
		field.slot = f.unknownSlot(string(text))
	}
	l := &learned{boundField: field, spelled: bytes.Clone(spelled)}
	f.names = append(f.names, l)
	f.bySpell[string(l.spelled)] = l
	return l, nil
}

func (f *shape) unknownSlot(name string) int {
	slot, ok := f.slots[name]
	if !ok {
		slot = f.free
		f.free++
		f.slots[name] = slot
		f.seen = append(f.seen, 0)
	}
	return slot
}

func (p *plan) repeated(l *learned) error {
	if l.kind == columnField || l.slot < len(p.target.columns()) {
		return &repeatedError{p.target.label(l.slot)}
	}
	return &repeatedError{string(l.spelled)}
}

// repeatedError is a field that a record has twice.
type repeatedError struct{ name string }

func (e *repeatedError) Error() string { return "field " + e.name + ": " + errRepeated.Error() }
