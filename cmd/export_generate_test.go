package cmd

import (
	"encoding/base64"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/spanner/admin/database/apiv1/databasepb"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/spannertest"
)

// generated is a table made up at random, with its rows.
type generated struct {
	r       *rand.Rand
	pg      bool   // in the PostgreSQL dialect
	schema  string // the named schema that it is in, often none
	columns []generatedColumn
	key     []string // with DESC where descending
	keyLen  int      // the first so many columns are the key, in its order
	index   []string // columns of the index ByIndex, nil if there is none
	storing []string
	// coarse says that every TIMESTAMP is one that Avro's longs can hold.
	coarse bool
	rows   [][]*structpb.Value
}

type generatedColumn struct {
	name    string
	scalar  string // the type, or the element's
	array   bool
	notNull bool
	key     bool
}

// The types of columns, and those of them that a key can have.
var (
	columnTypes = []string{"BOOL", "INT64", "FLOAT32", "FLOAT64", "NUMERIC", "STRING", "BYTES", "TIMESTAMP", "DATE", "JSON", "UUID"}
	keyTypes    = []string{"BOOL", "INT64", "FLOAT64", "NUMERIC", "STRING", "BYTES", "TIMESTAMP", "DATE", "UUID"}
	// columnNames need quotes in SQL, all but the first.
	columnNames = []string{"plain", "select", "Order", "group", "From_", "limit"}
	// wideNames are of letters beyond ASCII, and, in PostgreSQL, anything else.
	wideNames = []string{"Ünï", "日本", "a b", "-", "1st?"}
	// postgreSQLTypes are what PostgreSQL calls the types of columns.
	postgreSQLTypes = map[string]string{"BOOL": "boolean", "INT64": "bigint", "FLOAT32": "real", "FLOAT64": "double precision", "NUMERIC": "numeric",
		"STRING": "varchar", "BYTES": "bytea", "TIMESTAMP": "timestamptz", "DATE": "date", "JSON": "jsonb", "UUID": "uuid"}
)

// generate makes up a table of every type of column, a key of one to three
// columns and, often, an index, in a named schema or none.
func generate(r *rand.Rand, pg bool) *generated {
	g := &generated{r: r, pg: pg, schema: pick(r, "", "", "select", "Sales"), keyLen: 1 + r.IntN(3), coarse: r.IntN(2) == 0}
	for i := range g.keyLen {
		c := generatedColumn{name: fmt.Sprintf("%s%d", pick(r, g.possibleNames()...), i), scalar: pick(r, keyTypes...), notNull: pg || r.IntN(2) == 0}
		for pg && c.scalar == "NUMERIC" {
			c.scalar = pick(r, keyTypes...) // which PostgreSQL has no keys of
		}
		c.key = true
		if i == 0 {
			c.scalar = pick(r, "INT64", "STRING", "TIMESTAMP", "BYTES") // which have values enough
		}
		g.columns = append(g.columns, c)
		g.key = append(g.key, g.quoted(c.name)+g.descending())
	}
	for i, name := range columnTypes {
		g.columns = append(g.columns, generatedColumn{name: fmt.Sprintf("c%d", i), scalar: name, array: r.IntN(3) == 0})
	}
	if r.IntN(3) > 0 {
		g.index = []string{g.quoted(g.columns[g.keyLen+1+4*r.IntN(2)].name) + pick(r, "", " DESC")} // c1 INT64, c5 STRING
		g.columns[g.keyLen+1].array, g.columns[g.keyLen+5].array = false, false
		g.storing = []string{"c3", "c6"}
	}
	return g
}

// possibleNames are those that the dialect has, on the server that there is.
func (g *generated) possibleNames() []string {
	switch {
	case spannertest.Live():
		return columnNames
	case g.pg:
		return slices.Concat(columnNames, wideNames)
	default:
		return slices.Concat(columnNames, wideNames[:2])
	}
}

// descending is for a part of the key, which PostgreSQL has ascending alone.
func (g *generated) descending() string {
	if g.pg {
		return ""
	}
	return pick(g.r, "", " DESC")
}

func (g *generated) quoted(name string) string {
	if g.pg {
		return `"` + name + `"`
	}
	return "`" + name + "`"
}

// in is a name in the table's schema, as SQL has it, and as requests do.
func (g *generated) in(name string) (sql, plain string) {
	if g.schema == "" {
		return g.quoted(name), name
	}
	return g.quoted(g.schema) + "." + g.quoted(name), g.schema + "." + name
}

func (g *generated) tableSQL() string {
	sql, _ := g.in("Table")
	return sql
}

func (g *generated) tableName() string {
	_, plain := g.in("Table")
	return plain
}

