package fault

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxLine bounds a line in bytes. Spanner repeats whole statements in some
// messages, and a proxy may answer with a page of HTML.
const maxLine = 2000

// OneLine makes text fit for one line of a terminal: white space runs become
// one blank, other control characters (escape sequences among them) and bytes
// that are not UTF-8 become U+FFFD, and what exceeds 2000 bytes is cut off.
func OneLine(text string) string {
	var b strings.Builder
	blank := false
	for _, r := range text {
		if unicode.IsSpace(r) {
			blank = b.Len() > 0
			continue
		}
		if blank {
			b.WriteByte(' ')
			blank = false
		}
		if !unicode.IsPrint(r) {
			r = utf8.RuneError
		}
		if b.Len()+utf8.RuneLen(r) > maxLine {
			b.WriteString("…")
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}
