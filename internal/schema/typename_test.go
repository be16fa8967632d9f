package schema

import (
	"testing"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/protobuf/proto"
)

// TestTypeName names every type so that the dialect reads the name as that type.
func TestTypeName(t *testing.T) {
	for dialect, names := range map[Dialect][]string{
		GoogleSQL: {
			"BOOL", "INT64", "FLOAT32", "FLOAT64", "STRING", "BYTES", "TIMESTAMP", "DATE", "NUMERIC", "JSON", "UUID", "INTERVAL",
			"PROTO<music.Singer>", "ENUM<music.Genre>", "ARRAY<ENUM<music.Genre>>", "STRUCT<a INT64, ARRAY<STRING>>", "STRUCT<>",
		},
		PostgreSQL: {
			"boolean", "bigint", "oid", "real", "double precision", "character varying", "bytea", "timestamp with time zone", "date",
			"numeric", "jsonb", "uuid", "interval", "bigint[]", "timestamp with time zone[]", "numeric[]", "oid[]",
		},
	} {
		for _, want := range names {
			typ, err := dialect.ParseType(want)
			if err != nil {
				t.Fatal(err)
			}
			name := dialect.TypeName(typ)
			again, err := dialect.ParseType(name)
			if name != want || err != nil || !proto.Equal(again, typ) {
				t.Errorf("%v: %s is called %s, which is %v, %v", dialect, want, name, again, err)
			}
		}
	}
	for _, c := range []struct {
		dialect Dialect
		typ     *spannerpb.Type
		want    string
	}{
		{GoogleSQL, annotated(spannerpb.TypeCode_NUMERIC, spannerpb.TypeAnnotationCode_PG_NUMERIC), "PG.NUMERIC"},
		{GoogleSQL, arrayOf(annotated(spannerpb.TypeCode_JSON, spannerpb.TypeAnnotationCode_PG_JSONB)), "ARRAY<PG.JSONB>"},
		{GoogleSQL, annotated(spannerpb.TypeCode_INT64, spannerpb.TypeAnnotationCode_PG_OID), "PG.OID"},
		{PostgreSQL, &spannerpb.Type{Code: spannerpb.TypeCode_ENUM, ProtoTypeFqn: "music.Genre"}, "ENUM<music.Genre>"},
		{PostgreSQL, scalar(spannerpb.TypeCode_TYPE_CODE_UNSPECIFIED), "TYPE_CODE_UNSPECIFIED"},
	} {
		if got := c.dialect.TypeName(c.typ); got != c.want {
			t.Errorf("%v: %v is called %s, want %s", c.dialect, c.typ, got, c.want)
		}
	}
}
