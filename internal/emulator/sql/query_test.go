package sql_test

import (
	"context"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/emulator/relation"
	"spanbulk/internal/emulator/sql"
	"spanbulk/internal/emulator/value"
)

// shop is a small database with interleaving, an index, NULLs and arrays.
func shop(tb testing.TB) *memory {
	m := newMemory(tb,
		`CREATE TABLE Users (Id INT64 NOT NULL, Name STRING(MAX), Age INT64, Tags ARRAY<STRING(MAX)>) PRIMARY KEY (Id)`,
		`CREATE TABLE Orders (Id INT64 NOT NULL, OrderId INT64 NOT NULL, Amount NUMERIC, Placed TIMESTAMP, Doc JSON)
			PRIMARY KEY (Id, OrderId DESC), INTERLEAVE IN PARENT Users ON DELETE CASCADE`,
		`CREATE TABLE Kinds (K STRING(MAX) NOT NULL, F FLOAT64, D DATE, B BYTES(MAX), Ok BOOL) PRIMARY KEY (K)`,
		`CREATE INDEX UsersByName ON Users(Name) STORING (Age)`,
		`CREATE NULL_FILTERED INDEX KindsByDay ON Kinds(D)`,
	)
	tags := func(items ...string) value.Value {
		list := make([]value.Value, len(items))
		for i, s := range items {
			list[i] = value.String(s)
		}
		return value.Array(value.StringType, list)
	}
	m.insert(tb, "Users", 1, "Ada", 36, tags("x", "y"))
	m.insert(tb, "Users", 2, "Bob", nil, nil)
	m.insert(tb, "Users", 3, nil, 20, tags())
	m.insert(tb, "Users", 4, "Dan", 36, tags("y"))
	m.insert(tb, "Orders", 1, 10, "1.5", "2024-03-10T10:00:00Z", `{"a":[1,2],"b":"t"}`)
	m.insert(tb, "Orders", 1, 11, "2.25", "2024-03-11T10:00:00.5Z", nil)
	m.insert(tb, "Orders", 2, 20, nil, nil, `{"b":null}`)
	m.insert(tb, "Orders", 4, 40, "-3", "2023-12-31T23:59:59Z", `7`)
	m.insert(tb, "Kinds", "a", 1.5, "2024-02-29", value.Bytes("\x00\xff"), true)
	m.insert(tb, "Kinds", "b", nil, nil, nil, nil)
	m.insert(tb, "Kinds", "c", -0.5, "1970-01-01", value.Bytes("abc"), false)
	return m
}

type queryCase struct {
	sql    string
	params map[string]relation.Param
	// columns are checked unless empty.
	columns string
	rows    []string
	code    codes.Code
	// message is part of the status message.
	message string
}

func runCases(t *testing.T, m *memory, cases []queryCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.sql, func(t *testing.T) {
			q, err := sql.Prepare(m, c.sql, c.params)
			var rows []string
			if err == nil {
				if got := spellColumns(q.Columns()); c.columns != "" && got != c.columns {
					t.Errorf("columns: %s, want %s", got, c.columns)
				}
				for row, rerr := range q.Rows(context.Background()) {
					if rerr != nil {
						err = rerr
						break
					}
					rows = append(rows, render(q.Columns(), row))
				}
			}
			if status.Code(err) != c.code || err != nil && !strings.Contains(status.Convert(err).Message(), c.message) {
				t.Fatalf("error: %v, want %s %q", err, c.code, c.message)
			}
			if diff := cmp.Diff(c.rows, rows); err == nil && diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
		})
	}
}

// typed and untyped are parameters as a request brings them.
func typed(v value.Value) relation.Param {
	return relation.Param{Type: v.Type(), Wire: v.AppendWire(nil)}
}

func untyped(v value.Value) relation.Param { return relation.Param{Wire: v.AppendWire(nil)} }

