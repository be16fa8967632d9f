package cmd

import (
	"errors"
	"math"
	"strings"
	"time"

	"spanbulk/internal/cdc"
	"spanbulk/internal/format"
)

// textKind is the format that only tail has: lines for reading.
const textKind format.Kind = "text"

// addTextFormat lets --format take text, too.
func addTextFormat(fs *flagSet, o *formatOptions) {
	f := fs.Lookup("format")
	f.Value = kindWord{&choiceValue[format.Kind]{target: &o.kind, choices: []format.Kind{format.NDJSON, textKind, format.CSV, format.Avro}}}
	f.Usage = "`format` of the output: ndjson, text for reading, and for the rows of one table in the mode full csv, avro (default by the output's name, else ndjson)"
}

// positionValue is where to begin: latest, earliest, a time, or how long ago.
type positionValue struct {
	target *cdc.StartPosition
	text   string
	set    *bool // nil if nobody asks
}

func (v *positionValue) Type() string { return "position" }

func (v *positionValue) String() string { return v.text }

func (v *positionValue) Set(text string) error {
	text = strings.TrimSpace(text)
	switch {
	case strings.EqualFold(text, "latest"):
		*v.target = cdc.Latest()
	case strings.EqualFold(text, "earliest"):
		*v.target = cdc.Earliest()
	case strings.HasPrefix(text, "-"):
		d, err := parseDuration(text[1:])
		if err != nil || d < 0 {
			return errors.New("not a time ago such as -1h or -7d")
		}
		*v.target = cdc.Ago(d)
	default:
		t, err := parseTimestamp(text)
		if err != nil {
			return errors.New("not one of latest, earliest, an RFC 3339 timestamp such as 2026-01-31T12:00:00Z, a time ago such as -1h")
		}
		*v.target = cdc.At(t)
	}
	v.text = text
	if v.set != nil {
		*v.set = true
	}
	return nil
}

// tailStreamOptions say what is read, from when to when, and how.
type tailStreamOptions struct {
	stream     string
	start      cdc.StartPosition
	end        time.Time
	maxRecords int
	runFor     time.Duration

	state       string
	saveEvery   time.Duration
	fallback    cdc.StartPosition
	hasFallback bool
	retention   time.Duration
	heartbeat   time.Duration
	queries     int
	fetchBytes  int64
	dot         string
	deduplicate bool
}

func (o *tailStreamOptions) addFlags(fs *flagSet) {
	o.retention, o.heartbeat, o.queries = cdc.DefaultRetention, cdc.DefaultHeartbeat, cdc.DefaultQueries
	o.fetchBytes = cdc.DefaultChunkBytes
	what := group{fs, groupWhat}
	what.text(&o.stream, "change-stream", "`name` of the change stream; it can be given as an argument, too")
	what.value(&positionValue{target: &o.start, text: "latest"}, "start-position", "`where` to begin without a state: latest, earliest, an RFC 3339 time, or a time ago such as -1h")
	what.value(&timestampValue{target: &o.end}, "end-position", "`time` to end at, when every partition has passed it")
	what.value(&intValue{target: &o.maxRecords, min: 1, max: math.MaxInt}, "max-records", "`number` of data change records to end after")
	what.value(&durationValue{target: &o.runFor, min: 1, max: math.MaxInt64}, "for", "`duration` to end after")
	service := group{fs, groupSnapshot}
	service.value(&durationValue{target: &o.heartbeat, min: cdc.MinHeartbeat, max: cdc.MaxHeartbeat}, "heartbeat-interval", "`interval` at which Spanner reports idle partitions")
	service.value(&intValue{target: &o.queries, min: 1, max: cdc.MaxQueries}, "max-concurrent-queries", "`number` of partitions read at once; more wait in order")
	service.value(&durationValue{target: &o.retention, min: time.Minute + 1, max: math.MaxInt64}, "absent-retention-fallback", "`retention` to assume where the stream's DDL does not say, more than 1m")
	service.value(&sizeValue{target: &o.fetchBytes, min: 1, max: math.MaxInt32}, "max-bytes-per-fetch", "`bytes` of a partition that wait for the output at most; one larger record goes alone")
}

// addStateFlags adds what has to do with where things are written.
func (o *tailStreamOptions) addStateFlags(fs *flagSet) {
	o.deduplicate, o.saveEvery = true, cdc.DefaultSaveEvery
	g := group{fs, groupWhere}
	g.text(&o.state, "state", "`file` that keeps how far the output is; running the same command again goes on there")
	g.value(&durationValue{target: &o.saveEvery, min: cdc.MinSaveEvery, max: math.MaxInt64}, "state-interval", "`interval` at which --state is written, with the output made safe before")
	g.value(&positionValue{target: &o.fallback, set: &o.hasFallback}, "resume-fallback", "`where` to begin if the state is too old for Spanner: latest, earliest or a time; all of the state is thrown away then")
	g.flag(&o.deduplicate, "deduplicate", "when going on from a state, drop the records at its position that the output already has")
	g.text(&o.dot, "partitions-dot", "`file` for the graph of partitions in Graphviz's language, written at the end")
}