func (g *generated) dialect() databasepb.DatabaseDialect {
	if g.pg {
		return databasepb.DatabaseDialect_POSTGRESQL
	}
	return databasepb.DatabaseDialect_GOOGLE_STANDARD_SQL
}

// typeSQL is the type of a column in DDL.
func (g *generated) typeSQL(c generatedColumn) string {
	if g.pg {
		return postgreSQLTypes[c.scalar] + map[bool]string{true: "[]"}[c.array]
	}
	kind := c.scalar
	if kind == "STRING" || kind == "BYTES" {
		kind += "(MAX)"
	}
	if c.array {
		kind = "ARRAY<" + kind + ">"
	}
	return kind
}

func (g *generated) ddl() []string {
	var ddl []string
	if g.schema != "" {
		ddl = append(ddl, "CREATE SCHEMA "+g.quoted(g.schema))
	}
	var b strings.Builder
	b.WriteString("CREATE TABLE " + g.tableSQL() + " (\n")
	for _, c := range g.columns {
		kind := g.typeSQL(c)
		if c.notNull {
			kind += " NOT NULL"
		}
		fmt.Fprintf(&b, "  %s %s,\n", g.quoted(c.name), kind)
	}
	key := "PRIMARY KEY (" + strings.Join(g.key, ", ") + ")"
	if g.pg {
		b.WriteString("  " + key + ")")
	} else {
		b.WriteString(") " + key)
	}
	ddl = append(ddl, b.String())
	if g.index != nil {
		index, _ := g.in("ByIndex")
		if g.pg {
			index = g.quoted("ByIndex") // it is in the table's schema
		}
		ddl = append(ddl, "CREATE INDEX "+index+" ON "+g.tableSQL()+" ("+strings.Join(g.index, ", ")+") "+
			map[bool]string{true: "INCLUDE", false: "STORING"}[g.pg]+" ("+strings.Join(g.storing, ", ")+")")
	}
	return ddl
}

func (g *generated) names() []string {
	names := make([]string, len(g.columns))
	for i, c := range g.columns {
		names[i] = c.name
	}
	return names
}

// fill makes up rows with keys of their own.
func (g *generated) fill(n int) {
	seen := map[string]bool{}
	for i := range n {
		row := make([]*structpb.Value, len(g.columns))
		for j, c := range g.columns {
			row[j] = g.value(c)
		}
		key := fmt.Sprint(row[:g.keyLen])
		if g.columns[0].scalar == "INT64" && i%2 == 0 {
			row[0] = text(strconv.Itoa(i))
			key = fmt.Sprint(row[:g.keyLen])
		}
		if !seen[key] {
			seen[key] = true
			g.rows = append(g.rows, row)
		}
	}
}

func (g *generated) value(c generatedColumn) *structpb.Value {
	switch {
	case !c.notNull && g.r.IntN(6) == 0:
		return structpb.NewNullValue()
	case !c.array:
		return g.scalar(c.scalar, c.key)
	}
	list := &structpb.ListValue{}
	for range g.r.IntN(4) {
		if g.r.IntN(5) == 0 {
			list.Values = append(list.Values, structpb.NewNullValue())
		} else {
			list.Values = append(list.Values, g.scalar(c.scalar, false))
		}
	}
	return structpb.NewListValue(list)
}

