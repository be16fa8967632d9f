package database

import (
	"fmt"
	"regexp"
	"strings"
)

// Name is the full name of a database.
type Name struct {
	Project, Instance, Database string
}

// String returns projects/P/instances/I/databases/D.
func (n Name) String() string {
	return "projects/" + n.Project + "/instances/" + n.Instance + "/databases/" + n.Database
}

// The forms of the three ids. A project may carry the domain of an old-style
// organisation (example.com:my-project). The length limits are left to the
// service: emulators do not have them.
var (
	projectID  = regexp.MustCompile(`^([a-z0-9.-]+:)?[a-z0-9-]+$`)
	instanceID = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
	databaseID = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)
)

// IsFullName reports whether s is meant as a full name rather than as an id.
func IsFullName(s string) bool { return strings.Contains(s, "/") }

// ParseName parses projects/P/instances/I/databases/D.
func ParseName(s string) (Name, error) {
	parts := strings.Split(s, "/")
	if len(parts) != 6 || parts[0] != "projects" || parts[2] != "instances" || parts[4] != "databases" {
		return Name{}, fmt.Errorf("%q is not of the form projects/P/instances/I/databases/D", s)
	}
	n := Name{Project: parts[1], Instance: parts[3], Database: parts[5]}
	return n, n.Validate()
}

// Validate reports the first of the three ids that is missing or malformed.
func (n Name) Validate() error {
	for _, part := range []struct {
		what, id string
		form     *regexp.Regexp
		rule     string
	}{
		{"project", n.Project, projectID, "lower-case letters, digits and hyphens"},
		{"instance", n.Instance, instanceID, "lower-case letters, digits and hyphens, beginning with a letter"},
		{"database", n.Database, databaseID, "lower-case letters, digits, underscores and hyphens, beginning with a letter"},
	} {
		if part.id == "" {
			return fmt.Errorf("the %s is not given", part.what)
		}
		if !part.form.MatchString(part.id) {
			return fmt.Errorf("%s id %q is malformed: it has %s", part.what, part.id, part.rule)
		}
	}
	return nil
}
