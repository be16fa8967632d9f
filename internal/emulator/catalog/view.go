package catalog

import (
	"slices"
	"strings"

	"github.com/cloudspannerecosystem/memefish/ast"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/emulator/value"
)

// View is an immutable CREATE VIEW object.
type View struct {
	// Name is spelled as declared and includes the named schema, if any.
	Name string
	// Query is the view's query, and Text the same as written.
	Query ast.QueryExpr
	Text  string
	// Definer is SQL SECURITY DEFINER; otherwise it is INVOKER.
	Definer bool
	// Columns are those of the query. They are nil until someone who knows SQL
	// has analysed it; see DescribeViews.
	Columns []value.Field
}

// View finds a view by its name, qualified if it is in a named schema.
func (s *Schema) View(name string) (*View, bool) {
	i := slices.IndexFunc(s.Views, func(v *View) bool { return v.Name == name || !s.PostgreSQL && strings.EqualFold(v.Name, name) })
	if i < 0 {
		return nil, false
	}
	return s.Views[i], true
}

// DescribeViews has each view analysed against the schema and notes the columns.
// It is for a schema that is not shared yet. A view that an earlier version of
// the schema had is what a statement breaks if it cannot be analysed any more.
func (s *Schema) DescribeViews(analyse func(*View) ([]value.Field, error)) error {
	for i, v := range s.Views {
		columns, err := analyse(v)
		if err != nil && v.Columns != nil {
			return status.Errorf(codes.FailedPrecondition, "Cannot change what view `%s` depends on: %s", v.Name, status.Convert(err).Message())
		}
		if err != nil {
			return err
		}
		if err := checkViewColumns(v, columns); err != nil {
			return err
		}
		described := *v
		described.Columns = columns
		s.Views[i] = &described
	}
	return nil
}

func checkViewColumns(v *View, columns []value.Field) error {
	var names []string
	for i, c := range columns {
		switch {
		case c.Name == "":
			return status.Errorf(codes.InvalidArgument, "Column %d of view %s has no name.", i+1, v.Name)
		case containsFold(names, c.Name):
			return status.Errorf(codes.InvalidArgument, "View %s has more than one column named %s.", v.Name, c.Name)
		}
		names = append(names, c.Name)
	}
	return nil
}

func (e *editor) createView(d *ast.CreateView) error {
	name := pathName(d.Name)
	v := &View{
		Name: name, Query: d.Query, Definer: d.SecurityType == ast.SecurityTypeDefiner,
		Text: strings.TrimSpace(e.source[d.Query.Pos():d.Query.End()]),
	}
	if i := slices.IndexFunc(e.Views, func(o *View) bool { return strings.EqualFold(o.Name, name) }); i >= 0 && d.OrReplace {
		e.Views[i] = v
		return nil
	}
	if err := e.freeName("View", name); err != nil {
		return err
	}
	e.Views = append(e.Views, v)
	return nil
}

func (e *editor) dropView(d *ast.DropView) error {
	name := pathName(d.Name)
	if _, ok := e.View(name); !ok {
		if d.IfExists {
			return nil
		}
		return status.Errorf(codes.NotFound, "View not found: %s", name)
	}
	e.Views = slices.DeleteFunc(e.Views, func(v *View) bool { return strings.EqualFold(v.Name, name) })
	return nil
}

func (v *View) ddl(p printer) string {
	return "CREATE VIEW " + p.quote(v.Name) + " SQL SECURITY " + v.Security() + " AS " + v.Text
}

// Security is INVOKER or DEFINER.
func (v *View) Security() string {
	if v.Definer {
		return "DEFINER"
	}
	return "INVOKER"
}
