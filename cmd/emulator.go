package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/spanner/admin/database/apiv1/databasepb"
	"github.com/spf13/cobra"

	"spanbulk/internal/database"
	"spanbulk/internal/emulator"
	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/postgres"
	"spanbulk/internal/fault"
)

const emulatorLong = `Emulator serves an in-memory Spanner over gRPC, for trying spanbulk and for tests.

It serves the calls that spanbulk makes; every other answers UNIMPLEMENTED and
names itself. Nothing is kept when it ends. It prints one line with its endpoint
on stdout when it is ready: schema applied, data loaded.

With --dialect postgresql the database is of the PostgreSQL dialect, and so are the
statements of --ddl. What either dialect has and this server has not answers
UNIMPLEMENTED and names itself: DML, window functions.

Columns of PROTO and ENUM types need CREATE PROTO BUNDLE in --ddl, and what describes
the types of the bundle: --proto-descriptors takes what
protoc --descriptor_set_out=FILE writes, in place of the gcloud flag of that name.

With --chaos RATE each call of the Spanner service goes wrong with that
probability, to try what a program makes of it: UNAVAILABLE before the work or
after it, with the answer lost; ABORTED and RESOURCE_EXHAUSTED with a delay to
retry after; streams cut off after some messages; stalls, slow drips, closed
connections. The seed is logged; --chaos-seed repeats a run's faults: the n-th
call of a method has the same one.

With --shuffle-partitions INTERVAL the partitions of change streams split, merge
and move at random, one of each stream every INTERVAL, which Spanner does by load.

It is not for production, and not a substitute for Google's official emulator
where an application is to be tested: https://cloud.google.com/spanner/docs/emulator`

const emulatorExample = `  # One database with a schema and rows from files named after their tables
  spanbulk emulator --database projects/p/instances/i/databases/shop --ddl schema.sql --data rows/

  # One of the PostgreSQL dialect
  spanbulk emulator --database projects/p/instances/i/databases/shop --dialect postgresql --ddl schema.sql

  # With columns of the types that music.proto has
  protoc --descriptor_set_out=music.pb music.proto
  spanbulk emulator --database projects/p/instances/i/databases/shop --ddl schema.sql --proto-descriptors music.pb

  # With one call in twenty going wrong
  spanbulk emulator --database projects/p/instances/i/databases/shop --ddl schema.sql --chaos 0.05

  # With change streams whose partitions change every second
  spanbulk emulator --database projects/p/instances/i/databases/shop --ddl schema.sql --shuffle-partitions 1s

  # On any free port, which the ready line names
  spanbulk emulator --listen 127.0.0.1:0 --database projects/p/instances/i/databases/shop`

// emulatorOptions are the flags of emulator.
type emulatorOptions struct {
	name    databaseFlags
	listen  string
	ddl     string
	protos  string
	data    string
	dialect dialectWord
	chaos   rateValue
	seed    int
	shuffle time.Duration
}

// rateValue is a probability.
type rateValue float64

func (v *rateValue) Type() string   { return "rate" }
func (v *rateValue) String() string { return strconv.FormatFloat(float64(*v), 'g', -1, 64) }

func (v *rateValue) Set(text string) error {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !(f >= 0 && f <= 1) {
		return errors.New("not a number from 0 to 1")
	}
	*v = rateValue(f)
	return nil
}

type dialectWord string

const (
	wordGoogleSQL  dialectWord = "googlesql"
	wordPostgreSQL dialectWord = "postgresql"
)

func newEmulatorCommand(a *app) *cobra.Command {
	o := &emulatorOptions{listen: "127.0.0.1:9010", dialect: wordGoogleSQL}
	c := &cobra.Command{
		Use:     "emulator --database DATABASE [flags]",
		Short:   "Serve an in-memory Spanner for trying and testing",
		Long:    emulatorLong,
		Example: emulatorExample,
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			name, err := o.validate(a)
			if err != nil {
				return err
			}
			a.running = true
			return a.runEmulator(c.Context(), o, name)
		},
	}
	fs := c.Flags()
	fs.SortFlags = false
	g := group{fs, groupServe}
	g.text(&o.listen, "listen", "`host:port` to serve on; port 0 takes any that is free")
	g.text(&o.ddl, "ddl", "`file` with the statements that make the schema")
	g.text(&o.protos, "proto-descriptors", "`file` that describes the types of the PROTO BUNDLE in --ddl: a FileDescriptorSet, as protoc --descriptor_set_out writes it")
	g.text(&o.data, "data", "`directory` with rows to load: one that export wrote, or files as Orders.csv, Orders.ndjson, Orders.avro")
	g.value(&choiceValue[dialectWord]{target: &o.dialect, choices: []dialectWord{wordGoogleSQL, wordPostgreSQL}}, "dialect", "`dialect` of the database: googlesql, postgresql")
	g.value(&o.chaos, "chaos", "`rate`, from 0 to 1, of calls that go wrong at random")
	g.value(&intValue{target: &o.seed, max: math.MaxInt}, "chaos-seed", "`number` that decides which calls go wrong, and how; 0 takes one at random")
	g.value(&durationValue{target: &o.shuffle, min: time.Millisecond, max: math.MaxInt64}, "shuffle-partitions", "`interval` at which partitions of change streams split, merge or move at random; unset, they stay as they are")
	o.name.addFlags(fs)
	return c
}

