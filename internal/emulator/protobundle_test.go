package emulator_test

import (
	"testing"

	"cloud.google.com/go/spanner/admin/database/apiv1/databasepb"
	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/descriptorpb"

	"spanbulk/internal/emulator"
)

func musicDescriptors(t testing.TB) []byte {
	t.Helper()
	b, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{{
		Name: proto.String("music.proto"), Package: proto.String("examples.music"),
		MessageType: []*descriptorpb.DescriptorProto{{Name: proto.String("Singer"), EnumType: []*descriptorpb.EnumDescriptorProto{{Name: proto.String("Kind")}}}},
		EnumType:    []*descriptorpb.EnumDescriptorProto{{Name: proto.String("Genre")}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestProtoBundle(t *testing.T) {
	f := start(t, emulator.Options{})
	admin := databasepb.NewDatabaseAdminClient(f.conn)
	update := func(descriptors []byte, statements ...string) error {
		_, err := admin.UpdateDatabaseDdl(t.Context(), &databasepb.UpdateDatabaseDdlRequest{Database: databaseName, Statements: statements, ProtoDescriptors: descriptors})
		return err
	}
	const bundle = "CREATE PROTO BUNDLE (\n  examples.music.Singer,\n  examples.music.Genre,\n)"
	const table = "CREATE TABLE T (\n  K INT64,\n  S examples.music.Singer,\n  G examples.music.Genre,\n  A ARRAY<examples.music.Genre>,\n) PRIMARY KEY(K)"
	wantCode(t, update(nil, bundle), codes.InvalidArgument, "examples.music.Singer")
	wantCode(t, update([]byte("no message"), bundle), codes.InvalidArgument, "descriptors")
	wantCode(t, update(musicDescriptors(t), bundle, table), codes.OK)
	wantCode(t, update(nil, "CREATE TABLE U (K `examples.music.Singer`) PRIMARY KEY (K)"), codes.InvalidArgument, "is part of the key")
	wantCode(t, update(nil, "ALTER PROTO BUNDLE DELETE (examples.music.Genre)"), codes.FailedPrecondition, "T.G")
	wantCode(t, update(nil, "DROP PROTO BUNDLE"), codes.FailedPrecondition, "T.S")
	wantCode(t, update(musicDescriptors(t), "ALTER PROTO BUNDLE INSERT (examples.music.Singer.Kind)"), codes.OK)
	wantCode(t, update(nil, "ALTER PROTO BUNDLE DELETE (examples.music.Singer.Kind)"), codes.OK)
	ddl, err := admin.GetDatabaseDdl(t.Context(), &databasepb.GetDatabaseDdlRequest{Database: databaseName})
	if d := cmp.Diff([]string{bundle, table}, ddl.GetStatements()); d != "" || err != nil || string(ddl.GetProtoDescriptors()) != string(musicDescriptors(t)) {
		t.Errorf("error %v, descriptors %q, statements (-want +got)\n%s", err, ddl.GetProtoDescriptors(), d)
	}

	f.commit(t, insert("T", "K,S,G,A", row(1, "CgFh", "3", []any{"1", nil}), row(2, nil, nil, nil)))
	_, err = f.tryCommit(t, insert("T", "K,G", row(3, "ROCK")))
	wantCode(t, err, codes.FailedPrecondition)
	_, err = f.tryCommit(t, insert("T", "K,S", row(3, "no base64")))
	wantCode(t, err, codes.FailedPrecondition)
	f.wantSQL(t, "SELECT S, G, A FROM T WHERE K = 1", "CgFh,3,[1 <nil>]")
	f.wantSQL(t, "SELECT column_name, spanner_type FROM information_schema.columns WHERE table_name = 'T' AND ordinal_position > 1 ORDER BY ordinal_position",
		"S,examples.music.Singer|G,examples.music.Genre|A,ARRAY<examples.music.Genre>")
	stream, err := f.api().StreamingRead(t.Context(), &spannerpb.ReadRequest{Session: f.session, Table: "T", Columns: []string{"S", "G", "A"}, KeySet: &spannerpb.KeySet{All: true}})
	if err != nil {
		t.Fatal(err)
	}
	first, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	singer := &spannerpb.Type{Code: spannerpb.TypeCode_PROTO, ProtoTypeFqn: "examples.music.Singer"}
	genre := &spannerpb.Type{Code: spannerpb.TypeCode_ENUM, ProtoTypeFqn: "examples.music.Genre"}
	want := []*spannerpb.StructType_Field{{Name: "S", Type: singer}, {Name: "G", Type: genre}, {Name: "A", Type: &spannerpb.Type{Code: spannerpb.TypeCode_ARRAY, ArrayElementType: genre}}}
	if d := cmp.Diff(want, first.GetMetadata().GetRowType().GetFields(), protocmp.Transform()); d != "" {
		t.Errorf("types (-want +got)\n%s", d)
	}
}

// A TOKENLIST column is hidden, generated, and neither read nor written.
func TestTokenList(t *testing.T) {
	f := start(t, emulator.Options{}, "CREATE TABLE T (K INT64, V STRING(MAX), L TOKENLIST AS (TOKENIZE_SUBSTRING(V, ngram_size_min => 2)) HIDDEN) PRIMARY KEY (K)")
	f.commit(t, insert("T", "K,V", row(1, "abc"), row(2, nil)))
	f.wantSQL(t, "SELECT * FROM T ORDER BY K", "1,abc|2,-")
	f.wantSQL(t, "SELECT spanner_type, is_hidden, is_generated, is_stored FROM information_schema.columns WHERE column_name = 'L'", "TOKENLIST,true,ALWAYS,NO")
	_, err := f.sql(t, &spannerpb.ExecuteSqlRequest{Sql: "SELECT L FROM T"})
	wantCode(t, err, codes.Unimplemented, "TOKENLIST")
	err = f.read(t, &receiver{t: t}, &spannerpb.ReadRequest{Table: "T", Columns: []string{"L"}, KeySet: &spannerpb.KeySet{All: true}})
	wantCode(t, err, codes.InvalidArgument, "TOKENLIST")
	_, err = f.tryCommit(t, insert("T", "K,L", row(3, "x")))
	wantCode(t, err, codes.FailedPrecondition, "generated")
}
