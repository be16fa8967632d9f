package cmd

import (
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"

	"spanbulk/internal/format"
	"spanbulk/internal/output"
	"spanbulk/internal/reader"
	"spanbulk/internal/transform"
)

// snapshotOptions say at what time and by which servers rows are read.
type snapshotOptions struct {
	bound         string
	readTimestamp time.Time
	staleness     time.Duration
	dataBoost     bool
	directedRead  string

	parsed *spannerpb.TransactionOptions_ReadOnly // by validate
}

func (o *snapshotOptions) addFlags(fs *flagSet) {
	o.bound = "strong"
	g := group{fs, groupSnapshot}
	g.text(&o.bound, "timestamp-bound", "`bound` of the snapshot: strong, read-timestamp=TIME, exact-staleness=DURATION")
	g.value(&timestampValue{target: &o.readTimestamp}, "read-timestamp", "short for --timestamp-bound read-timestamp=`time`")
	g.value(&durationValue{target: &o.staleness, max: math.MaxInt64}, "exact-staleness", "short for --timestamp-bound exact-staleness=`duration`")
	g.flag(&o.dataBoost, "data-boost", "read on Data Boost's compute, which needs spanner.databases.useDataBoost and is billed separately")
	g.text(&o.directedRead, "directed-read", "`replicas` to read from, as LOCATION:READ_ONLY or LOCATION:READ_WRITE; either half may be left out")
}

// validate settles which bound is asked for.
func (o *snapshotOptions) validate(a *app) error {
	var given []string
	for _, name := range []string{"timestamp-bound", "read-timestamp", "exact-staleness"} {
		if a.given(name) {
			given = append(given, "--"+name)
		}
	}
	if len(given) > 1 {
		return usagef("%s exclude each other", strings.Join(given, " and "))
	}
	var err error
	switch {
	case a.given("read-timestamp"):
		o.parsed = atTimestamp(o.readTimestamp)
	case a.given("exact-staleness"):
		o.parsed = withStaleness(o.staleness)
	default:
		o.parsed, err = parseSnapshot(o.bound)
	}
	if err != nil {
		return err
	}
	return a.refuseAhead(o.parsed)
}

// parseSnapshot parses --timestamp-bound. The bounds that leave the choice of
// the timestamp to Spanner are for single-use reads only: an export is many
// reads of one transaction.
func parseSnapshot(text string) (bound *spannerpb.TransactionOptions_ReadOnly, err error) {
	name, _, _ := strings.Cut(text, "=")
	switch strings.ToLower(name) {
	case "strong", "read-timestamp", "exact-staleness":
		bound, err = parseBound(text)
	case "max-staleness", "min-read-timestamp":
		err = errors.New("only single-use reads may have this bound, and an export is many reads of one snapshot")
	default:
		err = errors.New("not one of strong, read-timestamp=TIME, exact-staleness=DURATION")
	}
	if err != nil {
		return nil, usagef("--timestamp-bound %s: %w", text, err)
	}
	return bound, nil
}

// directedReads parses --directed-read.
func (o *snapshotOptions) directedReads() (*spannerpb.DirectedReadOptions, error) {
	if o.directedRead == "" {
		return nil, nil
	}
	location, kind, hasKind := strings.Cut(o.directedRead, ":")
	selection := &spannerpb.DirectedReadOptions_ReplicaSelection{Location: location}
	switch strings.ToUpper(kind) {
	case "READ_ONLY":
		selection.Type = spannerpb.DirectedReadOptions_ReplicaSelection_READ_ONLY
	case "READ_WRITE":
		selection.Type = spannerpb.DirectedReadOptions_ReplicaSelection_READ_WRITE
	default:
		if hasKind || location == "" {
			return nil, usagef("--directed-read %s: not of the form LOCATION:READ_ONLY or LOCATION:READ_WRITE", o.directedRead)
		}
	}
	return &spannerpb.DirectedReadOptions{Replicas: &spannerpb.DirectedReadOptions_IncludeReplicas_{
		IncludeReplicas: &spannerpb.DirectedReadOptions_IncludeReplicas{
			ReplicaSelections: []*spannerpb.DirectedReadOptions_ReplicaSelection{selection},
		},
	}}, nil
}

// fetchOptions say how rows are read.
type fetchOptions struct {
	parallelism   int
	maxRows       int
	maxBytes      int64
	maxPartitions int
	partitionSize int64
}

func (o *fetchOptions) addFlags(fs *flagSet) {
	o.maxRows, o.maxBytes = reader.DefaultMaxRowsPerFetch, reader.DefaultMaxBytesPerFetch
	g := group{fs, groupSnapshot}
	g.value(&intValue{target: &o.parallelism, min: 1, max: reader.MaxParallelism}, "parallelism", "`number` of partitions read at once (default the number of processors, at least 4)")
	g.value(&intValue{target: &o.maxRows, min: 1, max: math.MaxInt}, "max-rows-per-fetch", "`rows` handed from a partition to the output at once")
	g.value(&sizeValue{target: &o.maxBytes, min: 1, max: math.MaxInt32}, "max-bytes-per-fetch", "`bytes` handed to the output at once; one larger row goes alone")
	// Spanner's own bound: google.spanner.v1.PartitionOptions.max_partitions.
	g.value(&intValue{target: &o.maxPartitions, min: 1, max: 200_000}, "max-partitions", "`number` of partitions wanted, a hint to Spanner")
	g.value(&sizeValue{target: &o.partitionSize, min: 1, max: math.MaxInt64}, "partition-size-bytes", "`size` of partitions wanted, a hint to Spanner")
}

