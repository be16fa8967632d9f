package emulator

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	"cloud.google.com/go/spanner/admin/database/apiv1/databasepb"
	"cloud.google.com/go/spanner/admin/instance/apiv1/instancepb"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/emulator/changestream"
	"spanbulk/internal/emulator/store"
)

// registry holds what exists: instances, databases, operations.
type registry struct {
	mu         sync.Mutex
	instances  map[string]*instancepb.Instance
	databases  map[string]*database
	operations map[string]*longrunningpb.Operation
	lastOp     int
}

func newRegistry() registry {
	return registry{
		instances:  make(map[string]*instancepb.Instance),
		databases:  make(map[string]*database),
		operations: make(map[string]*longrunningpb.Operation),
	}
}

// database is one database with what clients opened in it.
type database struct {
	name    databaseName
	dialect databasepb.DatabaseDialect
	created time.Time
	store   *store.Store

	sessions     sessions
	transactions transactions
}

// postgreSQL tells the dialect.
func (db *database) postgreSQL() bool {
	return db.dialect == databasepb.DatabaseDialect_POSTGRESQL
}

// databaseName is a parsed projects/P/instances/I/databases/D.
type databaseName struct {
	project, instanceID, id string
}

func (n databaseName) String() string { return n.instance() + "/databases/" + n.id }

func (n databaseName) instance() string {
	return fmt.Sprintf("projects/%s/instances/%s", n.project, n.instanceID)
}

func parseDatabase(name string) (databaseName, error) {
	p := strings.Split(name, "/")
	if len(p) != 6 || p[0] != "projects" || p[2] != "instances" || p[4] != "databases" || p[1] == "" || p[3] == "" || p[5] == "" {
		return databaseName{}, status.Errorf(codes.InvalidArgument, "Invalid database name: %q is not projects/P/instances/I/databases/D", name)
	}
	return databaseName{p[1], p[3], p[5]}, nil
}

// resourceError is NOT_FOUND with the ResourceInfo that clients look at.
func resourceError(kind, service, name string) error {
	st := status.Newf(codes.NotFound, "%s not found: %s", kind, name)
	info := &errdetails.ResourceInfo{ResourceType: "type.googleapis.com/google.spanner." + service + "." + kind, ResourceName: name}
	if d, err := st.WithDetails(info); err == nil {
		st = d
	}
	return st.Err()
}

func (r *registry) findDatabase(name string) (*database, error) {
	parts, err := parseDatabase(name)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.instances[parts.instance()]; !ok {
		return nil, resourceError("Instance", "admin.instance.v1", parts.instance())
	}
	db, ok := r.databases[name]
	if !ok {
		return nil, resourceError("Database", "admin.database.v1", name)
	}
	return db, nil
}

var (
	// looseID is databaseID for databases that no client creates: manuals and
	// tests like one-letter ids.
	looseID    = regexp.MustCompile(`^[a-z]([-a-z0-9_]{0,28}[a-z0-9])?$`)
	databaseID = regexp.MustCompile(`^[a-z][-a-z0-9_]{0,28}[a-z0-9]$`)
	instanceID = regexp.MustCompile(`^[a-z][-a-z0-9]{0,62}[a-z0-9]$`)
)

const maxDatabases = 100

// CheckDatabase reports whether CreateDatabase takes a full name: by the
// service's rules, but that the id may be a single letter.
func CheckDatabase(name string) error {
	parts, err := parseDatabase(name)
	if err != nil {
		return err
	}
	return checkID(parts.id, looseID)
}

func checkID(id string, rule *regexp.Regexp) error {
	if !rule.MatchString(id) {
		return status.Errorf(codes.InvalidArgument, "Database name not valid: %q must match %s", id, rule)
	}
	return nil
}

// createDatabase makes a database in an instance that exists. If a statement
// fails there is no database.
func (s *Server) createDatabase(name databaseName, dialect databasepb.DatabaseDialect, ddl []string, descriptors []byte) (*database, error) {
	if dialect == databasepb.DatabaseDialect_DATABASE_DIALECT_UNSPECIFIED {
		dialect = databasepb.DatabaseDialect_GOOGLE_STANDARD_SQL
	}
	db := &database{name: name, dialect: dialect, created: s.opts.Now()}
	if db.postgreSQL() {
		db.store = store.NewPostgreSQL(s.compiler(), s.opts.Now, name.id)
	} else {
		db.store = store.New(s.compiler(), s.opts.Now)
	}
	db.store.Changes().Configure(changestream.Options{
		PostgreSQL: db.postgreSQL(),
		Partitions: s.opts.ChangeStreams.Partitions,
	})
	db.sessions.init()
	db.transactions.init()
	if err := s.admissible(name); err != nil {
		return nil, err // before the work
	}
	if applied, err := db.store.ApplyDDLWith(ddl, descriptors); err != nil {
		return nil, &StatementError{Index: len(applied), Err: err}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// Another one of the name may have come meanwhile.
	if err := s.admissibleLocked(name); err != nil {
		return nil, err
	}
	s.databases[name.String()] = db
	return db, nil
}

// forgetDatabase drops a database, if there is one, with its operations, and
// ends what reads its change streams. It is called with the lock held.
func (r *registry) forgetDatabase(name string) {
	db, ok := r.databases[name]
	if !ok {
		return
	}
	db.store.Changes().Close()
	delete(r.databases, name)
	for _, op := range namesUnder(r.operations, name+"/") {
		delete(r.operations, op)
	}
}

func (s *Server) admissible(name databaseName) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.admissibleLocked(name)
}

func (s *Server) admissibleLocked(name databaseName) error {
	if _, ok := s.instances[name.instance()]; !ok {
		return resourceError("Instance", "admin.instance.v1", name.instance())
	}
	if _, exists := s.databases[name.String()]; exists {
		return status.Errorf(codes.AlreadyExists, "Database already exists: %s", name)
	}
	n := 0
	for other := range s.databases {
		if strings.HasPrefix(other, name.instance()+"/") {
			n++
		}
	}
	if n >= maxDatabases {
		return status.Errorf(codes.ResourceExhausted, "Too many databases on instance %s; the limit is %d.", name.instance(), maxDatabases)
	}
	return nil
}

func (s *Server) ensureInstance(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.instances[name]; !ok {
		s.instances[name] = newInstance(name, &instancepb.Instance{NodeCount: 1})
	}
	return nil
}

// page cuts one page out of sorted names: those after token.
func page(names []string, size int32, token string) (out []string, next string) {
	slices.Sort(names)
	at, found := slices.BinarySearch(names, token)
	if found {
		at++
	}
	names = names[at:]
	if size <= 0 || size > 1000 {
		size = 1000
	}
	if len(names) > int(size) {
		return names[:size], names[size-1]
	}
	return names, ""
}

func namesUnder[T any](m map[string]T, prefix string) []string {
	return slices.DeleteFunc(slices.Collect(maps.Keys(m)), func(n string) bool { return !strings.HasPrefix(n, prefix) })
}
