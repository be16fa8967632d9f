package cmd_test

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"spanbulk/cmd"
)

// workerProgram is the name under which this binary serves a script.
const workerProgram = "spanbulk-worker"

// scriptWorker is a process that runs a script's command lines one after
// another: under the race detector a process takes ten times as long to start as
// most of them take to run. It is a process for the sake of the directory it is
// in, which scripts that run beside each other cannot share.
type scriptWorker struct {
	process *exec.Cmd
	stderr  bytes.Buffer // what the race detector says
	in      io.WriteCloser
	send    *gob.Encoder
	receive *gob.Decoder
}

// toWorker is a command line, or the answer to a question.
type toWorker struct {
	Dir  string
	Args []string

	Value string
	IsSet bool
}

// fromWorker is a question for a variable of the environment, or how a run ended.
type fromWorker struct {
	Ask string

	Code           int
	Stdout, Stderr []byte
	// Failure says what went wrong around the run, goroutines it left included.
	Failure string
}

// startWorker starts a worker with a script's first environment. It ends with
// the script, which fails if the worker does.
func startWorker(ts *testscript.TestScript, env []string) *scriptWorker {
	w := &scriptWorker{process: exec.Command(workerProgram)}
	w.process.Env = env
	w.process.Stderr = &w.stderr
	in, err := w.process.StdinPipe()
	ts.Check(err)
	out, err := w.process.StdoutPipe()
	ts.Check(err)
	ts.Check(w.process.Start())
	w.in, w.send, w.receive = in, gob.NewEncoder(in), gob.NewDecoder(out)
	ts.Defer(func() {
		w.in.Close()
		if err := w.process.Wait(); err != nil {
			ts.Fatalf("%s: %v\n%s", workerProgram, err, &w.stderr)
		}
	})
	return w
}

// run runs spanbulk in the script's directory and environment.
func (w *scriptWorker) run(ts *testscript.TestScript, args []string) fromWorker {
	message := toWorker{Dir: ts.MkAbs("."), Args: args}
	for {
		ts.Check(w.send.Encode(message))
		var m fromWorker
		if err := w.receive.Decode(&m); err != nil {
			w.in.Close()
			ts.Fatalf("%s: %v: %v\n%s", workerProgram, err, w.process.Wait(), &w.stderr)
		}
		if m.Ask == "" {
			return m
		}
		value := ts.Getenv(m.Ask)
		message = toWorker{Value: value, IsSet: value != ""}
	}
}

// serveScript is the worker's side. It ends when the script closes its stdin, in
// the middle of a run, too: then the tests are gone.
func serveScript() {
	messages := make(chan toWorker)
	go func() {
		for decode := gob.NewDecoder(os.Stdin); ; {
			var m toWorker
			if err := decode.Decode(&m); err != nil {
				if !errors.Is(err, io.EOF) {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				os.Exit(0)
			}
			messages <- m
		}
	}()
	send, ours := gob.NewEncoder(os.Stdout), goleak.IgnoreCurrent()
	for m := range messages {
		answer := runForScript(m, func(name string) (string, bool) {
			if err := send.Encode(fromWorker{Ask: name}); err != nil {
				panic(err)
			}
			v := <-messages
			return v.Value, v.IsSet
		})
		if err := goleak.Find(ours); err != nil {
			answer.Failure = err.Error()
		}
		if err := send.Encode(answer); err != nil {
			panic(err)
		}
	}
}

// runForScript runs a command line, which looks up its environment from one
// goroutine.
func runForScript(m toWorker, lookupEnv func(string) (string, bool)) fromWorker {
	if err := os.Chdir(m.Dir); err != nil {
		return fromWorker{Failure: err.Error()}
	}
	var out, errs bytes.Buffer
	streams := cmd.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, LookupEnv: lookupEnv}
	code := cmd.Run(context.Background(), streams, m.Args)
	return fromWorker{Code: code, Stdout: out.Bytes(), Stderr: errs.Bytes()}
}
