package cmd

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	"spanbulk/internal/emulator"
	"spanbulk/internal/fault"
)

// validateProtos refuses descriptors that nothing would look at.
func (o *emulatorOptions) validateProtos() error {
	switch {
	case o.protos == "":
		return nil
	case o.dialect == wordPostgreSQL:
		return usagef("--proto-descriptors: a database of the PostgreSQL dialect has no types of protocol buffers")
	case o.ddl == "":
		return usagef("--proto-descriptors needs --ddl, whose CREATE PROTO BUNDLE names the types")
	}
	return nil
}

// readDescriptors reads an encoded FileDescriptorSet; none if path is empty.
func readDescriptors(path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read proto descriptors %s: %w", path, configReason(err))
	}
	if !isDescriptorSet(raw) {
		return nil, fault.New(codes.InvalidArgument, "read", "proto descriptors "+path, "it is not a FileDescriptorSet").
			WithHint("give what protoc --descriptor_set_out=FILE writes, not a .proto file")
	}
	return raw, nil
}

// isDescriptorSet is stricter than proto.Unmarshal, which takes no bytes at all
// and fields that no FileDescriptorSet has. Imports may be elsewhere: protoc
// leaves them out unless it is told --include_imports.
func isDescriptorSet(raw []byte) bool {
	var set descriptorpb.FileDescriptorSet
	if proto.Unmarshal(raw, &set) != nil || len(set.GetFile()) == 0 || len(set.ProtoReflect().GetUnknown()) > 0 {
		return false
	}
	_, err := protodesc.FileOptions{AllowUnresolvable: true}.NewFiles(&set)
	return err == nil
}

// ddlFault is the error of a statement of --ddl.
func (o *emulatorOptions) ddlFault(failed *emulator.StatementError, statement ddlStatement) error {
	err := fault.Reading(failed.Err, "apply", fmt.Sprintf("%s:%d", o.ddl, statement.line))
	e, ok := errors.AsType[*fault.Error](err)
	switch {
	case !ok || !strings.Contains(failed.Err.Error(), "proto descriptors"):
		return err
	case o.protos == "":
		return e.WithHint("give what protoc --descriptor_set_out=FILE writes for it as --proto-descriptors FILE")
	default:
		return e.WithHint("the descriptors are those of " + o.protos)
	}
}
