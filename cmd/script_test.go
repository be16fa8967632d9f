package cmd_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"spanbulk/cmd"
	"spanbulk/internal/spannertest"
)

func TestMain(m *testing.M) {
	testscript.Main(leakChecked{m}, map[string]func(){
		"spanbulk":    func() { os.Exit(cmd.Execute()) },
		workerProgram: serveScript,
	})
}

// leakChecked fails a run of tests that leaves goroutines behind.
type leakChecked struct{ m *testing.M }

func (l leakChecked) Run() int {
	code := l.m.Run()
	if code != 0 {
		return code
	}
	// OpenCensus, which the Google libraries link, starts one at its import.
	if err := goleak.Find(goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// TestScript runs the scripts of testdata/script: the program as a user has it,
// with streams, environment, files and exit codes. UPDATE_SCRIPTS=1 rewrites
// the golden parts of them.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exitcode":  cmdExitCode,
			"run":       cmdRun,
			"refuse":    cmdRefuse,
			"spanner":   cmdSpanner,
			"database":  cmdDatabase,
			"fault":     cmdFault,
			"emptydir":  cmdEmptyDir,
			"rows":      cmdRows,
			"stall":     cmdStall,
			"cmpsorted": cmdCmpSorted,
		},
		Condition: func(name string) (bool, error) {
			if name != "live" {
				return false, fmt.Errorf("unknown condition %s", name)
			}
			return spannertest.Live(), nil
		},
		Setup: setupScript,
	})
}
