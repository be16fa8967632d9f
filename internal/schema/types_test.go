package schema_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/protobuf/proto"

	"spanbulk/internal/schema"
)

func TestParseType(t *testing.T) {
	tests := []struct {
		dialect    schema.Dialect
		text, want string // want is the type in protobuf's text form
	}{
		{schema.GoogleSQL, "BOOL", "code:BOOL"},
		{schema.GoogleSQL, "INT64", "code:INT64"},
		{schema.GoogleSQL, "FLOAT32", "code:FLOAT32"},
		{schema.GoogleSQL, "FLOAT64", "code:FLOAT64"},
		{schema.GoogleSQL, "STRING(MAX)", "code:STRING"},
		{schema.GoogleSQL, "string(256)", "code:STRING"},
		{schema.GoogleSQL, "BYTES(10485760)", "code:BYTES"},
		{schema.GoogleSQL, "TIMESTAMP", "code:TIMESTAMP"},
		{schema.GoogleSQL, "DATE", "code:DATE"},
		{schema.GoogleSQL, "NUMERIC", "code:NUMERIC"},
		{schema.GoogleSQL, "JSON", "code:JSON"},
		{schema.GoogleSQL, "UUID", "code:UUID"},
		{schema.GoogleSQL, "INTERVAL", "code:INTERVAL"},
		{schema.GoogleSQL, "TOKENLIST", ""},
		{schema.GoogleSQL, "ARRAY<STRING(256)>", "code:ARRAY array_element_type:{code:STRING}"},
		{schema.GoogleSQL, "ARRAY<FLOAT32>(vector_length=>2)", "code:ARRAY array_element_type:{code:FLOAT32}"},
		{schema.GoogleSQL, "examples.shipping.Item", `code:PROTO proto_type_fqn:"examples.shipping.Item"`},
		{schema.GoogleSQL, "PROTO<examples.Item>", `code:PROTO proto_type_fqn:"examples.Item"`},
		{schema.GoogleSQL, "ARRAY<ENUM<examples.State>>", `code:ARRAY array_element_type:{code:ENUM proto_type_fqn:"examples.State"}`},
		{schema.GoogleSQL, "STRUCT<a INT64, ARRAY<BOOL>, Date DATE>", `code:STRUCT struct_type:{fields:{name:"a" type:{code:INT64}} fields:{type:{code:ARRAY array_element_type:{code:BOOL}}} fields:{name:"Date" type:{code:DATE}}}`},
		{schema.GoogleSQL, "STRUCT<>", "code:STRUCT struct_type:{}"},
		{schema.PostgreSQL, "boolean", "code:BOOL"},
		{schema.PostgreSQL, "bigint", "code:INT64"},
		{schema.PostgreSQL, "oid", "code:INT64 type_annotation:PG_OID"},
		{schema.PostgreSQL, "real", "code:FLOAT32"},
		{schema.PostgreSQL, "double precision", "code:FLOAT64"},
		{schema.PostgreSQL, "character varying(256)", "code:STRING"},
		{schema.PostgreSQL, "character varying", "code:STRING"},
		{schema.PostgreSQL, "bytea", "code:BYTES"},
		{schema.PostgreSQL, "timestamp with time zone", "code:TIMESTAMP"},
		{schema.PostgreSQL, "spanner.commit_timestamp", "code:TIMESTAMP"},
		{schema.PostgreSQL, "date", "code:DATE"},
		{schema.PostgreSQL, "numeric", "code:NUMERIC type_annotation:PG_NUMERIC"},
		{schema.PostgreSQL, "jsonb[]", "code:ARRAY array_element_type:{code:JSON type_annotation:PG_JSONB}"},
		{schema.PostgreSQL, "uuid", "code:UUID"},
		{schema.PostgreSQL, "character varying(16)[]", "code:ARRAY array_element_type:{code:STRING}"},
		{schema.PostgreSQL, "double precision[] vector length 4", "code:ARRAY array_element_type:{code:FLOAT64}"},
	}
	for _, tt := range tests {
		want := &spannerpb.Type{}
		if err := prototext.Unmarshal([]byte(tt.want), want); err != nil {
			t.Fatal(err)
		}
		got, err := tt.dialect.ParseType(tt.text)
		if err != nil || !proto.Equal(got, want) {
			t.Errorf("%v %q = %v, %v, want %s", tt.dialect, tt.text, got, err, tt.want)
		}
	}
}

func TestParseTypeRefuses(t *testing.T) {
	tests := []struct {
		dialect    schema.Dialect
		text, want string
	}{
		{schema.GoogleSQL, "", "a type is missing"},
		{schema.GoogleSQL, "INT", `"INT" is not a type of Spanner`},
		{schema.GoogleSQL, "ARRAY", "ARRAY needs an element type in angle brackets"},
		{schema.GoogleSQL, "ARRAY<INT64", "ARRAY lacks its closing bracket"},
		{schema.GoogleSQL, "INT64>", `unexpected ">" at its end`},
		{schema.GoogleSQL, "STRING(MAX", "a parenthesis is not closed"},
		{schema.GoogleSQL, "STRUCT<a INT64", "STRUCT lacks a comma or its closing bracket"},
		{schema.GoogleSQL, "PROTO", "PROTO needs the name of its type in angle brackets"},
		{schema.GoogleSQL, strings.Repeat("ARRAY<", 1000), "nested too deep"},
		{schema.PostgreSQL, "money", "not a type of Spanner's PostgreSQL dialect"},
	}
	for _, tt := range tests {
		if _, err := tt.dialect.ParseType(tt.text); err == nil || !strings.HasSuffix(err.Error(), tt.want) {
			t.Errorf("%v %.20q: error %v, want %q", tt.dialect, tt.text, err, tt.want)
		}
	}
}

func FuzzParseType(f *testing.F) {
	for _, s := range []string{"STRING(MAX)", "ARRAY<STRUCT<a INT64, b ARRAY<PROTO<x.Y>>>>", "bigint[]", "double precision[] vector length 4", "STRUCT<<>>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, d := range []schema.Dialect{schema.GoogleSQL, schema.PostgreSQL} {
			got, err := d.ParseType(text)
			if (got == nil) == (err == nil) {
				t.Fatalf("%v %q: type %v, error %v", d, text, got, err)
			}
		}
	})
}
