package cmd

import (
	"context"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"spanbulk/internal/database"
	"spanbulk/internal/format"
	"spanbulk/internal/input"
	"spanbulk/internal/lookup"
	"spanbulk/internal/schema"
	"spanbulk/internal/transform"
)

const lookupLong = `Lookup reads records, finds for each the row that its key names, and writes the
record with the row's columns beside its own fields, which stay as they are.

Records are NDJSON, CSV or Avro, from stdin or from files, and go out in the
same format and order, or as NDJSON. Each key column takes its value from the
field of the same name, or from the one that --key gives. Keys are read in
batches, each at one timestamp, the same key once in a batch. A record whose key
has a NULL matches nothing.`

const lookupExample = `  # Orders with the customer's name and city
  spanbulk lookup -d projects/p/instances/i/databases/shop --table Customers \
      --key CustomerId=customer --columns Name,City < orders.ndjson

  # Only those that are known, by a unique index, all columns in a field of their own
  spanbulk lookup -d projects/p/instances/i/databases/shop --table Customers \
      --index CustomersByEmail --key Email=mail --join inner --nest customer events.csv.gz

  # A composite key in any order, rows kept for a minute
  spanbulk lookup -d projects/p/instances/i/databases/shop --table Accounts \
      --key account=acct --key region --cache partial --cache-expire-after-write 1m`

// lookupOptions are the flags of lookup.
type lookupOptions struct {
	connection connectionOptions
	request    requestOptions
	report     reportOptions
	table      lookupTableOptions
	bound      lookupBoundOptions
	reads      lookupReadOptions
	cache      lookupCacheOptions
	input      lookupInputOptions
	format     formatOptions
	output     outputOptions
}

func newLookupCommand(a *app) *cobra.Command {
	o := &lookupOptions{}
	c := &cobra.Command{
		Use:     "lookup --table TABLE [flags] [FILE...]",
		Short:   "Join records with the rows that their keys name",
		Long:    lookupLong,
		Example: lookupExample,
		Args:    cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			plan, err := o.validate(a)
			if err != nil {
				return err
			}
			plan.args = args
			if err := o.report.validate(a, o.output.path, args); err != nil {
				return err
			}
			a.running = true
			return a.runLookup(c.Context(), plan)
		},
	}
	fs := c.Flags()
	fs.SortFlags = false
	o.table.addFlags(fs)
	o.bound.addFlags(fs)
	o.reads.addFlags(fs)
	o.cache.addFlags(fs)
	o.request.addFlags(fs)
	o.input.addFlags(fs)
	o.format.addFlags(fs)
	fs.Lookup("format").Usage = "`format` of the output: ndjson, csv, avro (default by the output's name, else that of the records)"
	fs.Lookup("csv-header").Usage = "CSV begins with a line of names, in and out; without one see --csv-fields"
	o.output.addFileFlags(fs)
	o.connection.addFlags(fs)
	o.report.addFlags(fs)
	return c
}

// addFileFlags are those of an output that is one file.
func (o *outputOptions) addFileFlags(fs *flagSet) {
	o.path = "-"
	g := group{fs, groupWhere}
	g.shortText(&o.path, "output", "o", "`path` of a file, compressed and in the format that its name tells; - is stdout")
	g.flag(&o.overwrite, "overwrite", "replace a file that exists")
}

// lookupPlan is what the flags of lookup come to.
type lookupPlan struct {
	options  *lookupOptions
	args     []string
	database database.Options
	lookup   lookup.Options // without what the schema tells
	table    schema.Name
	keys     []lookup.KeyColumn // of --key
	format   format.Options     // Kind is empty where the records decide
	csv      format.CSVInput
	program  *transform.Program // of --jq; nil if there is none
	progress *lookup.Progress
	input    *input.Progress
}

// validate checks everything that can be checked before anything is opened.
func (o *lookupOptions) validate(a *app) (*lookupPlan, error) {
	p := &lookupPlan{options: o, progress: new(lookup.Progress), input: new(input.Progress)}
	if err := o.table.validate(p); err != nil {
		return nil, err
	}
	if err := o.validateFormat(a, p); err != nil {
		return nil, err
	}
	if err := o.validateOutput(a, p.format); err != nil {
		return nil, err
	}
	if err := o.lookupOptions(a, p); err != nil {
		return nil, err
	}
	var err error
	p.database, err = o.connection.databaseOptions(a, p.lookup.Parallelism)
	return p, err
}

