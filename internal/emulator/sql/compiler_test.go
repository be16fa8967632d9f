package sql_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"spanbulk/internal/emulator/catalog"
	"spanbulk/internal/emulator/sql"
	"spanbulk/internal/emulator/value"
)

func TestCompile(t *testing.T) {
	now := time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		column string // as declared after the name
		a      any
		want   string
		code   codes.Code
	}{
		{column: "INT64 AS (A + 1) STORED", a: 4, want: "5"},
		{column: "INT64 AS (A + 1) STORED", a: nil, want: "NULL"},
		{column: "STRING(MAX) AS (CONCAT(S, '-', CAST(A AS STRING))) STORED", a: 4, want: `"s-4"`},
		{column: "FLOAT64 AS (A) STORED", a: 4, want: "4"},
		{column: "BOOL AS (t.A > 3 AND t.A IN UNNEST([4, 5])) STORED", a: 4, want: "true"},
		{column: "FLOAT64 AS (1 / A) STORED", a: 0, code: codes.OutOfRange},
		{column: "DATE DEFAULT ('2024-02-03')", want: "2024-02-03"},
		{column: "TIMESTAMP DEFAULT (CURRENT_TIMESTAMP())", want: "2024-01-02T03:04:05Z"},
		{column: "NUMERIC DEFAULT (1)", want: "1"},
		{column: "INT64 DEFAULT ('x')", code: codes.InvalidArgument},
		{column: "INT64 DEFAULT (A + 1)", code: codes.InvalidArgument},
		{column: "TIMESTAMP AS (CURRENT_TIMESTAMP()) STORED", code: codes.InvalidArgument},
		{column: "INT64 AS (Nope) STORED", code: codes.InvalidArgument},
		{column: "INT64 DEFAULT ((SELECT 1))", code: codes.InvalidArgument},
		{column: "INT64 DEFAULT (COUNT(1))", code: codes.InvalidArgument},
		{column: "INT64 DEFAULT (GET_NEXT_SEQUENCE_VALUE(SEQUENCE sq))", code: codes.InvalidArgument},
	} {
		t.Run(c.column, func(t *testing.T) {
			got, err := compileColumn(t, c.column, now, c.a)
			if status.Code(err) != c.code {
				t.Fatalf("error %v, want %s", err, c.code)
			}
			if err == nil && spell(got) != c.want {
				t.Errorf("got %s, want %s", spell(got), c.want)
			}
		})
	}
}

func compileColumn(t *testing.T, column string, now time.Time, a any) (value.Value, error) {
	ddl := "CREATE TABLE t (A INT64, S STRING(MAX), X " + column + ") PRIMARY KEY (A)"
	schema, err := catalog.Empty().Apply(ddl)
	if err != nil {
		if strings.Contains(column, "Nope") {
			return value.Value{}, status.Error(codes.InvalidArgument, err.Error())
		}
		t.Fatal(err)
	}
	table, _ := schema.Table("t")
	x, _ := table.Column("X")
	e := x.Default
	if e == nil {
		e = x.Generated
	}
	compiled, err := sql.Compiler{Now: func() time.Time { return now }}.Compile(nil, table, e, x.Type)
	if err != nil {
		return value.Value{}, err
	}
	return compiled(func(c *catalog.Column) []byte {
		switch c.Name {
		case "A":
			return cellValue(t, c.Type, a).AppendWire(nil)
		case "S":
			return value.String("s").AppendWire(nil)
		}
		t.Fatalf("asked for column %s", c.Name)
		return nil
	})
}
