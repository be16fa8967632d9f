package catalog

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// maxIdentifier is the longest name of anything in a schema, in characters and
// without that of its named schema.
const maxIdentifier = 128

// checkName refuses what is no name for a new object of a kind ("Table"): one
// is a letter, then letters, digits and underscores, quoted or not. The
// PostgreSQL dialect takes anything in quotes.
//
// The official emulator, and DDL's reference, know only the letters of ASCII in
// GoogleSQL; its lexical reference allows any character in back quotes. Names
// like `Ünïcode` are served all the same, in quotes, so that a client can be
// tried with them in both dialects: a server that took fewer would hide how it
// treats them. Without quotes they are the syntax error that they are there.
func (e *editor) checkName(kind, name string) error {
	for part := range strings.SplitSeq(name, ".") {
		if reason := e.malformed(part); reason != "" {
			return status.Errorf(codes.InvalidArgument, "%s name not valid: %s. %s", kind, name, reason)
		}
	}
	return nil
}

// malformed says why part is no name, or nothing.
func (e *editor) malformed(part string) string {
	switch {
	case !utf8.ValidString(part):
		return "A name is UTF-8."
	case utf8.RuneCountInString(part) > maxIdentifier:
		return "A name has at most 128 characters."
	case !e.PostgreSQL && !isName(part):
		return "A name is a letter, then letters, digits and underscores."
	}
	return ""
}

func isName(s string) bool {
	for i, c := range s {
		switch {
		case unicode.IsLetter(c):
		case i == 0:
			return false
		case c != '_' && !unicode.In(c, unicode.Nd, unicode.Mn, unicode.Mc): // letters may come as a base and its marks
			return false
		}
	}
	return s != ""
}

// Fold returns what all spellings of a name have in common that differ in case
// alone, beyond ASCII, too. It agrees with strings.EqualFold, which
// strings.ToLower does not: Σ has two lower cases.
func Fold(name string) string {
	for i := range len(name) {
		if name[i] >= utf8.RuneSelf {
			return strings.Map(foldRune, name)
		}
	}
	return strings.ToLower(name)
}

func foldRune(r rune) rune {
	least := r
	for c := unicode.SimpleFold(r); c != r; c = unicode.SimpleFold(c) {
		least = min(least, c)
	}
	if 'A' <= least && least <= 'Z' {
		least += 'a' - 'A'
	}
	return least
}
