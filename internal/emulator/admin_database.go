package emulator

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	"cloud.google.com/go/spanner/admin/database/apiv1/databasepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"spanbulk/internal/emulator/catalog"
)

// databaseAdmin serves google.spanner.admin.database.v1.DatabaseAdmin.
type databaseAdmin struct {
	databasepb.UnimplementedDatabaseAdminServer
	*Server
}

var createPostgreSQL = regexp.MustCompile(`(?i)^\s*CREATE\s+DATABASE\s+"([^"]+)"\s*;?\s*$`)

// CreateDatabase makes a database at once.
func (a databaseAdmin) CreateDatabase(_ context.Context, req *databasepb.CreateDatabaseRequest) (*longrunningpb.Operation, error) {
	id, err := createdID(req)
	if err != nil {
		return nil, err
	}
	name, err := parseDatabase(req.GetParent() + "/databases/" + id)
	if err != nil {
		return nil, err
	}
	if err := checkID(name.id, databaseID); err != nil {
		return nil, err
	}
	if req.GetDatabaseDialect() == databasepb.DatabaseDialect_POSTGRESQL && len(req.GetExtraStatements()) > 0 {
		return nil, status.Error(codes.InvalidArgument, "DDL statements other than <CREATE DATABASE> are not allowed in database creation request for PostgreSQL-enabled databases.")
	}
	db, err := a.createDatabase(name, req.GetDatabaseDialect(), req.GetExtraStatements(), req.GetProtoDescriptors())
	if failed, ok := errors.AsType[*StatementError](err); ok {
		return nil, failed.Err
	}
	if err != nil {
		return nil, err
	}
	return a.done(name.String(), "", &databasepb.CreateDatabaseMetadata{Database: name.String()}, db.describe(), nil)
}

func createdID(req *databasepb.CreateDatabaseRequest) (string, error) {
	if strings.TrimSpace(req.GetCreateStatement()) == "" {
		return "", status.Error(codes.InvalidArgument, "Create database statement is empty.")
	}
	if req.GetDatabaseDialect() != databasepb.DatabaseDialect_POSTGRESQL {
		return catalog.DatabaseName(req.GetCreateStatement())
	}
	m := createPostgreSQL.FindStringSubmatch(req.GetCreateStatement())
	if m == nil {
		return "", status.Error(codes.InvalidArgument, `Expected CREATE DATABASE "name"`)
	}
	return m[1], nil
}

func (db *database) describe() *databasepb.Database {
	return &databasepb.Database{
		Name:                   db.name.String(),
		State:                  databasepb.Database_READY,
		CreateTime:             timestamppb.New(db.created),
		DatabaseDialect:        db.dialect,
		VersionRetentionPeriod: retentionText(db.store.Schema().VersionRetention()),
		EarliestVersionTime:    timestamppb.New(db.store.EarliestVersion()),
	}
}

func retentionText(d time.Duration) string {
	switch {
	case d%(24*time.Hour) == 0:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	case d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	default:
		return fmt.Sprintf("%ds", d/time.Second)
	}
}

// GetDatabase gives one database.
func (a databaseAdmin) GetDatabase(_ context.Context, req *databasepb.GetDatabaseRequest) (*databasepb.Database, error) {
	db, err := a.findDatabase(req.GetName())
	if err != nil {
		return nil, err
	}
	return db.describe(), nil
}

// ListDatabases gives the databases of an instance.
func (a databaseAdmin) ListDatabases(_ context.Context, req *databasepb.ListDatabasesRequest) (*databasepb.ListDatabasesResponse, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.instances[req.GetParent()]; !ok {
		return nil, resourceError("Instance", "admin.instance.v1", req.GetParent())
	}
	names, next := page(namesUnder(a.databases, req.GetParent()+"/"), req.GetPageSize(), req.GetPageToken())
	resp := &databasepb.ListDatabasesResponse{NextPageToken: next}
	for _, n := range names {
		resp.Databases = append(resp.Databases, a.databases[n].describe())
	}
	return resp, nil
}

// DropDatabase drops a database and its sessions; a missing one is no error.
func (a databaseAdmin) DropDatabase(_ context.Context, req *databasepb.DropDatabaseRequest) (*emptypb.Empty, error) {
	name, err := parseDatabase(req.GetDatabase())
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.instances[name.instance()]; !ok {
		return nil, resourceError("Instance", "admin.instance.v1", name.instance())
	}
	a.forgetDatabase(name.String())
	return &emptypb.Empty{}, nil
}

// GetDatabaseDdl prints the schema.
func (a databaseAdmin) GetDatabaseDdl(_ context.Context, req *databasepb.GetDatabaseDdlRequest) (*databasepb.GetDatabaseDdlResponse, error) {
	db, err := a.findDatabase(req.GetDatabase())
	if err != nil {
		return nil, err
	}
	schema := db.store.Schema()
	resp := &databasepb.GetDatabaseDdlResponse{Statements: schema.DDL(db.name.id)}
	if schema.ProtoBundle != nil {
		resp.ProtoDescriptors = schema.ProtoBundle.Descriptors
	}
	return resp, nil
}

var operationID = regexp.MustCompile(`^[a-z][a-z0-9_]{1,127}$`)

// UpdateDatabaseDdl applies statements one by one. One that fails for its text
// or the schema fails the call; one that fails for the data fails the
// operation. Those before it stay applied.
func (a databaseAdmin) UpdateDatabaseDdl(_ context.Context, req *databasepb.UpdateDatabaseDdlRequest) (*longrunningpb.Operation, error) {
	db, err := a.findDatabase(req.GetDatabase())
	if err != nil {
		return nil, err
	}
	if len(req.GetStatements()) == 0 {
		return nil, status.Error(codes.InvalidArgument, "UpdateDatabaseDdl requests must specify at least one statement.")
	}
	if id := req.GetOperationId(); id != "" && !operationID.MatchString(id) {
		return nil, status.Errorf(codes.InvalidArgument, "Invalid operation id: %q must match %s", id, operationID)
	}
	if err := db.store.CheckDDL(req.GetStatements(), req.GetProtoDescriptors()); err != nil {
		return nil, err
	}
	if err := a.operationFree(db.name.String(), req.GetOperationId()); err != nil {
		return nil, err
	}
	applied, err := db.store.ApplyDDLWith(req.GetStatements(), req.GetProtoDescriptors())
	meta := &databasepb.UpdateDatabaseDdlMetadata{Database: db.name.String(), Statements: req.GetStatements()}
	for _, ts := range applied {
		meta.CommitTimestamps = append(meta.CommitTimestamps, timestamppb.New(ts))
	}
	return a.done(db.name.String(), req.GetOperationId(), meta, &emptypb.Empty{}, err)
}
