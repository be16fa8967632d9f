package catalog

import (
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// maxIdentifier is the longest name of anything in a schema, without that of
// its named schema.
const maxIdentifier = 128

// checkName refuses what is no name for a new object of a kind ("Table"): one
// is a letter, then letters, digits and underscores, quoted or not. The
// PostgreSQL dialect takes anything in quotes.
func (e *editor) checkName(kind, name string) error {
	for part := range strings.SplitSeq(name, ".") {
		if len(part) > maxIdentifier || !e.PostgreSQL && !isName(part) {
			return status.Errorf(codes.InvalidArgument, "%s name not valid: %s.", kind, name)
		}
	}
	return nil
}

func isName(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		letter := c >= 'a' && c <= 'z'
		if !letter && (i == 0 || s[i] != '_' && (s[i] < '0' || s[i] > '9')) {
			return false
		}
	}
	return s != ""
}