func TestSelect(t *testing.T) {
	runCases(t, shop(t), []queryCase{
		{sql: "SELECT 1", columns: " INT64", rows: []string{"1"}},
		{sql: "SELECT NULL AS n", columns: "n INT64", rows: []string{"NULL"}},
		{sql: "select iD, u.nAme from users u where Age = 36 order by Name desc;", columns: "iD INT64, nAme STRING", rows: []string{`4, "Dan"`, `1, "Ada"`}},
		{sql: "SELECT * FROM Users WHERE Id = 1", columns: "Id INT64, Name STRING, Age INT64, Tags ARRAY<STRING>", rows: []string{`1, "Ada", 36, ["x" "y"]`}},
		{sql: "SELECT u.* EXCEPT (Tags) FROM Users AS u WHERE Age IS NULL", rows: []string{`2, "Bob", NULL`}},
		{sql: "SELECT * REPLACE (Age + 1 AS Age) FROM Users WHERE Id = 3", rows: []string{`3, NULL, 21, []`}},
		{sql: "SELECT Age + 1 AS a, Name FROM Users ORDER BY a, Id DESC", rows: []string{`NULL, "Bob"`, `21, NULL`, `37, "Dan"`, `37, "Ada"`}},
		{sql: "SELECT Name FROM Users ORDER BY 1 DESC LIMIT 2 OFFSET 1", rows: []string{`"Bob"`, `"Ada"`}},
		{sql: "SELECT DISTINCT Age FROM Users ORDER BY Age", rows: []string{"NULL", "20", "36"}},
		{sql: "SELECT Id FROM Users LIMIT 0"},
		{sql: "SELECT Id FROM Users@{FORCE_INDEX=UsersByName}", rows: []string{"3", "1", "2", "4"}},
		{sql: "SELECT Id, Tags FROM Users@{FORCE_INDEX=UsersByName} WHERE Name = 'Dan'", rows: []string{`4, ["y"]`}},
		{sql: "SELECT K FROM Kinds@{FORCE_INDEX=KindsByDay} WHERE D IS NOT NULL", rows: []string{`"c"`, `"a"`}},
		{sql: "SELECT K FROM Kinds@{FORCE_INDEX=KindsByDay} WHERE D > '2000-01-01'", rows: []string{`"a"`}},
		{sql: "SELECT K FROM Kinds@{FORCE_INDEX=KindsByDay}", code: codes.InvalidArgument, message: "NULL_FILTERED"},
		{sql: "SELECT K FROM Kinds@{FORCE_INDEX=KindsByDay, spanner_emulator.disable_query_null_filtered_index_check=true}", rows: []string{`"c"`, `"a"`}},
		{sql: "SELECT Id FROM Users@{FORCE_INDEX=Nope}", code: codes.InvalidArgument, message: "does not have a secondary index called Nope"},
		{sql: "@{spanner_emulator.disable_query_partitionability_check=true} SELECT COUNT(*) FROM Users", rows: []string{"4"}},
		{sql: "SELECT Nope FROM Users", code: codes.InvalidArgument, message: "Unrecognized name: Nope [at 1:8]"},
		{sql: "SELECT u.Nope FROM Users u", code: codes.InvalidArgument, message: "Name Nope not found inside u"},
		{sql: "SELECT 'Ünï', Nope FROM Users", code: codes.InvalidArgument, message: "Unrecognized name: Nope [at 1:15]"}, // in characters
		{sql: "SELECT 'Ünï'\n, 'é' 'x'", code: codes.InvalidArgument, message: "[at 2:7]"},
		{sql: "SELECT 1 FROM Nope", code: codes.InvalidArgument, message: "Table not found: Nope [at 1:15]"},
		{sql: "SELECT NOPE(1)", code: codes.InvalidArgument, message: "Function not found: NOPE"},
		{sql: "SELEC 1", code: codes.InvalidArgument, message: "Syntax error"},
		{sql: "SELECT 1 +", code: codes.InvalidArgument, message: "Syntax error"},
		{sql: "SELECT 1; SELECT 2", code: codes.InvalidArgument, message: "Syntax error"},
		{sql: "", code: codes.InvalidArgument},
		{sql: "SELECT Id FROM Users, Users AS v", code: codes.InvalidArgument, message: "ambiguous"},
		{sql: "SELECT 1 UNION ALL SELECT 2", code: codes.Unimplemented, message: "UNION"},
		{sql: "INSERT INTO Users (Id) VALUES (1)", code: codes.Unimplemented, message: "Insert"},
		{sql: "SELECT STRUCT(1 AS a)", code: codes.Unimplemented, message: "Unsupported query shape: A struct value"},
		{sql: "SELECT u FROM Users u", code: codes.Unimplemented, message: "Unsupported query shape"},
	})
}

