package output

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// Options say where an export goes.
type Options struct {
	// Path is "-" or empty for Stdout, a file, a directory (one that exists,
	// or a path that ends in a separator, or any path where there are several
	// tables), or a template: a file's path with {table}, {partition} and
	// {shard} in it. Partition and shard are written with five digits.
	// A path that exists and is neither file nor directory, as a named pipe,
	// is written to as a stream.
	Path string

	Stdout io.Writer // where "-" goes
	Tables []Table   // what is exported; at least one

	// Extension is the ending of the names made up for files in a directory,
	// and where the number of a rolled file is put in other names: ".ndjson.gz".
	Extension string

	Shard       int   // what {shard} stands for
	MaxFileSize int64 // in bytes; above 0, files are numbered and a new one is begun before a chunk that would pass it
	// GoogleDialect, if set, is the dialect of the database as Google's own
	// export names it. A directory then gets the manifests that Google's import
	// reads, beside spanbulk's: they are of use for Avro only.
	GoogleDialect string
	// NamedSchemas, with a GoogleDialect, are the schemas of the tables that are
	// not in the default one: Google's import makes each from a file of its own.
	NamedSchemas []NamedSchema
	Overwrite    bool // replace what an earlier export left, with its permissions
}

// Table is one table, or the result of a query, with what its files begin with
// and what the manifest says of it.
type Table struct {
	Name       string // as in file names and manifest: "Orders", "sales.Orders"
	Header     []byte // what every file starts with; may be empty
	Columns    []Column
	PrimaryKey []KeyPart
}

// NamedSchema is a named schema and the whole content of its file.
type NamedSchema struct {
	Name string // "sales"
	File []byte
}

// Column is a column in a manifest.
type Column struct {
	Name string `json:"name"`
	Type string `json:"type"` // in SQL: "STRING(MAX)", "ARRAY<INT64>"
}

// KeyPart is a column of a primary key in a manifest.
type KeyPart struct {
	Column string `json:"column"`
	Order  string `json:"order,omitempty"` // ASC or DESC
}

// Validate reports what contradicts itself in o, without looking at the file
// system.
func (o Options) Validate() error {
	if len(o.Tables) == 0 {
		return errors.New("nothing to export")
	}
	if o.MaxFileSize < 0 {
		return fmt.Errorf("max file size %d is negative", o.MaxFileSize)
	}
	seen := map[string]bool{}
	for _, t := range o.Tables {
		isNoFile := t.Name == "" || strings.HasPrefix(t.Name, ".") || strings.ContainsAny(t.Name, `/\`)
		if isNoFile && !o.isStdout() {
			return fmt.Errorf("%q cannot be a file name", t.Name)
		}
		if seen[t.Name] {
			return fmt.Errorf("table %s is named twice", t.Name)
		}
		seen[t.Name] = true
	}
	if o.isStdout() {
		return o.validateStream("standard output")
	}
	return CheckPath(o.Path, len(o.Tables) > 1)
}

// CheckPath reports what is wrong with a path by itself, before the tables are
// known: a placeholder that there is not, or none for the table where there are
// several.
func CheckPath(path string, severalTables bool) error {
	t, err := parseTemplate(path)
	if err == nil && severalTables && !t.has(tableField) && t.hasAny() {
		err = fmt.Errorf("output %s: several tables need {table} in the name", path)
	}
	return err
}

func (o Options) isStdout() bool { return o.Path == "" || o.Path == "-" }

func (o Options) validateStream(name string) error {
	if len(o.Tables) > 1 {
		return fmt.Errorf("%s can take only one table; name a directory for several", name)
	}
	if o.MaxFileSize > 0 {
		return fmt.Errorf("%s has no files that a maximum size could apply to", name)
	}
	return nil
}