// formatOptions say what the output looks like.
type formatOptions struct {
	kind        format.Kind
	compression format.Compression
	values      format.ValueOptions
	csv         format.CSVOptions
	csvHeader   bool
	avro        format.AvroOptions
	jq          string
}

// kindWord lets --format take the other usual name of NDJSON.
type kindWord struct{ *choiceValue[format.Kind] }

func (v kindWord) Set(text string) error {
	if strings.EqualFold(strings.TrimSpace(text), "jsonl") {
		text = string(format.NDJSON)
	}
	return v.choiceValue.Set(text)
}

func (o *formatOptions) addFlags(fs *flagSet) {
	o.csvHeader = true
	o.values = format.ValueOptions{Int64: "number", Numeric: "string", JSON: "value"}
	o.avro = format.AvroOptions{Timestamp: "string", Date: "string"}
	o.csv = format.CSVOptions{Delimiter: ",", Quote: `"`}
	g := group{fs, groupFormat}
	g.value(kindWord{&choiceValue[format.Kind]{target: &o.kind, choices: []format.Kind{format.NDJSON, format.CSV, format.Avro}}}, "format", "`format` of the output: ndjson, csv, avro (default by the output's name, else ndjson)")
	g.value(&choiceValue[format.Compression]{target: &o.compression, choices: []format.Compression{format.None, format.Gzip, format.Zstd}}, "compression", "`compression`: none, gzip, zstd (default by the output's name, else none)")
	g.value(&choiceValue[string]{target: &o.values.Int64, choices: []string{"number", "string"}}, "int64", "`form` of an INT64 in JSON: number, string")
	g.value(&choiceValue[string]{target: &o.values.Numeric, choices: []string{"string", "number"}}, "numeric", "`form` of a NUMERIC in JSON: string, number")
	g.value(&choiceValue[string]{target: &o.values.JSON, choices: []string{"value", "string"}}, "json", "`form` of a JSON in JSON: value (as it is, but {\"$json\":null} for a JSON null, which is not NULL), string")
	g.flag(&o.csvHeader, "csv-header", "begin CSV with a line of column names")
	g.text(&o.csv.Delimiter, "csv-delimiter", "`character` between CSV fields; \\t is a tab")
	g.text(&o.csv.Quote, "csv-quote", "`character` around CSV fields")
	g.text(&o.csv.Null, "csv-null", "`text` that stands for NULL in CSV (default an empty field without quotes)")
	g.flag(&o.csv.CRLF, "csv-crlf", "end CSV lines with CR LF")
	g.text(&o.jq, "jq", "jq `program` run on each record: none out skips it, several out are several records, of at most 16 MiB")
	codecs := []format.AvroCodec{format.AvroNull, format.AvroDeflate, format.AvroSnappy, format.AvroZstandard}
	g.value(&choiceValue[format.AvroCodec]{target: &o.avro.Codec, choices: codecs}, "avro-codec", "`codec` of the blocks of an Avro file: null, deflate, snappy, zstandard (default by --compression)")
	g.value(&choiceValue[string]{target: &o.avro.Timestamp, choices: []string{"string", "micros", "nanos"}}, "avro-timestamp", "`form` of a TIMESTAMP in Avro: string, or a long of micros, nanos")
	g.value(&choiceValue[string]{target: &o.avro.Date, choices: []string{"string", "days"}}, "avro-date", "`form` of a DATE in Avro: string, or an int of days")
	g.value(&choiceValue[string]{target: &o.avro.Numeric, choices: []string{"string", "google"}}, "avro-numeric", "`form` of PostgreSQL's numeric in Avro: string, or google for the bytes that Google's import reads (default google in a directory, else string)")
}

// resolve fills in what the name of the output tells.
func (o *formatOptions) resolve(a *app, name string) (format.Options, error) {
	if err := o.checkName(a, name); err != nil {
		return format.Options{}, err
	}
	kind, compression := format.FromName(name)
	if a.given("format") {
		kind = o.kind
	}
	if a.given("compression") {
		compression = o.compression
	}
	if kind == "" {
		kind = format.NDJSON
	}
	if compression == "" {
		compression = format.None
	}
	o.csv.NoHeader = !o.csvHeader
	options := format.Options{Kind: kind, Compression: compression, Values: o.values, CSV: o.csv, Avro: o.avro}
	if err := options.Validate(); err != nil {
		return options, &usageError{err: err}
	}
	return options, nil
}

