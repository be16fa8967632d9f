package catalog

import (
	"slices"
	"strings"

	"github.com/cloudspannerecosystem/memefish/ast"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"spanbulk/internal/emulator/value"
)

// ProtoBundle is the types of protocol buffers that columns may have.
type ProtoBundle struct {
	// Types are those declared, PROTO or ENUM, in order.
	Types []*value.Type
	// Descriptors are the FileDescriptorSet that came with them.
	Descriptors []byte
}

// ApplyWith is Apply with the proto_descriptors of the request, an encoded
// FileDescriptorSet.
func (s *Schema) ApplyWith(statement string, descriptors []byte) (*Schema, error) {
	next := s.clone()
	e := &editor{Schema: next, source: withoutSemicolon(statement), descriptors: descriptors}
	if err := e.statement(); err != nil {
		return nil, err
	}
	next.reindex()
	return next, nil
}

// protoType finds a type of the bundle.
func (s *Schema) protoType(name string) (*value.Type, bool) {
	if s.ProtoBundle == nil {
		return nil, false
	}
	i := slices.IndexFunc(s.ProtoBundle.Types, func(t *value.Type) bool { return t.ProtoName == name })
	if i < 0 {
		return nil, false
	}
	return s.ProtoBundle.Types[i], true
}

func (e *editor) createProtoBundle(d *ast.CreateProtoBundle) error {
	if e.ProtoBundle != nil {
		return status.Error(codes.FailedPrecondition, "There is a PROTO BUNDLE already; change it by ALTER PROTO BUNDLE.")
	}
	return e.setProtoBundle(nil, d.Types)
}

func (e *editor) alterProtoBundle(d *ast.AlterProtoBundle) error {
	if e.ProtoBundle == nil {
		return status.Error(codes.FailedPrecondition, "There is no PROTO BUNDLE to alter.")
	}
	kept := slices.Clone(e.ProtoBundle.Types)
	added := &ast.ProtoBundleTypes{}
	drop := func(names *ast.ProtoBundleTypes) error {
		for _, n := range names.Types {
			t, ok := e.protoType(namedType(n))
			if !ok {
				return status.Errorf(codes.InvalidArgument, "Proto type %s is not in the PROTO BUNDLE.", namedType(n))
			}
			kept = slices.DeleteFunc(kept, func(o *value.Type) bool { return o == t })
		}
		return nil
	}
	if d.Insert != nil {
		added.Types = append(added.Types, d.Insert.Types.Types...)
	}
	if d.Update != nil {
		if err := drop(d.Update.Types); err != nil {
			return err
		}
		added.Types = append(added.Types, d.Update.Types.Types...)
	}
	if d.Delete != nil {
		if err := drop(d.Delete.Types); err != nil {
			return err
		}
	}
	return e.setProtoBundle(kept, added)
}

func (e *editor) dropProtoBundle() error {
	if e.ProtoBundle == nil {
		return status.Error(codes.FailedPrecondition, "There is no PROTO BUNDLE to drop.")
	}
	return e.setProtoBundle(nil, &ast.ProtoBundleTypes{})
}

// setProtoBundle makes the bundle of types that are there and others that the
// request's descriptors describe. Types that columns have must be among them.
func (e *editor) setProtoBundle(kept []*value.Type, added *ast.ProtoBundleTypes) error {
	next := &ProtoBundle{Types: kept, Descriptors: e.descriptors}
	if e.ProtoBundle != nil && len(e.descriptors) == 0 {
		next.Descriptors = e.ProtoBundle.Descriptors
	}
	known, err := describedTypes(next.Descriptors)
	if err != nil {
		return err
	}
	for _, n := range added.Types {
		t, ok := known[namedType(n)]
		if !ok {
			return status.Errorf(codes.InvalidArgument, "Proto type %s is not in the proto descriptors of the request.", namedType(n))
		}
		if slices.ContainsFunc(next.Types, t.Equal) {
			return status.Errorf(codes.InvalidArgument, "Proto type %s is in the PROTO BUNDLE already.", t)
		}
		next.Types = append(next.Types, t)
	}
	for _, t := range e.Tables {
		for _, c := range t.Columns {
			if p := protoOf(c.Type); p != nil && !slices.ContainsFunc(next.Types, p.Equal) {
				return status.Errorf(codes.FailedPrecondition, "Cannot drop proto type %s, which column %s.%s has.", p, t.Name, c.Name)
			}
		}
	}
	e.ProtoBundle = next
	if len(next.Types) == 0 {
		e.ProtoBundle = nil
	}
	return nil
}

// protoOf is the PROTO or ENUM type that a type is or is an array of, or nil.
func protoOf(t *value.Type) *value.Type {
	for t.Code == value.ArrayCode {
		t = t.Elem
	}
	if t.ProtoName == "" {
		return nil
	}
	return t
}

func namedType(n *ast.NamedType) string {
	parts := make([]string, len(n.Path))
	for i, id := range n.Path {
		parts[i] = id.Name
	}
	return strings.Join(parts, ".")
}

// describedTypes are the messages and enums of an encoded FileDescriptorSet by
// their full names.
func describedTypes(descriptors []byte) (map[string]*value.Type, error) {
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(descriptors, &set); err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "Error parsing proto descriptors: %v", err)
	}
	out := make(map[string]*value.Type)
	enums := func(scope string, list []*descriptorpb.EnumDescriptorProto) {
		for _, d := range list {
			out[scope+d.GetName()] = &value.Type{Code: value.EnumCode, ProtoName: scope + d.GetName()}
		}
	}
	var messages func(scope string, list []*descriptorpb.DescriptorProto)
	messages = func(scope string, list []*descriptorpb.DescriptorProto) {
		for _, d := range list {
			name := scope + d.GetName()
			out[name] = &value.Type{Code: value.ProtoCode, ProtoName: name}
			messages(name+".", d.GetNestedType())
			enums(name+".", d.GetEnumType())
		}
	}
	for _, f := range set.GetFile() {
		scope := f.GetPackage()
		if scope != "" {
			scope += "."
		}
		messages(scope, f.GetMessageType())
		enums(scope, f.GetEnumType())
	}
	return out, nil
}

func (b *ProtoBundle) ddl() string {
	text := "CREATE PROTO BUNDLE (\n"
	for _, t := range b.Types {
		text += "  " + googleSQL().quote(t.ProtoName) + ",\n"
	}
	return text + ")"
}
