package sql_test

import (
	"context"
	"fmt"
	"testing"

	"spanbulk/internal/emulator/relation"
	"spanbulk/internal/emulator/sql"
	"spanbulk/internal/emulator/value"
)

// wide is a table of ten columns and n rows.
func wide(tb testing.TB, n int) *memory {
	m := newMemory(tb, `CREATE TABLE Wide (Id INT64 NOT NULL, S1 STRING(MAX), S2 STRING(MAX), F FLOAT64, B BOOL, T TIMESTAMP, N NUMERIC, Y BYTES(MAX), J JSON, G INT64) PRIMARY KEY (Id)`)
	for i := range n {
		m.insert(tb, "Wide", i, fmt.Sprintf("name-%d", i), "some longer text that stands for an address", float64(i)/3, i%2 == 0,
			"2024-01-02T03:04:05.678901Z", "12345.678", value.Bytes("0123456789abcdef"), `{"a":1,"b":"x"}`, i%100)
	}
	return m
}

func BenchmarkQuery(b *testing.B) {
	const rows = 10_000
	m := wide(b, rows)
	for _, bench := range []struct{ name, sql string }{
		{"AllColumns", "SELECT * FROM Wide"},
		{"TwoColumns", "SELECT Id, J FROM Wide"},
		{"Filter", "SELECT Id, S1, S2 FROM Wide WHERE G = 7 AND B"},
		{"FilterText", "SELECT Id FROM Wide WHERE S1 LIKE '%9_'"},
		{"Group", "SELECT G, COUNT(*), SUM(F) FROM Wide GROUP BY G"},
		{"Sort", "SELECT Id, S1 FROM Wide ORDER BY S1"},
		{"HashJoin", "SELECT a.Id FROM Wide a JOIN Wide b ON a.S1 = b.S1"},
		{"KeyJoin", "SELECT a.Id FROM (SELECT Id FROM Wide WHERE Id < 100) a JOIN Wide b ON a.Id = b.Id"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			q, err := sql.Prepare(m, bench.sql, nil)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range q.Rows(context.Background()) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
		})
	}
}

func BenchmarkPointLookup(b *testing.B) {
	m := wide(b, 1000)
	b.ReportAllocs()
	for b.Loop() {
		q, err := sql.Prepare(m, "SELECT S1, F FROM Wide WHERE Id = @id", map[string]relation.Param{"id": typed(value.Int64(500))})
		if err != nil {
			b.Fatal(err)
		}
		for _, err := range q.Rows(context.Background()) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
