package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/dustin/go-humanize"
	"google.golang.org/grpc/codes"

	"spanbulk/internal/fault"
	"spanbulk/internal/output"
	"spanbulk/internal/pipe"
)

// reportOptions say what is told of a bulk command's course and end.
type reportOptions struct {
	progress progressMode
	summary  string
}

func (o *reportOptions) addFlags(fs *flagSet) {
	o.progress = progressAuto
	g := group{fs, groupGeneral}
	g.value(&choiceValue[progressMode]{target: &o.progress, choices: []progressMode{progressAuto, progressAlways, progressNever}}, "progress", "`when` to show a progress bar on stderr: auto (when it is a terminal), always, never")
	g.text(&o.summary, "summary", "`file` for the final counters as one JSON object, written also on failure; - for stderr")
}

// validate refuses a summary that would take the place of what the command reads
// or writes, and one that cannot be written when all is done.
func (o *reportOptions) validate(a *app, output string, inputs []string) error {
	if o.summary == "" || o.summary == "-" {
		return nil
	}
	if dir := filepath.Dir(o.summary); !isDirectory(dir) {
		return usagef("--summary %s: there is no directory %s", o.summary, dir)
	}
	if isDirectory(o.summary) {
		return usagef("--summary %s is a directory", o.summary)
	}
	if output != "" && output != "-" && isWithin(o.summary, output) {
		return usagef("--summary %s is in the place of %s, which this command writes", o.summary, output)
	}
	mine, err := os.Stat(o.summary)
	if err != nil {
		return nil // it does not exist, so it is none of them
	}
	if stdout, ok := a.streams.Out.(interface{ Stat() (fs.FileInfo, error) }); ok {
		if theirs, err := stdout.Stat(); err == nil && os.SameFile(mine, theirs) && theirs.Mode().IsRegular() {
			return usagef("--summary %s is the file that stdout goes to", o.summary)
		}
	}
	for _, path := range inputs {
		if theirs, err := os.Stat(path); err == nil && os.SameFile(mine, theirs) {
			return usagef("--summary %s is an input", o.summary)
		}
	}
	return nil
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// isWithin reports whether path is place, or a file in the directory place.
func isWithin(path, place string) bool {
	path, place = realPath(path), realPath(place)
	if path == place {
		return true
	}
	return filepath.Dir(path) == place
}

// realPath is path with its links followed, as far as it exists.
func realPath(path string) string {
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return path
}

// summary is what a bulk command has done, as --summary writes it. The record
// counters balance: in = applied + refused + skipped + undecided.
type summary struct {
	Command  string `json:"command"`
	Status   string `json:"status"` // done, refused, failed or interrupted
	ExitCode int    `json:"exitCode"`
	Error    string `json:"error,omitempty"`
	Code     string `json:"code,omitempty"` // Spanner's, of the error

	Database string    `json:"database"`
	Started  time.Time `json:"started"`
	Seconds  float64   `json:"seconds"`

	// RecordsIn is how many records were read from where they come from.
	RecordsIn int64 `json:"recordsIn"`
	// RecordsApplied is how many of them are where they were to go.
	RecordsApplied int64 `json:"recordsApplied"`
	RecordsRefused int64 `json:"recordsRefused"`
	RecordsSkipped int64 `json:"recordsSkipped"`
	// RecordsUndecided is how many may or may not be there: the run ended
	// before that was known.
	RecordsUndecided int64 `json:"recordsUndecided"`
	Bytes            int64 `json:"bytes"`

	// DryRun says that nothing was to be written.
	DryRun bool `json:"dryRun,omitempty"`

	// Export has what only an export has.
	Export *exportSummary `json:"export,omitempty"`
	// Import has what only an import has.
	Import *importSummary `json:"import,omitempty"`
	// Lookup has what only a lookup has.
	Lookup *lookupSummary `json:"lookup,omitempty"`
	// Tail has what only a tail has.
	Tail *tailSummary `json:"tail,omitempty"`
}

type exportSummary struct {
	SnapshotTimestamp *time.Time `json:"snapshotTimestamp,omitempty"`
	Partitions        int64      `json:"partitions"`
	PartitionsDone    int64      `json:"partitionsDone"`
	StreamRetries     int64      `json:"streamRetries"`
	Files             int        `json:"files"`
}

// finish completes s with the outcome err, tells it on stderr, writes the
// summary file and returns what the command ends with.
func (a *app) finish(ctx context.Context, o *reportOptions, s *summary, err error) error {
	if err != nil && ctx.Err() != nil {
		// Whatever broke off says "canceled"; the cause says why.
		err = errors.Join(context.Cause(ctx), err)
	}
	s.ExitCode = a.exitCode(ctx, err)
	s.Seconds = a.now().Sub(s.Started).Seconds()
	s.Status = status(s.ExitCode)
	s.Error, s.Code = a.errorForSummary(ctx, s.ExitCode, err)
	// Of a run that failed before it did anything, the error is all there is to say.
	if !a.global.quiet && !isReaderGone(err) && !s.DryRun && (err == nil || s.RecordsIn > 0) {
		a.tell(s)
	}
	if werr := a.writeSummary(ctx, o.summary, s); werr != nil {
		return errors.Join(err, werr)
	}
	return err
}

func (a *app) errorForSummary(ctx context.Context, exitCode int, err error) (text, code string) {
	switch {
	case err == nil:
		return "", ""
	case isReaderGone(err):
		return output.ErrReaderGone.Error(), fault.CodeName(codes.Canceled)
	case exitCode > exitSignalBase:
		return context.Cause(ctx).Error(), fault.CodeName(codes.Canceled)
	case is[*refusedError](err):
		return err.Error(), "" // every record has its own
	default:
		return fault.Text(err, a.showValues()), fault.CodeName(fault.Code(err))
	}
}

func status(code int) string {
	switch {
	case code == exitDone:
		return "done"
	case code == exitRefused:
		return "refused"
	case code > exitSignalBase:
		return "interrupted"
	default:
		return "failed"
	}
}

// tell writes the summary for people.
func (a *app) tell(s *summary) {
	elapsed := time.Duration(s.Seconds * float64(time.Second))
	if a.global.logFormat == logJSON {
		a.log.Info("summary", "status", s.Status, "recordsIn", s.RecordsIn, "recordsApplied", s.RecordsApplied,
			"recordsRefused", s.RecordsRefused, "recordsSkipped", s.RecordsSkipped, "recordsUndecided", s.RecordsUndecided,
			"bytes", s.Bytes, "seconds", s.Seconds)
		return
	}
	records := "records"
	if s.RecordsApplied == 1 {
		records = "record"
	}
	line := fmt.Sprintf("%s %s: %s %s, %s in %s (%s records/s)", s.Command, s.Status,
		humanize.Comma(s.RecordsApplied), records, humanize.IBytes(uint64(s.Bytes)), elapsed.Round(10*time.Millisecond), humanize.Comma(rate(s.RecordsApplied, elapsed)))
	for _, other := range []struct {
		n    int64
		what string
	}{{s.RecordsRefused, "refused"}, {s.RecordsSkipped, "skipped"}, {s.RecordsUndecided, "undecided"}} {
		if other.n > 0 {
			line += fmt.Sprintf(", %s %s", humanize.Comma(other.n), other.what)
		}
	}
	if s.Lookup != nil {
		line += s.Lookup.text()
	}
	if s.Tail != nil {
		line += s.Tail.text()
	}
	fmt.Fprintf(a.console, "spanbulk: %s\n", line)
}

func (a *app) writeSummary(ctx context.Context, path string, s *summary) error {
	if path == "" {
		return nil
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode summary: %w", err)
	}
	raw = append(raw, '\n')
	if path == "-" {
		_, err = a.console.Write(raw)
	} else {
		err = writeFile(ctx, path, raw)
	}
	if err != nil {
		return fmt.Errorf("write summary %s: %w", path, configReason(err))
	}
	return nil
}

// writeFile is os.WriteFile, but that a pipe which nobody reads does not hold up
// the end of a run that is to end.
func writeFile(ctx context.Context, path string, raw []byte) error {
	if info, err := os.Stat(path); err != nil || info.Mode().IsRegular() {
		return os.WriteFile(path, raw, 0o666)
	}
	f, err := pipe.OpenWriter(ctx, path)
	if err != nil {
		return err
	}
	_, err = f.Write(raw)
	return errors.Join(err, f.Close())
}
