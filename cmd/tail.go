package cmd

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"spanbulk/internal/cdc"
	"spanbulk/internal/database"
	"spanbulk/internal/format"
	"spanbulk/internal/schema"
	"spanbulk/internal/transform"
)

const tailLong = `Tail reads a change stream and writes every change to stdout or to a file, as it
happens or from some time on, until it is told to stop.

The changes of a row come in commit order, across splits and merges of the
stream's partitions. With --state a later run goes on where this one has ended,
however it did; no table for metadata is needed. A record may then come twice;
in a file it does not. What was written to a pipe counts as taken, whatever
becomes of its reader: scripts/copy-table.sh shows how to make a pipe safe.`

const tailExample = `  # What happens from now on, for reading
  spanbulk tail OrderChanges -d projects/p/instances/i/databases/shop --format text

  # The last hour and everything after it, as JSON, over days
  spanbulk tail OrderChanges -d projects/p/instances/i/databases/shop \
      --start-position -1h --state orders.state --output orders.ndjson

  # A working copy of the tables
  spanbulk tail OrderChanges -d projects/p/instances/i/databases/shop --state copy.state \
      --changelog-mode upsert --metadata table |
      spanbulk import -d projects/p/instances/i/databases/copy --changelog --table-field __table`

// tailOptions are the flags of tail.
type tailOptions struct {
	connection connectionOptions
	request    requestOptions
	report     reportOptions
	stream     tailStreamOptions
	filters    tailFilterOptions
	changes    tailChangeOptions
	format     formatOptions
	output     outputOptions
}

func newTailCommand(a *app) *cobra.Command {
	o := &tailOptions{}
	c := &cobra.Command{
		Use:     "tail [CHANGE-STREAM] [flags]",
		Short:   "Follow a change stream to stdout or a file",
		Long:    tailLong,
		Example: tailExample,
		Args:    cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			plan, err := o.validate(a, args)
			if err != nil {
				return err
			}
			a.running = true
			return a.runTail(c.Context(), plan)
		},
	}
	fs := c.Flags()
	fs.SortFlags = false
	o.stream.addFlags(fs)
	o.filters.addFlags(fs)
	o.changes.addFlags(fs)
	o.request.addFlags(fs)
	o.format.addFlags(fs)
	addTextFormat(fs, &o.format)
	o.output.addFileFlags(fs)
	o.stream.addStateFlags(fs)
	o.connection.addFlags(fs)
	o.report.addFlags(fs)
	return c
}

// tailPlan is what the flags of tail come to.
type tailPlan struct {
	options  *tailOptions
	database database.Options
	stream   string
	source   cdc.SourceOptions
	tail     cdc.Options
	table    schema.Name // of --table; empty without
	format   format.Options
	program  *transform.Program // of --jq; nil if there is none
}

// validate checks everything that can be checked before anything is opened.
func (o *tailOptions) validate(a *app, args []string) (*tailPlan, error) {
	p := &tailPlan{options: o, source: cdc.SourceOptions{Priority: o.request.rpcPriority(), RequestTag: o.request.requestTag}}
	var err error
	if p.stream, err = o.stream.name(args); err != nil {
		return nil, err
	}
	if err := o.resolveFormat(a, p); err != nil {
		return nil, err
	}
	if err := o.resolveTail(a, p); err != nil {
		return nil, err
	}
	if err := o.checkPlaces(a); err != nil {
		return nil, err
	}
	p.database, err = o.connection.databaseOptions(a, p.tail.MaxQueries)
	return p, err
}

// checkPlaces refuses two outputs in one place, and places that are none.
func (o *tailOptions) checkPlaces(a *app) error {
	if path := o.output.path; isDirectory(path) || strings.HasSuffix(path, "/") || strings.ContainsAny(path, "{}") {
		return usagef("--output %s: a tail writes to one file, not to a directory or by a template", path)
	}
	var used []string
	for _, place := range []struct{ flag, path string }{
		{"--output", o.output.path}, {"--state", o.stream.state}, {"--partitions-dot", o.stream.dot},
	} {
		if place.path == "" || place.path == "-" {
			continue
		}
		path := filepath.Clean(place.path)
		for _, other := range used {
			if other == path {
				return usagef("%s %s is written by another flag, too", place.flag, place.path)
			}
		}
		if dir := filepath.Dir(path); !isDirectory(dir) {
			return usagef("%s %s: there is no directory %s", place.flag, place.path, dir)
		}
		used = append(used, path)
	}
	return o.report.validate(a, o.output.path, used)
}

// resolveFormat settles the form of the output.
func (o *tailOptions) resolveFormat(a *app, p *tailPlan) error {
	if o.format.kind == textKind {
		p.tail.Text, o.format.kind = true, format.NDJSON
	}
	var err error
	if p.format, err = o.format.resolve(a, o.output.path); err != nil {
		return err
	}
	if err := checkApplies(a, p.format.Kind); err != nil {
		return err
	}
	if err := o.output.checkStdout(a, p.format); err != nil {
		return err
	}
	if p.format.Kind != format.NDJSON && (o.changes.mode != modeFull || o.filters.table == "") {
		return usagef("--format %s needs --changelog-mode full and --table: only then all rows have the same columns", p.format.Kind)
	}
	p.program, err = o.format.program(p.format.Kind)
	return err
}

