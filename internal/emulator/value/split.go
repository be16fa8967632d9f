package value

import (
	"encoding/binary"
	"unicode/utf8"
)

// PayloadSize is the size of a google.protobuf.Value as SplitWire counts it:
// the bytes of its text, those of its elements for a list, and one for what
// cannot be split.
func PayloadSize(wire []byte) int {
	m, ok := parseSingle(wire)
	switch {
	case ok && m.tag == tagString:
		return len(m.payload)
	case ok && m.tag == tagList:
		size := 0
		for list := Row(m.payload); len(list) > 0; {
			var item []byte
			item, list = list.cut()
			size += PayloadSize(item)
		}
		return size
	}
	return 1
}

// SplitWire splits a canonical google.protobuf.Value the way Spanner chunks
// values over messages: head has a payload of at most room bytes (though one
// character or element at least), and merging rest to it gives the value
// again. rest is nil if the value fits. Text is split between characters, and
// where a list is split between two texts or two lists, rest starts with an
// empty one, since a receiver merges the two at the seam.
func SplitWire(wire []byte, room int) (head, rest []byte) {
	m, ok := parseSingle(wire)
	if !ok || PayloadSize(wire) <= room {
		return wire, nil
	}
	switch m.tag {
	case tagString:
		return splitText(wire, m.payload, room)
	case tagList:
		return splitList(wire, m.payload, room)
	}
	return wire, nil
}

func splitText(wire, text []byte, room int) (head, rest []byte) {
	at := min(max(room, 1), len(text))
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	if at == 0 {
		_, at = utf8.DecodeRune(text)
	}
	if at >= len(text) {
		return wire, nil
	}
	return appendString(nil, text[:at]), appendString(nil, text[at:])
}

func splitList(wire, list []byte, room int) (head, rest []byte) {
	var left []byte
	var before []byte // the item that ends left
	for items := Row(list); len(items) > 0; {
		item, after := items.cut()
		size := PayloadSize(item)
		if size <= room || before == nil && !divisible(item) {
			left = appendItem(left, item)
			room, before, items = room-size, item, after
			continue
		}
		if divisible(item) && room > 0 {
			h, t := SplitWire(item, room)
			if t != nil {
				return wrapList(appendItem(left, h)), wrapList(append(appendItem(nil, t), after...))
			}
			left, items = appendItem(left, h), after
			room, before = 0, item
			continue
		}
		if before == nil {
			// No room and nothing taken yet: a character at least must go.
			room = 1
			continue
		}
		return wrapList(left), wrapList(append(seam(before, item), items...))
	}
	return wire, nil
}

// seam is the empty element that keeps two elements apart in a merge.
func seam(before, after []byte) []byte {
	if before[0] != after[0] || !divisible(before) {
		return nil
	}
	return []byte{tagItem, 2, before[0], 0}
}

func divisible(wire []byte) bool { return wire[0] == tagString || wire[0] == tagList }

func appendItem(dst, wire []byte) []byte {
	dst = append(dst, tagItem)
	dst = binary.AppendUvarint(dst, uint64(len(wire)))
	return append(dst, wire...)
}

func wrapList(items []byte) []byte {
	out := append(make([]byte, 0, len(items)+6), tagList)
	out = binary.AppendUvarint(out, uint64(len(items)))
	return append(out, items...)
}
