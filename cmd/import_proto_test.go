package cmd

import (
	"slices"
	"strings"
	"testing"

	"cloud.google.com/go/spanner/admin/database/apiv1/databasepb"
	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/emulator"
)

// musicDescriptors describe a message and an enum.
func musicDescriptors(t *testing.T) []byte {
	t.Helper()
	descriptors, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{{
		Name: proto.String("music.proto"), Package: proto.String("music"),
		MessageType: []*descriptorpb.DescriptorProto{{Name: proto.String("Singer")}},
		EnumType:    []*descriptorpb.EnumDescriptorProto{{Name: proto.String("Genre")}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return descriptors
}

// bundleTable makes a table with columns of a proto bundle's types, whose names
// the schema tells without telling messages from enums.
func bundleTable(t *testing.T, s *testSpanner) {
	t.Helper()
	_, err := databasepb.NewDatabaseAdminClient(s.conn).UpdateDatabaseDdl(t.Context(), &databasepb.UpdateDatabaseDdlRequest{
		Database: s.database, ProtoDescriptors: musicDescriptors(t), Statements: []string{
			"CREATE PROTO BUNDLE (music.Singer, music.Genre)",
			"CREATE TABLE T (G music.Genre, S music.Singer, Gs ARRAY<music.Genre>, Ss ARRAY<music.Singer>) PRIMARY KEY (G)",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestImportOfProtoBundle takes messages, enums and arrays of both from one
// database to another and back out, in every format.
func TestImportOfProtoBundle(t *testing.T) {
	from, to := startSpanner(t, emulator.Options{}), startSpanner(t, emulator.Options{})
	bundleTable(t, from)
	bundleTable(t, to)
	list := func(v ...*structpb.Value) *structpb.Value {
		return structpb.NewListValue(&structpb.ListValue{Values: v})
	}
	lines := func(b []byte) []string { return slices.Sorted(strings.Lines(string(b))) }
	text, null := structpb.NewStringValue, structpb.NewNullValue()
	columns := []string{"G", "S", "Gs", "Ss"}
	from.insert(t, "T", columns, [][]*structpb.Value{
		{text("0"), text("CgFh"), list(text("7"), null, text("-1")), list(text("CgFh"), null, text(""))},
		{text("7"), text(""), list(), list()},
		{text("-2147483648"), null, null, null},
		{null, text("CgFi"), list(null), list(null)},
	})
	read := &spannerpb.ReadRequest{Table: "T", Columns: columns, KeySet: &spannerpb.KeySet{All: true}}
	want := from.read(t, read)
	for _, kind := range []string{"ndjson", "csv", "avro"} {
		exported := from.mustExport(t, "--table", "T", "--format", kind)
		args := []string{"--quiet", "--table", "T", "--format", kind}
		if stderr, code := importInto(t, to.target, strings.NewReader(string(exported)), args...); code != exitDone {
			t.Errorf("%s: exit code %d: %s", kind, code, stderr)
			continue
		}
		compareRows(t, want, to.read(t, read), kind)
		if again := to.mustExport(t, "--table", "T", "--format", kind); kind != "avro" && !slices.Equal(lines(again), lines(exported)) {
			t.Errorf("%s: exported\n%safter the import\n%s", kind, exported, again)
		}
		to.deleteAll(t, "T")
	}
	stderr, code := importInto(t, to.target, strings.NewReader(`{"G":"CgFh"}`), "--quiet", "--table", "T")
	if want := "column G (ENUM<music.Genre>): not the number of an enum value"; code != exitFailed || !strings.Contains(stderr, want) {
		t.Errorf("exit code %d, error %q, want %q", code, stderr, want)
	}
}
