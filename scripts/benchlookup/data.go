package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
)

const table = "Customers"

const ddl = `CREATE TABLE ` + table + ` (
  CustomerId INT64 NOT NULL,
  Name STRING(MAX),
  City STRING(100),
  Score FLOAT64,
  Active BOOL,
  Created TIMESTAMP,
) PRIMARY KEY (CustomerId);
`

var columns = []string{"Name", "City", "Score", "Active", "Created"}

// customer is the id of the i-th row: spread out, as keys should be.
func customer(i int) int { return i*7919 + 13 }

// writeData writes the schema, the table's rows and the records into dir. One
// record in a hundred names a customer that does not exist.
func writeData(dir string, o options) error {
	if err := os.WriteFile(filepath.Join(dir, "schema.sql"), []byte(ddl), 0o600); err != nil {
		return err
	}
	rows := filepath.Join(dir, "rows")
	if err := os.Mkdir(rows, 0o700); err != nil {
		return err
	}
	cities := []string{"Zürich", "São Paulo", "Kraków", "Hồ Chí Minh", "Lagos", "Delhi"}
	err := writeLines(filepath.Join(rows, table+".csv"), o.rows+1, func(w *bufio.Writer, i int) {
		if i == 0 {
			w.WriteString("CustomerId,Name,City,Score,Active,Created\n")
			return
		}
		i--
		fmt.Fprintf(w, "%d,customer number %d,%s,%d.5,%t,2026-01-%02dT10:20:%02d.123456Z\n",
			customer(i), i, cities[i%len(cities)], i%1000, i%2 == 0, 1+i%28, i%60)
	})
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(1, 2))
	record := func(w *bufio.Writer, i int) {
		id := customer(r.IntN(o.rows))
		if i%100 == 99 {
			id++
		}
		w.WriteString(`{"order":`)
		w.WriteString(strconv.Itoa(i))
		w.WriteString(`,"customer":`)
		w.WriteString(strconv.Itoa(id))
		fmt.Fprintf(w, `,"total":%d.%02d,"note":"order number %d"}`+"\n", r.IntN(1000), r.IntN(100), i)
	}
	if err := writeLines(filepath.Join(dir, "records.ndjson"), o.records, record); err != nil {
		return err
	}
	r = rand.New(rand.NewPCG(1, 2))
	return writeLines(filepath.Join(dir, "sample.ndjson"), min(o.sample, o.records), record)
}

func writeLines(path string, n int, line func(w *bufio.Writer, i int)) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	for i := range n {
		line(w, i)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}