func (o *emulatorOptions) validate(a *app) (database.Name, error) {
	_, port, err := net.SplitHostPort(o.listen)
	if err != nil {
		return database.Name{}, usagef("--listen %q is not of the form host:port", o.listen)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return database.Name{}, usagef("--listen %q: port %s is not a number from 0 to 65535", o.listen, port)
	}
	if err := o.validateProtos(); err != nil {
		return database.Name{}, err
	}
	name, err := o.name.name(a.from)
	if err != nil {
		return name, err
	}
	if err := emulator.CheckDatabase(name.String()); err != nil {
		return name, &usageError{err: fault.Reading(err, "name", "database "+name.Database)}
	}
	return name, nil
}

// runEmulator serves until ctx ends, which is how a server is ended and no failure.
func (a *app) runEmulator(ctx context.Context, o *emulatorOptions, name database.Name) error {
	statements, err := readDDL(o.ddl, o.dialect)
	if err != nil {
		return err
	}
	descriptors, err := readDescriptors(o.protos)
	if err != nil {
		return err
	}
	server, err := emulator.New(emulator.Options{ChangeStreams: emulator.ChangeStreams{ShuffleEvery: o.shuffle}})
	if err != nil {
		return err
	}
	defer server.Close()
	dialect := databasepb.DatabaseDialect_GOOGLE_STANDARD_SQL
	if o.dialect == wordPostgreSQL {
		dialect = databasepb.DatabaseDialect_POSTGRESQL
	}
	if err := server.CreateDatabaseWith(ctx, name.String(), dialect, descriptors, texts(statements)...); err != nil {
		if failed, ok := errors.AsType[*emulator.StatementError](err); ok {
			return o.ddlFault(failed, statements[failed.Index])
		}
		return fault.Reading(err, "create", name.String())
	}
	if o.data != "" {
		loaded, err := emulator.Load(ctx, server, name.String(), o.data)
		if err != nil {
			return loadFault(err, o.data)
		}
		passed, err := emulator.PassedOver(o.data)
		if err != nil {
			return loadFault(err, o.data)
		}
		for i, path := range passed {
			if i == maxPassedOver {
				a.log.Warn("passed over more files", "files", len(passed)-i)
				break
			}
			a.log.Warn("passed over a file that is not one of a table", "file", path)
		}
		if len(loaded) == 0 {
			a.log.Warn("nothing was loaded: the directory has no file of a table", "data", o.data)
		}
		for _, l := range loaded {
			a.log.Info("loaded", "table", l.Table, "rows", l.Rows)
		}
	}
	if o.chaos > 0 {
		for o.seed == 0 {
			o.seed = rand.Int()
		}
		server.Faults().SetChaos(float64(o.chaos), uint64(o.seed))
		a.log.Info("chaos", "rate", float64(o.chaos), "seed", o.seed)
	}
	endpoint, err := server.Start(o.listen)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(a.streams.Out, "ready: Spanner emulator at %s with %s\n", endpoint, name); err != nil {
		return err
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

// maxPassedOver is how many files that --data does not take are named.
const maxPassedOver = 20

// loadFault names what failed to load, and keeps apart what the database says of
// it, which can hold keys.
func loadFault(err error, data string) error {
	if commit, ok := errors.AsType[*emulator.CommitError](err); ok {
		return fault.Writing(commit.Err, "load", commit.File+": "+commit.Range())
	}
	if strings.HasPrefix(err.Error(), "load ") {
		return err // it names the file
	}
	return fault.Reading(err, "load", data)
}

// ddlStatement is a statement of a DDL file.
type ddlStatement struct {
	text string
	line int // in the file, from 1
}

func texts(statements []ddlStatement) []string {
	out := make([]string, len(statements))
	for i, s := range statements {
		out[i] = s.text
	}
	return out
}

// readDDL reads the statements of a file; none if path is empty.
func readDDL(path string, dialect dialectWord) ([]ddlStatement, error) {
	if path == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read DDL file %s: %w", path, configReason(err))
	}
	text := string(bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))) // as editors on Windows write it
	statements, err := splitDDL(path, text, dialect)
	if err != nil {
		return nil, err
	}
	var out []ddlStatement
	at := 0
	for _, s := range statements {
		if s = strings.TrimSpace(s); s == "" {
			continue
		}
		at += max(strings.Index(text[at:], s), 0)
		out = append(out, ddlStatement{s, 1 + strings.Count(text[:at], "\n") + commentLines(s)})
		at += len(s)
	}
	return out, nil
}

// splitDDL cuts a file at the semicolons that end statements.
func splitDDL(path, text string, dialect dialectWord) ([]string, error) {
	split := catalog.Split
	if dialect == wordPostgreSQL {
		split = postgres.Split
	}
	statements, err := split(text)
	if err != nil {
		return nil, fault.Reading(err, "read", "DDL file "+path)
	}
	return statements, nil
}

// commentLines is how many lines of comments and blanks a statement starts with.
func commentLines(statement string) int {
	n := 0
	for line := range strings.Lines(statement) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "--") && !strings.HasPrefix(line, "#") {
			break
		}
		n++
	}
	return n
}
