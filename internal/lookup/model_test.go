package lookup_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/spanner/admin/database/apiv1/databasepb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/emulator"
	"spanbulk/internal/format"
	"spanbulk/internal/lookup"
	"spanbulk/internal/randtest"
)

// postgreSQL is what PostgreSQL calls the types of keys that it has.
var postgreSQL = map[string]string{"INT64": "bigint", "STRING(MAX)": "varchar", "BOOL": "boolean", "FLOAT64": "float8", "BYTES(MAX)": "bytea",
	"DATE": "date", "TIMESTAMP": "timestamptz", "UUID": "uuid"}

// keyType is a type that keys can have, with few values so that records find
// rows: what Spanner gets, and spellings of the same value in JSON.
type keyType struct {
	sql    string
	value  func(n int) *structpb.Value
	spells func(n int) []string
}

func quoted(s string) string { b, _ := json.Marshal(s); return string(b) }

func keyTypes() []keyType {
	at := func(n int) time.Time { return time.Date(2026, 1, 2, 3, 4, n%60, n*1000, time.UTC) }
	uuid := func(n int) string { return fmt.Sprintf("123e4567-e89b-12d3-a456-42661417ab%02x", n%256) }
	return []keyType{
		{"INT64", func(n int) *structpb.Value { return text(strconv.Itoa(n - 3)) }, func(n int) []string {
			return []string{strconv.Itoa(n - 3), quoted(strconv.Itoa(n - 3))}
		}},
		{"STRING(MAX)", func(n int) *structpb.Value { return text(strings.Repeat("é\"\\,\n", n%4) + strconv.Itoa(n)) }, func(n int) []string {
			return []string{quoted(strings.Repeat("é\"\\,\n", n%4) + strconv.Itoa(n))}
		}},
		{"BOOL", func(n int) *structpb.Value { return structpb.NewBoolValue(n%2 == 0) }, func(n int) []string {
			return []string{strconv.FormatBool(n%2 == 0), quoted(strconv.FormatBool(n%2 == 0))}
		}},
		{"FLOAT64", func(n int) *structpb.Value { return structpb.NewNumberValue(float64(n) / 4) }, func(n int) []string {
			plain := strconv.FormatFloat(float64(n)/4, 'f', -1, 64)
			spells := []string{plain, quoted(plain), strconv.FormatFloat(float64(n)/4, 'e', -1, 64)}
			if n == 0 {
				spells = append(spells, "-0", "-0.0")
			}
			return spells
		}},
		{"BYTES(MAX)", func(n int) *structpb.Value {
			return text(base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\xff\xfe", n%3) + strconv.Itoa(n))))
		}, func(n int) []string {
			b := []byte(strings.Repeat("\xff\xfe", n%3) + strconv.Itoa(n))
			return []string{quoted(base64.StdEncoding.EncodeToString(b)), quoted(base64.RawURLEncoding.EncodeToString(b))}
		}},
		{"DATE", func(n int) *structpb.Value { return text(at(0).AddDate(0, 0, n).Format(time.DateOnly)) }, func(n int) []string {
			return []string{quoted(at(0).AddDate(0, 0, n).Format(time.DateOnly))}
		}},
		{"TIMESTAMP", func(n int) *structpb.Value { return text(at(n).Format(time.RFC3339Nano)) }, func(n int) []string {
			return []string{quoted(at(n).Format(time.RFC3339Nano)), quoted(at(n).In(time.FixedZone("", 5400)).Format("2006-01-02T15:04:05.000000000Z07:00"))}
		}},
		{"NUMERIC", func(n int) *structpb.Value { return text(fmt.Sprintf("%d.5", n)) }, func(n int) []string {
			return []string{fmt.Sprintf("%d.5", n), quoted(fmt.Sprintf("%d.500", n)), quoted(fmt.Sprintf("+0%d.5", n))}
		}},
		{"UUID", func(n int) *structpb.Value { return text(uuid(n)) }, func(n int) []string {
			return []string{quoted(uuid(n)), quoted(strings.ToUpper(uuid(n)))}
		}},
	}
}

// model is a random table with its rows, and what a join with it must give.
type model struct {
	r      *rand.Rand
	key    []keyType
	fields []string         // of the records, in the order of the key
	rows   map[string][]int // by key: the values of the columns, -1 for NULL
	index  bool             // look up through a unique index
	desc   bool
	pg     bool   // in the PostgreSQL dialect
	schema string // the named schema, with a dot, or none
}

func newModel(r *rand.Rand, pg bool) *model {
	m := &model{r: r, rows: map[string][]int{}, index: r.IntN(3) == 0, desc: r.IntN(3) == 0, pg: pg, schema: pick(r, "", "Sales.")}
	types := keyTypes()
	if pg {
		types = slices.DeleteFunc(types, func(k keyType) bool { return postgreSQL[k.sql] == "" })
	}
	for i := range 1 + r.IntN(3) {
		m.key = append(m.key, pick(r, types...))
		m.fields = append(m.fields, fmt.Sprintf("f%d", i))
	}
	for range r.IntN(60) {
		k := m.randomKey()
		m.rows[fmt.Sprint(k)] = []int{r.IntN(50) - 1, r.IntN(50) - 1, r.IntN(4) - 1}
	}
	return m
}

func (m *model) randomKey() []int {
	k := make([]int, len(m.key))
	for i := range k {
		k[i] = m.r.IntN(12)
		if m.key[i].sql == "BOOL" {
			k[i] %= 2
		}
	}
	return k
}

// ddl is the table, keyed by the key or, with an index, by something else.
func (m *model) ddl() []string {
	var ddl []string
	if m.schema != "" {
		ddl = append(ddl, "CREATE SCHEMA "+m.quoted(strings.TrimSuffix(m.schema, ".")))
	}
	if m.pg {
		return append(ddl, m.postgreSQLDDL()...)
	}
	for _, statement := range m.googleSQLDDL() {
		ddl = append(ddl, strings.NewReplacer("TABLE T ", "TABLE "+m.schema+"T ", "INDEX ByKey ON T", "INDEX "+m.schema+"ByKey ON "+m.schema+"T").Replace(statement))
	}
	return ddl
}

func (m *model) dialect() databasepb.DatabaseDialect {
	if m.pg {
		return databasepb.DatabaseDialect_POSTGRESQL
	}
	return databasepb.DatabaseDialect_GOOGLE_STANDARD_SQL
}

func (m *model) quoted(name string) string {
	if m.pg {
		return `"` + name + `"`
	}
	return name
}

func (m *model) postgreSQLDDL() []string {
	schema := ""
	if m.schema != "" {
		schema = `"Sales".`
	}
	var columns, key, index []string
	for i, k := range m.key {
		columns = append(columns, fmt.Sprintf(`"K%d" %s`, i, postgreSQL[k.sql]))
		key = append(key, fmt.Sprintf(`"K%d"`, i))
		index = append(index, fmt.Sprintf(`"K%d"`, i)+map[bool]string{true: " DESC NULLS LAST"}[m.desc])
	}
	if m.index {
		key = []string{`"Other"`}
	}
	ddl := []string{"CREATE TABLE " + schema + `"T" ("Other" bigint, ` + strings.Join(columns, ", ") + `, "Name" text, "Total" bigint, "Tags" text[], PRIMARY KEY (` + strings.Join(key, ", ") + "))"}
	if m.index {
		// An index goes into its table's schema, which CREATE INDEX must not name.
		ddl = append(ddl, `CREATE UNIQUE INDEX "ByKey" ON `+schema+`"T" (`+strings.Join(index, ", ")+`) INCLUDE ("Name", "Total", "Tags")`)
	}
	return ddl
}

func (m *model) googleSQLDDL() []string {
	table, order := "CREATE TABLE T (Other INT64, ", ""
	var names []string
	if m.desc {
		order = " DESC"
	}
	for i, k := range m.key {
		table += fmt.Sprintf("K%d %s, ", i, k.sql)
		names = append(names, fmt.Sprintf("K%d%s", i, order))
	}
	table += "Name STRING(MAX), Total INT64, Tags ARRAY<STRING(MAX)>) PRIMARY KEY ("
	if !m.index {
		return []string{table + strings.Join(names, ", ") + ")"}
	}
	return []string{table + "Other)", "CREATE UNIQUE INDEX ByKey ON T(" + strings.Join(names, ", ") + ") STORING (Name, Total, Tags)"}
}

func (m *model) write(f *fixture) {
	columns := []string{"Other", "Name", "Total", "Tags"}
	for i := range m.key {
		columns = append(columns, fmt.Sprintf("K%d", i))
	}
	var rows [][]*structpb.Value
	for key, values := range m.rows {
		row := []*structpb.Value{text(strconv.Itoa(len(rows)))}
		row = append(row, columnValues(values)...)
		var parts []int
		for _, part := range strings.Fields(strings.Trim(key, "[]")) {
			n, _ := strconv.Atoi(part)
			parts = append(parts, n)
		}
		for i, n := range parts {
			row = append(row, m.key[i].value(n))
		}
		rows = append(rows, row)
	}
	if m.index { // a row whose index key is NULL in part matches nothing
		row := []*structpb.Value{text("-1"), text("never"), text("1"), structpb.NewNullValue()}
		for range m.key {
			row = append(row, structpb.NewNullValue())
		}
		rows = append(rows, row)
	}
	if len(rows) > 0 {
		f.write(m.schema+"T", columns, rows...)
	}
}

func columnValues(v []int) []*structpb.Value {
	null := structpb.NewNullValue()
	out := []*structpb.Value{null, null, null}
	if v[0] >= 0 {
		out[0] = text(name(v[0]))
	}
	if v[1] >= 0 {
		out[1] = text(strconv.Itoa(v[1]))
	}
	if v[2] >= 0 {
		list := &structpb.ListValue{}
		for i := range v[2] {
			list.Values = append(list.Values, text(name(i)))
		}
		out[2] = structpb.NewListValue(list)
	}
	return out
}

func name(n int) string { return strings.Repeat("näme ", n) + strconv.Itoa(n) }

// columnsJSON is what of a row stands in a record; all null without one.
func columnsJSON(v []int, prefix string) string {
	texts := []string{"null", "null", "null"}
	if v != nil && v[0] >= 0 {
		texts[0] = quoted(name(v[0]))
	}
	if v != nil && v[1] >= 0 {
		texts[1] = strconv.Itoa(v[1])
	}
	if v != nil && v[2] >= 0 {
		tags := []string{}
		for i := range v[2] {
			tags = append(tags, name(i))
		}
		b, _ := json.Marshal(tags)
		texts[2] = string(b)
	}
	return fmt.Sprintf(`"%sName":%s,"%sTotal":%s,"%sTags":%s`, prefix, texts[0], prefix, texts[1], prefix, texts[2])
}

// joined is a record and what a left join makes of it.
type joined struct {
	in, out string
	matched bool
}

// record makes a random record. Its key may be of no row, or have a NULL.
func (m *model) record(number int, o *format.ExtendOptions) joined {
	key := m.randomKey()
	row := m.rows[fmt.Sprint(key)]
	fields := []string{fmt.Sprintf(`"n":%d`, number)}
	for i, n := range key {
		spelled := pick(m.r, m.key[i].spells(n)...)
		if m.r.IntN(15) == 0 {
			spelled, row = "null", nil
		}
		fields = append(fields, quoted(m.fields[i])+pick(m.r, ":", " : ")+spelled)
	}
	if m.r.IntN(2) == 0 {
		fields = append(fields, pick(m.r, `"big":12345678901234567890.10`, `"x":{"a":[1, 2.0,"\u00e9"]}`, `"y":1E400`, `"é":"`+strings.Repeat("x", m.r.IntN(300))+`"`))
	}
	m.r.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	open := pick(m.r, "{", "{ ") + strings.Join(fields, pick(m.r, ",", " , "))
	j := joined{in: open + pick(m.r, "}", " }"), matched: row != nil}
	switch {
	case o.Nest != "" && row == nil:
		j.out = open + `,"row":null}`
	case o.Nest != "":
		j.out = open + `,"row":{` + columnsJSON(row, "") + "}}"
	default:
		j.out = open + "," + columnsJSON(row, o.Prefix) + "}"
	}
	return j
}

// options are random, but for what is looked up.
func (m *model) options() lookup.Options {
	r := m.r
	o := lookup.Options{
		Table: m.schema + "T", Columns: []string{"Name", "Total", "Tags"}, Inner: r.IntN(3) == 0,
		BatchKeys: 1 + r.IntN(20), Parallelism: 1 + r.IntN(6), Unordered: r.IntN(4) == 0, MaxRetries: 100, Progress: new(lookup.Progress),
		MaxBytes: pick(r, 0, 0, 1+r.IntN(2000)),
	}
	if m.index {
		o.Index = m.schema + "ByKey"
	}
	for i := range m.key {
		o.Key = append(o.Key, lookup.KeyColumn{Column: fmt.Sprintf("K%d", i), Field: m.fields[i]})
	}
	if r.IntN(2) == 0 {
		o.Cache = &lookup.CacheOptions{MaxRows: 1 + r.IntN(50), Missing: r.IntN(2) == 0}
		if r.IntN(3) == 0 {
			o.Cache.ExpireAfterAccess = time.Duration(1 + r.IntN(int(5*time.Millisecond)))
		}
		if r.IntN(3) == 0 {
			o.Cache.ExpireAfterWrite = time.Duration(1 + r.IntN(int(5*time.Millisecond)))
		}
	}
	return o
}

// breakReads gives every fifth read or so a fault that is to be tried again.
func breakReads(srv *emulator.Server, seed uint64) {
	srv.Faults().SetFunc(func(method string, call int) *emulator.Fault {
		r := rand.New(rand.NewPCG(seed, uint64(call)))
		if method != "StreamingRead" || r.IntN(5) > 0 {
			return nil
		}
		code := pick(r, codes.Unavailable, codes.Aborted, codes.DeadlineExceeded)
		return pick(r,
			&emulator.Fault{Code: code, Message: "broken"},
			&emulator.Fault{Code: code, Message: "broken", AfterMessages: 1 + r.IntN(3)},
			&emulator.Fault{Code: code, Message: "lost", AfterWork: true},
			&emulator.Fault{Stall: time.Duration(r.IntN(int(3 * time.Millisecond)))},
			&emulator.Fault{CloseConnection: true},
		)
	})
}

func TestModel(t *testing.T) {
	seed := randtest.Seed(t)
	for i := range randtest.Rounds(12) {
		t.Run(strconv.Itoa(i), func(t *testing.T) { modelRound(t, rand.New(rand.NewPCG(seed, uint64(i))), i%2 == 1) })
	}
}

func modelRound(t *testing.T, r *rand.Rand, pg bool) {
	m := newModel(r, pg)
	f := startIn(t, m.dialect(), emulator.Options{Messages: emulator.Messages{
		MaxBytes: 1 + r.IntN(300), MaxRows: r.IntN(4), Tokens: pick(r, emulator.TokensOnRows, emulator.NoTokens), NoLast: r.IntN(2) == 0,
	}}, m.ddl()...)
	m.write(f)
	if r.IntN(2) == 0 {
		f.spanner.Trouble(func(s *emulator.Server) { breakReads(s, r.Uint64()) })
	}
	options := m.options()
	l := f.open(options)
	extend := format.ExtendOptions{Prefix: pick(r, "", "c_"), Nest: pick(r, "", "row")}
	if extend.Nest != "" {
		extend.Prefix = ""
	}
	var in strings.Builder
	var want []string
	matched, records := 0, r.IntN(800)
	for i := range records {
		j := m.record(i, &extend)
		in.WriteString(j.in + pick(r, "\n", "\r\n", "\n\n"))
		if j.matched {
			matched++
		}
		if j.matched || !options.Inner {
			want = append(want, j.out)
		}
	}
	c := &collector{lookup: l, extend: extend}
	names := extend.ExtendedNames(options.Columns)
	err := l.Run(t.Context(), source(t, l, strings.NewReader(in.String()), format.SplitOptions{ChunkBytes: 1 + r.IntN(5000)}, lookup.KeyReaderOptions{Names: names}), c)
	if err != nil {
		t.Fatalf("%+v: %v", options, err)
	}
	got := c.lines()
	if options.Unordered {
		got, want = sorted(got), sorted(want)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%v, %+v: (-want +got)\n%s", m.ddl(), options, cmp.Diff(want, got))
	}
	checkCounters(t, options, int64(records), int64(matched), int64(len(want)))
}

func checkCounters(t *testing.T, o lookup.Options, records, matched, out int64) {
	t.Helper()
	p := o.Progress
	for _, c := range []struct {
		what      string
		got, want int64
	}{
		{"records in", p.RecordsIn.Load(), records}, {"matched", p.Matched.Load(), matched}, {"unmatched", p.Unmatched.Load(), records - matched},
		{"applied", p.Applied.Load(), out}, {"skipped", p.Skipped.Load(), records - out}, {"refused", p.Refused.Load(), 0},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %d, want %d", c.what, c.got, c.want)
		}
	}
	keys, batches := p.KeysRead.Load(), p.Batches.Load()
	if o.MaxBytes > 0 {
		return // keys are read again in parts
	}
	if keys > records || batches > keys || keys > batches*int64(o.BatchKeys) {
		t.Errorf("%d keys read in %d batches of %d for %d records", keys, batches, o.BatchKeys, records)
	}
	hits, misses := p.CacheHits.Load(), p.CacheMisses.Load()
	if o.Cache == nil && hits+misses > 0 || o.Cache != nil && misses != keys {
		t.Errorf("%d hits and %d misses with %d keys read", hits, misses, keys)
	}
}
