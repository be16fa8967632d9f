package cmd_test

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"spanbulk/cmd"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"spanbulk": func() { os.Exit(cmd.Execute()) },
	})
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
			"fault":     cmdFault,
			"emptydir":  cmdEmptyDir,
			"rows":      cmdRows,
			"stall":     cmdStall,
			"cmpsorted": cmdCmpSorted,
		},
		Setup: setupScript,
	})
}