// resolveTail settles the options of the engine, but for what must be looked up.
func (o *tailOptions) resolveTail(a *app, p *tailPlan) error {
	for _, name := range []string{"resume-fallback", "state-interval", "deduplicate"} {
		if a.from[name] == originFlag && o.stream.state == "" {
			return usagef("--%s needs --state", name)
		}
	}
	if o.filters.table != "" {
		name, err := schema.ParseName(o.filters.table)
		if err != nil {
			return usagef("--table: %w", err)
		}
		p.table = name
	}
	t := &p.tail
	o.stream.apply(t)
	o.filters.apply(t)
	o.changes.apply(a, t)
	t.Values, t.Compression = p.format.Values, p.format.Compression
	t.Log, t.Progress = a.log, new(cdc.Progress)
	t.OnRetry = a.logQueryRetry
	if o.stream.dot != "" {
		t.Graph = new(cdc.Graph)
	}
	if err := t.Validate(); err != nil {
		return &usageError{err: err}
	}
	return nil
}

func (a *app) logQueryRetry(r cdc.Retry) {
	a.retries.log(a, r.Attempt, "query broke off, opening it again", "partition", r.Partition, "attempt", r.Attempt, "pause", r.Pause, "error", a.errorText(r.Err))
}

// runTail runs a tail and tells how it ended.
func (a *app) runTail(ctx context.Context, p *tailPlan) error {
	s := &summary{Command: "tail", Started: a.now().UTC(), Database: p.database.Name.String(), Tail: &tailSummary{}}
	err := a.tail(ctx, p)
	if ctx.Err() != nil && err == nil {
		err = context.Cause(ctx) // an interrupted run is never a success
	}
	p.count(s)
	if err == nil {
		s.leaveOutReadAhead()
	}
	return a.finish(ctx, &p.options.report, s, err)
}

// leaveOutReadAhead takes what Spanner had sent when the tail was done, as with
// --max-records, out of the records that came in: nothing was to be done with it.
func (s *summary) leaveOutReadAhead() {
	s.Tail.RecordsReadAhead = s.RecordsUndecided
	s.RecordsIn, s.RecordsUndecided = s.RecordsIn-s.RecordsUndecided, 0
}

// tailSummary has what only a tail has, under the documents' names.
type tailSummary struct {
	QueriesStarted              int64      `json:"changeStreamQueriesStarted"`
	ActiveQueries               int64      `json:"activeChangeStreamQueries"`
	QueuedPartitions            int64      `json:"queuedChangeStreamPartitions"`
	PartitionsDiscovered        int64      `json:"changeStreamPartitionsDiscovered"`
	RecordsFilteredByTable      int64      `json:"changeStreamRecordsFilteredByTable"`
	RecordsSkippedWithoutChange int64      `json:"changeStreamRecordsSkippedWithoutChange"`
	ColumnOccurrencesFiltered   int64      `json:"changeStreamColumnOccurrencesFiltered"`
	RecordsRepeated             int64      `json:"recordsRepeated"`
	RecordsReadAhead            int64      `json:"recordsReadAhead"`
	Lines                       int64      `json:"lines"`
	MissedHeartbeats            int64      `json:"missedHeartbeats"`
	QueryRetries                int64      `json:"queryRetries"`
	Watermark                   *time.Time `json:"watermark,omitempty"`
	WatermarkLagSeconds         float64    `json:"watermarkLagSeconds"`
}

// count takes the engine's counters into the summary. Of the records that came
// in, those that a filter or --jq dropped are skipped, and those not yet written
// undecided: they are read again by the next run with the same --state.
func (p *tailPlan) count(s *summary) {
	c := p.tail.Progress
	s.Bytes = c.Bytes.Load()
	s.RecordsIn, s.RecordsApplied = c.Records.Load(), c.RecordsWritten.Load()
	s.RecordsSkipped = c.RecordsSkipped.Load() + c.RecordsFilteredByTable.Load() + c.RecordsSkippedWithoutChange.Load()
	s.RecordsUndecided = max(s.RecordsIn-s.RecordsApplied-s.RecordsSkipped, 0)
	t := s.Tail
	t.QueriesStarted, t.ActiveQueries, t.QueuedPartitions = c.QueriesStarted.Load(), c.ActiveQueries.Load(), c.QueuedPartitions.Load()
	t.PartitionsDiscovered, t.RecordsRepeated = c.PartitionsDiscovered.Load(), c.RecordsRepeated.Load()
	t.RecordsFilteredByTable, t.RecordsSkippedWithoutChange = c.RecordsFilteredByTable.Load(), c.RecordsSkippedWithoutChange.Load()
	t.ColumnOccurrencesFiltered, t.Lines = c.ColumnOccurrencesFiltered.Load(), c.Lines.Load()
	t.MissedHeartbeats, t.QueryRetries = c.MissedHeartbeats.Load(), c.Retries.Load()
	if mark := c.Watermark(); mark != 0 {
		at := mark.Time()
		t.Watermark, t.WatermarkLagSeconds = &at, c.Lag().Seconds()
	}
}

// text is what people are told of it.
func (s *tailSummary) text() string {
	var b strings.Builder
	if s.Watermark != nil {
		b.WriteString(", complete before " + s.Watermark.Format(time.RFC3339Nano))
	}
	return b.String()
}
