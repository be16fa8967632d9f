package format_test

import (
	"fmt"
	"testing"

	"spanbulk/internal/format"
	"spanbulk/internal/schema"
	"spanbulk/internal/wire"
)

// TestPostgreSQLTypeNames refuses values of columns in the words of the dialect.
func TestPostgreSQLTypeNames(t *testing.T) {
	for _, c := range []struct{ kind, value, want string }{
		{"timestamp with time zone", `"2026"`, "an all-digit timestamp does not say its unit; write RFC 3339 such as 2026-01-31T12:00:00Z"},
		{"numeric", `"x"`, "not a decimal number"},
		{"bigint", `9223372036854775808`, "out of the range of 64 bits"},
		{"boolean", `"yes"`, "neither true nor false"},
		{"real", `1e39`, "out of the range of a 32-bit float"},
		{"double precision", `1e400`, "out of the range of a 64-bit float"},
		{"character varying[]", `[1]`, "not a string"},
		{"bytea", `"?"`, "not base64"},
		{"jsonb[]", `1`, "not an array"},
	} {
		typ, err := schema.PostgreSQL.ParseType(c.kind)
		if err != nil {
			t.Fatal(err)
		}
		target := format.NewTarget(&schema.Table{
			Name: schema.Name{Schema: "public", Name: "t"}, Dialect: schema.PostgreSQL,
			Columns: []schema.Column{{Name: "c", Type: typ}},
		}, false)
		decoder, err := format.NewDecoder(&format.DecodeOptions{Operation: wire.Insert, MaxRecordBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		chunk := format.SingleChunk(format.NDJSON, nil, []byte(`{"c":`+c.value+`}`), 1)
		var got error
		if err := decoder.Decode(target, chunk, func(r *format.Record) error {
			if r.Err != nil {
				got = r.Err
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("column c (%s): %s", c.kind, c.want); got == nil || got.Error() != want {
			t.Errorf("%s: %v, want %s", c.value, got, want)
		}
	}
}
