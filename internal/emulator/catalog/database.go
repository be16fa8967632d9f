package catalog

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cloudspannerecosystem/memefish/ast"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Limits of version_retention_period.
const (
	minRetention = time.Hour
	maxRetention = 7 * 24 * time.Hour
)

func (e *editor) alterDatabase(d *ast.AlterDatabase) error {
	opts, err := options(d.Options)
	if err != nil {
		return err
	}
	for _, o := range opts {
		switch strings.ToLower(o.Name) {
		case "version_retention_period":
			if _, err := retention(o.Value); err != nil {
				return err
			}
		case "default_leader", "optimizer_version", "optimizer_statistics_package", "default_sequence_kind", "default_time_zone", "read_lease_regions", "columnar_policy":
		default:
			return status.Errorf(codes.InvalidArgument, "Option: %s is unknown.", o.Name)
		}
	}
	e.Options = mergeOptions(e.Options, opts)
	return nil
}

// VersionRetention is how far back reads may go.
func (s *Schema) VersionRetention() time.Duration {
	if lit, ok := s.Option("version_retention_period"); ok {
		if d, err := retention(lit); err == nil {
			return d
		}
	}
	return DefaultVersionRetention
}

func retention(literal string) (time.Duration, error) {
	d, ok := ParseDuration(Unquote(literal))
	if !ok || d < minRetention || d > maxRetention {
		return 0, status.Errorf(codes.InvalidArgument, "Invalid version_retention_period: %s must be a value in the range [1h, 7d].", literal)
	}
	return d, nil
}

// ParseDuration reads Spanner's durations in options: a whole number and one
// of d, h, m, s.
func ParseDuration(s string) (time.Duration, bool) {
	if s == "" {
		return 0, false
	}
	unit := map[byte]time.Duration{'d': 24 * time.Hour, 'h': time.Hour, 'm': time.Minute, 's': time.Second}[s[len(s)-1]]
	n, err := strconv.ParseInt(s[:len(s)-1], 10, 32)
	return time.Duration(n) * unit, err == nil && unit != 0 && n >= 0
}

// Unquote is the text of a string literal as Option.Value holds it; other
// literals come back as they are.
func Unquote(literal string) string {
	if len(literal) >= 2 && literal[0] == '\'' && literal[len(literal)-1] == '\'' {
		return strings.NewReplacer(`\'`, `'`, `\\`, `\`).Replace(literal[1 : len(literal)-1])
	}
	return literal
}

func quote(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}

// options reads an OPTIONS clause. A NULL value has the Value "".
func options(o *ast.Options) ([]Option, error) {
	if o == nil {
		return nil, nil
	}
	var out []Option
	for _, r := range o.Records {
		if slices.ContainsFunc(out, func(o Option) bool { return strings.EqualFold(o.Name, r.Name.Name) }) {
			return nil, status.Errorf(codes.InvalidArgument, "Duplicate option: %s.", r.Name.Name)
		}
		opt := Option{Name: r.Name.Name}
		switch v := r.Value.(type) {
		case *ast.StringLiteral:
			opt.Value = quote(v.Value)
		case *ast.BoolLiteral:
			opt.Value = strconv.FormatBool(v.Value)
		case *ast.IntLiteral:
			opt.Value = v.Value
		case *ast.NullLiteral:
		default:
			return nil, status.Errorf(codes.InvalidArgument, "Unexpected value for option: %s.", opt.Name)
		}
		out = append(out, opt)
	}
	return out, nil
}

// mergeOptions sets options over those that are there; NULL takes one away.
func mergeOptions(old, set []Option) []Option {
	merged := slices.Clone(old)
	for _, o := range set {
		i := slices.IndexFunc(merged, func(m Option) bool { return strings.EqualFold(m.Name, o.Name) })
		switch {
		case i < 0 && o.Value != "":
			merged = append(merged, o)
		case i >= 0 && o.Value != "":
			merged[i] = o
		case i >= 0:
			merged = slices.Delete(merged, i, i+1)
		}
	}
	return merged
}

func (e *editor) createSchema(d *ast.CreateSchema) error {
	if containsFold(e.NamedSchemas, d.Name.Name) {
		if d.IfNotExists {
			return nil
		}
		return status.Errorf(codes.FailedPrecondition, "Duplicate name in schema: %s.", d.Name.Name)
	}
	if err := e.checkName("Schema", d.Name.Name); err != nil {
		return err
	}
	e.NamedSchemas = append(e.NamedSchemas, d.Name.Name)
	return nil
}

func (e *editor) dropSchema(d *ast.DropSchema) error {
	if !containsFold(e.NamedSchemas, d.Name.Name) {
		if d.IfExists {
			return nil
		}
		return status.Errorf(codes.NotFound, "Schema not found: %s", d.Name.Name)
	}
	for _, t := range e.Tables {
		if strings.EqualFold(t.SchemaName(), d.Name.Name) {
			return status.Errorf(codes.FailedPrecondition, "Cannot drop schema %s: it has table %s.", d.Name.Name, t.Name)
		}
	}
	e.NamedSchemas = slices.DeleteFunc(e.NamedSchemas, func(n string) bool { return strings.EqualFold(n, d.Name.Name) })
	return nil
}