// scalar makes up a value in Spanner's canonical form, often one at an edge.
func (g *generated) scalar(kind string, key bool) *structpb.Value {
	r := g.r
	if v, ok := g.postgreSQLScalar(kind, key); ok {
		return v
	}
	switch kind {
	case "BOOL":
		return structpb.NewBoolValue(r.IntN(2) == 0)
	case "INT64":
		return text(strconv.FormatInt(pick(r, int64(r.IntN(100)), r.Int64()-r.Int64(), math.MaxInt64, math.MinInt64, 1<<53+1), 10))
	case "FLOAT32":
		return float(float64(pick(r, float32(r.NormFloat64()), math.MaxFloat32, math.SmallestNonzeroFloat32, 0.1)), r)
	case "FLOAT64":
		return float(pick(r, r.NormFloat64(), r.NormFloat64()*1e300, math.MaxFloat64, math.SmallestNonzeroFloat64, 0.1, 1e21, float64(r.IntN(9))), r)
	case "NUMERIC":
		return text(pick(r, "0", "-0.000000001", "99999999999999999999999999999.999999999", strconv.Itoa(r.IntN(1000)), fmt.Sprintf("-%d.5", r.IntN(1000))))
	case "STRING":
		return text(g.text())
	case "BYTES":
		b := make([]byte, r.IntN(12))
		for i := range b {
			b[i] = byte(r.IntN(256))
		}
		return text(base64.StdEncoding.EncodeToString(b))
	case "TIMESTAMP":
		return text(g.time().Format(time.RFC3339Nano))
	case "DATE":
		return text(pick(r, "0001-01-01", "9999-12-31", "2024-02-29", g.time().Format(time.DateOnly)))
	case "UUID":
		return text(fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", r.Uint32(), r.IntN(1<<16), r.IntN(1<<16), r.IntN(1<<16), r.Uint64N(1<<48)))
	default:
		return text(pick(r, "null", "0", `"text"`, "[]", "{}", `{"$json":1}`, `{"$json":null}`, `[1,2.5,"é\n",null,{"a":{}}]`, `{"a":"日本","b":[true,false]}`,
			"12345678901234567890", fmt.Sprintf(`{"n":%d}`, r.IntN(1000))))
	}
}

// postgreSQLScalar makes up what values of PostgreSQL alone are like: numerics
// of any scale, jsonb in its own form, and no NaN in a key.
func (g *generated) postgreSQLScalar(kind string, key bool) (*structpb.Value, bool) {
	r := g.r
	switch {
	case !g.pg:
	case kind == "NUMERIC":
		return text(pick(r, "0", "0.00", "NaN", "-0.000000000000000001", strings.Repeat("9", 60)+"."+strings.Repeat("1", 40), "1.50",
			strconv.Itoa(r.IntN(1000)), fmt.Sprintf("-%d.5", r.IntN(1000)))), true
	case kind == "JSON":
		return text(pick(r, "null", "0", `"text"`, "[]", "{}", `{"$json": 1}`, `{"$json": null}`, `[1, 2.50, "é\n", null, {"a": {}}]`, `{"b": [true, false], "aa": "日本"}`,
			"123456789012345678901234567890", fmt.Sprintf(`{"n": %d}`, r.IntN(1000)))), true
	case kind == "FLOAT64" && key:
		return structpb.NewNumberValue(pick(r, r.NormFloat64(), 0.1, 1e21, float64(r.IntN(9)))), true
	}
	return nil, false
}

func float(f float64, r *rand.Rand) *structpb.Value {
	if r.IntN(5) == 0 {
		return text(pick(r, "NaN", "Infinity", "-Infinity"))
	}
	return structpb.NewNumberValue(f)
}

func (g *generated) text() string {
	pieces := []string{"a", "B", " ", `"`, `\`, ",", ";", "\t", "\n", "\r\n", "\x01", "é", "日本", "🌍", "NULL", "'", "{", "\u2028"}
	var b strings.Builder
	for range g.r.IntN(8) {
		b.WriteString(pick(g.r, pieces...))
	}
	return b.String()
}

func (g *generated) time() time.Time {
	if g.coarse {
		return time.UnixMicro(g.r.Int64N(4e15) - 1e15).UTC()
	}
	seconds := pick(g.r, 0, -62135596800, 253402300799, g.r.Int64N(4e9)-1e9)
	return time.Unix(seconds, pick(g.r, 0, 1, 999_999_999, g.r.Int64N(1e9), 120_000_000)).UTC()
}

// literal writes a value of a column as SQL; ok is false for what has no plain
// literal.
func (g *generated) literal(c generatedColumn, v *structpb.Value) (sql string, ok bool) {
	s := v.GetStringValue()
	if g.pg {
		return postgreSQLLiteral(c, v)
	}
	switch c.scalar {
	case "BOOL":
		return strings.ToUpper(strconv.FormatBool(v.GetBoolValue())), true
	case "INT64":
		return s, true
	case "FLOAT64":
		return strconv.FormatFloat(v.GetNumberValue(), 'e', -1, 64), s == ""
	case "NUMERIC", "TIMESTAMP", "DATE":
		return c.scalar + " '" + s + "'", true
	case "STRING":
		return strconv.QuoteToASCII(s), !strings.ContainsAny(s, "\x00\u2028")
	case "BYTES":
		raw, err := base64.StdEncoding.DecodeString(s)
		var b strings.Builder
		for _, c := range raw {
			fmt.Fprintf(&b, `\x%02x`, c)
		}
		return "b'" + b.String() + "'", err == nil
	default:
		return "", false
	}
}

func postgreSQLLiteral(c generatedColumn, v *structpb.Value) (sql string, ok bool) {
	s := v.GetStringValue()
	switch c.scalar {
	case "BOOL":
		return strconv.FormatBool(v.GetBoolValue()), true
	case "INT64":
		return s, true
	case "FLOAT64":
		return strconv.FormatFloat(v.GetNumberValue(), 'e', -1, 64), s == ""
	case "BYTES":
		raw, err := base64.StdEncoding.DecodeString(s)
		return fmt.Sprintf(`'\x%x'::bytea`, raw), err == nil
	default:
		return "'" + strings.ReplaceAll(s, "'", "''") + "'::" + postgreSQLTypes[c.scalar], true
	}
}
