package catalog

import (
	"errors"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/cloudspannerecosystem/memefish"
	"github.com/cloudspannerecosystem/memefish/ast"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Empty is the schema of a new database.
func Empty() *Schema {
	s := &Schema{}
	s.reindex()
	return s
}

// EmptyPostgreSQL is the schema of a new database in the PostgreSQL dialect.
func EmptyPostgreSQL(database string) *Schema {
	s := Empty()
	s.PostgreSQL, s.Database = true, database
	return s
}

// Apply gives the schema after one DDL statement. Errors are gRPC
// statuses with Spanner's codes. CREATE DATABASE is not for Apply.
func (s *Schema) Apply(statement string) (*Schema, error) {
	return s.ApplyWith(statement, nil)
}

func (e *editor) statement() error {
	stream, err := parseStreamStatement(e.source, e.PostgreSQL)
	if err != nil {
		return err
	}
	if stream != nil {
		return e.applyStream(stream)
	}
	if e.PostgreSQL {
		return e.applyPostgreSQL()
	}
	if err := CheckNesting(e.source); err != nil {
		return err
	}
	ddl, err := parseDDL(parseable(e.source))
	if err != nil {
		return err
	}
	return e.apply(ddl)
}

func parseDDL(statement string) (ddl ast.DDL, err error) {
	err = Guard(unclosedLiteral(), func() error {
		if ddl, err = memefish.ParseDDL("", statement); err != nil {
			return syntaxError(err)
		}
		return nil
	})
	return ddl, err
}

// DatabaseName is the name in a CREATE DATABASE statement.
func DatabaseName(statement string) (string, error) {
	ddl, err := parseDDL(withoutSemicolon(statement))
	if err != nil {
		return "", err
	}
	create, ok := ddl.(*ast.CreateDatabase)
	if !ok {
		return "", status.Error(codes.InvalidArgument, "Expected CREATE DATABASE statement")
	}
	return create.Name.Name, nil
}

// withoutSemicolon drops a closing semicolon, which the grammar does not know.
func withoutSemicolon(statement string) string {
	return strings.TrimRight(statement, "; \t\r\n")
}

// syntaxError keeps to one line of what the parser says.
func syntaxError(err error) error {
	text := err.Error()
	var list memefish.MultiError
	if errors.As(err, &list) && len(list) > 0 {
		text = list[0].Message
	}
	text, _, _ = strings.Cut(text, "\n")
	return status.Errorf(codes.InvalidArgument, "Error parsing Spanner DDL statement: %s", text)
}

// editor applies one statement to a schema that is not yet shared.
type editor struct {
	*Schema
	source string
	// nullsFirst is where PostgreSQL's statement says that NULLs go in an index.
	nullsFirst map[ast.Node]bool
	// descriptors are the proto_descriptors of the request.
	descriptors []byte
}

func (e *editor) apply(ddl ast.DDL) error {
	switch d := ddl.(type) {
	case *ast.CreateTable:
		return e.createTable(d)
	case *ast.AlterTable:
		return e.alterTable(d)
	case *ast.DropTable:
		return e.dropTable(d)
	case *ast.CreateIndex:
		return e.createIndex(d)
	case *ast.AlterIndex:
		return e.alterIndex(d)
	case *ast.DropIndex:
		return e.dropIndex(d)
	case *ast.AlterDatabase:
		return e.alterDatabase(d)
	case *ast.CreateSchema:
		return e.createSchema(d)
	case *ast.DropSchema:
		return e.dropSchema(d)
	case *ast.CreateSequence:
		return e.createSequence(d)
	case *ast.AlterSequence:
		return e.alterSequence(d)
	case *ast.DropSequence:
		return e.dropSequence(d)
	case *ast.CreateView:
		return e.createView(d)
	case *ast.DropView:
		return e.dropView(d)
	case *ast.CreateProtoBundle:
		return e.createProtoBundle(d)
	case *ast.AlterProtoBundle:
		return e.alterProtoBundle(d)
	case *ast.DropProtoBundle:
		return e.dropProtoBundle()
	case *ast.Analyze:
		return nil
	}
	keywords := strings.Fields(e.source)
	return status.Errorf(codes.Unimplemented, "DDL statement %s is not supported", strings.ToUpper(strings.Join(keywords[:min(2, len(keywords))], " ")))
}

// clone copies the schema's own lists; what they point to is shared.
func (s *Schema) clone() *Schema {
	c := *s
	c.Tables = slices.Clone(s.Tables)
	c.NamedSchemas = slices.Clone(s.NamedSchemas)
	c.ChangeStreams = slices.Clone(s.ChangeStreams)
	c.Sequences = slices.Clone(s.Sequences)
	c.Views = slices.Clone(s.Views)
	c.Options = slices.Clone(s.Options)
	return &c
}

func (s *Schema) reindex() {
	s.tables = make(map[string]*Table, len(s.Tables))
	s.indexes = make(map[string]indexRef)
	for _, t := range s.Tables {
		s.tables[Fold(t.Name)] = t
		for _, x := range t.Indexes {
			s.indexes[Fold(x.Name)] = indexRef{t, x}
		}
	}
}

// edit replaces a table by a copy that change may alter, keeping columns and
// lists of the old one intact.
func (e *editor) edit(t *Table, change func(*Table) error) error {
	c := *t
	c.Columns = make([]*Column, len(t.Columns))
	for i, col := range t.Columns {
		copied := *col
		c.Columns[i] = &copied
	}
	c.PrimaryKey = slices.Clone(t.PrimaryKey)
	c.Indexes = slices.Clone(t.Indexes)
	c.ForeignKeys = slices.Clone(t.ForeignKeys)
	c.Checks = slices.Clone(t.Checks)
	c.index()
	if err := change(&c); err != nil {
		return err
	}
	c.index()
	e.Tables[slices.Index(e.Tables, t)] = &c
	e.reindex()
	return nil
}

func (e *editor) newID() int {
	e.nextID++
	return e.nextID
}

// taken refuses a name that another object of the schema has.
func (e *editor) taken(name string) error {
	lower := Fold(name)
	_, isTable := e.tables[lower]
	_, isIndex := e.indexes[lower]
	_, isStream := e.ChangeStream(name)
	same := func(other string) bool { return strings.EqualFold(other, name) }
	_, isSequence := e.Sequence(name)
	_, isView := e.View(name)
	if isTable || isIndex || isStream || isSequence || isView || e.isConstraint(same) || e.isReadFunction(lower) {
		return status.Errorf(codes.FailedPrecondition, "Duplicate name in schema: %s.", name)
	}
	return nil
}

// isReadFunction tells whether the name is that of a change stream's read
// function.
func (e *editor) isReadFunction(lower string) bool {
	stream, ok := strings.CutPrefix(lower, Fold(readFunctionPrefix))
	if ok {
		_, ok = e.ChangeStream(stream)
	}
	return ok
}

func (e *editor) isConstraint(same func(string) bool) bool {
	return slices.ContainsFunc(e.Tables, func(t *Table) bool {
		return slices.ContainsFunc(t.ForeignKeys, func(f *ForeignKey) bool { return same(f.Name) }) ||
			slices.ContainsFunc(t.Checks, func(c *Check) bool { return same(c.Name) })
	})
}

// freeName is what it takes for a new object of a kind ("Table"): its name must
// be one, and free, and its named schema, if any, must exist.
func (e *editor) freeName(kind, name string) error {
	if err := e.checkName(kind, name); err != nil {
		return err
	}
	if schema, _ := splitName(name); schema != "" && !containsFold(e.NamedSchemas, schema) {
		return status.Errorf(codes.NotFound, "Schema not found: %s", schema)
	}
	return e.taken(name)
}

func (e *editor) table(p *ast.Path) (*Table, error) {
	t, ok := e.Table(pathName(p))
	if !ok {
		return nil, status.Errorf(codes.NotFound, "Table not found: %s", pathName(p))
	}
	return t, nil
}

func (e *editor) expr(node ast.Expr) *Expr {
	return &Expr{Node: node, Text: strings.TrimSpace(e.source[node.Pos():node.End()])}
}

func pathName(p *ast.Path) string {
	parts := make([]string, len(p.Idents))
	for i, id := range p.Idents {
		parts[i] = id.Name
	}
	return strings.Join(parts, ".")
}

func containsFold(list []string, name string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, name) })
}

// hash16 is the 16 hexadecimal digits in names that Spanner makes up. They
// depend on the object alone, so that the same DDL gives the same names.
func hash16(parts ...string) string {
	h := fnv.New64a()
	for _, p := range parts {
		h.Write([]byte(Fold(p)))
		h.Write([]byte{0})
	}
	const digits = "0123456789ABCDEF"
	var out [16]byte
	sum := h.Sum64()
	for i := range out {
		out[i] = digits[sum>>60]
		sum <<= 4
	}
	return string(out[:])
}
