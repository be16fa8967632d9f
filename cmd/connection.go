package cmd

import (
	"context"
	"fmt"
	"strings"

	"cloud.google.com/go/spanner/apiv1/spannerpb"

	"spanbulk/internal/database"
)

// databaseFlags name the database.
type databaseFlags struct {
	project, instance, database string
}

func (o *databaseFlags) addFlags(fs *flagSet) {
	g := group{fs, groupConnection}
	g.shortText(&o.project, "project", "p", "`id` of the project (default $SPANNER_PROJECT_ID, $GOOGLE_CLOUD_PROJECT)")
	g.shortText(&o.instance, "instance", "i", "`id` of the instance (default $SPANNER_INSTANCE_ID)")
	g.shortText(&o.database, "database", "d", "`id` of the database, or its whole name projects/P/instances/I/databases/D (default $SPANNER_DATABASE_ID)")
}

// connectionOptions say which database, where and as whom.
type connectionOptions struct {
	databaseFlags

	impersonate      string
	keyFile          string
	endpoint         string
	emulatorEndpoint string
	role             string
	channels         int
}

func (o *connectionOptions) addFlags(fs *flagSet) {
	o.databaseFlags.addFlags(fs)
	g := group{fs, groupConnection}
	g.text(&o.keyFile, "service-account-key-file", "`file` with a service account's JSON key (default Application Default Credentials)")
	g.text(&o.impersonate, "impersonate-service-account", "e-mail of the service `account` to act as")
	g.text(&o.emulatorEndpoint, "emulator-endpoint", "`host:port` of an emulator, spoken to without credentials (default $SPANNER_EMULATOR_HOST)")
	g.text(&o.endpoint, "endpoint", "`host:port` of a regional or private service endpoint")
	g.text(&o.role, "database-role", "database `role` for fine-grained access control")
	g.value(&intValue{target: &o.channels, min: 1, max: database.MaxChannels}, "channels", fmt.Sprintf("`number` of gRPC channels, 1 to %d (default chosen from the parallelism)", database.MaxChannels))
}

// name puts the database's name together. A whole name in --database stands
// against ids from weaker places (a variable, the config file), and must agree
// with those that were given as firmly as itself.
func (o *databaseFlags) name(from map[string]origin) (database.Name, error) {
	if !database.IsFullName(o.database) {
		return o.nameFromIDs()
	}
	name, err := database.ParseName(o.database)
	if err != nil {
		return name, usagef("--database: %w", err)
	}
	for _, part := range []struct{ flag, given, whole string }{
		{"project", o.project, name.Project}, {"instance", o.instance, name.Instance},
	} {
		if part.given != "" && part.given != part.whole && from[part.flag] >= from["database"] {
			return name, usagef("--%s %s contradicts --database %s", part.flag, part.given, o.database)
		}
	}
	return name, nil
}

func (o *databaseFlags) nameFromIDs() (database.Name, error) {
	name := database.Name{Project: o.project, Instance: o.instance, Database: o.database}
	var missing []string
	for _, part := range []struct{ flag, id string }{{"project", o.project}, {"instance", o.instance}, {"database", o.database}} {
		if part.id == "" {
			missing = append(missing, "--"+part.flag)
		}
	}
	if len(missing) > 0 {
		e := usagef("%s not given", strings.Join(missing, ", "))
		e.hint = "or give --database projects/P/instances/I/databases/D whole"
		return name, e
	}
	if err := name.Validate(); err != nil {
		return name, &usageError{err: err}
	}
	return name, nil
}

// databaseOptions checks the connection flags and returns what they come to.
// streams is how many streams will be open at once.
func (o *connectionOptions) databaseOptions(a *app, streams int) (database.Options, error) {
	name, err := o.name(a.from)
	if err != nil {
		return database.Options{}, err
	}
	for _, flag := range []struct{ name, value string }{
		{"service-account-key-file", o.keyFile}, {"impersonate-service-account", o.impersonate}, {"endpoint", o.endpoint},
	} {
		if flag.value != "" && o.emulatorEndpoint != "" {
			return database.Options{}, o.emulatorConflict(a, flag.name)
		}
	}
	channels := o.channels
	if channels == 0 {
		channels = database.ChannelsFor(streams)
	}
	options := database.Options{
		Name: name, Endpoint: o.endpoint, EmulatorEndpoint: o.emulatorEndpoint,
		KeyFile: o.keyFile, Impersonate: o.impersonate, Role: o.role,
		Channels: channels, UserAgent: "spanbulk/" + programVersion(), Logger: a.log,
	}
	if err := options.Validate(); err != nil {
		return options, &usageError{err: err}
	}
	return options, nil
}

func (o *connectionOptions) emulatorConflict(a *app, flag string) error {
	e := usagef("--%s and --emulator-endpoint exclude each other", flag)
	if a.from["emulator-endpoint"] == originToolEnv {
		e = usagef("--%s and SPANNER_EMULATOR_HOST exclude each other", flag)
		e.hint = "unset the variable to reach the service"
	}
	return e
}

// connect opens the connection, and says so if it leads to an emulator: rows
// that go to or come from the wrong place are the worst surprise.
func (a *app) connect(ctx context.Context, o database.Options) (*database.Conn, error) {
	if o.EmulatorEndpoint != "" {
		how := "--emulator-endpoint"
		switch a.from["emulator-endpoint"] {
		case originToolEnv:
			how = "SPANNER_EMULATOR_HOST"
		case originEnv:
			how = "SPANBULK_EMULATOR_ENDPOINT"
		case originFile:
			how = "config file"
		}
		a.log.Info("using an emulator, without credentials", "endpoint", database.EmulatorAddress(o.EmulatorEndpoint), "from", how)
	}
	return database.Open(ctx, o)
}

// requestOptions go with every request.
type requestOptions struct {
	priority       priority
	requestTag     string
	transactionTag string
}

type priority string

func (o *requestOptions) addFlags(fs *flagSet) {
	g := group{fs, groupSnapshot}
	g.value(&choiceValue[priority]{target: &o.priority, choices: []priority{"LOW", "MEDIUM", "HIGH"}, upper: true}, "rpc-priority", "`priority` of the requests: LOW, MEDIUM, HIGH (default unset, which the service takes for HIGH)")
	g.value(&tagValue{&o.requestTag}, "request-tag", "`tag` that Spanner's statistics show the requests under")
	g.value(&tagValue{&o.transactionTag}, "transaction-tag", "`tag` that Spanner's statistics show the transactions under")
}

func (o *requestOptions) rpcPriority() spannerpb.RequestOptions_Priority {
	if o.priority == "" {
		return spannerpb.RequestOptions_PRIORITY_UNSPECIFIED
	}
	return spannerpb.RequestOptions_Priority(spannerpb.RequestOptions_Priority_value["PRIORITY_"+string(o.priority)])
}
