package cdc_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/spanner/admin/database/apiv1/databasepb"
	"github.com/google/go-cmp/cmp"

	"spanbulk/internal/emulator"
	"spanbulk/internal/randtest"
)

// peerModule is a public tool that reads change streams.
const peerModule = "github.com/cloudspannerecosystem/spanner-change-streams-tail@v0.4.2"

// TestPeer reads the same time of the same streams with the public tool and with
// spanbulk tail: both must see the same records. It takes long, as the tool must
// be built.
func TestPeer(t *testing.T) {
	if randtest.Factor() < 10 {
		t.Skip("only with SPANBULK_TEST_ROUNDS=10 or more")
	}
	dir, err := programDirectory()
	if err != nil {
		t.Fatal(err)
	}
	install := exec.Command("go", "install", peerModule)
	install.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=")
	if out, err := install.CombinedOutput(); err != nil {
		t.Skipf("%s cannot be built: %v: %s", peerModule, err, out)
	}
	program, err := spanbulk()
	if err != nil {
		t.Fatal(err)
	}
	r := randtest.New(t)
	const google, postgres = databasepb.DatabaseDialect_GOOGLE_STANDARD_SQL, databasepb.DatabaseDialect_POSTGRESQL
	for _, c := range []struct {
		dialect databasepb.DatabaseDialect
		stream  string
		ddl     []string
	}{
		{google, "Changes", nil},
		{google, "Moving", nil},
		// The tool writes a stream's name without quotes, where PostgreSQL knows small letters only.
		{postgres, "small", []string{`CREATE CHANGE STREAM small FOR ALL WITH (value_capture_type = 'NEW_ROW_AND_OLD_VALUES')`}},
		{postgres, "moves", []string{`CREATE CHANGE STREAM moves FOR ALL WITH (value_capture_type = 'NEW_ROW_AND_OLD_VALUES', partition_mode = 'MUTABLE_KEY_RANGE')`}},
	} {
		seed := r.Uint64()
		t.Run(fmt.Sprintf("%v/%s", c.dialect, c.stream), func(t *testing.T) {
			srv := startServer(t, c.dialect, emulator.Options{}, c.ddl...)
			comparePeer(t, rand.New(rand.NewPCG(seed, 0)), srv, c.stream, program, filepath.Join(dir, "spanner-change-streams-tail"))
		})
	}
}

func comparePeer(t *testing.T, r *rand.Rand, srv *server, stream, program, peer string) {
	source := srv.open(t, stream)
	begin, err := source.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	srv.workload(t, r, 500, map[string]bool{}, stream)
	last, err := source.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	name := srv.conn.Name()
	from, to := begin.Format(time.RFC3339Nano), last.Format(time.RFC3339Nano)
	ours := srv.start(t, program, "tail", stream, "-d", name.String(), "--start-position", from, "--end-position", to)
	theirs := srv.start(t, peer, "-p", name.Project, "-i", name.Instance, "-d", name.Database, "-s", stream, "-f", "json", "--start", from, "--end", to)
	ours.finish(t)
	theirs.finish(t)
	got, want := recordsByID(t, ours.stdout.String()), recordsByID(t, theirs.stdout.String())
	if len(want) < 500 {
		t.Fatalf("the tool read %d records of 500 transactions", len(want))
	}
	for id, record := range want {
		if !reflect.DeepEqual(got[id], record) {
			t.Fatalf("record %s (-tool +tail):\n%s", id, cmp.Diff(record, got[id]))
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d records, and the tool read %d", len(got), len(want))
	}
}

// recordsByID parses lines of JSON. Records that are the same in all but their
// place in the transaction stay apart by their sequence.
func recordsByID(t *testing.T, text string) map[string][]map[string]any {
	t.Helper()
	all := map[string][]map[string]any{}
	for _, line := range splitLines(text) {
		var record map[string]any
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		id := fmt.Sprint(record["server_transaction_id"], "/", record["record_sequence"])
		all[id] = append(all[id], record)
	}
	for _, records := range all {
		slices.SortFunc(records, func(a, b map[string]any) int { return slices.Compare([]byte(fmt.Sprint(a)), []byte(fmt.Sprint(b))) })
	}
	return all
}
