package store_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/emulator/store"
)

func TestSizeLimits(t *testing.T) {
	s := store.New(nil, time.Now)
	if _, err := s.ApplyDDL([]string{"CREATE TABLE T (K INT64 NOT NULL, S STRING(MAX), B BYTES(MAX), A ARRAY<STRING(MAX)>) PRIMARY KEY (K)"}); err != nil {
		t.Fatal(err)
	}
	text := structpb.NewStringValue
	bytes := func(n int) *structpb.Value { return text(base64.StdEncoding.EncodeToString(make([]byte, n))) }
	long := text(strings.Repeat("x", 2_600_000))
	for _, c := range []struct {
		name, column string
		v            *structpb.Value
		code         codes.Code
		text         string
	}{
		{"text", "S", text(strings.Repeat("x", 2_621_440)), codes.OK, ""},
		{"text too long", "S", text(strings.Repeat("x", 2_621_441)), codes.FailedPrecondition, "limit: 2621440"},
		{"characters", "S", text(strings.Repeat("é", 2_621_440)), codes.OK, ""},
		{"bytes", "B", bytes(10 << 20), codes.OK, ""},
		{"bytes too long", "B", bytes(10<<20 + 1), codes.InvalidArgument, "maximum size for a single column value is: 10485760 bytes."},
		{"array", "A", structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{long, long, long, long}}), codes.OK, ""},
		{"array too large", "A", structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{long, long, long, long, long}}), codes.InvalidArgument, "10485760"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := proto.Marshal(&spannerpb.Mutation{Operation: &spannerpb.Mutation_InsertOrUpdate{InsertOrUpdate: &spannerpb.Mutation_Write{
				Table: "T", Columns: []string{"K", c.column}, Values: []*structpb.ListValue{{Values: []*structpb.Value{text("1"), c.v}}}}}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err = s.Commit([]store.Mutation{m}, nil); status.Code(err) != c.code || err != nil && !strings.Contains(err.Error(), c.text) {
				t.Errorf("error %v, want %v %q", err, c.code, c.text)
			}
		})
	}
}
