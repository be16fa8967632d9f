package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"spanbulk/internal/emulator"
	"spanbulk/internal/fault"
)

// TestImportRefusalTable imports one record that Spanner answers with each status
// of the documents' table, among good ones, under both constraint policies and
// every --on-failure, and looks at exit code, summary, dead letter and rows.
func TestImportRefusalTable(t *testing.T) {
	s := startSpanner(t, emulator.Options{},
		"CREATE TABLE P (Id INT64 NOT NULL) PRIMARY KEY (Id)",
		`CREATE TABLE T (Id INT64 NOT NULL, Name STRING(5) NOT NULL, Mail STRING(MAX), Parent INT64, Age INT64,
  CONSTRAINT Grown CHECK (Age >= 18), CONSTRAINT Known FOREIGN KEY (Parent) REFERENCES P (Id)) PRIMARY KEY (Id)`,
		"CREATE UNIQUE INDEX ByMail ON T (Mail)",
		"CREATE TABLE C (Id INT64 NOT NULL, N INT64 NOT NULL) PRIMARY KEY (Id, N), INTERLEAVE IN PARENT T")
	const (
		refused  = iota // to --on-failure
		byPolicy        // to --on-failure, or the import fails
		fatal           // the import fails
		applied
	)
	tests := []struct {
		name   string
		record string
		code   codes.Code
		fate   int
	}{
		{"existing key", `{"t":"T","op":"insert","Id":1,"Name":"there"}`, codes.AlreadyExists, refused},
		{"UNIQUE index", `{"t":"T","op":"insert","Id":5,"Name":"u","Mail":"one@x"}`, codes.AlreadyExists, refused},
		{"unreadable", `{"t":"T","op":"insert","Id":"x"}`, codes.InvalidArgument, refused},
		{"key too long", `{"t":"T","op":"insert","Id":5,"Name":"k","Mail":"` + strings.Repeat("m", 9000) + `"}`, codes.InvalidArgument, refused},
		{"NULL in NOT NULL", `{"t":"T","op":"insert","Id":5,"Name":null}`, codes.FailedPrecondition, byPolicy},
		{"NOT NULL missing", `{"t":"T","op":"insert-or-update","Id":5}`, codes.FailedPrecondition, byPolicy},
		{"too long", `{"t":"T","op":"insert","Id":5,"Name":"longer"}`, codes.FailedPrecondition, byPolicy},
		{"FOREIGN KEY", `{"t":"T","op":"insert","Id":5,"Name":"fk","Parent":77}`, codes.FailedPrecondition, byPolicy},
		{"CHECK", `{"t":"T","op":"insert","Id":5,"Name":"ck","Age":3}`, codes.OutOfRange, byPolicy},
		{"update of a missing row", `{"t":"T","op":"update","Id":5,"Name":"gone"}`, codes.NotFound, fatal},
		{"parent missing", `{"t":"C","op":"insert","Id":5,"N":1}`, codes.NotFound, fatal},
		{"delete of a missing row", `{"t":"T","op":"delete","Id":5}`, codes.OK, applied},
	}
	for _, tt := range tests {
		for _, policy := range []string{"fail-job", "route-to-failure-handler"} {
			for _, handler := range []string{"fail", "drop", "dead-letter"} {
				for _, method := range []string{"batch-write", "commit"} {
					t.Run(fmt.Sprintf("%s, %s, %s, %s", tt.name, policy, handler, method), func(t *testing.T) {
						s.deleteAll(t, "T")
						in := `{"t":"T","op":"insert","Id":1,"Name":"one","Mail":"one@x"}` + "\n"
						if stderr, code := importInto(t, s.target, strings.NewReader(in), "--quiet", "--table-field", "t", "--operation-field", "op"); code != exitDone {
							t.Fatal(stderr)
						}
						in = `{"t":"T","op":"insert","Id":2,"Name":"two","Mail":"two@x"}` + "\n" + tt.record + "\n" + `{"t":"T","op":"insert","Id":3,"Name":"three","Mail":"three@x"}` + "\n"
						dir := t.TempDir()
						letter, summaryFile := filepath.Join(dir, "dead.ndjson"), filepath.Join(dir, "s.json")
						args := []string{"--quiet", "--table-field", "t", "--operation-field", "op", "--on-failure", handler, "--write-method", method,
							"--constraint-violation-policy", policy, "--summary", summaryFile}
						if handler == "dead-letter" {
							args = append(args, "--dead-letter", letter)
						}
						stderr, code := importInto(t, s.target, strings.NewReader(in), args...)
						handled := tt.fate == refused || tt.fate == byPolicy && policy == "route-to-failure-handler"
						want := exitFailed
						switch {
						case tt.fate == applied:
							want = exitDone
						case handled && handler != "fail":
							want = exitRefused
						}
						if code != want {
							t.Fatalf("exit code %d, want %d: %s", code, want, stderr)
						}
						sum := readSummary(t, summaryFile)
						if in := sum.RecordsApplied + sum.RecordsRefused + sum.RecordsSkipped + sum.RecordsUndecided; sum.RecordsIn != 3 || in != 3 {
							t.Errorf("the counters do not balance: %+v", sum)
						}
						if want == exitFailed && (strings.Count(stderr, "spanbulk: ") != 1 || !strings.Contains(stderr, "stdin:2") || sum.Code != fault.CodeName(tt.code)) {
							t.Errorf("code %s, stderr %q", sum.Code, stderr)
						}
						if want == exitRefused {
							rows := s.query(t, "SELECT Id FROM T ORDER BY Id").rows
							if len(rows) != 3 || sum.RecordsRefused != 1 || sum.Import.ErrorClass[fault.CodeName(tt.code)].Errors != 1 || len(sum.Import.ErrorClass) != 1 {
								t.Errorf("%d rows, summary %+v", len(rows), sum)
							}
						}
						checkLetter(t, letter, want == exitRefused && handler == "dead-letter", fault.CodeName(tt.code))
					})
				}
			}
		}
	}
}

func readSummary(t *testing.T, path string) summary {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var s summary
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// checkLetter wants one dead letter with a status, or no file.
func checkLetter(t *testing.T, path string, want bool, status string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if !want {
		if !os.IsNotExist(err) {
			t.Errorf("a dead letter file: %q, %v", raw, err)
		}
		return
	}
	if strings.Count(string(raw), "\n") != 1 || !strings.Contains(string(raw), `"input":"stdin","line":2,`) || !strings.Contains(string(raw), `"status":"`+status+`"`) {
		t.Errorf("dead letters %q, %v", raw, err)
	}
}