// name returns the change stream, which is the argument or the flag.
func (o *tailStreamOptions) name(args []string) (string, error) {
	switch {
	case len(args) > 1:
		return "", usagef("unexpected argument %q: one change stream is read", args[1])
	case len(args) == 1 && o.stream != "" && o.stream != args[0]:
		return "", usagef("--change-stream %s and the argument %s name two change streams", o.stream, args[0])
	case len(args) == 1:
		return args[0], nil
	case o.stream == "":
		return "", usagef("no change stream is given")
	}
	return o.stream, nil
}

func (o *tailStreamOptions) apply(t *cdc.Options) {
	t.Start, t.End, t.MaxRecords, t.For = o.start, o.end, int64(o.maxRecords), o.runFor
	t.AbsentRetention, t.Heartbeat, t.MaxQueries = o.retention, o.heartbeat, o.queries
	t.ChunkBytes, t.NoDeduplicate, t.SaveEvery = int(o.fetchBytes), !o.deduplicate, o.saveEvery
	if o.hasFallback {
		t.ResumeFallback = &o.fallback
	}
}

// tailFilterOptions say which tables and columns appear.
type tailFilterOptions struct {
	tableInclude, tableExclude   []string
	columnInclude, columnExclude []string
	skipWithoutChange            bool
	table                        string
}

func (o *tailFilterOptions) addFlags(fs *flagSet) {
	g := group{fs, groupWhat}
	g.list(&o.tableInclude, "table-include-list", "regular `expressions`, parted by commas; tables whose whole name matches one appear; in GoogleSQL case does not matter")
	g.list(&o.tableExclude, "table-exclude-list", "regular `expressions`; tables whose whole name matches one do not appear")
	g.list(&o.columnInclude, "column-include-list", "regular `expressions` for table.column; columns that match one appear, and those of the key")
	g.list(&o.columnExclude, "column-exclude-list", "regular `expressions` for table.column; columns that match one do not appear, but for those of the key")
	g.flag(&o.skipWithoutChange, "skip-messages-without-change", "skip a record when the column lists have taken away every value outside the key")
	g.text(&o.table, "table", "`name` of the only table to write rows of, in the changelog modes full and upsert")
}

func (o *tailFilterOptions) apply(t *cdc.Options) {
	t.Filters = cdc.Filters{
		TableInclude: o.tableInclude, TableExclude: o.tableExclude, ColumnInclude: o.columnInclude, ColumnExclude: o.columnExclude,
		SkipWithoutChange: o.skipWithoutChange, Table: o.table,
	}
}

// tailMode is the value of --changelog-mode, tailOrder that of --order.
type (
	tailMode  string
	tailOrder string
)

const (
	modeRecords tailMode = "records"
	modeFull    tailMode = "full"
	modeUpsert  tailMode = "upsert"

	orderPartition tailOrder = "partition"
	orderCommit    tailOrder = "commit-timestamp"
)

// tailChangeOptions say what becomes of a change.
type tailChangeOptions struct {
	mode       tailMode
	metadata   []string
	watermarks bool
	heartbeats bool
	events     bool
	order      tailOrder
	orderBytes int64
}

func (o *tailChangeOptions) addFlags(fs *flagSet) {
	o.mode, o.order, o.orderBytes = modeRecords, orderPartition, cdc.DefaultOrderBytes
	g := group{fs, groupRecord}
	g.value(&choiceValue[tailMode]{target: &o.mode, choices: []tailMode{modeRecords, modeFull, modeUpsert}}, "changelog-mode",
		"`form` of a change: records (as Spanner gives them), full (rows before and after), upsert (rows after, keys of deleted ones)")
	g.list(&o.metadata, "metadata", "`keys` to put beside the columns of rows, or to keep of records: "+strings.Join(cdc.MetadataKeys(), ", ")+", or all (default none for rows, all for records)")
	g.flag(&o.watermarks, "watermarks", "write the watermark, too: the time before which everything is written")
	g.flag(&o.heartbeats, "heartbeats", "write heartbeat records, too")
	g.flag(&o.events, "partition-events", "write the records about partitions, too")
	g.value(&choiceValue[tailOrder]{target: &o.order, choices: []tailOrder{orderPartition, orderCommit}}, "order", "`order` of the output: partition (of each row in commit order), commit-timestamp (all in commit order, held back until the watermark has passed)")
	g.value(&sizeValue{target: &o.orderBytes, min: 1, max: math.MaxInt}, "max-order-bytes", "`bytes` that --order commit-timestamp holds back at most; the records of one commit timestamp are held whatever their size")
}

func (o *tailChangeOptions) apply(a *app, t *cdc.Options) {
	t.Mode = map[tailMode]cdc.Mode{modeRecords: cdc.Records, modeFull: cdc.Full, modeUpsert: cdc.Upsert}[o.mode]
	if a.given("metadata") {
		t.Metadata = append([]string{}, o.metadata...)
	}
	t.Watermarks, t.Heartbeats, t.PartitionEvents = o.watermarks, o.heartbeats, o.events
	if o.order == orderCommit {
		t.Order = cdc.ByCommit
	}
	t.OrderBytes = int(o.orderBytes)
}
