package wire

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

var errBadChunk = errors.New("a chunked value is neither a string nor a list")

// mergeChunks joins the pieces of one value that Spanner sent in several
// messages, as PartialResultSet.chunked_value prescribes: strings are
// concatenated; lists are concatenated, and where the elements that meet are
// both strings or both lists, these two are merged by the same rule. All pieces
// are joined at once, so a value of many pieces costs its size, not its square.
func mergeChunks(pieces []Value) (Value, error) {
	kind, _ := pieces[0].Parse()
	switch kind {
	case String:
		return mergeStrings(pieces)
	case ListKind:
		return mergeLists(pieces)
	default:
		return nil, fmt.Errorf("%w but a %s", errBadChunk, kind)
	}
}

func mergeStrings(pieces []Value) (Value, error) {
	size := 0
	for _, p := range pieces {
		kind, text := p.Parse()
		if kind != String {
			return nil, fmt.Errorf("a chunked string goes on as a %s", kind)
		}
		size += len(text)
	}
	merged := make(Value, 0, 1+protowire.SizeBytes(size))
	merged = append(merged, tagString)
	merged = protowire.AppendVarint(merged, uint64(size))
	for _, p := range pieces {
		_, text := p.Parse()
		merged = append(merged, text...)
	}
	return merged, nil
}

// mergeLists walks the elements of all pieces in order. A run holds the
// elements that are parts of one element of the merged list; it has more than
// one part only at the borders of pieces.
func mergeLists(pieces []Value) (Value, error) {
	var elements []byte
	var run []Value
	flush := func() error {
		switch len(run) {
		case 0:
			return nil
		case 1:
			elements = AppendElement(elements, run[0])
		default:
			v, err := mergeChunks(run)
			if err != nil {
				return err
			}
			elements = AppendElement(elements, v)
		}
		run = run[:0]
		return nil
	}
	for _, p := range pieces {
		kind, payload := p.Parse()
		if kind != ListKind {
			return nil, fmt.Errorf("a chunked list goes on as a %s", kind)
		}
		border := true
		list := List(payload)
		for v, rest, ok := list.Next(); ok; v, rest, ok = list.Next() {
			list = rest
			if !border || len(run) == 0 || !meet(run[len(run)-1], v) {
				if err := flush(); err != nil {
					return nil, err
				}
			}
			run = append(run, v)
			border = false
		}
		if !list.Done() {
			return nil, errMalformed
		}
	}
	if err := flush(); err != nil {
		return nil, err
	}
	return AppendList(make(Value, 0, 1+protowire.SizeBytes(len(elements))), elements), nil
}

// meet reports whether two elements at the border of two pieces are parts of
// one: numbers, bools and nulls are never split.
func meet(a, b Value) bool {
	kind := a.Kind()
	return kind == b.Kind() && (kind == String || kind == ListKind)
}
