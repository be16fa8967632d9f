package format

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
)

// avroTrueName is the property of a table, and of a field whose name Avro does
// not allow, that holds the name in Spanner. Google's import reads it of tables.
const avroTrueName = "spannerName"

// avroName is what the Avro specification allows as a name.
var avroName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// allowsName reports whether a name can stand in the schema as it is. Google's
// import knows a column by the name of its field alone, and the library that it
// reads Avro with takes the letters of any script: of the first plane, where a
// letter is one unit of UTF-16, and without marks of their own.
func (o AvroOptions) allowsName(name string) bool {
	if avroName.MatchString(name) {
		return true
	}
	if !o.Google {
		return false
	}
	for i, c := range name {
		if c > 0xffff || c != '_' && !unicode.IsLetter(c) && (i == 0 || !unicode.Is(unicode.Nd, c)) {
			return false
		}
	}
	return name != ""
}

// allowedName is the name that stands for one that is not allowed: each other
// character is _xHHHH_, its code in hexadecimal, as SQL/XML has it for XML.
func (o AvroOptions) allowedName(name string) string {
	if o.allowsName(name) {
		return name
	}
	var b strings.Builder
	for i, c := range name {
		if o.allowsName(string(c)) || i > 0 && o.allowsName("_"+string(c)) {
			b.WriteRune(c)
		} else {
			fmt.Fprintf(&b, "_x%04X_", c)
		}
	}
	return b.String()
}

// avroNames hands out the names of the fields of one record, each once.
type avroNames struct {
	o     AvroOptions
	taken map[string]bool
}

func (o AvroOptions) newNames(taken ...string) *avroNames {
	n := &avroNames{o, make(map[string]bool, len(taken))}
	for _, name := range taken {
		n.taken[name] = true
	}
	return n
}

// of names the columns. Those that Avro allows keep their names, if these are
// free; where the stand-in of another is taken, it gets a number behind it.
func (n *avroNames) of(columns []*spannerpb.StructType_Field) ([]string, error) {
	names := make([]string, len(columns))
	for i, f := range columns {
		if name := f.GetName(); n.o.allowsName(name) && !n.taken[name] {
			names[i], n.taken[name] = name, true
		}
	}
	for i, f := range columns {
		if names[i] != "" {
			continue
		}
		if f.GetName() == "" {
			return nil, errAvroNoName
		}
		names[i] = n.free(f.GetName())
	}
	return names, nil
}

var errAvroNoName = fmt.Errorf("avro needs a name for every column: give it one in a query, with AS")

// free is a name for one that is not allowed, or taken.
func (n *avroNames) free(name string) string {
	allowed := n.o.allowedName(name)
	free := allowed
	for i := 2; n.taken[free]; i++ {
		free = fmt.Sprintf("%s_%d", allowed, i)
	}
	n.taken[free] = true
	return free
}
