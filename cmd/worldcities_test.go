package cmd

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"spanbulk/internal/emulator"
)

const worldCities = "../../shared/data/world-cities/world-cities.csv"

type city struct {
	Name       string `json:"name"`
	Country    string `json:"country"`
	Subcountry string `json:"subcountry"`
	GeonameID  int64  `json:"geonameid"`
}

// TestExportWorldCities loads real names in many scripts into the embedded
// Spanner, exports them, and compares them with the file by the standard
// library's readers.
func TestExportWorldCities(t *testing.T) {
	raw, err := os.ReadFile(worldCities)
	if os.IsNotExist(err) {
		t.Skipf("%s is not here", worldCities)
	}
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "Cities.csv"), raw, fs.FileMode(0o666)); err != nil {
		t.Fatal(err)
	}
	spanner := startSpanner(t, emulator.Options{}, `CREATE TABLE Cities (geonameid INT64 NOT NULL, name STRING(MAX), country STRING(MAX), subcountry STRING(MAX)) PRIMARY KEY (geonameid)`)
	if _, err := emulator.Load(t.Context(), spanner.Embedded(t, "rows from files"), spanner.database, dir); err != nil {
		t.Fatal(err)
	}
	out := spanner.mustExport(t, "--table", "Cities")
	compareCities(t, citiesOf(t, raw), bytes.NewReader(out))
}

func citiesOf(t *testing.T, raw []byte) map[int64]city {
	t.Helper()
	records, err := csv.NewReader(bytes.NewReader(raw)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	cities := map[int64]city{}
	for _, r := range records[1:] {
		id, err := strconv.ParseInt(r[3], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		cities[id] = city{r[0], r[1], r[2], id}
	}
	return cities
}

func compareCities(t *testing.T, want map[int64]city, exported io.Reader) {
	t.Helper()
	if len(want) < 30_000 {
		t.Fatalf("only %d cities in %s", len(want), worldCities)
	}
	decoder := json.NewDecoder(exported)
	for decoder.More() {
		var got city
		if err := decoder.Decode(&got); err != nil {
			t.Fatal(err)
		}
		if want[got.GeonameID] != got {
			t.Fatalf("exported %+v, want %+v", got, want[got.GeonameID])
		}
		delete(want, got.GeonameID)
	}
	if len(want) > 0 {
		t.Errorf("%d cities were not exported", len(want))
	}
}
