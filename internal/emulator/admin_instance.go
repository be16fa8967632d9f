package emulator

import (
	"context"
	"strings"

	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	"cloud.google.com/go/spanner/admin/instance/apiv1/instancepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// instanceAdmin serves google.spanner.admin.instance.v1.InstanceAdmin.
type instanceAdmin struct {
	instancepb.UnimplementedInstanceAdminServer
	*Server
}

const configID = "emulator-config"

func projectOf(name string) string {
	parts := strings.SplitN(name, "/", 3)
	if len(parts) < 2 || parts[0] != "projects" {
		return ""
	}
	return parts[1]
}

func newInstance(name string, from *instancepb.Instance) *instancepb.Instance {
	in := &instancepb.Instance{
		Name:            name,
		Config:          "projects/" + projectOf(name) + "/instanceConfigs/" + configID,
		DisplayName:     from.GetDisplayName(),
		NodeCount:       from.GetNodeCount(),
		ProcessingUnits: from.GetProcessingUnits(),
		Labels:          from.GetLabels(),
		State:           instancepb.Instance_READY,
	}
	if in.ProcessingUnits == 0 {
		in.ProcessingUnits = in.NodeCount * 1000
	}
	return in
}

// CreateInstance makes an instance at once.
func (a instanceAdmin) CreateInstance(_ context.Context, req *instancepb.CreateInstanceRequest) (*longrunningpb.Operation, error) {
	name := req.GetParent() + "/instances/" + req.GetInstanceId()
	switch {
	case projectOf(req.GetParent()) == "":
		return nil, status.Errorf(codes.InvalidArgument, "Invalid project name: %q", req.GetParent())
	case !instanceID.MatchString(req.GetInstanceId()):
		return nil, status.Errorf(codes.InvalidArgument, "Invalid instance id: %q must match %s", req.GetInstanceId(), instanceID)
	case req.GetInstance().GetName() != "" && req.GetInstance().GetName() != name:
		return nil, status.Errorf(codes.InvalidArgument, "Mismatching instance name: %q is not %q", req.GetInstance().GetName(), name)
	}
	a.mu.Lock()
	_, exists := a.instances[name]
	in := newInstance(name, req.GetInstance())
	if !exists {
		a.instances[name] = in
	}
	a.mu.Unlock()
	if exists {
		return nil, status.Errorf(codes.AlreadyExists, "Instance already exists: %s", name)
	}
	now := timestamppb.New(a.opts.Now())
	return a.done(name, "", &instancepb.CreateInstanceMetadata{Instance: in, StartTime: now, EndTime: now}, in, nil)
}

// GetInstance gives one instance.
func (a instanceAdmin) GetInstance(_ context.Context, req *instancepb.GetInstanceRequest) (*instancepb.Instance, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	in, ok := a.instances[req.GetName()]
	if !ok {
		return nil, resourceError("Instance", "admin.instance.v1", req.GetName())
	}
	return in, nil
}

// ListInstances gives the instances of a project.
func (a instanceAdmin) ListInstances(_ context.Context, req *instancepb.ListInstancesRequest) (*instancepb.ListInstancesResponse, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	names, next := page(namesUnder(a.instances, req.GetParent()+"/"), req.GetPageSize(), req.GetPageToken())
	resp := &instancepb.ListInstancesResponse{NextPageToken: next}
	for _, n := range names {
		resp.Instances = append(resp.Instances, a.instances[n])
	}
	return resp, nil
}

// DeleteInstance drops an instance with its databases; a missing one is no
// error.
func (a instanceAdmin) DeleteInstance(_ context.Context, req *instancepb.DeleteInstanceRequest) (*emptypb.Empty, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.instances, req.GetName())
	for _, n := range namesUnder(a.databases, req.GetName()+"/") {
		a.forgetDatabase(n)
	}
	return &emptypb.Empty{}, nil
}

func instanceConfig(project string) *instancepb.InstanceConfig {
	return &instancepb.InstanceConfig{
		Name:        "projects/" + project + "/instanceConfigs/" + configID,
		DisplayName: "In-memory",
		State:       instancepb.InstanceConfig_READY,
	}
}

// GetInstanceConfig gives the one configuration there is.
func (a instanceAdmin) GetInstanceConfig(_ context.Context, req *instancepb.GetInstanceConfigRequest) (*instancepb.InstanceConfig, error) {
	c := instanceConfig(projectOf(req.GetName()))
	if c.Name != req.GetName() {
		return nil, status.Errorf(codes.NotFound, "Instance config not found: %s", req.GetName())
	}
	return c, nil
}

// ListInstanceConfigs gives the one configuration there is.
func (a instanceAdmin) ListInstanceConfigs(_ context.Context, req *instancepb.ListInstanceConfigsRequest) (*instancepb.ListInstanceConfigsResponse, error) {
	return &instancepb.ListInstanceConfigsResponse{InstanceConfigs: []*instancepb.InstanceConfig{instanceConfig(projectOf(req.GetParent()))}}, nil
}
