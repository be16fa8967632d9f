package postgres

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cloudspannerecosystem/memefish/token"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// syntaxError names the place in the text by line and column from 1.
func syntaxError(text string, pos token.Pos, message string) error {
	line, column := Place(text, pos)
	return status.Errorf(codes.InvalidArgument, "%s - Statement: line %d, column %d", message, line, column)
}

// Place is the line and column, both from 1, of pos in a statement of either
// dialect. Spanner counts columns in characters.
func Place(text string, pos token.Pos) (line, column int) {
	before := text[:min(max(int(pos), 0), len(text))]
	begin := strings.LastIndexByte(before, '\n') + 1
	return 1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[begin:])
}

// unsupported names what Spanner itself does not take of PostgreSQL.
func unsupported(construct string) error {
	return status.Errorf(codes.Unimplemented, "%s is not supported in Spanner's PostgreSQL dialect", construct)
}

// refused says why Spanner does not take a DDL statement of PostgreSQL.
func (p *parser) refused(reason string) {
	p.fail(status.Error(codes.FailedPrecondition, reason))
}

// unimplemented names what Spanner takes and this package does not read.
func unimplemented(construct string) error {
	return status.Errorf(codes.Unimplemented, "Unsupported: %s is not supported by this in-memory Spanner", construct)
}

func quoteForMessage(text string) string {
	const most = 40
	if len(text) > most {
		text = text[:most]
	}
	return strconv.Quote(text)
}
