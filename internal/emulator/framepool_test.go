package emulator_test

import (
	"runtime"
	"testing"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc/codes"

	"spanbulk/internal/emulator"
)

// A read of one row, or one that fails, must not cost the memory of a full
// message: tests make them by the thousand.
func TestSmallReadsTakeLittleMemory(t *testing.T) {
	f := start(t, emulator.Options{}, "CREATE TABLE T (K INT64, V STRING(MAX)) PRIMARY KEY (K)")
	f.commit(t, insert("T", "K,V", row(1, "a")))
	read := func(table string) codes.Code {
		return statusCode(f.read(t, &receiver{t: t}, &spannerpb.ReadRequest{Table: table, Columns: []string{"V"}, KeySet: &spannerpb.KeySet{Keys: keyList(key(1))}}))
	}
	const reads = 200
	var before, after runtime.MemStats
	read("T")
	runtime.ReadMemStats(&before)
	for range reads {
		if code := read("T"); code != codes.OK {
			t.Fatal(code)
		}
		if code := read("Nope"); code != codes.NotFound {
			t.Fatal(code)
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / (2 * reads); each > 100<<10 {
		t.Errorf("a read takes %d bytes", each)
	}
}
