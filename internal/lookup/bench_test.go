package lookup_test

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"spanbulk/internal/emulator"
	"spanbulk/internal/format"
	"spanbulk/internal/lookup"
)

// BenchmarkRun looks 100,000 records up, the embedded Spanner's share included.
func BenchmarkRun(b *testing.B) {
	f := start(b, emulator.Options{}, `CREATE TABLE Items (Id INT64, Name STRING(MAX), City STRING(MAX), Total FLOAT64) PRIMARY KEY (Id)`)
	const n = 100_000
	var rows [][]*structpb.Value
	for i := range n {
		rows = append(rows, []*structpb.Value{text(strconv.Itoa(i)), text("item " + strconv.Itoa(i)), text("Zürich"), structpb.NewNumberValue(float64(i))})
		if len(rows) == 10_000 {
			f.write("Items", []string{"Id", "Name", "City", "Total"}, rows...)
			rows = rows[:0]
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	var in strings.Builder
	for range n {
		in.WriteString(`{"order":1234567,"Id":` + strconv.Itoa(r.IntN(n)) + `,"note":"of some length"}` + "\n")
	}
	l := f.open(lookup.Options{Table: "Items", Columns: []string{"Name", "City", "Total"}, Key: []lookup.KeyColumn{{Column: "Id", Field: "Id"}}})
	b.ReportAllocs()
	for b.Loop() {
		c := &collector{lookup: l}
		if err := l.Run(b.Context(), source(b, l, strings.NewReader(in.String()), format.SplitOptions{}, lookup.KeyReaderOptions{}), c); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds(), "records/s")
}