func TestNesting(t *testing.T) {
	m := shop(t)
	for _, c := range []struct {
		name, sql string
		code      codes.Code
	}{
		{"long OR", "SELECT 1 FROM Users WHERE Id = 0" + strings.Repeat(" OR Id = 1", 20_000), codes.OK},
		{"long AND in brackets", "SELECT 1 FROM Users WHERE " + strings.Repeat("(Id = 1) AND ", 20_000) + "TRUE", codes.OK},
		{"long sum", "SELECT 1" + strings.Repeat("+1", 1_000), codes.OK},
		{"longer sum", "SELECT 1" + strings.Repeat("+1", 100_000), codes.InvalidArgument},
		{"brackets", "SELECT " + strings.Repeat("(", 250) + "1" + strings.Repeat(")", 250), codes.OK},
		{"too many brackets", "SELECT " + strings.Repeat("(", 400_000) + "1" + strings.Repeat(")", 400_000), codes.InvalidArgument},
		{"open brackets", "SELECT " + strings.Repeat("(", 900_000), codes.InvalidArgument},
		{"NOT", "SELECT " + strings.Repeat("NOT ", 200_000) + "TRUE", codes.InvalidArgument},
		{"minus", "SELECT " + strings.Repeat("- ", 400_000) + "1", codes.InvalidArgument},
		{"CASE", "SELECT " + strings.Repeat("CASE ", 100_000), codes.InvalidArgument},
		{"types", "SELECT CAST(1 AS " + strings.Repeat("ARRAY<", 100_000), codes.InvalidArgument},
		{"joins", "SELECT 1 FROM Users" + strings.Repeat(" CROSS JOIN Users", 50_000), codes.InvalidArgument},
		{"too long", "SELECT '" + strings.Repeat("x", 1_000_001) + "'", codes.InvalidArgument},
	} {
		t.Run(c.name, func(t *testing.T) {
			q, err := sql.Prepare(m, c.sql, nil)
			for _, rowErr := range rowsOf(q) {
				err = rowErr
			}
			if status.Code(err) != c.code {
				t.Errorf("error %v, want %s", err, c.code)
			}
		})
	}
}

// rowsOf runs a query, if there is one.
func rowsOf(q *sql.Query) iter.Seq2[value.Row, error] {
	if q == nil {
		return func(func(value.Row, error) bool) {}
	}
	return q.Rows(context.Background())
}

func TestParameters(t *testing.T) {
	text, number := value.String("Ada"), value.Int64(36)
	ints := value.Array(value.Int64Type, []value.Value{value.Int64(1), value.Int64(3), value.Null(value.Int64Type)})
	pair := value.StructOf(value.Field{Name: "i", Type: value.Int64Type}, value.Field{Name: "n", Type: value.StringType})
	pairs := value.Array(pair, []value.Value{
		value.Struct(pair, []value.Value{value.Int64(1), text}), value.Struct(pair, []value.Value{value.Int64(2), text}),
	})
	runCases(t, shop(t), []queryCase{
		{sql: "SELECT Id FROM Users WHERE (Id, Name) IN UNNEST(@p)", params: map[string]relation.Param{"p": typed(pairs)}, rows: []string{"1"}},
		{sql: "SELECT u.Name, k.n FROM UNNEST(@p) AS k JOIN Users AS u ON u.Id = k.i ORDER BY u.Id", params: map[string]relation.Param{"p": typed(pairs)}, rows: []string{`"Ada", "Ada"`, `"Bob", "Ada"`}},
		{sql: "SELECT @p", params: map[string]relation.Param{"p": typed(pairs)}, code: codes.Unimplemented, message: "null-valued array of struct"},
		{sql: "SELECT Id FROM Users WHERE Name = @P", params: map[string]relation.Param{"p": typed(text)}, rows: []string{"1"}},
		{sql: "SELECT Id FROM Users WHERE Age = @p", params: map[string]relation.Param{"p": untyped(number)}, rows: []string{"1", "4"}},
		{sql: "SELECT Id FROM Users WHERE Id IN UNNEST(@p)", params: map[string]relation.Param{"p": untyped(ints)}, rows: []string{"1", "3"}},
		{sql: "SELECT Id FROM Users WHERE Id IN (@p, 2)", params: map[string]relation.Param{"p": untyped(value.Int64(4))}, rows: []string{"2", "4"}},
		{sql: "SELECT @p = @q", params: map[string]relation.Param{"p": untyped(value.String("str")), "q": typed(value.String("str"))}, rows: []string{"true"}},
		{sql: "SELECT @p IS NULL OR Name = @p FROM Users WHERE Id = 1", params: map[string]relation.Param{"p": untyped(text)}, rows: []string{"true"}},
		{sql: "SELECT @p", params: map[string]relation.Param{"p": untyped(value.Null(nil))}, columns: " INT64", rows: []string{"NULL"}},
		{sql: "SELECT @p", params: map[string]relation.Param{"p": untyped(text)}, columns: " STRING", rows: []string{`"Ada"`}},
		{sql: "SELECT @p IS NULL, [] IS NULL", params: map[string]relation.Param{"p": untyped(text)}, rows: []string{"false, false"}},
		{sql: "SELECT @any", code: codes.InvalidArgument, message: "any"},
		{sql: "SELECT Id FROM Users WHERE Age = @p", params: map[string]relation.Param{"p": untyped(text)}, code: codes.InvalidArgument, message: "Invalid value for bind parameter p: Expected INT64."},
		{sql: "SELECT @p", params: map[string]relation.Param{"p": {Type: value.Int64Type, Wire: value.Float64(1).AppendWire(nil)}}, code: codes.InvalidArgument, message: "Invalid value for bind parameter p: Expected INT64."},
		{sql: "SELECT 1", params: map[string]relation.Param{strings.Repeat("x", 130): typed(text)}, code: codes.InvalidArgument},
		{sql: "SELECT 1", params: map[string]relation.Param{"unused": untyped(text)}, rows: []string{"1"}},
		{sql: "SELECT @p", params: map[string]relation.Param{"p": typed(value.Struct(value.StructOf(value.Field{Name: "a", Type: value.Int64Type}), []value.Value{number}))}, code: codes.Unimplemented, message: "Unsupported query shape"},
		{sql: "SELECT D FROM Kinds WHERE D = @p", params: map[string]relation.Param{"p": typed(value.String("2024-02-29"))}, rows: []string{"2024-02-29"}},
		{sql: "SELECT Id FROM Users ORDER BY Id LIMIT @p OFFSET @q", params: map[string]relation.Param{"p": untyped(value.Int64(1)), "q": typed(value.Int64(2))}, rows: []string{"3"}},
	})
}

