package cdc

import "strings"

// appendText writes a data change record for people: a line for each mod with
// what changed, when, how, where and to what.
func appendText(dst []byte, c *Change) []byte {
	for i := range c.Mods {
		m := &c.Mods[i]
		dst = appendTextHead(dst, c.CommitText, c.ModType, c.Table)
		dst = appendObject(append(dst, ' '), m.Keys)
		if hasMembers(m.New) {
			dst = appendObject(append(dst, " new "...), m.New)
		}
		if hasMembers(m.Old) {
			dst = appendObject(append(dst, " old "...), m.Old)
		}
		dst = append(dst, '\n')
	}
	return dst
}

func hasMembers(object []byte) bool { return len(object) > 0 && string(object) != "{}" }

// appendTextHead writes the first words of a line. Names come from the schema
// and could have an end of line in them.
func appendTextHead(dst, commit []byte, what, table []byte) []byte {
	dst = append(append(dst, commit...), ' ')
	dst = append(append(dst, what...), ' ')
	return appendOnOneLine(dst, table)
}

// appendEventText writes any other record for people.
func appendEventText(dst []byte, r *Record, partition string) []byte {
	name := strings.ToUpper(strings.TrimSuffix(r.Kind.member(), "_record"))
	dst = append(dst, r.At.String()...)
	dst = append(append(append(dst, ' '), name...), ' ')
	dst = append(dst, short(partition)...)
	for _, c := range r.Children {
		dst = append(append(dst, " child "...), short(string(c.Token))...)
	}
	for _, token := range r.MovedIn {
		dst = append(append(dst, " from "...), short(string(token))...)
	}
	for _, token := range r.MovedOut {
		dst = append(append(dst, " to "...), short(string(token))...)
	}
	return append(dst, '\n')
}

func appendWatermarkText(dst []byte, t Timestamp) []byte {
	return append(append(dst, t.String()...), " WATERMARK\n"...)
}
