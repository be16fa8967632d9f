package cmd_test

import (
	"bytes"
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/spanner/admin/database/apiv1/databasepb"

	"spanbulk/cmd"
	"spanbulk/internal/emulator"
)

// Each of Spanner's five timestamp bounds, in both of its spellings, reads of a
// row that changed what it says.
func TestLookupTimestampBounds(t *testing.T) {
	const database = "projects/p/instances/i/databases/d"
	var clock atomic.Int64 // before the present
	server, err := emulator.New(emulator.Options{Now: func() time.Time { return time.Now().Add(-time.Duration(clock.Load())) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	endpoint, err := server.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	run := func(in string, args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		streams := cmd.Streams{
			In: strings.NewReader(in), Out: &out, Err: &errs,
			LookupEnv: func(name string) (string, bool) {
				if name == "SPANNER_EMULATOR_HOST" {
					return endpoint, true
				}
				return "", false
			},
		}
		if code := cmd.Run(context.Background(), streams, append(args, "-d", database, "--quiet", "--table", "Items")); code != 0 {
			t.Fatalf("%q: exit code %d: %s", args, code, &errs)
		}
		return out.String()
	}
	clock.Store(int64(time.Hour))
	if err := server.CreateDatabase(t.Context(), database, databasepb.DatabaseDialect_GOOGLE_STANDARD_SQL, `CREATE TABLE Items (Id INT64, Name STRING(MAX)) PRIMARY KEY (Id)`); err != nil {
		t.Fatal(err)
	}
	run(`{"Id":1,"Name":"old"}`, "import")
	old := time.Now().Add(-30 * time.Minute).UTC().Format(time.RFC3339Nano)
	clock.Store(0)
	run(`{"Id":1,"Name":"new"}`, "import")
	recent := time.Now().Add(-time.Minute).UTC().Format(time.RFC3339Nano)
	for _, c := range []struct{ name, value, want string }{
		{"strong", "", "new"},
		{"read-timestamp", old, "old"},
		{"exact-staleness", "30m", "old"},
		{"max-staleness", "2h", "new"},
		{"min-read-timestamp", recent, "new"},
	} {
		spellings := [][]string{{"--timestamp-bound", strings.TrimSuffix(c.name+"="+c.value, "=")}}
		if c.value != "" {
			spellings = append(spellings, []string{"--" + c.name, c.value})
		}
		for _, flags := range spellings {
			want := `{"Id":1,"Name":"` + c.want + `"}` + "\n"
			if got := run(`{"Id":1}`, append([]string{"lookup"}, flags...)...); got != want {
				t.Errorf("%q: got %s, want %s", flags, got, want)
			}
		}
	}
}