func TestUndeclaredParameters(t *testing.T) {
	q, err := sql.Prepare(shop(t), "SELECT 1 FROM Users WHERE Name LIKE @name AND Id IN UNNEST(@ids) AND Age > @age", map[string]relation.Param{
		"name": untyped(value.Null(nil)), "ids": untyped(value.Null(nil)), "age": typed(value.Int64(1)),
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := spellColumns(q.UndeclaredParameters()), "ids ARRAY<INT64>, name STRING"; got != want {
		t.Errorf("undeclared parameters: %s, want %s", got, want)
	}
}

func TestInformationSchema(t *testing.T) {
	runCases(t, shop(t), []queryCase{
		{sql: "SELECT option_value FROM information_schema.database_options WHERE option_name = 'database_dialect'", columns: "option_value STRING", rows: []string{`"GOOGLE_STANDARD_SQL"`}},
		{sql: "SELECT t.TABLE_NAME, t.PARENT_TABLE_NAME FROM INFORMATION_SCHEMA.TABLES AS t WHERE t.TABLE_SCHEMA = '' ORDER BY t.TABLE_NAME", rows: []string{`"Kinds", NULL`, `"Orders", "Users"`, `"Users", NULL`}},
		{sql: "SELECT `ALL` FROM INFORMATION_SCHEMA.CHANGE_STREAMS WHERE CHANGE_STREAM_CATALOG = '' AND CHANGE_STREAM_NAME = @p", params: map[string]relation.Param{"p": untyped(value.String("s"))}},
		{sql: `SELECT c.COLUMN_NAME, c.SPANNER_TYPE, ic.ORDINAL_POSITION
			FROM INFORMATION_SCHEMA.COLUMNS c
			LEFT JOIN INFORMATION_SCHEMA.INDEX_COLUMNS ic ON ic.TABLE_NAME = c.TABLE_NAME AND ic.COLUMN_NAME = c.COLUMN_NAME AND ic.INDEX_TYPE = 'PRIMARY_KEY'
			WHERE c.TABLE_SCHEMA = '' AND c.TABLE_NAME = 'Orders' ORDER BY c.ORDINAL_POSITION LIMIT 3`,
			rows: []string{`"Id", "INT64", 1`, `"OrderId", "INT64", 2`, `"Amount", "NUMERIC", NULL`}},
		{sql: "SELECT COUNT(*) > 3 FROM INFORMATION_SCHEMA.SCHEMATA", rows: []string{"false"}},
	})
}
