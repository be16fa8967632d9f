package cmd

import (
	"context"
	"runtime"

	"github.com/spf13/cobra"

	"spanbulk/internal/database"
	"spanbulk/internal/format"
	"spanbulk/internal/input"
	"spanbulk/internal/schema"
	"spanbulk/internal/transform"
	"spanbulk/internal/writer"
)

const importLong = `Import writes records from files or stdin into tables, and knows of every record
whether it was applied, skipped or refused.

Inputs are files, globs, or directories that an export has written, spanbulk's
own or Google's; several tables are written parents before children. Format and
compression are told by name or content. A field becomes the column of its name;
absent fields are not written, so defaults and old values stand.

A record that cannot be read or that Spanner refuses is handed to --on-failure:
the import fails there, or goes on without it. What is transient is tried again.`

const importExample = `  # A file into a table
  spanbulk import -p my-project -i my-instance -d my-database --table Orders orders.ndjson.gz

  # All tables of an export
  spanbulk import -d projects/p/instances/i/databases/shop backup/

  # CSV from a pipe; what is refused goes to a file and can be taken again
  psql -c '\copy orders to stdout csv header' | spanbulk import -d projects/p/instances/i/databases/shop \
      --table Orders --format csv --dead-letter refused.ndjson
  spanbulk import -d projects/p/instances/i/databases/shop --table Orders --retry-dead-letter refused.ndjson

  # Keys to delete
  spanbulk import -d projects/p/instances/i/databases/shop --table Orders --operation delete old-keys.csv

  # Keep a copy of tables
  spanbulk tail Changes -d ... --changelog-mode upsert --metadata table |
      spanbulk import -d projects/p/instances/i/databases/copy --changelog --table-field __table`

// importOptions are the flags of import.
type importOptions struct {
	connection connectionOptions
	request    writeRequestOptions
	report     reportOptions
	target     targetOptions
	record     recordOptions
	format     inputFormatOptions
	batch      batchOptions
	failure    failureOptions
	dryRun     bool
}

func newImportCommand(a *app) *cobra.Command {
	o := &importOptions{}
	c := &cobra.Command{
		Use:     "import --table TABLE [FILE|GLOB|DIRECTORY...] [flags]",
		Short:   "Write records from files or stdin into tables",
		Long:    importLong,
		Example: importExample,
		RunE: func(c *cobra.Command, args []string) error {
			plan, err := o.validate(a, c.Flags(), args)
			if err != nil {
				return err
			}
			a.running = true
			return a.runImport(c.Context(), plan)
		},
	}
	fs := c.Flags()
	fs.SortFlags = false
	o.target.addFlags(fs)
	o.record.addFlags(fs)
	o.format.addFlags(fs)
	o.batch.addFlags(fs)
	o.request.addFlags(fs)
	o.failure.addFlags(fs)
	group{fs, groupWrite}.flag(&o.dryRun, "dry-run", "read and map the records and count their cells; write nothing")
	o.connection.addFlags(fs)
	o.report.addFlags(fs)
	return c
}

// importPlan is what the flags of import come to: options that the engines take.
type importPlan struct {
	options  *importOptions
	flags    *flagSet // of the command line, settled
	args     []string
	database database.Options
	table    schema.Name // zero if the inputs or the records tell
	decode   format.DecodeOptions
	input    input.Options
	writer   writer.Options
	progress *writer.Progress
	program  *transform.Program // of --jq; nil if there is none
}

// validate checks everything that can be checked before anything is opened.
func (o *importOptions) validate(a *app, flags *flagSet, args []string) (*importPlan, error) {
	p := &importPlan{options: o, flags: flags, args: args, progress: new(writer.Progress)}
	if o.failure.retry != "" && len(args) > 0 {
		return nil, usagef("--retry-dead-letter reads the dead letter file and takes no other input")
	}
	var err error
	if p.table, err = o.target.name(); err != nil {
		return nil, err
	}
	if p.decode, err = o.decodeOptions(a); err != nil {
		return nil, err
	}
	p.input = input.Options{
		Stdin: a.streams.In, Kind: o.format.kind, Compression: o.format.compression,
		Split:    format.SplitOptions{CSV: p.decode.CSV, Fields: o.record.columns, MaxRecordBytes: p.decode.MaxRecordBytes},
		Decoders: runtime.GOMAXPROCS(0), Progress: new(input.Progress),
	}
	p.input.HoldBytes = max(input.DefaultHoldBytes, 2*o.batch.bytes)
	if p.program, err = o.format.program(); err != nil {
		return nil, err
	}
	if p.writer, err = o.writerOptions(a, p.progress); err != nil {
		return nil, err
	}
	if p.database, err = o.connection.databaseOptions(a, p.writer.Parallelism); err != nil {
		return nil, err
	}
	return p, o.report.validate(a, o.failure.deadLetter, append(args, o.failure.retry))
}

// runImport runs an import and tells how it ended.
func (a *app) runImport(ctx context.Context, p *importPlan) error {
	s := &summary{Command: "import", Started: a.now().UTC(), Database: p.database.Name.String(), Import: &importSummary{}}
	err := a.imports(ctx, p)
	if ctx.Err() != nil && err == nil {
		err = context.Cause(ctx) // an interrupted run is never a success
	}
	p.count(s)
	if err == nil && s.RecordsRefused > 0 {
		err = &refusedError{s.RecordsRefused}
	}
	return a.finish(ctx, &p.options.report, s, err)
}

// count takes the writer's counters into the summary. In a dry run all that
// would have been sent is skipped.
func (p *importPlan) count(s *summary) {
	w := p.progress
	s.Bytes = p.input.Progress.Bytes.Load()
	s.RecordsIn, s.RecordsApplied, s.RecordsRefused, s.RecordsSkipped = w.RecordsIn.Load(), w.Applied.Load(), w.Refused.Load(), w.Skipped.Load()
	s.RecordsUndecided = w.Undecided()
	if p.options.dryRun {
		s.RecordsSkipped, s.RecordsUndecided = s.RecordsSkipped+s.RecordsUndecided, 0
	}
	*s.Import = importSummary{
		Cells: w.Cells.Load(), NumRecordsSend: s.RecordsApplied, NumBytesSend: w.BytesSent.Load(), NumRecordsSendErrors: s.RecordsRefused,
		MutationsRetried: w.Retried.Load(), BatchesSent: w.Batches.Load(),
		BufferedMutations: w.MaxMutations.Load(), BufferedCells: w.MaxCells.Load(), BufferedBytes: w.MaxBytes.Load(),
		ErrorClass: map[string]errorCount{},
	}
	for code, n := range w.Errors() {
		s.Import.ErrorClass[code] = errorCount{n}
	}
}

// importSummary has what only an import has, under the names of the documents.
type importSummary struct {
	// Cells is what the records cost of Spanner's limit on mutations.
	Cells                int64 `json:"cells"`
	NumRecordsSend       int64 `json:"numRecordsSend"`
	NumBytesSend         int64 `json:"numBytesSend"`
	NumRecordsSendErrors int64 `json:"numRecordsSendErrors"`
	MutationsRetried     int64 `json:"mutationsRetried"`
	BatchesSent          int64 `json:"batchesSent"`
	// The most that was undecided at once.
	BufferedMutations int64 `json:"bufferedMutations"`
	BufferedCells     int64 `json:"bufferedCells"`
	BufferedBytes     int64 `json:"bufferedBytes"`
	// ErrorClass counts by status code.
	ErrorClass map[string]errorCount `json:"errorClass"`
}

type errorCount struct {
	Errors int64 `json:"errors"`
}