// validateFormat settles the formats as far as flags and names tell.
func (o *lookupOptions) validateFormat(a *app, p *lookupPlan) error {
	settled, err := o.format.resolve(a, o.output.path)
	if err != nil {
		return err
	}
	byName, _ := format.FromName(o.output.path)
	p.format = settled
	if !a.given("format") && byName == "" {
		p.format.Kind = "" // that of the records
	}
	if o.format.jq != "" {
		if p.format.Kind == "" {
			p.format.Kind = format.NDJSON
		}
		if p.program, err = o.format.program(p.format.Kind); err != nil {
			return err
		}
	}
	p.csv = o.input.csvInput(p.format.CSV)
	if err := p.csv.Validate(); err != nil {
		return &usageError{err: err}
	}
	if o.format.csvHeader && len(o.input.csvFields) > 0 {
		return usagef("--csv-fields names the fields of CSV without a header: it needs --csv-header=false")
	}
	return nil
}

// validateOutput checks the output, as far as f is known: the records may decide.
func (o *lookupOptions) validateOutput(a *app, f format.Options) error {
	if o.output.isStdout() {
		return o.output.checkStdout(a, f)
	}
	info, err := os.Stat(o.output.path)
	if err == nil && info.IsDir() || os.IsPathSeparator(o.output.path[len(o.output.path)-1]) || strings.ContainsAny(o.output.path, "{}") {
		return usagef("--output %s: not one file, and a lookup writes no more", o.output.path)
	}
	return nil
}

// lookupOptions fills in the options of the engine.
func (o *lookupOptions) lookupOptions(a *app, p *lookupPlan) error {
	bound, err := o.bound.parse(a)
	if err != nil {
		return err
	}
	directed, err := (&snapshotOptions{directedRead: o.bound.directedRead}).directedReads()
	if err != nil {
		return err
	}
	cache, err := o.cache.options(a)
	if err != nil {
		return err
	}
	parallelism, err := o.reads.streams(a)
	if err != nil {
		return err
	}
	p.lookup = lookup.Options{
		Inner: o.table.join == joinInner,
		Bound: bound, DirectedReads: directed, Priority: o.request.rpcPriority(),
		RequestTag: o.request.requestTag, TransactionTag: o.request.transactionTag,
		BatchKeys: o.reads.batchKeys, Parallelism: parallelism, Unordered: !o.reads.ordered, MaxRetries: o.reads.maxRetries,
		Cache: cache, Progress: p.progress,
		OnRetry: a.logRetry,
	}
	return nil
}

// decoders is how many goroutines read keys out of records.
func decoders() int { return min(runtime.GOMAXPROCS(0), 4) }

// runLookup runs a lookup and tells how it ended.
func (a *app) runLookup(ctx context.Context, p *lookupPlan) error {
	s := &summary{Command: "lookup", Started: a.now().UTC(), Database: p.database.Name.String(), Lookup: &lookupSummary{}}
	err := a.lookup(ctx, p)
	if ctx.Err() != nil && err == nil {
		err = context.Cause(ctx) // an interrupted run is never a success
	}
	p.count(s, err)
	return a.finish(ctx, &p.options.report, s, err)
}

// count takes the engine's counters into the summary. What a failed run wrote to
// a file is removed again and counts as undecided; what went to stdout is there.
func (p *lookupPlan) count(s *summary, err error) {
	s.RecordsIn = p.progress.RecordsIn.Load()
	s.RecordsRefused = p.progress.Refused.Load()
	s.RecordsSkipped = p.progress.Skipped.Load()
	s.Bytes = p.progress.Bytes.Load()
	if err == nil || p.options.output.isStdout() {
		s.RecordsApplied = p.progress.Applied.Load()
	}
	s.RecordsUndecided = s.RecordsIn - s.RecordsApplied - s.RecordsRefused - s.RecordsSkipped
	*s.Lookup = lookupSummary{
		Matched: p.progress.Matched.Load(), Unmatched: p.progress.Unmatched.Load(),
		KeysRead: p.progress.KeysRead.Load(), Batches: p.progress.Batches.Load(), Retries: p.progress.Retries.Load(),
		CacheHits: p.progress.CacheHits.Load(), CacheMisses: p.progress.CacheMisses.Load(),
	}
}
