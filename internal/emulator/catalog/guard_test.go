package catalog_test

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/emulator/catalog"
)

// Texts that end within an escape are refused wherever they are read: the
// parser panics at some of them.
func TestTextsThatEndWithinAnEscape(t *testing.T) {
	long := strings.Repeat(" ", 7000)
	for _, text := range []string{`'\x`, `'\u00`, "CREATE VIEW v SQL SECURITY INVOKER AS SELECT LEFT('\\x", long + `CREATE TABLE t ('\x`, `CREATE CHANGE STREAM '\x`} {
		_, err := catalog.Empty().Apply(text)
		if status.Code(err) != codes.InvalidArgument {
			t.Errorf("%.40q: %v", strings.TrimSpace(text), err)
		}
		if _, err := catalog.Split(text + ";"); err == nil {
			t.Errorf("%.40q is split", strings.TrimSpace(text))
		}
		if err := catalog.CheckNesting(long + text); err != nil {
			t.Error(err)
		}
	}
}
