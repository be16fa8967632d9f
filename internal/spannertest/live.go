package spannertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	dbadmin "cloud.google.com/go/spanner/admin/database/apiv1"
	"cloud.google.com/go/spanner/admin/database/apiv1/databasepb"
	insadmin "cloud.google.com/go/spanner/admin/instance/apiv1"
	"cloud.google.com/go/spanner/admin/instance/apiv1/instancepb"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"spanbulk/internal/database"
)

// adminTimeout bounds the making or dropping of a database, which takes the
// service up to some minutes.
const adminTimeout = 10 * time.Minute

// createLive makes a database on the server that the environment names.
func createLive(ctx context.Context, o Options) (*Database, func() error, error) {
	making, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	d, err := liveDatabase(making)
	if err != nil {
		return nil, nil, err
	}
	admin, err := dbadmin.NewDatabaseAdminClient(ctx, clientOptions(d.Endpoint)...)
	if err != nil {
		return nil, nil, err
	}
	if err := create(making, admin, d.Name, o); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%w in %q", err, o.DDL), admin.Close())
	}
	return d, func() error {
		dropping, cancel := context.WithTimeout(ctx, adminTimeout)
		defer cancel()
		err := admin.DropDatabase(dropping, &databasepb.DropDatabaseRequest{Database: d.Name.String()})
		if err != nil {
			err = fmt.Errorf("drop %s, which is left behind: %w", d.Name, err)
		}
		return errors.Join(err, admin.Close())
	}, nil
}

// liveDatabase chooses a new name on the server, and makes an emulator's
// instance.
func liveDatabase(ctx context.Context) (*Database, error) {
	id := fmt.Sprintf("spanbulk-test-%08x", rand.Uint32())
	if host := os.Getenv("SPANNER_EMULATOR_HOST"); host != "" {
		d := &Database{
			Name:     database.Name{Project: "spanbulk-test", Instance: "live", Database: id},
			Endpoint: database.EmulatorAddress(host),
		}
		return d, ensureInstance(ctx, d)
	}
	text := os.Getenv("SPANBULK_TEST_DATABASE")
	if text == "" {
		return nil, fmt.Errorf("SPANBULK_TEST_LIVE is set, but neither SPANNER_EMULATOR_HOST nor SPANBULK_TEST_DATABASE")
	}
	name, err := database.ParseName(text)
	if err != nil {
		return nil, fmt.Errorf("SPANBULK_TEST_DATABASE: %w", err)
	}
	name.Database = id
	return &Database{Name: name}, nil
}

// clientOptions connect the admin clients; an empty endpoint is the service.
func clientOptions(endpoint string) []option.ClientOption {
	if endpoint == "" {
		return nil
	}
	return []option.ClientOption{option.WithEndpoint(endpoint), option.WithoutAuthentication(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials()))}
}

func ensureInstance(ctx context.Context, d *Database) error {
	admin, err := insadmin.NewInstanceAdminClient(ctx, clientOptions(d.Endpoint)...)
	if err != nil {
		return err
	}
	defer admin.Close()
	project := "projects/" + d.Name.Project
	op, err := admin.CreateInstance(ctx, &instancepb.CreateInstanceRequest{
		Parent: project, InstanceId: d.Name.Instance,
		Instance: &instancepb.Instance{Config: project + "/instanceConfigs/emulator-config", DisplayName: "tests", NodeCount: 1},
	})
	if err == nil {
		_, err = op.Wait(ctx)
	}
	if err != nil && status.Code(err) != codes.AlreadyExists {
		return fmt.Errorf("make instance %s: %w", d.Name.Instance, err)
	}
	return nil
}

// create makes a database. A PostgreSQL one takes its schema only afterwards
// (CreateDatabaseRequest.extra_statements).
func create(ctx context.Context, admin *dbadmin.DatabaseAdminClient, name database.Name, o Options) error {
	req := &databasepb.CreateDatabaseRequest{
		Parent:          "projects/" + name.Project + "/instances/" + name.Instance,
		CreateStatement: "CREATE DATABASE `" + name.Database + "`",
		DatabaseDialect: o.Dialect,
		ExtraStatements: o.DDL,
	}
	later := []string(nil)
	if o.Dialect == databasepb.DatabaseDialect_POSTGRESQL {
		req.CreateStatement = `CREATE DATABASE "` + name.Database + `"`
		req.ExtraStatements, later = nil, o.DDL
	}
	op, err := admin.CreateDatabase(ctx, req)
	if err != nil {
		return err
	}
	if _, err := op.Wait(ctx); err != nil || len(later) == 0 {
		return err
	}
	update, err := admin.UpdateDatabaseDdl(ctx, &databasepb.UpdateDatabaseDdlRequest{Database: name.String(), Statements: later})
	if err != nil {
		return err
	}
	return update.Wait(ctx)
}
