package cmd

import (
	"context"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"spanbulk/internal/database"
	"spanbulk/internal/fault"
	"spanbulk/internal/format"
	"spanbulk/internal/output"
	"spanbulk/internal/reader"
	"spanbulk/internal/schema"
	"spanbulk/internal/transform"
)

const exportLong = `Export reads tables, or the result of a query, at one snapshot and writes the rows
to stdout, a file or a directory.

Spanner splits the read into partitions, which are read in parallel; the order
of rows is open. Every row is written once, whatever breaks on the way. Files
appear under their final name only when the whole export is whole; a directory
also gets a manifest.json with the snapshot, the columns and the files; with
--format avro and tables, also the manifests that Google's own Spanner import
reads: spanner-export.json and TABLE-manifest.json.`

const exportExample = `  # A table to stdout
  spanbulk export -p my-project -i my-instance -d my-database --table Orders | jq .

  # Compressed files, one for each partition, as the table was an hour ago
  spanbulk export -d projects/p/instances/i/databases/shop --table Orders \
      --exact-staleness 1h --output orders/ --format ndjson --compression zstd

  # What a condition holds for
  spanbulk export -d projects/p/instances/i/databases/shop --table Orders \
      --where 'PlacedAt >= @since' --param since:TIMESTAMP=2026-01-01T00:00:00Z

  # Every table at one snapshot, without disturbing the serving traffic
  spanbulk export -d projects/p/instances/i/databases/shop --all-tables --data-boost --output backup/`

// exportOptions are the flags of export.
type exportOptions struct {
	connection connectionOptions
	request    requestOptions
	report     reportOptions
	source     sourceOptions
	snapshot   snapshotOptions
	fetch      fetchOptions
	format     formatOptions
	output     outputOptions
	dryRun     bool
}

func newExportCommand(a *app) *cobra.Command {
	o := &exportOptions{}
	c := &cobra.Command{
		Use:     "export --table TABLE [flags]",
		Short:   "Export tables at one snapshot to files or stdout",
		Long:    exportLong,
		Example: exportExample,
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			plan, err := o.validate(a)
			if err != nil {
				return err
			}
			a.running = true
			return a.runExport(c.Context(), plan)
		},
	}
	fs := c.Flags()
	fs.SortFlags = false
	o.source.addFlags(fs)
	o.snapshot.addFlags(fs)
	o.fetch.addFlags(fs)
	o.request.addFlags(fs)
	o.format.addFlags(fs)
	o.output.addFlags(fs)
	group{fs, groupWhere}.flag(&o.dryRun, "dry-run", "show what would be read, the snapshot and the partitions; write nothing")
	o.connection.addFlags(fs)
	o.report.addFlags(fs)
	return c
}

// exportPlan is what the flags of export come to: options that the engines take.
type exportPlan struct {
	options  *exportOptions
	database database.Options
	reader   reader.Options
	progress *reader.Progress
	tables   []schema.Name // empty means all, or a query
	sql      string        // of --query; empty means tables
	params   []param
	format   format.Options
	program  *transform.Program // of --jq; nil if there is none
	output   output.Options
}

// validate checks everything that can be checked before anything is opened.
func (o *exportOptions) validate(a *app) (*exportPlan, error) {
	p := &exportPlan{options: o, progress: new(reader.Progress)}
	if err := o.resolveSource(p); err != nil {
		return nil, err
	}
	if err := o.snapshot.validate(a); err != nil {
		return nil, err
	}
	var err error
	if p.format, err = o.format.resolve(a, o.output.path); err != nil {
		return nil, err
	}
	if err = checkApplies(a, p.format.Kind); err != nil {
		return nil, err
	}
	if p.program, err = o.format.program(p.format.Kind); err != nil {
		return nil, err
	}
	if p.output, err = o.output.resolve(a, p); err != nil {
		return nil, err
	}
	if p.reader, err = o.readerOptions(a, p.progress); err != nil {
		return nil, err
	}
	if p.database, err = o.connection.databaseOptions(a, p.reader.Parallelism); err != nil {
		return nil, err
	}
	if p.database.EmulatorEndpoint != "" && p.reader.Retry.GiveUpAfter == 0 {
		p.reader.Retry.GiveUpAfter = emulatorPatience
	}
	return p, o.report.validate(a, o.output.path, nil)
}