// checkName refuses a name that says the file is of a kind that is not written:
// NDJSON called .parquet, or bytes as they are called .bz2, mislead their reader.
func (o *formatOptions) checkName(a *app, name string) error {
	if strings.HasSuffix(name, "/") {
		return nil
	}
	name = strings.ToLower(name)
	ext := path.Ext(name)
	switch ext {
	case ".bz2", ".xz", ".lz4", ".lzma", ".lzo", ".br", ".sz", ".snappy", ".zip", ".7z", ".tar", ".tgz":
		if !a.given("compression") {
			e := usagef("output %s: %s is not written", name, ext)
			e.hint = "name it .gz or .zst, or give --compression"
			return e
		}
		ext = path.Ext(strings.TrimSuffix(name, ext))
	case ".gz", ".zst":
		ext = path.Ext(strings.TrimSuffix(name, ext))
	}
	switch ext {
	case ".parquet", ".orc", ".arrow", ".feather", ".proto", ".pb", ".tsv", ".xls", ".xlsx", ".xml", ".yaml", ".yml", ".sql":
		if !a.given("format") {
			e := usagef("output %s: %s is not written", name, ext)
			e.hint = "name it .ndjson, .csv or .avro, or give --format"
			return e
		}
	}
	return nil
}

// checkApplies refuses flags of another format than the one that is written.
// Environment and config file may set what only other runs need.
func checkApplies(a *app, kind format.Kind) error {
	for _, f := range []struct {
		flags []string
		kinds []format.Kind
	}{
		{[]string{"csv-header", "csv-delimiter", "csv-quote", "csv-null", "csv-crlf"}, []format.Kind{format.CSV}},
		{[]string{"avro-codec", "avro-timestamp", "avro-date", "avro-numeric"}, []format.Kind{format.Avro}},
		{[]string{"int64", "numeric", "json"}, []format.Kind{format.NDJSON, format.CSV}},
	} {
		for _, flag := range f.flags {
			if a.from[flag] == originFlag && !slices.Contains(f.kinds, kind) {
				return usagef("--%s does not apply to --format %s", flag, kind)
			}
		}
	}
	return nil
}

// program compiles --jq, nil if there is none.
func (o *formatOptions) program(kind format.Kind) (*transform.Program, error) {
	if o.jq == "" {
		return nil, nil
	}
	if kind != format.NDJSON {
		return nil, usagef("--jq makes JSON of each record, which --format %s cannot hold", kind)
	}
	program, err := transform.Compile(o.jq)
	if err != nil {
		return nil, usagef("--jq: %w", err)
	}
	return program, nil
}

// outputOptions say where the output goes.
type outputOptions struct {
	path        string
	maxFileSize int64
	overwrite   bool
}

func (o *outputOptions) addFlags(fs *flagSet) {
	o.path = "-"
	g := group{fs, groupWhere}
	g.shortText(&o.path, "output", "o", "`path` of a file, a directory, or a template such as out/{table}-{partition}.ndjson.gz; - is stdout")
	g.value(&sizeValue{target: &o.maxFileSize, min: 1, max: math.MaxInt64}, "max-file-size", "`size` above which a new file is begun; it bounds --max-bytes-per-fetch too")
	g.flag(&o.overwrite, "overwrite", "replace a file, or the export that a directory holds")
}

func (o *outputOptions) isStdout() bool { return o.path == "-" || o.path == "" }

func (o *outputOptions) resolve(a *app, p *exportPlan) (output.Options, error) {
	isStdout := o.isStdout()
	severalTables := p.sql == "" && len(p.tables) != 1
	if err := output.CheckPath(o.path, severalTables); err != nil {
		return output.Options{}, &usageError{err: err}
	}
	switch {
	case isStdout && severalTables:
		return output.Options{}, usagef("several tables need a directory or a template with {table} as --output")
	case isStdout && o.maxFileSize > 0:
		return output.Options{}, usagef("--max-file-size needs files as --output")
	}
	if err := o.checkStdout(a, p.format); err != nil && !p.options.dryRun {
		return output.Options{}, err
	}
	return output.Options{
		Path:        o.path,
		Stdout:      a.streams.Out,
		Extension:   format.Extension(p.format.Kind, p.format.Compression),
		MaxFileSize: o.maxFileSize,
		Overwrite:   o.overwrite,
	}, nil
}

// checkStdout refuses a stdout that is closed, or a terminal that a binary format
// would garble.
func (o *outputOptions) checkStdout(a *app, f format.Options) error {
	var e *usageError
	switch {
	case !o.isStdout():
		return nil
	case a.streams.OutIsClosed:
		e = usagef("stdout is closed, or nothing but /dev/null: the records would be lost")
		e.hint = "give --output FILE, or --output /dev/null if that is meant"
	case a.streams.OutIsTerminal && !a.given("output") && isBinary(f):
		e = usagef("%s is binary and stdout is a terminal", binaryName(f))
		e.hint = "give --output FILE, or --output - to write it there all the same"
	default:
		return nil
	}
	return e
}

func isBinary(o format.Options) bool { return o.Kind == format.Avro || o.Compression != format.None }

func binaryName(o format.Options) string {
	if o.Kind == format.Avro {
		return string(o.Kind)
	}
	return fmt.Sprintf("%s-compressed %s", o.Compression, o.Kind)
}