// emulatorPatience is how long a server on the way to its end is waited for: an
// emulator keeps its data in memory, so one that is gone does not come back with
// the snapshot.
const emulatorPatience = 30 * time.Second

func (o *exportOptions) resolveSource(p *exportPlan) error {
	err := o.source.validate()
	if err != nil {
		return err
	}
	if o.source.noPartition && o.snapshot.dataBoost {
		return usagef("--data-boost and --no-partition exclude each other: Data Boost reads partitions only")
	}
	if o.source.isQuery() {
		if p.sql, err = o.source.sql(); err != nil {
			return err
		}
	}
	if p.tables, err = o.source.names(); err != nil {
		return err
	}
	p.params, err = o.source.parsedParams()
	return err
}

func (o *exportOptions) readerOptions(a *app, progress *reader.Progress) (reader.Options, error) {
	directed, err := o.snapshot.directedReads()
	if err != nil {
		return reader.Options{}, err
	}
	options := reader.Options{
		Parallelism:        o.fetch.parallelism,
		MaxRowsPerFetch:    o.fetch.maxRows,
		MaxBytesPerFetch:   int(o.chunkBytes()),
		MaxPartitions:      int64(o.fetch.maxPartitions),
		PartitionSizeBytes: o.fetch.partitionSize,
		DataBoost:          o.snapshot.dataBoost,
		Priority:           o.request.rpcPriority(),
		RequestTag:         o.request.requestTag,
		TransactionTag:     o.request.transactionTag,
		DirectedReads:      directed,
		Retry:              a.retry,
		Progress:           progress,
		OnRetry: func(r reader.Retry) {
			a.retries.log(a, r.Attempt, "stream broke, opening it again", "source", r.Source, "partition", r.Partition,
				"attempt", r.Attempt, "pause", r.Pause, "error", a.errorText(fault.Reading(r.Err, "read", r.Source)))
		},
	}
	if options.Parallelism == 0 {
		options.Parallelism = max(runtime.GOMAXPROCS(0), 4)
	}
	if err := options.Validate(); err != nil {
		return options, &usageError{err: err}
	}
	return options, nil
}

// chunkBytes bounds a chunk so that a file, which takes whole chunks, can keep to
// its own bound.
func (o *exportOptions) chunkBytes() int64 {
	if o.output.maxFileSize > 0 {
		return min(o.fetch.maxBytes, o.output.maxFileSize)
	}
	return o.fetch.maxBytes
}

// runExport runs an export and tells how it ended.
func (a *app) runExport(ctx context.Context, p *exportPlan) error {
	s := &summary{Command: "export", Started: a.now().UTC(), Database: p.database.Name.String(), DryRun: p.options.dryRun, Export: &exportSummary{}}
	err := a.export(ctx, p, s)
	if ctx.Err() != nil && err == nil {
		err = context.Cause(ctx) // an interrupted run is never a success
	}
	p.count(s, err)
	return a.finish(ctx, &p.options.report, s, err)
}

// count takes the reader's counters into the summary. What a failed run wrote to
// files is removed again and counts as undecided; what went to stdout is there.
func (p *exportPlan) count(s *summary, err error) {
	s.Bytes = p.progress.Bytes.Load()
	s.RecordsIn = p.progress.Rows.Load()
	if p.program != nil {
		// The program is ahead of the counter, which moves by the chunk.
		s.RecordsSkipped = min(p.program.Skipped(), s.RecordsIn)
	}
	written := s.RecordsIn - s.RecordsSkipped
	if err != nil && !p.options.output.isStdout() {
		s.RecordsUndecided = written
	} else {
		s.RecordsApplied = written
	}
	s.Export.Partitions = p.progress.Partitions.Load()
	s.Export.PartitionsDone = p.progress.PartitionsDone.Load()
	s.Export.StreamRetries = p.progress.Retries.Load()
}
